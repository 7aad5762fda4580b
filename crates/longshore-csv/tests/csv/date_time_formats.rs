//! The language of date and time formats: what patterns read and refuse, and what is no pattern.

use longshore_csv::decode::exact;
use longshore_csv::{DateTimeFormat, Reason, ValueType};

fn format(patterns: &[&str]) -> DateTimeFormat {
    DateTimeFormat::new(patterns).unwrap()
}

/// A timestamp by a format, as ISO 8601 has it; the reason if there is none.
fn read(patterns: &[&str], text: &str) -> Result<i64, String> {
    format(patterns).timestamp(text.as_bytes()).map_err(|reason| reason.to_string())
}

macro_rules! reads {
    ($name:ident, $pattern:expr, $($text:literal => $iso:literal),+ $(,)?) => {
        #[test]
        fn $name() {
            $(assert_eq!(read(&$pattern, $text), Ok(exact::timestamp($iso.as_bytes()).unwrap()), "{}", $text);)+
        }
    };
}

macro_rules! refuses {
    ($name:ident, $pattern:expr, $($text:literal => $reason:literal),+ $(,)?) => {
        #[test]
        fn $name() {
            $(assert_eq!(read(&$pattern, $text), Err($reason.to_owned()), "{}", $text);)+
        }
    };
}

reads!(
    numbers_may_lack_zeros, ["%m/%d/%Y %H:%M:%S"],
    "03/04/2021 05:06:07" => "2021-03-04 05:06:07", "3/4/2021 5:6:7" => "2021-03-04 05:06:07",
    " 12/31/1999 23:59:59 " => "1999-12-31 23:59:59"
);
reads!(adjacent_numbers_are_full, ["%Y%m%d%H%M%S"], "20210304050607" => "2021-03-04 05:06:07");
reads!(centuries_are_those_of_posix, ["%d.%m.%y"], "01.02.68" => "2068-02-01", "01.02.69" => "1969-02-01");
reads!(
    names_of_months_in_any_case, ["%d %b %Y"],
    "4 mar 2021" => "2021-03-04", "04 MARCH 2021" => "2021-03-04", "4 May 2021" => "2021-05-04"
);
reads!(weekdays_are_read_over, ["%A, %B %e, %Y"], "Thursday, March  4, 2021" => "2021-03-04", "thu, Mar 14, 2024" => "2024-03-14");
reads!(
    half_days, ["%Y-%m-%d %I:%M %p"],
    "2021-03-04 12:00 AM" => "2021-03-04 00:00:00", "2021-03-04 12:30 pm" => "2021-03-04 12:30:00",
    "2021-03-04 1:05 PM" => "2021-03-04 13:05:00", "2021-03-04 11:59 am" => "2021-03-04 11:59:00"
);
reads!(
    fractions_are_rounded, ["%F %T.%f"],
    "2021-03-04 05:06:07.5" => "2021-03-04 05:06:07.5", "2021-03-04 05:06:07.123456789" => "2021-03-04 05:06:07.123457",
    "2021-12-31 23:59:59.9999996" => "2022-01-01 00:00:00"
);
reads!(days_of_the_year, ["%Y-%j"], "2021-060" => "2021-03-01", "2020-60" => "2020-02-29", "2020-366" => "2020-12-31");
reads!(what_is_not_given_is_the_first, ["%Y-%m"], "2021-03" => "2021-03-01");
reads!(shorthands, ["%D %R"], "03/04/21 05:06" => "2021-03-04 05:06:00");
reads!(percent_and_other_signs, ["%%%Yx%m\u{5e74}%d"], "%2021x03\u{5e74}4" => "2021-03-04");
reads!(hyphens_for_unpadded_numbers, ["%-d.%-m.%Y"], "4.3.2021" => "2021-03-04");
reads!(
    seconds_since_1970, ["epoch"],
    "0" => "1970-01-01", "1614861296" => "2021-03-04 12:34:56", "-1" => "1969-12-31 23:59:59",
    "1614861296.25" => "2021-03-04 12:34:56.25", "-0.25" => "1969-12-31 23:59:59.75"
);
reads!(milliseconds_since_1970, ["epoch_ms"], "1614861296250" => "2021-03-04 12:34:56.25");
reads!(microseconds_since_1970, ["epoch_us"], "1614861296250001" => "2021-03-04 12:34:56.250001");
reads!(
    formats_are_tried_in_order, ["%m/%d/%Y", "%d/%m/%Y", "iso"],
    "03/04/2021" => "2021-03-04", "13/04/2021" => "2021-04-13", "2021-03-04 01:02:03" => "2021-03-04 01:02:03"
);
reads!(
    the_month_first, ["us"],
    "3/4/2021" => "2021-03-04", "03-04-2021 05:06" => "2021-03-04 05:06:00", "3/4/2021 5:06:07 PM" => "2021-03-04 17:06:07"
);
reads!(
    the_day_first, ["eu"],
    "3.4.2021" => "2021-04-03", "03/04/2021 05:06:07" => "2021-04-03 05:06:07", "3-4-2021" => "2021-04-03",
    "03.04.2021 05:06:07.125" => "2021-04-03 05:06:07.125"
);

