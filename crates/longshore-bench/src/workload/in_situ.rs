//! Lineitem read in place: an aggregate that touches every value of every column, and keeps nothing.
//!
//! The aggregate is the check itself ([`Facts::add_batch`]), run by the workers that parse, so the time is that of
//! scan, decode and a sum per column, without a query engine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::{Control, InputFile, ScanRequest, Source, TextScan, Tuning};
use longshore_storage::Memory;

use crate::facts::{COLUMNS, Facts};
use crate::lineitem::{DECIMAL_PRECISION, options, schema};
use crate::measure::{Amount, Case, Measured, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let plain = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let quoted = lineitem(&settings.data, settings.scale, Text::Quoted)?;
    // As in a session: the memory of the batches of one query serves the next.
    let memory = Memory::new(None);
    let memory = &memory;
    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        for (file, text) in [(&plain, Text::Plain), (&quoted, Text::Quoted)] {
            let name = format!("{}, {}", text.name(), threads_of(threads));
            cases.push(Case::new(name, Amount::Bytes(file.bytes), move || aggregate(file, text, threads, memory)));
        }
    }
    measure(cases, settings)
}

fn aggregate(file: &Lineitem, text: Text, threads: usize, memory: &Arc<Memory>) -> Result<Duration, Failure> {
    let started = Instant::now();
    let request = ScanRequest {
        schema: schema(DECIMAL_PRECISION),
        projection: (0..COLUMNS).collect(),
        filter: None,
        limit: None,
        options: options(text),
        tuning: Tuning::new(threads),
        memory: Arc::clone(memory),
        control: Arc::new(Control::new()),
    };
    let fields: Vec<usize> = (0..COLUMNS).collect();
    let scan = TextScan::new(vec![InputFile::opened(Source::open(&file.path)?, &fields)], request)?;
    let found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let worker = scan.worker();
                scope.spawn(move || -> Result<Facts, Failure> {
                    let mut facts = Facts::default();
                    for batch in worker {
                        facts.add_batch(&batch?)?;
                    }
                    Ok(facts)
                })
            })
            .collect();
        let mut found = Facts::default();
        for worker in workers {
            found.merge(&worker.join().map_err(|_| "a worker panicked")??);
        }
        Ok::<Facts, Failure>(found)
    })?;
    let time = started.elapsed();
    file.facts.check(&found)?;
    Ok(time)
}
