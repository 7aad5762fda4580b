//! The bytes of a file: what readers see, what is safe, and what lies between.

use std::sync::Arc;

use longshore_testing::Random;

use crate::fate::Fate;

/// What a medium writes as a whole or not at all.
const SECTOR_BYTES: u64 = 512;

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes {
    seen: Vec<u8>,
    safe: Vec<u8>,
    /// What has been done since the last sync, in order.
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, bytes: Arc<[u8]> },
    Length(u64),
}

impl Bytes {
    pub(crate) fn length(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Copies bytes from `offset` on; returns their number.
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let start = usize::try_from(offset).map_or(self.seen.len(), |offset| offset.min(self.seen.len()));
        let bytes = buffer.len().min(self.seen.len() - start);
        buffer[..bytes].copy_from_slice(&self.seen[start..start + bytes]);
        bytes
    }

    pub(crate) fn write(&mut self, bytes: &[u8], offset: u64) {
        let change = Change::Write { offset, bytes: bytes.into() };
        change.apply(&mut self.seen, Fate::Kept, &mut Random::new(0));
        self.changes.push(change);
    }

    /// A write that fails after some sectors.
    pub(crate) fn write_some(&mut self, bytes: &[u8], offset: u64, random: &mut Random) {
        let written = random.below(bytes.len() + 1) as u64;
        let end = (offset + written).next_multiple_of(SECTOR_BYTES).min(offset + bytes.len() as u64);
        self.write(&bytes[..(end - offset) as usize], offset);
    }

    pub(crate) fn set_length(&mut self, length: u64) {
        let change = Change::Length(length);
        change.apply(&mut self.seen, Fate::Kept, &mut Random::new(0));
        self.changes.push(change);
    }

    /// Makes all changes safe.
    pub(crate) fn sync(&mut self) {
        self.settle(Fate::Kept, &mut Random::new(0));
    }

    /// Makes some changes safe and forgets the others, although readers still see them.
    pub(crate) fn fail_to_sync(&mut self, random: &mut Random) {
        let fate = Fate::draw(random);
        self.settle(fate, random);
    }

    fn settle(&mut self, fate: Fate, random: &mut Random) {
        for change in self.changes.drain(..) {
            let fate = fate.of_change(random);
            change.apply(&mut self.safe, fate, random);
        }
    }

    /// What a crash leaves.
    pub(crate) fn survivor(&self, random: &mut Random) -> Bytes {
        let mut left = self.clone();
        left.fail_to_sync(random);
        Bytes { seen: left.safe.clone(), safe: left.safe, changes: Vec::new() }
    }
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>, fate: Fate, random: &mut Random) {
        match self {
            Change::Length(length) => {
                if fate.keeps(random) {
                    to.resize(*length as usize, 0);
                }
            }
            Change::Write { offset, bytes } => {
                let end = offset + bytes.len() as u64;
                let mut at = *offset;
                while at < end {
                    let next = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(end);
                    if fate.keeps(random) {
                        if (to.len() as u64) < next {
                            to.resize(next as usize, 0);
                        }
                        let piece = &bytes[(at - offset) as usize..(next - offset) as usize];
                        to[at as usize..next as usize].copy_from_slice(piece);
                    }
                    at = next;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &Bytes) -> Vec<u8> {
        let mut buffer = vec![0; bytes.length() as usize + 1];
        let length = bytes.read(&mut buffer, 0);
        buffer.truncate(length);
        buffer
    }

    #[test]
    fn what_is_synced_survives() {
        let mut bytes = Bytes::default();
        bytes.write(&[7; 2000], 100);
        bytes.sync();
        bytes.write(&[8; 2000], 100);
        let survivors: Vec<_> = (0..200).map(|seed| read(&bytes.survivor(&mut Random::new(seed)))).collect();
        assert!(survivors.iter().all(|found| found.len() == 2100 && found[..100] == [0; 100]));
        assert!(survivors.iter().any(|found| found[100..] == [7; 2000]));
        assert!(survivors.iter().any(|found| found[100..] == [8; 2000]));
        let torn = |found: &&Vec<u8>| found[100..].contains(&7) && found[100..].contains(&8);
        let torn: Vec<_> = survivors.iter().filter(torn).collect();
        assert!(torn.iter().any(|found| found[100] == 8 && found[2099] == 7));
        assert!(torn.iter().any(|found| found[100] == 7 && found[2099] == 8));
        assert!(torn.iter().all(|found| found[512..1024].iter().all(|byte| *byte == found[512])));
    }

    #[test]
    fn a_sync_that_fails_loses_what_later_syncs_cannot_bring_back() {
        let mut lost = false;
        for seed in 0..50 {
            let mut bytes = Bytes::default();
            bytes.write(&[7; 10], 0);
            bytes.fail_to_sync(&mut Random::new(seed));
            assert_eq!(read(&bytes), [7; 10]);
            bytes.sync();
            lost |= read(&bytes.survivor(&mut Random::new(0))).is_empty();
        }
        assert!(lost);
    }

    #[test]
    fn a_length_is_lost_or_kept() {
        let mut bytes = Bytes::default();
        bytes.write(&[7; 10], 0);
        bytes.sync();
        bytes.set_length(4);
        let lengths: Vec<_> = (0..50).map(|seed| bytes.survivor(&mut Random::new(seed)).length()).collect();
        assert!(lengths.contains(&4) && lengths.contains(&10) && lengths.iter().all(|length| [4, 10].contains(length)));
    }
}
