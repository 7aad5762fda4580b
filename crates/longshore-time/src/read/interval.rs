//! The fields of an interval: numbers with units, times, years and months with a `-` between, `ago`.

use super::Fault;
use super::date_time::{clock, fraction_of_one};
use super::fields::{Field, Kind, fields};
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::error::{Result as Checked, TimeError};
use crate::interval::{Interval, IntervalField, IntervalType};
use crate::settings::IntervalStyle;
use crate::unit::Unit;

/// Days of a month.
pub(super) const DAYS_PER_MONTH: i32 = 30;

/// The parts of an interval that have been read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

impl Sum {
    /// The interval.
    pub(super) fn interval(self) -> Checked<Interval> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        let months = i32::try_from(months).map_err(|_| TimeError::out_of_range("interval"))?;
        Ok(Interval::new(months, self.days, self.micros))
    }

    /// Adds `value` and a fraction of one times `scale` years.
    pub(super) fn add_years(&mut self, value: i64, fraction: f64, scale: i32) -> Result<(), Fault> {
        let years = i32::try_from(value).ok().and_then(|value| value.checked_mul(scale));
        self.years = years.and_then(|years| self.years.checked_add(years)).ok_or(Fault::Field)?;
        let months = (fraction * f64::from(scale) * 12.0).round_ties_even() as i32;
        self.months = self.months.checked_add(months).ok_or(Fault::Field)?;
        Ok(())
    }

    /// Adds months; fractions are of 30 days.
    pub(super) fn add_months(&mut self, value: i64, fraction: f64) -> Result<(), Fault> {
        let months = i32::try_from(value).ok().and_then(|value| self.months.checked_add(value));
        self.months = months.ok_or(Fault::Field)?;
        self.add_fraction_of_days(fraction, DAYS_PER_MONTH)
    }

    /// Adds `value` and a fraction of one times `scale` days.
    pub(super) fn add_days(&mut self, value: i64, fraction: f64, scale: i32) -> Result<(), Fault> {
        let days = i32::try_from(value).ok().and_then(|value| value.checked_mul(scale));
        self.days = days.and_then(|days| self.days.checked_add(days)).ok_or(Fault::Field)?;
        if scale == 1 {
            return self.add_fraction(fraction, MICROS_PER_DAY);
        }
        self.add_fraction_of_days(fraction, scale)
    }

    fn add_fraction_of_days(&mut self, fraction: f64, scale: i32) -> Result<(), Fault> {
        let days = fraction * f64::from(scale);
        self.days = self.days.checked_add(days as i32).ok_or(Fault::Field)?;
        self.add_fraction(days - days.trunc(), MICROS_PER_DAY)
    }

    /// Adds `value` and a fraction of one times `scale` microseconds.
    pub(super) fn add_micros(&mut self, value: i64, fraction: f64, scale: i64) -> Result<(), Fault> {
        let micros = value.checked_mul(scale).and_then(|micros| self.micros.checked_add(micros));
        self.micros = micros.ok_or(Fault::Field)?;
        self.add_fraction(fraction, scale)
    }

    /// Adds a fraction of `scale` microseconds, rounded.
    pub(super) fn add_fraction(&mut self, fraction: f64, scale: i64) -> Result<(), Fault> {
        let exact = fraction * scale as f64;
        let mut micros = exact as i64;
        let rest = exact - micros as f64;
        if rest > 0.5 {
            micros += 1;
        } else if rest < -0.5 {
            micros -= 1;
        }
        self.micros = self.micros.checked_add(micros).ok_or(Fault::Field)?;
        Ok(())
    }

    fn negate(&mut self) -> Result<(), Fault> {
        self.years = self.years.checked_neg().ok_or(Fault::Field)?;
        self.months = self.months.checked_neg().ok_or(Fault::Field)?;
        self.days = self.days.checked_neg().ok_or(Fault::Field)?;
        self.micros = self.micros.checked_neg().ok_or(Fault::Field)?;
        Ok(())
    }
}

/// Reads an interval of numbers and units; from the last field to the first, since units stand behind numbers.
pub(super) fn decode(text: &str, kind: IntervalType, style: IntervalStyle) -> Result<Sum, Fault> {
    let fields = fields(text)?;
    let is_signed = |field: &Field, signs: &[char]| field.text.starts_with(signs);
    // SQL's sign in front counts for all, where no other sign stands.
    let is_negative = style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|field| is_signed(field, &['-']))
        && !fields.iter().skip(1).any(|field| is_signed(field, &['-', '+']));
    let is_minutes = kind.fields == Some((IntervalField::Minute, IntervalField::Second));
    let mut sum = Sum::default();
    let mut unit: Option<Unit> = None;
    let mut is_ago = false;
    let mut done = 0_u32;
    for field in fields.iter().rev() {
        let new = match field.kind {
            Kind::Time => {
                sum.micros = time(&field.text, is_minutes)?;
                if is_negative && sum.micros > 0 {
                    sum.micros = -sum.micros;
                }
                unit = Some(Unit::Day);
                TIME
            }
            Kind::Zone if field.text.contains(':') && time(&field.text[1..], is_minutes).is_ok() => {
                sum.micros = time(&field.text[1..], is_minutes)?;
                if is_signed(field, &['-']) {
                    sum.micros = -sum.micros;
                }
                if is_negative && sum.micros > 0 {
                    sum.micros = -sum.micros;
                }
                unit = Some(Unit::Day);
                TIME
            }
            Kind::Zone | Kind::Date | Kind::Number => number(&field.text, &mut unit, kind, is_negative, &mut sum)?,
            Kind::Word | Kind::SignedWord => match field.text.as_str() {
                "ago" => {
                    is_ago = true;
                    unit = None;
                    continue;
                }
                word => {
                    unit = Some(Unit::of_interval(word).ok_or(Fault::Format)?);
                    continue;
                }
            },
        };
        if done & new != 0 {
            return Err(Fault::Format);
        }
        done |= new;
    }
    if done == 0 {
        return Err(Fault::Format);
    }
    if is_ago {
        sum.negate()?;
    }
    Ok(sum)
}

