//! Metrics: counters that grow as things happen and gauges that are set when they are asked for, as
//! text that Prometheus reads.

use std::sync::Arc;
use std::time::Duration;

use coven_store::journal::sync_times::{CLASSES, SyncTimes, sync_times};
use metrics::{Key, Label, Level, Metadata, Recorder, Unit};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

/// The metrics of one service. They do not belong to the process: it may run several, as tests do.
#[derive(Clone)]
pub struct Metrics {
    recorder: Arc<PrometheusRecorder>,
    handle: PrometheusHandle,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Metrics")
    }
}

const METADATA: Metadata<'static> = Metadata::new("coven", Level::INFO, None);

/// What each number is.
const METRIC_DESCRIPTIONS: [(&str, Unit, &str, bool); 15] = [
    ("coven_requests_total", Unit::Count, "Requests by method and status.", true),
    ("coven_request_seconds", Unit::Seconds, "How long requests took.", true),
    ("coven_facts_total", Unit::Count, "Facts that were told, by type.", true),
    ("coven_steps_total", Unit::Count, "Steps that ended, by how.", true),
    ("coven_output_bytes_total", Unit::Bytes, "What agents printed.", true),
    (
        "coven_event_lag_seconds",
        Unit::Seconds,
        "From when a fact was made to when it was told.",
        true,
    ),
    ("coven_hooks_total", Unit::Count, "Hooks that ran, by how they ended.", true),
    ("coven_sessions", Unit::Count, "Sessions by status.", false),
    ("coven_agents", Unit::Count, "Agents on terminals by what they do.", false),
    ("coven_jobs", Unit::Count, "Jobs that run or wait, and how many may run.", false),
    ("coven_interventions_waiting", Unit::Count, "Questions that wait for a person.", false),
    (
        "coven_base_dirs",
        Unit::Count,
        "Folders that are kept, by whether they could be opened.",
        false,
    ),
    (
        "coven_unheard_agents",
        Unit::Count,
        "Agents that waited and about which nobody was asked, so far. A defect, if it is not 0.",
        false,
    ),
    ("coven_holders", Unit::Count, "Holders that are followed.", false),
    ("coven_memory_bytes", Unit::Bytes, "The daemon's own memory.", false),
];

impl Metrics {
    pub(crate) fn new() -> Self {
        let recorder = PrometheusBuilder::new().build_recorder();
        for (name, unit, about, counts) in METRIC_DESCRIPTIONS {
            let (key, about) = (name.into(), about.into());
            match (counts, unit) {
                (true, Unit::Seconds) => recorder.describe_histogram(key, Some(unit), about),
                (true, _) => recorder.describe_counter(key, Some(unit), about),
                (false, _) => recorder.describe_gauge(key, Some(unit), about),
            }
        }
        let handle = recorder.handle();
        Self { recorder: Arc::new(recorder), handle }
    }

    pub(crate) fn count(&self, name: &'static str, labels: &[(&'static str, &str)], by: u64) {
        self.recorder.register_counter(&key(name, labels), &METADATA).increment(by);
    }

    /// Says how large something is.
    pub(crate) fn set(&self, name: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.recorder.register_gauge(&key(name, labels), &METADATA).set(value);
    }

    /// Says how long something took.
    pub(crate) fn took(&self, name: &'static str, labels: &[(&'static str, &str)], time: Duration) {
        self.recorder.register_histogram(&key(name, labels), &METADATA).record(time.as_secs_f64());
    }

    /// Counts a request that was answered, and how long that took.
    pub fn request(&self, method: &str, status: u16, time: Duration) {
        // A client can make up any method, and each would be a row of its own.
        let known = ["GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH"];
        let method = known.iter().find(|known| **known == method).unwrap_or(&"other");
        let status = status.to_string();
        self.count("coven_requests_total", &[("method", method), ("status", &status)], 1);
        self.took("coven_request_seconds", &[("method", method)], time);
    }

    /// All of them in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        self.handle.run_upkeep();
        let mut text = self.handle.render();
        text.push_str(&syncs(&sync_times()));
        text
    }
}

/// How long the disk takes, as a histogram of which the store counts the classes.
fn syncs(times: &SyncTimes) -> String {
    let name = "coven_fsync_seconds";
    let mut text = format!(
        "# HELP {name} How long the disk took to make facts durable.\n# TYPE {name} histogram\n"
    );
    let ends = CLASSES.iter().map(|most| format!("{}", Duration::from_millis(*most).as_secs_f64()));
    let mut sum = 0;
    let rows = ends.chain(["+Inf".to_owned()]).zip(times.counts).map(|(end, count)| {
        sum += count;
        format!("{name}_bucket{{le=\"{end}\"}} {sum}\n")
    });
    text.extend(rows);
    text + &format!("{name}_sum {}\n{name}_count {sum}\n", times.total.as_secs_f64())
}

fn key(name: &'static str, labels: &[(&'static str, &str)]) -> Key {
    let labels: Vec<Label> =
        labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(name, labels)
}
