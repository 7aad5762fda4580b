//! Decides the order of work within one column: fast path, then NULL, then the exact path.
//!
//! The loop is compiled once per type and variant. In the plain variant no quote can occur in the text and
//! the NULL text is no value of the type, so that a field goes straight to the fast path of its type, and
//! NULL is looked for only where that refuses. The general variant first strips one pair of quotes and
//! compares with the NULL text.

use std::mem::MaybeUninit;

use super::{FieldError, FieldRule, Heap, Reason, Target, Validity, ValueType, Values, quoted};
use crate::{Dialect, Rows};

/// How any field of a type is read.
pub(crate) trait Exact: Copy {
    /// What a slot holds; the default goes where the field is NULL.
    type Value: Copy + Default;

    /// The conversion to a type, which the caller has chosen to suit it.
    fn new(value_type: ValueType) -> Self;

    /// The slots of such values, or `None` if `values` is of another type.
    fn slots<'t>(values: &'t mut Values<'_>) -> Option<&'t mut [MaybeUninit<Self::Value>]>;

    /// The value of a field's content.
    fn exact(self, content: &[u8], heap: &mut Heap<'_>) -> Result<Self::Value, Reason>;
}

/// How the usual field of a type is read.
pub(crate) trait Conversion: Exact {
    /// The value of the `len` bytes at `field` if they are in the usual form; `None` leaves them to `exact`,
    /// and must do so wherever `exact` would give anything else.
    ///
    /// # Safety
    ///
    /// `len` plus [`crate::PADDING`] bytes can be read at `field`, and the CPU runs the conversion's
    /// instructions.
    unsafe fn fast(self, field: *const u8, len: usize, heap: &mut Heap<'_>) -> Option<Self::Value>;
}

/// What all columns of a rule share.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) rule: FieldRule,
    pub(crate) dialect: Dialect,
    /// Whether an unquoted field equal to the NULL text is NULL and allowed, and the NULL text holds no quote.
    /// Then equality of the raw field is enough.
    pub(crate) null_is_plain: bool,
    /// Whether the NULL text has to be looked for before the fast path, which would take it for a value.
    pub(crate) null_first: bool,
}

impl Settings {
    /// Whether the raw field is an allowed NULL, as far as a glance tells. What it misses, `slow` finds.
    #[inline(always)]
    pub(crate) fn is_plain_null(&self, raw: &[u8]) -> bool {
        let null = &*self.rule.null_text;
        raw.len() == null.len() && self.null_is_plain && raw == null
    }

    /// Whether the raw field may be NULL, allowed or not.
    #[inline(always)]
    pub(crate) fn may_be_null(&self, raw: &[u8]) -> bool {
        let null = &*self.rule.null_text;
        raw.len() == null.len() && !self.rule.force_not_null && raw == null
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
        let may_be_null = if quoted { self.rule.force_null } else { !self.rule.force_not_null };
        if !may_be_null || content != &*self.rule.null_text {
            conversion.exact(content, heap).map(Some)
        } else if self.rule.nullable {
            Ok(None)
        } else {
            Err(Reason::Null)
        }
    }
}

/// The fields of one column.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    text: &'a [u8],
    marks: &'a [u32],
    stride: usize,
    count: usize,
}

impl<'a> Fields<'a> {
    /// Column `column` of `rows`.
    pub(crate) fn new(rows: &Rows<'a>, column: usize) -> Fields<'a> {
        assert!(column < rows.fields(), "column {column} of rows of {} fields", rows.fields());
        let (marks, stride) = rows.raw_marks();
        let count = rows.count();
        if count == 0 {
            return Fields { text: rows.text().text(), marks: &[], stride, count };
        }
        let marks = &marks[column..];
        assert!((count - 1) * stride + 1 < marks.len(), "marks for {count} rows");
        Fields { text: rows.text().text(), marks, stride, count }
    }

    /// Number of rows.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Start and end of the raw field of `row`.
    ///
    /// # Safety
    ///
    /// `row` is less than the number of rows.
    #[inline(always)]
    pub(crate) unsafe fn bounds(&self, row: usize) -> (u32, u32) {
        let at = row * self.stride;
        // SAFETY: `new` checked that the marks reach to the last row.
        unsafe { (self.marks.get_unchecked(at).wrapping_add(1), *self.marks.get_unchecked(at + 1)) }
    }

    /// The raw field of `row`.
    ///
    /// # Safety
    ///
    /// `row` is less than the number of rows.
    #[inline(always)]
    pub(crate) unsafe fn raw(&self, row: usize) -> &'a [u8] {
        // SAFETY: as the caller promises. Marks are ascending positions within the text, none twice.
        unsafe {
            let (start, end) = self.bounds(row);
            self.text.get_unchecked(start as usize..end as usize)
        }
    }

