//! Regular expressions that were used lately: an expression is a constant, most of the time.

use std::cell::RefCell;
use std::rc::Rc;

use longshore_regex::{Error as RegexError, Options, Regex};

use crate::{Error, ErrorKind};

/// Expressions that a thread keeps, as PostgreSQL does.
const KEPT_MAX: usize = 32;

/// An expression, and what it was made of.
struct Kept {
    pattern: String,
    options: Options,
    expression: Rc<Regex>,
}

thread_local! {
    /// The one that was used last stands first.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The options that flags name.
pub(super) fn options(flags: &str) -> Result<Options, Error> {
    Options::of_flags(flags).map_err(failed)
}

/// The expression that `pattern` is.
pub(super) fn compiled(pattern: &str, options: Options) -> Result<Rc<Regex>, Error> {
    let options = Options { global: false, ..options };
    KEPT.with_borrow_mut(|kept| {
        if let Some(at) = kept.iter().position(|one| one.options == options && one.pattern == pattern) {
            kept[..=at].rotate_right(1);
            return Ok(Rc::clone(&kept[0].expression));
        }
        let expression = Rc::new(Regex::new(pattern, options).map_err(failed)?);
        kept.truncate(KEPT_MAX - 1);
        kept.insert(0, Kept { pattern: pattern.to_owned(), options, expression: Rc::clone(&expression) });
        Ok(expression)
    })
}

/// An error of an expression as ours.
#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
pub(super) fn failed(error: RegexError) -> Error {
    let kind = match error {
        RegexError::Invalid(_) => ErrorKind::RegularExpression,
        RegexError::Unsupported(_) => ErrorKind::Unsupported,
        RegexError::Flag(_) => ErrorKind::Invalid,
        RegexError::TooManySteps => ErrorKind::TooComplex,
    };
    Error::new(kind, error.to_string())
}
