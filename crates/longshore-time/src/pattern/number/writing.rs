//! `to_char` of numbers.

use std::fmt::Write as _;

use super::description::{Anchor, Description};
use super::{Key, Node, NumberPattern};
use crate::pattern::nodes::{Ordinal, ending};

/// Digits that a double precision number has for certain.
const FLOAT_DIGITS: usize = 15;
const ROMAN_WIDTH: usize = 15;
const ROMAN_MAX: i64 = 3999;
/// Roman numbers, those of two letters where one is taken from the other.
const ROMANS: [(i64, &str); 13] = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// A number to be written.
#[derive(Debug, Clone, Copy)]
pub enum Number<'a> {
    /// All digits of a whole or decimal number; `NaN`, `Infinity` and `-Infinity` as well.
    Decimal(&'a str),
    /// A double precision number.
    Float(f64),
}

impl NumberPattern {
    /// `to_char` of a number.
    #[must_use]
    pub fn write(&self, number: Number<'_>) -> String {
        if self.nodes.is_empty() {
            return String::new();
        }
        let mut description = self.description;
        if description.has_exponent {
            return scientific(number, description.before, description.behind);
        }
        if description.is_roman {
            let roman = roman(whole(number));
            return Writer::new(description, roman, '+', 0).write(&self.nodes);
        }
        let shift = description.shift;
        let text = match number {
            Number::Decimal(text) => rounded(&shifted(text, shift), description.behind),
            Number::Float(value) => {
                let value = value * 10_f64.powi(shift as i32);
                let digits = format!("{:.0}", value.abs()).len();
                description.behind = description.behind.min(FLOAT_DIGITS.saturating_sub(digits));
                format!("{value:.*}", description.behind)
            }
        };
        description.before += shift;
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', text.as_str()),
        };
        let length = digits.find('.').unwrap_or(digits.len());
        let is_finite = digits.starts_with(|c: char| c.is_ascii_digit());
        let (digits, blanks) = if !is_finite {
            // NaN and the infinite ones.
            overflow(description, digits, length)
        } else if length > description.before {
            (hashes(description), 0)
        } else {
            (digits.to_owned(), description.before - length)
        };
        Writer::new(description, digits, sign, blanks).write(&self.nodes)
    }
}

/// What is written for NaN and the infinite numbers, and the blanks before it.
fn overflow(description: Description, word: &str, length: usize) -> (String, usize) {
    if length > description.before { (hashes(description), 0) } else { (word.to_owned(), description.before - length) }
}

/// What stands for a number that is too long.
fn hashes(description: Description) -> String {
    format!("{}.{}", "#".repeat(description.before), "#".repeat(description.behind))
}

/// A decimal number times a power of ten.
fn shifted(text: &str, shift: usize) -> String {
    if shift == 0 {
        return text.to_owned();
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut fraction = fraction.to_owned();
    while fraction.len() < shift {
        fraction.push('0');
    }
    let (up, rest) = fraction.split_at(shift);
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let joined = format!("{digits}{up}");
    let digits = joined.trim_start_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    if rest.is_empty() { format!("{sign}{digits}") } else { format!("{sign}{digits}.{rest}") }
}

/// A decimal number with so many digits behind the point, rounded half away from zero.
fn rounded(text: &str, scale: usize) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return text.to_owned();
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all: Vec<u8> = whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(scale)).collect();
    let is_up = fraction.as_bytes().get(scale).is_some_and(|digit| *digit >= b'5');
    if is_up {
        let mut at = all.len();
        loop {
            if at == 0 {
                all.insert(0, b'1');
                break;
            }
            at -= 1;
            if all[at] == b'9' {
                all[at] = b'0';
            } else {
                all[at] += 1;
                break;
            }
        }
    }
    let is_zero = all.iter().all(|digit| *digit == b'0');
    let sign = if is_zero { "" } else { sign };
    let digits: String = all.into_iter().map(char::from).collect();
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// The number as a whole one, if that is one of 32 bits.
fn whole(number: Number<'_>) -> i64 {
    match number {
        Number::Float(value) => value.round_ties_even() as i64,
        Number::Decimal(text) => rounded(text, 0).parse().unwrap_or(0),
    }
}

fn roman(number: i64) -> String {
    if !(1..=ROMAN_MAX).contains(&number) {
        return "#".repeat(ROMAN_WIDTH);
    }
    let mut rest = number;
    let mut text = String::new();
    for (value, letters) in ROMANS {
        while rest >= value {
            text.push_str(letters);
            rest -= value;
        }
    }
    text
}

