//! Decides what survives of changes that were not safe yet.

use longshore_testing::Random;

/// How much survives of the changes to a file or a directory.
///
/// It is drawn once for each of them. If every sector were tossed for alone, long writes would always be torn, and nothing
/// would ever be lost or kept as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Kept,
    /// Each change as a whole: kept or lost.
    Whole,
    /// Each sector of each change: kept or lost.
    Torn,
    /// Each sector of each change, most of them kept.
    Chipped,
}

impl Fate {
    pub(crate) fn draw(random: &mut Random) -> Fate {
        random.pick(&[Fate::Lost, Fate::Kept, Fate::Whole, Fate::Torn, Fate::Chipped])
    }

    /// The fate of one change.
    pub(crate) fn of_change(self, random: &mut Random) -> Fate {
        match self {
            Fate::Whole if random.once_in(2) => Fate::Kept,
            Fate::Whole => Fate::Lost,
            other => other,
        }
    }

    /// Whether what cannot be divided survives.
    pub(crate) fn keeps(self, random: &mut Random) -> bool {
        match self {
            Fate::Lost => false,
            Fate::Kept => true,
            Fate::Whole | Fate::Torn => random.once_in(2),
            Fate::Chipped => !random.once_in(8),
        }
    }
}
