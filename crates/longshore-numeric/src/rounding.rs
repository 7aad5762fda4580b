//! Numbers rounded to so many places, and to whole numbers.

use longshore_value::numeric::{SCALE_MAX, WHOLE_DIGITS_MAX};

use crate::digits::Digits;
use crate::error::NumberError;
use crate::number::{Decimal, Number};

/// Places before the point beyond which nothing is left.
const PLACES_MIN: i64 = -(WHOLE_DIGITS_MAX as i64) - 1;

impl Decimal {
    /// So many digits behind the point, or zeros for so many before it; halves go away from zero.
    pub(crate) fn rounded(&self, places: i64) -> Self {
        self.cut(places, Digits::divided_rounding)
    }

    fn truncated(&self, places: i64) -> Self {
        self.cut(places, |digits, by| digits.divided(by).0)
    }

    fn cut(&self, places: i64, divide: impl Fn(&Digits, &Digits) -> Digits) -> Self {
        let places = places.clamp(PLACES_MIN, SCALE_MAX as i64);
        let scale = places.max(0) as u32;
        let cut = i64::from(self.scale) - places;
        if cut <= 0 {
            return self.with_scale(scale);
        }
        if cut > i64::from(self.digits.count()) {
            return Self { digits: Digits::ZERO, scale };
        }
        let digits = divide(&self.digits, &Digits::Small(1).shifted(cut as u32));
        Self { digits: digits.shifted(places.min(0).unsigned_abs() as u32), scale }
    }
}

impl Number {
    fn each(&self, act: impl FnOnce(&Decimal) -> Decimal) -> Self {
        match self {
            Self::Finite(value) => Self::Finite(act(value)),
            special => special.clone(),
        }
    }

    /// Rounded to so many places behind the point, or before it if negative; halves go away from zero.
    ///
    /// # Errors
    /// When it has too many digits then.
    pub fn rounded(&self, places: i64) -> Result<Self, NumberError> {
        match self.each(|value| value.rounded(places)) {
            Self::Finite(value) => Decimal::checked(value.digits, value.scale).map(Self::Finite),
            special => Ok(special),
        }
    }

    /// Cut off behind so many places.
    #[must_use]
    pub fn truncated(&self, places: i64) -> Self {
        self.each(|value| value.truncated(places))
    }

    /// The next whole number that is not less.
    #[must_use]
    pub fn ceiling(&self) -> Self {
        self.each(|value| {
            let whole = value.truncated(0);
            if value.digits.sign() > 0 && value.scale_min() > 0 { whole.plus(&Decimal::new(1, 0)) } else { whole }
        })
    }

    /// The next whole number that is not greater.
    #[must_use]
    pub fn floor(&self) -> Self {
        self.negated().ceiling().negated()
    }

    /// The nearest whole number, if 128 bits hold it; halves go away from zero.
    #[must_use]
    pub fn to_whole(&self) -> Option<i128> {
        let Self::Finite(value) = self else { return None };
        match value.rounded(0).digits {
            Digits::Small(whole) => Some(whole),
            Digits::Large(_) => None,
        }
    }
}
