//! Decides how values of any type are compared in 64 bits.
//!
//! An *order summary* never falls while the value rises; a *hash summary*, which only texts and UUIDs have, is equal for
//! equal values. Integers, dates, times and short decimals are their own summaries. What is wider is rounded: two values may
//! share a summary, so an open end of a range becomes a closed one, and a predicate holds for more rows than it should.
//!
//! ```text
//! -2^127          -2^62          0          2^62          2^127     DECIMAL of more than 18 digits, UUID as stored
//!    | 56 digits    |    every value its own   |   56 digits  |     (binary digits, floating)
//! ```
//!
//! Not here: NULL as a value of a summary; a [`Span`] says apart from its interval whether NULL belongs to it.

use std::ops::Bound;

use longshore_value::uuid::Uuid;
use xxhash_rust::xxh3::xxh3_64;

use crate::statistics::bounds::Bounds;
use crate::types::{ColumnType, Physical};

/// A column, by its order or by its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Attribute(u32);

impl Attribute {
    /// A column, compared by order summaries.
    #[inline]
    pub(crate) const fn order(column: usize) -> Attribute {
        Attribute((column as u32) << 1)
    }

    /// A column, compared by hash summaries.
    pub(crate) const fn hash(column: usize) -> Attribute {
        Attribute((column as u32) << 1 | 1)
    }

    /// The attribute that tells best whether a column has a value.
    const fn equality(column: usize, value: Comparand<'_>) -> Attribute {
        match value {
            Comparand::Bytes(_) | Comparand::Uuid(_) => Attribute::hash(column),
            _ => Attribute::order(column),
        }
    }

    pub(crate) const fn column(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(crate) const fn is_hash(self) -> bool {
        self.0 & 1 == 1
    }
}

/// A value that a column is compared with, in the representation of the column: every integer, date, time and DECIMAL
/// of 64 bits as `Integer`, every DECIMAL of 128 bits as `Wide`, every float as `Float`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Comparand<'a> {
    Null,
    Integer(i64),
    Wide(i128),
    Float(f64),
    Uuid(Uuid),
    Bytes(&'a [u8]),
}

impl Comparand<'_> {
    /// The value of stored bits, the lower ones of which count; not of texts.
    pub(crate) fn of_bits(column_type: ColumnType, bits: u128) -> Comparand<'static> {
        match column_type.physical() {
            Physical::U8 => Comparand::Integer((bits as u8).into()),
            Physical::I16 => Comparand::Integer((bits as i16).into()),
            Physical::I32 => Comparand::Integer((bits as i32).into()),
            Physical::I64 => Comparand::Integer(bits as i64),
            Physical::I128 if column_type == ColumnType::Uuid => Comparand::Uuid(Uuid::of_stored(bits as i128)),
            Physical::I128 => Comparand::Wide(bits as i128),
            Physical::F32 => Comparand::Float(f32::from_bits(bits as u32).into()),
            Physical::F64 => Comparand::Float(f64::from_bits(bits as u64)),
            Physical::View => unreachable!("texts have no bits of their own"),
        }
    }

    /// Where the value stands in the order; all there is for NaN, which each order puts elsewhere.
    pub(crate) fn order(self) -> Span {
        match self {
            Comparand::Null => Span::NULL,
            Comparand::Integer(value) => Span::point(integer(value)),
            Comparand::Wide(value) => Span::point(wide(value)),
            Comparand::Uuid(value) => Span::point(wide(value.stored())),
            Comparand::Float(value) if value.is_nan() => Span { null: false, ..Span::ALL },
            Comparand::Float(value) => Span::point(float(value)),
            Comparand::Bytes(bytes) => Span::point(prefix(bytes)),
        }
    }

    /// The value as the attribute compares it.
    pub(crate) fn span(self, attribute: Attribute) -> Span {
        match self {
            Comparand::Bytes(bytes) if attribute.is_hash() => Span::point(xxh3_64(bytes)),
            Comparand::Uuid(value) if attribute.is_hash() => Span::point(xxh3_64(&value.0)),
            other => other.order(),
        }
    }

    /// Whether no other value has the same order summary.
    fn is_exact(self) -> bool {
        match self {
            Comparand::Null | Comparand::Integer(_) => true,
            Comparand::Wide(value) => value.unsigned_abs() < 1 << WIDE_EXACT_BITS,
            // Minus zero equals zero, or is less, as one takes it.
            Comparand::Float(value) => value != 0.0,
            Comparand::Uuid(_) | Comparand::Bytes(_) => false,
        }
    }
}

