//! Lineitem into a relation: the experiments of Instant Loading on the load itself.
//!
//! By merge kind (Table 1), by threads, by piece size (Figure 13), by dialect, and by the width that decimals are
//! stored in. Every relation is checked against the generator's sums. Each load but those into new memory takes the
//! memory of the one before it, whose relation was dropped.

use longshore_load::{Kernel, PIECE_BYTES_DEFAULT, Tuning};
use longshore_storage::MergeKind;

use super::Report;
use crate::lineitem::{Blocks, StoredAs, timed_load};
use crate::measure::{Amount, Case, measure, threads_of};
use crate::text::{Lineitem, Text, lineitem};
use crate::{Failure, Settings};

/// Figure 13 goes from far below a cache to far above.
const PIECE_BYTES: [usize; 8] = [4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20];

/// A precision whose decimals are stored in 128 bits.
const WIDE: StoredAs = StoredAs { precision: 19, ..StoredAs::PACKED };

pub(super) fn run(settings: &Settings, report: &mut Report<'_>) -> Result<(), Failure> {
    let plain = lineitem(&settings.data, settings.scale, Text::Plain)?;
    let quoted = lineitem(&settings.data, settings.scale, Text::Quoted)?;
    let crlf = lineitem(&settings.data, settings.scale, Text::Crlf)?;
    let recycled = Blocks::recycled();

    let mut cases = Vec::new();
    for threads in settings.thread_counts() {
        for (file, text) in [(&quoted, Text::Quoted), (&crlf, Text::Crlf)] {
            let name = format!("{}, {}", text.name(), threads_of(threads));
            cases.push(case(name, file, text, StoredAs::PACKED, Tuning::new(threads), &recycled));
        }
        let name = format!("plain, 128-bit decimals, {}", threads_of(threads));
        cases.push(case(name, &plain, Text::Plain, WIDE, Tuning::new(threads), &recycled));
        for (stored_as, stored) in [(StoredAs::PACKED, ""), (StoredAs::PLAIN, ", plain storage")] {
            for blocks in [&recycled, &Blocks::New] {
                let name = format!("plain{stored}{}, {}", blocks.suffix(), threads_of(threads));
                cases.push(case(name, &plain, Text::Plain, stored_as, Tuning::new(threads), blocks));
            }
        }
    }
    report("load", "Load by threads, dialect and decimal width", &measure(cases, settings)?)?;

    let mut cases = Vec::new();
    for (merge, name) in [(MergeKind::Insert, "insert"), (MergeKind::Copy, "copy"), (MergeKind::Chunk, "chunk")] {
        for threads in settings.thread_counts() {
            let tuning = Tuning { merge, ..Tuning::new(threads) };
            cases.push(case(
                format!("{name}, {}", threads_of(threads)),
                &plain,
                Text::Plain,
                StoredAs::PACKED,
                tuning,
                &recycled,
            ));
        }
    }
    report("load-merge", "Load by merge kind (Table 1)", &measure(cases, settings)?)?;

    let mut cases = Vec::new();
    for piece_bytes in PIECE_BYTES {
        let tuning = Tuning { piece_bytes: Some(piece_bytes), ..Tuning::new(settings.threads) };
        let default = if piece_bytes == PIECE_BYTES_DEFAULT { ", the default" } else { "" };
        let name = format!("{} KiB{default}", piece_bytes >> 10);
        cases.push(case(name, &plain, Text::Plain, StoredAs::PACKED, tuning, &recycled));
    }
    report("load-piece", "Load by piece size (Figure 13)", &measure(cases, settings)?)?;

    let mut cases = Vec::new();
    for kernel in Kernel::available() {
        let tuning = Tuning { kernel, ..Tuning::new(settings.threads) };
        cases.push(case(kernel.to_string(), &plain, Text::Plain, StoredAs::PACKED, tuning, &recycled));
    }
    report("load-kernel", "Load by scan kernel", &measure(cases, settings)?)
}

fn case<'a>(
    name: String,
    file: &'a Lineitem,
    text: Text,
    stored_as: StoredAs,
    tuning: Tuning,
    blocks: &'a Blocks,
) -> Case<'a> {
    Case::new(name, Amount::Bytes(file.bytes), move || timed_load(file, text, stored_as, &tuning, blocks))
}
