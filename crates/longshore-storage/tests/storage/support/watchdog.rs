//! Threads of a test that might wait for each other for ever: when none of them has moved for a while, it is told how far
//! each has come, and which locks of storage threads hold and wait for; then the process ends, since nothing else would.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use longshore_storage::locks_held;

/// How long nothing may move.
const STALLED: Duration = Duration::from_secs(20);

/// What a watched thread counts its steps by.
pub(crate) struct Progress {
    name: &'static str,
    steps: AtomicU64,
}

impl Progress {
    pub(crate) fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a watched thread does.
pub(crate) type Work<'w> = dyn Fn(&Progress) + Sync + 'w;

/// Does each work on a thread of its own, by its name, until all are done. Each must take a step now and then.
pub(crate) fn watched(works: &[(&'static str, &Work<'_>)]) {
    let progress: Vec<Progress> = works.iter().map(|&(name, _)| Progress { name, steps: AtomicU64::new(0) }).collect();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&progress, &is_done));
        let mut threads = Vec::new();
        for (&(name, work), progress) in works.iter().zip(&progress) {
            let thread = std::thread::Builder::new().name(name.to_owned());
            threads.push(thread.spawn_scoped(scope, move || work(progress)).expect("a thread"));
        }
        let ends: Vec<_> = threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        is_done.store(true, Ordering::Relaxed);
        for end in ends {
            end.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

fn watch(progress: &[Progress], is_done: &AtomicBool) {
    let steps = || progress.iter().map(|of| of.steps.load(Ordering::Relaxed)).collect::<Vec<_>>();
    let (mut last, mut since) = (steps(), Instant::now());
    while !is_done.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
        let now = steps();
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > STALLED {
            eprintln!("nothing has moved for {STALLED:?}");
            for (of, steps) in progress.iter().zip(&last) {
                eprintln!("  {}: {steps} steps", of.name);
            }
            for line in locks_held() {
                eprintln!("  {line}");
            }
            std::process::abort();
        }
    }
}
