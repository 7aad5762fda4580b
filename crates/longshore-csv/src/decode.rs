//! Decides how raw fields become typed values: one column at a time over the rows of a piece.
//!
//! A piece's text and marks lie in the L2 cache, so that going over them once per column costs little,
//! while the loop of one column knows its type, keeps its tables in registers and needs no dispatch per
//! field (Instant Loading, 3.2 and 3.4, deserialises a record at a time; measured against it, columns win).
//! A [`Decoder`] picks one specialised function when it is made. Within it, each field takes a short fast
//! path that accepts the usual spelling and nothing else; everything other, errors included, is left to
//! the slow and obvious functions of [`exact`], which the tests also use as oracle.
//!
//! Not here: finding the fields (`scan`, `record`), and placing an error in its file (`longshore-load`).

mod advice;
mod block;
mod boolean;
mod bytea;
mod column;
mod conversion;
mod date;
mod date_time;
mod decimal;
pub mod exact;
mod fields;
mod float;
mod integer;
mod iso;
mod loops;
mod numeric;
mod quoted;
mod reason;
mod rule;
mod simd_level;
mod target;
mod text;
mod text_memo;
mod time;
mod unquote;
mod unusual;
mod uuid;
mod variants;

pub use advice::Advice;
pub use boolean::BooleanWords;
pub use date_time::{DateTimeFormat, DateTimeFormatError};
pub use reason::{Expected, Reason};
pub use rule::{FieldRule, RuleError};
pub use target::{Coded, HEAP_BYTES_MAX, Heap, Slot, Target, VIEW_INLINE_BYTES_MAX, Validity, Values};
pub use text_memo::TextMemo;

use longshore_value::numeric::{GROWTH_MAX, Limit};

use crate::{Dialect, Kernel, Rows};
use column::Settings;

/// Type of a column, as far as reading and writing its text is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// `true`, `yes`, `on`, `1` and their opposites, or unambiguous beginnings, in any case; slot `u8`.
    Boolean,
    /// 16-bit integer.
    Int16,
    /// 32-bit integer.
    Int32,
    /// 64-bit integer.
    Int64,
    /// Single precision.
    Float32,
    /// Double precision.
    Float64,
    /// Decimal of up to 18 digits, stored as `i64` times 10 to the power of minus `scale`.
    Decimal64 {
        /// Digits in all, 1 to 18.
        precision: u8,
        /// Digits behind the point, at most `precision`.
        scale: u8,
    },
    /// Decimal of up to 38 digits, stored as `i128`.
    Decimal128 {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits behind the point, at most `precision`.
        scale: u8,
    },
    /// Days since 1970-01-01 as `i32`.
    Date,
    /// Microseconds since midnight as `i64`.
    Time,
    /// Microseconds since 1970-01-01 00:00:00 as `i64`, zone unknown.
    Timestamp,
    /// Microseconds since 1970-01-01 00:00:00 UTC as `i64`.
    TimestampTz,
    /// UTF-8 of any length.
    Text,
    /// UTF-8 of at most that many characters.
    Varchar(u32),
    /// UTF-8 of at most that many characters, stored without trailing blanks.
    Char(u32),
    /// UUID, stored as the `i128` that `longshore_value::uuid` says.
    Uuid,
    /// Bytes, written as `\x` and hexadecimal digits.
    Bytea,
    /// A number of any digits, or of those that a limit allows, stored as `longshore_value::numeric` says.
    Numeric(Option<Limit>),
}

impl ValueType {
    /// The variant of [`Values`] that holds this type.
    #[must_use]
    pub fn slot(self) -> Slot {
        match self {
            ValueType::Boolean => Slot::U8,
            ValueType::Int16 => Slot::I16,
            ValueType::Int32 | ValueType::Date => Slot::I32,
            ValueType::Int64
            | ValueType::Decimal64 { .. }
            | ValueType::Time
            | ValueType::Timestamp
            | ValueType::TimestampTz => Slot::I64,
            ValueType::Decimal128 { .. } | ValueType::Uuid => Slot::I128,
            ValueType::Float32 => Slot::F32,
            ValueType::Float64 => Slot::F64,
            ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_) | ValueType::Bytea | ValueType::Numeric(_) => {
                Slot::View
            }
        }
    }

    /// Bytes by which a value in the [`Heap`] may be longer than its field.
    #[must_use]
    pub fn growth_max(self) -> usize {
        match self {
            ValueType::Numeric(_) => GROWTH_MAX,
            _ => 0,
        }
    }

    /// Whether values are numbers.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(
            self,
            ValueType::Int16
                | ValueType::Int32
                | ValueType::Int64
                | ValueType::Float32
                | ValueType::Float64
                | ValueType::Decimal64 { .. }
                | ValueType::Decimal128 { .. }
                | ValueType::Numeric(_)
        )
    }
}

