//! The bounds of the values of a packed column, from its codes where they have the order of the values.

use super::{Codes, Encoding, PackedColumn};
use crate::statistics::bounds::Bounds;
use crate::statistics::extremes::{Extremes, Lane, extremes};
use crate::types::Physical;
use crate::values::Scratch;

/// Rows whose values are unpacked at a time.
const READ_ROWS: usize = 4096;

impl PackedColumn {
    /// The bounds of the values that are not NULL, whose rows have a bit in `validity`; of texts those of their first bytes.
    pub(crate) fn bounds(&self, validity: Option<&[u8]>, scratch: &mut Scratch) -> Bounds {
        let mut bounds = Bounds::new(self.physical);
        match &self.encoding {
            Encoding::Offset { base, divisor, codes } => {
                for code in codes.extremes(validity) {
                    let value = base.wrapping_add((u64::from(code).wrapping_mul(*divisor)).into());
                    bounds.widen(self.physical, value as u128);
                }
            }
            // NaN is the greatest of a dictionary, and lies between no bounds.
            Encoding::Dictionary { entries, codes } if !matches!(self.physical, Physical::F32 | Physical::F64) => {
                for code in codes.extremes(validity) {
                    bounds.widen(self.physical, super::stored_bits(self.physical, entries, code as usize));
                }
            }
            Encoding::Fsst(texts) => {
                let is_valid = |row: usize| validity.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
                for row in (0..self.rows).filter(|&row| is_valid(row)) {
                    bounds.widen(self.physical, u128::from(texts.prefix(row, self.heap())) << 32);
                }
            }
            _ => {
                for from in (0..self.rows).step_by(READ_ROWS) {
                    let values = self.read(from..self.rows.min(from + READ_ROWS), scratch);
                    bounds.add(values, validity.map(|bits| (bits, from)));
                }
            }
        }
        bounds
    }
}

impl Codes {
    /// The least and the greatest of those whose rows have a bit; nothing if none has.
    fn extremes(&self, validity: Option<&[u8]>) -> impl Iterator<Item = u32> {
        fn of<C: Lane<Key = C> + Into<u32>>(codes: &[C], validity: Option<&[u8]>) -> [u32; 2] {
            let Extremes { min, max, .. } = extremes(codes, validity.map(|bits| (bits, 0)));
            [min.into(), max.into()]
        }
        let [min, max] = match self {
            Codes::U8(codes) => of(codes.typed_data::<u8>(), validity),
            Codes::U16(codes) => of(codes.typed_data::<u16>(), validity),
            Codes::U32(codes) => of(codes.typed_data::<u32>(), validity),
        };
        [min, max].into_iter().filter(move |_| min <= max)
    }
}
