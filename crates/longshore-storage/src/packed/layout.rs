//! What of a packed column is kept in a file, and a column that is made of it.
//!
//! A file has the buffers of a packed column as they are in memory, its heap, and a [`Layout`], which says what the buffers
//! are. Whoever can compute checksums may write any bytes: everything that the code of packed columns relies upon is
//! checked here, once.

use std::cmp::Ordering;
use std::iter;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::domain::{Domain, Floats, Integers, Texts};
use super::fsst::{FsstTexts, SYMBOL_BYTES, SymbolTable};
use super::text::{self, TextEnds};
use super::{Codes, Encoding, PackedColumn, double, float, stored_bits};
use crate::types::Physical;
use crate::view;

/// How a column is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The bytes of the value that all rows have, the lowest first.
    Constant([u8; 16]),
    /// A bit for each row.
    Bits,
    /// `width` bytes for each row: `value = base + code * divisor`.
    Offset { base: i128, divisor: u64, width: u8 },
    /// The distinct values in their order, and which of them each row has, in `width` bytes.
    Dictionary { entries: u32, width: u8 },
    /// Where each group of texts begins, and where in its group each text ends, in `width` bytes.
    Texts { width: u8 },
    /// So many symbols, where the codes of each group of texts begin, and where in its group those of each text end, in
    /// `width` bytes.
    Fsst { symbols: u8, width: u8 },
    /// The values.
    Plain,
}

impl Layout {
    /// Whether a column of values so represented can be packed so.
    pub(crate) fn is_possible(self, physical: Physical) -> bool {
        match self {
            Layout::Constant(_) => true,
            Layout::Bits => physical == Physical::U8,
            Layout::Offset { divisor, width, .. } => {
                divisor > 0 && matches!(width, 1 | 2 | 4) && whole_bounds(physical).is_some()
            }
            Layout::Dictionary { entries, width } => match width {
                1 => physical != Physical::U8 && (1..=1 << 8).contains(&entries),
                2 => physical != Physical::U8 && (1..=1 << 16).contains(&entries),
                _ => false,
            },
            Layout::Texts { width } | Layout::Fsst { width, .. } => {
                physical == Physical::View && matches!(width, 2 | 4)
            }
            Layout::Plain => physical != Physical::U8,
        }
    }

    /// The bytes of each buffer.
    pub(crate) fn buffer_bytes(self, physical: Physical, rows: usize) -> impl Iterator<Item = usize> {
        let of_rows = |width: u8| Some(rows * usize::from(width));
        let lengths = match self {
            Layout::Constant(_) => [None; 3],
            Layout::Bits => [Some(rows.div_ceil(8)), None, None],
            Layout::Offset { width, .. } => [of_rows(width), None, None],
            Layout::Dictionary { entries, width } => [Some(entries as usize * physical.width()), of_rows(width), None],
            Layout::Texts { width } => [Some(text::group_bytes(rows)), of_rows(width), None],
            Layout::Fsst { symbols, width } => {
                [Some(usize::from(symbols) * SYMBOL_BYTES), Some(text::group_bytes(rows)), of_rows(width)]
            }
            Layout::Plain => [Some(rows * physical.width()), None, None],
        };
        lengths.into_iter().flatten()
    }
}

/// The least and the greatest value of a type of whole numbers.
fn whole_bounds(physical: Physical) -> Option<(i128, i128)> {
    match physical {
        Physical::I16 => Some((i16::MIN.into(), i16::MAX.into())),
        Physical::I32 => Some((i32::MIN.into(), i32::MAX.into())),
        Physical::I64 => Some((i64::MIN.into(), i64::MAX.into())),
        Physical::I128 => Some((i128::MIN, i128::MAX)),
        Physical::U8 | Physical::F32 | Physical::F64 | Physical::View => None,
    }
}

impl PackedColumn {
    /// How it is packed.
    pub(crate) fn layout(&self) -> Layout {
        match &self.encoding {
            Encoding::Constant(bytes) => Layout::Constant(*bytes),
            Encoding::Bits(_) => Layout::Bits,
            Encoding::Offset { base, divisor, codes } => {
                Layout::Offset { base: *base, divisor: *divisor, width: codes.width() }
            }
            Encoding::Dictionary { entries, codes } => {
                Layout::Dictionary { entries: (entries.len() / self.physical.width()) as u32, width: codes.width() }
            }
            Encoding::Texts(ends) => Layout::Texts { width: ends.ends().width() },
            Encoding::Fsst(texts) => Layout::Fsst {
                symbols: (texts.symbols().len() / SYMBOL_BYTES) as u8,
                width: texts.ends().ends().width(),
            },
            Encoding::Plain(_) => Layout::Plain,
        }
    }

