//! Partition buffers filled as a parser fills them: straight into the spare slots, a few rows at a time.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::support::{all_types, batch, buffers, random_rows, rows_of};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use longshore_storage::{
    Arena, Chunk, Column, ColumnType, Memory, PartitionBuffer, Schema, Scratch, SpareValues, Value,
};
use longshore_testing::Random;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Column::new("number", ColumnType::Integer, true),
        Column::new("text", ColumnType::Text, true),
    ]))
}

fn view(text: &[u8], offset: usize) -> u128 {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(text.len() as u32).to_le_bytes());
    if text.len() <= 12 {
        bytes[4..4 + text.len()].copy_from_slice(text);
    } else {
        bytes[4..8].copy_from_slice(&text[..4]);
        bytes[12..].copy_from_slice(&(offset as u32).to_le_bytes());
    }
    u128::from_le_bytes(bytes)
}

/// Appends rows as a parser does; `None` is NULL. Clears bits beyond them, as a parser that stops early may have.
fn fill(buffer: &mut PartitionBuffer, rows: &[(Option<i32>, Option<String>)], beyond: usize) {
    fill_without(buffer, rows, beyond, &[]);
}

/// The same, but of the rows `rejected` nothing is to be kept; their numbers are not even written.
fn fill_without(buffer: &mut PartitionBuffer, rows: &[(Option<i32>, Option<String>)], beyond: usize, rejected: &[u32]) {
    let mut spare = buffer.spare(rows.len() + beyond);
    let mut nulls = [0; 2];
    let offset = spare.columns[0].validity_offset;
    let SpareValues::I32(numbers) = &mut spare.columns[0].values else { panic!("integers have 32 bits") };
    assert_eq!(numbers.len(), rows.len() + beyond);
    for (row, (slot, (number, _))) in numbers.iter_mut().zip(rows).enumerate() {
        if !rejected.contains(&(row as u32)) {
            slot.write(number.unwrap_or(0));
        }
    }
    let SpareValues::Views(views) = &mut spare.columns[1].values else { panic!("texts are stored as views") };
    for (slot, (_, text)) in views.iter_mut().zip(rows) {
        let text = text.as_deref().unwrap_or("").as_bytes();
        slot.write(view(text, spare.heap.used));
        if text.len() > 12 {
            let range = spare.heap.used..spare.heap.used + text.len();
            spare.heap.bytes[range].write_copy_of_slice(text);
            spare.heap.used += text.len();
        }
    }
    for (row, (number, text)) in rows.iter().enumerate() {
        for (column, is_null) in [number.is_none(), text.is_none()].into_iter().enumerate() {
            let bit = offset + row;
            let byte = &mut spare.columns[column].validity[bit / 8];
            assert_eq!(*byte >> (bit % 8) & 1, 1, "bits are preset to ones");
            if is_null {
                *byte &= !(1 << (bit % 8));
                nulls[column] += 1;
            }
        }
    }
    for bit in offset + rows.len()..offset + rows.len() + beyond {
        spare.columns[0].validity[bit / 8] &= !(1 << (bit % 8));
    }
    let heap_used = spare.heap.used;
    // SAFETY: values of rows that are kept, views and heap were written above, and the NULLs among the rows counted.
    unsafe { buffer.advance_without(rows.len(), rejected, &nulls, heap_used) };
}

fn pairs(random: &mut Random, count: usize) -> Vec<(Option<i32>, Option<String>)> {
    let number = |random: &mut Random| (random.below(3) > 0).then(|| random.next() as i32);
    let text = |random: &mut Random| (random.below(3) > 0).then(|| "é, x".repeat(random.below(9)));
    (0..count).map(|_| (number(random), text(random))).collect()
}

fn check(chunk: &Chunk, model: &[(Option<i32>, Option<String>)]) {
    for (offset, len) in [(0, model.len()), (3, model.len() - 5), (8, 1), (9, 0), (model.len() - 1, 1)] {
        let (numbers, texts) = (chunk.array(0, offset, len), chunk.array(1, offset, len));
        numbers.to_data().validate_full().expect("a valid array");
        texts.to_data().validate_full().expect("a valid array");
        for (row, (number, text)) in model[offset..offset + len].iter().enumerate() {
            let found = numbers.is_valid(row).then(|| numbers.as_primitive::<Int32Type>().value(row));
            assert_eq!(found, *number, "row {row} from {offset}");
            let found = texts.is_valid(row).then(|| texts.as_string_view().value(row));
            assert_eq!(found, text.as_deref(), "row {row} from {offset}");
        }
    }
    let numbers = model.iter().filter_map(|(number, _)| *number);
    let statistics = chunk.statistics(0);
    assert_eq!(statistics.min, numbers.clone().min().map(|value| Value::Integer(value.into())));
    assert_eq!(statistics.max, numbers.clone().max().map(|value| Value::Integer(value.into())));
    assert_eq!(statistics.null_count, (model.len() - numbers.count()) as u64);
}

