//! Runs seeds on threads, and counts what comes of them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Findings after which no more are looked for.
const FINDINGS_MAX: usize = 10;
/// Threads that run seeds.
const WORKERS: usize = 2;
/// How long seeds are begun, unless so many are asked for: a busy machine runs fewer.
pub const SECONDS_MAX: usize = 100;
/// Deep plans need deep stacks.
const STACK_BYTES: usize = 64 << 20;

/// What came of the statements, and how often.
pub type Counts = BTreeMap<String, u64>;

/// What a seed gives: counts, and what it found.
pub type Found = (Counts, Option<String>);

/// Runs `seeds` seeds, as many as are begun within `seconds`, or as `LONGSHORE_WITNESS` and `LONGSHORE_WITNESS_SEED` say: `start` gives each thread what
/// `work` needs beside the seed.
///
/// # Panics
/// When something is found, which is then told.
pub fn run<S>(
    (seeds, seconds): (usize, usize),
    start: impl Fn(usize) -> S + Sync,
    work: impl AsyncFn(&mut S, u64) -> Found + Sync,
) {
    let (seeds, seconds) = (seeds as u64, seconds as u64);
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a whole number"));
    let first = number("LONGSHORE_WITNESS_SEED");
    let times = number("LONGSHORE_WITNESS");
    // One seed, unless so many times is asked for from there on.
    let seeds = match (first, times) {
        (Some(_), None) => 1,
        (_, times) => seeds * times.unwrap_or(1),
    };
    let first = first.unwrap_or(0);
    let (next, started) = (AtomicU64::new(first), Instant::now());
    let (counts, findings) = (Mutex::new(Counts::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (next, counts, findings, start, work) = (&next, &counts, &findings, &start, &work);
            let run = move || {
                let runtime =
                    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
                let mut state = start(worker);
                let late = || times.is_none() && started.elapsed().as_secs() >= seconds;
                while findings.lock().expect("no panic").len() < FINDINGS_MAX && !late() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + seeds {
                        break;
                    }
                    let (counted, found) = runtime.block_on(work(&mut state, seed));
                    for (what, count) in counted {
                        *counts.lock().expect("no panic").entry(what).or_default() += count;
                    }
                    if let Some(found) = &found {
                        eprintln!("{found}\n");
                    }
                    findings.lock().expect("no panic").extend(found);
                }
            };
            std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run).expect("a thread starts");
        }
    });
    let last = next.into_inner().min(first + seeds) - 1;
    println!("seeds {first} to {last} in {} s:", started.elapsed().as_secs());
    for (what, count) in counts.into_inner().expect("no panic") {
        println!("{count:10} {what}");
    }
    let findings = findings.into_inner().expect("no panic");
    assert!(findings.is_empty(), "{} findings:\n\n{}", findings.len(), findings.join("\n\n"));
}
