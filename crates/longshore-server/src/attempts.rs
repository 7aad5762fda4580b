//! Wrong passwords, which make the next attempt wait.
//!
//! Who comes from one address as one role waits a second after the first wrong password, and twice as long after each further
//! one, up to [`DELAY_MAX`]. Nobody else waits. The right password waits as long as a wrong one, or who guesses would only have
//! to see whether an answer comes at once; and attempts that wait beside each other do not pass together, so that many
//! connections guess no faster than one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the attempt after the first wrong password waits.
const DELAY_MIN: Duration = Duration::from_secs(1);
/// How long any attempt waits, at most, behind the one before.
const DELAY_MAX: Duration = Duration::from_secs(16);
/// How long a wrong password is remembered.
const MEMORY_MAX: Duration = Duration::from_mins(10);
/// Addresses and roles that are remembered, at most.
const SOURCES_MAX: usize = 10_000;

/// Who has sent wrong passwords lately.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    failed: Mutex<HashMap<Source, Failed>>,
}

/// Where attempts come from: an address, or this machine's socket, and the role that they are for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source {
    address: Option<IpAddr>,
    role: String,
}

#[derive(Clone, Copy, Debug)]
struct Failed {
    count: u32,
    last: Instant,
}

/// When an attempt is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nobody was wrong lately.
    First,
    /// Behind wrong ones, and counted with them.
    Counted(u32),
}

impl Failed {
    /// When the next attempt may be looked at.
    fn next(self) -> Instant {
        self.last + DELAY_MAX.min(DELAY_MIN * 2_u32.saturating_pow(self.count - 1))
    }
}

impl Source {
    /// All addresses of a network that one client usually has for itself count as one.
    pub(crate) fn new(address: Option<IpAddr>, role: &str) -> Self {
        let address = address.map(|address| match address {
            IpAddr::V6(address) => IpAddr::from((u128::from(address) >> 64 << 64).to_be_bytes()),
            address @ IpAddr::V4(_) => address,
        });
        Self { address, role: role.to_owned() }
    }
}

impl Attempts {
    /// Waits until an attempt may be looked at. Behind a wrong password it counts as another one until it has succeeded: who
    /// waits beside it waits for longer.
    pub(crate) async fn turn(&self, source: &Source) -> Turn {
        loop {
            match self.turn_at(source, Instant::now()) {
                Ok(turn) => return turn,
                Err(time) => tokio::time::sleep(time).await,
            }
        }
    }

    /// The turn of an attempt, or how long it is to wait.
    fn turn_at(&self, source: &Source, now: Instant) -> Result<Turn, Duration> {
        let mut failed = self.lock();
        let Some(before) = failed.get_mut(source).filter(|before| before.last + MEMORY_MAX > now) else {
            return Ok(Turn::First);
        };
        let wait = before.next().saturating_duration_since(now);
        if !wait.is_zero() {
            return Err(wait);
        }
        *before = Failed { count: before.count.saturating_add(1), last: now };
        Ok(Turn::Counted(before.count))
    }

    /// Notes a wrong password; how many there were in a row.
    pub(crate) fn failed(&self, source: Source, turn: Turn) -> u32 {
        match turn {
            Turn::First => self.failed_at(source, Instant::now()),
            Turn::Counted(count) => count,
        }
    }

    fn failed_at(&self, source: Source, now: Instant) -> u32 {
        let mut failed = self.lock();
        if failed.len() >= SOURCES_MAX && !failed.contains_key(&source) {
            failed.retain(|_, failed| failed.last + MEMORY_MAX > now);
            if failed.len() >= SOURCES_MAX {
                let oldest = failed.iter().min_by_key(|(_, failed)| failed.last).map(|(source, _)| source.clone());
                if let Some(oldest) = oldest {
                    failed.remove(&oldest);
                }
            }
        }
        let entry = failed.entry(source).or_insert(Failed { count: 0, last: now });
        if entry.last + MEMORY_MAX <= now {
            entry.count = 0;
        }
        *entry = Failed { count: entry.count.saturating_add(1), last: now };
        entry.count
    }

    /// Forgets who has come with the right password.
    pub(crate) fn succeeded(&self, source: &Source) {
        self.lock().remove(source);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Source, Failed>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(address: &str, role: &str) -> Source {
        Source::new(Some(address.parse().expect("an address")), role)
    }

    #[test]
    fn delays_grow_up_to_a_bound_and_end_with_the_right_password() {
        let (attempts, begin) = (Attempts::default(), Instant::now());
        let anna = source("10.0.0.1", "anna");
        assert_eq!(attempts.turn_at(&anna, begin), Ok(Turn::First));
        assert_eq!(attempts.failed_at(anna.clone(), begin), 1);
        let mut now = begin;
        for (expected, count) in [1, 2, 4, 8, 16, 16, 16].into_iter().zip(2..) {
            // Who comes beside the one that has just had its turn waits as well.
            assert_eq!(attempts.turn_at(&anna, now), Err(Duration::from_secs(expected)));
            for other in [source("10.0.0.2", "anna"), source("10.0.0.1", "bert"), Source::new(None, "anna")] {
                assert_eq!(attempts.turn_at(&other, now), Ok(Turn::First), "nobody else waits");
            }
            now += Duration::from_secs(expected);
            assert_eq!(attempts.turn_at(&anna, now), Ok(Turn::Counted(count)));
        }
        attempts.succeeded(&anna);
        assert_eq!(attempts.failed_at(anna.clone(), now), 1);
        assert_eq!(attempts.failed_at(anna.clone(), now + MEMORY_MAX), 1, "old ones are forgotten");
    }

    #[test]
    fn the_memory_is_bounded() {
        let (attempts, now) = (Attempts::default(), Instant::now());
        for role in 0..SOURCES_MAX as u64 + 100 {
            attempts.failed_at(source("10.0.0.1", &role.to_string()), now + Duration::from_millis(role));
        }
        assert_eq!(attempts.lock().len(), SOURCES_MAX);
    }

    #[test]
    fn a_network_of_one_client_is_one_address() {
        assert_eq!(source("2001:db8::1", "anna"), source("2001:db8::ffff:1", "anna"));
        assert_ne!(source("2001:db8::1", "anna"), source("2001:db8:0:1::1", "anna"));
    }
}
