//! Sums of values and of their squares, for sums, averages and variances.

use crate::arithmetic::CHOSEN_SCALE_MAX;
use crate::digits::Digits;
use crate::error::NumberError;
use crate::number::{Decimal, Number};

/// What is known of some values.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    count: u64,
    sum: Option<Decimal>,
    squares: Option<Decimal>,
    nan: u64,
    above: u64,
    below: u64,
}

/// How far values lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spread {
    /// Whether the values are a sample, or all there are.
    pub sample: bool,
    /// Whether the root is taken.
    pub root: bool,
}

impl Moments {
    /// Adds a value; its square is added, too, if `squares` says so.
    pub fn add(&mut self, value: &Number, squares: bool) {
        self.count += 1;
        match value {
            Number::NaN => self.nan += 1,
            Number::Infinity { negative: false } => self.above += 1,
            Number::Infinity { negative: true } => self.below += 1,
            Number::Finite(value) => {
                add(&mut self.sum, value);
                if squares {
                    add(&mut self.squares, &value.times(value));
                }
            }
        }
    }

    /// Takes a value away that was added.
    pub fn remove(&mut self, value: &Number, squares: bool) {
        self.count = self.count.saturating_sub(1);
        match value {
            Number::NaN => self.nan = self.nan.saturating_sub(1),
            Number::Infinity { negative: false } => self.above = self.above.saturating_sub(1),
            Number::Infinity { negative: true } => self.below = self.below.saturating_sub(1),
            Number::Finite(value) => {
                add(&mut self.sum, &value.negated());
                if squares {
                    add(&mut self.squares, &value.times(value).negated());
                }
            }
        }
    }

    /// Adds what is known of other values.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.nan += other.nan;
        self.above += other.above;
        self.below += other.below;
        for (own, others) in [(&mut self.sum, &other.sum), (&mut self.squares, &other.squares)] {
            if let Some(others) = others {
                add(own, others);
            }
        }
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    fn special(&self) -> Option<Number> {
        match (self.nan, self.above, self.below) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(Number::Infinity { negative: false }),
            (0, 0, _) => Some(Number::Infinity { negative: true }),
            _ => Some(Number::NaN),
        }
    }

    /// The sum; `None` of no values.
    ///
    /// # Errors
    /// When it has too many digits.
    pub fn sum(&self) -> Result<Option<Number>, NumberError> {
        if self.count == 0 {
            return Ok(None);
        }
        if let Some(special) = self.special() {
            return Ok(Some(special));
        }
        let Some(sum) = &self.sum else { return Ok(None) };
        Decimal::checked(sum.digits.clone(), sum.scale).map(|sum| Some(Number::Finite(sum)))
    }

    /// The average; `None` of no values.
    ///
    /// # Errors
    /// When the sum has too many digits.
    pub fn average(&self) -> Result<Option<Number>, NumberError> {
        let count = Number::new(self.count.into(), 0);
        self.sum()?.map(|sum| sum.divided(&count)).transpose()
    }

    /// The variance or its root; `None` of too few values.
    ///
    /// # Errors
    /// When it has too many digits.
    pub fn spread(&self, spread: Spread) -> Result<Option<Number>, NumberError> {
        if self.count == 0 || spread.sample && self.count == 1 {
            return Ok(None);
        }
        if self.special().is_some() {
            return Ok(Some(Number::NaN));
        }
        let (Some(sum), Some(squares)) = (&self.sum, &self.squares) else { return Ok(None) };
        let count = Decimal::new(self.count, 0);
        // n times the sum of the squares, less the square of the sum
        let dividend = count.times(squares).minus(&sum.times(sum));
        if dividend.digits.sign() <= 0 {
            return Ok(Some(Number::ZERO));
        }
        let others = if spread.sample { count.minus(&Decimal::new(1, 0)) } else { count.clone() };
        let divisor = count.times(&others);
        let scale = dividend.quotient_scale(&divisor).min(CHOSEN_SCALE_MAX as u32);
        let variance = dividend.divided(&divisor, scale)?;
        let value = if spread.root { variance.root(scale) } else { variance };
        Decimal::checked(value.digits, value.scale).map(|value| Some(Number::Finite(value)))
    }

    /// The numbers that it is made of, from which [`Moments::of_state`] makes it again.
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for count in [self.count, self.nan, self.above, self.below] {
            bytes.extend(count.to_le_bytes());
        }
        for part in [&self.sum, &self.squares] {
            let Some(part) = part else {
                bytes.extend(u32::MAX.to_le_bytes());
                continue;
            };
            let digits = part.digits.big().to_signed_bytes_le();
            bytes.extend(part.scale.to_le_bytes());
            bytes.extend((digits.len() as u32).to_le_bytes());
            bytes.extend(digits);
        }
        bytes
    }

    /// What a state was made of; `None` if it is no state.
    #[must_use]
    pub fn of_state(mut bytes: &[u8]) -> Option<Self> {
        let mut counts = [0_u64; 4];
        for count in &mut counts {
            let (taken, rest) = bytes.split_first_chunk()?;
            (*count, bytes) = (u64::from_le_bytes(*taken), rest);
        }
        let mut part = || {
            let (scale, rest) = bytes.split_first_chunk()?;
            bytes = rest;
            let scale = u32::from_le_bytes(*scale);
            if scale == u32::MAX {
                return Some(None);
            }
            let (length, rest) = bytes.split_first_chunk()?;
            let (digits, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            bytes = rest;
            let digits = Digits::of(num_bigint::BigInt::from_signed_bytes_le(digits));
            Some(Some(Decimal { digits, scale }))
        };
        let (sum, squares) = (part()?, part()?);
        let [count, nan, above, below] = counts;
        Some(Self { count, sum, squares, nan, above, below })
    }
}

fn add(sum: &mut Option<Decimal>, value: &Decimal) {
    *sum = Some(match sum {
        Some(sum) => sum.plus(value),
        None => value.clone(),
    });
}