refuses!(
    ranges, ["%d.%m.%Y %H:%M:%S"],
    "00.01.2021 00:00:00" => "the month has no such day", "29.02.2021 00:00:00" => "the month has no such day",
    "01.13.2021 00:00:00" => "the month is not within 1 to 12", "01.01.0000 00:00:00" => "the year is not within 0001 to 9999",
    "01.01.2021 24:00:00" => "the time is not within 00:00:00 to 23:59:59.999999",
    "01.01.2021 00:00:60" => "the time is not within 00:00:00 to 23:59:59.999999"
);
refuses!(
    years_have_four_digits, ["%d.%m.%Y"],
    "01.01.21" => "ends where a digit is expected", "01.01.20211" => "found '1' where the end is expected"
);
refuses!(adjacent_numbers_lacking_zeros, ["%Y%m%d"], "202134" => "ends where a digit is expected");
refuses!(blanks_mean_themselves, ["%d %b %Y"], "4  Mar 2021" => "found ' ' where the name of a month is expected");
refuses!(no_hours_beyond_twelve, ["%Y-%m-%d %I %p"], "2021-03-04 13 PM" => "the hour is not within 1 to 12", "2021-03-04 0 AM" => "the hour is not within 1 to 12");
refuses!(wrong_weekdays, ["%a %F"], "Fri 2021-03-04" => "the date is not that day of the week");
refuses!(wrong_days_of_the_year, ["%Y-%j"], "2021-366" => "the year has no such day", "2021-0" => "the year has no such day");
refuses!(fractions_too_long, ["%F %T.%f"], "2021-03-04 05:06:07.1234567890" => "the fraction of a second has more than nine digits");
refuses!(nothing, ["%F"], "" => "is empty", "  " => "is empty");
refuses!(
    too_long_ago_or_ahead, ["epoch"],
    "253402300800" => "the year is not within 0001 to 9999", "99999999999999999999" => "the year is not within 0001 to 9999",
    "-62135596801" => "the year is not within 0001 to 9999"
);
refuses!(
    the_format_that_came_furthest, ["%d.%m.%Y", "%d %b %Y"],
    "4 Mrz 2021" => "found 'M' where the name of a month is expected", "04.03.x" => "found 'x' where a digit is expected"
);

#[test]
fn zones_are_taken_off() {
    let day = exact::timestamptz(b"2021-03-04 12:00:00Z").unwrap();
    for (pattern, text) in [
        ("%d/%b/%Y:%H:%M:%S %z", "04/Mar/2021:07:00:00 -0500"),
        ("[%d/%b/%Y:%H:%M:%S %z]", "[04/Mar/2021:14:00:00 +0200]"),
        ("%F %T%z", "2021-03-04 17:30:00+05:30"),
        ("%F %T%z", "2021-03-04 12:00:00Z"),
        ("%F %T%z", "2021-03-04 13:00:00+01"),
        ("%a, %d %b %Y %T %Z", "Thu, 04 Mar 2021 12:00:00 gmt"),
        ("%F %T", "2021-03-04 12:00:00"),
    ] {
        assert_eq!(format(&[pattern]).timestamptz(text.as_bytes()), Ok(day), "{text}");
    }
    assert_eq!(format(&["%F %T%z"]).timestamptz(b"2021-03-04 12:00:00+16"), Err(Reason::Offset));
}

#[test]
fn a_date_has_no_time_but_midnight() {
    let format = format(&["%d.%m.%Y %H:%M"]);
    assert_eq!(format.date(b"04.03.2021 00:00"), exact::date(b"2021-03-04"));
    assert_eq!(format.date(b"04.03.2021 00:01"), Err(Reason::TimeOfDay));
}

