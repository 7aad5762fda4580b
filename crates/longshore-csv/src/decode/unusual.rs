//! Decides how columns of another spelling than the default are read: one plain loop for all of them.
//!
//! The loop trims if asked to, looks for NULL before anything else, and has numbers rewritten to the default spelling
//! and dates and times brought into the order of ISO 8601 in a small buffer, so that the fast paths of the default
//! spelling read them; what these refuse goes to the exact twins. Text has no other spelling: see `text`.

use super::boolean::{Boolean, exact_word};
use super::bytea::Bytea;
use super::column::{Settings, slots_of};
use super::conversion::{Conversion, Exact};
use super::date::Date;
use super::decimal::{Decimal64, Decimal128};
use super::fields::Fields;
use super::float::{Float32, Float64};
use super::integer::{Int16, Int32, Int64};
use super::numeric::Numeric;
use super::rule::trim_blanks;
use super::simd_level::Portable;
use super::time::{Time, Timestamp, TimestampTz};
use super::uuid::ToUuid;
use super::{Bad, Column, FieldError, FieldRule, Heap, Reason, Target, ValueType, exact, quoted};
use crate::{Dialect, PADDING, Rows};

use std::marker::PhantomData;

/// How a field of unusual spelling is read.
trait Unusual {
    /// The conversion of the default spelling.
    type Usual: Conversion;

    /// The value of the `len` bytes at `field`.
    ///
    /// # Safety
    ///
    /// `len` plus [`PADDING`] bytes can be read at `field`.
    unsafe fn value(
        usual: Self::Usual,
        rule: &FieldRule,
        field: *const u8,
        len: usize,
        heap: &mut Heap<'_>,
    ) -> Result<<Self::Usual as Exact>::Value, Reason>;
}

/// The function for a rule that the loops of `column` cannot follow.
pub(super) fn choose(rule: &FieldRule) -> Option<Column> {
    macro_rules! either {
        ($special:expr, $kind:ident, $conversion:ty) => {
            if $special {
                Some(decode::<$kind<$conversion>> as Column)
            } else if is_usual(rule) {
                None
            } else {
                Some(decode::<Usual<$conversion>> as Column)
            }
        };
    }
    let separated = !rule.has_plain_numbers();
    let grouped = rule.thousands_separator.is_some();
    let formatted = rule.date_time_format.as_ref().is_some_and(|format| !format.is_iso());
    match rule.value_type {
        ValueType::Boolean => either!(!rule.boolean_words.is_default(), Words, Boolean),
        ValueType::Int16 => either!(grouped, Separated, Int16<Portable>),
        ValueType::Int32 => either!(grouped, Separated, Int32<Portable>),
        ValueType::Int64 => either!(grouped, Separated, Int64<Portable>),
        ValueType::Float32 => either!(separated, Separated, Float32<Portable>),
        ValueType::Float64 => either!(separated, Separated, Float64<Portable>),
        ValueType::Decimal64 { .. } => either!(separated, Separated, Decimal64<Portable>),
        ValueType::Decimal128 { .. } => either!(separated, Separated, Decimal128<Portable>),
        ValueType::Date => either!(formatted, Formatted, Date),
        ValueType::Time => either!(formatted, Formatted, Time),
        ValueType::Timestamp => either!(formatted, Formatted, Timestamp),
        ValueType::TimestampTz => either!(formatted, Formatted, TimestampTz),
        ValueType::Uuid => either!(false, Usual, ToUuid),
        ValueType::Bytea => either!(false, Usual, Bytea),
        ValueType::Numeric(_) => either!(separated, Separated, Numeric),
        ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) => None,
    }
}

/// Whether the loops of `column` find NULL: they look for a value first, unless the only NULL text is one.
fn is_usual(rule: &FieldRule) -> bool {
    !rule.trim
        && (rule.null_texts.len() < 2 || !rule.null_texts.iter().any(|text| exact::is_value(text, rule.value_type)))
}

/// Reads one column.
fn decode<U: Unusual>(
    settings: &Settings,
    rows: &Rows<'_>,
    column: usize,
    target: &mut Target<'_, '_>,
    bad: &mut Bad<'_>,
) -> Result<(), FieldError> {
    let rule = &settings.rule;
    let usual = U::Usual::new(rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<U::Usual>(&mut target.values, fields.count());
    let quotes = rows.traits().quotes;
    let mut scratch = Vec::new();
    for (row, slot) in slots.iter_mut().enumerate() {
        // SAFETY: there is a slot per row, and fields can be read.
        let mut raw = unsafe {
            let (start, len) = fields.at(row);
            std::slice::from_raw_parts(start, len)
        };
        if rule.trim {
            raw = trim_blanks(raw, settings.dialect.quote());
        }
        let (content, is_quoted) = if quotes { padded(raw, &settings.dialect, &mut scratch) } else { (raw, false) };
        let value = if !settings.is_null(content, is_quoted) {
            // SAFETY: the content is a part of the text, or of a buffer with padding.
            unsafe { U::value(usual, rule, content.as_ptr(), content.len(), target.heap) }
        } else if rule.nullable {
            target.validity.clear(row);
            Ok(<U::Usual as Exact>::Value::default())
        } else {
            Err(Reason::Null)
        };
        slot.write(value.or_else(|reason| fields.refuse(row, reason, bad))?);
    }
    Ok(())
}

/// The content of a field, [`PADDING`] readable bytes behind it, and whether it is quoted.
fn padded<'b>(raw: &'b [u8], dialect: &Dialect, scratch: &'b mut Vec<u8>) -> (&'b [u8], bool) {
    let Some(quote) = dialect.quote() else { return (raw, false) };
    if !raw.contains(&quote) {
        return (raw, false);
    }
    let special = |byte: &u8| *byte == quote || Some(*byte) == dialect.escape();
    if let [first, inner @ .., last] = raw
        && (*first, *last) == (quote, quote)
        && !inner.iter().any(special)
    {
        return (inner, true);
    }
    let len = quoted::content(raw, dialect, scratch).0.len();
    scratch.resize(len + PADDING, 0);
    (&scratch[..len], true)
}