/// A field that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldError {
    /// Row within the rows that were decoded.
    pub row: usize,
    /// Start of the raw field, quotes included, in the rows' text.
    pub start: u32,
    /// End of the raw field.
    pub end: u32,
    /// What is wrong.
    pub reason: Reason,
}

/// Reads one column: a specialised loop.
///
/// Unsafe to call unless the CPU runs the instructions of the SIMD level that it is compiled for.
type Column = unsafe fn(&Settings, &Rows<'_>, usize, &mut Target<'_, '_>, &mut Bad<'_>) -> Result<(), FieldError>;

/// Is told of every bad field, and says by an error that the column ends with it.
type Bad<'e> = dyn FnMut(FieldError) -> Result<(), FieldError> + 'e;

/// Reads the fields of one column by a rule. Cheap to clone; shared between threads.
#[derive(Debug, Clone)]
pub struct Decoder {
    settings: Settings,
    /// For text without any quote.
    plain: Column,
    /// For text with quotes.
    quoted: Column,
}

impl Decoder {
    /// A decoder of fields of `dialect` by `rule`, for the best instructions that the CPU has.
    ///
    /// # Panics
    ///
    /// If a decimal's precision is not within 1 to 18 (64 bits) or 1 to 38 (128 bits), or its scale exceeds it; if
    /// the [format](FieldRule::date_time_format) does not suit the type. A rule that fails its
    /// [check](FieldRule::check) for another reason is followed as far as it can be.
    #[must_use]
    pub fn new(rule: FieldRule, dialect: &Dialect) -> Decoder {
        Decoder::with_kernel(rule, dialect, Kernel::best())
    }

    /// [`Decoder::new`] for the instructions of `kernel`. Values and errors are the same for all.
    ///
    /// # Panics
    ///
    /// As [`Decoder::new`], and if the CPU does not run `kernel`.
    #[must_use]
    pub fn with_kernel(rule: FieldRule, dialect: &Dialect, kernel: Kernel) -> Decoder {
        assert!(kernel.is_available(), "this CPU has no {kernel}");
        match rule.value_type {
            ValueType::Decimal64 { precision, scale } => {
                assert!((1..=18).contains(&precision) && scale <= precision, "DECIMAL({precision},{scale}) in 64 bits");
            }
            ValueType::Decimal128 { precision, scale } => {
                assert!((1..=38).contains(&precision) && scale <= precision, "DECIMAL({precision},{scale})");
            }
            _ => {}
        }
        if let Some(Err(error)) = rule.date_time_format.as_ref().map(|format| format.check(rule.value_type)) {
            panic!("the rule was not checked: {error}");
        }
        let (plain, quoted) = variants::choose(&rule, dialect, kernel);
        Decoder { settings: Settings::new(rule, dialect), plain, quoted }
    }

    /// The rule that fields are read by.
    #[must_use]
    pub fn rule(&self) -> &FieldRule {
        &self.settings.rule
    }

    /// Reads field `column` of every row into the slots of `target`, one per row, whose validity bits are 1.
    ///
    /// The rows' traits must be true of their text: without `non_ascii`, text is not checked to be UTF-8.
    ///
    /// # Errors
    ///
    /// The first row, in their order, whose field the rule refuses. What `target` then holds means nothing.
    ///
    /// # Panics
    ///
    /// If there is no such column, the target's slots are not one per row or of another type, or its heap has
    /// not the room that [`Heap`] asks for.
    pub fn decode(&self, rows: &Rows<'_>, column: usize, target: &mut Target<'_, '_>) -> Result<(), FieldError> {
        self.read(rows, column, target, &mut Err)
    }

    /// [`Decoder::decode`] that goes on behind bad fields, which it appends to `errors` in the order of their rows.
    ///
    /// The slot of a bad field gets its type's default (zero, or the empty string) and its validity bit stays 1, even
    /// if the field is a NULL that is not allowed, so that all slots hold values that the rows' owner may drop or keep.
    ///
    /// # Panics
    ///
    /// As [`Decoder::decode`].
    pub fn decode_lenient(
        &self,
        rows: &Rows<'_>,
        column: usize,
        target: &mut Target<'_, '_>,
        errors: &mut Vec<FieldError>,
    ) {
        let mut keep = |error| {
            errors.push(error);
            Ok(())
        };
        let end = self.read(rows, column, target, &mut keep);
        debug_assert!(end.is_ok(), "nothing ends the column");
    }

    fn read(
        &self,
        rows: &Rows<'_>,
        column: usize,
        target: &mut Target<'_, '_>,
        bad: &mut Bad<'_>,
    ) -> Result<(), FieldError> {
        let read = if rows.traits().quotes { self.quoted } else { self.plain };
        // SAFETY: `with_kernel` chose a function whose instructions the CPU runs.
        unsafe { read(&self.settings, rows, column, target, bad) }
    }
}
