//! The text form of arrays, `{1,"a b",NULL}`, read.

use datafusion::common::{DataFusionError, Result};

use crate::datafusion::errors::external;
use crate::{Error, ErrorKind};

/// Dimensions of an array, at most; as in PostgreSQL.
const DIMENSIONS_MAX: usize = 6;

/// An element of an array in its text form.
#[derive(Debug, PartialEq)]
pub(super) enum Element {
    Null,
    Text(String),
    Array(Vec<Element>),
}

/// The elements of all dimensions of an array.
pub(in crate::datafusion) fn flat_elements(text: &str) -> Result<Vec<Option<String>>> {
    let mut all = Vec::new();
    flatten(parse(text)?, &mut all);
    Ok(all)
}

fn flatten(elements: Vec<Element>, all: &mut Vec<Option<String>>) {
    for element in elements {
        match element {
            Element::Null => all.push(None),
            Element::Text(text) => all.push(Some(text)),
            Element::Array(elements) => flatten(elements, all),
        }
    }
}

/// The lengths of the dimensions of an array.
pub(in crate::datafusion) fn shape(text: &str) -> Result<Vec<usize>> {
    let mut shape = Vec::new();
    let elements = parse(text)?;
    let mut level = elements.as_slice();
    loop {
        shape.push(level.len());
        match level.first() {
            Some(Element::Array(inner)) => level = inner,
            _ => return Ok(shape),
        }
    }
}

/// The elements of an array.
pub(super) fn parse(text: &str) -> Result<Vec<Element>> {
    let mut body = text.trim();
    if body.starts_with('[') {
        // Bounds of the dimensions, which count from 1 here.
        let Some((bounds, rest)) = body.split_once('=') else {
            return Err(malformed(text, "Missing \"=\" after array dimensions."));
        };
        let starts_at_one = |bound: &str| bound.split_once(':').is_none_or(|(lower, _)| lower.trim() == "1");
        if !bounds.trim().trim_matches(['[', ']']).split("][").all(starts_at_one) {
            return Err(external(Error::unsupported("arrays whose first element is not number 1 are not supported")));
        }
        body = rest.trim_start();
    }
    let mut parser = Parser { text, chars: body.chars().peekable(), depth: 0 };
    if parser.chars.next() != Some('{') {
        return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
    }
    let elements = parser.array()?;
    if parser.chars.any(|c| !c.is_ascii_whitespace()) {
        return Err(malformed(text, "Junk after closing right brace."));
    }
    check_shape(text, &elements)?;
    Ok(elements)
}

/// All arrays within an array have the same number of elements, or there are none.
fn check_shape(text: &str, elements: &[Element]) -> Result<()> {
    let shape = |element: &Element| match element {
        Element::Array(elements) => Some(elements.len()),
        _ => None,
    };
    let first = elements.first().and_then(shape);
    for element in elements {
        if shape(element) != first {
            return Err(malformed(text, "Multidimensional arrays must have sub-arrays with matching dimensions."));
        }
        if let Element::Array(elements) = element {
            check_shape(text, elements)?;
        }
    }
    Ok(())
}

fn malformed(text: &str, detail: &str) -> DataFusionError {
    external(Error::new(ErrorKind::InvalidText, format!("malformed array literal: \"{text}\": {detail}")))
}

struct Parser<'a> {
    text: &'a str,
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    depth: usize,
}

impl Parser<'_> {
    /// What follows an opening brace, up to the closing one.
    fn array(&mut self) -> Result<Vec<Element>> {
        self.depth += 1;
        if self.depth > DIMENSIONS_MAX {
            let message =
                format!("number of array dimensions ({}) exceeds the maximum allowed ({DIMENSIONS_MAX})", self.depth);
            return Err(external(Error::new(ErrorKind::TooLarge, message)));
        }
        let mut elements = Vec::new();
        self.skip_space();
        if self.chars.next_if_eq(&'}').is_some() {
            self.depth -= 1;
            return Ok(elements);
        }
        loop {
            self.skip_space();
            elements.push(match self.chars.peek() {
                Some('{') => {
                    self.chars.next();
                    Element::Array(self.array()?)
                }
                Some('"') => {
                    self.chars.next();
                    Element::Text(self.quoted()?)
                }
                _ => self.bare()?,
            });
            self.skip_space();
            match self.chars.next() {
                Some(',') => {}
                Some('}') => break,
                Some('"') => return Err(malformed(self.text, "Incorrectly quoted array element.")),
                Some(other) => return Err(malformed(self.text, &format!("Unexpected \"{other}\" character."))),
                None => return Err(malformed(self.text, "Unexpected end of input.")),
            }
        }
        self.depth -= 1;
        Ok(elements)
    }

    fn quoted(&mut self) -> Result<String> {
        let mut value = String::new();
        loop {
            match self.chars.next() {
                Some('"') => return Ok(value),
                Some('\\') => match self.chars.next() {
                    Some(c) => value.push(c),
                    None => return Err(malformed(self.text, "Unexpected end of input.")),
                },
                Some(c) => value.push(c),
                None => return Err(malformed(self.text, "Unexpected end of input.")),
            }
        }
    }

    fn bare(&mut self) -> Result<Element> {
        let mut value = String::new();
        // Characters that are kept even where they are blanks at the end.
        let (mut kept, mut is_escaped) = (0, false);
        while let Some(c) = self.chars.peek().copied() {
            match c {
                ',' | '}' => break,
                '{' | '"' => return Err(malformed(self.text, &format!("Unexpected \"{c}\" character."))),
                '\\' => {
                    self.chars.next();
                    let Some(c) = self.chars.next() else {
                        return Err(malformed(self.text, "Unexpected end of input."));
                    };
                    value.push(c);
                    kept = value.len();
                    is_escaped = true;
                }
                c => {
                    self.chars.next();
                    value.push(c);
                    if !c.is_ascii_whitespace() {
                        kept = value.len();
                    }
                }
            }
        }
        value.truncate(kept);
        if value.is_empty() {
            return Err(match self.chars.peek() {
                Some(c) => malformed(self.text, &format!("Unexpected \"{c}\" character.")),
                None => malformed(self.text, "Unexpected end of input."),
            });
        }
        Ok(if value.eq_ignore_ascii_case("null") && !is_escaped { Element::Null } else { Element::Text(value) })
    }

    fn skip_space(&mut self) {
        while self.chars.next_if(|c| c.is_ascii_whitespace() || *c == '\u{b}').is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_from_their_text() {
        let some = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
        for (text, expected) in [
            ("{}", vec![]),
            ("{1,2}", some(&["1", "2"])),
            (" { a b , c } ", some(&["a b", "c"])),
            ("{\"a,\\\"b\",\"\",\"NULL\"}", some(&["a,\"b", "", "NULL"])),
            ("{null,NULL}", vec![None, None]),
            ("[1:2]={3,4}", some(&["3", "4"])),
            ("{a\\ }", some(&["a "])),
        ] {
            assert_eq!(flat_elements(text).unwrap(), expected, "{text}");
        }
        for text in
            ["", "1", "{", "{1", "{1,}", "{,}", "{\"a\"b}", "{{1},2}", "{{1,2},{3}}", "{1}x", "{a\"b}", "[0:1]={1,2}"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"{".repeat(100_000)).is_err());
    }
}
