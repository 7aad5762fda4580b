//! Decides the order of work within one column: fast path, then NULL, then the exact path.
//!
//! The loop is compiled once per type and variant. In the plain variant no quote can occur in the text and
//! the NULL text is no value of the type, so that a field goes straight to the fast path of its type, and
//! NULL is looked for only where that refuses. The general variant first strips one pair of quotes and
//! compares with the NULL text.
//!
//! Integers, decimals and dates are tried in blocks of rows: the bytes of every field are collected in arrays,
//! over which the arithmetic then runs in plain loops that compilers turn into vector instructions. Rows that a
//! block refuses are done one by one.

use std::mem::MaybeUninit;

use super::block::{BLOCK_ROWS, Collected};
use super::conversion::{Conversion, Exact};
use super::fields::Fields;
use super::{Bad, FieldError, FieldRule, Heap, Reason, Target, Validity, Values, exact, quoted};
use crate::{Dialect, Rows};

/// Blocks that are not tried after one of which most rows were refused.
const BLOCKS_SKIPPED: usize = 15;

/// What all columns of a rule share.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) rule: FieldRule,
    pub(crate) dialect: Dialect,
    /// The NULL text that is looked for first; the empty one if it is none, too.
    pub(crate) null_text: Box<[u8]>,
    /// Whether an unquoted field may be NULL, allowed or not.
    pub(crate) may_be_null: bool,
    /// Whether an unquoted field equal to `null_text` is NULL and allowed, and `null_text` holds no quote. Then
    /// equality of the raw field is enough.
    pub(crate) null_is_plain: bool,
    /// Whether the NULL text, of which there is one then, has to be looked for before the fast path, which would take
    /// it for a value.
    pub(crate) null_first: bool,
    /// By what columns of text look for NULL texts if there are several.
    pub(crate) null_heads: Vec<NullHead>,
}

/// The first bytes of a NULL text, by which most fields are told apart from it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NullHead {
    len: usize,
    /// The first eight bytes, if it has so many, and a mask of these.
    word: u64,
    mask: u64,
}

impl NullHead {
    /// The head of `text`.
    pub(crate) fn new(text: &[u8]) -> NullHead {
        let mut head = [0; 8];
        let len = text.len().min(head.len());
        head[..len].copy_from_slice(&text[..len]);
        let mask = if len == 0 { 0 } else { u64::MAX >> (64 - 8 * len) };
        NullHead { len: text.len(), word: u64::from_le_bytes(head), mask }
    }

    /// Whether a content that begins with `word` may be the NULL text.
    #[inline(always)]
    pub(crate) fn suits(&self, word: u64, len: usize) -> bool {
        len == self.len && self.begins(word)
    }

    /// Length of the NULL text.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether a content of the NULL text's length that begins with `word` may be it.
    #[inline(always)]
    pub(crate) fn begins(&self, word: u64) -> bool {
        word & self.mask == self.word
    }
}

impl Settings {
    /// What the columns of `rule` share in texts of `dialect`.
    pub(crate) fn new(rule: FieldRule, dialect: &Dialect) -> Settings {
        // The empty text is the most frequent one.
        let first = rule.null_texts.iter().find(|text| text.is_empty()).or(rule.null_texts.first()).cloned();
        let may_be_null = first.is_some() && !rule.force_not_null;
        let null_first = first.as_ref().is_some_and(|text| exact::is_value(text, rule.value_type));
        let null_text = first.as_deref().unwrap_or_default();
        let null_is_plain =
            may_be_null && rule.nullable && dialect.quote().is_none_or(|quote| !null_text.contains(&quote));
        let null_heads = rule.null_texts.iter().map(|text| NullHead::new(text)).collect();
        let null_text = null_text.into();
        Settings { rule, dialect: *dialect, null_text, may_be_null, null_is_plain, null_first, null_heads }
    }

    /// Whether the raw field is an allowed NULL, by a plain comparison. What it misses, `slow` finds.
    #[inline(always)]
    pub(crate) fn is_plain_null(&self, raw: &[u8]) -> bool {
        let null = &*self.null_text;
        raw.len() == null.len() && self.null_is_plain && raw == null
    }

    /// Length of the unquoted fields that may be NULL, allowed or not; `usize::MAX` if none may. Where there are
    /// several NULL texts, of the first.
    pub(crate) fn null_len(&self) -> usize {
        if self.may_be_null { self.null_text.len() } else { usize::MAX }
    }

    /// Whether a field of that content is NULL, allowed or not.
    #[inline]
    pub(crate) fn is_null(&self, content: &[u8], quoted: bool) -> bool {
        let may_be_null = if quoted { self.rule.quoted_nulls } else { self.may_be_null };
        may_be_null && self.rule.null_texts.iter().any(|text| **text == *content)
    }

    /// What the field `raw` means, slowly: `None` if it is NULL.
    #[cold]
    #[inline(never)]
    pub(crate) fn slow<C: Exact>(
        &self,
        conversion: C,
        raw: &[u8],
        heap: &mut Heap<'_>,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<C::Value>, Reason> {
        let (content, quoted) = quoted::content(raw, &self.dialect, scratch);
        if !self.is_null(content, quoted) {
            conversion.exact(content, heap).map(Some)
        } else if self.rule.nullable {
            Ok(None)
        } else {
            Err(Reason::Null)
        }
    }
}

