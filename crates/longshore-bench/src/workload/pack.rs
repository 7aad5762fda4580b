//! The columns of lineitem packed and unpacked, chunk by chunk in memory that is warm, by every instruction set; texts
//! compressed and decompressed.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_load::Tuning;
use longshore_storage::{Arena, CHUNK_ROWS_MAX, Chunk, Memory, PackedColumn, Packer, Scratch, SpareValues, Values};

use crate::lineitem::{self, StoredAs};
use crate::measure::{Amount, Case, Measured, measure};
use crate::text::{self, NAMES, Text};
use crate::{Failure, Settings};

/// Blocks of the arena that columns are packed into.
const ARENA_BYTES: usize = 4 << 20;

pub(super) fn run(settings: &Settings) -> Result<Vec<Measured>, Failure> {
    let file = text::lineitem(&settings.data, settings.scale, Text::Plain)?;
    let tuning = Tuning::new(settings.threads);
    let memory = Memory::new(None);
    let loaded = lineitem::load(&file.path, Text::Plain, StoredAs::PLAIN, &tuning, &memory)?;
    let snapshot = loaded.relation.snapshot();
    let chunks: Vec<Arc<Chunk>> = snapshot.chunks().to_vec();
    let rows: usize = chunks.iter().map(|chunk| chunk.rows()).sum();
    let mut cases = Vec::new();
    for (column, name) in NAMES.iter().enumerate() {
        let bytes: usize = chunks.iter().map(|chunk| plain_bytes(chunk, column)).sum();
        for (set, mut packer) in Packer::of_every_instruction_set() {
            let (chunks, memory) = (&chunks, &memory);
            cases.push(Case::new(format!("pack {name}, {set}"), Amount::Bytes(bytes as u64), move || {
                let mut arena = Arena::new(Arc::clone(memory), ARENA_BYTES);
                let mut time = Duration::ZERO;
                for chunk in chunks {
                    let started = Instant::now();
                    let packed = pack(&mut packer, chunk, column, &mut arena)?;
                    time += started.elapsed();
                    check(&packed, chunk, column)?;
                }
                Ok(time)
            }));
        }
        let mut arena = Arena::new(Arc::clone(&memory), ARENA_BYTES);
        let mut packer = Packer::default();
        let packed: Result<Vec<PackedColumn>, Failure> =
            chunks.iter().map(|chunk| pack(&mut packer, chunk, column, &mut arena)).collect();
        let packed = Arc::new(packed?);
        compression_cases(name, &packed, &memory, &mut cases)?;
        let chunks = &chunks;
        cases.push(Case::new(format!("unpack {name}"), Amount::Bytes(bytes as u64), move || {
            let mut slots = Slots::default();
            let mut time = Duration::ZERO;
            for (packed, chunk) in packed.iter().zip(chunks) {
                let started = Instant::now();
                packed
                    .unpack(0..packed.rows(), slots.of(chunk.values(column, 0..chunk.rows(), &mut Scratch::default())));
                time += started.elapsed();
                black_box(&slots);
            }
            Ok(time)
        }));
    }
    let mut measured = measure(cases, settings)?;
    for row in &mut measured {
        let Some(column) = NAMES.iter().position(|name| row.case.split([' ', ',']).any(|word| word == *name)) else {
            continue;
        };
        let mut arena = Arena::new(Arc::clone(&memory), ARENA_BYTES);
        let mut packer = Packer::default();
        let mut bytes = 0;
        let mut shapes = Vec::new();
        let compresses = row.case.contains("compress");
        for chunk in &chunks {
            let mut packed = pack(&mut packer, chunk, column, &mut arena)?;
            if compresses && let Some(compressed) = packed.compressed(&mut arena)? {
                packed = compressed;
            }
            bytes += packed.bytes();
            shapes.push(packed.packed_as());
        }
        shapes.dedup();
        let plain: usize = chunks.iter().map(|chunk| plain_bytes(chunk, column)).sum();
        let per_row = |bytes: usize| bytes as f64 / rows as f64;
        row.note = format!("{shapes:?}: {:.2} bytes a row, plain {:.2}", per_row(bytes), per_row(plain));
    }
    Ok(measured)
}

