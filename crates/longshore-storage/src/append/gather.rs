//! Decides which chunks of an append by chunk are moved together all the same: neighbours of few rows, which thousands of
//! small files leave. What is large stays where it is.

use std::sync::Arc;

use super::destination::{Destination, heap_bytes_of};
use super::{BYTES_WORTH_A_CHUNK, ROWS_WORTH_A_CHUNK};
use crate::arena::Arena;
use crate::chunk::Chunk;
use crate::chunk::hot::HotChunk;
use crate::memory::OutOfMemory;
use crate::row_id::CHUNK_ROWS_MAX;
use crate::view::HEAP_BYTES_MAX;

/// The chunks in their order, runs of small ones as few chunks. Where memory is short, they stay as they are.
pub(super) fn gathered(chunks: Vec<Arc<Chunk>>, arena: &mut Arena) -> Vec<HotChunk> {
    let mut slots = Vec::new();
    let mut run = Vec::new();
    for chunk in chunks {
        if is_small(&chunk) {
            run.push(chunk);
        } else {
            end_run(&mut run, &mut slots, arena);
            slots.push(HotChunk::of_chunk(chunk));
        }
    }
    end_run(&mut run, &mut slots, arena);
    slots
}

fn is_small(chunk: &Chunk) -> bool {
    (chunk.rows() as u64) < ROWS_WORTH_A_CHUNK && chunk.bytes() < BYTES_WORTH_A_CHUNK
}

fn end_run(run: &mut Vec<Arc<Chunk>>, slots: &mut Vec<HotChunk>, arena: &mut Arena) {
    let run = std::mem::take(run);
    match moved(&run, arena) {
        Ok(destinations) if run.len() > 1 => slots.extend(destinations.iter().map(Destination::to_hot_chunk)),
        _ => slots.extend(run.into_iter().map(HotChunk::of_chunk)),
    }
}

/// The rows of a run, copied; nothing where there is nothing to move together.
fn moved(run: &[Arc<Chunk>], arena: &mut Arena) -> Result<Vec<Destination>, OutOfMemory> {
    let mut destinations: Vec<Destination> = Vec::new();
    if run.len() < 2 {
        return Ok(destinations);
    }
    let mut rows_left: usize = run.iter().map(|chunk| chunk.rows()).sum();
    let mut heap_left: usize = run.iter().map(|chunk| heap_bytes_of(chunk, 0, chunk.rows())).sum();
    for chunk in run {
        let mut from = 0;
        while from < chunk.rows() {
            let (count, heap_bytes) = destinations.last().map_or((0, 0), |last| last.may_take(chunk, from));
            if count == 0 {
                if let Some(full) = destinations.last_mut() {
                    full.close();
                }
                let (rows, heap) = (rows_left.min(CHUNK_ROWS_MAX), heap_left.min(HEAP_BYTES_MAX));
                destinations.push(Destination::new(chunk.schema(), rows, heap, arena)?);
                continue;
            }
            let last = destinations.last_mut().expect("one may take rows");
            if !last.has_room(count, heap_bytes) {
                last.grow(count, heap_bytes, arena)?;
            }
            let task = last.reserve(Arc::clone(chunk), from, count, heap_bytes);
            let copied = task.copy();
            last.finish(&task, &copied);
            from += count;
            rows_left -= count;
            heap_left -= heap_bytes;
        }
    }
    Ok(destinations)
}
