//! Decides how values are kept in little memory: the blocks of *Data Blocks* (the thesis, chapter 7).
//!
//! A packed column holds the values of one column of one chunk, which do not change, in the encoding that takes the fewest
//! bytes for the values that are there. Every encoding gives value *i* in constant time. There is
//!
//! - **constant**: every row has one value;
//! - **bits**: a boolean per bit;
//! - **offset**: a whole number as a multiple of a divisor above the least one (`offset`);
//! - **dictionary**: the distinct values in their order, and which of them each row has (`dictionary`);
//! - **texts**: one behind the other, with the end of each (`text`);
//! - **fsst**: the same with each text compressed (`fsst`), for chunks that nobody changes any more;
//! - **plain**: the values as they are, where nothing saves memory.
//!
//! What a packed column gives for a row that is NULL means nothing: its validity bits lie elsewhere.
//!
//! Not here: the choice of an encoding (`packed/pack.rs`), unpacking many values (`packed/unpack.rs`), predicates on codes
//! (`packed/select.rs`).

use std::cmp::Ordering;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use arrow_buffer::Buffer;

use crate::arena::{Arena, Plain};
use crate::memory::OutOfMemory;
use crate::prefetch::prefetch;
use crate::types::Physical;
use crate::values::{TextRoom, Values};
use crate::view;
use fsst::FsstTexts;
use text::TextEnds;

mod bounds;
mod compress;
mod dictionary;
mod domain;
mod entries;
mod fsst;
mod layout;
mod offset;
mod pack;
mod range_set;
mod select;
#[cfg(test)]
mod tests;
mod text;
mod text_codes;
mod unpack;

pub(crate) use layout::Layout;
pub(crate) use pack::Known;
pub use pack::Packer;
pub use range_set::RangeSet;
pub use select::CodeSet;
pub use text_codes::SpareCodes;
pub(crate) use text_codes::TextCodes;

/// The size of an arena's blocks for packed columns, those of a chunk or two. What is left over of a block was never touched:
/// of large ones that would be much, and the next load would wait for the system to zero it where it could have memory that
/// is there.
pub(crate) const PACKED_BLOCK_BYTES: usize = 4 << 20;

/// The values of a column of a chunk, packed.
pub struct PackedColumn {
    physical: Physical,
    rows: usize,
    encoding: Encoding,
    /// The texts that views refer to, or their codes: one buffer, the shape in which arrays of views take it.
    heap: Arc<[Buffer]>,
    /// What [`PackedColumn::bytes_if_plain`] has counted.
    all_long_text_bytes: OnceLock<usize>,
    /// It was tried to compress its texts, which saves too little.
    incompressible: AtomicBool,
}

enum Encoding {
    /// The bytes of the value, the lowest first.
    Constant([u8; 16]),
    /// Row *i* is bit *i* % 8 of byte *i* / 8.
    Bits(Buffer),
    Offset {
        base: i128,
        divisor: u64,
        codes: Codes,
    },
    /// The entries are values of the column's physical type.
    Dictionary {
        entries: Buffer,
        codes: Codes,
    },
    Texts(TextEnds),
    Fsst(FsstTexts),
    Plain(Buffer),
}

/// Numbers of one width.
enum Codes {
    U8(Buffer),
    U16(Buffer),
    U32(Buffer),
}

impl Codes {
    fn bytes(&self) -> usize {
        let (Codes::U8(codes) | Codes::U16(codes) | Codes::U32(codes)) = self;
        codes.len()
    }

    /// The bytes that hold the number of a row, and where it begins in them.
    #[inline]
    fn place(&self, row: usize) -> (&Buffer, usize) {
        match self {
            Codes::U8(codes) => (codes, row),
            Codes::U16(codes) => (codes, 2 * row),
            Codes::U32(codes) => (codes, 4 * row),
        }
    }

    #[inline]
    fn get(&self, row: usize) -> u32 {
        match self {
            Codes::U8(codes) => codes.as_slice()[row].into(),
            Codes::U16(codes) => codes.typed_data::<u16>()[row].into(),
            Codes::U32(codes) => codes.typed_data::<u32>()[row],
        }
    }
}

