//! `heliograph backtest`: the figures of the shutdown forecast on past years (decisions forecast-panel and
//! late-history).
//!
//! The history comes from the data file, or from a shutdown table given with `--data`.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use heliograph_core::Timestamp;
use heliograph_core::engine::runtime;
use heliograph_core::facts::reported;
use heliograph_core::facts::source::Source;
use heliograph_core::intelligence::forecast::ReadStarts;
use heliograph_core::intelligence::forecast::backtest::{Backtest, Part, backtest, complete_until};
use heliograph_core::intelligence::forecast::history::{Beside, History, Start, start};
use heliograph_core::intelligence::forecast::metrics::Figures;
use heliograph_core::intelligence::forecast::panel::penalties;
use heliograph_core::intelligence::world::{self, EventMark};

use super::args::{self, Common};
use super::client::Client;
use crate::clock;
use crate::files::{self, Tried};

/// The first bytes of a data file.
const DATA_FILE: &[u8] = b"redb";
/// Largest shutdown table that is read, in bytes after unpacking.
const MOST_BYTES: u64 = 1 << 30;

pub fn run(common: &Common, command: &args::Backtest) -> Result<(), String> {
    let to = command.last.as_deref().unwrap_or_default();
    let to: i64 = to.parse().map_err(|_| format!("--to takes a year, not {to:?}"))?;
    let now = clock::now();
    let (starts, beside) = match is_table(&common.data)? {
        true => (of_table(&common.data, now)?, Beside::default()),
        false => of_data(common)?,
    };
    let today = i32::try_from(now.day()).map_err(|_| "the clock is wrong")?;
    let history = History::new(starts, today)
        .ok_or("there is no shutdown history: `heliograph import shutdowns FILE` first, or name a table with --data")?
        .with(beside);
    if command.penalties {
        let found = penalties(&history, command.from);
        say!("{}", serde_json::to_string_pretty(&found).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let found = backtest(&history, command.from, to, complete_until(&history, today))?;
    if command.json {
        say!("{}", serde_json::to_string_pretty(&found).map_err(|error| error.to_string())?);
    } else {
        print(&found);
    }
    Ok(())
}

/// True if a file exists and is not a data file.
fn is_table(path: &Path) -> Result<bool, String> {
    let Ok(file) = File::open(path) else { return Ok(false) };
    let mut head = Vec::new();
    file.take(DATA_FILE.len() as u64).read_to_end(&mut head).map_err(|error| Tried::Read.cannot(path, &error))?;
    Ok(!head.is_empty() && head != DATA_FILE)
}

fn of_table(path: &Path, now: Timestamp) -> Result<Vec<(String, Start)>, String> {
    let refuse = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut reader = BufReader::new(files::open(path)?);
    let (counts, told) = reported::read(Source::AccessNow, &mut reader, MOST_BYTES, None, now)
        .map_err(|error| refuse(&format!("{error:?}")))?;
    if told.is_empty() {
        return Err(refuse(&format!("no event in {} rows: it must be a shutdown table", counts.lines())));
    }
    let marks = told.into_iter().map(|told| (told.event.country.clone(), EventMark::of(&told.event)));
    Ok(marks.filter_map(|(country, mark)| Some((country, start(Source::AccessNow.code(), &mark)?))).collect())
}

fn of_data(common: &Common) -> Result<(Vec<(String, Start)>, Beside), String> {
    // Here `--to` is a year, not an address.
    let client = Client::open(&Common { to: None, ..common.clone() }, false)?;
    let (tokio, rt) = client.deployment().ok_or("this needs the data file")?;
    tokio
        .block_on(runtime::query(&*rt, world::actor().name, &ReadStarts))
        .map_err(|error| error.into_details().message.into_owned())
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.4}"))
}

fn line(name: &str, figures: &Figures) {
    let Figures { rows, positives, auc, average_precision, brier, brier_skill, ece, .. } = figures;
    let [auc, precision, brier, skill] = [auc, average_precision, brier, brier_skill].map(|value| number(*value));
    let ece = ece.map_or("-".to_owned(), |ece| format!("{ece:.5}"));
    say!("{name:<26} {rows:>8} {positives:>8} {auc:>7} {precision:>7} {brier:>7} {skill:>7} {ece:>8}");
}

fn part(name: &str, part: &Part) {
    line(name, &part.all);
    line("  30 quiet days before", &part.hard);
    line("  without India", &part.without_india);
    line("  with a past event", &part.with_history);
    say!("  median AUC within one of {} countries {}", part.within_countries, number(part.within_country_auc));
    for top in &part.top {
        let (share, ratio) = (top.share * 100.0, number(top.observed_over_predicted));
        say!("  highest {share}%: observed {:.4}, predicted {:.4}, ratio {ratio}", top.observed, top.predicted);
    }
}

fn print(found: &Backtest) {
    let Backtest { from, to, countries, history_from, history_to, starts, .. } = found;
    say!("{} over {from} to {to}, {countries} countries, {} days ahead", found.model, found.horizon);
    say!("history from {history_from} to {history_to}, {starts} starts\n");
    let names = ["rows", "events", "AUC", "AP", "Brier", "skill", "ECE"];
    let [rows, events, auc, ap, brier, skill, ece] = names;
    say!("{:<26} {rows:>8} {events:>8} {auc:>7} {ap:>7} {brier:>7} {skill:>7} {ece:>8}", "");
    part("history up to the day", &found.part);
    part("known at 1 January", &found.known_at_1_january);
    say!();
    for baseline in &found.baselines {
        line(baseline.name, &baseline.all);
        line("  30 quiet days before", &baseline.hard);
    }
    say!();
    for year in &found.years {
        line(&year.year.to_string(), &year.part.all);
        line("  known at 1 January", &year.known_at_1_january.all);
    }
    let coverage = &found.coverage;
    say!("\nsets: target {:.2}, event {}, quiet {}", coverage.target, number(coverage.event), number(coverage.quiet));
    say!("a day: {:.1} both, {:.1} event only", coverage.both_per_day, coverage.event_only_per_day);
    say!("\n{:>9} {:>9} {:>9} {:>9}", "threshold", "precision", "recall", "a day");
    for row in &found.alert_budget {
        let (precision, recall) = (number(row.precision), number(row.recall));
        say!("{:>9} {precision:>9} {recall:>9} {:>9.2}", row.threshold, row.countries_per_day);
    }
    say!();
    found.notes.iter().for_each(|note| say!("{note}"));
}
