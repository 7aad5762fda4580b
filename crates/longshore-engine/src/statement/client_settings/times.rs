//! Times as settings have them: a number of milliseconds, or of another unit that is said.

use std::time::Duration;

use crate::Error;

/// Units, the largest first, and their microseconds.
const UNITS: [(&str, u64); 6] =
    [("d", 86_400_000_000), ("h", 3_600_000_000), ("min", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1)];

/// PostgreSQL's largest.
const MILLISECONDS_MAX: f64 = 2_147_483_647.0;

/// The milliseconds that the setting `name` is to have.
pub(super) fn milliseconds(name: &str, said: &str) -> Result<u64, Error> {
    let said = said.trim();
    let number = said.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = &said[number.len()..];
    let invalid = || format!("invalid value for parameter \"{name}\": \"{said}\"");
    let number: f64 = number.trim_end().parse().map_err(|_| Error::invalid(invalid()))?;
    let unit = if unit.is_empty() { "ms" } else { unit };
    let Some((_, micros)) = UNITS.iter().find(|(known, _)| *known == unit) else {
        return Err(Error::invalid(invalid()));
    };
    let milliseconds = (number * (*micros as f64) / 1000.0).round_ties_even();
    if !(0.0..=MILLISECONDS_MAX).contains(&milliseconds) {
        return Err(Error::invalid(format!(
            "{milliseconds} ms is outside the valid range for parameter \"{name}\" (0 .. 2147483647)"
        )));
    }
    Ok(milliseconds as u64)
}

/// How PostgreSQL shows a time: in the largest unit of which it is a whole number.
pub(super) fn shown(milliseconds: u64) -> String {
    let whole = |(_, micros): &&(&str, u64)| (milliseconds * 1000).is_multiple_of(*micros);
    match UNITS.iter().find(whole) {
        Some((unit, micros)) if milliseconds > 0 => format!("{}{unit}", milliseconds * 1000 / micros),
        _ => milliseconds.to_string(),
    }
}

/// How long a time is that was shown; 0 is at once.
pub(super) fn at_once(shown: &str) -> Duration {
    Duration::from_millis(milliseconds("", shown).unwrap_or(0))
}

/// How long a time is that was shown; `None` for 0, which is without end.
pub(super) fn duration(shown: &str) -> Option<Duration> {
    let milliseconds = milliseconds("", shown).ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}