/// The default spelling, with unusual NULLs.
struct Usual<C>(PhantomData<C>);

impl<C: Conversion> Unusual for Usual<C> {
    type Usual = C;

    #[inline]
    unsafe fn value(
        usual: C,
        _: &FieldRule,
        field: *const u8,
        len: usize,
        heap: &mut Heap<'_>,
    ) -> Result<C::Value, Reason> {
        // SAFETY: as the caller promises; portable conversions need no special instructions.
        unsafe {
            match usual.fast(field, len, heap) {
                Some(value) => Ok(value),
                None => usual.exact(std::slice::from_raw_parts(field, len), heap),
            }
        }
    }
}

/// Numbers with other separators.
struct Separated<C>(PhantomData<C>);

/// Longest number that is rewritten on the stack.
const NUMBER_BYTES_MAX: usize = 48;

impl<C: Conversion> Unusual for Separated<C> {
    type Usual = C;

    #[inline]
    unsafe fn value(
        usual: C,
        rule: &FieldRule,
        field: *const u8,
        len: usize,
        heap: &mut Heap<'_>,
    ) -> Result<C::Value, Reason> {
        // SAFETY: as the caller promises.
        let field = unsafe { std::slice::from_raw_parts(field, len) };
        let mut plain = [0; NUMBER_BYTES_MAX + PADDING];
        if let Some(len) = rewrite(field, rule, &mut plain) {
            // SAFETY: the buffer has padding.
            if let Some(value) = unsafe { usual.fast(plain.as_ptr(), len, heap) } {
                return Ok(value);
            }
        }
        let separators = rule.separators();
        let plain = separators.plain(field)?;
        usual.exact(&plain, heap).map_err(|reason| separators.reason(reason))
    }
}

/// Writes a number of a minus sign, digits, separators of one byte and a fraction into `plain`, spelled as by default;
/// returns its length, or `None` if it is anything else.
fn rewrite(field: &[u8], rule: &FieldRule, plain: &mut [u8; NUMBER_BYTES_MAX + PADDING]) -> Option<usize> {
    if field.len() > NUMBER_BYTES_MAX {
        return None;
    }
    let decimal = rule.decimal_separator;
    let thousands = rule.thousands_separator.and_then(|separator| u8::try_from(separator).ok()).filter(u8::is_ascii);
    let (mut len, mut digits) = (0, 0);
    let (mut grouped, mut in_integer) = (false, true);
    for &byte in field {
        if byte.is_ascii_digit() {
            digits += 1;
        } else if byte == decimal && in_integer && !(grouped && digits != 3) {
            in_integer = false;
            plain[len] = b'.';
            len += 1;
            continue;
        } else if Some(byte) == thousands && in_integer && (1..=3).contains(&digits) && !(grouped && digits != 3) {
            (grouped, digits) = (true, 0);
            continue;
        } else if byte != b'-' || len > 0 {
            return None;
        }
        plain[len] = byte;
        len += 1;
    }
    let complete = !(in_integer && grouped && digits != 3);
    complete.then_some(len)
}

/// Booleans by other words.
struct Words<C>(PhantomData<C>);

impl Unusual for Words<Boolean> {
    type Usual = Boolean;

    unsafe fn value(
        _: Boolean,
        rule: &FieldRule,
        field: *const u8,
        len: usize,
        _: &mut Heap<'_>,
    ) -> Result<u8, Reason> {
        // SAFETY: as the caller promises.
        let field = unsafe { std::slice::from_raw_parts(field, len) };
        exact_word(&rule.boolean_words, field).map(u8::from)
    }
}

/// Dates, times and timestamps of other formats.
struct Formatted<C>(PhantomData<C>);

macro_rules! formatted {
    ($($conversion:ident, $value:ty, $read:ident;)*) => {$(
        impl Unusual for Formatted<$conversion> {
            type Usual = $conversion;

            unsafe fn value(
                _: $conversion,
                rule: &FieldRule,
                field: *const u8,
                len: usize,
                _: &mut Heap<'_>,
            ) -> Result<$value, Reason> {
                // SAFETY: as the caller promises.
                let field = unsafe { std::slice::from_raw_parts(field, len) };
                rule.date_time_format.as_ref().expect("chosen because there is one").$read(field)
            }
        }
    )*};
}

formatted! {
    Date, i32, fast_date;
    Time, i64, fast_time;
    Timestamp, i64, fast_timestamp;
    TimestampTz, i64, fast_timestamptz;
}
