//! What a text of a date or a time says.

use crate::calendar::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil, days_of};
use crate::read::Fault;
use crate::read::clock::Clock;

/// What a text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::read) enum Moment {
    Infinity,
    NegativeInfinity,
    Epoch,
    Fields(Fields),
}

/// A date, a time and the offset of a zone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::read) struct Fields {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micros: i64,
    /// Seconds west of UTC.
    pub(in crate::read) west: i32,
}

impl Fields {
    /// Days since 1970-01-01.
    pub(in crate::read) fn days(&self) -> i64 {
        days_of(self.year, self.month, self.day)
    }

    /// Microseconds since midnight.
    pub(in crate::read) fn time(&self) -> i64 {
        self.hour * MICROS_PER_HOUR + self.minute * MICROS_PER_MINUTE + self.second * MICROS_PER_SECOND + self.micros
    }

    /// Microseconds since 1970-01-01 of the local clock.
    pub(in crate::read) fn micros(&self) -> i128 {
        i128::from(self.days()) * i128::from(MICROS_PER_DAY) + i128::from(self.time())
    }

    /// Seconds since 1970-01-01 of the local clock; far ones are only near enough for the offset of a zone.
    pub(super) fn local_seconds(&self) -> i64 {
        self.days() * 86_400 + self.hour * 3600 + self.minute * 60 + self.second
    }

    pub(super) fn set_date(&mut self, days: i64) {
        (self.year, self.month, self.day) = civil(days);
    }

    pub(super) fn set_time(&mut self, micros: i64) {
        self.hour = micros / MICROS_PER_HOUR;
        self.minute = micros / MICROS_PER_MINUTE % 60;
        self.second = micros / MICROS_PER_SECOND % 60;
        self.micros = micros % MICROS_PER_SECOND;
    }
}

impl Fields {
    pub(super) fn set_clock(&mut self, clock: &Clock) -> Result<(), Fault> {
        if clock.hours > i64::from(i32::MAX) {
            return Err(Fault::Field);
        }
        (self.hour, self.minute, self.second, self.micros) = (clock.hours, clock.minutes, clock.seconds, clock.micros);
        Ok(())
    }
}