/// The summary of every integer, date, time, and DECIMAL of 64 bits.
#[inline]
pub(crate) fn integer(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

pub(super) fn integer_of(summary: u64) -> i64 {
    (summary ^ 1 << 63) as i64
}

const WIDE_EXACT_BITS: u32 = 62;
const WIDE_MANTISSA_BITS: u32 = 55;

pub(super) fn wide(value: i128) -> u64 {
    let magnitude = value.unsigned_abs();
    let code = if magnitude < 1 << WIDE_EXACT_BITS {
        magnitude as u64
    } else {
        let exponent = magnitude.ilog2();
        let mantissa = (magnitude >> (exponent - WIDE_MANTISSA_BITS)) as u64 & ((1 << WIDE_MANTISSA_BITS) - 1);
        (1 << WIDE_EXACT_BITS) + (u64::from(exponent - WIDE_EXACT_BITS) << WIDE_MANTISSA_BITS) + mantissa
    };
    // Codes take 63 bits.
    if value < 0 { (1 << 63) - code } else { (1 << 63) + code }
}

/// The value with this summary that is nearest to zero.
pub(super) fn wide_of(summary: u64) -> i128 {
    let code = summary.abs_diff(1 << 63);
    let magnitude = if code < 1 << WIDE_EXACT_BITS {
        i128::from(code)
    } else {
        let beyond = code - (1 << WIDE_EXACT_BITS);
        let shift = WIDE_EXACT_BITS - WIDE_MANTISSA_BITS + (beyond >> WIDE_MANTISSA_BITS) as u32;
        let mantissa = 1 << WIDE_MANTISSA_BITS | beyond & ((1 << WIDE_MANTISSA_BITS) - 1);
        // Beyond all values only for a summary that no value has.
        (i128::from(mantissa)).checked_shl(shift).unwrap_or(i128::MAX)
    };
    if summary < 1 << 63 { magnitude.wrapping_neg() } else { magnitude }
}

pub(super) fn float(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

pub(super) fn float_of(summary: u64) -> f64 {
    f64::from_bits(if summary >> 63 == 1 { summary & !(1 << 63) } else { !summary })
}

pub(super) fn prefix(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = bytes.len().min(8);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}

/// A set of summaries: an interval with both ends, empty when `low > high`, and perhaps NULL. As a restriction: what it
/// admits. As an image: where the value of a row, or all values of a chunk, lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) null: bool,
}

impl Span {
    /// Every value, and NULL.
    pub(crate) const ALL: Span = Span { low: 0, high: u64::MAX, null: true };
    /// NULL only.
    pub(crate) const NULL: Span = Span { low: 1, high: 0, null: true };

    pub(crate) const fn point(value: u64) -> Span {
        Span { low: value, high: value, null: false }
    }

    /// The values within bounds; NULL is not among them.
    pub(crate) fn of_bounds(bounds: &Bounds) -> Span {
        let (low, high) = match *bounds {
            Bounds::Integer { min, max } => (integer(min), integer(max)),
            Bounds::Wide { min, max } => (wide(min), wide(max)),
            Bounds::Float { min, max, nan: false } => (float(min), float(max)),
            Bounds::Prefix { min, max } => (u64::from(min) << 32, u64::from(max) << 32 | u64::from(u32::MAX)),
            Bounds::Off | Bounds::Float { nan: true, .. } => (0, u64::MAX),
        };
        Span { low, high, null: false }
    }

    /// Whether it is a single value.
    pub(crate) fn is_point(self) -> bool {
        self.low == self.high && !self.null
    }

    /// Whether the two have something in common.
    pub(crate) fn meets(self, other: Span) -> bool {
        self.low.max(other.low) <= self.high.min(other.high) || self.null && other.null
    }

    /// The least span that contains both.
    #[must_use]
    pub(crate) fn cover(self, other: Span) -> Span {
        let null = self.null || other.null;
        if self.low > self.high {
            return Span { null, ..other };
        }
        if other.low > other.high {
            return Span { null, ..self };
        }
        Span { low: self.low.min(other.low), high: self.high.max(other.high), null }
    }
}

/// What a predicate asks of one attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restriction {
    pub(crate) attribute: Attribute,
    pub(crate) span: Span,
}

