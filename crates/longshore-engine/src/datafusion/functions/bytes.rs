//! Functions of BYTEA (PostgreSQL's chapter 9.5).

mod encodings;

use super::calls::Kind::{BigInt, Bool, Bytes, Double, Int, Text};
use super::calls::{Given, Overload, Row, count, of};
use super::text;
use crate::{Error, ErrorKind};

/// The functions of this chapter.
pub(super) fn overloads() -> impl Iterator<Item = Overload> {
    OVERLOADS.iter().copied()
}

const OVERLOADS: &[Overload] = &[
    of("length", &[Bytes], Int, |row| Ok(count(row.bytes(0).len()))),
    of("length", &[Bytes, Text], Int, |row| {
        text::utf8(row.text(1))?;
        Ok(count(text::decoded(row.bytes(0))?.chars().count()))
    }),
    of("octet_length", &[Bytes], Int, |row| Ok(count(row.bytes(0).len()))),
    of("bit_length", &[Bytes], Int, |row| Ok(count(row.bytes(0).len() * 8))),
    of("bit_count", &[Bytes], BigInt, |row| {
        Ok(row.bytes(0).iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>().into())
    }),
    of("get_byte", &[Bytes, Int], Int, |row| {
        let at = index(i64::from(row.int(1)), row.bytes(0).len())?;
        Ok(i32::from(row.bytes(0)[at]).into())
    }),
    of("set_byte", &[Bytes, Int, Int], Bytes, |row| {
        let at = index(i64::from(row.int(1)), row.bytes(0).len())?;
        let mut bytes = row.bytes(0).to_vec();
        bytes[at] = row.int(2) as u8;
        Ok(bytes.into())
    }),
    of("get_bit", &[Bytes, BigInt], Int, |row| {
        let at = index(row.bigint(1), row.bytes(0).len() * 8)?;
        Ok(i32::from(row.bytes(0)[at / 8] >> (at % 8) & 1).into())
    }),
    of("set_bit", &[Bytes, BigInt, Int], Bytes, |row| {
        let at = index(row.bigint(1), row.bytes(0).len() * 8)?;
        let mut bytes = row.bytes(0).to_vec();
        match row.int(2) {
            0 => bytes[at / 8] &= !(1 << (at % 8)),
            1 => bytes[at / 8] |= 1 << (at % 8),
            _ => return Err(Error::invalid("new bit must be 0 or 1")),
        }
        Ok(bytes.into())
    }),
    of("substr", &[Bytes, Int], Bytes, |row| Ok(part(row.bytes(0), row.int(1), None)?.to_vec().into())),
    of("substr", &[Bytes, Int, Int], Bytes, |row| {
        Ok(part(row.bytes(0), row.int(1), Some(row.int(2)))?.to_vec().into())
    }),
    of("substring", &[Bytes, Int], Bytes, |row| Ok(part(row.bytes(0), row.int(1), None)?.to_vec().into())),
    of("substring", &[Bytes, Int, Int], Bytes, |row| {
        Ok(part(row.bytes(0), row.int(1), Some(row.int(2)))?.to_vec().into())
    }),
    of("overlay", &[Bytes, Bytes, Int], Bytes, |row| {
        let length = i32::try_from(row.bytes(1).len()).unwrap_or(i32::MAX);
        overlay(row.bytes(0), row.bytes(1), row.int(2), length)
    }),
    of("overlay", &[Bytes, Bytes, Int, Int], Bytes, |row| overlay(row.bytes(0), row.bytes(1), row.int(2), row.int(3))),
    of("position", &[Bytes, Bytes], Int, |row| Ok(count(position(row.bytes(0), row.bytes(1))))),
    of("strpos", &[Bytes, Bytes], Int, |row| Ok(count(position(row.bytes(0), row.bytes(1))))),
    of("btrim", &[Bytes, Bytes], Bytes, |row| Ok(trimmed(row, true, true).to_vec().into())),
    of("trim", &[Bytes, Bytes], Bytes, |row| Ok(trimmed(row, true, true).to_vec().into())),
    of("ltrim", &[Bytes, Bytes], Bytes, |row| Ok(trimmed(row, true, false).to_vec().into())),
    of("rtrim", &[Bytes, Bytes], Bytes, |row| Ok(trimmed(row, false, true).to_vec().into())),
    of("encode", &[Bytes, Text], Text, |row| encodings::encoded(row.bytes(0), row.text(1)).map(Given::from)),
    of("decode", &[Text, Text], Bytes, |row| encodings::decoded(row.text(0), row.text(1)).map(Given::from)),
    of("byteacat", &[Bytes, Bytes], Bytes, |row| Ok([row.bytes(0), row.bytes(1)].concat().into())),
    of("hex", &[Bytes], Text, |row| encodings::encoded(row.bytes(0), "hex").map(|text| text.to_uppercase().into())),
    of("unhex", &[Text], Bytes, |row| encodings::decoded(row.text(0), "hex").map(Given::from)),
    of("int4send", &[Int], Bytes, |row| Ok(row.int(0).to_be_bytes().to_vec().into())),
    of("int8send", &[BigInt], Bytes, |row| Ok(row.bigint(0).to_be_bytes().to_vec().into())),
    // A REAL arrives as the DOUBLE PRECISION that it is, too.
    of("float4send", &[Double], Bytes, |row| Ok((row.double(0) as f32).to_be_bytes().to_vec().into())),
    of("float8send", &[Double], Bytes, |row| Ok(row.double(0).to_be_bytes().to_vec().into())),
    of("bytealike", &[Bytes, Bytes], Bool, |row| is_like(row.bytes(0), row.bytes(1)).map(Given::from)),
    of("like_escape", &[Bytes, Bytes], Bytes, |row| like_escape(row.bytes(0), row.bytes(1)).map(Given::from)),
];

