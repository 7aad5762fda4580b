//! Text: views of up to twelve bytes inline, longer ones copied to the heap.
//!
//! A column whose strings are all short never touches the heap. Around a long string, the loop copies 64
//! bytes of every field, wanted or not, and picks the right half of the view, so that strings of mixed
//! lengths cost no mispredicted branches.
//!
//! Where the target asks for codes, rows whose fields were read before are not read again (`decode/text_memo.rs`).

use std::mem::MaybeUninit;

use super::block::word;
use super::column::{NullHead, Settings, rest, slots_of};
use super::conversion::Exact;
use super::fields::Fields;
use super::rule::trim_blanks;
use super::simd_level::SimdLevel;
use super::target::{Coded, VIEW_INLINE_BYTES_MAX};
use super::text_memo::BATCH_ROWS;
use super::unquote::LongQuoted;
use super::{Bad, FieldError, Heap, Reason, Target, Validity, ValueType, Values, exact};
use crate::{PADDING, Rows};

/// Rows behind a long string that are treated as if they were long.
const LONG_ROWS: usize = 64;

/// By length, the bytes of a string that its view holds; of a long one, the first four.
static MASKS: [u128; VIEW_INLINE_BYTES_MAX + 2] = {
    let mut masks = [0; VIEW_INLINE_BYTES_MAX + 2];
    let mut len = 0;
    while len <= VIEW_INLINE_BYTES_MAX {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks[len] = 0xFFFF_FFFF;
    masks
};

/// A type of text.
pub(crate) trait TextKind: Exact<Value = u128> {
    /// Most bytes that need no look at their number of characters.
    fn bytes_max(self) -> usize;

    /// Whether there is a limit.
    const IS_LIMITED: bool;

    /// Whether trailing blanks have to be cut.
    const CUTS_BLANKS: bool;
}

/// Reads one column. `UNUSUAL` is the variant for rules that trim or have several NULL texts.
///
/// # Safety
///
/// The CPU runs the instructions of `T`.
#[inline(always)]
pub(crate) unsafe fn decode<T: SimdLevel, K: TextKind, const QUOTES: bool, const UNUSUAL: bool>(
    settings: &Settings,
    rows: &Rows<'_>,
    column: usize,
    target: &mut Target<'_, '_>,
    bad: &mut Bad<'_>,
) -> Result<(), FieldError> {
    let kind = K::new(settings.rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<K>(&mut target.values, fields.count());
    let (heap, validity) = (&mut *target.heap, &mut target.validity);
    let check = FastCheck::new::<K, QUOTES>(settings, kind, rows);
    let quoted = LongQuoted::new(settings, kind.bytes_max(), rows);
    let mut coded = target.coded.as_mut().filter(|coded| !coded.memo.is_given_up());
    if let Some(Coded { memo, .. }) = &mut coded {
        memo.begin();
    }
    let mut scratch = Vec::new();
    let mut long_rows = 0_usize;
    let mut first = 0;
    while first < fields.count() {
        let rows = fields.count() - first;
        let rows = if coded.is_some() { rows.min(BATCH_ROWS) } else { rows };
        let slots = &mut slots[first..][..rows];
        if let Some(Coded { memo, codes }) = &mut coded {
            let codes = &mut codes[first..][..rows];
            // SAFETY: there is a slot per row, and padding behind the text.
            if unsafe { memo.look_up(&fields, first, slots, codes, |row| validity.clear(row)) } {
                first += rows;
                continue;
            }
        }
        let mut are_good = true;
        for (row, slot) in (first..).zip(&mut *slots) {
            // SAFETY: there is a slot per row.
            let mut raw = unsafe { fields.at(row) };
            if UNUSUAL && settings.rule.trim {
                // SAFETY: a field can be read.
                let field = unsafe { std::slice::from_raw_parts(raw.0, raw.1) };
                let trimmed = trim_blanks(field, settings.dialect.quote());
                raw = (trimmed.as_ptr(), trimmed.len());
            }
            // SAFETY: the field can be read, and has `PADDING` readable bytes behind it.
            let Some((content, len)) = (unsafe { check.content::<T, K, QUOTES, UNUSUAL>(raw) }) else {
                // SAFETY: as above.
                let value = unsafe {
                    let may_be = QUOTES && !K::CUTS_BLANKS;
                    match may_be.then(|| quoted.view::<T>(raw, heap)).flatten() {
                        Some(view) => Ok(view),
                        None => long_or_rest(settings, kind, raw, row, heap, validity, &mut scratch),
                    }
                };
                slot.write(value.or_else(|reason| {
                    are_good = false;
                    fields.refuse(row, reason, bad)
                })?);
                continue;
            };
            // SAFETY: as above, and no plain content is longer than a block.
            unsafe {
                if len > VIEW_INLINE_BYTES_MAX || long_rows > 0 {
                    long_rows = if len > VIEW_INLINE_BYTES_MAX { LONG_ROWS } else { long_rows - 1 };
                    any_view::<T>(slot.as_mut_ptr(), content, len, heap);
                } else {
                    T::store_view(slot.as_mut_ptr(), content, *MASKS.get_unchecked(len), len as u64, 0);
                }
            }
        }
        if let Some(Coded { memo, codes }) = &mut coded {
            if are_good {
                // SAFETY: there is a slot per row, all were written, and there is padding behind the text.
                unsafe { memo.learn(&fields, first, slots, &mut codes[first..][..rows], |row| validity.is_null(row)) };
            } else {
                memo.give_up();
            }
            if memo.is_given_up() {
                coded = None;
            }
        }
        first += rows;
    }
    Ok(())
}

/// The check whether a field can be taken as it is; what it misses, the exact path decides.
struct FastCheck<'s> {
    quote: u8,
    escape: Option<u8>,
    non_ascii: bool,
    /// Length of raw fields that may be NULL, less one, wrapping.
    null_len_less_one: usize,
    /// The NULL text, and whether it may be quoted.
    null: NullHead,
    quoted_nulls: bool,
    /// All NULL texts, and whether an unquoted field may be one.
    nulls: &'s [NullHead],
    may_be_null: bool,
    /// Most bytes of a raw field that may fit the type and a block of [`PADDING`].
    raw_bytes_max: usize,
    /// Most bytes of a content that fits the type.
    bytes_max: usize,
}

impl<'s> FastCheck<'s> {
    fn new<K: TextKind, const QUOTES: bool>(settings: &'s Settings, kind: K, rows: &Rows<'_>) -> FastCheck<'s> {
        let around = if QUOTES { 2 } else { 0 };
        FastCheck {
            quote: settings.dialect.quote().unwrap_or_default(),
            escape: settings.dialect.escape(),
            non_ascii: rows.traits().non_ascii,
            null_len_less_one: settings.null_len().wrapping_sub(1),
            null: NullHead::new(&settings.null_text),
            quoted_nulls: settings.rule.quoted_nulls,
            nulls: &settings.null_heads,
            may_be_null: settings.may_be_null,
            raw_bytes_max: kind.bytes_max().saturating_add(around).min(PADDING),
            bytes_max: kind.bytes_max(),
        }
    }

    /// Address and length of the content of a field that is, for sure, not NULL, escaped, too long or no UTF-8.
    ///
    /// # Safety
    ///
    /// The field and [`PADDING`] bytes behind it can be read; the CPU runs the instructions of `T`.
    #[inline(always)]
    unsafe fn content<T: SimdLevel, K: TextKind, const QUOTES: bool, const UNUSUAL: bool>(
        &self,
        (raw, raw_len): (*const u8, usize),
    ) -> Option<(*const u8, usize)> {
        // An empty field wraps to a very long one: it is NULL by default.
        let less_one = raw_len.wrapping_sub(1);
        if less_one >= self.raw_bytes_max {
            return None;
        }
        let (mut content, mut len) = (raw, raw_len);
        // SAFETY: as the caller promises; a field of up to 64 bytes is part of 64 that can be read.
        unsafe {
            let looks_null = if UNUSUAL {
                self.may_be_null && self.looks_like_any(raw, raw_len)
            } else {
                less_one == self.null_len_less_one && self.null.begins(word(raw))
            };
            if looks_null {
                return None;
            }
            if QUOTES {
                let within = u64::MAX >> (PADDING - raw_len);
                let quotes = T::equal(raw, self.quote) & within;
                // Equal to no bit of a single byte.
                let pair = quotes == (1 << less_one) + 1;
                if quotes != 0 && !pair {
                    return None;
                }
                if let Some(escape) = self.escape
                    && pair
                    && T::equal(raw, escape) & within != 0
                {
                    return None;
                }
                content = raw.add(usize::from(pair));
                len = raw_len - 2 * usize::from(pair);
                if K::IS_LIMITED && len > self.bytes_max {
                    return None;
                }
                let looks_null = |content| {
                    if UNUSUAL {
                        self.looks_like_any(content, len)
                    } else {
                        len == self.null.len() && self.null.begins(word(content))
                    }
                };
                if self.quoted_nulls && pair && looks_null(content) {
                    return None;
                }
            }
            if K::CUTS_BLANKS && len > 0 && *content.add(len - 1) == b' ' {
                return None;
            }
            if self.non_ascii && len > 0 && T::high(content) << (PADDING - len) != 0 {
                let content = std::slice::from_raw_parts(content, len);
                if simdutf8::basic::from_utf8(content).is_err() {
                    return None;
                }
            }
        }
        Some((content, len))
    }

    /// Whether a content may be one of the NULL texts.
    ///
    /// # Safety
    ///
    /// Eight bytes can be read at `content`.
    #[inline(always)]
    unsafe fn looks_like_any(&self, content: *const u8, len: usize) -> bool {
        // SAFETY: as the caller promises.
        let word = unsafe { word(content) };
        self.nulls.iter().any(|null| null.suits(word, len))
    }
}

