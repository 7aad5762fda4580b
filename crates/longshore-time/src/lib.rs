//! Dates, times, timestamps, intervals and time zones as PostgreSQL 15 reads, computes and writes them.
//!
//! Every way in and out shares this crate: literals and casts of SQL, its functions, COPY where its fast decoders do not
//! know a form, and the shell. Values are plain numbers: a date is days, a timestamp microseconds since 1970-01-01 (of a
//! `timestamptz` in UTC), a time microseconds since midnight. The least and the greatest number stand for `-infinity` and
//! `infinity`.
//!
//! Years: dates reach from 4714-11-24 BC to 5874897-12-31, as in PostgreSQL. Timestamps begin with the same day, but end
//! with 294247-01-10, where microseconds since 1970 end; PostgreSQL counts from 2000 and ends with the year 294276.
//!
//! What this crate never does: I/O, ask for the time, or keep state. What a result depends on beside its arguments comes
//! by [`Settings`](settings::Settings).
//!
//! # Modules
//!
//! Lowest first; a module imports only from those before it (`cargo xtask imports` checks it).
//!
//! - `error`: what is wrong with a value, and its SQLSTATE
//! - `calendar`: days and years, Julian days, weeks, ranges
//! - `zone`: time zones by name, offset, POSIX form and abbreviation
//! - `settings`: `TimeZone`, `DateStyle`, `IntervalStyle`, and the time that it is
//! - `interval`: intervals and what is computed with them
//! - `moment`: what is computed with dates, times and timestamps
//! - `unit`: the units that `extract` and `date_trunc` name
//! - `read`: values of their texts
//! - `write`: texts of values
//! - `part`: `extract` and `date_part`
//! - `truncate`: `date_trunc` and `date_bin`
//! - `pattern`: `to_char`, `to_date`, `to_timestamp` and `to_number`

#![forbid(unsafe_code)]

pub mod calendar;
pub mod error;
pub mod interval;
pub mod moment;
pub mod part;
pub mod pattern;
pub mod read;
pub mod settings;
pub mod truncate;
pub mod unit;
pub mod write;
pub mod zone;