/// Whether bytes match a pattern of LIKE, in which `%` stands for any bytes and `_` for one.
fn is_like(bytes: &[u8], pattern: &[u8]) -> Result<bool, Error> {
    let (mut rest, mut wanted) = (bytes, pattern);
    // Where the last `%` may take one byte more.
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        let step = match (wanted, rest) {
            ([b'%', behind @ ..], _) => {
                again = Some((behind, rest));
                Some((behind, rest))
            }
            ([b'\\'], _) => {
                return Err(Error::new(ErrorKind::EscapeSequence, "LIKE pattern must not end with escape character"));
            }
            ([b'\\', one, behind @ ..], [first, tail @ ..]) if one == first => Some((behind, tail)),
            ([b'\\', ..], _) => None,
            ([b'_', behind @ ..], [_, tail @ ..]) => Some((behind, tail)),
            ([one, behind @ ..], [first, tail @ ..]) if one == first => Some((behind, tail)),
            ([], []) => return Ok(true),
            _ => None,
        };
        (wanted, rest) = match (step, again) {
            (Some(step), _) => step,
            (None, Some((behind, [_, tail @ ..]))) => {
                again = Some((behind, tail));
                (behind, tail)
            }
            (None, _) => return Ok(false),
        };
    }
}

/// A pattern in which `escape` makes a byte mean itself, with a backslash in its place.
fn like_escape(pattern: &[u8], escape: &[u8]) -> Result<Vec<u8>, Error> {
    let escape = match escape {
        [] => None,
        [b'\\'] => return Ok(pattern.to_vec()),
        [escape] => Some(escape),
        _ => {
            let message = "invalid escape string; Escape string must be empty or one character.";
            return Err(Error::new(ErrorKind::EscapeSequence, message));
        }
    };
    let mut plain = Vec::with_capacity(pattern.len());
    let mut is_escaped = false;
    for byte in pattern {
        if Some(byte) == escape && !is_escaped {
            plain.push(b'\\');
            is_escaped = true;
        } else {
            if *byte == b'\\' && !is_escaped {
                plain.push(b'\\');
            }
            plain.push(*byte);
            is_escaped = false;
        }
    }
    Ok(plain)
}

fn index(at: i64, length: usize) -> Result<usize, Error> {
    usize::try_from(at).ok().filter(|at| *at < length).ok_or_else(|| {
        let last = length as i64 - 1;
        Error::new(ErrorKind::Subscript, format!("index {at} out of valid range, 0..{last}"))
    })
}

/// Bytes from the one of the number `start`, counted from 1; those before the first count, too.
fn part(bytes: &[u8], start: i32, length: Option<i32>) -> Result<&[u8], Error> {
    let start = i64::from(start);
    let end = match length {
        None => i64::MAX,
        Some(length) if length < 0 => {
            return Err(Error::new(ErrorKind::Substring, "negative substring length not allowed"));
        }
        Some(length) => start + i64::from(length),
    };
    let place = |at: i64| usize::try_from(at.max(1) - 1).unwrap_or(usize::MAX).min(bytes.len());
    Ok(&bytes[place(start)..place(end).max(place(start))])
}

fn overlay(bytes: &[u8], new: &[u8], start: i32, length: i32) -> Result<Given, Error> {
    if start <= 0 {
        return Err(Error::new(ErrorKind::Substring, "negative substring length not allowed"));
    }
    let Some(end) = start.checked_add(length) else {
        return Err(Error::new(ErrorKind::OutOfRange, "integer out of range"));
    };
    let before = part(bytes, 1, Some(start - 1))?;
    Ok([before, new, part(bytes, end, None)?].concat().into())
}

/// Where `wanted` stands first, counted from 1; 0 if nowhere.
fn position(bytes: &[u8], wanted: &[u8]) -> usize {
    if wanted.is_empty() {
        return 1;
    }
    bytes.windows(wanted.len()).position(|part| part == wanted).map_or(0, |at| at + 1)
}

fn trimmed<'a>(row: &Row<'a>, left: bool, right: bool) -> &'a [u8] {
    let (mut bytes, set) = (row.bytes(0), row.bytes(1));
    while left
        && let [first, rest @ ..] = bytes
        && set.contains(first)
    {
        bytes = rest;
    }
    while right
        && let [rest @ .., last] = bytes
        && set.contains(last)
    {
        bytes = rest;
    }
    bytes
}
