//! Exact sums, differences and products of numbers, quotients with as many digits as numeric has, remainders.
//!
//! Paths compute with few numbers of few digits, so digits are computed one by one.

use std::cmp::Ordering;

use crate::error::{JsonError, Problem};
use crate::number::{Number, overflow};

/// Digits of an operand, at most, where the work grows with their product.
const DIGITS_MAX: usize = 20_000;
/// Digits behind the point of a quotient, at most; as in PostgreSQL.
const SCALE_MAX: i64 = 1000;
/// Digits that a quotient has at least, and how many of them PostgreSQL computes at a time.
const SIGNIFICANT_DIGITS_MIN: i64 = 16;
const GROUP_DIGITS: i64 = 4;

/// What two numbers are made one by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// `left` and `right` made one.
pub(crate) fn compute(operation: Operation, left: &Number, right: &Number) -> Result<Number, JsonError> {
    let (left, right) = (Decimal::of(left), Decimal::of(right));
    if left.digits.len().max(right.digits.len()) > DIGITS_MAX {
        return Err(overflow());
    }
    let result = match operation {
        Operation::Add => add(&left, &right),
        Operation::Subtract => add(&left, &right.negated()),
        Operation::Multiply => Decimal {
            is_negative: left.is_negative != right.is_negative,
            digits: multiply(&left.digits, &right.digits),
            scale: left.scale + right.scale,
        },
        Operation::Divide | Operation::Remainder if right.is_zero() => {
            return Err(JsonError::new(Problem::DivisionByZero, "division by zero"));
        }
        Operation::Divide => divide(&left, &right),
        Operation::Remainder => remainder(&left, &right),
    };
    result.number()
}

/// The largest whole number that is not above `number`.
pub(crate) fn floor(number: &Number) -> Result<Number, JsonError> {
    let (is_negative, _, fraction) = number.parts();
    let one = if is_negative && !fraction.is_empty() { "1" } else { "0" };
    compute(Operation::Subtract, &truncated(number), &Number::new(one)?)
}

/// The smallest whole number that is not below `number`.
pub(crate) fn ceiling(number: &Number) -> Result<Number, JsonError> {
    negated(&floor(&negated(number))?).normal()
}

/// `-number`.
pub(crate) fn negated(number: &Number) -> Number {
    let text = number.as_str();
    Number::of_numeric(match text.strip_prefix('-') {
        Some(text) => text.to_owned(),
        None if text.bytes().all(|byte| matches!(byte, b'0' | b'.')) => text.to_owned(),
        None => format!("-{text}"),
    })
}

fn truncated(number: &Number) -> Number {
    let whole = number.as_str().split('.').next().unwrap_or("0");
    Number::of_numeric(if whole == "-0" { "0".to_owned() } else { whole.to_owned() })
}

impl Number {
    fn normal(&self) -> Result<Self, JsonError> {
        Self::new(self.as_str())
    }
}

/// Digits from the first to the last, of which `scale` are behind the point.
struct Decimal {
    is_negative: bool,
    digits: Vec<u8>,
    scale: usize,
}

