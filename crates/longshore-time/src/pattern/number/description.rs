//! What a pattern of numbers says as a whole.

use super::Key;
use crate::error::{Result, TimeError, TimeErrorKind};

/// Where a sign `S` stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Anchor {
    #[default]
    None,
    Before,
    Behind,
}

/// Digits, signs and flags of a pattern.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword that stands in the pattern or not")]
pub(super) struct Description {
    /// Digits before the point, and behind it.
    pub(super) before: usize,
    pub(super) behind: usize,
    pub(super) anchor: Anchor,
    /// Digits before the sign `S`.
    pub(super) digits_before_sign: usize,
    /// Digits behind `V`.
    pub(super) shift: usize,
    /// The first digit that is written as 0 where there is none, from 1, and the last.
    pub(super) zero_start: usize,
    pub(super) zero_end: usize,
    pub(super) has_point: bool,
    pub(super) has_zero: bool,
    pub(super) is_blank: bool,
    pub(super) is_filled: bool,
    pub(super) has_bracket: bool,
    pub(super) has_minus: bool,
    pub(super) has_plus: bool,
    pub(super) is_roman: bool,
    pub(super) is_shifted: bool,
    pub(super) has_exponent: bool,
}

fn syntax(message: &str) -> TimeError {
    TimeError::new(TimeErrorKind::Syntax, message)
}

impl Description {
    pub(super) fn is_anchored(&self) -> bool {
        self.anchor != Anchor::None
    }

    /// Adds a keyword.
    pub(super) fn add(&mut self, key: Key) -> Result<()> {
        if self.has_exponent && key != Key::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        let has_sign = self.has_plus || self.has_minus;
        match key {
            Key::Nine if self.has_bracket => return Err(syntax("\"9\" must be ahead of \"PR\"")),
            Key::Nine if self.is_shifted => self.shift += 1,
            Key::Nine if self.has_point => self.behind += 1,
            Key::Nine => self.before += 1,
            Key::Zero if self.has_bracket => return Err(syntax("\"0\" must be ahead of \"PR\"")),
            Key::Zero => {
                if !self.has_zero && !self.has_point {
                    self.has_zero = true;
                    self.zero_start = self.before + 1;
                }
                if self.has_point {
                    self.behind += 1;
                } else {
                    self.before += 1;
                }
                self.zero_end = self.before + self.behind;
            }
            Key::Blank if self.before == 0 && self.behind == 0 && !self.has_zero => self.is_blank = true,
            Key::Point | Key::LocalPoint if self.has_point => return Err(syntax("multiple decimal points")),
            Key::Point | Key::LocalPoint if self.is_shifted => {
                return Err(syntax("cannot use \"V\" and decimal point together"));
            }
            Key::Point | Key::LocalPoint => self.has_point = true,
            Key::Fill => self.is_filled = true,
            Key::AnchoredSign if self.is_anchored() => return Err(syntax("cannot use \"S\" twice")),
            Key::AnchoredSign if has_sign || self.has_bracket => {
                return Err(syntax("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
            }
            Key::AnchoredSign if self.has_point => self.anchor = Anchor::Behind,
            Key::AnchoredSign => {
                self.anchor = Anchor::Before;
                self.digits_before_sign = self.before;
            }
            Key::Minus if self.is_anchored() => return Err(syntax("cannot use \"S\" and \"MI\" together")),
            Key::Minus => self.has_minus = true,
            Key::Plus if self.is_anchored() => return Err(syntax("cannot use \"S\" and \"PL\" together")),
            Key::Plus => self.has_plus = true,
            Key::Sign if self.is_anchored() => return Err(syntax("cannot use \"S\" and \"SG\" together")),
            Key::Sign => (self.has_minus, self.has_plus) = (true, true),
            Key::Bracket if self.is_anchored() || has_sign => {
                return Err(syntax("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
            }
            Key::Bracket => self.has_bracket = true,
            Key::Roman | Key::LowerRoman => self.is_roman = true,
            Key::Shift if self.has_point => return Err(syntax("cannot use \"V\" and decimal point together")),
            Key::Shift => self.is_shifted = true,
            Key::Exponent if self.has_exponent => return Err(syntax("cannot use \"EEEE\" twice")),
            Key::Exponent => {
                let has_other = self.is_blank
                    || self.is_filled
                    || self.is_anchored()
                    || self.has_bracket
                    || has_sign
                    || self.is_roman
                    || self.is_shifted;
                if has_other {
                    return Err(syntax("\"EEEE\" is incompatible with other formats"));
                }
                self.has_exponent = true;
            }
            _ => {}
        }
        Ok(())
    }
}