/// What of a column is packed in which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackedAs {
    /// Every row has one value.
    Constant,
    /// One bit for each boolean.
    Bits,
    /// Offsets of this many bytes.
    Offset(u8),
    /// Codes of this many bytes into a dictionary.
    Dictionary(u8),
    /// Texts one behind the other.
    Texts,
    /// The same with each of them compressed.
    Fsst,
    /// As they are.
    Plain,
}

impl fmt::Display for PackedAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackedAs::Constant => f.write_str("constant"),
            PackedAs::Bits => f.write_str("bits"),
            PackedAs::Offset(bytes) => write!(f, "offset({bytes})"),
            PackedAs::Dictionary(bytes) => write!(f, "dictionary({bytes})"),
            PackedAs::Texts => f.write_str("texts"),
            PackedAs::Fsst => f.write_str("fsst"),
            PackedAs::Plain => f.write_str("plain"),
        }
    }
}

impl fmt::Debug for PackedColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedColumn")
            .field("rows", &self.rows)
            .field("encoding", &self.packed_as())
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

impl PackedColumn {
    fn new(physical: Physical, rows: usize, encoding: Encoding, heap: Arc<[Buffer]>) -> PackedColumn {
        let (all_long_text_bytes, incompressible) = (OnceLock::new(), AtomicBool::new(false));
        PackedColumn { physical, rows, encoding, heap, all_long_text_bytes, incompressible }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How it is packed.
    #[must_use]
    pub fn packed_as(&self) -> PackedAs {
        match self.layout() {
            Layout::Constant(_) => PackedAs::Constant,
            Layout::Bits => PackedAs::Bits,
            Layout::Offset { width, .. } => PackedAs::Offset(width),
            Layout::Dictionary { width, .. } => PackedAs::Dictionary(width),
            Layout::Texts { .. } => PackedAs::Texts,
            Layout::Fsst { .. } => PackedAs::Fsst,
            Layout::Plain => PackedAs::Plain,
        }
    }

    /// Bytes that the values and their texts take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let values = match &self.encoding {
            Encoding::Constant(_) => 0,
            Encoding::Bits(values) | Encoding::Plain(values) => values.len(),
            Encoding::Offset { codes, .. } => codes.bytes(),
            Encoding::Dictionary { entries, codes } => entries.len() + codes.bytes(),
            Encoding::Texts(ends) => ends.bytes(),
            Encoding::Fsst(texts) => texts.bytes(),
        };
        values + self.heap().len()
    }

    /// Bytes that the values and their texts would take as they are.
    #[must_use]
    pub fn bytes_if_plain(&self) -> usize {
        let texts = self.all_long_text_bytes.get_or_init(|| self.long_text_bytes(0..self.rows));
        self.rows * self.physical.width() + texts
    }

    /// The texts that its views refer to; the codes of texts that are compressed.
    #[must_use]
    pub fn heap(&self) -> &[u8] {
        &self.heap[0]
    }

    /// The texts that its views refer to as arrays of views take them, if they are not compressed.
    pub(crate) fn heap_buffers(&self) -> &Arc<[Buffer]> {
        &self.heap
    }

    /// Bytes of its texts that lie outside of views, as they are read.
    pub(crate) fn text_bytes(&self) -> usize {
        match &self.encoding {
            Encoding::Fsst(texts) => texts.text_bytes(self.heap()),
            _ => self.heap().len(),
        }
    }

    /// The values, if they are as they are.
    pub(crate) fn as_plain(&self) -> Option<&Buffer> {
        match &self.encoding {
            Encoding::Plain(values) => Some(values),
            _ => None,
        }
    }

    /// The booleans, if there is a bit for each.
    pub(crate) fn as_bits(&self) -> Option<&Buffer> {
        match &self.encoding {
            Encoding::Bits(bits) => Some(bits),
            _ => None,
        }
    }

    /// The bits of a value, of a whole number with its sign kept, of a text those of its view.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or its texts are compressed and views would have nothing to refer to.
    #[inline]
    #[must_use]
    pub fn bits(&self, row: usize) -> u128 {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match &self.encoding {
            Encoding::Constant(bytes) => u128::from_le_bytes(*bytes),
            Encoding::Bits(bits) => (bits.as_slice()[row / 8] >> (row % 8) & 1).into(),
            Encoding::Offset { base, divisor, codes } => {
                base.wrapping_add((u64::from(codes.get(row)).wrapping_mul(*divisor)).into()) as u128
            }
            Encoding::Dictionary { entries, codes } => stored_bits(self.physical, entries, codes.get(row) as usize),
            Encoding::Texts(ends) => {
                let range = ends.range(row);
                text::view_at(self.heap(), range.start as u32, range.len() as u32)
            }
            Encoding::Fsst(_) => panic!("views are asked of {self:?}"),
            Encoding::Plain(values) => stored_bits(self.physical, values, row),
        }
    }

    /// The bytes of a text, in the room if it is compressed.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or they are of another type.
    #[inline]
    pub(crate) fn text<'a>(&'a self, row: usize, room: &'a TextRoom) -> &'a [u8] {
        match &self.encoding {
            Encoding::Fsst(texts) => room.keep(texts.text(row, self.heap())),
            _ => self.stored_text(row),
        }
    }

    /// The bytes of a text that is not compressed.
    #[inline]
    fn stored_text(&self, row: usize) -> &[u8] {
        assert!(row < self.rows && self.physical == Physical::View, "text {row} of {}", self.rows);
        let (views, at) = match &self.encoding {
            Encoding::Constant(view) => return view::text(view, self.heap()),
            Encoding::Texts(ends) => return &self.heap()[ends.range(row)],
            Encoding::Fsst(_) => unreachable!("it is decompressed"),
            Encoding::Dictionary { entries, codes } => (entries, codes.get(row) as usize),
            Encoding::Plain(views) => (views, row),
            Encoding::Bits(_) | Encoding::Offset { .. } => unreachable!("they are of other types"),
        };
        view::text(&views.as_slice().as_chunks().0[at], self.heap())
    }

    /// Bytes that the texts of some rows take outside of views; 0 if they are no texts.
    pub(crate) fn long_text_bytes(&self, rows: Range<usize>) -> usize {
        if self.physical != Physical::View {
            return 0;
        }
        let length = |row| match &self.encoding {
            Encoding::Fsst(texts) => texts.length(row, self.heap()),
            _ => self.stored_text(row).len(),
        };
        rows.map(length).filter(|&length| length > view::INLINE_BYTES_MAX).sum()
    }

    /// Asks for the memory of a value.
    #[inline]
    pub(crate) fn prefetch(&self, row: usize) {
        let (values, at) = match &self.encoding {
            Encoding::Constant(_) => return,
            Encoding::Bits(bits) => (bits, row / 8),
            Encoding::Offset { codes, .. } | Encoding::Dictionary { codes, .. } => codes.place(row),
            Encoding::Texts(ends) => ends.place(row),
            Encoding::Fsst(texts) => texts.ends().place(row),
            Encoding::Plain(values) => (values, row * self.physical.width()),
        };
        prefetch(values.as_ptr().wrapping_add(at));
    }
}

