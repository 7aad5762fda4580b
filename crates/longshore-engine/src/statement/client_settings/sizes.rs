//! Sizes as settings have them: a number of kilobytes, or of another unit that is said; -1 is without end.

use crate::Error;

/// Units, the largest first, and their kilobytes.
const UNITS: [(&str, u64); 4] = [("TB", 1 << 30), ("GB", 1 << 20), ("MB", 1 << 10), ("kB", 1)];

/// PostgreSQL's largest.
const KILOBYTES_MAX: u64 = 2_147_483_647;

/// What the setting `name` is to be, as it is shown.
pub(super) fn shown(name: &str, said: &str) -> Result<String, Error> {
    let said = said.trim();
    if said == "-1" {
        return Ok(said.to_owned());
    }
    let invalid = || Error::invalid(format!("invalid value for parameter \"{name}\": \"{said}\""));
    let digits = said.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = &said[digits.len()..];
    let number: u64 = digits.trim_end().parse().map_err(|_| invalid())?;
    let kilobytes = match (unit, UNITS.iter().find(|(known, _)| *known == unit)) {
        ("", _) => number,
        ("B", _) => number.div_ceil(1024),
        (_, Some((_, kilobytes))) => number.checked_mul(*kilobytes).ok_or_else(invalid)?,
        _ => return Err(invalid()),
    };
    if kilobytes > KILOBYTES_MAX {
        return Err(Error::invalid(format!(
            "{kilobytes} kB is outside the valid range for parameter \"{name}\" (-1 .. {KILOBYTES_MAX})"
        )));
    }
    let whole = UNITS.iter().find(|(_, unit)| kilobytes > 0 && kilobytes.is_multiple_of(*unit));
    Ok(whole.map_or_else(|| kilobytes.to_string(), |(name, unit)| format!("{}{name}", kilobytes / unit)))
}

/// How many bytes a size is that was shown; `None` for -1.
pub(super) fn bytes(shown: &str) -> Option<u64> {
    if shown == "-1" {
        return None;
    }
    let digits = shown.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let unit = UNITS.iter().find(|(known, _)| *known == &shown[digits.len()..]).map_or(1, |(_, unit)| *unit);
    Some(digits.parse::<u64>().ok()?.saturating_mul(unit).saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_shown() {
        for (said, expected, size) in [
            ("-1", "-1", None),
            ("0", "0", Some(0)),
            ("100", "100kB", Some(100 << 10)),
            ("1024", "1MB", Some(1 << 20)),
            ("3GB", "3GB", Some(3 << 30)),
            (" 2048 MB ", "2GB", Some(2 << 30)),
            ("1B", "1kB", Some(1 << 10)),
        ] {
            let text = shown("x", said).expect(said);
            assert_eq!((text.as_str(), bytes(&text)), (expected, size), "{said}");
        }
        for said in ["", "x", "1.5", "-2", "1 kb", "9999TB", "99999999999999999999"] {
            assert!(shown("x", said).is_err(), "{said}");
        }
    }
}
