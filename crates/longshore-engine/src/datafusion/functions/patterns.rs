//! Regular expressions and patterns of LIKE and SIMILAR TO (PostgreSQL's chapter 9.7).
//!
//! Not here: how expressions match (`longshore-regex`); `~` (`patterns::operators`), which `DataFusion` evaluates where its
//! expressions match the same texts; which patterns SIMILAR TO has (`similar`).

mod expressions;
pub(in crate::datafusion) mod operators;

use longshore_regex::{Match, Occurrence, Options, Span, replace};

use super::calls::Kind::{Bool, Int, Text, TextLists, Texts};
use super::calls::{Given, Overload, Row, count, of};
use super::similar;
use crate::{Error, ErrorKind};
use expressions::{compiled, failed, options};

/// The functions of this chapter.
pub(super) fn overloads() -> impl Iterator<Item = Overload> {
    OVERLOADS.iter().copied()
}

const OVERLOADS: &[Overload] = &[
    of("regexp_like", &[Text, Text], Bool, is_match),
    of("regexp_like", &[Text, Text, Text], Bool, is_match),
    of("textregexeq", &[Text, Text], Bool, is_match),
    of("texticregexeq", &[Text, Text], Bool, |row| {
        let expression = compiled(row.text(1), Options { ignore_case: true, ..Options::default() })?;
        Ok(expression.is_match(row.text(0)).map_err(failed)?.into())
    }),
    of("regexp_match", &[Text, Text], Texts, first_match),
    of("regexp_match", &[Text, Text, Text], Texts, first_match),
    of("regexp_matches", &[Text, Text], TextLists, all_matches),
    of("regexp_matches", &[Text, Text, Text], TextLists, all_matches),
    of("regexp_split_to_array", &[Text, Text], Texts, split),
    of("regexp_split_to_array", &[Text, Text, Text], Texts, split),
    of("regexp_split_to_table", &[Text, Text], Texts, split),
    of("regexp_split_to_table", &[Text, Text, Text], Texts, split),
    of("regexp_count", &[Text, Text], Int, number_of_matches),
    of("regexp_count", &[Text, Text, Int], Int, number_of_matches),
    of("regexp_count", &[Text, Text, Int, Text], Int, number_of_matches),
    of("regexp_instr", &[Text, Text], Int, place),
    of("regexp_instr", &[Text, Text, Int], Int, place),
    of("regexp_instr", &[Text, Text, Int, Int], Int, place),
    of("regexp_instr", &[Text, Text, Int, Int, Int], Int, place),
    of("regexp_instr", &[Text, Text, Int, Int, Int, Text], Int, place),
    of("regexp_instr", &[Text, Text, Int, Int, Int, Text, Int], Int, place),
    of("regexp_substr", &[Text, Text], Text, part),
    of("regexp_substr", &[Text, Text, Int], Text, part),
    of("regexp_substr", &[Text, Text, Int, Int], Text, part),
    of("regexp_substr", &[Text, Text, Int, Int, Text], Text, part),
    of("regexp_substr", &[Text, Text, Int, Int, Text, Int], Text, part),
    of("regexp_replace", &[Text, Text, Text], Text, |row| replaced(row, 1, None, "")),
    of("regexp_replace", &[Text, Text, Text, Text], Text, |row| {
        if row.text(3).starts_with(|first: char| first.is_ascii_digit()) {
            let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
            let flag = &row.text(3)[..1];
            return Err(Error::invalid(format!("invalid regular expression option: \"{flag}\"; {hint}")));
        }
        replaced(row, 1, None, row.text(3))
    }),
    of("regexp_replace", &[Text, Text, Text, Int], Text, |row| replaced(row, row.int(3), Some(1), "")),
    of("regexp_replace", &[Text, Text, Text, Int, Int], Text, |row| replaced(row, row.int(3), Some(row.int(4)), "")),
    of("regexp_replace", &[Text, Text, Text, Int, Int, Text], Text, |row| {
        replaced(row, row.int(3), Some(row.int(4)), row.text(5))
    }),
    of("substring", &[Text, Text], Text, |row| {
        let expression = compiled(row.text(1), Options::default())?;
        Ok(sub_match(row.text(0), &expression)?.into())
    }),
    of("substr", &[Text, Text], Text, |row| {
        let expression = compiled(row.text(1), Options::default())?;
        Ok(sub_match(row.text(0), &expression)?.into())
    }),
    of("substring", &[Text, Text, Text], Text, |row| similar_part(row.text(0), row.text(1), row.text(2))),
    of("substring_similar", &[Text, Text, Text], Text, |row| similar_part(row.text(0), row.text(1), row.text(2))),
    of("regexp_extract", &[Text, Text], Text, |row| extracted(row, 0, "")),
    of("regexp_extract", &[Text, Text, Int], Text, |row| extracted(row, row.int(2), "")),
    of("regexp_extract", &[Text, Text, Int, Text], Text, |row| extracted(row, row.int(2), row.text(3))),
    of("regexp_extract_all", &[Text, Text], Texts, |row| all_extracted(row, 0)),
    of("regexp_extract_all", &[Text, Text, Int], Texts, |row| all_extracted(row, row.int(2))),
    of("similar_to_escape", &[Text], Text, |row| similar_escape(row.text(0), "\\")),
    of("similar_to_escape", &[Text, Text], Text, |row| similar_escape(row.text(0), row.text(1))),
    of("like_escape", &[Text, Text], Text, |row| like_escape(row.text(0), row.text(1)).map(Given::from)),
];

