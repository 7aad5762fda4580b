//! Decides which formats have names, and which a sniffer tries.

use std::sync::LazyLock;

use super::DateTimeFormat;
use super::compile::Pattern;
use super::item::Item;

/// Dates of the United States: the month comes first.
const US_DATES: [&str; 2] = ["%m/%d/%Y", "%m-%d-%Y"];

/// Dates of Europe: the day comes first.
const EU_DATES: [&str; 3] = ["%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y"];

/// Times of 24 hours.
const LONG_TIMES: [&str; 3] = ["%H:%M:%S", "%H:%M", "%H:%M:%S.%f"];

/// Times of 12 hours.
const SHORT_TIMES: [&str; 4] = ["%I:%M:%S %p", "%I:%M %p", "%I:%M:%S.%f %p", "%I:%M%p"];

/// Dates that a sniffer tries, alone and with times.
const CANDIDATE_DATES: [&str; 18] = [
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d.%m.%Y",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d/%b/%Y",
    "%b %d, %Y",
    "%b %d %Y",
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%y",
    "%d-%b-%y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%y/%m/%d",
    "%Y%m%d",
];

/// Times that a sniffer tries, alone and with dates.
const CANDIDATE_TIMES: [&str; 5] = ["%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p"];

/// Timestamps that a sniffer tries beside these.
const CANDIDATE_TIMESTAMPS: [&str; 11] = [
    // Of e-mail and HTTP, of C, and of Apache's logs.
    "%a, %d %b %Y %H:%M:%S %Z",
    "%a, %d %b %Y %H:%M:%S %z",
    "%a %b %e %H:%M:%S %Y",
    "%d/%b/%Y:%H:%M:%S %z",
    // The basic format of ISO 8601.
    "%Y%m%dT%H%M%S%z",
    "%Y%m%dT%H%M%S",
    "%Y%m%d%H%M%S",
    "%Y-%m-%d %H:%M:%S %Z",
    "%Y-%m-%d %H:%M:%S.%f %Z",
    "%Y-%m-%d %I:%M:%S %p",
    "%Y-%m-%d %I:%M %p",
];

/// The patterns of a preset: none for ISO 8601, which has readers of its own.
pub(super) fn named(name: &str) -> Option<Vec<Pattern>> {
    let name = name.to_ascii_lowercase();
    let long = || LONG_TIMES.into_iter();
    let items = |items| vec![Pattern::of(items).expect("a preset is a pattern")];
    Some(match &*name {
        "iso" => Vec::new(),
        "us" => with_times(&US_DATES, &long().chain(SHORT_TIMES).collect::<Vec<_>>()),
        "eu" => with_times(&EU_DATES, &LONG_TIMES),
        "epoch" => vec![pattern("%s"), pattern("%s.%f")],
        "epoch_ms" => items(vec![Item::Epoch { micros: 1_000 }]),
        "epoch_us" => items(vec![Item::Epoch { micros: 1 }]),
        _ => return None,
    })
}

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).expect("a preset is a pattern")
}

/// Dates, dates with times, and times.
fn with_times(dates: &[&str], times: &[&str]) -> Vec<Pattern> {
    let dated = dates.iter().flat_map(|date| {
        let with_time = times.iter().map(move |time| pattern(&format!("{date} {time}")));
        std::iter::once(pattern(date)).chain(with_time)
    });
    dated.chain(times.iter().map(|time| pattern(time))).collect()
}

/// See [`DateTimeFormat::candidates`].
pub(super) fn candidates() -> &'static [DateTimeFormat] {
    static CANDIDATES: LazyLock<Vec<DateTimeFormat>> = LazyLock::new(|| {
        let single = |text: &str| DateTimeFormat::new(&[text]).expect("a candidate is a pattern");
        let times = CANDIDATE_TIMES[3..].iter().map(|time| single(time));
        let dates = CANDIDATE_DATES.iter().map(|date| single(date));
        let timestamps = CANDIDATE_DATES
            .iter()
            .flat_map(|date| CANDIDATE_TIMES.iter().map(move |time| single(&format!("{date} {time}"))));
        let others = CANDIDATE_TIMESTAMPS.iter().map(|timestamp| single(timestamp));
        dates.chain(others).chain(timestamps).chain(times).collect()
    });
    &CANDIDATES
}