/// `EEEE`: one digit, the point, digits, and the exponent.
fn scientific(number: Number<'_>, before: usize, behind: usize) -> String {
    let special = || {
        let mut text = vec!['#'; before + behind + 6];
        text[0] = ' ';
        if let Some(point) = text.get_mut(before + 1) {
            *point = '.';
        }
        text.into_iter().collect::<String>()
    };
    let (sign, mantissa, exponent) = match number {
        Number::Float(value) if !value.is_finite() => return special(),
        Number::Float(value) => {
            let text = format!("{:.*e}", behind, value.abs());
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            (value.is_sign_negative(), mantissa.to_owned(), exponent.parse::<i64>().unwrap_or(0))
        }
        Number::Decimal(text) => {
            let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
            if !digits.starts_with(|c: char| c.is_ascii_digit()) {
                return special();
            }
            let (mantissa, exponent) = decimal_scientific(digits, behind);
            (is_negative, mantissa, exponent)
        }
    };
    let sign = if sign { '-' } else { ' ' };
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{mantissa}e{exponent_sign}{:02}", exponent.abs())
}

fn decimal_scientific(digits: &str, behind: usize) -> (String, i64) {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let Some(first) = all.find(|c| c != '0') else {
        return (rounded("0", behind), 0);
    };
    let exponent = whole.len() as i64 - first as i64 - 1;
    let mantissa = format!("{}.{}", &all[first..=first], &all[first + 1..]);
    let mantissa = rounded(mantissa.trim_end_matches('.'), behind);
    // Rounding may have added a digit.
    match mantissa.strip_prefix("10") {
        Some(rest) => (
            format!("1{}", if behind > 0 { format!(".0{}", &rest[1..rest.len() - 1]) } else { String::new() }),
            exponent + 1,
        ),
        None => (mantissa, exponent),
    }
}

/// Writes a number digit by digit, as the pattern says.
struct Writer {
    description: Description,
    /// The digits and the point.
    number: Vec<u8>,
    at: usize,
    sign: char,
    is_sign_written: bool,
    /// Digits of the pattern before the first one of the number.
    blanks: usize,
    /// Digits of the pattern so far, and how many there are.
    current: usize,
    count: usize,
    /// The last character of the number that counts, if zeros at the end do not.
    last_relevant: Option<usize>,
    is_inside: bool,
    out: String,
}

impl Writer {
    fn new(mut description: Description, number: String, sign: char, blanks: usize) -> Self {
        description.zero_start = description.zero_start.saturating_sub(1);
        let mut blanks = blanks;
        if description.is_roman {
            let is_filled = description.is_filled;
            description = Description { is_filled, is_roman: true, ..Description::default() };
            blanks = 0;
        }
        let is_sign_written = if description.has_plus || description.has_minus {
            !description.has_plus || description.has_minus
        } else {
            if sign != '-' && description.has_bracket && description.is_filled {
                description.has_bracket = false;
            }
            let needs_none = sign == '+' && description.is_filled && !description.is_anchored();
            if description.anchor == Anchor::Before && description.before == description.digits_before_sign {
                description.anchor = Anchor::Behind;
            }
            needs_none
        };
        let mut count = (description.behind + description.before).wrapping_sub(1);
        let number = number.into_bytes();
        let mut last_relevant = None;
        if description.is_filled && description.has_point {
            last_relevant = number.iter().position(|byte| *byte == b'.').map(|point| {
                let last = number.iter().rposition(|byte| *byte != b'0').unwrap_or(point);
                last.max(point)
            });
            if let Some(last) = &mut last_relevant
                && description.zero_end > blanks
            {
                let zero = (number.len() - 1).min(description.zero_end - blanks);
                *last = (*last).max(zero);
            }
        }
        if !is_sign_written && blanks == 0 {
            count = count.wrapping_add(1);
        }
        Self {
            description,
            number,
            at: 0,
            sign,
            is_sign_written,
            blanks,
            current: 0,
            count,
            last_relevant,
            is_inside: false,
            out: String::new(),
        }
    }

    fn write(mut self, nodes: &[Node]) -> String {
        for node in nodes {
            match node {
                Node::Text(char) => self.out.push(*char),
                Node::Key(key) => self.key(*key),
            }
        }
        self.out
    }

