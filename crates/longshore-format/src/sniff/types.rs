//! Decides which type a column has: what each value could be, met over all values.
//!
//! [`classify`] tells for one value every type that represents it *without loss*: `007` and `+49` are only text, a
//! decimal needs its digits behind the point, a double must give the digits back, a timestamp has no more than
//! microseconds. The types of a column are the intersection over its values ([`TypeSet::join`]), which no order of
//! values, threads or pieces can change; [`TypeSet::decide`] picks the narrowest of them.
//!
//! Some values leave open what they are: `01/02/2024` until another one tells the order of day and month, `NA` until
//! another one is a number. Both are kept in the set, so that a later value can settle them; what stays open is TEXT,
//! and the reason says so. Not here: fields and quotes (`verify` takes these apart), which values are NULL by the
//! user's word.

mod date_time;
mod layout;
mod number;
mod uuid;
mod verify;

use std::fmt;

use longshore_csv::decode::{BooleanWords, DateTimeFormat};

pub use layout::Layout;
pub use verify::{Nulls, classify_column, verify};

/// Texts that many programs write for a missing value. They count as NULL only in a column that they would otherwise
/// keep from having a type.
pub const COMMON_NULL_TEXTS: [&str; 12] =
    ["NA", "N/A", "n/a", "NULL", "null", "Null", "\\N", "-", "None", "#N/A", "#NULL!", "?"];

/// The bit behind those of [`COMMON_NULL_TEXTS`]: a quoted field that is one of them, or empty.
const QUOTED: u16 = 1 << COMMON_NULL_TEXTS.len();
const _: () = assert!(COMMON_NULL_TEXTS.len() < 16);

/// The longest of them.
const NULL_TEXT_BYTES_MAX: usize = 6;

/// Digits that a decimal has at most.
const DECIMAL_DIGITS_MAX: u16 = 38;
/// Digits of a decimal that is stored in 64 bits.
const DECIMAL64_DIGITS_MAX: u16 = 18;

/// Which of day and month comes first, where both are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// `12/31/2024`
    MonthFirst,
    /// `31/12/2024`
    DayFirst,
}

/// Formats of dates and times that the user gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats {
    /// Of dates.
    pub date: Option<DateTimeFormat>,
    /// Of times.
    pub time: Option<DateTimeFormat>,
    /// Of timestamps, with and without time zone.
    pub timestamp: Option<DateTimeFormat>,
}

/// How values are written, as far as it is the same for all columns of a file.
#[expect(clippy::struct_excessive_bools, reason = "options that do not depend on each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Between the digits before and behind the point.
    pub decimal_separator: u8,
    /// Between groups of three digits.
    pub thousands_separator: Option<u8>,
    /// What `01/02/2024` means where no value of the column tells.
    pub date_order: Option<DateOrder>,
    /// How dates, times and timestamps are written where it is not ISO's way. Then no other way is looked for.
    pub formats: Formats,
    /// Whether [`COMMON_NULL_TEXTS`] and quoted empty fields may be NULL. Not where the user said what is.
    pub common_nulls: bool,
    /// Whether `t` and `f` are booleans, as PostgreSQL writes them.
    pub letter_booleans: bool,
    /// The words for true and false that the user gave. Those that are numbers make no column of numbers a boolean.
    pub boolean_words: BooleanWords,
    /// Whether blanks around unquoted fields do not belong to them.
    pub trim: bool,
    /// Whether quoted fields are strings, which may be dates and the like but not numbers or booleans: JSON.
    pub quoted_strings: bool,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading {
            decimal_separator: b'.',
            thousands_separator: None,
            date_order: None,
            formats: Formats::default(),
            common_nulls: true,
            letter_booleans: false,
            boolean_words: BooleanWords::default(),
            trim: false,
            quoted_strings: false,
        }
    }
}

