//! The values that the codes of a column stand for, where these are few: a predicate is evaluated once on each of them and
//! not on every row.

use std::ops::Range;

use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer};

use super::offset::Code;
use super::{Codes, Encoding, PackedColumn};

impl PackedColumn {
    /// How many values its codes stand for, some of which no row may have. `None` if it has no codes, or nearly as many as
    /// rows: offsets of more than a byte.
    #[must_use]
    pub fn entries(&self) -> Option<usize> {
        match &self.encoding {
            Encoding::Constant(_) => Some(1),
            Encoding::Bits(_) => Some(2),
            Encoding::Offset { codes: Codes::U8(_), .. } => Some(256),
            Encoding::Dictionary { entries, .. } => Some(entries.len() / self.physical.width()),
            Encoding::Offset { .. } | Encoding::Texts(_) | Encoding::Fsst(_) | Encoding::Plain(_) => None,
        }
    }

    /// These values, that of code 0 first; long texts are in the heap.
    ///
    /// # Panics
    ///
    /// When there is no number of them.
    pub(crate) fn entry_values(&self) -> Buffer {
        let width = self.physical.width();
        let values = |bits: &mut dyn Iterator<Item = u128>| {
            let mut values = MutableBuffer::new(0);
            bits.for_each(|bits| values.extend_from_slice(&bits.to_le_bytes()[..width]));
            values.into()
        };
        match &self.encoding {
            Encoding::Constant(bytes) => values(&mut std::iter::once(u128::from_le_bytes(*bytes))),
            Encoding::Bits(_) => values(&mut [0, 1].into_iter()),
            Encoding::Offset { base, divisor, codes: Codes::U8(_) } => {
                values(&mut (0..256_u64).map(|code| base.wrapping_add(code.wrapping_mul(*divisor).into()) as u128))
            }
            Encoding::Dictionary { entries, .. } => entries.clone(),
            Encoding::Offset { .. } | Encoding::Texts(_) | Encoding::Fsst(_) | Encoding::Plain(_) => {
                panic!("{self:?} has no entries")
            }
        }
    }

    /// Notes the codes that occur in those of some rows whose bit is set.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or there is not a bit for each, or a place for each of the entries.
    pub fn note_codes(&self, rows: Range<usize>, bits: &BooleanBuffer, occurs: &mut [bool]) {
        assert!(rows.end <= self.rows && rows.len() == bits.len(), "a bit for each of {rows:?} of {}", self.rows);
        match &self.encoding {
            Encoding::Constant(_) => occurs[0] |= bits.count_set_bits() > 0,
            Encoding::Bits(values) => {
                let ones = (&BooleanBuffer::new(values.clone(), rows.start, rows.len()) & bits).count_set_bits();
                occurs[0] |= ones < bits.count_set_bits();
                occurs[1] |= ones > 0;
            }
            Encoding::Offset { codes, .. } | Encoding::Dictionary { codes, .. } => match codes {
                Codes::U8(codes) => note(&codes.as_slice()[rows], bits, occurs),
                Codes::U16(codes) => note(&codes.typed_data::<u16>()[rows], bits, occurs),
                Codes::U32(codes) => note(&codes.typed_data::<u32>()[rows], bits, occurs),
            },
            Encoding::Texts(_) | Encoding::Fsst(_) | Encoding::Plain(_) => panic!("{self:?} has no codes"),
        }
    }
}

fn note<C: Code>(codes: &[C], bits: &BooleanBuffer, occurs: &mut [bool]) {
    for row in bits.set_indices() {
        occurs[codes[row].number() as usize] = true;
    }
}
