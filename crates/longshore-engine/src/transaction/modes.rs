//! What transactions are like: their isolation, and whether they change anything.

use longshore_storage::Isolation;

/// How a transaction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) level: Level,
    pub(crate) read_only: bool,
    /// Whether it would rather wait than be given up; none of ours need to, so it is only shown.
    pub(crate) deferrable: bool,
}

/// The level of isolation that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Snapshot,
    Serializable,
}

impl Modes {
    pub(crate) fn new(level: Level, read_only: bool) -> Self {
        Self { level, read_only, deferrable: false }
    }
}

impl Level {
    /// All of them, each with the word for it.
    const WORDS: [(Self, &str); 5] = [
        (Self::Serializable, "serializable"),
        (Self::Snapshot, "snapshot"),
        (Self::RepeatableRead, "repeatable read"),
        (Self::ReadCommitted, "read committed"),
        (Self::ReadUncommitted, "read uncommitted"),
    ];

    /// The level that a word stands for.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(level, _)| *level)
    }

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(level, _)| *level == self).map_or("", |(_, word)| word)
    }

    /// Whether each statement sees what is committed when it begins.
    pub(crate) fn is_read_committed(self) -> bool {
        matches!(self, Self::ReadUncommitted | Self::ReadCommitted)
    }

    /// What keeps it.
    pub(crate) fn isolation(self) -> Isolation {
        match self {
            Self::Serializable => Isolation::Serializable,
            Self::RepeatableRead | Self::Snapshot => Isolation::Snapshot,
            Self::ReadUncommitted | Self::ReadCommitted => Isolation::ReadCommitted,
        }
    }
}
