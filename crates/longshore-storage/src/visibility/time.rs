//! Times and views: what a transaction may see.
//!
//! Source: the thesis, 2.2.1 and 2.2.2. Commits draw times from one clock; a transaction starts at the time of the last
//! commit. Until it commits, what it writes is stamped with its id, which is higher than any time. So one comparison
//! decides whether a version is visible: `stamp <= start`, or the stamp is one's own id. (The thesis draws start times
//! from the counter too and compares by `<`; here beginning costs no number.)

use std::fmt;

/// Ids of transactions count from here, above any time.
pub(crate) const TRANSACTION_ID_MIN: u64 = 1 << 63;

/// A moment: that of a commit. Nothing was committed at time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub(crate) u64);

impl Time {
    /// The number of the commit.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Who holds what others may want: a transaction by its id, or a session by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub(crate) u64);

/// What a reader sees: what was committed up to a moment, and what one transaction has written. Valid as long as the
/// transaction that it came from is active: afterwards what it needs may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub(crate) start: Time,
    /// Of the transaction whose own writes are seen; 0 where there is none.
    pub(crate) id: u64,
}

impl View {
    /// What was committed up to a moment.
    pub(crate) fn at(start: Time) -> View {
        View { start, id: 0 }
    }

    /// The moment that is seen.
    #[must_use]
    pub fn start(&self) -> Time {
        self.start
    }

    /// The same without what its transaction has written.
    pub(crate) fn without_own(self) -> View {
        View::at(self.start)
    }

    /// Whether what bears a stamp is seen.
    pub(crate) fn sees(&self, stamp: u64) -> bool {
        stamp <= self.start.0 || stamp == self.id
    }
}

#[cfg(test)]
mod tests {
    use crate::visibility::*;

    #[test]
    fn one_sees_what_was_committed_before_and_what_is_ones_own() {
        let view = View { start: Time(7), id: TRANSACTION_ID_MIN + 3 };
        let seen = [0, 7, 8, TRANSACTION_ID_MIN, TRANSACTION_ID_MIN + 3, TRANSACTION_ID_MIN + 4];
        assert_eq!(seen.map(|stamp| view.sees(stamp)), [true, true, false, false, true, false]);
        assert!(!View::at(Time(7)).sees(TRANSACTION_ID_MIN));
    }
}