/// Stores the view of a string of up to [`PADDING`] bytes, which is copied to the heap, but kept there only if it is
/// long.
///
/// # Safety
///
/// [`PADDING`] bytes can be read at `content`, and a view stored at `slot`; the CPU runs the instructions of `T`.
#[inline(always)]
unsafe fn any_view<T: SimdLevel>(slot: *mut u128, content: *const u8, len: usize, heap: &mut Heap<'_>) {
    let offset = heap.used();
    let to = heap.reserve(PADDING);
    // SAFETY: the heap has room for as much as is copied, and being borrowed mutably does not overlap the text.
    unsafe {
        std::ptr::copy_nonoverlapping(content, to, PADDING);
        let is_long = usize::from(len > VIEW_INLINE_BYTES_MAX);
        heap.keep(len * is_long);
        let mask = *MASKS.get_unchecked(len.min(VIEW_INLINE_BYTES_MAX + 1));
        // The buffer index of a long one is 0.
        T::store_view(slot, content, mask, len as u64, ((offset * is_long) as u64) << 32);
    }
}

/// What [`FastCheck`] has refused: NULL, a long string, or something for the exact path.
///
/// # Safety
///
/// `raw` is address and length of a field that can be read.
#[inline(never)]
unsafe fn long_or_rest<K: TextKind>(
    settings: &Settings,
    kind: K,
    raw: (*const u8, usize),
    row: usize,
    heap: &mut Heap<'_>,
    validity: &mut Validity<'_>,
    scratch: &mut Vec<u8>,
) -> Result<u128, Reason> {
    if raw.1 > PADDING || K::CUTS_BLANKS {
        // SAFETY: as the caller promises.
        let raw = unsafe { std::slice::from_raw_parts(raw.0, raw.1) };
        if let Some(content) = plain_content(settings, kind, raw) {
            return Ok(heap.view(content));
        }
    }
    // SAFETY: as the caller promises.
    unsafe { rest(settings, kind, raw, row, heap, validity, scratch) }
}

