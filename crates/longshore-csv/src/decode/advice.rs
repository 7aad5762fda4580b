//! Decides what to tell about a refused field, given the rule that refused it and the field itself.
//!
//! A reason alone knows where the reading stopped. Here the field is also tried by the rules that the user could have
//! set instead: one that would have read it is the remedy.

use super::{DateTimeFormat, Decoder, FieldRule, Reason, ValueType, exact, quoted};

/// Why a field was refused, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Completes the sentence "the field is not valid: ...".
    pub reason: String,
    /// An imperative without a final full stop.
    pub remedy: String,
}

/// What stands for NULL in many files, in lower case.
const NULL_WORDS: [&[u8]; 18] = [
    b"na", b"n/a", b"#n/a", b"n.a.", b"null", b"nil", b"none", b"nan", b"\\n", b"-", b"--", b"---", b".", b"?",
    b"(null)", b"<na>", b"missing", b"unknown",
];

/// Separators that the remedy for a number may name, those before the fraction first.
const SEPARATORS: [(u8, Option<char>); 8] = [
    (b'.', None),
    (b',', None),
    (b'.', Some(',')),
    (b',', Some('.')),
    (b'.', Some(' ')),
    (b',', Some(' ')),
    (b'.', Some('\'')),
    (b',', Some('\'')),
];

impl Decoder {
    /// What to tell about the field `raw`, quotes included, that was refused for `reason`.
    #[must_use]
    pub fn advice(&self, raw: &[u8], reason: Reason) -> Advice {
        let mut scratch = Vec::new();
        let (content, is_quoted) = quoted::content(raw, &self.settings.dialect, &mut scratch);
        let rule = self.rule();
        let remedy = remedy(rule, exact::trim(content), is_quoted, reason);
        Advice { reason: explanation(rule, reason), remedy }
    }
}

fn explanation(rule: &FieldRule, reason: Reason) -> String {
    let told_by_itself = matches!(reason, Reason::Null | Reason::Empty);
    match &rule.date_time_format {
        Some(format) if is_date_time(rule.value_type) && !format.is_iso() && !told_by_itself => {
            format!("not of the format {format}: {reason}")
        }
        _ if reason == Reason::Boolean && !rule.boolean_words.is_default() => {
            "not among the words of TRUE_VALUES and FALSE_VALUES".to_owned()
        }
        _ => reason.to_string(),
    }
}

fn remedy(rule: &FieldRule, content: &[u8], is_quoted: bool, reason: Reason) -> String {
    let value_type = rule.value_type;
    if matches!(reason, Reason::Null | Reason::TooLong { .. } | Reason::InvalidUtf8 { .. }) {
        return reason.remedy(&value_type);
    }
    if let Some(remedy) = null_remedy(rule, content, is_quoted) {
        return remedy;
    }
    let own = if value_type.is_number() {
        let is_spelled_wrong = matches!(reason, Reason::Unexpected { .. } | Reason::Grouping);
        if is_spelled_wrong { number_remedy(rule, content) } else { None }
    } else if is_date_time(value_type) {
        date_time_remedy(rule, content)
    } else if value_type == ValueType::Boolean && reason == Reason::Boolean {
        boolean_remedy(content)
    } else {
        None
    };
    own.unwrap_or_else(|| reason.remedy(&value_type))
}

fn is_date_time(value_type: ValueType) -> bool {
    matches!(value_type, ValueType::Date | ValueType::Time | ValueType::Timestamp | ValueType::TimestampTz)
}

fn is_string(value_type: ValueType) -> bool {
    matches!(value_type, ValueType::Text | ValueType::Varchar(_) | ValueType::Char(_))
}

/// The text as an SQL string.
fn literal(text: &[u8]) -> String {
    format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''"))
}