#[test]
fn rows_come_piece_by_piece() {
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut buffer = PartitionBuffer::with_capacity(&schema(), 600, 60_000, &mut arena).expect("no limit");
        let mut model = Vec::new();
        while model.len() < 500 {
            let count = random.below([2, 20, 100][seed as usize % 3]);
            let rows = pairs(&mut random, count);
            let beyond = random.below(20).min(buffer.capacity() - buffer.rows() - count);
            fill(&mut buffer, &rows, beyond);
            model.extend(rows);
        }
        assert_eq!(buffer.rows(), model.len());
        check(&buffer.seal(), &model);
    }
}

#[test]
fn rejected_rows_leave_no_trace() {
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let mut buffer = PartitionBuffer::with_capacity(&schema(), 700, 80_000, &mut arena).expect("no limit");
        let mut model = Vec::new();
        while model.len() < 500 {
            let count = random.below([3, 20, 100][seed as usize % 3]);
            let rows = pairs(&mut random, count);
            let chances = [1, 2, 4, 50][random.below(4)];
            let rejected: Vec<u32> = (0..count as u32).filter(|_| random.below(chances) == 0).collect();
            let beyond = random.below(20).min(buffer.capacity() - buffer.rows() - count);
            fill_without(&mut buffer, &rows, beyond, &rejected);
            let kept = rows.into_iter().enumerate().filter(|(row, _)| !rejected.contains(&(*row as u32)));
            model.extend(kept.map(|(_, row)| row));
        }
        assert_eq!(buffer.rows(), model.len());
        check(&buffer.seal(), &model);
    }
}

#[test]
fn a_buffer_can_be_filled_to_the_brim() {
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    let mut buffer = PartitionBuffer::with_capacity(&schema(), 21, 26, &mut arena).expect("no limit");
    let rows: Vec<_> = (0..21).map(|at| (None, (at > 18).then(|| "thirteenbytes".to_owned()))).collect();
    fill(&mut buffer, &rows[..20], 1);
    fill(&mut buffer, &rows[20..], 0);
    assert_eq!((buffer.heap_room(), buffer.capacity()), (0, buffer.rows()));
    assert!(buffer.spare(0).columns[0].validity.len() <= 1);
    check(&buffer.seal(), &rows);
}

#[test]
fn a_chunk_says_what_it_holds() {
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    let mut buffer = PartitionBuffer::with_capacity(&schema(), 100, 100, &mut arena).expect("no limit");
    fill(&mut buffer, &[(Some(1), Some("a".to_owned())), (None, Some("a text for the heap".to_owned()))], 0);
    let chunk = buffer.seal();
    let mut scratch = Scratch::default();
    assert_eq!((chunk.rows(), chunk.values_with_texts(1, 0..2, &mut scratch).1), (2, &b"a text for the heap"[..]));
    assert_eq!((chunk.validity(0), chunk.validity(1)), (Some(&[0xFD][..]), None));
    assert_eq!(chunk.bytes(), 2 * 4 + 1 + 2 * 16 + 19);
}

#[test]
fn bounds_can_be_done_without() {
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    let buffer = PartitionBuffer::with_capacity(&schema(), 100, 100, &mut arena).expect("no limit");
    let mut buffer = buffer.without_bounds();
    fill(&mut buffer, &[(Some(1), None), (None, None)], 0);
    let chunk = buffer.seal();
    assert_eq!((chunk.statistics(0).min.clone(), chunk.statistics(0).null_count), (None, 1));
}

#[test]
fn all_types_come_back_from_any_offset() {
    let schema = all_types();
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    let rows = random_rows(&mut Random::new(11), &schema, 0, 300);
    let mut sealed: Vec<Chunk> = buffers(&schema, &rows, &mut arena).into_iter().map(PartitionBuffer::seal).collect();
    let chunk = sealed.remove(0);
    let projection: Vec<usize> = (0..schema.columns().len()).collect();
    for (offset, len) in [(0, 300), (1, 299), (7, 64), (8, 65), (63, 2), (299, 1), (300, 0)] {
        let found = chunk.batch(&projection, offset, len);
        assert!(rows_of(&schema, &found) == rows[offset..offset + len], "rows {offset} and {len} more");
        assert_eq!(found, batch(&schema, &rows).slice(offset, len));
    }
}

#[test]
fn heaps_have_a_limit() {
    let mut arena = Arena::new(Memory::new(None), 2 << 20);
    let mut buffer = PartitionBuffer::with_capacity(&schema(), 1, usize::MAX, &mut arena).expect("no limit");
    assert_eq!(buffer.heap_room(), longshore_storage::HEAP_BYTES_MAX);
    let spare = buffer.spare(1);
    assert_eq!(spare.heap.bytes.len(), longshore_storage::HEAP_BYTES_MAX);
    spare.heap.bytes[longshore_storage::HEAP_BYTES_MAX - 1] = MaybeUninit::new(1);
}
