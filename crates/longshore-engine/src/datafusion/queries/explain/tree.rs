//! The operators of a plan as a tree with what each of them did, for people and as JSON.
//!
//! ```text
//!       rows       time     memory  operator
//!          1    0.01 ms             ProjectionExec: expr=[sum(t.a)@1 as sum]
//!          1    0.10 ms    1.2 kB   └─ AggregateExec: mode=Final, ...
//! ```
//! The time of an operator is that of all threads together, without that of the operators below it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::metrics::{MetricValue, MetricsSet};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, displayable};

/// An operator, and those that it takes its rows from.
pub(super) struct Operator {
    /// As DataFusion describes it.
    text: String,
    /// How many rows the planner expects.
    expected: Option<usize>,
    rows: Option<usize>,
    time: Option<Duration>,
    memory: Option<usize>,
    spilled: Option<usize>,
    /// All else that is counted.
    others: Vec<(String, String)>,
    inputs: Vec<Operator>,
}

/// What a query did as a whole.
pub(super) struct Totals {
    pub(super) rows: u64,
    pub(super) planning: Duration,
    pub(super) execution: Duration,
    /// The most that tables and queries have held meanwhile.
    pub(super) memory: usize,
}

impl Operator {
    /// The tree of `plan`.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let metrics = plan.metrics().unwrap_or_default();
        let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
        Self {
            text: displayable(plan.as_ref()).one_line().to_string().trim_end().to_owned(),
            expected: statistics.ok().and_then(|known| known.num_rows.get_value().copied()),
            rows: metrics.output_rows(),
            time: metrics.elapsed_compute().map(|nanoseconds| Duration::from_nanos(nanoseconds as u64)),
            memory: memory(&metrics),
            spilled: metrics.spilled_bytes().filter(|bytes| *bytes > 0),
            others: others(&metrics),
            inputs: plan.children().into_iter().map(Self::of).collect(),
        }
    }

    /// The lines of the tree, with headings.
    pub(super) fn lines(&self, timing: bool, verbose: bool) -> Vec<String> {
        let columns = Columns { timing, spilled: self.any(|operator| operator.spilled.is_some()), verbose };
        let mut lines = vec![columns.numbers("rows", "time", "memory", "spilled") + "operator"];
        self.add_lines(columns, "", "", &mut lines);
        lines
    }

    fn any(&self, is_so: fn(&Self) -> bool) -> bool {
        is_so(self) || self.inputs.iter().any(|input| input.any(is_so))
    }

    /// Adds the line of this operator behind `first`, and those of what is below it behind `rest`.
    fn add_lines(&self, columns: Columns, first: &str, rest: &str, lines: &mut Vec<String>) {
        let numbers = columns.numbers(
            &self.rows.map_or_else(String::new, |rows| rows.to_string()),
            &self.time.map_or_else(String::new, shown_time),
            &self.memory.map_or_else(String::new, shown_bytes),
            &self.spilled.map_or_else(String::new, shown_bytes),
        );
        lines.push(format!("{numbers}{first}{}", self.text));
        if columns.verbose && !self.others.is_empty() {
            let others: Vec<String> = self.others.iter().map(|(name, value)| format!("{name}={value}")).collect();
            lines.push(format!("{}{rest}   {}", columns.numbers("", "", "", ""), others.join(", ")));
        }
        let last = self.inputs.len().saturating_sub(1);
        for (index, input) in self.inputs.iter().enumerate() {
            let (branch, line) = if index == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            input.add_lines(columns, &format!("{rest}{branch}"), &format!("{rest}{line}"), lines);
        }
    }

    /// The tree as a JSON object, with PostgreSQL's keys where it has them.
    pub(super) fn json(&self, timing: bool, verbose: bool, indent: usize, json: &mut String) {
        let blanks = " ".repeat(indent + 2);
        let (name, details) = self.text.split_once(": ").unwrap_or((&self.text, ""));
        let mut members = vec![format!("\"Node Type\": {}", text(name))];
        if !details.is_empty() {
            members.push(format!("\"Details\": {}", text(details)));
        }
        for (own, key) in POSTGRES_KEYS {
            if let Some(value) = detail(details, own) {
                members.push(format!("\"{key}\": {}", text(value)));
            }
        }
        let is_run = self.rows.is_some();
        let numbers = [
            ("Plan Rows", self.expected.map(|rows| rows.to_string())),
            ("Actual Loops", is_run.then(|| "1".to_owned())),
            ("Actual Total Time", self.total_time().filter(|_| timing && is_run).map(milliseconds)),
            ("Actual Rows", self.rows.map(|rows| rows.to_string())),
            ("Actual Time", self.time.filter(|_| timing).map(milliseconds)),
            ("Peak Memory", self.memory.map(|bytes| bytes.to_string())),
            ("Spilled", self.spilled.map(|bytes| bytes.to_string())),
        ];
        members.extend(numbers.into_iter().filter_map(|(key, value)| Some(format!("\"{key}\": {}", value?))));
        if verbose {
            members.extend(self.others.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))));
        }
        let _ = write!(json, "{{\n{blanks}{}", members.join(&format!(",\n{blanks}")));
        for (index, input) in self.inputs.iter().enumerate() {
            json.push_str(if index == 0 { ",\n" } else { ", " });
            if index == 0 {
                let _ = write!(json, "{blanks}\"Plans\": [");
            }
            input.json(timing, verbose, indent + 2, json);
        }
        if !self.inputs.is_empty() {
            json.push(']');
        }
        let _ = write!(json, "\n{}}}", " ".repeat(indent));
    }
}

