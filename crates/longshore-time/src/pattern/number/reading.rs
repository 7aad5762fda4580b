//! `to_number`.

use super::description::{Anchor, Description};
use super::{Key, Node, NumberPattern};
use crate::error::{Result, TimeError, TimeErrorKind};

/// The decimal text of the number in `text`, as the pattern finds it; `None` for an empty pattern.
///
/// # Errors
///
/// Patterns that only write, and texts without a number.
pub fn to_number(text: &str, pattern: &NumberPattern) -> Result<Option<String>> {
    if pattern.nodes.is_empty() {
        return Ok(None);
    }
    let description = pattern.description;
    if description.has_exponent {
        return Err(TimeError::unsupported("\"EEEE\" not supported for input"));
    }
    if description.is_roman {
        return Err(TimeError::unsupported("\"RN\" not supported for input"));
    }
    let mut reader = Reader {
        description,
        text: text.chars().collect(),
        at: 0,
        sign: ' ',
        digits: String::new(),
        before: 0,
        behind: 0,
        has_point: false,
    };
    reader.read(&pattern.nodes);
    let sign = if reader.sign == '-' { "-" } else { "" };
    let digits = reader.digits.trim_end_matches('.');
    if !digits.contains(|c: char| c.is_ascii_digit()) {
        let shown = format!("{}{}", reader.sign, reader.digits);
        return Err(TimeError::new(
            TimeErrorKind::InvalidText,
            format!("invalid input syntax for type numeric: \"{shown}\""),
        ));
    }
    if reader.before > description.before + description.shift {
        return Err(TimeError::new(TimeErrorKind::OutOfRange, "numeric field overflow"));
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = if whole.is_empty() { "0" } else { whole };
    if description.shift == 0 {
        return Ok(Some(if fraction.is_empty() {
            format!("{sign}{whole}")
        } else {
            format!("{sign}{whole}.{fraction}")
        }));
    }
    // V moves the point to the left.
    let padded = format!("{whole:0>width$}", width = description.shift + 1);
    let (whole, moved) = padded.split_at(padded.len() - description.shift);
    Ok(Some(format!("{sign}{whole}.{moved}{fraction}")))
}

struct Reader {
    description: Description,
    text: Vec<char>,
    at: usize,
    sign: char,
    digits: String,
    /// Digits before the point, and behind it.
    before: usize,
    behind: usize,
    has_point: bool,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn read(&mut self, nodes: &[Node]) {
        for node in nodes {
            let Some(next) = self.peek() else { break };
            match node {
                Node::Text(_) => self.at += 1,
                Node::Key(Key::Nine | Key::Zero | Key::Point | Key::LocalPoint) => {
                    let is_digit = matches!(node, Node::Key(Key::Nine | Key::Zero));
                    self.digit(is_digit);
                    self.at += 1;
                }
                Node::Key(Key::Comma | Key::Group) => {
                    // Nothing has been written, so that a filled pattern skips none.
                    if !self.description.is_filled && next == ',' {
                        self.at += 1;
                    }
                }
                Node::Key(Key::Currency) => self.skip(1),
                Node::Key(Key::UpperOrdinal | Key::LowerOrdinal) => {
                    if !self.description.has_point {
                        self.skip(2);
                    }
                }
                Node::Key(key @ (Key::Minus | Key::Plus | Key::Sign)) => {
                    let takes = match next {
                        '-' => matches!(key, Key::Minus | Key::Sign),
                        '+' => matches!(key, Key::Plus | Key::Sign),
                        _ => false,
                    };
                    if takes {
                        self.sign = next;
                        self.at += 1;
                    } else {
                        self.skip(1);
                    }
                }
                Node::Key(_) => {}
            }
        }
    }

    /// Skips up to so many characters that belong to no number.
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            match self.peek() {
                Some('0'..='9' | '.' | ',' | '+' | '-') | None => break,
                Some(_) => self.at += 1,
            }
        }
    }

    fn digit(&mut self, is_digit: bool) {
        if self.peek() == Some(' ') {
            self.at += 1;
        }
        let Some(next) = self.peek() else { return };
        if self.sign == ' ' && is_digit && self.before + self.behind == 0 {
            let is_anchored = self.description.anchor == Anchor::Before;
            if next == '-' || next == '<' && self.description.has_bracket && !is_anchored {
                self.sign = '-';
                self.at += 1;
            } else if next == '+' {
                self.sign = '+';
                self.at += 1;
            }
        }
        let Some(next) = self.peek() else { return };
        let mut is_read = false;
        if next.is_ascii_digit() {
            if self.has_point && self.behind == self.description.behind {
                return;
            }
            self.digits.push(next);
            if self.has_point {
                self.behind += 1;
            } else {
                self.before += 1;
            }
            is_read = true;
        } else if self.description.has_point && !self.has_point && next == '.' {
            self.digits.push('.');
            self.has_point = true;
            is_read = true;
        }
        if self.sign != ' ' || self.before + self.behind == 0 {
            return;
        }
        let behind = self.text.get(self.at + 1).copied();
        if self.description.is_anchored() && is_read {
            if let Some(sign @ ('-' | '+')) = behind {
                self.sign = sign;
                self.at += 1;
            }
        } else if !is_read
            && !self.description.is_anchored()
            && (self.description.has_plus || self.description.has_minus)
            && matches!(next, '-' | '+')
        {
            self.sign = next;
        }
    }
}