/// Types as bits, in the order in which they are preferred.
mod bit {
    pub(super) const BOOLEAN: u16 = 1;
    pub(super) const INTEGER: u16 = 1 << 1;
    pub(super) const BIG_INT: u16 = 1 << 2;
    pub(super) const DECIMAL: u16 = 1 << 3;
    pub(super) const DOUBLE: u16 = 1 << 4;
    pub(super) const DATE: u16 = 1 << 5;
    pub(super) const TIME: u16 = 1 << 6;
    pub(super) const TIMESTAMP: u16 = 1 << 7;
    pub(super) const TIMESTAMP_TZ: u16 = 1 << 8;
    pub(super) const UUID: u16 = 1 << 9;
    pub(super) const ALL: u16 = (1 << 10) - 1;
}

/// The types beside text that some values can have. Starts as [`TypeSet::EVERY`], and only ever becomes smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSet {
    /// Types that every value has.
    kinds: u16,
    /// Layouts of dates and times, other than ISO's, that every value has.
    layouts: u64,
    /// Which of the common null texts occur.
    nulls: u16,
    /// Most digits before and behind the point.
    integer_digits: u16,
    fraction_digits: u16,
    /// Whether there is a value that is no common null text.
    any: bool,
}

/// The type that a column gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InferredType {
    /// BOOLEAN.
    Boolean,
    /// INTEGER.
    Integer,
    /// BIGINT.
    BigInt,
    /// DECIMAL of 18 or 38 digits.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
    /// DOUBLE PRECISION.
    Double,
    /// DATE; ISO's form, or the layout given.
    Date(Option<Layout>),
    /// TIME.
    Time,
    /// TIMESTAMP; ISO's form, or the layout given.
    Timestamp(Option<Layout>),
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// UUID.
    Uuid,
    /// TEXT.
    Text,
}

impl InferredType {
    /// How dates or timestamps are written, where it is not ISO's way.
    #[must_use]
    pub fn layout(&self) -> Option<Layout> {
        match *self {
            InferredType::Date(layout) | InferredType::Timestamp(layout) => layout,
            _ => None,
        }
    }
}

impl fmt::Display for InferredType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InferredType::Boolean => "BOOLEAN",
            InferredType::Integer => "INTEGER",
            InferredType::BigInt => "BIGINT",
            InferredType::Decimal { precision, scale } => return write!(f, "DECIMAL({precision},{scale})"),
            InferredType::Double => "DOUBLE PRECISION",
            InferredType::Date(_) => "DATE",
            InferredType::Time => "TIME",
            InferredType::Timestamp(_) => "TIMESTAMP",
            InferredType::TimestampTz => "TIMESTAMP WITH TIME ZONE",
            InferredType::Uuid => "UUID",
            InferredType::Text => "TEXT",
        })
    }
}

/// What [`TypeSet::decide`] says of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The type.
    pub value_type: InferredType,
    /// Texts, beside those that the user named, that are NULL in this column.
    pub null_texts: Vec<&'static str>,
    /// Whether a quoted empty field is NULL in this column.
    pub quoted_nulls: bool,
    /// What keeps the type from being settled.
    pub open: Option<OpenQuestion>,
    /// Why, as a part of a sentence.
    pub reason: String,
}

/// What keeps a type from being settled, so that the column is TEXT for the time being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenQuestion {
    /// There is no value, or none but texts that may mean NULL.
    NoValue,
    /// The values are dates of which none tells whether day or month comes first.
    DateOrder,
}

impl Decision {
    /// Whether values still to come may only widen the type, and leave TEXT as it is. While it is false, every value
    /// has to be [classified](classify).
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.open.is_none()
    }
}

impl TypeSet {
    /// What is known of a column without values: it may have any type.
    pub const EVERY: TypeSet =
        TypeSet { kinds: bit::ALL, layouts: u64::MAX, nulls: 0, integer_digits: 0, fraction_digits: 0, any: false };

    /// Nothing but text.
    pub const TEXT: TypeSet = TypeSet { kinds: 0, layouts: 0, any: true, ..TypeSet::EVERY };

    /// The types that the values of both sets can have.
    #[must_use]
    pub fn join(self, other: TypeSet) -> TypeSet {
        TypeSet {
            kinds: self.kinds & other.kinds,
            layouts: self.layouts & other.layouts,
            nulls: self.nulls | other.nulls,
            integer_digits: self.integer_digits.max(other.integer_digits),
            fraction_digits: self.fraction_digits.max(other.fraction_digits),
            any: self.any || other.any,
        }
    }

