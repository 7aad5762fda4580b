//! `parse_ident(text [, strict])`: a qualified identifier as the names of which it consists.

use crate::Error;
use crate::datafusion::functions::calls::Kind::{Bool, Text, Texts};
use crate::datafusion::functions::calls::{Given, Overload, of};

pub(super) const OVERLOADS: &[Overload] = &[
    of("parse_ident", &[Text], Texts, |row| parsed(row.text(0), true)),
    of("parse_ident", &[Text, Bool], Texts, |row| parsed(row.text(0), row.bool(1))),
];

fn parsed(text: &str, is_strict: bool) -> Result<Given, Error> {
    let invalid = |detail: &str| Error::invalid(format!("string is not a valid identifier: \"{text}\"{detail}"));
    let mut names = Vec::new();
    let mut rest = text.trim_start();
    let mut is_behind_dot = false;
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut inner = quoted;
            loop {
                let Some(end) = inner.find('"') else { return Err(invalid("; String has unclosed double quotes.")) };
                name.push_str(&inner[..end]);
                inner = &inner[end + 1..];
                match inner.strip_prefix('"') {
                    Some(more) => {
                        name.push('"');
                        inner = more;
                    }
                    None => break,
                }
            }
            if name.is_empty() {
                return Err(invalid("; Quoted identifier must not be empty."));
            }
            names.push(Some(name));
            rest = inner;
        } else {
            let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii();
            let is_part = |c: char| is_start(c) || c.is_ascii_digit() || c == '$';
            if !rest.starts_with(is_start) {
                return Err(invalid(if rest.starts_with('.') {
                    "; No valid identifier before \".\"."
                } else if is_behind_dot {
                    "; No valid identifier after \".\"."
                } else {
                    ""
                }));
            }
            let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            names.push(Some(rest[..end].to_ascii_lowercase()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(behind) => {
                rest = behind.trim_start();
                is_behind_dot = true;
            }
            None if rest.is_empty() || !is_strict => return Ok(names.into()),
            None => return Err(invalid("")),
        }
    }
}
