//! The words of dates and times.

use crate::unit::cut;

/// What a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    NegativeInfinity,
    Infinity,
    Epoch,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Midnight,
    /// The era after Christ, or before.
    Era {
        is_before: bool,
    },
    Meridiem {
        is_afternoon: bool,
    },
    Month(i64),
    DayOfWeek,
    /// It says nothing.
    Filler,
    /// The number that follows is this.
    Prefix(Prefix),
    /// `t`, which a time follows.
    IsoTime,
    /// `dst`: an hour more than the zone before it.
    Summer,
}

/// What a number is said to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Julian,
    Time,
    /// What `extract` knows and a date has not.
    Other,
}

const WORDS: [(&str, Word); 71] = [
    ("-infinity", Word::NegativeInfinity),
    ("ad", Word::Era { is_before: false }),
    ("allballs", Word::Midnight),
    ("am", Word::Meridiem { is_afternoon: false }),
    ("apr", Word::Month(4)),
    ("april", Word::Month(4)),
    ("at", Word::Filler),
    ("aug", Word::Month(8)),
    ("august", Word::Month(8)),
    ("bc", Word::Era { is_before: true }),
    ("d", Word::Prefix(Prefix::Day)),
    ("dec", Word::Month(12)),
    ("december", Word::Month(12)),
    ("dow", Word::Prefix(Prefix::Other)),
    ("doy", Word::Prefix(Prefix::Other)),
    ("dst", Word::Summer),
    ("epoch", Word::Epoch),
    ("feb", Word::Month(2)),
    ("february", Word::Month(2)),
    ("fri", Word::DayOfWeek),
    ("friday", Word::DayOfWeek),
    ("h", Word::Prefix(Prefix::Hour)),
    ("infinity", Word::Infinity),
    ("isodow", Word::Prefix(Prefix::Other)),
    ("isoyear", Word::Prefix(Prefix::Other)),
    ("j", Word::Prefix(Prefix::Julian)),
    ("jan", Word::Month(1)),
    ("january", Word::Month(1)),
    ("jd", Word::Prefix(Prefix::Julian)),
    ("jul", Word::Month(7)),
    ("julian", Word::Prefix(Prefix::Julian)),
    ("july", Word::Month(7)),
    ("jun", Word::Month(6)),
    ("june", Word::Month(6)),
    ("m", Word::Prefix(Prefix::Month)),
    ("mar", Word::Month(3)),
    ("march", Word::Month(3)),
    ("may", Word::Month(5)),
    ("mm", Word::Prefix(Prefix::Minute)),
    ("mon", Word::DayOfWeek),
    ("monday", Word::DayOfWeek),
    ("nov", Word::Month(11)),
    ("november", Word::Month(11)),
    ("now", Word::Now),
    ("oct", Word::Month(10)),
    ("october", Word::Month(10)),
    ("on", Word::Filler),
    ("pm", Word::Meridiem { is_afternoon: true }),
    ("s", Word::Prefix(Prefix::Second)),
    ("sat", Word::DayOfWeek),
    ("saturday", Word::DayOfWeek),
    ("sep", Word::Month(9)),
    ("sept", Word::Month(9)),
    ("september", Word::Month(9)),
    ("sun", Word::DayOfWeek),
    ("sunday", Word::DayOfWeek),
    ("t", Word::IsoTime),
    ("thu", Word::DayOfWeek),
    ("thur", Word::DayOfWeek),
    ("thurs", Word::DayOfWeek),
    ("thursday", Word::DayOfWeek),
    ("today", Word::Today),
    ("tomorrow", Word::Tomorrow),
    ("tue", Word::DayOfWeek),
    ("tues", Word::DayOfWeek),
    ("tuesday", Word::DayOfWeek),
    ("wed", Word::DayOfWeek),
    ("wednesday", Word::DayOfWeek),
    ("weds", Word::DayOfWeek),
    ("y", Word::Prefix(Prefix::Year)),
    ("yesterday", Word::Yesterday),
];

impl Word {
    /// The meaning of a word in lower case.
    pub(super) fn find(word: &str) -> Option<Self> {
        let word = cut(word);
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, meaning)| *meaning)
    }
}