/// The flags at this place, if there are any; `g` only where a function takes it.
fn flags(row: &Row<'_>, at: usize, function: &str, takes_global: bool) -> Result<Options, Error> {
    if at >= row.len() {
        return Ok(Options::default());
    }
    let options = options(row.text(at))?;
    if options.global && !takes_global {
        return Err(Error::invalid(format!("{function} does not support the \"global\" option")));
    }
    Ok(options)
}

fn is_match(row: &Row<'_>) -> Result<Given, Error> {
    let expression = compiled(row.text(1), flags(row, 2, "regexp_like()", false)?)?;
    Ok(expression.is_match(row.text(0)).map_err(failed)?.into())
}

/// The texts of the groups of a match, or the whole if there are none.
fn texts_of(text: &str, found: &Match) -> Vec<Option<String>> {
    let groups: Vec<_> = found.groups().map(|group| group.map(|group| group.of(text).to_owned())).collect();
    if groups.is_empty() { vec![Some(found.whole.of(text).to_owned())] } else { groups }
}

fn first_match(row: &Row<'_>) -> Result<Given, Error> {
    let options = flags(row, 2, "regexp_match()", true)?;
    if options.global {
        let hint = "Use the regexp_matches function instead.";
        return Err(Error::invalid(format!("regexp_match() does not support the \"global\" option; {hint}")));
    }
    let expression = compiled(row.text(1), options)?;
    let found = expression.find_at(row.text(0), 0).map_err(failed)?;
    Ok(found.map(|found| texts_of(row.text(0), &found)).into())
}

fn all_matches(row: &Row<'_>) -> Result<Given, Error> {
    let options = flags(row, 2, "regexp_matches()", true)?;
    let expression = compiled(row.text(1), options)?;
    let found = expression.find_all(row.text(0), options.global, false).map_err(failed)?;
    Ok(found.iter().map(|found| texts_of(row.text(0), found)).collect::<Vec<_>>().into())
}

fn split(row: &Row<'_>) -> Result<Given, Error> {
    let text = row.text(0);
    let expression = compiled(row.text(1), flags(row, 2, "regexp_split_to_array()", false)?)?;
    let mut parts = Vec::new();
    let mut start = 0;
    for found in expression.find_all(text, true, true).map_err(failed)? {
        parts.push(Some(text[start..found.whole.start].to_owned()));
        start = found.whole.end;
    }
    parts.push(Some(text[start..].to_owned()));
    Ok(parts.into())
}

/// The byte at which the character of the number `start`, counted from 1, begins; `None` behind the end.
fn start_byte(text: &str, start: i32) -> Result<Option<usize>, Error> {
    if start <= 0 {
        return Err(Error::invalid(format!("invalid value for parameter \"start\": {start}")));
    }
    let places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(places.into_iter().nth(start.unsigned_abs() as usize - 1))
}

fn positive(name: &str, value: i32) -> Result<usize, Error> {
    if value <= 0 {
        return Err(Error::invalid(format!("invalid value for parameter \"{name}\": {value}")));
    }
    Ok(value.unsigned_abs() as usize)
}

/// The integer at this place, or 1.
fn optional(row: &Row<'_>, at: usize, default: i32) -> i32 {
    if at < row.len() { row.int(at) } else { default }
}

/// All matches of the expression in the second argument from the place in the third one on.
fn matches_from(row: &Row<'_>, options: Options) -> Result<Vec<Match>, Error> {
    let expression = compiled(row.text(1), options)?;
    let mut found = Vec::new();
    let Some(mut from) = start_byte(row.text(0), optional(row, 2, 1))? else { return Ok(found) };
    while let Some(one) = expression.find_at(row.text(0), from).map_err(failed)? {
        from = one.next_search(row.text(0));
        found.push(one);
    }
    Ok(found)
}

fn number_of_matches(row: &Row<'_>) -> Result<Given, Error> {
    let options = flags(row, 3, "regexp_count()", false)?;
    Ok(count(matches_from(row, options)?.len()))
}

/// The match of the number that the fourth argument gives, or a group of it; the whole is the first group where there are
/// none.
fn wanted_match(row: &Row<'_>, options: Options, group: usize) -> Result<Option<Span>, Error> {
    start_byte(row.text(0), optional(row, 2, 1))?;
    let number = positive("n", optional(row, 3, 1))?;
    let found = matches_from(row, options)?.into_iter().nth(number - 1);
    Ok(found.and_then(|found| found.group(if found.groups().count() == 0 && group == 1 { 0 } else { group })))
}