/// Reads one column. `GENERAL` is the variant for text that holds quotes and for a NULL text that is a value, which
/// must be the only one; `LANE_SHIFTS` is what [`Conversion::has_blocks`] wants to know of the instructions that it is
/// compiled for.
///
/// # Safety
///
/// The CPU runs the conversion's instructions.
#[inline(always)]
pub(crate) unsafe fn decode<C: Conversion, const GENERAL: bool, const LANE_SHIFTS: bool>(
    settings: &Settings,
    rows: &Rows<'_>,
    column: usize,
    target: &mut Target<'_, '_>,
    bad: &mut Bad<'_>,
) -> Result<(), FieldError> {
    let conversion = C::new(settings.rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<C>(&mut target.values, fields.count());
    let (heap, validity) = (&mut *target.heap, &mut target.validity);
    // Without quotes in the text, no field begins with a line end.
    let quote = settings.dialect.quote().unwrap_or(b'\n');
    let null_first = GENERAL && settings.null_first;
    // SAFETY: only called for rows that exist.
    let raw = |row| unsafe { fields.at(row) };
    let content = |row| {
        let raw = raw(row);
        if !GENERAL {
            return raw;
        }
        // SAFETY: it is a field.
        unsafe { strip_pair(raw, quote) }
    };
    let mut scratch = Vec::new();
    let mut collected = Collected::new();
    let mut skipped = if conversion.has_blocks(LANE_SHIFTS) && !null_first { 0 } else { usize::MAX };
    let mut strips = false;
    let mut first = 0;
    for slots in slots.chunks_mut(BLOCK_ROWS) {
        // Rows that have to be looked at one by one: a bit each.
        let mut refused = u64::MAX >> (BLOCK_ROWS - slots.len());
        if skipped > 0 {
            skipped -= 1;
        } else if let Ok(slots) = slots.try_into() {
            // SAFETY: there is a row for every slot, and padding behind the text.
            refused = unsafe {
                if GENERAL && strips {
                    conversion.block(&mut collected, |row| content(first + row), slots)
                } else {
                    conversion.block(&mut collected, |row| raw(first + row), slots)
                }
            };
            if refused.count_ones() as usize > BLOCK_ROWS / 2 {
                // Perhaps because they are quoted; after that, because they are of another form.
                skipped = if GENERAL && !strips { 0 } else { BLOCKS_SKIPPED };
                strips = !strips;
            }
        }
        while refused != 0 {
            let within = refused.trailing_zeros() as usize;
            refused &= refused - 1;
            let row = first + within;
            let (field, len) = content(row);
            // SAFETY: the field can be read, and has `PADDING` readable bytes behind it.
            let fast = unsafe {
                if null_first && std::slice::from_raw_parts(field, len) == &*settings.null_text {
                    None
                } else {
                    conversion.fast(field, len, heap)
                }
            };
            let value = match fast {
                Some(value) => value,
                // SAFETY: it is a field.
                None => match unsafe { rest(settings, conversion, raw(row), row, heap, validity, &mut scratch) } {
                    Ok(value) => value,
                    Err(reason) => fields.refuse(row, reason, bad)?,
                },
            };
            slots[within].write(value);
        }
        first += slots.len();
    }
    Ok(())
}

/// The slots of `rows` rows.
pub(crate) fn slots_of<'t, C: Exact>(values: &'t mut Values<'_>, rows: usize) -> &'t mut [MaybeUninit<C::Value>] {
    let slots = C::slots(values).expect("the target's slots are of the column's type");
    assert!(slots.len() == rows, "{} slots for {rows} rows", slots.len());
    slots
}

/// A raw field without its first and last byte, if the first is a quote. A field ends outside quotes, so then it holds
/// a second one: if that is not the last byte, it is left, and no fast path takes it.
///
/// # Safety
///
/// The field, and the byte behind it, can be read.
#[inline(always)]
unsafe fn strip_pair((field, len): (*const u8, usize), quote: u8) -> (*const u8, usize) {
    // SAFETY: as the caller promises.
    let pair = usize::from(unsafe { *field } == quote) & usize::from(len >= 2);
    (field.wrapping_add(pair), len - 2 * pair)
}

/// What the fast path has refused: NULL, or something for the exact path.
///
/// # Safety
///
/// `raw` is address and length of a field that can be read.
#[inline(always)]
pub(crate) unsafe fn rest<C: Exact>(
    settings: &Settings,
    conversion: C,
    raw: (*const u8, usize),
    row: usize,
    heap: &mut Heap<'_>,
    validity: &mut Validity<'_>,
    scratch: &mut Vec<u8>,
) -> Result<C::Value, Reason> {
    // SAFETY: as the caller promises.
    let raw = unsafe { std::slice::from_raw_parts(raw.0, raw.1) };
    if settings.is_plain_null(raw) {
        validity.clear(row);
        return Ok(C::Value::default());
    }
    Ok(settings.slow(conversion, raw, heap, scratch)?.unwrap_or_else(|| {
        validity.clear(row);
        C::Value::default()
    }))
}

/// Reads one column by the exact path alone: for dialects whose quote or escape could be part of a value.
pub(crate) fn decode_slowly<C: Exact>(
    settings: &Settings,
    rows: &Rows<'_>,
    column: usize,
    target: &mut Target<'_, '_>,
    bad: &mut Bad<'_>,
) -> Result<(), FieldError> {
    let conversion = C::new(settings.rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<C>(&mut target.values, fields.count());
    let mut scratch = Vec::new();
    for (row, slot) in slots.iter_mut().enumerate() {
        // SAFETY: there is a slot per row.
        let raw = unsafe { fields.at(row) };
        // SAFETY: it is a field.
        let value = unsafe { rest(settings, conversion, raw, row, target.heap, &mut target.validity, &mut scratch) };
        slot.write(value.or_else(|reason| fields.refuse(row, reason, bad))?);
    }
    Ok(())
}