    /// Whether a value was seen, be it a common null text.
    #[must_use]
    pub fn has_values(&self) -> bool {
        self.any || self.nulls != 0
    }

    /// Whether nothing that comes can make this anything but text.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.kinds == 0 && self.layouts == 0
    }

    /// Whether all values, but for common null texts, can have `value_type`.
    #[must_use]
    pub fn admits(&self, value_type: &InferredType) -> bool {
        let has = |kind| self.kinds & kind != 0;
        match value_type {
            InferredType::Boolean => has(bit::BOOLEAN),
            InferredType::Integer => has(bit::INTEGER),
            InferredType::BigInt => has(bit::BIG_INT),
            InferredType::Decimal { precision, scale } => {
                has(bit::DECIMAL)
                    && self.fraction_digits <= u16::from(*scale)
                    && self.integer_digits <= u16::from(precision - scale)
            }
            InferredType::Double => has(bit::DOUBLE),
            InferredType::Date(None) => has(bit::DATE),
            InferredType::Time => has(bit::TIME),
            InferredType::Timestamp(None) => has(bit::TIMESTAMP),
            InferredType::Date(Some(layout)) | InferredType::Timestamp(Some(layout)) => {
                self.layouts & layout.bit() != 0
            }
            InferredType::TimestampTz => has(bit::TIMESTAMP_TZ),
            InferredType::Uuid => has(bit::UUID),
            InferredType::Text => true,
        }
    }

    /// The narrowest type that has all values.
    #[must_use]
    pub fn decide(&self, reading: &Reading) -> Decision {
        let text = |open, reason: &str| Decision {
            value_type: InferredType::Text,
            null_texts: Vec::new(),
            quoted_nulls: false,
            open,
            reason: reason.to_owned(),
        };
        if !self.any {
            let reason = if self.nulls == 0 { "every value is NULL" } else { "no value but texts that may mean NULL" };
            return text(Some(OpenQuestion::NoValue), reason);
        }
        let has = |kind| self.kinds & kind != 0;
        // Some words for truth are numbers: a column of nothing else is one of numbers.
        let found = if has(bit::BOOLEAN) && !has(bit::DOUBLE) {
            InferredType::Boolean
        } else if has(bit::INTEGER) {
            InferredType::Integer
        } else if has(bit::BIG_INT) {
            InferredType::BigInt
        } else if let Some(decimal) = self.decimal() {
            decimal
        } else if has(bit::DOUBLE) {
            InferredType::Double
        } else if has(bit::DATE) {
            InferredType::Date(None)
        } else if has(bit::TIME) {
            InferredType::Time
        } else if has(bit::TIMESTAMP) {
            InferredType::Timestamp(None)
        } else if has(bit::TIMESTAMP_TZ) {
            InferredType::TimestampTz
        } else if has(bit::UUID) {
            InferredType::Uuid
        } else if self.layouts != 0 {
            match Layout::choose(self.layouts, reading.date_order) {
                Some(layout) if layout.has_time() => InferredType::Timestamp(Some(layout)),
                Some(layout) => InferredType::Date(Some(layout)),
                None => {
                    let reason = "dates, but no value tells whether day or month comes first; set DATE_ORDER";
                    return text(Some(OpenQuestion::DateOrder), reason);
                }
            }
        } else {
            return text(None, "some values are only text");
        };
        let nulls = COMMON_NULL_TEXTS.iter().enumerate().filter(|(index, _)| self.nulls & 1 << index != 0);
        let null_texts: Vec<_> = nulls.map(|(_, text)| *text).collect();
        let quoted_nulls = self.nulls & QUOTED != 0;
        Decision {
            value_type: found,
            reason: reason(&found, &null_texts, quoted_nulls),
            null_texts,
            quoted_nulls,
            open: None,
        }
    }

    /// The decimal type that holds all values, if there is one.
    fn decimal(&self) -> Option<InferredType> {
        let scale = self.fraction_digits;
        let digits = self.integer_digits + scale;
        if self.kinds & bit::DECIMAL == 0 || digits > DECIMAL_DIGITS_MAX {
            return None;
        }
        let precision = if digits <= DECIMAL64_DIGITS_MAX { DECIMAL64_DIGITS_MAX } else { DECIMAL_DIGITS_MAX };
        Some(InferredType::Decimal { precision: precision as u8, scale: scale as u8 })
    }
}

