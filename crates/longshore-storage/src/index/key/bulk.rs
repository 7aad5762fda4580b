//! Makes the keys of many rows of a chunk.
//!
//! Keys of fixed size that fit in 16 bytes are made column by column, a block of rows at a time, without a branch per
//! row unless there are NULLs; all others row by row.

use std::ops::Range;

use super::{
    ABSENT, AnyBytes, Key, KeyLayout, PRESENT, Part, SHORT_BYTES, ShortBytes, WholeKey, order_f32, order_f64,
    order_i16, order_i32, order_i64, order_i128,
};
use crate::chunk::Stored;
use crate::types::Physical;
use crate::values::{Scratch, TextRoom, Values};

/// Rows whose keys are made at a time: their keys stay in the first-level cache.
const BLOCK_ROWS: usize = 512;

/// The same for sinks.
pub(in crate::index) const BLOCK_KEYS: usize = BLOCK_ROWS;

/// Takes the keys of rows, one by one, in row order.
pub(in crate::index) trait KeySink {
    type Error;

    /// The key of row `row` of the chunk, and whether NULL makes it differ from every key.
    fn take<K: WholeKey>(&mut self, row: usize, key: K, is_apart: bool) -> Result<(), Self::Error>;

    /// The keys of rows from `row` on, at least one, which are of the same length and none of which NULL makes
    /// differ from all others. Says how
    /// many it took, one at least: others are given to it again, with more behind them. Unless
    /// `is_last`, it is given [`BLOCK_KEYS`].
    #[inline]
    fn take_block(&mut self, row: usize, keys: &[u128], length: u32, is_last: bool) -> Result<usize, Self::Error> {
        let _ = is_last;
        for (at, &bits) in keys.iter().enumerate() {
            self.take(row + at, ShortBytes { bits, length }, false)?;
        }
        Ok(keys.len())
    }
}

impl KeyLayout {
    /// Gives the keys of all rows of a chunk to a sink.
    pub(in crate::index) fn encode_chunk<S: KeySink>(&self, chunk: &impl Stored, sink: &mut S) -> Result<(), S::Error> {
        self.encode_range(chunk, 0..chunk.rows(), sink)
    }

    /// Gives the keys of some rows of a chunk to a sink.
    pub(in crate::index) fn encode_range<S: KeySink>(
        &self,
        chunk: &impl Stored,
        rows: Range<usize>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        match self.fixed_bytes() {
            Some(bytes) if bytes <= SHORT_BYTES => self.encode_blocks(chunk, rows, bytes, sink),
            _ => self.encode_rows(chunk, rows, sink),
        }
    }

    fn encode_blocks<S: KeySink>(
        &self,
        chunk: &impl Stored,
        rows: Range<usize>,
        bytes: usize,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        let nullable = self.parts.iter().any(|part| chunk.validity(part.column).is_some());
        let mut keys = [0_u128; BLOCK_ROWS];
        let mut nulls = [false; BLOCK_ROWS];
        let mut scratch = Scratch::default();
        let mut from = rows.start;
        while from < rows.end {
            let count = BLOCK_ROWS.min(rows.end - from);
            let (keys, nulls) = (&mut keys[..count], &mut nulls[..count]);
            keys.fill(0);
            nulls.fill(false);
            let mut bits_left = 128;
            for part in &self.parts {
                if part.nullable {
                    bits_left -= 8;
                    // A present value's mark is 0.
                    const { assert!(PRESENT == 0) };
                }
                bits_left -= 8 * part.physical.width();
                part.encode_block(chunk, (from, &mut scratch), bits_left, keys, nulls);
            }
            let length = bytes as u32;
            if !nullable || !nulls.contains(&true) {
                from += sink.take_block(from, keys, length, from + count == rows.end)?;
                continue;
            }
            for (at, (&bits, &is_apart)) in keys.iter().zip(nulls.iter()).enumerate() {
                sink.take(from + at, ShortBytes { bits, length }, is_apart)?;
            }
            from += count;
        }
        Ok(())
    }

    fn encode_rows<S: KeySink>(&self, chunk: &impl Stored, rows: Range<usize>, sink: &mut S) -> Result<(), S::Error> {
        let mut key = Key::EMPTY;
        for row in rows {
            self.encode_stored(chunk, row, &mut key);
            match key.bytes() {
                AnyBytes::Short(bytes) => sink.take(row, bytes, key.is_apart)?,
                AnyBytes::Long(bytes) => sink.take(row, bytes, key.is_apart)?,
            }
        }
        Ok(())
    }

