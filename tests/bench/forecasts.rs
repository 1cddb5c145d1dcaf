//! `cargo xtask bench --forecasts`: measures the daily forecast of all countries, and each step of learning.
//!
//! The history is Access Now's table if it is beside the checkout, otherwise a made-up one. The operator's route makes
//! today's forecasts of all countries, as the schedule does. The steps of learning run in this process, as an actor
//! runs them, one per event.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use heliograph_core::engine::time::DAY;
use heliograph_core::facts::source::Source;
use heliograph_core::facts::starter::Country;
use heliograph_core::intelligence::forecast::history::{Beside, History, start};
use heliograph_core::intelligence::forecast::learning::Training;
use heliograph_core::intelligence::forecast::model::forecast;
use heliograph_core::{Timestamp, facts::reported, intelligence::world};
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::process::Server;
use heliograph_tests::simulation::Dice;

use crate::alerts::percentile;
use crate::{machine, service};

pub const HEADING: &str = "\n## Forecasts\n";
/// How often all countries are forecast.
pub const ROUNDS: usize = 21;
/// Time limit for forecasting all countries, in seconds.
const TARGET: f64 = 2.0;
const FILE: &str = "shutdowns/stop_2016_2024.csv.gz";
const STEPS: [&str; 5] = ["candidate", "hold-out", "model of 1 day", "model of 7 days", "model of 30 days"];

/// The results of a run.
#[derive(Debug)]
pub struct Measured {
    history: String,
    starts: usize,
    /// Seconds of learning by the operator's route, and of each forecast of all countries.
    learning: f64,
    forecasts: Vec<f64>,
    /// CPU time of the server for one of them, in seconds; `None` if it is not known.
    cpu: Option<f64>,
    /// Seconds in this process: for the history, for each step of learning, and for the forecasts alone.
    own_history: f64,
    steps: Vec<f64>,
    own_forecasts: f64,
    peak: Option<u64>,
}

/// Nine years in which a third of the countries have times of unrest, and a few have exams.
fn made_up(now: Timestamp) -> String {
    let mut out =
        "start_date,end_date,country,area_name,geo_scope,shutdown_type,shutdown_extent,actual_cause\n".to_owned();
    let mut dice = Dice::new(7);
    let mut below = |n: u64| (dice.draw() >> 33) % n;
    for (place, country) in Country::all().iter().enumerate().filter(|(place, _)| place % 3 == 0) {
        let (period, part) = (90 + 7 * place as i64, 1 + below(20) as i64);
        for back in 1..9 * 365i64 {
            let is_unrest = (back / part) % period < 2 && below(4) == 0;
            let is_exam = place % 30 == 0 && back % 365 < 4;
            if is_unrest || is_exam {
                let (day, cause) =
                    (now.plus(-back * DAY).to_date_text(), if is_exam { "Exam cheating" } else { "Protests" });
                writeln!(out, "{day},{day},{},Area {},,Shutdown,Full network,{cause}", country.code, below(3)).unwrap();
            }
        }
    }
    out
}

fn history(text: &[u8], now: Timestamp) -> History {
    let (_, told) = reported::read(Source::AccessNow, &mut &*text, u64::MAX, None, now).unwrap();
    let marks = told.iter().map(|told| (told.event.country.clone(), world::EventMark::of(&told.event)));
    let source = Source::AccessNow.code();
    let starts: Vec<_> = marks.filter_map(|(country, mark)| Some((country, start(source, &mark)?))).collect();
    let beside = Beside { listed_until: starts.iter().map(|(_, start)| start.day).max(), ..Beside::default() };
    History::new(starts, now.day() as i32).expect("there is nothing to learn from").with(beside)
}

fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let begun = Instant::now();
    let result = run();
    (result, begun.elapsed().as_secs_f64())
}

