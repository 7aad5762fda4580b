//! `format(pattern, ...)`: values in the places that a pattern marks, `%[position$][-][width]type`.

use std::iter::Peekable;
use std::str::Chars;

use super::quote;
use crate::datafusion::functions::calls::{Given, Row};
use crate::{Error, ErrorKind};

/// A place for a value.
struct Place {
    /// The argument that it takes, counted from 1; the next one if it says nothing.
    position: Option<usize>,
    left: bool,
    width: Width,
    kind: char,
}

enum Width {
    None,
    Characters(i64),
    /// That of an argument, counted from 1, or of the next one.
    Argument(Option<usize>),
}

pub(super) fn format(row: &Row<'_>) -> Result<Given, Error> {
    if row.is_null(0) {
        return Ok(Given::Null);
    }
    let mut made = String::new();
    let mut next = 1;
    let mut characters = row.text(0).chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' {
            made.push(character);
            continue;
        }
        if characters.next_if_eq(&'%').is_some() {
            made.push('%');
            continue;
        }
        let place = place(&mut characters)?;
        let mut left = place.left;
        let width = match place.width {
            Width::None => 0,
            Width::Characters(width) => width,
            Width::Argument(position) => {
                let at = argument(row, position, &mut next)?;
                let width = row.shown(at).unwrap_or("0");
                width.parse::<i64>().map_err(|_| {
                    Error::new(ErrorKind::InvalidText, format!("invalid input syntax for type integer: \"{width}\""))
                })?
            }
        };
        if width < 0 {
            left = true;
        }
        let at = argument(row, place.position, &mut next)?;
        let value = match (place.kind, row.shown(at)) {
            ('s', value) => value.unwrap_or_default().to_owned(),
            ('L', value) => value.map_or_else(|| "NULL".to_owned(), quote::literal),
            ('I', Some(value)) => quote::identifier(value),
            _ => {
                return Err(Error::new(
                    ErrorKind::NullNotAllowed,
                    "null values cannot be formatted as an SQL identifier",
                ));
            }
        };
        pad(&mut made, &value, usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX), left)?;
    }
    Ok(made.into())
}

/// The place of the argument that is meant.
fn argument(row: &Row<'_>, position: Option<usize>, next: &mut usize) -> Result<usize, Error> {
    let at = position.unwrap_or(*next);
    *next = at + 1;
    if at >= row.len() { Err(Error::invalid("too few arguments for format()")) } else { Ok(at) }
}

fn pad(made: &mut String, value: &str, width: usize, left: bool) -> Result<(), Error> {
    let missing = width.saturating_sub(value.chars().count());
    if missing > 1 << 28 {
        return Err(Error::new(ErrorKind::TooLarge, "format() would make a value that is too large"));
    }
    if left {
        made.push_str(value);
    }
    made.extend(std::iter::repeat_n(' ', missing));
    if !left {
        made.push_str(value);
    }
    Ok(())
}

fn place(characters: &mut Peekable<Chars<'_>>) -> Result<Place, Error> {
    let mut place = Place { position: None, left: false, width: Width::None, kind: 's' };
    if let Some(number) = number(characters)? {
        if characters.next_if_eq(&'$').is_some() {
            place.position = Some(positive(number)?);
        } else {
            place.width = Width::Characters(number);
        }
    }
    if matches!(place.width, Width::None) {
        while characters.next_if_eq(&'-').is_some() {
            place.left = true;
        }
        if characters.next_if_eq(&'*').is_some() {
            place.width = Width::Argument(match number(characters)? {
                None => None,
                Some(number) => {
                    if characters.next_if_eq(&'$').is_none() {
                        return Err(Error::invalid("width argument position must be ended by \"$\""));
                    }
                    Some(positive(number)?)
                }
            });
        } else if let Some(number) = number(characters)? {
            place.width = Width::Characters(number);
        }
    }
    match characters.next() {
        None => Err(Error::invalid("unterminated format() type specifier")),
        Some(kind @ ('s' | 'I' | 'L')) => Ok(Place { kind, ..place }),
        Some(other) => Err(Error::invalid(format!("unrecognized format() type specifier \"{other}\""))),
    }
}

fn positive(number: i64) -> Result<usize, Error> {
    usize::try_from(number)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| Error::invalid("format specifies argument 0, but arguments are numbered from 1"))
}

/// The number that follows, if one does.
fn number(characters: &mut Peekable<Chars<'_>>) -> Result<Option<i64>, Error> {
    let mut number: Option<i64> = None;
    while let Some(digit) = characters.peek().and_then(|character| character.to_digit(10)) {
        characters.next();
        let more = number.unwrap_or_default() * 10 + i64::from(digit);
        if more > i64::from(i32::MAX) {
            return Err(Error::new(ErrorKind::OutOfRange, "number is out of range"));
        }
        number = Some(more);
    }
    if number.is_some() && characters.peek().is_none() {
        return Err(Error::invalid("unterminated format() type specifier"));
    }
    Ok(number)
}