    /// The buffers, whose lengths [`Layout::buffer_bytes`] knows; they may have more bytes.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let buffers = match &self.encoding {
            Encoding::Constant(_) => [None; 3],
            Encoding::Bits(values) | Encoding::Plain(values) => [Some(values), None, None],
            Encoding::Offset { codes, .. } => [Some(codes.buffer()), None, None],
            Encoding::Dictionary { entries, codes } => [Some(entries), Some(codes.buffer()), None],
            Encoding::Texts(ends) => [Some(ends.groups()), Some(ends.ends().buffer()), None],
            Encoding::Fsst(texts) => {
                [Some(texts.symbols()), Some(texts.ends().groups()), Some(texts.ends().ends().buffer())]
            }
        };
        buffers.into_iter().flatten()
    }

    /// A column of these buffers and this heap.
    ///
    /// # Errors
    ///
    /// When they are not what packing writes: the text says why.
    ///
    /// # Panics
    ///
    /// When the layout is impossible for this type, or the buffers have other lengths than it says.
    pub(crate) fn from_buffers(
        physical: Physical,
        rows: usize,
        layout: Layout,
        buffers: impl IntoIterator<Item = Buffer>,
        heap: Buffer,
        is_utf8: bool,
    ) -> Result<PackedColumn, &'static str> {
        assert!(layout.is_possible(physical), "{layout:?} of {physical:?}");
        let mut lengths = layout.buffer_bytes(physical, rows);
        let mut buffers = buffers.into_iter().inspect(|buffer| assert_eq!(Some(buffer.len()), lengths.next()));
        let mut next = || buffers.next().expect("there are as many buffers as the layout has");
        let encoding = match layout {
            Layout::Constant(bytes) => Encoding::Constant(bytes),
            Layout::Bits => Encoding::Bits(next()),
            Layout::Offset { base, divisor, width } => {
                Encoding::Offset { base, divisor, codes: Codes::new(width, next()) }
            }
            Layout::Dictionary { width, .. } => {
                Encoding::Dictionary { entries: next(), codes: Codes::new(width, next()) }
            }
            Layout::Texts { width } => Encoding::Texts(TextEnds::new(next(), Codes::new(width, next()))),
            Layout::Fsst { width, .. } => {
                let symbols = SymbolTable::new(next());
                let ends = TextEnds::new(next(), Codes::new(width, next()));
                Encoding::Fsst(FsstTexts::new(symbols, ends))
            }
            Layout::Plain => Encoding::Plain(next()),
        };
        let column = PackedColumn::new(physical, rows, encoding, Arc::new([heap]));
        column.check(is_utf8)?;
        Ok(column)
    }

    /// Checks all that reading relies upon.
    fn check(&self, is_utf8: bool) -> Result<(), &'static str> {
        if self.physical != Physical::View && !self.heap().is_empty() {
            return Err("numbers have no texts");
        }
        match &self.encoding {
            Encoding::Constant(bytes) => self.check_constant(bytes, is_utf8),
            Encoding::Offset { base, divisor, codes } => self.check_offsets(*base, *divisor, codes.max()),
            Encoding::Dictionary { entries, codes } => self.check_dictionary(entries, codes.max(), is_utf8),
            Encoding::Texts(ends) => ends.check(self.rows, self.heap(), is_utf8),
            Encoding::Fsst(texts) => texts.check(self.rows, self.heap(), is_utf8),
            Encoding::Plain(values) if self.physical == Physical::View => {
                check_views(values.typed_data(), self.heap(), is_utf8)
            }
            Encoding::Bits(_) | Encoding::Plain(_) => Ok(()),
        }
    }

    fn check_constant(&self, bytes: &[u8; 16], is_utf8: bool) -> Result<(), &'static str> {
        let bits = u128::from_le_bytes(*bytes);
        let is_value = match self.physical {
            Physical::View => return check_views(&[bits], self.heap(), is_utf8),
            Physical::U8 => bits <= 1,
            Physical::F32 => bits <= u32::MAX.into(),
            Physical::F64 => bits <= u64::MAX.into(),
            Physical::I16 | Physical::I32 | Physical::I64 | Physical::I128 => whole_bounds(self.physical)
                .is_some_and(|(least, greatest)| (least..=greatest).contains(&(bits as i128))),
        };
        if is_value { Ok(()) } else { Err("the constant is no value of the column's type") }
    }

    fn check_offsets(&self, base: i128, divisor: u64, code_max: u32) -> Result<(), &'static str> {
        let (least, greatest) = whole_bounds(self.physical).expect("whole numbers alone are packed as offsets");
        // At most 96 bits.
        let distance = i128::from(code_max) * i128::from(divisor);
        let is_within = base >= least && base.checked_add(distance).is_some_and(|last| last <= greatest);
        if is_within && distance <= u64::MAX.into() { Ok(()) } else { Err("an offset leads beyond the column's type") }
    }

    fn check_dictionary(&self, entries: &Buffer, code_max: u32, is_utf8: bool) -> Result<(), &'static str> {
        let count = entries.len() / self.physical.width();
        if code_max as usize >= count {
            return Err("a code has no entry in the dictionary");
        }
        if self.physical == Physical::View {
            check_views(entries.typed_data(), self.heap(), is_utf8)?;
        }
        let values = (0..count).map(|at| stored_bits(self.physical, entries, at));
        let are_in_order = match self.physical {
            Physical::View => is_ascending(values, &Texts { heap: self.heap() }),
            Physical::F32 => is_ascending(values, &Floats(float)),
            Physical::F64 => is_ascending(values, &Floats(double)),
            _ => is_ascending(values, &Integers),
        };
        if are_in_order { Ok(()) } else { Err("the entries of the dictionary are not in order") }
    }
}

