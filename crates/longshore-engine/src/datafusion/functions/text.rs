//! Functions of texts (PostgreSQL's chapter 9.4) where `DataFusion` has none, or others.

mod cases;
mod format;
mod hash;
mod identifiers;
mod padding;
mod parts;
pub(in crate::datafusion) mod quote;
mod unicode;

pub(in crate::datafusion) use padding::rpad;

use datafusion::arrow::array::AsArray;
use datafusion::functions::string::{btrim, contains, ends_with};
use datafusion::functions::{string, unicode as characters};

use super::calls::Kind::{Any, BigInt, Bool, Bytes, Int, Text, Texts};
use super::calls::{Given, Overload, Row, Value, of, theirs};
use crate::{Error, ErrorKind};

/// The functions of this chapter.
pub(super) fn overloads() -> impl Iterator<Item = Overload> {
    GENERAL
        .iter()
        .chain(cases::OVERLOADS)
        .chain(hash::OVERLOADS)
        .chain(padding::OVERLOADS)
        .chain(parts::OVERLOADS)
        .chain(unicode::OVERLOADS)
        .chain(identifiers::OVERLOADS)
        .copied()
}

const GENERAL: &[Overload] = &[
    theirs("length", &[Text], Int, characters::character_length),
    theirs("char_length", &[Text], Int, characters::character_length),
    theirs("character_length", &[Text], Int, characters::character_length),
    theirs("octet_length", &[Text], Int, string::octet_length),
    theirs("bit_length", &[Text], Int, string::bit_length),
    theirs("substr", &[Text, BigInt], Text, characters::substr),
    theirs("substr", &[Text, BigInt, BigInt], Text, characters::substr),
    theirs("substring", &[Text, BigInt], Text, characters::substr),
    theirs("substring", &[Text, BigInt, BigInt], Text, characters::substr),
    theirs("strpos", &[Text, Text], Int, characters::strpos),
    theirs("position", &[Text, Text], Int, characters::strpos),
    theirs("btrim", &[Text], Text, btrim),
    theirs("btrim", &[Text, Text], Text, btrim),
    theirs("trim", &[Text], Text, btrim),
    theirs("trim", &[Text, Text], Text, btrim),
    theirs("ltrim", &[Text], Text, string::ltrim),
    theirs("ltrim", &[Text, Text], Text, string::ltrim),
    theirs("rtrim", &[Text], Text, string::rtrim),
    theirs("rtrim", &[Text, Text], Text, string::rtrim),
    theirs("suffix", &[Text, Text], Bool, ends_with),
    theirs("prefix", &[Text, Text], Bool, string::starts_with),
    theirs("contains", &[Text, Text], Bool, contains),
    of("chr", &[Int], Text, chr),
    of("to_hex", &[Int], Text, |row| Ok(format!("{:x}", row.int(0)).into())),
    of("to_hex", &[BigInt], Text, |row| Ok(format!("{:x}", row.bigint(0)).into())),
    of("overlay", &[Text, Text, Int], Text, |row| {
        let length = row.text(1).chars().count();
        overlay(row.text(0), row.text(1), row.int(2), i32::try_from(length).unwrap_or(i32::MAX))
    }),
    of("overlay", &[Text, Text, Int, Int], Text, |row| overlay(row.text(0), row.text(1), row.int(2), row.int(3))),
    of("concat", &[Any], Text, |row| Ok(shown_parts(row, 0).collect::<String>().into()))
        .called_on_null()
        .with_rest(Any),
    of("concat_ws", &[Text, Any], Text, |row| {
        if row.is_null(0) {
            return Ok(Given::Null);
        }
        Ok(shown_parts(row, 1).collect::<Vec<_>>().join(row.text(0)).into())
    })
    .called_on_null()
    .with_rest(Any),
    of("format", &[Text], Text, format::format).called_on_null().with_rest(Any),
    // These have the elements of one array for their last arguments.
    of("concat$variadic", &[Texts], Text, |row| {
        let texts = of_array(row, 0);
        Ok(texts.map(|texts| texts.into_iter().flatten().collect::<String>()).into())
    }),
    of("concat_ws$variadic", &[Text, Texts], Text, |row| {
        let texts = of_array(row, 1);
        Ok(texts.map(|texts| texts.into_iter().flatten().collect::<Vec<_>>().join(row.text(0))).into())
    }),
    of("format$variadic", &[Text, Texts], Text, |row| {
        let texts = of_array(row, 1).unwrap_or_default();
        let pattern = row.0[0].clone();
        let values = texts.iter().map(|text| text.as_deref().map_or(Value::Null, Value::Text));
        format::format(&Row(&std::iter::once(pattern).chain(values).collect::<Vec<_>>()))
    })
    .called_on_null(),
    of("quote_literal", &[Any], Text, |row| Ok(quote::literal(&cast_text(row, 0)).into())),
    of("quote_nullable", &[Any], Text, |row| {
        Ok(if row.is_null(0) { "NULL".into() } else { quote::literal(&cast_text(row, 0)).into() })
    })
    .called_on_null(),
    of("quote_ident", &[Text], Text, |row| Ok(quote::identifier(row.text(0)).into())),
    of("pg_client_encoding", &[], Text, |_| Ok("UTF8".into())),
    of("convert_to", &[Text, Text], Bytes, |row| {
        utf8(row.text(1))?;
        Ok(row.text(0).as_bytes().to_vec().into())
    }),
    of("convert_from", &[Bytes, Text], Text, |row| {
        utf8(row.text(1))?;
        decoded(row.bytes(0)).map(Given::from)
    }),
    of("convert", &[Bytes, Text, Text], Bytes, |row| {
        utf8(row.text(1))?;
        utf8(row.text(2))?;
        decoded(row.bytes(0))?;
        Ok(row.bytes(0).to_vec().into())
    }),
    of("string_to_array", &[Text, Text], Texts, parts::string_to_array).called_on_null(),
    of("string_to_array", &[Text, Text, Text], Texts, parts::string_to_array).called_on_null(),
    of("string_to_table", &[Text, Text], Texts, parts::string_to_array).called_on_null(),
    of("string_to_table", &[Text, Text, Text], Texts, parts::string_to_array).called_on_null(),
];