    fn key(&mut self, key: Key) {
        let is_filled = self.description.is_filled;
        let unless_filled = |out: &mut String| {
            if !is_filled {
                out.push(' ');
            }
        };
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::LocalPoint => self.digit(key),
            Key::Comma | Key::Group if self.is_inside => self.out.push(','),
            Key::Currency => self.out.push(' '),
            Key::Roman | Key::LowerRoman => {
                let number = String::from_utf8_lossy(&self.number).into_owned();
                let number = if key == Key::LowerRoman { number.to_lowercase() } else { number };
                if is_filled {
                    self.out.push_str(&number);
                } else {
                    let _ = write!(self.out, "{number:>15}");
                }
            }
            Key::UpperOrdinal | Key::LowerOrdinal => {
                let has_none = self.description.is_roman
                    || self.number.first() == Some(&b'#')
                    || self.sign == '-'
                    || self.description.has_point;
                if !has_none {
                    let ordinal = if key == Key::UpperOrdinal { Ordinal::Upper } else { Ordinal::Lower };
                    let number = String::from_utf8_lossy(&self.number).into_owned();
                    self.out.push_str(ending(&number, ordinal).unwrap_or_default());
                }
            }
            Key::Minus if self.sign == '-' => self.out.push('-'),
            Key::Plus if self.sign == '+' => self.out.push('+'),
            Key::Comma | Key::Group | Key::Minus | Key::Plus => unless_filled(&mut self.out),
            Key::Sign => self.out.push(self.sign),
            _ => {}
        }
    }

    /// Whether the digit is the 0 before a point that is not written: `9.9` gives ` .1`.
    fn is_zero_before_point(&self) -> bool {
        !self.description.has_zero && self.at == 0 && self.number.first() == Some(&b'0') && self.description.behind != 0
    }

    /// Whether the number ends with its point.
    fn ends_with_point(&self) -> bool {
        self.last_relevant.is_some_and(|last| self.number.get(last) == Some(&b'.'))
    }

    fn digit(&mut self, key: Key) {
        if self.description.is_roman {
            return;
        }
        self.is_inside = false;
        let is_zero_start = self.description.has_zero && self.description.zero_start == self.current;
        let is_first = self.current >= self.blanks || is_zero_start;
        if !self.is_sign_written && is_first && (!self.is_zero_before_point() || self.ends_with_point()) {
            self.sign();
        }
        let has_zero = self.description.has_zero;
        let is_filled = self.description.is_filled;
        if self.current < self.blanks && (self.description.zero_start > self.current || !has_zero) {
            if !is_filled {
                self.out.push(' ');
            }
        } else if has_zero && self.current < self.blanks && self.description.zero_start <= self.current {
            self.out.push('0');
            self.is_inside = true;
        } else {
            match self.number.get(self.at).copied() {
                Some(b'.') => {
                    if !self.ends_with_point() || is_filled {
                        self.out.push('.');
                    }
                }
                digit => {
                    let is_beyond = self.last_relevant.is_some_and(|last| self.at > last) && key != Key::Zero;
                    if is_beyond {
                        // Zeros at the end are left out.
                    } else if self.is_zero_before_point() {
                        if !is_filled {
                            self.out.push(' ');
                        } else if self.ends_with_point() {
                            self.out.push('0');
                        }
                    } else if let Some(digit) = digit {
                        self.out.push(char::from(digit));
                        self.is_inside = true;
                    } else {
                        self.is_inside = true;
                    }
                }
            }
            if self.at < self.number.len() {
                self.at += 1;
            }
        }
        let mut end = self.count.wrapping_add(usize::from(self.blanks > 0) + usize::from(self.description.has_point));
        if self.last_relevant == Some(self.at) {
            end = self.current;
        }
        if self.current + 1 == end {
            if self.is_sign_written && self.description.has_bracket {
                self.out.push(if self.sign == '+' { ' ' } else { '>' });
            } else if self.description.anchor == Anchor::Behind {
                self.out.push(self.sign);
            }
        }
        self.current += 1;
    }

    fn sign(&mut self) {
        if self.description.is_anchored() {
            if self.description.anchor == Anchor::Before {
                self.out.push(self.sign);
                self.is_sign_written = true;
            }
            return;
        }
        if self.description.has_bracket {
            self.out.push(if self.sign == '+' { ' ' } else { '<' });
        } else if self.sign == '-' {
            self.out.push('-');
        } else if !self.description.is_filled {
            self.out.push(' ');
        }
        self.is_sign_written = true;
    }
}
