//! The table of a run.

use std::fmt::Write as _;

use super::{Contender, Measured, QUIET, Sample, Work};

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn rates(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.rate).collect()
}

/// The whole part of the results.
pub fn render((heading, command): (&str, &str), measured: &Measured, machine: &[String]) -> String {
    let mut out = format!("{heading}\nWritten by `cargo xtask {command}`.\n\n");
    machine.iter().chain(&measured.notes).for_each(|line| writeln!(out, "- {line}").unwrap());
    let unrest = measured.unrest();
    let verdict = if unrest < QUIET { "quiet" } else { "**not quiet**" };
    let low = measured.sync_rates.iter().copied().fold(f64::INFINITY, f64::min);
    writeln!(
        out,
        "- {verdict}: fdatasync of 512 B was measured {} times, {low:.0} to {:.0} a second, {unrest:.2} times apart \
         (quiet: less than {QUIET})",
        measured.sync_rates.len(),
        low * unrest
    )
    .unwrap();
    ratios(&mut out, &measured.works);
    folds(&mut out, &measured.works);
    details(&mut out, &measured.works);
    out
}

/// The most that the p99 of sends may grow while the journal is put into the tree, and the aim.
const FOLD: (f64, f64) = (3.0, 2.0);

fn folds(out: &mut String, works: &[Work]) {
    let all = || works.iter().flat_map(|work| work.contenders.iter().map(move |contender| (work, contender)));
    if !all().any(|(_, contender)| contender.samples.iter().flatten().any(|sample| sample.folds.is_some())) {
        return;
    }
    out.push_str(
        "\nThe p99 of sends while the journal was put into the tree, and meanwhile.\n\n\
         | Work | Contender | During, ms | Between, ms | Median of ratios | Worst round | Bar | Aim | Met |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (work, Contender { name, samples }) in all() {
        let folds: Vec<(u32, u32)> = samples.iter().flatten().filter_map(|sample| sample.folds).collect();
        if folds.is_empty() {
            continue;
        }
        let of = |part: fn(&(u32, u32)) -> u32| median(folds.iter().map(|both| f64::from(part(both)) / 1e3).collect());
        let ratios: Vec<f64> = folds.iter().map(|(during, between)| f64::from(*during) / f64::from(*between)).collect();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let (ratio, (bar, aim)) = (median(ratios), FOLD);
        let met = if ratio <= bar { "yes" } else { "**no**" };
        let (during, between) = (of(|both| both.0), of(|both| both.1));
        writeln!(
            out,
            "| {} | {name} | {during:.2} | {between:.2} | {ratio:.2} | {worst:.2} | {bar} | {aim} | {met} |",
            work.what
        )
        .unwrap();
    }
}

fn ratios(out: &mut String, works: &[Work]) {
    out.push_str(
        "\n| Work | Against | Ratio of medians | Worst round | Bar | Aim | Met |\n|---|---|---|---|---|---|---|\n",
    );
    for work in works {
        let Some(ours) = work.contenders.first().and_then(|ours| ours.samples.as_ref().ok()) else { continue };
        for Contender { name, samples } in work.contenders.iter().skip(1) {
            let bar = work.bars.iter().find(|bar| bar.peer == *name);
            let (least, aim) = bar.map_or(("-".into(), "-".into()), |bar| (bar.least.to_string(), bar.aim.to_string()));
            let what = &work.what;
            match samples {
                Err(why) => writeln!(out, "| {what} | {name} | not measured: {why} | | {least} | {aim} | |").unwrap(),
                Ok(theirs) => {
                    let ratio = median(rates(ours)) / median(rates(theirs));
                    let worst = ours.iter().zip(theirs).map(|(a, b)| a.rate / b.rate).fold(f64::INFINITY, f64::min);
                    let met = match bar {
                        None => "",
                        Some(bar) if ratio >= bar.least => "yes",
                        Some(_) => "**no**",
                    };
                    writeln!(out, "| {what} | {name} | {ratio:.2} | {worst:.2} | {least} | {aim} | {met} |").unwrap();
                }
            }
        }
    }
}

fn details(out: &mut String, works: &[Work]) {
    out.push_str(
        "\nMedians of the rounds, and the rates of all rounds.\n\n\
         | Work | Contender | per second | p99, ms | CPU of the server, us | bytes written | all rounds |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for work in works {
        for Contender { name, samples } in &work.contenders {
            let Ok(samples) = samples else { continue };
            let of = |value: fn(&Sample) -> Option<f64>, digits: usize| {
                let values: Vec<f64> = samples.iter().filter_map(value).collect();
                if values.is_empty() { "-".to_owned() } else { format!("{:.digits$}", median(values)) }
            };
            let all: Vec<String> = samples.iter().map(|sample| format!("{:.0}", sample.rate)).collect();
            writeln!(
                out,
                "| {} | {name} | {} | {} | {} | {} | {} |",
                work.what,
                of(|sample| Some(sample.rate), 0),
                of(|sample| sample.p99.map(|p99| f64::from(p99) / 1e3), 2),
                of(|sample| sample.cpu, 1),
                of(|sample| sample.written, 0),
                all.join(", ")
            )
            .unwrap();
        }
    }
}