impl Decimal {
    fn of(number: &Number) -> Self {
        let text = number.as_str();
        let (is_negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let scale = unsigned.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = unsigned.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Self { is_negative, digits: without_leading_zeros(digits), scale }
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    fn negated(&self) -> Self {
        Self { is_negative: !self.is_negative, digits: self.digits.clone(), scale: self.scale }
    }

    /// The digits with `scale` of them behind the point, which are not fewer than there are.
    fn scaled(&self, scale: usize) -> Vec<u8> {
        let mut digits = self.digits.clone();
        if !digits.is_empty() {
            digits.extend(std::iter::repeat_n(0, scale - self.scale));
        }
        digits
    }

    /// The power of ten of the first digit.
    fn exponent(&self) -> i64 {
        self.digits.len() as i64 - 1 - self.scale as i64
    }

    /// The place of the first group of four digits, and that group.
    fn first_group(&self) -> (i64, i64) {
        let weight = self.exponent().div_euclid(GROUP_DIGITS);
        let in_group = (self.exponent() - weight * GROUP_DIGITS + 1) as usize;
        let digits = self.digits.iter().copied().chain(std::iter::repeat(0)).take(in_group);
        (weight, digits.fold(0, |group, digit| group * 10 + i64::from(digit)))
    }

    fn number(&self) -> Result<Number, JsonError> {
        let mut text = String::from(if self.is_negative { "-" } else { "" });
        let missing = (self.scale + 1).saturating_sub(self.digits.len());
        let digits = std::iter::repeat_n(0, missing).chain(self.digits.iter().copied());
        for (at, digit) in digits.enumerate() {
            if at + self.scale == self.digits.len() + missing {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        Number::new(&text)
    }
}

fn without_leading_zeros(mut digits: Vec<u8>) -> Vec<u8> {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..zeros);
    digits
}

fn compare(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

fn add(left: &Decimal, right: &Decimal) -> Decimal {
    let scale = left.scale.max(right.scale);
    let (left_digits, right_digits) = (left.scaled(scale), right.scaled(scale));
    if left.is_negative == right.is_negative {
        return Decimal { is_negative: left.is_negative, digits: sum(&left_digits, &right_digits), scale };
    }
    match compare(&left_digits, &right_digits) {
        Ordering::Less => {
            Decimal { is_negative: right.is_negative, digits: difference(&right_digits, &left_digits), scale }
        }
        _ => Decimal { is_negative: left.is_negative, digits: difference(&left_digits, &right_digits), scale },
    }
}

fn sum(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = Vec::with_capacity(left.len().max(right.len()) + 1);
    let mut carry = 0;
    let (mut left, mut right) = (left.iter().rev(), right.iter().rev());
    loop {
        let pair = (left.next(), right.next());
        if pair == (None, None) {
            break;
        }
        let digit = pair.0.copied().unwrap_or(0) + pair.1.copied().unwrap_or(0) + carry;
        digits.push(digit % 10);
        carry = digit / 10;
    }
    digits.push(carry);
    digits.reverse();
    without_leading_zeros(digits)
}

/// `left` is not the smaller one.
fn difference(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut digits = left.to_vec();
    let shift = left.len() - right.len();
    let mut borrow = 0;
    for at in (0..digits.len()).rev() {
        let taken = if at >= shift { right[at - shift] } else { 0 } + borrow;
        borrow = u8::from(digits[at] < taken);
        digits[at] = digits[at] + 10 * borrow - taken;
    }
    without_leading_zeros(digits)
}

fn multiply(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut places = vec![0_u64; left.len() + right.len()];
    for (at, digit) in left.iter().enumerate() {
        for (other, factor) in right.iter().enumerate() {
            places[at + other + 1] += u64::from(digit * factor);
        }
    }
    let mut carry = 0;
    let mut digits: Vec<u8> = Vec::with_capacity(places.len());
    for place in places.into_iter().rev() {
        let value = place + carry;
        digits.push((value % 10) as u8);
        carry = value / 10;
    }
    digits.reverse();
    without_leading_zeros(digits)
}

/// The whole part of `left / right`, and what is left.
fn quotient(left: &[u8], right: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut digits = Vec::with_capacity(left.len());
    let mut rest: Vec<u8> = Vec::with_capacity(right.len() + 1);
    for digit in left {
        if !(rest.is_empty() && *digit == 0) {
            rest.push(*digit);
        }
        let mut times = 0;
        while compare(&rest, right) != Ordering::Less {
            rest = difference(&rest, right);
            times += 1;
        }
        digits.push(times);
    }
    (without_leading_zeros(digits), rest)
}

/// As numeric divides: at least 16 digits, the last one rounded.
fn divide(left: &Decimal, right: &Decimal) -> Decimal {
    let ((left_weight, left_group), (right_weight, right_group)) =
        if left.is_zero() { ((0, 0), right.first_group()) } else { (left.first_group(), right.first_group()) };
    let weight = left_weight - right_weight - i64::from(left_group <= right_group);
    let scale = (SIGNIFICANT_DIGITS_MIN - weight * GROUP_DIGITS)
        .max(left.scale as i64)
        .max(right.scale as i64)
        .clamp(0, SCALE_MAX) as usize;
    // One more digit, to round by.
    let mut dividend = left.digits.clone();
    let mut divisor = right.digits.clone();
    let shift = scale as i64 + 1 + right.scale as i64 - left.scale as i64;
    let longer = if shift >= 0 { &mut dividend } else { &mut divisor };
    longer.extend(std::iter::repeat_n(0, shift.unsigned_abs() as usize));
    let (mut digits, _) = quotient(&without_leading_zeros(dividend), &divisor);
    let rounds_up = digits.pop().is_some_and(|last| last >= 5);
    let digits = if rounds_up { sum(&digits, &[1]) } else { digits };
    Decimal { is_negative: left.is_negative != right.is_negative, digits, scale }
}

fn remainder(left: &Decimal, right: &Decimal) -> Decimal {
    let scale = left.scale.max(right.scale);
    let (_, digits) = quotient(&left.scaled(scale), &right.scaled(scale));
    Decimal { is_negative: left.is_negative, digits, scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_computed_as_numeric_does() {
        use Operation::{Add, Divide, Multiply, Remainder, Subtract};
        for (left, operation, right, expected) in [
            ("1", Add, "2.50", "3.50"),
            ("-1", Add, "1.0", "0.0"),
            ("99.9", Add, "0.1", "100.0"),
            ("1", Subtract, "3", "-2"),
            ("-0.5", Multiply, "1.5", "-0.75"),
            ("0", Multiply, "5", "0"),
            ("1", Divide, "3", "0.33333333333333333333"),
            ("2", Divide, "3", "0.66666666666666666667"),
            ("10", Divide, "4", "2.5000000000000000"),
            ("12", Divide, "2", "6.0000000000000000"),
            ("0", Divide, "3", "0.00000000000000000000"),
            ("-7", Remainder, "3", "-1"),
            ("7.5", Remainder, "2", "1.5"),
        ] {
            let result = compute(operation, &Number::new(left).unwrap(), &Number::new(right).unwrap());
            assert_eq!(result.unwrap().as_str(), expected, "{left} {operation:?} {right}");
        }
        assert!(compute(Divide, &Number::from(1), &Number::new("0.0").unwrap()).is_err());
    }

    #[test]
    fn numbers_are_rounded_to_whole_ones() {
        for (text, down, up) in [("1.5", "1", "2"), ("-1.5", "-2", "-1"), ("-0.5", "-1", "0"), ("3.0", "3", "3")] {
            let number = Number::new(text).unwrap();
            assert_eq!(floor(&number).unwrap().as_str(), down, "{text}");
            assert_eq!(ceiling(&number).unwrap().as_str(), up, "{text}");
        }
    }
}