/// The elements of an array of texts; `None` for NULL.
fn of_array(row: &Row<'_>, at: usize) -> Option<Vec<Option<String>>> {
    row.list(at).map(|list| list.as_string_view().iter().map(|text| text.map(str::to_owned)).collect())
}

/// An argument of any type as a cast makes a text of it.
fn cast_text(row: &Row<'_>, at: usize) -> String {
    match row.0[at] {
        Value::Bool(value) => value.to_string(),
        _ => row.shown(at).unwrap_or_default().to_owned(),
    }
}

/// The arguments from this place on that are not NULL.
fn shown_parts<'a>(row: &Row<'a>, from: usize) -> impl Iterator<Item = &'a str> {
    (from..row.len()).filter_map(|at| row.shown(at)).collect::<Vec<_>>().into_iter()
}

fn chr(row: &Row<'_>) -> Result<Given, Error> {
    let number = row.int(0);
    if number < 0 {
        return Err(Error::new(ErrorKind::Invalid, "character number must be positive"));
    }
    if number == 0 {
        return Err(Error::new(ErrorKind::TooLarge, "null character not permitted"));
    }
    let character = u32::try_from(number).ok().and_then(char::from_u32);
    character.map(|character| character.to_string().into()).ok_or_else(|| {
        let reason = if number > 0x10_ffff {
            "requested character too large for encoding"
        } else {
            "requested character not valid for encoding"
        };
        Error::new(ErrorKind::TooLarge, format!("{reason}: {number}"))
    })
}

/// `text` with `new` in place of `length` characters from the one of the number `start`, counted from 1.
fn overlay(text: &str, new: &str, start: i32, length: i32) -> Result<Given, Error> {
    if start <= 0 {
        return Err(Error::new(ErrorKind::Substring, "negative substring length not allowed"));
    }
    let Some(end) = start.checked_add(length) else {
        return Err(Error::new(ErrorKind::OutOfRange, "integer out of range"));
    };
    let characters: Vec<char> = text.chars().collect();
    let before = characters.len().min((start - 1).unsigned_abs() as usize);
    let behind = characters.len().min((end.max(1) - 1).unsigned_abs() as usize);
    let mut laid: String = characters[..before].iter().collect();
    laid.push_str(new);
    laid.extend(&characters[behind..]);
    Ok(laid.into())
}

/// Refuses every encoding but UTF-8.
pub(super) fn utf8(encoding: &str) -> Result<(), Error> {
    let folded: String = encoding.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match folded.as_str() {
        "utf8" | "unicode" => Ok(()),
        _ => Err(Error::invalid(format!("invalid encoding name \"{encoding}\"; there is UTF8"))),
    }
}

/// The text that `bytes` are.
pub(super) fn decoded(bytes: &[u8]) -> Result<&str, Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        text => {
            let at = text.map_or_else(|error| error.valid_up_to(), |text| text.find('\0').unwrap_or_default());
            let shown: Vec<String> = bytes[at..].iter().take(1).map(|byte| format!("0x{byte:02x}")).collect();
            let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
            Err(Error::new(ErrorKind::Encoding, message))
        }
    }
}
