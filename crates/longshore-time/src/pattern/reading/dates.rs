//! The date and the time of a text, made of what its fields say.

use longshore_value::times::DIGITS_MAX;

use super::{Fields, Said, invalid};
use crate::calendar::{EPOCH_JULIAN, MICROS_PER_SECOND, civil, days_of, days_of_month, is_leap, iso_year_start};
use crate::error::{Result, TimeError, TimeErrorKind};
use crate::pattern::keywords::Calendar;

/// Hours of an offset, at most.
const ZONE_HOURS_MAX: i64 = 15;

/// The date and the time that the fields make.
pub(super) fn fields(said: &Said, text: &str) -> Result<Fields> {
    let out_of_range =
        || TimeError::new(TimeErrorKind::OutOfRange, format!("date/time field value out of range: \"{text}\""));
    let (hour, minute, second) = time(said)?;
    let mut date = Date { year: 0, month: 1, day: 1, has_year: false, has_month: false, has_day: false };
    date.set_year(said);
    date.set_day(said)?;
    let is_month = (1..=12).contains(&date.month);
    let is_wrong = date.has_month && !is_month
        || date.has_day && !(1..=31).contains(&date.day)
        || date.has_year
            && date.has_month
            && date.has_day
            && is_month
            && date.day > days_of_month(date.year, date.month);
    let micros = said.millis * 1000 + said.micros;
    let is_time = (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second)
        && (0..MICROS_PER_SECOND).contains(&micros);
    if is_wrong || !is_time {
        return Err(out_of_range());
    }
    let west = if said.zone_sign == 0 {
        None
    } else {
        if !(0..=ZONE_HOURS_MAX).contains(&said.zone_hours) || !(0..60).contains(&said.zone_minutes) {
            return Err(TimeError::new(
                TimeErrorKind::ZoneDisplacement,
                format!("time zone displacement out of range: \"{text}\""),
            ));
        }
        Some(-said.zone_sign * (said.zone_hours * 3600 + said.zone_minutes * 60))
    };
    let digits = said.digits.unwrap_or(DIGITS_MAX);
    Ok(Fields { year: date.year, month: date.month, day: date.day, hour, minute, second, micros, digits, west })
}

fn time(said: &Said) -> Result<(i64, i64, i64)> {
    let of_day = said.second_of_day;
    let or = |value: i64, other: i64| if value == 0 { other } else { value };
    let mut hour = or(said.hour, of_day / 3600);
    if said.is_half_day {
        if !(1..=12).contains(&hour) {
            return Err(invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
        }
        hour = hour % 12 + 12 * said.is_afternoon;
    }
    Ok((hour, or(said.minute, of_day / 60 % 60), or(said.second, of_day % 60)))
}

struct Date {
    year: i64,
    month: i64,
    day: i64,
    has_year: bool,
    has_month: bool,
    has_day: bool,
}

impl Date {
    fn set(&mut self, days: i64) {
        (self.year, self.month, self.day) = civil(days);
        (self.has_year, self.has_month, self.has_day) = (true, true, true);
    }

    fn set_year(&mut self, said: &Said) {
        let is_before_christ = said.is_before_christ != 0;
        let century = if is_before_christ { -said.century } else { said.century };
        if said.year != 0 && said.century != 0 && said.year_digits <= 2 {
            // The digits of the year within the century, of which the first has the year 1.
            let year = said.year % 100;
            self.year = match (year, century >= 0) {
                (0, true) => century * 100,
                (0, false) => century * 100 + 1,
                (year, true) => year + (century - 1) * 100,
                (year, false) => (century + 1) * 100 - year + 1,
            };
        } else if said.year != 0 {
            self.year = if is_before_christ { -said.year } else { said.year };
            // There is no year 0.
            if self.year < 0 {
                self.year += 1;
            }
        } else if said.century != 0 {
            self.year = if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 };
        } else {
            return;
        }
        self.has_year = true;
    }

    fn set_day(&mut self, said: &Said) -> Result<()> {
        let mut day_of_year = said.day_of_year;
        if said.julian != 0 {
            self.set(said.julian - EPOCH_JULIAN);
        }
        let is_iso = said.calendar == Some(Calendar::IsoWeek);
        if said.week != 0 {
            if is_iso {
                let monday = iso_year_start(self.year) + (said.week - 1) * 7;
                let day = match said.day_of_week {
                    0 => 0,
                    1 => 6,
                    day => day - 2,
                };
                self.set(monday + day);
            } else {
                day_of_year = (said.week - 1) * 7 + 1;
            }
        }
        let day = if said.week_of_month != 0 { (said.week_of_month - 1) * 7 + 1 } else { said.day };
        if day != 0 {
            (self.day, self.has_day) = (day, true);
        }
        if said.month != 0 {
            (self.month, self.has_month) = (said.month, true);
        }
        if day_of_year != 0 && (self.month <= 1 || self.day <= 1) {
            if self.year == 0 && said.is_before_christ == 0 {
                return Err(invalid("cannot calculate day of year without year information"));
            }
            if is_iso {
                self.set(iso_year_start(self.year) + day_of_year - 1);
                return Ok(());
            }
            let (_, month, day) = civil(days_of(self.year, 1, 1) + day_of_year - 1);
            let is_beyond = day_of_year > 365 + i64::from(is_leap(self.year));
            if self.month <= 1 {
                self.month = if is_beyond { 13 } else { month };
            }
            if self.day <= 1 {
                self.day = if is_beyond { 32 } else { day };
            }
            (self.has_month, self.has_day) = (true, true);
        }
        Ok(())
    }
}
