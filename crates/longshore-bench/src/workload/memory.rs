//! Peak memory of a load: a child process loads lineitem once and says what it took.
//!
//! The peak that counts is of memory the process owns (`RssAnon`, sampled while the load runs): pages of the input
//! file that are mapped belong to the page cache and are there without us. `VmHWM`, which counts them too, is shown
//! beside it. Then the relation is frozen: what that takes off it, and off the memory that the database has.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use longshore_load::Tuning;
use longshore_storage::{Freeze, Memory};
use serde_json::{Value, json};

use crate::facts::Facts;
use crate::lineitem::{StoredAs, load};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Text, lineitem};
use crate::{Failure, Settings};

/// How often the child looks at its memory.
const SAMPLE_EVERY: Duration = Duration::from_millis(2);

const MIB: f64 = (1 << 20) as f64;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let file = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let mut notes = Vec::new();
    let mut measured = Vec::new();
    for threads in settings.thread_counts() {
        let case = Case::new(threads_of(threads), Amount::Bytes(file.bytes), || {
            let said = spawn(settings, &file.path, threads)?;
            let found = Facts::from_json(&said["facts"]).ok_or("the child said nothing")?;
            file.facts.check(&found)?;
            notes.push(note(&said, file.bytes));
            Ok(Duration::from_secs_f64(said["seconds"].as_f64().unwrap_or_default()))
        });
        let one = Settings { runs: 1, ..settings.clone() };
        measured.extend(measure(vec![case], &one)?);
    }
    for (measured, note) in measured.iter_mut().zip(notes) {
        measured.note = note;
    }
    Ok(measured)
}

/// Says whether the load kept what Longshore promises: at most 1.25 times the relation and 64 MiB.
fn note(said: &Value, text_bytes: u64) -> String {
    let mib = |name: &str| said[name].as_f64().unwrap_or_default() / MIB;
    let (relation, peak) = (mib("relation"), mib("peak"));
    let of_text = |bytes: f64| bytes * MIB / text_bytes as f64;
    format!(
        "relation {relation:.0} MiB, peak {peak:.0} MiB = {:.2} x relation; 1.25 x + 64 MiB {}; with mapped file {:.0} MiB; \
         {:.3} bytes per byte of text, frozen {:.3} in {:.2} s; memory in use {:.0} MiB, then {:.0} MiB",
        peak / relation,
        if peak <= 1.25 * relation + 64.0 { "kept" } else { "missed" },
        mib("high_water"),
        of_text(relation),
        of_text(mib("frozen")),
        said["freeze_seconds"].as_f64().unwrap_or_default(),
        mib("used"),
        mib("used_frozen"),
    )
}

fn spawn(settings: &Settings, path: &Path, threads: usize) -> Result<Value, Failure> {
    let output = Command::new(std::env::current_exe()?)
        .arg("load-child")
        .arg(path)
        .args(["--threads", &threads.to_string()])
        .arg("--data")
        .arg(&settings.data)
        .output()?;
    if !output.status.success() {
        return Err(format!("the child failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Loads once and prints what it took, as JSON.
pub(super) fn child(settings: &Settings, path: &Path) -> Result<(), Failure> {
    let memory = Memory::new(None);
    let peak = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(status_bytes("RssAnon"), Ordering::Relaxed);
                std::thread::sleep(SAMPLE_EVERY);
            }
        });
        let loaded = load(path, Text::Plain, StoredAs::PACKED, &Tuning::new(settings.threads), &memory);
        peak.fetch_max(status_bytes("RssAnon"), Ordering::Relaxed);
        done.store(true, Ordering::Relaxed);
        loaded
    })?;
    let high_water = status_bytes("VmHWM");
    let relation = loaded.relation;
    let (bytes, used) = (relation.snapshot().bytes(), memory.used());
    let started = Instant::now();
    relation.freeze(Freeze::All, 0, &|| false)?;
    let freeze_time = started.elapsed();
    let snapshot = relation.snapshot();
    let said = json!({
        "seconds": loaded.time.as_secs_f64(),
        "relation": bytes,
        "peak": peak.into_inner(),
        "high_water": high_water,
        "used": used,
        "frozen": snapshot.bytes(),
        "freeze_seconds": freeze_time.as_secs_f64(),
        "used_frozen": memory.used(),
        "facts": Facts::of_snapshot(&snapshot)?.to_json(),
    });
    println!("{said}");
    Ok(())
}

/// A size in `/proc/self/status`; 0 where there is none.
fn status_bytes(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