/// Where the field looks like NULL but is none by the rule.
fn null_remedy(rule: &FieldRule, content: &[u8], is_quoted: bool) -> Option<String> {
    let is_null_text = rule.null_texts.iter().any(|text| **text == *content);
    if is_null_text && is_quoted && !rule.quoted_nulls {
        let what = if content.is_empty() { "empty fields".to_owned() } else { literal(content) };
        return Some(format!(
            "give a value, or set QUOTED_NULLS (FORCE_NULL for some columns) if quoted {what} are NULL"
        ));
    }
    let is_word = NULL_WORDS.iter().any(|word| word.eq_ignore_ascii_case(content));
    if !is_word && !content.is_empty() || is_string(rule.value_type) || is_null_text {
        return None;
    }
    let all: Vec<String> = rule.null_texts.iter().map(|text| literal(text)).chain([literal(content)]).collect();
    let quotes = if is_quoted && !rule.quoted_nulls { " and QUOTED_NULLS" } else { "" };
    Some(format!("set NULL ({}){quotes} if it stands for NULL", all.join(", ")))
}

/// The separators by which the field is a number.
fn number_remedy(rule: &FieldRule, content: &[u8]) -> Option<String> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.,' eE".contains(byte) || !byte.is_ascii();
    if !content.iter().all(is_part) {
        return None;
    }
    let reads = |(decimal, thousands): (u8, Option<char>)| {
        let separators = exact::Separators { decimal, thousands };
        separators.plain(content).is_ok_and(|plain| exact::is_value(&plain, rule.value_type))
    };
    let set = (rule.decimal_separator, rule.thousands_separator);
    let mut readers = SEPARATORS.into_iter().filter(|separators| *separators != set && reads(*separators));
    let found = readers.next()?;
    // A comma alone may be either.
    let other = if found == (b',', None) { readers.find(|separators| *separators == (b'.', Some(','))) } else { None };
    Some(match (found, other) {
        (_, Some(_)) => {
            "set DECIMAL_SEPARATOR ',' if the fraction follows, or THOUSANDS_SEPARATOR ',' if it groups digits"
                .to_owned()
        }
        ((decimal, thousands), None) => {
            let decimal = (decimal != set.0).then(|| format!("DECIMAL_SEPARATOR {}", literal(&[decimal])));
            let thousands = thousands.map(|separator| {
                format!("THOUSANDS_SEPARATOR {}", literal(separator.encode_utf8(&mut [0; 4]).as_bytes()))
            });
            let options: Vec<String> = decimal.into_iter().chain(thousands).collect();
            if options.is_empty() {
                return None;
            }
            format!("set {}", options.join(" and "))
        }
    })
}

/// The formats by which the field is a value.
fn date_time_remedy(rule: &FieldRule, content: &[u8]) -> Option<String> {
    let option = match rule.value_type {
        ValueType::Date => "DATE_FORMAT",
        ValueType::Time => "TIME_FORMAT",
        _ => "TIMESTAMP_FORMAT",
    };
    let by_default = FieldRule::new(rule.value_type);
    if rule.date_time_format.as_ref().is_some_and(|format| !format.is_iso())
        && exact::is_value(content, by_default.value_type)
    {
        return Some(format!("add 'iso' to {option}"));
    }
    let other = rule.date_time_format.as_ref().filter(|format| !format.is_iso()).map(|format| {
        format!("write it as {format}, add the format that it has to {option}, or declare the column TEXT")
    });
    if content.iter().filter(|byte| byte.is_ascii_digit()).count() < 3 {
        return other;
    }
    let matching: Vec<&DateTimeFormat> =
        DateTimeFormat::candidates().iter().filter(|format| format.matches(rule.value_type, content)).collect();
    let us = matching.iter().find(|format| format.to_string().starts_with("'%m"));
    let eu = matching.iter().find(|format| format.to_string().starts_with("'%d"));
    match (us, eu, matching.first()) {
        (Some(us), Some(eu), _) => Some(format!("set {option} {us} if the month comes first, or {eu} if the day does")),
        (_, _, Some(format)) => Some(format!("set {option} {format}")),
        _ => other,
    }
}

/// Words of other languages and habits.
fn boolean_remedy(content: &[u8]) -> Option<String> {
    let is_word =
        content.len() <= 12 && std::str::from_utf8(content).is_ok_and(|word| !word.contains(char::is_whitespace));
    is_word.then(|| {
        format!(
            "list the words for true in TRUE_VALUES and those for false in FALSE_VALUES, {} among them, or declare the \
             column TEXT",
            literal(content)
        )
    })
}
