//! Texts that managers hand in.

use std::ffi::{CStr, c_char};

use super::abi::INVALID_ARGUMENT;
use super::problem::Problem;

/// A text that a manager gives; `None` for null.
///
/// # Safety
/// It is null, or NUL ends it, and it lives as long as the call.
pub(super) unsafe fn optional<'a>(text: *const c_char) -> Result<Option<&'a str>, Problem> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(Some).map_err(|_| Problem::new(INVALID_ARGUMENT, "a text is no UTF-8"))
}

/// The same, where there must be one.
///
/// # Safety
/// As for [`optional`].
pub(super) unsafe fn given<'a>(text: *const c_char) -> Result<&'a str, Problem> {
    // SAFETY: as the caller says.
    unsafe { optional(text) }?.ok_or_else(|| Problem::new(INVALID_ARGUMENT, "a text is missing"))
}
