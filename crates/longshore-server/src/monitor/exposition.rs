//! All numbers in Prometheus' text format (0.0.4).

use std::fmt::{Display, Write as _};
use std::sync::Arc;

use longshore_engine::{DatabaseStatistics, DurableStatistics};

use crate::Shared;
use crate::metrics::get;

/// The text.
struct Text(String);

impl Text {
    /// Begins a metric: its name, its type, and what it is.
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// A sample, with labels as they are written, or none.
    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{labels}}} {value}")
        };
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.begin(name, "counter", help);
        self.sample(name, "", value);
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.begin(name, "gauge", help);
        self.sample(name, "", value);
    }
}

/// What is known of a server, which may not be there yet.
pub(super) fn text(shared: Option<&Arc<Shared>>, is_ready: bool) -> String {
    let mut text = Text(String::with_capacity(8 << 10));
    text.begin("longshore_build_info", "gauge", "The version of the program; the value is 1.");
    text.sample("longshore_build_info", concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1);
    text.gauge("longshore_ready", "Whether clients are let in.", u8::from(is_ready));
    if let Some(shared) = shared {
        of_server(&mut text, shared);
        of_database(&mut text, &shared.database.statistics());
    }
    text.0
}

fn of_server(text: &mut Text, shared: &Shared) {
    let metrics = &shared.metrics;
    let started = shared.started.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    text.gauge(
        "longshore_start_time_seconds",
        "When the server started, in seconds since 1970.",
        started.as_secs_f64(),
    );
    text.gauge("longshore_connections_limit", "Connections at a time, at most.", shared.config.connections_max);
    text.counter("longshore_connections_total", "Connections that were let in.", get(&metrics.connections));
    text.counter(
        "longshore_connections_refused_total",
        "Connections that were sent away when they began: sign-in failed, or there were too many.",
        get(&metrics.connections_refused),
    );
    let name = "longshore_statements_total";
    text.begin(name, "counter", "Statements that have ended, by their kinds.");
    for (kind, count) in metrics.statements() {
        text.sample(name, &format!("kind=\"{kind}\""), count);
    }
    let name = "longshore_errors_total";
    text.begin(name, "counter", "Errors that clients were told, by the classes of their SQLSTATEs.");
    for (class, count) in metrics.errors() {
        text.sample(name, &format!("class=\"{class}\""), count);
    }
    let name = "longshore_statement_duration_seconds";
    text.begin(name, "histogram", "What statements took, from their messages to their last rows.");
    let (buckets, all, time) = metrics.times();
    for (bound, count) in buckets {
        text.sample("longshore_statement_duration_seconds_bucket", &format!("le=\"{bound}\""), count);
    }
    text.sample("longshore_statement_duration_seconds_bucket", "le=\"+Inf\"", all);
    text.sample("longshore_statement_duration_seconds_sum", "", time.as_secs_f64());
    text.sample("longshore_statement_duration_seconds_count", "", all);
    text.counter("longshore_rows_sent_total", "Rows that queries have sent to clients.", get(&metrics.rows_sent));
    text.counter("longshore_copy_rows_loaded_total", "Rows that COPY FROM has loaded.", get(&metrics.rows_loaded));
    text.counter("longshore_copy_bytes_read_total", "Bytes that COPY FROM has read.", get(&metrics.bytes_loaded));
    text.counter("longshore_copy_rows_unloaded_total", "Rows that COPY TO has written.", get(&metrics.rows_unloaded));
}

fn of_database(text: &mut Text, database: &DatabaseStatistics) {
    let name = "longshore_sessions";
    text.begin(name, "gauge", "Sessions by what they do.");
    for (phase, count) in &database.sessions {
        text.sample(name, &format!("state=\"{}\"", phase.name()), count);
    }
    let name = "longshore_transactions_total";
    text.begin(name, "counter", "Transactions that have ended; a statement outside of a block is one, too.");
    text.sample(name, "outcome=\"committed\"", database.transactions_committed);
    text.sample(name, "outcome=\"rolled_back\"", database.transactions_rolled_back);
    text.counter("longshore_lock_waits_total", "Waits for other transactions and sessions.", database.lock_waits);
    text.counter("longshore_deadlocks_total", "Deadlocks that were found.", database.deadlocks);
    text.gauge("longshore_memory_used_bytes", "What tables and queries hold.", database.memory_used);
    if let Some(limit) = database.memory_limit {
        text.gauge("longshore_memory_limit_bytes", "What tables and queries may hold.", limit);
    }
    if let Some(durable) = &database.durable {
        of_directory(text, durable);
    }
}

fn of_directory(text: &mut Text, durable: &DurableStatistics) {
    text.counter(
        "longshore_log_written_bytes_total",
        "Bytes of the log since the directory was made.",
        durable.log_bytes_written,
    );
    text.gauge("longshore_log_redo_bytes", "Bytes of the log behind the last checkpoint.", durable.log_bytes_to_redo);
    text.counter("longshore_log_syncs_total", "How often the log was made safe on the disk.", durable.log_syncs);
    let name = "longshore_checkpoints_total";
    text.begin(name, "counter", "Checkpoints since the server started.");
    text.sample(name, "outcome=\"made\"", durable.checkpoints);
    text.sample(name, "outcome=\"failed\"", durable.checkpoints_failed);
    text.counter(
        "longshore_checkpoint_duration_seconds_total",
        "What checkpoints took in all.",
        durable.checkpoint_time.as_secs_f64(),
    );
}
