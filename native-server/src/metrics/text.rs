//! Everything that is counted, in the text format of Prometheus.

mod census;

use std::collections::BTreeMap;
use std::fmt::Error;

use heliograph_core::Timestamp;
use heliograph_core::engine::time::SECOND;
use heliograph_core::intelligence::fetch::FetchRow;
use heliograph_core::relay::directory::stats::DirectoryTotals;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::process::Process;
use super::{Metrics, Times};
use crate::runtime::Native;
use crate::{clock, log};

type Labels<'a> = Vec<(&'a str, String)>;
type Written = Result<(), Error>;

/// What actors know.
pub struct Known {
    /// The sources that are fetched.
    pub sources: BTreeMap<String, FetchRow>,
    /// When the forecast model that is served was trained.
    pub model: Option<Timestamp>,
    /// When the classifier that is served was trained.
    pub classifier: Option<Timestamp>,
    pub totals: Option<DirectoryTotals>,
}

/// The text, with what actors know.
pub fn of(native: &Native, known: Known) -> Result<String, Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Moment::of(native, known)));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

/// How a family of values is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Gauge,
    Counter,
}

/// Values of one name.
#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    form: Form,
    values: Vec<(Labels<'static>, f64)>,
}

/// Times of one name.
#[derive(Debug)]
struct Histogram {
    name: &'static str,
    help: &'static str,
    values: Vec<(Labels<'static>, TimesRead)>,
}

#[derive(Debug)]
struct TimesRead {
    seconds: f64,
    buckets: Vec<(f64, u64)>,
}

impl From<&Times> for TimesRead {
    fn from(times: &Times) -> TimesRead {
        TimesRead { seconds: times.seconds(), buckets: times.buckets() }
    }
}

/// All values at one moment.
#[derive(Debug, Default)]
struct Moment {
    families: Vec<Family>,
    histograms: Vec<Histogram>,
}

impl Moment {
    fn of(native: &Native, known: Known) -> Moment {
        let mut moment = Moment::default();
        moment.one(
            "heliograph_build_info",
            "The version of the program",
            [("version", env!("CARGO_PKG_VERSION"))],
            1.0,
        );
        moment.requests(native.counted());
        moment.budgets(native);
        moment.storage(native);
        moment.outgoing(native);
        moment.actors(&known);
        moment.census(native);
        moment.sources(known.sources);
        moment.log();
        moment.process();
        moment
    }

