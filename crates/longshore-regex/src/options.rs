//! Flags: how an expression is read and matched.

use crate::error::{Error, Problem};

/// How an expression is read and matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of PostgreSQL's")]
pub struct Options {
    /// Small letters match capitals (`i`).
    pub ignore_case: bool,
    /// `.` and `[^...]` do not match a line feed (`n`, `p`).
    pub line_feeds_stop: bool,
    /// `^` and `$` also match at the ends of lines (`n`, `w`).
    pub lines_anchor: bool,
    /// Blanks and remarks do not count (`x`).
    pub expanded: bool,
    /// The pattern is a text that means itself (`q`).
    pub literal: bool,
    /// Only what POSIX has: a backslash makes any character mean itself (`e`).
    pub extended: bool,
    /// All matches (`g`), which only some functions take.
    pub global: bool,
}

impl Options {
    /// The options that `flags` names, where `g` is one.
    ///
    /// # Errors
    /// For other letters.
    pub fn of_flags(flags: &str) -> Result<Self, Error> {
        let mut options = Self::default();
        for flag in flags.chars() {
            if flag == 'g' {
                options.global = true;
            } else if !options.set(flag)? {
                return Err(Error::Flag(flag));
            }
        }
        Ok(options)
    }

    /// Takes the option that an expression itself names in front, as in `(?i)`.
    pub(crate) fn embedded(&mut self, flag: char) -> Result<(), Error> {
        if self.set(flag)? { Ok(()) } else { Err(Error::Invalid(Problem::EmbeddedOption)) }
    }

    /// Whether there is such a flag; it is set.
    fn set(&mut self, flag: char) -> Result<bool, Error> {
        match flag {
            'i' => self.ignore_case = true,
            'c' => self.ignore_case = false,
            'n' | 'm' => (self.line_feeds_stop, self.lines_anchor) = (true, true),
            's' => (self.line_feeds_stop, self.lines_anchor) = (false, false),
            'p' => (self.line_feeds_stop, self.lines_anchor) = (true, false),
            'w' => (self.line_feeds_stop, self.lines_anchor) = (false, true),
            'x' => self.expanded = true,
            't' => self.expanded = false,
            'q' => (self.literal, self.extended) = (true, false),
            'e' => (self.literal, self.extended) = (false, true),
            'b' => return Err(Error::Unsupported("basic regular expressions (flag b)")),
            _ => return Ok(false),
        }
        Ok(true)
    }
}