/// The content of a field of any length that is neither NULL, perhaps, nor escaped, too long or no UTF-8.
fn plain_content<'r, K: TextKind>(settings: &Settings, kind: K, raw: &'r [u8]) -> Option<&'r [u8]> {
    let mut content = raw;
    if let Some(quote) = settings.dialect.quote()
        && let [first, inner @ .., last] = raw
    {
        if *first == quote && *last == quote {
            content = inner;
            if settings.dialect.escape().is_some_and(|escape| inner.contains(&escape)) {
                return None;
            }
        }
        if content.contains(&quote) {
            return None;
        }
    }
    let may_be_null = settings.null_heads.iter().any(|null| null.len() == content.len());
    if may_be_null || simdutf8::basic::from_utf8(content).is_err() {
        return None;
    }
    while K::CUTS_BLANKS
        && let [rest @ .., b' '] = content
    {
        content = rest;
    }
    (content.len() <= kind.bytes_max()).then_some(content)
}

macro_rules! text_exact {
    ($kind:ty, |$value_type:ident| $new:expr, |$self:ident, $content:ident| $exact:expr) => {
        impl Exact for $kind {
            type Value = u128;

            fn new($value_type: ValueType) -> Self {
                $new
            }

            fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<u128>]> {
                if let Values::Views(slots) = values { Some(slots) } else { None }
            }

            fn exact($self, $content: &[u8], heap: &mut Heap<'_>) -> Result<u128, Reason> {
                Ok(heap.view($exact?.as_bytes()))
            }
        }
    };
}

/// Text of any length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text;

text_exact!(Text, |_value_type| Text, |self, content| exact::text(content));

impl TextKind for Text {
    const IS_LIMITED: bool = false;
    const CUTS_BLANKS: bool = false;

    fn bytes_max(self) -> usize {
        usize::MAX
    }
}

/// Text of limited length in characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Varchar(u32);

text_exact!(
    Varchar,
    |value_type| {
        let ValueType::Varchar(characters) = value_type else { unreachable!("chosen by the type") };
        Varchar(characters)
    },
    |self, content| exact::varchar(content, self.0)
);

impl TextKind for Varchar {
    const IS_LIMITED: bool = true;
    const CUTS_BLANKS: bool = false;

    fn bytes_max(self) -> usize {
        // There are no more characters than bytes.
        self.0 as usize
    }
}

/// Text of limited length, without trailing blanks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Char(u32);

text_exact!(
    Char,
    |value_type| {
        let ValueType::Char(characters) = value_type else { unreachable!("chosen by the type") };
        Char(characters)
    },
    |self, content| exact::character(content, self.0)
);

impl TextKind for Char {
    const IS_LIMITED: bool = true;
    const CUTS_BLANKS: bool = true;

    fn bytes_max(self) -> usize {
        // There are no more characters than bytes.
        self.0 as usize
    }
}