    fn push<const N: usize>(
        &mut self,
        (form, name, help): (Form, &'static str, &'static str),
        values: impl IntoIterator<Item = ([(&'static str, String); N], f64)>,
    ) {
        let values = values.into_iter().map(|(labels, value)| (labels.to_vec(), value)).collect();
        self.families.push(Family { name, help, form, values });
    }

    /// A gauge with one value.
    fn one<const N: usize>(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: [(&'static str, &str); N],
        value: f64,
    ) {
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        self.push((Form::Gauge, name, help), [(labels, value)]);
    }

    fn counter(&mut self, name: &'static str, help: &'static str, value: u64) {
        self.push((Form::Counter, name, help), [([], value as f64)]);
    }

    fn requests(&mut self, metrics: &Metrics) {
        let mut codes = Vec::new();
        let mut times = Vec::new();
        for route in metrics.requests.routes() {
            let (method, path) = (("method", route.method.clone()), ("route", route.path.to_owned()));
            for (code, count) in route.codes() {
                codes.push(([method.clone(), path.clone(), ("code", code.to_string())], count as f64));
            }
            times.push((vec![method, path], TimesRead::from(&route.times)));
        }
        let help = "Requests that were answered, by template of the route (empty: of no route) and status code";
        self.push((Form::Counter, "heliograph_http_requests", help), codes);
        let help = "Seconds from the head of a request until its answer began";
        self.histograms.push(Histogram { name: "heliograph_http_request_seconds", help, values: times });
    }

    fn budgets(&mut self, native: &Native) {
        let mut all: Vec<(&'static str, [u64; 3])> = Vec::new();
        if let Some(budgets) = native.door.get().map(|door| &door.limits().budgets) {
            for (name, budget) in
                [("connections", &budgets.connections), ("heads", &budgets.heads), ("body_bytes", &budgets.bodies)]
            {
                all.push((name, [budget.all(), budget.most(), budget.refused()]));
            }
        }
        let pool = &native.pool;
        all.push(("computing", [pool.inside() as u64, pool.most() as u64, pool.refused()]));
        let (used, most, refused) = native.streams().places();
        all.push(("streams", [used as u64, most as u64, refused]));
        let family = |at: usize| {
            let values: Vec<_> = all
                .iter()
                .map(|(name, values)| ([("budget", (*name).to_owned())], values.get(at).copied().unwrap_or(0) as f64))
                .collect();
            values
        };
        let help =
            "How much of a budget is in use: connections, half heads, bytes of bodies, questions that compute, streams";
        self.push((Form::Gauge, "heliograph_budget_used", help), family(0));
        self.push((Form::Gauge, "heliograph_budget_limit", "How much a budget has"), family(1));
        let help = "How often a budget had no room and the client was refused";
        self.push((Form::Counter, "heliograph_budget_refusals", help), family(2));
        let help = "When the certificate of tls_certificate ends";
        let ends = native.tls.get().and_then(|tls| tls.ends()).map(|at| ([], at as f64));
        self.push((Form::Gauge, "heliograph_tls_certificate_ends_timestamp_seconds", help), ends);
        let help = "Requests for a certificate to the authority of acme_domains that failed in a row";
        let failures = native.tls.get().and_then(|tls| tls.failures()).map(|failures| ([], failures as f64));
        self.push((Form::Gauge, "heliograph_tls_renewal_failures", help), failures);
        let help = "Bytes of streams and large answers that clients have not read yet";
        self.one("heliograph_unread_bytes", help, [], native.streams().queue().bytes() as f64);
    }

    fn storage(&mut self, native: &Native) {
        let (store, counts) = (&native.store, native.store.counts());
        let times = |times: &Times| vec![(Vec::new(), TimesRead::from(times))];
        let help = "Seconds of a commit that changed something, from its first operation until it was durable";
        self.histograms.push(Histogram { name: "heliograph_commit_seconds", help, values: times(&counts.commits) });
        let help = "Seconds of putting the journal into the data file";
        self.histograms.push(Histogram { name: "heliograph_fold_seconds", help, values: times(&counts.folds) });
        self.counter("heliograph_commits", "Commits that changed something", counts.commits.count());
        self.counter("heliograph_operations", "Operations that commits answered", counts.answered.get());
        self.counter("heliograph_commit_failures", "Commits that failed, with everything in them", counts.failed.get());
        let waiting = native.writer.waiting();
        let values = waiting.map(|(rank, length)| ([("rank", rank.to_owned())], length as f64));
        self.push((Form::Gauge, "heliograph_writer_waiting", "Operations that wait for a commit"), values);
        let bytes = store.view().map_or(0, |view| view.unfolded());
        self.one("heliograph_journal_bytes", "Bytes of rows that are in the journal only", [], bytes as f64);
        let late = store.earliest().ok().flatten().map_or(0, |due| due.until(clock::now()).as_micros());
        let help = "Seconds since the earliest timer or delivery was due that is not done";
        self.one("heliograph_due_delay_seconds", help, [], late as f64 / 1e6);
        let failing = f64::from(u8::from(store.condition().failing().is_some()));
        self.one("heliograph_storage_failing", "1 while nothing can be written", [], failing);
        let help = "Pages of the data file that are known to be damaged";
        self.one("heliograph_damaged_pages", help, [], store.damaged_pages() as f64);
        let bytes = std::fs::metadata(store.path()).map_or(0, |meta| meta.len());
        self.one("heliograph_data_file_bytes", "Size of the data file", [], bytes as f64);
        let help = "Size of the files of the journal, also of the one that waits to be used again";
        self.one("heliograph_journal_file_bytes", help, [], store.journal_file_bytes() as f64);
        let help = "Bytes that are free where the data file is";
        self.push((Form::Gauge, "heliograph_disk_free_bytes", help), store.disk_free().map(|bytes| ([], bytes as f64)));
        let (converting, scrubbed) = store.checksums();
        let help = "When the whole data file was last compared with its checksums";
        let values = scrubbed.map(|at| ([], at.0 as f64 / SECOND as f64));
        self.push((Form::Gauge, "heliograph_scrub_last_timestamp_seconds", help), values);
        let help = "1 while pages of an earlier version are given checksums";
        self.one("heliograph_scrub_converting", help, [], f64::from(u8::from(converting)));
    }

    fn outgoing(&mut self, native: &Native) {
        const CODES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];
        let counts = CODES.iter().zip(&native.counted().outgoing);
        let values: Vec<_> = counts.map(|(code, count)| ([("code", (*code).to_owned())], count.get() as f64)).collect();
        let help = "Requests to other hosts: deliveries, peers and sources, by status of the answer (none: no answer)";
        self.push((Form::Counter, "heliograph_outgoing_requests", help), values);
    }

    fn actors(&mut self, known: &Known) {
        let values = known.model.map(|at| ([], at.0 as f64 / SECOND as f64));
        let help = "When the forecast model that is served was trained";
        self.push((Form::Gauge, "heliograph_forecast_model_trained_timestamp_seconds", help), values);
        let values = known.classifier.map(|at| ([], at.0 as f64 / SECOND as f64));
        let help = "When the classifier of days that is served was trained";
        self.push((Form::Gauge, "heliograph_classifier_trained_timestamp_seconds", help), values);
        if let Some(totals) = &known.totals {
            let help = "Active agents; a minute or two late";
            self.one("heliograph_agents", help, [], totals.agents as f64);
            let help = "Messages that agents ever sent; a minute or two late";
            self.counter("heliograph_messages", help, totals.messages);
        }
    }

    fn sources(&mut self, sources: BTreeMap<String, FetchRow>) {
        let seconds = |at: Timestamp| at.0 as f64 / SECOND as f64;
        let (mut successes, mut failures, mut times, mut aside) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (name, row) in sources {
            let label = || [("source", name.clone())];
            successes.extend(row.success.map(|at| (label(), seconds(at))));
            failures.extend(row.error.as_ref().map(|(at, _)| (label(), seconds(*at))));
            times.push((label(), f64::from(row.failures)));
            aside.push((label(), row.set_aside.len() as f64));
        }
        let help = "When a source last gave an answer that was imported";
        self.push((Form::Gauge, "heliograph_source_last_success_timestamp_seconds", help), successes);
        let help = "When a request to a source last failed";
        self.push((Form::Gauge, "heliograph_source_last_failure_timestamp_seconds", help), failures);
        self.push((Form::Gauge, "heliograph_source_failures", "Requests to a source that failed in a row"), times);
        let help = "Windows of a source that were given up after many failures";
        self.push((Form::Gauge, "heliograph_source_windows_set_aside", help), aside);
    }

    fn log(&mut self) {
        let values = log::counts().map(|(level, count)| ([("level", level.to_owned())], count as f64));
        let help = "Lines for the log, also those that its level leaves out";
        self.push((Form::Counter, "heliograph_log_lines", help), values);
    }

    fn process(&mut self) {
        let process = Process::of_self();
        let help = "CPU time of the process";
        let cpu = process.cpu_seconds.map(|seconds| ([], seconds));
        self.push((Form::Counter, "process_cpu_seconds", help), cpu);
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Memory of the process that is in RAM", process.resident_bytes),
            ("process_virtual_memory_bytes", "Addresses that the process has in use", process.virtual_bytes),
            ("process_open_fds", "Open file descriptors", process.open_fds),
            ("process_max_fds", "File descriptors that the process may have open", process.max_fds),
            ("process_threads", "Threads of the process", process.threads),
            ("process_start_time_seconds", "When the process started, in seconds since 1970", process.start_seconds),
        ] {
            self.push((Form::Gauge, name, help), value.map(|value| ([], value)));
        }
    }
}

impl Collector for Moment {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Written {
        for Family { name, help, form, values } in self.families.iter().filter(|family| !family.values.is_empty()) {
            let kind = if *form == Form::Gauge { MetricType::Gauge } else { MetricType::Counter };
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for (labels, value) in values {
                let mut metric = family.encode_family(labels)?;
                match form {
                    Form::Gauge => metric.encode_gauge(value)?,
                    Form::Counter => metric.encode_counter::<NoLabelSet, _, f64>(value, None)?,
                }
            }
        }
        for Histogram { name, help, values } in self.histograms.iter().filter(|family| !family.values.is_empty()) {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
            for (labels, TimesRead { seconds, buckets }) in values {
                let count = buckets.iter().map(|(_, count)| count).sum();
                family.encode_family(labels)?.encode_histogram::<NoLabelSet>(*seconds, count, buckets, None)?;
            }
        }
        Ok(())
    }
}
