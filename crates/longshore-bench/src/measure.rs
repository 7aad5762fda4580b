//! How times are taken, and how they are shown.
//!
//! Cases run interleaved, one run of each in turn, so that a slow minute of the machine falls on all of them. A run
//! checks its answer before its time counts. Best and median are reported; rates are of the best.

use std::time::Duration;

use crate::{Failure, Settings};

/// What a rate is a rate of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Amount {
    /// Bytes of text: shown as GB/s.
    Bytes(u64),
    /// Values: shown as nanoseconds each.
    Values(u64),
    /// Transactions: shown as thousands a second.
    Transactions(u64),
    /// Operations on a row: shown as millions a second.
    Operations(u64),
    /// Nothing countable: the time alone is shown.
    #[cfg_attr(not(feature = "queries"), allow(dead_code, reason = "only queries have nothing to count"))]
    Time,
}

impl Amount {
    fn unit(self) -> &'static str {
        match self {
            Amount::Bytes(_) => "GB/s",
            Amount::Values(_) => "ns/value",
            Amount::Transactions(_) => "k tx/s",
            Amount::Operations(_) => "M/s",
            Amount::Time => "ms",
        }
    }

    fn rate(self, time: Duration) -> f64 {
        let seconds = time.as_secs_f64();
        match self {
            Amount::Bytes(bytes) => bytes as f64 / seconds / 1e9,
            Amount::Values(values) => seconds * 1e9 / values as f64,
            Amount::Transactions(transactions) => transactions as f64 / seconds / 1e3,
            Amount::Operations(operations) => operations as f64 / seconds / 1e6,
            Amount::Time => seconds * 1e3,
        }
    }
}

/// One thing to time: it checks its answer and returns the time that counts.
pub(crate) struct Case<'a> {
    name: String,
    amount: Amount,
    run: Box<dyn FnMut() -> Result<Duration, Failure> + 'a>,
}

impl<'a> Case<'a> {
    /// A case named `name`; `run` fails where the answer is wrong.
    pub(crate) fn new(
        name: impl Into<String>,
        amount: Amount,
        run: impl FnMut() -> Result<Duration, Failure> + 'a,
    ) -> Case<'a> {
        Case { name: name.into(), amount, run: Box::new(run) }
    }
}

/// The times of a case.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// The case.
    pub(crate) case: String,
    /// The shortest time.
    pub(crate) best: Duration,
    /// The middle one.
    pub(crate) median: Duration,
    /// The rate of the shortest time, in `unit`.
    pub(crate) rate: f64,
    /// What the rate is in.
    pub(crate) unit: &'static str,
    /// What else there is to say.
    pub(crate) note: String,
}

/// Runs every case that the settings ask for as often as they say, interleaved.
///
/// # Errors
///
/// The first wrong answer or failure, with the case it happened in.
pub(crate) fn measure(mut cases: Vec<Case<'_>>, settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let runs = settings.runs as usize;
    cases.retain(|case| case.name.contains(&settings.only));
    let mut times: Vec<Vec<Duration>> = vec![Vec::with_capacity(runs); cases.len()];
    for _ in 0..runs {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            times.push((case.run)().map_err(|error| format!("{}: {error}", case.name))?);
        }
    }
    let measured = cases.iter().zip(times).map(|(case, mut times)| {
        times.sort();
        let best = times[0];
        Measured {
            case: case.name.clone(),
            best,
            median: times[times.len() / 2],
            rate: case.amount.rate(best),
            unit: case.amount.unit(),
            note: String::new(),
        }
    });
    Ok(measured.collect())
}

/// A table of cases, in Markdown.
pub(crate) fn table(title: &str, rows: &[Measured]) -> String {
    let width = rows.iter().map(|row| row.case.chars().count()).max().unwrap_or(0).max(4);
    let noted = rows.iter().any(|row| !row.note.is_empty());
    let note = |text: &str| if noted { format!(" {text} |") } else { String::new() };
    let mut lines = vec![
        format!("### {title}\n"),
        format!("| {:width$} | {:>10} | {:>10} | {:>8} | {:8} |", "case", "best ms", "median ms", "rate", "unit")
            + &note("note"),
        format!("|{:-<w$}|-----------:|-----------:|---------:|----------|", "", w = width + 2) + &note("---"),
    ];
    for row in rows {
        let (best, median) = (row.best.as_secs_f64() * 1e3, row.median.as_secs_f64() * 1e3);
        lines.push(
            format!("| {:width$} | {best:>10.3} | {median:>10.3} | {:>8.2} | {:8} |", row.case, row.rate, row.unit)
                + &note(&row.note),
        );
    }
    lines.join("\n") + "\n"
}

/// "1 thread", "2 threads".
pub(crate) fn threads_of(count: usize) -> String {
    if count == 1 { "1 thread".to_owned() } else { format!("{count} threads") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(runs: u64) -> Settings {
        Settings { scale: 0.0, runs, threads: 1, data: "".into(), record: None, only: String::new() }
    }

    #[test]
    fn best_and_median_of_interleaved_runs() {
        let mut times = [5, 1, 3].map(Duration::from_millis).into_iter();
        let cases = vec![Case::new("a", Amount::Bytes(1_000_000), move || Ok(times.next().expect("three runs")))];
        let measured = measure(cases, &settings(3)).expect("no failure");
        assert_eq!(measured[0].best, Duration::from_millis(1));
        assert_eq!(measured[0].median, Duration::from_millis(3));
        assert!((measured[0].rate - 1.0).abs() < 1e-9);
        assert!(table("t", &measured).contains("| a    |      1.000 |      3.000 |     1.00 | GB/s     |"));
    }

    #[test]
    fn a_wrong_answer_has_no_time() {
        let cases = vec![Case::new("a", Amount::Time, || Err("3 rows where 4 are right".into()))];
        assert_eq!(measure(cases, &settings(1)).expect_err("wrong").to_string(), "a: 3 rows where 4 are right");
    }
}