    /// The key of one row of a chunk.
    pub(in crate::index) fn key_of_stored(&self, chunk: &impl Stored, row: usize) -> Key {
        let mut key = Key::EMPTY;
        self.encode_stored(chunk, row, &mut key);
        key
    }

    /// Whether NULL is part of the key of a row.
    pub(in crate::index) fn has_null(&self, chunk: &impl Stored, row: usize) -> bool {
        self.parts.iter().any(|part| part.is_null(chunk, row))
    }

    /// Whether NULL makes the key of a row differ from every key.
    pub(in crate::index) fn is_apart(&self, chunk: &impl Stored, row: usize) -> bool {
        self.parts.iter().any(|part| part.nulls_differ && part.is_null(chunk, row))
    }

    fn encode_stored(&self, chunk: &impl Stored, row: usize, key: &mut Key) {
        key.clear();
        for part in &self.parts {
            part.encode_stored(chunk, row, key);
        }
    }
}

impl Key {
    /// Forgets its bytes, not the memory for as many.
    fn clear(&mut self) {
        (self.short, self.length, self.has_null, self.is_apart) = (0, 0, false, false);
        self.long.clear();
    }
}

impl Part {
    /// Adds the bytes of a column to keys: they end `bits_left` before the lowest bit.
    fn encode_block(
        &self,
        chunk: &impl Stored,
        (from, scratch): (usize, &mut Scratch),
        bits_left: usize,
        keys: &mut [u128],
        nulls: &mut [bool],
    ) {
        fn add<T: Copy>(keys: &mut [u128], values: &[T], bits_left: usize, order: impl Fn(T) -> u128) {
            for (key, &value) in keys.iter_mut().zip(values) {
                *key |= order(value) << bits_left;
            }
        }
        match chunk.values(self.column, from..from + keys.len(), scratch) {
            Values::U8(values) => add(keys, values, bits_left, u128::from),
            Values::I16(values) => add(keys, values, bits_left, |value| order_i16(value).into()),
            Values::I32(values) => add(keys, values, bits_left, |value| order_i32(value).into()),
            Values::I64(values) => add(keys, values, bits_left, |value| order_i64(value).into()),
            Values::I128(values) => add(keys, values, bits_left, order_i128),
            Values::F32(values) => add(keys, values, bits_left, |value| order_f32(value).into()),
            Values::F64(values) => add(keys, values, bits_left, |value| order_f64(value).into()),
            Values::Views(_) => unreachable!("texts have no fixed size"),
        }
        let Some(validity) = chunk.validity(self.column) else { return };
        let value_bits = 8 * self.physical.width();
        let ones = u128::MAX >> (128 - value_bits);
        for (at, (key, null)) in keys.iter_mut().zip(nulls).enumerate() {
            let row = from + at;
            if validity[row / 8] >> (row % 8) & 1 == 0 {
                *null |= self.nulls_differ;
                *key &= !(ones << bits_left);
                *key |= u128::from(ABSENT) << (bits_left + value_bits);
            }
        }
    }

    fn is_null(&self, chunk: &impl Stored, row: usize) -> bool {
        chunk.validity(self.column).is_some_and(|bits| bits[row / 8] >> (row % 8) & 1 == 0)
    }

    fn encode_stored(&self, chunk: &impl Stored, row: usize, key: &mut Key) {
        if self.is_null(chunk, row) {
            return self.encode_null(key).expect("only columns that may be NULL have validity bits");
        }
        if self.nullable {
            key.push(PRESENT.into(), 1);
        }
        let bits = || chunk.bits(self.column, row);
        match self.physical {
            Physical::U8 => key.push((bits() as u8).into(), 1),
            Physical::I16 => key.push(order_i16(bits() as i16).into(), 2),
            Physical::I32 => key.push(order_i32(bits() as i32).into(), 4),
            Physical::I64 => key.push(order_i64(bits() as i64), 8),
            Physical::I128 => key.push_wide(order_i128(bits() as i128)),
            Physical::F32 => key.push(order_f32(f32::from_bits(bits() as u32)).into(), 4),
            Physical::F64 => key.push(order_f64(f64::from_bits(bits() as u64)), 8),
            Physical::View => key.push_text(self.compared(chunk.text(self.column, row, &TextRoom::default()))),
        }
    }
}
