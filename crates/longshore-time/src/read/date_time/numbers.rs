//! What a number among the fields of a date or a time is.

use super::{Decoder, mask};
use crate::calendar::{EPOCH_JULIAN, MICROS_PER_DAY};
use crate::read::Fault;
use crate::read::clock::{fraction_of_one, fraction_of_second, whole};
use crate::read::fields::{Field, Kind};
use crate::read::words::Prefix;
use crate::settings::DateOrder;

impl Decoder<'_> {
    /// A number whose meaning the word before it tells: `y2001`, `j2451187`.
    pub(super) fn labelled(&mut self, prefix: Prefix, text: &str) -> Result<u32, Fault> {
        let (whole_text, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        let takes_fraction = matches!(prefix, Prefix::Julian | Prefix::Time | Prefix::Second);
        if fraction.is_some() && !takes_fraction {
            return Err(Fault::Format);
        }
        let value = whole(whole_text)?;
        Ok(match prefix {
            Prefix::Year => {
                self.read.year = value;
                mask::YEAR
            }
            // Behind a month and an hour it is a minute.
            Prefix::Month if self.has(mask::MONTH | mask::HOUR) => {
                self.read.minute = value;
                mask::MINUTE
            }
            Prefix::Month => {
                self.read.month = value;
                mask::MONTH
            }
            Prefix::Day => {
                self.read.day = value;
                mask::DAY
            }
            Prefix::Hour => {
                self.read.hour = value;
                mask::HOUR
            }
            Prefix::Minute => {
                self.read.minute = value;
                mask::MINUTE
            }
            Prefix::Second => {
                self.read.second = value;
                match fraction {
                    Some(digits) => {
                        self.read.micros = fraction_of_second(digits)?;
                        mask::ALL_SECONDS
                    }
                    None => mask::SECOND,
                }
            }
            Prefix::Julian => {
                self.julian(value)?;
                match fraction {
                    Some(digits) => {
                        let day = fraction_of_one(digits)? * MICROS_PER_DAY as f64;
                        self.read.set_time(day.round_ties_even() as i64);
                        mask::DATE | mask::TIME
                    }
                    None => mask::DATE,
                }
            }
            Prefix::Time => {
                let found = self.concatenated(text, self.done | mask::DATE)?;
                if found != mask::TIME {
                    return Err(Fault::Format);
                }
                found
            }
            Prefix::Other => return Err(Fault::Format),
        })
    }

    pub(super) fn julian(&mut self, day: i64) -> Result<(), Fault> {
        if !(0..=i64::from(i32::MAX)).contains(&day) {
            return Err(Fault::Field);
        }
        self.read.set_date(day - EPOCH_JULIAN);
        self.is_julian = true;
        Ok(())
    }

    /// A number without a label.
    pub(super) fn number_field(&mut self, fields: &[Field], index: usize) -> Result<u32, Fault> {
        let text = fields[index].text.as_str();
        let point = text.find('.');
        if self.is_time() {
            return match point {
                Some(_) if index == 0 && fields.len() >= 2 && fields[fields.len() - 1].kind == Kind::Date => {
                    self.date(text)
                }
                Some(point) if point > 2 => self.concatenated(text, self.done_with_date()),
                Some(_) => Err(Fault::Format),
                None if text.len() > 4 => self.concatenated(text, self.done_with_date()),
                None => self.number(text, false, self.done_with_date()),
            };
        }
        match point {
            Some(_) if self.done & mask::DATE == 0 => self.date(text),
            Some(point) if point > 2 => self.concatenated(text, self.done),
            _ if text.len() >= 6 && (self.done & mask::DATE == 0 || self.done & mask::TIME == 0) => {
                self.concatenated(text, self.done)
            }
            _ => self.number(text, self.has_text_month, self.done),
        }
    }

    /// A number of a date, or a time behind one; `done` is what has been read before.
    pub(super) fn number(&mut self, text: &str, has_text_month: bool, done: u32) -> Result<u32, Fault> {
        let (digits, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        let value = whole(digits)?;
        if let Some(fraction) = fraction {
            if digits.len() > 2 {
                return self.concatenated(text, done | mask::DATE);
            }
            self.read.micros = fraction_of_second(fraction)?;
        }
        let length = text.len();
        if length == 3 && done & mask::DATE == mask::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(mask::DAY_OF_YEAR | mask::MONTH | mask::DAY);
        }
        let may_be_year = length >= 3 || self.order == DateOrder::Ymd;
        let found = match done & mask::DATE {
            0 if may_be_year => mask::YEAR,
            0 if self.order == DateOrder::Dmy => mask::DAY,
            0 | mask::YEAR | mask::DAY => mask::MONTH,
            mask::MONTH if has_text_month && may_be_year => mask::YEAR,
            mask::MONTH => mask::DAY,
            done if done == mask::YEAR | mask::MONTH => {
                if has_text_month && length >= 3 && self.is_short_year {
                    // What seemed to be the year was the day.
                    self.read.day = self.read.year;
                    self.read.year = value;
                    self.is_short_year = false;
                    return Ok(mask::DAY);
                }
                mask::DAY
            }
            done if done == mask::MONTH | mask::DAY => mask::YEAR,
            mask::DATE => return self.concatenated(text, done),
            _ => return Err(Fault::Format),
        };
        match found {
            mask::YEAR => {
                self.read.year = value;
                self.is_short_year = length <= 2;
            }
            mask::MONTH => self.read.month = value,
            _ => self.read.day = value,
        }
        Ok(found)
    }

    /// Digits of several fields without delimiters: `19990108`, `040506.789`, `0405`.
    pub(super) fn concatenated(&mut self, text: &str, done: u32) -> Result<u32, Fault> {
        let (digits, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Fault::Format);
        }
        let number = |digits: &str| digits.parse::<i64>().unwrap_or(i64::MAX).min(i64::from(i32::MAX));
        let length = digits.len();
        if let Some(fraction) = fraction {
            self.read.micros = fraction_of_second(fraction)?;
        } else if done & mask::DATE != mask::DATE && length >= 6 {
            self.read.day = number(&digits[length - 2..]);
            self.read.month = number(&digits[length - 4..length - 2]);
            self.read.year = number(&digits[..length - 4]);
            self.is_short_year = length - 4 == 2;
            return Ok(mask::DATE);
        }
        if done & mask::TIME == mask::TIME || !matches!(length, 4 | 6) {
            return Err(Fault::Format);
        }
        self.read.hour = number(&digits[..2]);
        self.read.minute = number(&digits[2..4]);
        self.read.second = if length == 6 { number(&digits[4..]) } else { 0 };
        Ok(mask::TIME)
    }
}
