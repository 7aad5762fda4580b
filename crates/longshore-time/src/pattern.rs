//! PostgreSQL's patterns: `to_char` and `to_date` of dates and times, `to_char` and `to_number` of numbers.
//!
//! A pattern is taken apart from left to right, at each place by the first keyword of PostgreSQL's list that stands there;
//! `FM` and `TM` in front of a keyword and `TH` behind it change it; text in double quotes, and whatever is no keyword, is
//! itself (`nodes`). Names of days and months are English, as in the locale `C`.

mod keywords;
mod nodes;
pub mod number;
mod reading;
mod writing;

use crate::calendar::{self, is_finite};
use crate::error::Result;
use crate::interval::Interval;
use crate::settings::{Settings, to_local};
use nodes::Node;
use writing::Moment;

pub use reading::{to_date, to_timestamp};

/// A pattern of dates and times.
#[derive(Debug, Clone)]
pub struct Pattern(Vec<Node>);

impl Pattern {
    /// Takes a pattern apart.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(nodes::parse(text))
    }

    /// `to_char` of a timestamp without zone; `None` for an infinite one, and for an empty pattern.
    ///
    /// # Errors
    ///
    /// Ordinal endings of what is no number.
    pub fn of_timestamp(&self, micros: i64) -> Result<Option<String>> {
        if !is_finite(micros) || self.0.is_empty() {
            return Ok(None);
        }
        let mut text = String::new();
        writing::write(&self.0, &Moment::of_timestamp(micros), &mut text)?;
        Ok(Some(text))
    }

    /// `to_char` of a timestamp in UTC as the session's zone shows it; `None` for an infinite one, and for an empty pattern.
    ///
    /// # Errors
    ///
    /// Ordinal endings of what is no number.
    pub fn of_timestamptz(&self, micros: i64, settings: &Settings) -> Result<Option<String>> {
        if !is_finite(micros) || self.0.is_empty() {
            return Ok(None);
        }
        let zone = settings.zone.local(micros.div_euclid(calendar::MICROS_PER_SECOND));
        let moment = Moment::of_timestamp(to_local(&settings.zone, micros)).in_zone(zone);
        let mut text = String::new();
        writing::write(&self.0, &moment, &mut text)?;
        Ok(Some(text))
    }

    /// `to_char` of an interval; `None` for an empty pattern.
    ///
    /// # Errors
    ///
    /// Keywords that intervals have not.
    pub fn of_interval(&self, interval: Interval) -> Result<Option<String>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let mut text = String::new();
        writing::write(&self.0, &Moment::of_interval(interval), &mut text)?;
        Ok(Some(text))
    }
}
