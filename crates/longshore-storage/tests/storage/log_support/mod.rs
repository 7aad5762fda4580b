//! What the tests of the log share: a model that knows what was appended and acknowledged, and random work.

pub(crate) mod twin;

use std::path::Path;
use std::sync::Arc;

use longshore_simdisk::SimDisk;
use longshore_storage::disk::{Disk, OpenMode};
use longshore_storage::log::{Log, LogError, LogOptions, LogReader, Lsn};
use longshore_testing::{Random, share};

use twin::{Files, FoundRecord};

pub(crate) const FOLDER: &str = "/log";
pub(crate) const IDENTITY: u64 = 0x1234_5678_9ABC_DEF0;

/// The seeds that a test of crashes tries: usually so many, and more by hand.
pub(crate) fn seeds(usual: usize) -> std::ops::Range<u64> {
    let factor: usize =
        std::env::var("LONGSHORE_CRASHES").map_or(1, |factor| factor.parse().expect("LONGSHORE_CRASHES is a number"));
    0..(share(usual) * factor) as u64
}

/// A disk with the log's folder.
pub(crate) fn disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.create_directory(Path::new(FOLDER)).unwrap();
    disk.sync_directory(Path::new("/")).unwrap();
    disk
}

pub(crate) fn options(segment_bytes: u64, buffer_bytes: usize, spare_segments: usize) -> LogOptions {
    LogOptions { segment_bytes, buffer_bytes, spare_segments }
}

pub(crate) fn create(disk: &SimDisk, options: LogOptions) -> Result<Log, LogError> {
    Log::create(Arc::new(disk.clone()), Path::new(FOLDER), IDENTITY, Lsn::new(0), options)
}

pub(crate) fn reader(disk: &SimDisk, from: Lsn) -> Result<LogReader, LogError> {
    LogReader::open(Arc::new(disk.clone()), Path::new(FOLDER), IDENTITY, from)
}

/// All records from a position on, and why there are no more.
pub(crate) fn read(disk: &SimDisk, from: Lsn) -> (Vec<FoundRecord>, Result<Lsn, LogError>) {
    let mut records = Vec::new();
    let mut read = || {
        let mut reader = reader(disk, from)?;
        while let Some(frame) = reader.next()? {
            records.extend(frame.records().map(|r| (r.start.get(), r.end.get(), r.kind, r.bytes.to_vec())));
        }
        Ok(reader.position())
    };
    let end = read();
    (records, end)
}

/// The files of the log's folder, as readers see them.
pub(crate) fn files(disk: &SimDisk) -> Files {
    let folder = Path::new(FOLDER);
    let names = disk.list(folder).unwrap();
    let read = names.into_iter().map(|name| {
        let file = disk.open(&folder.join(&name), OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        (name.into_string().unwrap(), bytes)
    });
    read.collect()
}

/// What was appended, and what of it must be there after whatever happens.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub is_created: bool,
    /// End, kind and content, in the order of the log.
    pub records: Vec<(Lsn, u8, Vec<u8>)>,
    /// Up to where the log has said that it is safe.
    pub acknowledged: Lsn,
    /// From where on it is read: what is before may be removed.
    pub from: Lsn,
}

impl Model {
    /// Appends a random record.
    fn append(&mut self, log: &Log, random: &mut Random) -> Result<(), LogError> {
        let length = random.pick(&[0, 1, 20, 100, 127, 128, 600, 2000]);
        let kind = random.byte();
        // Equal bytes in many records let the parts of one pass for those of another.
        let is_zero = random.once_in(2);
        let content: Vec<u8> = (0..length).map(|_| if is_zero { 0 } else { random.byte() }).collect();
        let (one, other) = content.split_at(random.below(content.len() + 1));
        let end = log.append(kind, &[one, other])?;
        assert!(self.records.last().is_none_or(|(last, ..)| *last < end), "positions grow");
        self.records.push((end, kind, content));
        Ok(())
    }

