//! Layouts of dates and times other than ISO's.
//!
//! A layout fixes everything that a `strptime` format does: order, separators, and which parts of the time there are.
//! Two-digit years are no layout, since nothing in the file tells their century.

use super::DateOrder;

/// How a date is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DateLayout {
    /// `Y`, `m`, `d` and `b` (the month's short name) in their order.
    parts: [u8; 3],
    /// What stands between the first and the second, and between the second and the third.
    between: [&'static str; 2],
}

const DATES: [DateLayout; 10] = [
    DateLayout { parts: *b"Ymd", between: ["/", "/"] },
    DateLayout { parts: *b"mdY", between: ["/", "/"] },
    DateLayout { parts: *b"dmY", between: ["/", "/"] },
    DateLayout { parts: *b"mdY", between: ["-", "-"] },
    DateLayout { parts: *b"dmY", between: ["-", "-"] },
    DateLayout { parts: *b"dmY", between: [".", "."] },
    DateLayout { parts: *b"Ymd", between: [".", "."] },
    DateLayout { parts: *b"dbY", between: ["-", "-"] },
    DateLayout { parts: *b"dbY", between: [" ", " "] },
    DateLayout { parts: *b"bdY", between: [" ", ", "] },
];

/// What stands behind the date, as `strptime` says it.
const TIMES: [&str; 6] = ["", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p"];

const _: () = assert!(DATES.len() * TIMES.len() <= 64);

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// A layout of dates, or of dates with times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    date: u8,
    time: u8,
}

impl Layout {
    /// Every layout.
    pub(super) fn all() -> impl Iterator<Item = Layout> {
        (0..DATES.len() as u8).flat_map(|date| (0..TIMES.len() as u8).map(move |time| Layout { date, time }))
    }

    pub(super) fn bit(self) -> u64 {
        1 << (usize::from(self.date) * TIMES.len() + usize::from(self.time))
    }

    /// Whether there is a time behind the date.
    #[must_use]
    pub fn has_time(self) -> bool {
        self.time != 0
    }

    /// The layout as a `strptime` format.
    #[must_use]
    pub fn format(self) -> String {
        let DateLayout { parts, between } = DATES[usize::from(self.date)];
        let [first, second, third] = parts.map(char::from);
        format!("%{first}{}%{second}{}%{third}{}", between[0], between[1], TIMES[usize::from(self.time)])
    }

    /// The order of day and month, where both are numbers and the year comes last.
    fn order(self) -> Option<DateOrder> {
        match &DATES[usize::from(self.date)].parts {
            b"mdY" => Some(DateOrder::MonthFirst),
            b"dmY" => Some(DateOrder::DayFirst),
            _ => None,
        }
    }

    /// The one layout among `bits`; of two that differ in the order of day and month, the one of `order`.
    pub(super) fn choose(bits: u64, order: Option<DateOrder>) -> Option<Layout> {
        let mut layouts = Layout::all().filter(|layout| bits & layout.bit() != 0);
        let first = layouts.next()?;
        let Some(second) = layouts.next() else { return Some(first) };
        if layouts.next().is_some() {
            return None;
        }
        [first, second].into_iter().find(|layout| order.is_some() && layout.order() == order)
    }

    /// Whether `text` is a date, or date and time, of this layout.
    pub(super) fn reads(self, text: &[u8]) -> bool {
        DATES[usize::from(self.date)].read(text).is_some_and(|rest| is_time(rest, self.time))
    }

    /// The bits of all layouts that `text` is a date, or date and time, of.
    pub(super) fn bits_of(text: &[u8]) -> u64 {
        let mut bits = 0;
        for (date, layout) in DATES.iter().enumerate() {
            if let Some(rest) = layout.read(text) {
                let times = (0..TIMES.len() as u8).filter(|time| is_time(rest, *time));
                bits |= times.fold(0, |bits, time| bits | Layout { date: date as u8, time }.bit());
            }
        }
        bits
    }
}

impl DateLayout {
    /// What follows the date that `text` begins with.
    fn read<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let (mut year, mut month, mut day) = (0, 0, 0);
        let mut rest = text;
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                rest = rest.strip_prefix(self.between[index - 1].as_bytes())?;
            }
            let (value, behind) = match part {
                b'Y' => number(rest, 4, 4)?,
                b'b' => month_name(rest)?,
                _ => number(rest, 1, 2)?,
            };
            match part {
                b'Y' => year = value,
                b'd' => day = value,
                _ => month = value,
            }
            rest = behind;
        }
        is_day(year, month, day).then_some(rest)
    }
}

/// A number of `min` to `max` digits, and what follows it.
fn number(text: &[u8], min: usize, max: usize) -> Option<(u32, &[u8])> {
    let digits = text.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
    if digits < min {
        return None;
    }
    let (digits, rest) = text.split_at(digits);
    Some((digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0')), rest))
}

/// The number of the month whose short name the text begins with.
fn month_name(text: &[u8]) -> Option<(u32, &[u8])> {
    let (name, rest) = text.split_at_checked(3)?;
    let month = MONTHS.iter().position(|month| name.eq_ignore_ascii_case(*month))?;
    Some((month as u32 + 1, rest))
}

fn is_day(year: u32, month: u32, day: u32) -> bool {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

/// Whether `text` is the time that number `layout` of [`TIMES`] stands for.
fn is_time(text: &[u8], layout: u8) -> bool {
    if layout == 0 {
        return text.is_empty();
    }
    read_time(text, layout).is_some_and(<[u8]>::is_empty)
}

fn read_time(text: &[u8], layout: u8) -> Option<&[u8]> {
    let twelve = layout >= 4;
    let (hours, rest) = number(text.strip_prefix(b" ")?, 1, 2)?;
    let (minutes, mut rest) = number(rest.strip_prefix(b":")?, 2, 2)?;
    let mut seconds = 0;
    if matches!(layout, 2 | 3 | 5) {
        (seconds, rest) = number(rest.strip_prefix(b":")?, 2, 2)?;
    }
    if layout == 3 {
        (_, rest) = number(rest.strip_prefix(b".")?, 1, 6)?;
    }
    let hours_fit = if twelve { (1..=12).contains(&hours) } else { hours <= 23 };
    if !hours_fit || minutes > 59 || seconds > 59 {
        return None;
    }
    if twelve {
        let (half, behind) = rest.strip_prefix(b" ")?.split_at_checked(2)?;
        if !half.eq_ignore_ascii_case(b"am") && !half.eq_ignore_ascii_case(b"pm") {
            return None;
        }
        rest = behind;
    }
    Some(rest)
}
