//! `heliograph evaluate --world`: judges the method of verdicts by simulated worlds.

use serde::Serialize;

use super::args::{Common, Evaluate};
use crate::testing::Folder;
use crate::world::{Judgement, Noise, Plan, Row, Shape, Size, World, grid, live};

/// Worlds of each plan: four have some 400 blocks.
const WORLDS: u64 = 4;
/// Worlds of each plan with `--short`.
const SHORT: u64 = 1;

#[derive(Debug, Serialize)]
struct Report {
    seed: u64,
    worlds: u64,
    rows: Vec<Row>,
}

pub fn run(common: &Common, command: &Evaluate) -> Result<(), String> {
    if common.to.is_some() {
        return Err("worlds are made and judged in this process: leave out --to".to_owned());
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string())?;
    let (plans, worlds) = match command.short {
        true => (short(), SHORT),
        false => (grid(Size::FULL), WORLDS),
    };
    let worlds = command.worlds.unwrap_or(worlds);
    let only = command.rows.as_deref().unwrap_or_default();
    let mut rows = Vec::new();
    for plan in plans.iter().copied().filter(|plan| plan.to_string().contains(only)) {
        let mut judgement = Judgement::default();
        for number in 0..worlds {
            let world = World::make(plan, command.seed.wrapping_mul(1_000).wrapping_add(number));
            let folder = Folder::new("world").map_err(|error| error.to_string())?;
            let answers = runtime.block_on(live(&world, folder.path()))?;
            judgement.add(&world, &answers);
        }
        let row = judgement.row(plan);
        if !command.json {
            if rows.is_empty() {
                head(command.seed, worlds);
            }
            line(&plan, &row);
        }
        rows.push(row);
    }
    if rows.is_empty() {
        let all: Vec<String> = plans.iter().map(ToString::to_string).collect();
        return Err(format!("no row contains `{only}`; there are:\n{}", all.join("\n")));
    }
    let missed = rows.iter().filter(|row| !row.missed().is_empty()).count();
    if command.json {
        let report = Report { seed: command.seed, worlds, rows };
        say!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
    }
    if missed == 0 { Ok(()) } else { Err(format!("{missed} rows miss a bar")) }
}

/// Small worlds that take seconds: failures at random, in bursts, and of the kind that the method was not made with.
fn short() -> Vec<Plan> {
    [(false, Shape::Usual), (true, Shape::Usual), (false, Shape::Other)]
        .map(|(bursts, shape)| Plan { size: Size::SHORT, rate: 4, noise: Noise { share: 0.05, bursts }, shape })
        .into()
}

fn head(seed: u64, worlds: u64) {
    say!(
        "Simulated worlds: {worlds} of each row, seed {seed}. They judge the method under the noise that they were made \
         with, not the real world.\n"
    );
    say!(
        "| Sessions a day | Failures | Blocks | Clean called blocked | Networks | Found in 48 h | 72 h | Removed in 72 h | \
         120 h | ECE | Wrong accessible | Misses |"
    );
    say!("|---|---|---|---|---|---|---|---|---|---|---|---|");
}

fn line(plan: &Plan, row: &Row) {
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let exactly = |share: f64| format!("{:.3}%", share * 100.0);
    say!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        row.rate,
        plan.failures(),
        row.begun,
        exactly(row.clean_called_blocked),
        exactly(row.networks_called_blocked),
        percent(row.found_in_48_h),
        percent(row.found_in_72_h),
        percent(row.removed_in_72_h),
        percent(row.removed_in_120_h),
        row.calibration_error.map_or("-".to_owned(), |error| format!("{error:.3}")),
        exactly(row.wrong_accessible),
        row.missed().join(", "),
    );
}