    /// One random step of several logical writers and the checkpointer.
    fn step(&mut self, log: &Log, random: &mut Random) -> Result<(), LogError> {
        let some = |records: &[(Lsn, u8, Vec<u8>)], random: &mut Random| {
            (!records.is_empty()).then(|| records[records.len() - 1 - random.below(records.len().min(5))].0)
        };
        match random.below(12) {
            0..=5 => self.append(log, random)?,
            6..=8 => {
                if let Some(end) = some(&self.records, random) {
                    log.wait(end)?;
                    assert!(log.durable() >= end);
                }
            }
            9 => {
                if let Some(end) = some(&self.records, random) {
                    log.request(end);
                }
            }
            10 => {
                // A checkpoint: what is before a record that is safe is not needed any more.
                if let Some(end) = some(&self.records, random).filter(|end| *end <= self.acknowledged) {
                    self.from = self.from.max(end);
                }
            }
            _ => log.remove_below(self.from)?,
        }
        self.acknowledged = self.acknowledged.max(log.durable());
        Ok(())
    }

    /// Opens or makes the log, works on it and perhaps closes it, until something fails.
    pub(crate) fn work(
        &mut self,
        disk: &SimDisk,
        options: LogOptions,
        steps: usize,
        random: &mut Random,
    ) -> Result<(), LogError> {
        let log = if self.is_created { Log::open(reader(disk, self.from)?, options)? } else { create(disk, options)? };
        self.is_created = true;
        self.acknowledged = self.acknowledged.max(log.durable());
        // Of what was not acknowledged, this much is there. What it is, `check` looks at.
        self.records.retain(|(end, ..)| *end <= log.end());
        for _ in 0..steps {
            if let Err(error) = self.step(&log, random) {
                self.check_dead(&log, &error);
                return Err(error);
            }
        }
        if random.once_in(2) {
            log.close()?;
            self.acknowledged = self.acknowledged.max(log.durable());
            assert_eq!(log.durable(), log.end());
            assert!(matches!(log.append(1, &[b"late"]), Err(LogError::Closed)));
        }
        Ok(())
    }

    /// Once something has failed, nothing is acknowledged that was not safe before; the removal of segments may fail alone.
    fn check_dead(&mut self, log: &Log, error: &LogError) {
        let durable = log.durable();
        if let Err(first) = log.append(1, &[b"late"]) {
            assert!(log.wait(log.end()).is_err() || log.end() == durable);
            assert_eq!(first.to_string(), log.append(1, &[b"later"]).unwrap_err().to_string(), "the first error stays");
            assert_eq!(log.durable(), durable);
            log.wait(durable).unwrap();
        } else {
            // Not acknowledged, so it may be there later or not: it is a record like others.
            self.records.push((log.end(), 1, b"late".to_vec()));
            assert!(error.to_string().contains("/log"), "{error}");
        }
    }

    /// Checks what is on a disk on which nothing fails, and goes on with it.
    pub(crate) fn check(&mut self, disk: &SimDisk, what: &str) {
        let (found, end) = read(disk, self.from);
        let (by_twin, end_by_twin) = twin::read(&files(disk), IDENTITY, self.from.get());
        if !self.is_created && matches!(end, Err(LogError::Missing { found: None, .. })) {
            return;
        }
        let end = end.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!((&found, Some(end.get())), (&by_twin, end_by_twin), "{what}: the twin disagrees");
        assert!(end >= self.acknowledged, "{what}: it ends at {end}, and {} was acknowledged", self.acknowledged);
        let expected = self.records.iter().filter(|(record_end, ..)| *record_end > self.from);
        let expected: Vec<_> = expected.take(found.len()).cloned().collect();
        let found: Vec<_> = found.into_iter().map(|(_, end, kind, content)| (Lsn::new(end), kind, content)).collect();
        assert!(found == expected, "{what}: other records than were appended: {found:?}, expected {expected:?}");
        let last = found.last().map_or(self.from, |(end, ..)| *end);
        let must = self.records.iter().rfind(|(record_end, ..)| *record_end <= self.acknowledged);
        assert!(must.is_none_or(|(must, ..)| *must <= last), "{what}: an acknowledged record is gone");
        self.records.retain(|(record_end, ..)| *record_end <= last);
        self.is_created = true;
    }
}