fn group_number(row: &Row<'_>, at: usize) -> Result<usize, Error> {
    let group = optional(row, at, 0);
    usize::try_from(group).map_err(|_| Error::invalid(format!("invalid value for parameter \"subexpr\": {group}")))
}

fn place(row: &Row<'_>) -> Result<Given, Error> {
    start_byte(row.text(0), optional(row, 2, 1))?;
    positive("n", optional(row, 3, 1))?;
    let end = optional(row, 4, 0);
    if !(0..=1).contains(&end) {
        return Err(Error::invalid(format!("invalid value for parameter \"endoption\": {end}")));
    }
    let options = flags(row, 5, "regexp_instr()", false)?;
    let group = group_number(row, 6)?;
    let found = wanted_match(row, options, group)?;
    Ok(count(found.map_or(0, |found| {
        let byte = if end == 1 { found.end } else { found.start };
        row.text(0)[..byte].chars().count() + 1
    })))
}

fn part(row: &Row<'_>) -> Result<Given, Error> {
    start_byte(row.text(0), optional(row, 2, 1))?;
    positive("n", optional(row, 3, 1))?;
    let options = flags(row, 4, "regexp_substr()", false)?;
    let group = group_number(row, 5)?;
    let found = wanted_match(row, options, group)?;
    Ok(found.map(|found| found.of(row.text(0)).to_owned()).into())
}

/// The text with another one for matches: all with the flag `g`, else the one of the number `number` (0 for all).
fn replaced(row: &Row<'_>, start: i32, number: Option<i32>, flags: &str) -> Result<Given, Error> {
    let start = start_byte(row.text(0), start)?;
    let options = options(flags)?;
    let occurrence = match number {
        Some(number) if number < 0 => {
            return Err(Error::invalid(format!("invalid value for parameter \"n\": {number}")));
        }
        Some(0) => Occurrence::All,
        Some(number) => Occurrence::Number(number.unsigned_abs() as usize),
        None if options.global => Occurrence::All,
        None => Occurrence::Number(1),
    };
    let expression = compiled(row.text(1), options)?;
    let Some(start) = start else { return Ok(row.text(0).into()) };
    Ok(replace(&expression, row.text(0), start, row.text(2), occurrence).map_err(failed)?.into())
}

/// The first group of the first match, or the match if the expression has no groups.
fn sub_match(text: &str, expression: &longshore_regex::Regex) -> Result<Option<String>, Error> {
    let found = expression.find_at(text, 0).map_err(failed)?;
    let group = usize::from(expression.group_count() > 0);
    Ok(found.and_then(|found| found.group(group)).map(|found| found.of(text).to_owned()))
}

/// `substring(text SIMILAR pattern ESCAPE escape)`: the part between two marks of escape and quotation mark.
fn similar_part(text: &str, pattern: &str, escape: &str) -> Result<Given, Error> {
    let expression = compiled(&similar::expression(pattern, escape)?, Options::default())?;
    Ok(sub_match(text, &expression)?.into())
}

fn similar_escape(pattern: &str, escape: &str) -> Result<Given, Error> {
    similar::expression(pattern, escape).map(Given::from)
}

/// `DuckDB`'s: the group of the first match, empty if there is none.
fn extracted(row: &Row<'_>, group: i32, flags: &str) -> Result<Given, Error> {
    let expression = compiled(row.text(1), options(flags)?)?;
    let group = group_of(&expression, group)?;
    let found = expression.find_at(row.text(0), 0).map_err(failed)?.and_then(|found| found.group(group));
    Ok(found.map_or("", |found| found.of(row.text(0))).into())
}

fn all_extracted(row: &Row<'_>, group: i32) -> Result<Given, Error> {
    let expression = compiled(row.text(1), Options::default())?;
    let group = group_of(&expression, group)?;
    let found = expression.find_all(row.text(0), true, false).map_err(failed)?;
    let texts = found.iter().map(|found| Some(found.group(group).map_or("", |part| part.of(row.text(0))).to_owned()));
    Ok(texts.collect::<Vec<_>>().into())
}

fn group_of(expression: &longshore_regex::Regex, group: i32) -> Result<usize, Error> {
    usize::try_from(group).ok().filter(|group| *group <= expression.group_count()).ok_or_else(|| {
        Error::invalid(format!("the expression has no group {group}; its groups are 0 to {}", expression.group_count()))
    })
}

/// `pattern`, in which `escape` makes a character mean itself, with a backslash in its place.
fn like_escape(pattern: &str, escape: &str) -> Result<String, Error> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(Error::new(
            ErrorKind::EscapeSequence,
            "invalid escape string; Escape string must be empty or one character.",
        ));
    }
    if escape == Some('\\') {
        return Ok(pattern.to_owned());
    }
    let mut plain = String::with_capacity(pattern.len());
    let mut is_escaped = false;
    for character in pattern.chars() {
        if Some(character) == escape && !is_escaped {
            plain.push('\\');
            is_escaped = true;
        } else {
            if character == '\\' && !is_escaped {
                plain.push('\\');
            }
            plain.push(character);
            is_escaped = false;
        }
    }
    Ok(plain)
}