fn reason(value_type: &InferredType, null_texts: &[&str], quoted_nulls: bool) -> String {
    let mut reason = match value_type {
        InferredType::Date(Some(layout)) | InferredType::Timestamp(Some(layout)) => {
            format!("every value is {value_type} as {}", layout.format())
        }
        _ => format!("every value is {value_type}"),
    };
    if !null_texts.is_empty() {
        let texts: Vec<_> = null_texts.iter().map(|text| format!("'{text}'")).collect();
        reason.push_str(&[", taking ", &texts.join(", "), " for NULL"].concat());
    }
    if quoted_nulls {
        reason += ", taking quoted ones and quoted empty fields for NULL";
    }
    reason
}

/// The types that represent the content of a field, which is not NULL, without loss. `quoted` tells whether it stood in
/// quotes.
#[must_use]
pub fn classify(content: &[u8], quoted: bool, reading: &Reading) -> TypeSet {
    if !reading.boolean_words.is_default() && is_boolean(content.trim_ascii(), reading) {
        let number = number::classify(content.trim_ascii(), reading).filter(|_| !(quoted && reading.quoted_strings));
        let number = number.unwrap_or(TypeSet::TEXT);
        return TypeSet { kinds: number.kinds | bit::BOOLEAN, ..number };
    }
    if reading.common_nulls && content.len() <= NULL_TEXT_BYTES_MAX {
        let quotes = if quoted { QUOTED } else { 0 };
        if content.is_empty() && quoted {
            return TypeSet { nulls: quotes, ..TypeSet::EVERY };
        }
        if let Some(index) = COMMON_NULL_TEXTS.iter().position(|text| text.as_bytes() == content) {
            return TypeSet { nulls: 1 << index | quotes, ..TypeSet::EVERY };
        }
    }
    let trimmed = content.trim_ascii();
    // Only what the decoders skip too.
    let Some(&first) = trimmed.first() else { return TypeSet::TEXT };
    let is_string = quoted && reading.quoted_strings;
    let numeric = !is_string && (matches!(first, b'0'..=b'9' | b'-') || first == reading.decimal_separator);
    if numeric && let Some(number) = number::classify(trimmed, reading) {
        return number;
    }
    if (first.is_ascii_digit() || first.is_ascii_alphabetic() || reading.formats != Formats::default())
        && let Some(types) = date_time::classify(trimmed, &reading.formats)
    {
        return types;
    }
    let only = |kinds| TypeSet { kinds, ..TypeSet::TEXT };
    // Around UUIDs the decoders skip no blanks, unless they trim fields.
    let spelled = if reading.trim && !quoted { uuid::unpadded(content) } else { content };
    if is_string {
        return if uuid::is_kept(spelled) { only(bit::UUID) } else { TypeSet::TEXT };
    }
    if number::is_special(trimmed) {
        return only(bit::DOUBLE);
    }
    if is_boolean(trimmed, reading) {
        return only(bit::BOOLEAN);
    }
    if uuid::is_kept(spelled) {
        return only(bit::UUID);
    }
    TypeSet::TEXT
}

/// Whether `text` is a word for true or false: one of the user's, or else one that can be nothing but that.
fn is_boolean(text: &[u8], reading: &Reading) -> bool {
    let is = |given: &Option<Vec<Box<[u8]>>>, word: &[u8], letter: &[u8]| match given {
        Some(words) => words.iter().any(|word| text.eq_ignore_ascii_case(word)),
        None => text.eq_ignore_ascii_case(word) || reading.letter_booleans && text == letter,
    };
    let BooleanWords { truths, falsehoods } = &reading.boolean_words;
    is(truths, b"true", b"t") || is(falsehoods, b"false", b"f")
}

#[cfg(test)]
mod tests;