/// Cases for the texts of a column that are worth compressing, by their bytes.
fn compression_cases<'a>(
    name: &str,
    packed: &Arc<Vec<PackedColumn>>,
    memory: &'a Arc<Memory>,
    cases: &mut Vec<Case<'a>>,
) -> Result<(), Failure> {
    let mut arena = Arena::new(Arc::clone(memory), ARENA_BYTES);
    let compressed = packed.iter().map(|packed| packed.compressed(&mut arena)).collect::<Result<Vec<_>, _>>()?;
    let compressed: Vec<PackedColumn> = compressed.into_iter().flatten().collect();
    if compressed.len() < packed.len() {
        return Ok(());
    }
    let bytes = Amount::Bytes(packed.iter().map(|packed| packed.heap().len() as u64).sum());
    let packed = Arc::clone(packed);
    cases.push(Case::new(format!("compress {name}"), bytes, move || {
        let mut arena = Arena::new(Arc::clone(memory), ARENA_BYTES);
        let started = Instant::now();
        for packed in packed.iter() {
            black_box(packed.compressed(&mut arena)?);
        }
        Ok(started.elapsed())
    }));
    cases.push(Case::new(format!("decompress {name}"), bytes, move || {
        let mut scratch = Scratch::default();
        let started = Instant::now();
        for compressed in &compressed {
            black_box(compressed.read(0..compressed.rows(), &mut scratch));
        }
        Ok(started.elapsed())
    }));
    Ok(())
}

fn pack(packer: &mut Packer, chunk: &Chunk, column: usize, arena: &mut Arena) -> Result<PackedColumn, Failure> {
    let mut scratch = Scratch::default();
    let (values, texts) = chunk.values_with_texts(column, 0..chunk.rows(), &mut scratch);
    Ok(packer.pack(values, chunk.validity(column), texts, arena)?)
}

/// Bytes of the values of a column, and of its long texts.
fn plain_bytes(chunk: &Chunk, column: usize) -> usize {
    match chunk.values(column, 0..chunk.rows(), &mut Scratch::default()) {
        Values::Views(views) => {
            let long = |&&view: &&u128| view as u32 > 12;
            size_of_val(views) + views.iter().filter(long).map(|&view| view as u32 as usize).sum::<usize>()
        }
        values => values.len() * width(values),
    }
}

fn width(values: Values<'_>) -> usize {
    match values {
        Values::U8(_) => 1,
        Values::I16(_) => 2,
        Values::I32(_) | Values::F32(_) => 4,
        Values::I64(_) | Values::F64(_) => 8,
        Values::I128(_) | Values::Views(_) => 16,
    }
}

/// Whether some values are those of the chunk.
fn check(packed: &PackedColumn, chunk: &Chunk, column: usize) -> Result<(), Failure> {
    let mut scratch = Scratch::default();
    let expected = chunk.values(column, 0..chunk.rows(), &mut scratch);
    for row in (0..chunk.rows()).step_by(997) {
        let found = packed.bits(row);
        let is_right = match expected {
            Values::U8(values) => found as u8 == values[row],
            Values::I16(values) => found as i16 == values[row],
            Values::I32(values) => found as i32 == values[row],
            Values::I64(values) => found as i64 == values[row],
            Values::I128(values) => found as i128 == values[row],
            Values::F32(values) => found as u32 == values[row].to_bits(),
            Values::F64(values) => found as u64 == values[row].to_bits(),
            // Length and first bytes.
            Values::Views(views) => found as u64 == views[row] as u64,
        };
        if !is_right {
            return Err(format!("row {row} of column {} is another when it is packed", NAMES[column]).into());
        }
    }
    Ok(())
}

/// Room for unpacked values, which stays warm.
#[derive(Default)]
struct Slots {
    words: Vec<MaybeUninit<u128>>,
}

impl Slots {
    /// Room for as many as there are in `like`, of the same type.
    fn of(&mut self, like: Values<'_>) -> SpareValues<'_> {
        self.words.resize(CHUNK_ROWS_MAX, MaybeUninit::uninit());
        let rows = like.len();
        macro_rules! slots {
            ($slots:ident) => {{
                // SAFETY: every type of values is aligned at 16 bytes or less and takes 16 at most, of which there are
                // as many as a chunk has rows.
                SpareValues::$slots(unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), rows) })
            }};
        }
        match like {
            Values::U8(_) => slots!(U8),
            Values::I16(_) => slots!(I16),
            Values::I32(_) => slots!(I32),
            Values::I64(_) => slots!(I64),
            Values::I128(_) => slots!(I128),
            Values::F32(_) => slots!(F32),
            Values::F64(_) => slots!(F64),
            Values::Views(_) => slots!(Views),
        }
    }
}
