//! Dated records of measurements, one JSON object a line, one file per day and machine.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use crate::measure::Measured;
use crate::{Failure, Settings};

/// Appends the results of a workload to the file of this day and machine in `folder`.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn append(folder: &Path, workload: &str, settings: &Settings, rows: &[Measured]) -> Result<(), Failure> {
    fs::create_dir_all(folder)?;
    let date = today();
    let cpu = cpu();
    let path = folder.join(format!("{date}-{}.jsonl", slug(&cpu)));
    let mut file = fs::OpenOptions::new().create(true).append(true).open(&path)?;
    let commit = commit();
    for row in rows {
        let record = json!({
            "date": date,
            "cpu": cpu,
            "cores": std::thread::available_parallelism().map_or(1, usize::from),
            "commit": commit,
            "workload": workload,
            "case": row.case,
            "scale": settings.scale,
            "runs": settings.runs,
            "best_ms": row.best.as_secs_f64() * 1e3,
            "median_ms": row.median.as_secs_f64() * 1e3,
            "rate": row.rate,
            "unit": row.unit,
            "note": row.note,
        });
        writeln!(file, "{record}")?;
    }
    eprintln!("recorded in {}", path.display());
    Ok(())
}

/// The CPU's name as the system tells it.
fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim()));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), str::to_owned)
}

fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// The commit that is checked out; empty outside a repository.
fn commit() -> String {
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds as i64 / 86_400)
}

/// The date of a day since 1970 (Howard Hinnant's `civil_from_days`).
fn date(days: i64) -> String {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_days() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_778), "2026-11-21");
    }

    #[test]
    fn names_for_files() {
        assert_eq!(slug("Intel(R) Xeon(R) Processor @ 2.0"), "intel-r-xeon-r-processor-2-0");
    }
}
