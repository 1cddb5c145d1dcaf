//! `heliograph backtest` on made-up tables and on the real one.

use std::io::Write;
use std::process::Command;

use heliograph_core::Timestamp;
use heliograph_core::engine::time::DAY;
use heliograph_tests::data;
use heliograph_tests::process::built;
use serde_json::Value;

/// Starts from 2016 to 2019: often in Sweden, seldom in Norway.
fn table() -> String {
    let first = Timestamp::parse("2016-01-01T00:00:00Z").unwrap();
    let mut out =
        "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent,actual_cause\n".to_owned();
    for at in 0..4 * 365i64 {
        let day = first.plus(at * DAY).to_date_text();
        if at % 9 == 1 || at % 50 < 2 {
            out += &format!("{day},{day},Sweden,Lund,,Shutdown,Full network,Protests\n");
        }
        if at % 100 == 40 {
            out += &format!("{day},{day},Norway,Oslo,,Shutdown,Full network,Exam cheating\n");
        }
    }
    out
}

fn backtest(table: &[u8], from: &str, to: &str) -> Value {
    run(table, &["--from", from, "--to", to, "--json"])
}

/// `heliograph backtest` on a table.
fn run(table: &[u8], args: &[&str]) -> Value {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(table).unwrap();
    let mut command = Command::new(built("heliograph"));
    command.arg("backtest").args(args).arg("--data").arg(file.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The command prints every required member, the weak figures beside the strong ones, and the history known at 1
/// January beside the perfect one (decision late-history).
#[test]
fn a_backtest_has_every_member_that_is_asked_of_it() {
    let found = backtest(table().as_bytes(), "2018", "2019");
    let figures = ["auc", "average_precision", "brier", "brier_skill", "ece"];
    let parts = [&found, &found["hard"], &found["without_india"], &found["known_at_1_january"]];
    for (part, name) in parts.iter().flat_map(|part| figures.map(|name| (*part, name))) {
        assert!(part[name].is_number(), "{name} of {part}");
    }
    assert!(found["within_country_auc"].is_number() && found["known_at_1_january"]["hard"]["auc"].is_number());
    for name in ["target", "event", "quiet", "mean_set_size"] {
        assert!(found["coverage"][name].is_number(), "{}", found["coverage"]);
    }
    assert_eq!((found["alert_budget"].as_array().unwrap().len(), found["top"].as_array().unwrap().len()), (6, 3));
    assert_eq!((found["countries"].as_u64(), found["years"].as_array().unwrap().len()), (Some(242), 2));
    assert_eq!(found, backtest(table().as_bytes(), "2018", "2019"), "another run tells the same");
}

fn at_least(part: &Value, name: &str, floor: f64) {
    let value = part[name].as_f64().unwrap_or_else(|| panic!("no {name} in {part}"));
    assert!(value >= floor, "{name} {value} is under {floor}");
}

fn within(part: &Value, name: &str, range: std::ops::RangeInclusive<f64>) {
    let value = part[name].as_f64().unwrap_or_else(|| panic!("no {name} in {part}"));
    assert!(range.contains(&value), "{name} {value} is not in {range:?}");
}

/// A row of the table in docs/forecast.md.
fn documented(name: &str, part: &Value) -> String {
    let [auc, precision, skill, ece] =
        ["auc", "average_precision", "brier_skill", "ece"].map(|name| part[name].as_f64().unwrap());
    format!("| {name} | {auc:.3} | {precision:.3} | {skill:.3} | {ece:.4} |")
}

/// Checks the floors of decision forecast-panel, those of single years (19), and the distance to a plain logistic
/// regression. The documents must state these very figures, the weak ones beside the strong ones.
#[test]
fn and_19_the_floors_hold_on_the_real_table_and_the_documents_tell_its_figures() {
    let Some(table) = data::real("shutdowns/stop_2016_2024.csv.gz") else { return };
    let found = backtest(&table, "2019", "2024");
    let (hard, frozen) = (&found["hard"], &found["known_at_1_january"]);
    // The floor, and the value that is actually reached.
    for (part, name, floor, reached) in [
        (&found, "auc", 0.925, 0.94),
        (&found, "average_precision", 0.45, 0.48),
        (&found, "brier_skill", 0.31, 0.335),
        (hard, "brier_skill", 0.02, 0.022),
        (&found["without_india"], "auc", 0.894, 0.91),
        (&found["without_india"], "average_precision", 0.225, 0.24),
        (&found["without_india"], "brier_skill", 0.13, 0.145),
        (frozen, "auc", 0.900, 0.915),
        (frozen, "brier_skill", 0.270, 0.270),
    ] {
        assert!(reached >= floor);
        at_least(part, name, reached);
    }
    within(&found, "ece", 0.0..=0.001);
    for top in found["top"].as_array().unwrap() {
        within(top, "observed_over_predicted", 0.8..=1.25);
    }
    for class in ["event", "quiet"] {
        within(&found["coverage"], class, 0.88..=0.92);
    }
    for year in found["years"].as_array().unwrap() {
        eprintln!("{}: {} hard {}", year["year"], documented("", year), year["hard"]["brier_skill"]);
        at_least(year, "auc", 0.90);
        at_least(year, "average_precision", 0.37);
        at_least(year, "brier_skill", 0.22);
        within(year, "ece", 0.0..=0.0045);
        at_least(&year["hard"], "brier_skill", -0.005);
        assert!(year["known_at_1_january"]["hard"]["brier_skill"].is_number(), "{year}");
    }
    // A complex model is only worth its parts if it beats the simple baselines.
    for baseline in found["baselines"].as_array().unwrap() {
        assert!(baseline["brier"].as_f64() > found["brier"].as_f64(), "{baseline}");
        assert!(baseline["hard"]["brier"].as_f64() > hard["brier"].as_f64(), "{baseline}");
    }
    told(&found);
}

/// The documents state the figures of the backtest.
fn told(found: &Value) {
    let read = |path: &str| std::fs::read_to_string(format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (docs, readme) = (read("docs/forecast.md"), read("README.md"));
    let (hard, india, frozen) = (&found["hard"], &found["without_india"], &found["known_at_1_january"]);
    let rate = found["baselines"].as_array().unwrap().iter().find(|of| of["name"] == "country_rate").unwrap();
    let rows = [
        documented("history up to the day", found),
        documented("no start in the 30 days before", hard),
        documented("without India", india),
        documented("known at 1 January", frozen),
        documented("known at 1 January, no start in the 30 days before", &frozen["hard"]),
        documented("rate of each country", rate),
    ];
    let missing: Vec<&String> = rows.iter().filter(|row| !docs.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/forecast.md does not say {missing:#?}");
    let short = |part: &Value, name: &str| format!("{:.3}", part[name].as_f64().unwrap());
    for figure in [
        short(found, "auc"),
        short(found, "brier_skill"),
        short(hard, "brier_skill"),
        short(india, "brier_skill"),
        short(frozen, "brier_skill"),
        format!("{:.2}", found["within_country_auc"].as_f64().unwrap()),
    ] {
        assert!(readme.contains(&figure), "README.md does not say {figure}");
    }
}

/// The penalty of exams was chosen without any year that the backtest reports: it is the smallest within a thousandth
/// of the best when countries are left out of the rows before 2019.
#[test]
fn the_penalty_of_exams_is_what_the_years_before_the_tested_ones_choose() {
    let Some(table) = data::real("shutdowns/stop_2016_2024.csv.gz") else { return };
    let found = run(&table, &["--from", "2019", "--to", "2024", "--penalties"]);
    eprintln!("{found}");
    let rows = found.as_array().unwrap();
    let skill = |row: &Value| row["brier_skill"].as_f64().unwrap();
    let best = rows.iter().map(skill).fold(f64::MIN, f64::max);
    let chosen = rows.iter().find(|row| skill(row) >= best - 1e-3).unwrap();
    assert_eq!(chosen["is_used"], true, "{found}");
}
