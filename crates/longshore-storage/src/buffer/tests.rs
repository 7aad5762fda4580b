//! Buffers that are told the codes of texts, against buffers that are not.

use std::collections::HashMap;

use arrow_array::builder::make_view;
use longshore_testing::Random;

use super::*;
use crate::memory::Memory;
use crate::types::{Column, ColumnType};

/// A row: which text of a pool, and in which of several spellings; or NULL.
type Row = Option<(usize, usize)>;

/// What a decoder remembers: the code of each spelling, and what each code stands for.
#[derive(Default)]
struct Memo {
    codes: HashMap<Row, u8>,
    entries: Vec<u128>,
}

/// Fills a buffer of one column of texts with rows, those apart that are rejected; with a memo, tells their codes.
fn fill(buffer: &mut PartitionBuffer, pool: &[String], rows: &[Row], rejected: &[u32], memo: Option<&mut Memo>) {
    let Spare { mut columns, heap } = buffer.spare(rows.len());
    let mut used = heap.used;
    let mut view_of = |row: &Row| {
        let text = row.map_or("", |(text, _)| &pool[text]).as_bytes();
        let view = make_view(text, 0, used as u32);
        if text.len() > view::INLINE_BYTES_MAX {
            heap.bytes[used..used + text.len()].write_copy_of_slice(text);
            used += text.len();
        }
        view
    };
    let SpareColumn { values, validity, validity_offset, codes } = &mut columns[0];
    let SpareValues::Views(slots) = values else { unreachable!("it has texts") };
    if let Some(memo) = memo {
        let Memo { codes: known, entries } = &mut *memo;
        let codes = codes.as_mut().expect("codes are asked for");
        for ((slot, code), row) in slots.iter_mut().zip(&mut *codes.codes).zip(rows) {
            let entry = *known.entry(*row).or_insert_with(|| {
                entries.push(view_of(row));
                (entries.len() - 1) as u8
            });
            code.write(entry);
            slot.write(entries[usize::from(entry)]);
        }
        codes.stand_for(entries);
    } else {
        for (slot, row) in slots.iter_mut().zip(rows) {
            slot.write(view_of(row));
        }
    }
    let mut nulls = 0;
    for at in (0..rows.len()).filter(|&at| rows[at].is_none()) {
        let bit = *validity_offset + at;
        validity[bit / 8] &= !(1 << (bit % 8));
        nulls += 1;
    }
    // SAFETY: all views were written and refer to what was written to the heap; the codes stand for the same texts, and as
    // many bits were cleared as is said.
    unsafe { buffer.advance_without(rows.len(), rejected, &[nulls], used) };
}

#[test]
fn dictionaries_that_were_told_are_those_that_are_found() {
    let mut random = Random::new(11);
    let schema = Arc::new(Schema::new(vec![Column::new("few", ColumnType::Text, true)]));
    for _ in 0..longshore_testing::share(200) {
        let texts = [1, 2, 30, 120][random.below(4)];
        let spellings = 1 + random.below(2);
        let pool: Vec<String> = (0..texts).map(|at| format!("{at}{}", "-long text".repeat(random.below(3)))).collect();
        let mut arena = Arena::new(Memory::new(None), 1 << 20);
        let mut buffer = || PartitionBuffer::with_capacity(&schema, 3000, 1 << 18, &mut arena).unwrap();
        let mut buffers = [buffer(), buffer().with_codes()];
        let (mut memo, mut tells) = (Memo::default(), true);
        for _ in 0..=random.below(5) {
            let row = |random: &mut Random| {
                (!random.once_in(20)).then(|| (random.below(pool.len()), random.below(spellings)))
            };
            let rows: Vec<Row> = (0..random.below(600)).map(|_| row(&mut random)).collect();
            let rejects = random.once_in(3);
            let rejected: Vec<u32> = (0..rows.len() as u32).filter(|_| rejects && random.once_in(10)).collect();
            fill(&mut buffers[0], &pool, &rows, &rejected, None);
            // A decoder that has given up tells nothing for the rest of the buffer.
            tells &= !random.once_in(15);
            fill(&mut buffers[1], &pool, &rows, &rejected, tells.then_some(&mut memo));
            if random.once_in(4) && buffers[0].rows() > 0 {
                let lost: Vec<u32> = (0..buffers[0].rows() as u32).filter(|_| random.once_in(50)).collect();
                for buffer in &mut buffers {
                    buffer.remove(&lost);
                }
            }
        }
        let mut packer = Packer::default();
        let [found, told] = buffers.map(|buffer| buffer.pack(&mut packer, &mut arena).unwrap());
        assert_eq!(&told.array(0, 0, told.rows()), &found.array(0, 0, found.rows()));
        // Texts of which all rows are gone make no difference but in little tables.
        if found.rows() > 1500 {
            let [found, told] = [&found, &told].map(|chunk| chunk.packed(0).unwrap());
            assert_eq!(told.packed_as(), found.packed_as());
        }
    }
}