/// The bits of a value that is stored as it is, the sign kept.
#[inline]
fn stored_bits(physical: Physical, values: &Buffer, at: usize) -> u128 {
    Values::of(physical, values).bits(at)
}

/// The REAL of some bits.
fn float(bits: u128) -> f64 {
    f32::from_bits(bits as u32).into()
}

/// The DOUBLE PRECISION of some bits.
fn double(bits: u128) -> f64 {
    f64::from_bits(bits as u64)
}

/// The order of floats in SQL: 0 and -0 are equal, and NaN is greater than all others and equal to itself.
fn compare_floats(one: &f64, other: &f64) -> Ordering {
    one.partial_cmp(other).unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}

/// A copy of some values.
pub(crate) fn copy_of<T: Plain>(values: &[T], arena: &mut Arena) -> Result<Buffer, OutOfMemory> {
    filled(arena, values.len(), |slots: &mut [MaybeUninit<T>]| {
        slots.write_copy_of_slice(values);
    })
}

/// A buffer of `count` values, which `fill` writes: all of them.
fn filled<T: Plain>(
    arena: &mut Arena,
    count: usize,
    fill: impl FnOnce(&mut [MaybeUninit<T>]),
) -> Result<Buffer, OutOfMemory> {
    let bytes = count * size_of::<T>();
    let mut region = arena.allocate(bytes)?;
    fill(region.spare(0, count));
    // SAFETY: the region is given up here, so that nobody writes to it any more.
    Ok(unsafe { region.buffer(bytes) })
}
