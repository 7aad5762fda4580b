//! How a durable database is kept.

use std::time::Duration;

use super::Naptime;

/// How the directory of a durable database is kept. The names are those of PostgreSQL's settings.
#[derive(Clone, Debug)]
pub struct Durability {
    /// Whether the database is only read: nothing is written, and nobody else is kept from it. It shows what was safe when it
    /// was opened.
    pub read_only: bool,
    /// Bytes of the log that are not exceeded, as far as checkpoints keep up.
    pub max_wal_size: u64,
    /// How long it is from one checkpoint to the next at most.
    pub checkpoint_timeout: Naptime,
    /// After so long at most, what nobody waits for is written: with `synchronous_commit = off` a crash loses no more than
    /// what was committed since, and what the disk takes to write it.
    pub wal_writer_delay: Duration,
}

impl Durability {
    /// The least `max_wal_size`. A log is at least so long before a checkpoint pays.
    pub const MAX_WAL_SIZE_MIN: u64 = 2 << 20;

    /// The longest `wal_writer_delay`, that of PostgreSQL.
    pub const WAL_WRITER_DELAY_MAX: Duration = Duration::from_secs(10);

    /// A `wal_writer_delay` as PostgreSQL writes it: a whole number and a unit, `ms` or `s`; without one it is milliseconds.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, as a sentence for the user.
    pub fn parse_wal_writer_delay(text: &str) -> Result<Duration, String> {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let time = if is_number { format!("{text}ms").parse::<Naptime>() } else { text.parse() };
        time.ok().map(Naptime::duration).filter(|time| *time <= Self::WAL_WRITER_DELAY_MAX).ok_or_else(|| {
            let most = Naptime::new(Self::WAL_WRITER_DELAY_MAX);
            format!("'{text}' is not a time from 1ms to {most}; write one such as 50ms or 1s")
        })
    }
}

impl Default for Durability {
    /// What PostgreSQL has.
    fn default() -> Self {
        Self {
            read_only: false,
            max_wal_size: 1 << 30,
            checkpoint_timeout: Naptime::new(Duration::from_mins(5)),
            wal_writer_delay: Duration::from_millis(200),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_milliseconds() {
        for (text, time_ms) in [("1", 1), (" 200 ", 200), ("50ms", 50), ("2s", 2000), ("10s", 10_000)] {
            assert_eq!(Durability::parse_wal_writer_delay(text), Ok(Duration::from_millis(time_ms)), "{text}");
        }
        for bad in ["", "0", "10001", "11s", "1h", "soon", "-1"] {
            assert!(Durability::parse_wal_writer_delay(bad).is_err(), "{bad}");
        }
    }
}
