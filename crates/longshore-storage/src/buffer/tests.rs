//! Buffers that gather what packing asks for, against buffers that do not.

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use longshore_testing::Random;

use super::*;
use crate::memory::Memory;
use crate::types::{Column, ColumnType};

/// A whole number, a text of few and a text of many, some of them long or NULL.
fn row(random: &mut Random) -> (Option<i64>, Option<String>, Option<String>) {
    let number = random.below(1 << 40) as i64;
    let few = format!("{:.*}", 6 + 4 * random.below(3), "a text of few, by its length");
    let many = format!("text {number}, and more").split_off(random.below(12));
    let mut or_null = || !random.once_in(20);
    (or_null().then_some(number), or_null().then_some(few), or_null().then_some(many))
}

fn batch(schema: &Schema, rows: &[(Option<i64>, Option<String>, Option<String>)]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
    let few: ArrayRef = Arc::new(rows.iter().map(|row| row.1.as_deref()).collect::<StringViewArray>());
    let many: ArrayRef = Arc::new(rows.iter().map(|row| row.2.as_deref()).collect::<StringViewArray>());
    RecordBatch::try_new(schema.arrow(), vec![numbers, few, many]).unwrap()
}

#[test]
fn dictionaries_that_were_gathered_are_those_that_are_found() {
    let mut random = Random::new(11);
    let types = [("number", ColumnType::BigInt), ("few", ColumnType::Text), ("many", ColumnType::Text)];
    let schema = Arc::new(Schema::new(types.map(|(name, of)| Column::new(name, of, true)).to_vec()));
    for _ in 0..longshore_testing::share(60) {
        let mut arena = Arena::new(Memory::new(None), 1 << 20);
        let mut buffer = || PartitionBuffer::with_capacity(&schema, 3000, 1 << 18, &mut arena).unwrap();
        let mut buffers = [buffer(), buffer().with_dictionaries()];
        let loses_rows = random.once_in(3);
        for _ in 0..=random.below(5) {
            let rows: Vec<_> = (0..random.below(600)).map(|_| row(&mut random)).collect();
            let batch = batch(&schema, &rows);
            for buffer in &mut buffers {
                assert_eq!(buffer.append_batch(&batch, 0..rows.len()).unwrap(), rows.len());
            }
            if loses_rows && buffers[0].rows() > 0 {
                let lost = random.below(buffers[0].rows()) as u32;
                for buffer in &mut buffers {
                    buffer.remove(&[lost]);
                }
            }
        }
        let mut packer = Packer::default();
        let [found, gathered] = buffers.map(|buffer| buffer.pack(&mut packer, &mut arena).unwrap());
        for column in 0..3 {
            let [found, gathered] = [&found, &gathered].map(|chunk| (chunk.packed(column).unwrap(), chunk));
            assert_eq!(gathered.0.packed_as(), found.0.packed_as());
            assert_eq!(gathered.0.bytes(), found.0.bytes());
            assert_eq!(&gathered.1.array(column, 0, gathered.1.rows()), &found.1.array(column, 0, found.1.rows()));
        }
    }
}
