//! SET and SHOW of `TimeZone`, `DateStyle` and `IntervalStyle`, which each session has for itself.

use longshore_time::settings::{IntervalStyle, Settings};
use longshore_time::zone::Zone;
use sqlparser::ast::{ContextModifier, Expr, Interval, Set, Statement, UnaryOperator, Value};

use crate::transaction::{Block, SessionTime};
use crate::{Error, Outcome, Report};

/// The settings.
pub(crate) const NAMES: [&str; 3] = ["DateStyle", "IntervalStyle", "TimeZone"];

/// Executes `statement` if it sets one of them.
pub(crate) fn set(block: &Block, statement: &Statement) -> Option<Result<Outcome, Error>> {
    let (name, values, is_local) = match statement {
        Statement::Set(Set::SingleAssignment {
            scope: scope @ (None | Some(ContextModifier::Session | ContextModifier::Local)),
            hivevar: false,
            variable,
            values,
        }) => (variable.to_string(), values.as_slice(), *scope == Some(ContextModifier::Local)),
        Statement::Set(Set::SetTimeZone { local, value }) => {
            ("TimeZone".to_owned(), std::slice::from_ref(value), *local)
        }
        _ => return None,
    };
    let name = *NAMES.iter().find(|known| known.eq_ignore_ascii_case(&name))?;
    Some(assign(block.time(), name, values, is_local))
}

/// Their values.
pub(crate) fn shown(block: &Block) -> [(&'static str, String); 3] {
    let settings = block.time().settings();
    let [date_style, interval_style, zone] = NAMES;
    [
        (date_style, settings.date_style()),
        (interval_style, settings.interval_style.to_string()),
        (zone, settings.zone.name().to_owned()),
    ]
}

fn assign(time: &SessionTime, name: &str, values: &[Expr], is_local: bool) -> Result<Outcome, Error> {
    let now = Settings::clone(&time.settings());
    let usual = Settings::default();
    let wrong = |text: &str| Error::invalid(format!("invalid value for parameter \"{name}\": \"{text}\""));
    let words: Option<Vec<String>> = values.iter().map(word).collect();
    let text = words
        .map(|words| words.join(", "))
        .ok_or_else(|| Error::invalid(format!("{name} takes words, texts and numbers only")))?;
    let is_default = matches!(values, [Expr::Identifier(word)]
        if word.quote_style.is_none() && (word.value.eq_ignore_ascii_case("default")
            || name == "TimeZone" && word.value.eq_ignore_ascii_case("local")));
    let settings = match name {
        "TimeZone" if is_default => Settings { zone: usual.zone, ..now },
        "TimeZone" => Settings { zone: Zone::of_setting(&text).ok_or_else(|| wrong(&text))?, ..now },
        "DateStyle" if is_default => Settings { style: usual.style, order: usual.order, ..now },
        "DateStyle" => now.with_date_style(&text).ok_or_else(|| wrong(&text))?,
        _ if is_default => Settings { interval_style: usual.interval_style, ..now },
        _ => Settings { interval_style: IntervalStyle::named(&text).ok_or_else(|| wrong(&text))?, ..now },
    };
    if time.set(settings, is_local) {
        return Ok(Outcome::done("SET"));
    }
    let notice = Some("SET LOCAL does nothing outside of a transaction block; BEGIN opens one".to_owned());
    Ok(Outcome::Done { tag: "SET".to_owned(), report: Report::default(), notice })
}

/// A word, a text, a number or an interval, as text.
fn word(value: &Expr) -> Option<String> {
    match value {
        Expr::Identifier(word) => Some(word.value.clone()),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => Some(text.clone()),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => word(expr).map(|text| format!("-{text}")),
        // The offset of a zone: INTERVAL '-08:00' HOUR TO MINUTE.
        Expr::Interval(Interval { value, .. }) => {
            let text = word(value)?;
            let (hours, minutes) = text.split_once(':').unwrap_or((&text, "0"));
            let size = hours.trim_start_matches(['-', '+']).parse::<f64>().ok()? + minutes.parse::<f64>().ok()? / 60.0;
            Some(if text.starts_with('-') { format!("-{size}") } else { size.to_string() })
        }
        _ => None,
    }
}