    /// The error of `row`.
    #[cold]
    pub(crate) fn error(&self, row: usize, reason: Reason) -> FieldError {
        assert!(row < self.count);
        // SAFETY: just checked.
        let (start, end) = unsafe { self.bounds(row) };
        FieldError { row, start, end, reason }
    }
}

/// Reads one column. `GENERAL` is the variant for text that holds quotes and for a NULL text that is a value.
///
/// # Safety
///
/// The CPU runs the conversion's instructions.
#[inline(always)]
pub(crate) unsafe fn decode<C: Conversion, const GENERAL: bool>(
    settings: &Settings,
    rows: &Rows<'_>,
    column: usize,
    target: &mut Target<'_, '_>,
) -> Result<(), FieldError> {
    let conversion = C::new(settings.rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<C>(&mut target.values, fields.count());
    let (heap, validity) = (&mut *target.heap, &mut target.validity);
    let quote = if GENERAL && rows.traits().quotes { settings.dialect.quote() } else { None };
    let mut scratch = Vec::new();
    for (row, slot) in slots.iter_mut().enumerate() {
        // SAFETY: there is a slot per row.
        let raw = unsafe { fields.raw(row) };
        let content = if GENERAL { strip_pair(raw, quote) } else { raw };
        let fast = if GENERAL && settings.null_first && content == &*settings.rule.null_text {
            None
        } else {
            // SAFETY: a field of the text has `PADDING` readable bytes behind it.
            unsafe { conversion.fast(content.as_ptr(), content.len(), heap) }
        };
        let value = match fast {
            Some(value) => value,
            None => rest(settings, conversion, raw, row, heap, validity, &mut scratch)
                .map_err(|reason| fields.error(row, reason))?,
        };
        slot.write(value);
    }
    Ok(())
}

/// The slots of `rows` rows.
pub(crate) fn slots_of<'t, C: Exact>(
    values: &'t mut Values<'_>,
    rows: usize,
) -> &'t mut [MaybeUninit<C::Value>] {
    let slots = C::slots(values).expect("the target's slots are of the column's type");
    assert!(slots.len() == rows, "{} slots for {rows} rows", slots.len());
    slots
}

/// `raw` without a pair of quotes around it. What is left may hold further quotes, which no fast path takes.
#[inline(always)]
fn strip_pair(raw: &[u8], quote: Option<u8>) -> &[u8] {
    match (quote, raw) {
        (Some(quote), [first, content @ .., last]) if *first == quote && *last == quote => content,
        _ => raw,
    }
}

/// What the fast path has refused: NULL, or something for the exact path.
#[inline(always)]
pub(crate) fn rest<C: Exact>(
    settings: &Settings,
    conversion: C,
    raw: &[u8],
    row: usize,
    heap: &mut Heap<'_>,
    validity: &mut Validity<'_>,
    scratch: &mut Vec<u8>,
) -> Result<C::Value, Reason> {
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
) -> Result<(), FieldError> {
    let conversion = C::new(settings.rule.value_type);
    let fields = Fields::new(rows, column);
    let slots = slots_of::<C>(&mut target.values, fields.count());
    let mut scratch = Vec::new();
    for (row, slot) in slots.iter_mut().enumerate() {
        // SAFETY: there is a slot per row.
        let raw = unsafe { fields.raw(row) };
        let value = rest(settings, conversion, raw, row, target.heap, &mut target.validity, &mut scratch)
            .map_err(|reason| fields.error(row, reason))?;
        slot.write(value);
    }
    Ok(())
}