impl Operator {
    /// The time of this operator and of those below it; `None` if none of them has counted it.
    fn total_time(&self) -> Option<Duration> {
        let below = self.inputs.iter().filter_map(Self::total_time);
        self.time.into_iter().chain(below).reduce(|sum, time| sum + time)
    }
}

/// What operators say of themselves that PostgreSQL has a key for.
const POSTGRES_KEYS: [(&str, &str); 4] =
    [("table", "Relation Name"), ("index", "Index Name"), ("predicate", "Filter"), ("join_type", "Join Type")];

/// What `details` say behind `key=`: up to the comma before the next key. Of an index it is the name alone.
fn detail<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    let start = details.match_indices(key).find_map(|(at, _)| {
        let is_first = at == 0 || details[..at].ends_with(", ");
        let rest = details[at + key.len()..].strip_prefix('=')?;
        (is_first && !rest.starts_with(' ')).then(|| details.len() - rest.len())
    })?;
    let rest = &details[start..];
    let is_end = |at: usize| {
        let next = &rest[at + 2..];
        let name = next.bytes().take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_').count();
        name > 0 && next[name..].starts_with('=')
    };
    let end = rest.match_indices(", ").map(|(at, _)| at).find(|at| is_end(*at)).unwrap_or(rest.len());
    let value = &rest[..end];
    Some(if key == "index" { value.split(" (").next().unwrap_or(value) } else { value })
}

impl Totals {
    /// The lines below the tree.
    pub(super) fn lines(&self) -> Vec<String> {
        vec![
            format!("Rows: {}", self.rows),
            format!("Planning Time: {} ms", milliseconds(self.planning)),
            format!("Execution Time: {} ms", milliseconds(self.execution)),
            format!("Peak Memory: {} (of tables and queries)", shown_bytes(self.memory)),
        ]
    }

    /// The members beside the tree.
    pub(super) fn json(&self) -> String {
        format!(
            ",\n    \"Rows\": {},\n    \"Planning Time\": {},\n    \"Execution Time\": {},\n    \"Peak Memory\": {}",
            self.rows,
            milliseconds(self.planning),
            milliseconds(self.execution),
            self.memory
        )
    }
}

/// Which columns of numbers stand before the tree.
#[derive(Clone, Copy)]
struct Columns {
    timing: bool,
    spilled: bool,
    verbose: bool,
}

impl Columns {
    fn numbers(self, rows: &str, time: &str, memory: &str, spilled: &str) -> String {
        let mut line = format!("{rows:>10}");
        for (value, is_shown) in [(time, self.timing), (memory, true), (spilled, self.spilled)] {
            if is_shown {
                let _ = write!(line, " {value:>10}");
            }
        }
        line + "  "
    }
}

/// The most memory that an operator has held, as far as it counts that.
fn memory(metrics: &MetricsSet) -> Option<usize> {
    let is_memory = |value: &MetricValue| match value {
        MetricValue::CurrentMemoryUsage(_) | MetricValue::PeakMemoryUsage { .. } => true,
        MetricValue::Gauge { name, .. } => name.contains("mem"),
        _ => false,
    };
    metrics.sum(|metric| is_memory(metric.value())).map(|value| value.as_usize()).filter(|bytes| *bytes > 0)
}

/// What is counted beside rows, time, memory and spills.
fn others(metrics: &MetricsSet) -> Vec<(String, String)> {
    let all = metrics.aggregate_by_name();
    let is_shown = |name: &str| {
        ["output_rows", "elapsed_compute", "spilled_bytes", "start_timestamp", "end_timestamp"].contains(&name)
    };
    let others = all.iter().map(|metric| (metric.value().name().to_owned(), metric.value().to_string()));
    others.filter(|(name, _)| !is_shown(name)).collect()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

fn shown_time(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1e3;
    if milliseconds < 1000.0 { format!("{milliseconds:.2} ms") } else { format!("{:.2} s", milliseconds / 1e3) }
}

fn shown_bytes(bytes: usize) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            break;
        }
        value /= 1e3;
        unit = larger;
    }
    if unit == "B" || value >= 99.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// `value` as a JSON string.
fn text(value: &str) -> String {
    let mut json = String::from("\"");
    for c in value.chars() {
        match c {
            '"' | '\\' => json.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(json, "\\u{:04x}", c as u32);
            }
            c => json.push(c),
        }
    }
    json + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_have_keys() {
        let scan =
            "table=t, columns=[k, v], rows=5, predicate=k@0 = 1 AND f(k, v@1) >= 2, index=t_pkey (1 to 10), found=10";
        for (key, expected) in [
            ("table", Some("t")),
            ("columns", Some("[k, v]")),
            ("predicate", Some("k@0 = 1 AND f(k, v@1) >= 2")),
            ("index", Some("t_pkey")),
            ("found", Some("10")),
            ("able", None),
            ("join_type", None),
        ] {
            assert_eq!(detail(scan, key), expected, "{key}");
        }
    }
}
