//! Numbers of bytes as people read them: `pg_size_pretty` and `pg_size_bytes`.

use crate::datafusion::functions::calls::Kind::{BigInt, Double, Text};
use crate::datafusion::functions::calls::{Given, Overload, of};
use crate::{Error, ErrorKind};

pub(super) const OVERLOADS: &[Overload] = &[
    of("pg_size_pretty", &[BigInt], Text, |row| Ok(pretty(row.bigint(0)).into())),
    // Of sums, which are NUMERIC.
    of("pg_size_pretty", &[Double], Text, |row| Ok(pretty_number(row.double(0)).into())),
    of("pg_size_bytes", &[Text], BigInt, |row| bytes(row.text(0))),
];

/// Units, and bits by which each is larger than a byte.
const UNITS: [(&str, u32); 6] = [("bytes", 0), ("kB", 10), ("MB", 20), ("GB", 30), ("TB", 40), ("PB", 50)];
/// Up to this many of a unit (in halves of it, from the second one on) are shown in it.
const SHOWN_MAX: u64 = 10 * 1024;

fn pretty_number(bytes: f64) -> String {
    if bytes.abs() < SHOWN_MAX as f64 { format!("{bytes} bytes") } else { pretty(bytes.round() as i64) }
}

fn pretty(bytes: i64) -> String {
    let sign = if bytes < 0 { "-" } else { "" };
    let magnitude = bytes.unsigned_abs();
    if magnitude < SHOWN_MAX {
        return format!("{bytes} bytes");
    }
    for (at, (unit, bits)) in UNITS.iter().enumerate().skip(1) {
        // One bit more is kept for rounding.
        let halves = magnitude >> (bits - 1);
        if halves < 2 * SHOWN_MAX - 1 || at + 1 == UNITS.len() {
            return format!("{sign}{} {unit}", halves.div_ceil(2));
        }
    }
    String::new()
}

fn bytes(text: &str) -> Result<Given, Error> {
    let invalid = || Error::invalid(format!("invalid size: \"{text}\""));
    let trimmed = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = trimmed.find(|c: char| !is_number(c)).unwrap_or(trimmed.len());
    let (digits, unit) = trimmed.split_at(end);
    let number: f64 = digits.parse().map_err(|_| invalid())?;
    let unit = unit.trim();
    let bits = if unit.is_empty() || unit.eq_ignore_ascii_case("b") {
        0
    } else {
        let known = UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit));
        known.ok_or_else(|| Error::invalid(format!("invalid size: \"{text}\"; invalid size unit: \"{unit}\"")))?.1
    };
    let size = (number * (1_u64 << bits) as f64).round();
    if size.abs() >= i64::MAX as f64 {
        return Err(Error::new(ErrorKind::OutOfRange, "bigint out of range"));
    }
    Ok((size as i64).into())
}