pub fn run(folder: &Path, cores: &machine::Cores) -> Measured {
    let server = Server::start(service::command(&folder.join("forecasts.redb"), cores));
    let client = Client::http(&server.base);
    let (admin, now) = (client.admin(), client.now());
    let (text, told) = match data::real(FILE) {
        Some(text) => (text, format!("Access Now's table ({FILE})")),
        None => (made_up(now).into_bytes(), "a made-up history of nine years".to_owned()),
    };
    let counts = data::import(&admin, "shutdowns", "", &text);
    eprintln!("imported: {counts:?}");
    // The world gets events as effects, so this waits for them.
    let rows = || {
        let body = client.get("/data/sources").expect(200);
        let rows = body["sources"].as_array().unwrap().iter().find(|row| row["id"] == "access-now").cloned();
        rows.and_then(|row| row["rows"].as_u64())
    };
    let mut before = None;
    client.until(|| {
        let now = rows();
        let settled = now.is_some() && now == before;
        before = now;
        client.wait(std::time::Duration::from_secs(11));
        settled.then_some(())
    });
    let post = |path: &str| admin.send("POST", path, None, b"").expect(200);
    let (trained, learning) = timed(|| post("/v1/admin/forecast/train"));
    eprintln!("{trained}");
    assert!(trained["served"].is_string(), "{trained}");
    let cpu_before = machine::cpu_seconds(server.id());
    let forecasts: Vec<f64> = (0..ROUNDS).map(|_| timed(|| post("/v1/admin/forecast/calibrate")).1).collect();
    let cpu = machine::cpu_seconds(server.id()).zip(cpu_before).map(|(after, before)| (after - before) / ROUNDS as f64);
    let peak = machine::peak_memory(server.id());
    server.stop();
    let (history, own_history) = timed(|| history(&text, now));
    let mut course = Training::begin(&history, now, 1, None).unwrap();
    let (mut steps, mut learned) = (Vec::new(), None);
    while learned.is_none() {
        let (step, seconds) = timed(|| course.step(&history, None));
        (learned, steps) = (step.unwrap(), [steps, vec![seconds]].concat());
    }
    let model = learned.unwrap();
    let every = 0..Country::all().len();
    let (_, own_forecasts) = timed(|| every.map(|at| forecast(&model, &history, at, now)).collect::<Vec<_>>());
    let starts = history.total();
    Measured { history: told, starts, learning, forecasts, cpu, own_history, steps, own_forecasts, peak }
}

pub fn render(measured: &Measured, machine: &[String]) -> String {
    let Measured { history, starts, learning, forecasts, cpu, own_history, steps, own_forecasts, peak } = measured;
    let mut out = format!("{HEADING}\nWritten by `cargo xtask bench --forecasts`.\n\n");
    machine.iter().for_each(|line| writeln!(out, "- {line}").unwrap());
    let peak = peak.map_or("unknown".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6));
    let cpu = cpu.map_or("unknown".to_owned(), |cpu| format!("{cpu:.3} s"));
    let (half, most) = (percentile(forecasts, 0.5), forecasts.iter().copied().fold(0.0, f64::max));
    let met = if most < TARGET { "yes" } else { "**no**" };
    writeln!(
        out,
        "- {history}, {starts} starts; {} countries; resident memory at most {peak}\n\
         - all forecasts of a day, stored, over HTTP, {ROUNDS} times: p50 {half:.3} s, at most {most:.3} s, target < {TARGET} s, \
         met: {met}; CPU of the server for one of them {cpu}\n\
         - learning by the operator's route, all steps: {learning:.2} s\n\n\
         | One event, the work alone | s |\n|---|---|\n\
         | read the history of all countries | {own_history:.3} |",
        Country::all().len()
    )
    .unwrap();
    for (name, seconds) in STEPS.iter().zip(steps) {
        writeln!(out, "| learning: {name} | {seconds:.3} |").unwrap();
    }
    writeln!(out, "| forecasts of all countries | {own_forecasts:.3} |").unwrap();
    out
}
