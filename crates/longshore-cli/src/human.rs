//! Decides how quantities are written for people, and how they may write them on the command line.
//!
//! Bytes are decimal (1 MB = 1,000,000 bytes), as throughput always is. Not here: values of results (`output`).

use std::time::Duration;

/// `bytes` with three significant digits and a decimal unit: `760 MB`, `2.22 kB`, `389 B`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1e3;
    let mut unit = 0;
    // 999.5 would be written as 1000.
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1e3;
        unit += 1;
    }
    format!("{} {}", significant(value), UNITS[unit])
}

/// Bytes per second in GB/s, or in a smaller unit where that would read 0.0.
pub(crate) fn rate(bytes_done: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return String::from("-");
    }
    let per_second = bytes_done as f64 / seconds;
    if per_second >= 1e8 { format!("{:.2} GB/s", per_second / 1e9) } else { format!("{}/s", bytes(per_second as u64)) }
}

/// Rows per second: `19.6 M rows/s`.
pub(crate) fn row_rate(rows: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return String::from("-");
    }
    let per_second = rows as f64 / seconds;
    if per_second >= 999_500.0 {
        format!("{} M rows/s", significant(per_second / 1e6))
    } else if per_second >= 999.5 {
        format!("{} k rows/s", significant(per_second / 1e3))
    } else {
        format!("{per_second:.0} rows/s")
    }
}

/// A number of things: `1 thread`, `2 threads`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// A number with commas between groups of three digits: `6,001,215`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time of work: `3.21 ms`, `1.25 s`, `2 min 05 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{} us", significant(seconds * 1e6))
    } else if seconds < 0.9995 {
        format!("{} ms", significant(seconds * 1e3))
    } else if seconds < 99.5 {
        format!("{} s", significant(seconds))
    } else {
        let whole = seconds.round() as u64;
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

/// A time still to wait, in whole seconds: `0:07`, `12:30`.
pub(crate) fn remaining(time: Duration) -> String {
    let whole = time.as_secs();
    format!("{}:{:02}", whole / 60, whole % 60)
}

/// Reads a size: a number with an optional fraction and an optional unit.
///
/// `kB`, `MB`, `GB`, `TB` are powers of 1000; `KiB`, `MiB`, `GiB`, `TiB` and the bare `K`, `M`, `G`, `T` are powers
/// of 1024; case does not matter.
///
/// # Errors
///
/// What is wrong with the text, as a sentence for the user.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        other => {
            return Err(format!("unknown unit '{other}'; write a size such as 4GB, 512MiB or 1000000"));
        }
    };
    let value: f64 =
        number.parse().map_err(|_| String::from("not a size; write one such as 4GB, 512MiB or 1000000"))?;
    let size = value * factor;
    if size < 1.0 || size >= usize::MAX as f64 {
        return Err(String::from("the size is out of range"));
    }
    Ok(size as usize)
}

/// Three significant digits, without an exponent.
fn significant(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits() {
        assert_eq!(bytes(389), "389 B");
        assert_eq!(bytes(2224), "2.22 kB");
        assert_eq!(bytes(759_863_287), "760 MB");
        assert_eq!(bytes(999_999), "1.00 MB");
        assert_eq!(rate(760_000_000, 0.25), "3.04 GB/s");
        assert_eq!(rate(389, 0.001), "389 kB/s");
        assert_eq!(rate(389, 0.0), "-");
        assert_eq!(row_rate(6_001_215, 0.25), "24.0 M rows/s");
        assert_eq!(row_rate(25, 0.001), "25.0 k rows/s");
        assert_eq!(grouped(6_001_215), "6,001,215");
        assert_eq!(grouped(25), "25");
        assert_eq!(count(1, "row"), "1 row");
        assert_eq!(count(0, "row"), "0 rows");
        assert_eq!(seconds(0.00321), "3.21 ms");
        assert_eq!(seconds(1.25), "1.25 s");
        assert_eq!(seconds(125.2), "2 min 05 s");
        assert_eq!(remaining(Duration::from_millis(7300)), "0:07");
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("4GB"), Ok(4_000_000_000));
        assert_eq!(parse_size("512 MiB"), Ok(512 << 20));
        assert_eq!(parse_size("1.5k"), Ok(1536));
        assert_eq!(parse_size("1000"), Ok(1000));
        for bad in ["", "GB", "4 lbs", "-1", "0", "1e30GB", "1.2.3MB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