#[test]
fn times() {
    for (patterns, text, iso) in [
        (&["%I:%M %p"], "1:05 PM", "13:05:00"),
        (&["%H.%M"], "9.30", "09:30:00"),
        (&["us"], "12:05:30 am", "00:05:30"),
        (&["eu"], "23:59", "23:59:00"),
        (&["%H%M%S"], "235959", "23:59:59"),
    ] {
        assert_eq!(format(patterns).time(text.as_bytes()), exact::time(iso.as_bytes()), "{text}");
    }
    assert_eq!(format(&["%T.%f"]).time(b"23:59:59.9999999"), Err(Reason::Time));
}

#[test]
fn what_is_no_format() {
    for (pattern, problem) in [
        ("%q", "a % stands before none of"),
        ("%Y-%", "a % stands before none of"),
        ("", "neither a pattern"),
        ("iso8601", "neither a pattern"),
        ("dd.mm.yyyy", "neither a pattern"),
        ("%Y-%m-%d %d", "has the day twice"),
        ("%Y %y", "has the year twice"),
        ("%F %I:%M", "has hours up to 12 (%I) without AM or PM"),
        ("%F %H:%M %p", "has AM or PM (%p) without hours up to 12"),
        ("%d.%m.", "has no year"),
        ("%Y %d", "has a day without a month"),
        ("%F %M", "has minutes without hours"),
        ("%F %H.%f", "has a fraction"),
        ("%F %z", "has a zone without hours"),
        ("%Y-%j-%d", "has the day of the year and the month or its day"),
        ("%s %F", "has more than the time since 1970"),
    ] {
        let error = DateTimeFormat::new(&[pattern]).unwrap_err().to_string();
        assert!(error.contains(problem), "{pattern}: {error}");
    }
    assert!(DateTimeFormat::new::<&str>(&[]).is_err());
}

#[test]
fn formats_suit_types() {
    for (pattern, fits) in [
        ("%F", [true, false, true, true]),
        ("%T", [false, true, false, false]),
        ("%F %T", [true, false, true, true]),
        ("%F %T%z", [false, false, false, true]),
        ("us", [true; 4]),
        ("epoch", [true, false, true, true]),
        ("iso", [true; 4]),
    ] {
        let types = [ValueType::Date, ValueType::Time, ValueType::Timestamp, ValueType::TimestampTz];
        assert_eq!(types.map(|value_type| format(&[pattern]).check(value_type).is_ok()), fits, "{pattern}");
    }
}

/// Every candidate reads what it writes, for many points in time; only the ones of other order may read it as another.
#[test]
fn candidates_read_what_they_describe() {
    for format in DateTimeFormat::candidates() {
        let pattern = format.to_string();
        let pattern = pattern.trim_matches('\'');
        for step in 0..500_i64 {
            let day = -20_000 + step * 83;
            let second = (step * 7_919) % 86_400;
            let text = written(pattern, day as i32, second);
            let whole = day * 86_400 + second;
            let expected = if !pattern.contains(['H', 'I', 'T']) {
                whole - second
            } else if pattern.contains('S') {
                whole
            } else {
                whole - second % 60
            };
            let two_digits = pattern.contains("%y") && !(-365..35_000).contains(&day);
            if pattern.contains(['Y', 'y']) && !two_digits {
                assert!(format.matches(ValueType::TimestampTz, text.as_bytes()), "{pattern}: {text}");
                assert_eq!(format.timestamptz(text.as_bytes()), Ok(expected * 1_000_000), "{pattern}: {text}");
            }
        }
    }
}

/// The time as a pattern writes it, by the book.
fn written(pattern: &str, day: i32, second: i64) -> String {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let (year, month, of_month) = exact::civil_from_days(day);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    let mut out = String::new();
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        if next != '%' {
            out.push(next);
            continue;
        }
        let part = match rest.next().unwrap() {
            'Y' => format!("{year:04}"),
            'y' => format!("{:02}", year % 100),
            'm' => format!("{month:02}"),
            'b' => MONTHS[month as usize - 1].to_owned(),
            'd' => format!("{of_month:02}"),
            'e' => format!("{of_month:2}"),
            'a' => DAYS[day.rem_euclid(7) as usize].to_owned(),
            'H' => format!("{hour:02}"),
            'I' => format!("{}", (hour + 11) % 12 + 1),
            'M' => format!("{minute:02}"),
            'S' => format!("{:02}", second % 60),
            'f' => "0".to_owned(),
            'p' => if hour < 12 { "AM" } else { "pm" }.to_owned(),
            'z' => "+00:00".to_owned(),
            'Z' => "UTC".to_owned(),
            other => panic!("no candidate has %{other}"),
        };
        out.push_str(&part);
    }
    out
}