const SECONDS: u32 = 1;
const FRACTIONS: u32 = 1 << 1 | 1 << 2;
const MINUTE: u32 = 1 << 3;
const HOUR: u32 = 1 << 4;
const TIME: u32 = SECONDS | FRACTIONS | MINUTE | HOUR;

fn time(text: &str, is_minutes: bool) -> Result<i64, Fault> {
    let clock = clock(text, is_minutes)?;
    let below = clock.minutes * MICROS_PER_MINUTE + clock.seconds * MICROS_PER_SECOND + clock.micros;
    clock.hours.checked_mul(MICROS_PER_HOUR).and_then(|hours| hours.checked_add(below)).ok_or(Fault::Field)
}

/// The unit of a number that has none and is the last one.
fn last_unit(kind: IntervalType) -> Unit {
    match kind.fields.map(|(_, last)| last) {
        Some(IntervalField::Year) => Unit::Year,
        Some(IntervalField::Month) => Unit::Month,
        Some(IntervalField::Day) => Unit::Day,
        Some(IntervalField::Hour) => Unit::Hour,
        Some(IntervalField::Minute) => Unit::Minute,
        Some(IntervalField::Second) | None => Unit::Second,
    }
}

/// Adds a number of `unit`s, and returns which field it is.
fn number(
    text: &str,
    unit: &mut Option<Unit>,
    kind: IntervalType,
    is_negative: bool,
    sum: &mut Sum,
) -> Result<u32, Fault> {
    let mut of = unit.unwrap_or_else(|| last_unit(kind));
    let sign = usize::from(text.starts_with(['-', '+']));
    let has_minus = text.starts_with('-');
    let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| end + sign);
    let (digits, rest) = text.split_at(end);
    let mut value: i64 = match digits.trim_start_matches('+') {
        "" | "-" => 0,
        digits => digits.parse().map_err(|_| Fault::Field)?,
    };
    let mut fraction = 0.0;
    if let Some(months) = rest.strip_prefix('-') {
        // Years and months of SQL.
        let end = months.find(|c: char| !c.is_ascii_digit()).unwrap_or(months.len());
        let (digits, behind) = months.split_at(end);
        let months: i64 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| Fault::Field)? };
        if months >= 12 {
            return Err(Fault::Field);
        }
        if !behind.is_empty() {
            return Err(Fault::Format);
        }
        of = Unit::Month;
        let months = if has_minus { -months } else { months };
        value = value.checked_mul(12).and_then(|value| value.checked_add(months)).ok_or(Fault::Field)?;
    } else if let Some(digits) = rest.strip_prefix('.') {
        fraction = fraction_of_one(digits)?;
        if has_minus {
            fraction = -fraction;
        }
    } else if !rest.is_empty() {
        return Err(Fault::Format);
    }
    if is_negative {
        value = if value > 0 { -value } else { value };
        fraction = -f64::abs(fraction);
    }
    *unit = Some(of);
    let bit = |at: u32| 1 << at;
    Ok(match of {
        Unit::Microsecond => {
            sum.add_micros(value, fraction, 1)?;
            bit(1)
        }
        Unit::Millisecond => {
            sum.add_micros(value, fraction, 1000)?;
            bit(2)
        }
        Unit::Second => {
            sum.add_micros(value, fraction, MICROS_PER_SECOND)?;
            if fraction == 0.0 { SECONDS } else { SECONDS | FRACTIONS }
        }
        Unit::Minute => {
            sum.add_micros(value, fraction, MICROS_PER_MINUTE)?;
            MINUTE
        }
        Unit::Hour => {
            sum.add_micros(value, fraction, MICROS_PER_HOUR)?;
            // A number before it is of days.
            *unit = Some(Unit::Day);
            HOUR
        }
        Unit::Day => {
            sum.add_days(value, fraction, 1)?;
            bit(5)
        }
        Unit::Week => {
            sum.add_days(value, fraction, 7)?;
            bit(6)
        }
        Unit::Month => {
            sum.add_months(value, fraction)?;
            bit(7)
        }
        Unit::Year => {
            sum.add_years(value, fraction, 1)?;
            bit(8)
        }
        Unit::Decade => {
            sum.add_years(value, fraction, 10)?;
            bit(9)
        }
        Unit::Century => {
            sum.add_years(value, fraction, 100)?;
            bit(10)
        }
        Unit::Millennium => {
            sum.add_years(value, fraction, 1000)?;
            bit(11)
        }
        _ => return Err(Fault::Format),
    })
}
