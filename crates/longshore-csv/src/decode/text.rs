//! Text: views of up to twelve bytes inline, longer ones copied to the heap.
//!
//! A column whose strings are all short never touches the heap. Around a long string, the loop copies 64
//! bytes of every field, wanted or not, and picks the right half of the view, so that strings of mixed
//! lengths cost no mispredicted branches.

use std::mem::MaybeUninit;

use super::column::{Exact, Fields, Settings, rest, slots_of};
use super::digits::Digits;
use super::target::{VIEW_INLINE_BYTES_MAX, long_view};
use super::{Column, FieldError, Heap, Reason, Target, ValueType, Values, exact};
use crate::{PADDING, Rows};

/// Rows behind a long string that are treated as if they were long.
const LONG_ROWS: usize = 64;

/// By length, the bytes of a view that hold the string.
static MASKS: [u128; VIEW_INLINE_BYTES_MAX + 1] = {
    let mut masks = [0; VIEW_INLINE_BYTES_MAX + 1];
    let mut len = 0;
    while len <= VIEW_INLINE_BYTES_MAX {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

/// A type of text.
pub(crate) trait TextKind: Exact<Value = u128> {
    /// How many of the `len` bytes at `field`, which are UTF-8, to keep; `None` leaves it to `exact`.
    ///
    /// # Safety
    ///
    /// The bytes can be read.
    unsafe fn fitting(self, field: *const u8, len: usize) -> Option<usize>;
}

/// The functions for text without and with quotes.
pub(super) fn choose<D: Digits>(value_type: ValueType) -> (Column, Column) {
    match value_type {
        ValueType::Varchar(_) => (D::text_column::<Varchar, false>(), D::text_column::<Varchar, true>()),
        ValueType::Char(_) => (D::text_column::<Char, false>(), D::text_column::<Char, true>()),
        _ => (D::text_column::<Text, false>(), D::text_column::<Text, true>()),
    }
}

/// Reads one column.
///
/// # Safety
///
/// The CPU runs the instructions of `D`.
#[inline(always)]
pub(crate) unsafe fn decode<D: Digits, K: TextKind, const QUOTES: bool>(
    settings: &Settings,
    rows: &Rows<'_>,
    column: usize,
    target: &mut Target<'_, '_>,
) -> Result<(), FieldError> {
    let kind = K::new(settings.rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<K>(&mut target.values, fields.count());
    let (heap, validity) = (&mut *target.heap, &mut target.validity);
    let non_ascii = rows.traits().non_ascii;
    let mut scratch = Vec::new();
    let mut long_rows = 0_usize;
    for (row, slot) in slots.iter_mut().enumerate() {
        // SAFETY: there is a slot per row.
        let raw = unsafe { fields.raw(row) };
        // SAFETY: as the caller promises; the padding is behind the field.
        let plain = unsafe { plain_content::<D, K, QUOTES>(settings, kind, raw, non_ascii) };
        let Some(content) = plain else {
            let value = rest(settings, kind, raw, row, heap, validity, &mut scratch);
            slot.write(value.map_err(|reason| fields.error(row, reason))?);
            continue;
        };
        let long = content.len() > VIEW_INLINE_BYTES_MAX;
        // SAFETY: the padding is behind the field.
        slot.write(unsafe {
            if long || long_rows > 0 {
                long_rows = if long { LONG_ROWS } else { long_rows - 1 };
                any_view(content, heap)
            } else {
                short_view(content)
            }
        });
    }
    Ok(())
}

/// What to keep of a field that is neither NULL nor escaped, too long or not UTF-8.
///
/// # Safety
///
/// [`PADDING`] bytes can be read behind `raw`; the CPU runs the instructions of `D`.
#[inline(always)]
unsafe fn plain_content<'r, D: Digits, K: TextKind, const QUOTES: bool>(
    settings: &Settings,
    kind: K,
    raw: &'r [u8],
    non_ascii: bool,
) -> Option<&'r [u8]> {
    if settings.may_be_null(raw) {
        return None;
    }
    let mut content = raw;
    if QUOTES {
        // SAFETY: as the caller promises.
        let quoted = unsafe { has_pair::<D>(settings, raw)? };
        if quoted {
            content = &raw[1..raw.len() - 1];
            if settings.rule.force_null && content == &*settings.rule.null_text {
                return None;
            }
        }
    }
    // SAFETY: as the caller promises.
    if non_ascii && unsafe { !is_ascii::<D>(content) } && simdutf8::basic::from_utf8(content).is_err() {
        return None;
    }
    // SAFETY: the content can be read.
    let len = unsafe { kind.fitting(content.as_ptr(), content.len())? };
    content.get(..len)
}

/// Whether quotes stand around the field, if that is all there are; `None` if there are others, or escapes.
///
/// # Safety
///
/// As [`plain_content`].
#[inline(always)]
unsafe fn has_pair<D: Digits>(settings: &Settings, raw: &[u8]) -> Option<bool> {
    let Some(quote) = settings.dialect.quote() else { return Some(false) };
    let len = raw.len();
    if len > PADDING {
        return has_pair_far(settings, raw, quote);
    }
    if len == 0 {
        return Some(false);
    }
    // SAFETY: as the caller promises, 64 bytes can be read at every field's start.
    unsafe {
        let within = u64::MAX >> (64 - len);
        let quotes = D::equal(raw.as_ptr(), quote) & within;
        if quotes == 0 {
            return Some(false);
        }
        let escapes = match settings.dialect.escape() {
            Some(escape) => D::equal(raw.as_ptr(), escape) & within,
            None => 0,
        };
        (len >= 2 && quotes == 1 | 1 << (len - 1) && escapes == 0).then_some(true)
    }
}

/// [`has_pair`] for long fields.
#[inline(never)]
fn has_pair_far(settings: &Settings, raw: &[u8], quote: u8) -> Option<bool> {
    let escape = settings.dialect.escape().unwrap_or(quote);
    let [first, content @ .., last] = raw else { return None };
    let ends = (*first == quote, *last == quote);
    let inner_quote = content.iter().fold(false, |any, byte| any | (*byte == quote));
    if ends == (false, false) && !inner_quote {
        return Some(false);
    }
    let inner_escape = content.iter().fold(false, |any, byte| any | (*byte == escape));
    (ends == (true, true) && !inner_quote && !inner_escape).then_some(true)
}

/// Whether all bytes are below 0x80.
///
/// # Safety
///
/// As [`plain_content`].
#[inline(always)]
unsafe fn is_ascii<D: Digits>(content: &[u8]) -> bool {
    if content.is_empty() {
        return true;
    }
    // SAFETY: as the caller promises.
    content.len() <= PADDING && unsafe { D::high(content.as_ptr()) } << (PADDING - content.len()) == 0
}

/// The view of a string that it holds whole.
///
/// # Safety
///
/// 16 bytes can be read at the start of `content`, which has at most [`VIEW_INLINE_BYTES_MAX`].
#[inline(always)]
unsafe fn short_view(content: &[u8]) -> u128 {
    // SAFETY: as the caller promises.
    let (bytes, mask) = unsafe {
        (content.as_ptr().cast::<u128>().read_unaligned(), *MASKS.get_unchecked(content.len()))
    };
    (u128::from_le(bytes) & mask) << 32 | content.len() as u128
}

/// The view of a string of any length, copied to the heap, where it is kept if it is long.
///
/// # Safety
///
/// [`PADDING`] bytes can be read at the start of `content`.
#[inline(always)]
unsafe fn any_view(content: &[u8], heap: &mut Heap<'_>) -> u128 {
    let len = content.len();
    let offset = heap.used();
    // SAFETY: the heap has room for as much as is copied, and `&mut` so does not overlap the text.
    unsafe {
        let to = heap.reserve(len.max(PADDING));
        std::ptr::copy_nonoverlapping(content.as_ptr(), to, PADDING);
        if len > PADDING {
            std::ptr::copy_nonoverlapping(content.as_ptr().add(PADDING), to.add(PADDING), len - PADDING);
        }
        let bytes = u128::from_le(content.as_ptr().cast::<u128>().read_unaligned());
        let short = (bytes & *MASKS.get_unchecked(len.min(VIEW_INLINE_BYTES_MAX))) << 32 | len as u128;
        let long = len > VIEW_INLINE_BYTES_MAX;
        heap.keep(if long { len } else { 0 });
        if long { long_view(len, bytes as u32, offset) } else { short }
    }
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
    #[inline(always)]
    unsafe fn fitting(self, _: *const u8, len: usize) -> Option<usize> {
        Some(len)
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
    #[inline(always)]
    unsafe fn fitting(self, _: *const u8, len: usize) -> Option<usize> {
        // No more characters than bytes.
        (len <= self.0 as usize).then_some(len)
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
    #[inline(always)]
    unsafe fn fitting(self, field: *const u8, mut len: usize) -> Option<usize> {
        // SAFETY: as the caller promises.
        while len > 0 && unsafe { *field.add(len - 1) } == b' ' {
            len -= 1;
        }
        (len <= self.0 as usize).then_some(len)
    }
}