impl Codes {
    fn new(width: u8, codes: Buffer) -> Codes {
        match width {
            1 => Codes::U8(codes),
            2 => Codes::U16(codes),
            _ => Codes::U32(codes),
        }
    }

    fn buffer(&self) -> &Buffer {
        let (Codes::U8(codes) | Codes::U16(codes) | Codes::U32(codes)) = self;
        codes
    }

    /// Bytes of each.
    pub(super) fn width(&self) -> u8 {
        match self {
            Codes::U8(_) => 1,
            Codes::U16(_) => 2,
            Codes::U32(_) => 4,
        }
    }

    /// The greatest, 0 if there is none.
    fn max(&self) -> u32 {
        match self {
            Codes::U8(codes) => codes.iter().copied().max().unwrap_or_default().into(),
            Codes::U16(codes) => codes.typed_data::<u16>().iter().copied().max().unwrap_or_default().into(),
            Codes::U32(codes) => codes.typed_data::<u32>().iter().copied().max().unwrap_or_default(),
        }
    }
}

/// Whether each value precedes the next.
fn is_ascending(values: impl Iterator<Item = u128> + Clone, domain: &impl Domain) -> bool {
    values.clone().zip(values.skip(1)).all(|(one, next)| domain.compare(one, next) == Ordering::Less)
}

/// Checks that views are those of texts that fill a heap, one behind the other: no byte is looked at twice.
fn check_views(views: &[u128], heap: &[u8], is_utf8: bool) -> Result<(), &'static str> {
    let mut end = 0;
    for &view in views {
        let (bytes, length) = (view.to_le_bytes(), view::length(view));
        let is_long = length > view::INLINE_BYTES_MAX;
        if is_long && (view::offset(view) != end || heap.len() - end < length) {
            return Err("the long texts do not lie one behind the other");
        }
        let text = view::text(&bytes, heap);
        let mut start = [0; view::INLINE_BYTES_MAX];
        iter::zip(&mut start, text).for_each(|(to, from)| *to = *from);
        if view != view::of_start(&start, length as u32, end as u32) {
            return Err("a view is not that of its text");
        }
        if is_utf8 && simdutf8::basic::from_utf8(text).is_err() {
            return Err("a text is not UTF-8");
        }
        end += if is_long { length } else { 0 };
    }
    if end == heap.len() { Ok(()) } else { Err("there are more texts than the views refer to") }
}

#[cfg(test)]
mod tests;