impl Restriction {
    /// `column = value`. Of NULL: that the column is NULL.
    pub(crate) fn equal(column: usize, value: Comparand<'_>) -> Restriction {
        let attribute = Attribute::equality(column, value);
        Restriction { attribute, span: value.span(attribute) }
    }

    /// A range of values. NULL belongs to none, and a range between NULL and something is empty.
    pub(crate) fn range(column: usize, low: Bound<Comparand<'_>>, high: Bound<Comparand<'_>>) -> Restriction {
        let empty = Span { null: false, ..Span::NULL };
        let span = match (low_end(low), high_end(high)) {
            (Some(low), Some(high)) => Span { low, high, null: false },
            _ => empty,
        };
        Restriction { attribute: Attribute::order(column), span }
    }

    /// `column IS NULL`.
    pub(crate) fn is_null(column: usize) -> Restriction {
        Restriction { attribute: Attribute::order(column), span: Span::NULL }
    }

    /// `column IS NOT NULL`.
    pub(crate) fn is_not_null(column: usize) -> Restriction {
        Restriction { attribute: Attribute::order(column), span: Span { null: false, ..Span::ALL } }
    }
}

/// The least summary of values above a bound; `None` when there is none.
fn low_end(bound: Bound<Comparand<'_>>) -> Option<u64> {
    match bound {
        Bound::Unbounded => Some(0),
        Bound::Included(Comparand::Null) | Bound::Excluded(Comparand::Null) => None,
        Bound::Excluded(value) if value.is_exact() && value.order().is_point() => value.order().low.checked_add(1),
        Bound::Included(value) | Bound::Excluded(value) => Some(value.order().low),
    }
}

/// The greatest summary of values below a bound; `None` when there is none.
fn high_end(bound: Bound<Comparand<'_>>) -> Option<u64> {
    match bound {
        Bound::Unbounded => Some(u64::MAX),
        Bound::Included(Comparand::Null) | Bound::Excluded(Comparand::Null) => None,
        Bound::Excluded(value) if value.is_exact() && value.order().is_point() => value.order().high.checked_sub(1),
        Bound::Included(value) | Bound::Excluded(value) => Some(value.order().high),
    }
}

fn values<'a, 'v>(bound: Bound<&'a [Comparand<'v>]>) -> &'a [Comparand<'v>] {
    match bound {
        Bound::Included(values) | Bound::Excluded(values) => values,
        Bound::Unbounded => &[],
    }
}

/// What a range of an index over several columns asks of each: equality while both bounds agree, a range of the first
/// column where they differ, nothing of those behind it. A bound may have fewer values than the index has columns:
/// then it stands for all keys that begin so (and an open end of it is taken as a closed one).
///
/// NULL is taken to lie at both ends of the order, wherever the index has it.
pub(crate) fn between(
    columns: &[usize],
    low: Bound<&[Comparand<'_>]>,
    high: Bound<&[Comparand<'_>]>,
    restrictions: &mut Vec<Restriction>,
) {
    let (lows, highs) = (values(low), values(high));
    for (at, &column) in columns.iter().enumerate() {
        let attribute = Attribute::order(column);
        let is_last = at + 1 == columns.len();
        if let (Some(low), Some(high)) = (lows.get(at), highs.get(at))
            && low == high
            && low.order().is_point()
            && !is_last
        {
            restrictions.push(Restriction { attribute, span: low.order() });
            continue;
        }
        let from = end(lows.get(at), is_last && matches!(low, Bound::Excluded(_)));
        let to = end(highs.get(at), is_last && matches!(high, Bound::Excluded(_)));
        let null = matches!(from, Bound::Unbounded) || matches!(to, Bound::Unbounded);
        let mut restriction = Restriction::range(column, from, to);
        restriction.span.null = null;
        if restriction.span != Span::ALL {
            restrictions.push(restriction);
        }
        return;
    }
}

fn end<'a>(value: Option<&Comparand<'a>>, open: bool) -> Bound<Comparand<'a>> {
    match value {
        None | Some(Comparand::Null) => Bound::Unbounded,
        Some(&value) if open => Bound::Excluded(value),
        Some(&value) => Bound::Included(value),
    }
}
