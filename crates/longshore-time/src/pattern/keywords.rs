//! The keywords of patterns of dates and times, in PostgreSQL's order. Those in lower case mean the same, but for names and for
//! AM, BC and their kin, which are written as the keyword is.

/// How the letters of a keyword are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Upper,
    Capital,
    Lower,
}

/// A keyword's meaning. Of a year the last digits are written, as many as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Exact,
    Era,
    Meridiem,
    Century,
    DayName,
    DayShort,
    MonthName,
    MonthShort,
    DayOfYear,
    Day,
    DayOfWeek,
    Fraction(u8),
    Milli,
    Micro,
    Hour,
    HalfHour,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    IsoYear(u8),
    Julian,
    Minute,
    Month,
    Offset,
    Quarter,
    Roman,
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    Zone,
    Week,
    WeekOfMonth,
    YearInThousands,
    Year(u8),
}

/// Keywords and their meanings.
pub(super) const KEYWORDS: [(&str, Key); 54] = [
    ("A.D.", Key::Era),
    ("A.M.", Key::Meridiem),
    ("AD", Key::Era),
    ("AM", Key::Meridiem),
    ("B.C.", Key::Era),
    ("BC", Key::Era),
    ("CC", Key::Century),
    ("DAY", Key::DayName),
    ("DDD", Key::DayOfYear),
    ("DD", Key::Day),
    ("DY", Key::DayShort),
    ("D", Key::DayOfWeek),
    ("FF1", Key::Fraction(1)),
    ("FF2", Key::Fraction(2)),
    ("FF3", Key::Fraction(3)),
    ("FF4", Key::Fraction(4)),
    ("FF5", Key::Fraction(5)),
    ("FF6", Key::Fraction(6)),
    ("FX", Key::Exact),
    ("HH24", Key::Hour),
    ("HH12", Key::HalfHour),
    ("HH", Key::HalfHour),
    ("IDDD", Key::IsoDayOfYear),
    ("ID", Key::IsoDayOfWeek),
    ("IW", Key::IsoWeek),
    ("IYYY", Key::IsoYear(4)),
    ("IYY", Key::IsoYear(3)),
    ("IY", Key::IsoYear(2)),
    ("I", Key::IsoYear(1)),
    ("J", Key::Julian),
    ("MI", Key::Minute),
    ("MM", Key::Month),
    ("MONTH", Key::MonthName),
    ("MON", Key::MonthShort),
    ("MS", Key::Milli),
    ("OF", Key::Offset),
    ("P.M.", Key::Meridiem),
    ("PM", Key::Meridiem),
    ("Q", Key::Quarter),
    ("RM", Key::Roman),
    ("SSSSS", Key::SecondOfDay),
    ("SSSS", Key::SecondOfDay),
    ("SS", Key::Second),
    ("TZH", Key::ZoneHour),
    ("TZM", Key::ZoneMinute),
    ("TZ", Key::Zone),
    ("US", Key::Micro),
    ("WW", Key::Week),
    ("W", Key::WeekOfMonth),
    ("Y,YYY", Key::YearInThousands),
    ("YYYY", Key::Year(4)),
    ("YYY", Key::Year(3)),
    ("YY", Key::Year(2)),
    ("Y", Key::Year(1)),
];

/// Which way of dates a keyword belongs to; the two do not mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calendar {
    Gregorian,
    IsoWeek,
}

impl Key {
    /// Whether it is written with digits, so that what stands before it must have its width.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Self::Exact
                | Self::Era
                | Self::Meridiem
                | Self::DayName
                | Self::DayShort
                | Self::MonthName
                | Self::MonthShort
                | Self::Offset
                | Self::Roman
                | Self::ZoneHour
                | Self::Zone
        )
    }

    /// Which way of dates it belongs to.
    pub(super) fn calendar(self) -> Option<Calendar> {
        match self {
            Self::DayOfYear
            | Self::Day
            | Self::DayOfWeek
            | Self::Month
            | Self::MonthName
            | Self::MonthShort
            | Self::Roman
            | Self::Week
            | Self::WeekOfMonth
            | Self::YearInThousands
            | Self::Year(_) => Some(Calendar::Gregorian),
            Self::IsoDayOfYear | Self::IsoDayOfWeek | Self::IsoWeek | Self::IsoYear(_) => Some(Calendar::IsoWeek),
            _ => None,
        }
    }

    /// Whether `TH` behind it makes an ordinal.
    pub(super) fn is_number(self) -> bool {
        self.is_digits() && self != Self::ZoneMinute
    }
}

/// The keyword at the start of `text`, with its letters.
pub(super) fn find(text: &str) -> Option<(&'static str, Key, Letters)> {
    let spelled = |(word, key): &(&'static str, Key)| {
        let start = text.get(..word.len())?;
        let is_name = matches!(key, Key::DayName | Key::DayShort | Key::MonthName | Key::MonthShort);
        let is_capital = || {
            let (first, rest) = word.split_at(1);
            start.starts_with(first) && start[1..] == rest.to_ascii_lowercase()
        };
        let letters = if start == *word {
            Letters::Upper
        } else if start == word.to_ascii_lowercase() {
            Letters::Lower
        } else if is_name && is_capital() {
            Letters::Capital
        } else {
            return None;
        };
        Some((*word, *key, letters))
    };
    KEYWORDS.iter().find_map(spelled)
}
