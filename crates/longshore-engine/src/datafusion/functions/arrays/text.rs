//! The text form of arrays, `{1,"a b",NULL}`, read; and texts made of arrays, arrays made of texts.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::ScalarUDF;

use super::{array_type, as_list, flattened, range};
use crate::datafusion::errors::external;
use crate::datafusion::functions::row_function::RowFunction;
use crate::datafusion::functions::text_out;
use crate::{Error, ErrorKind};

/// Dimensions of an array, at most; as in PostgreSQL.
const DIMENSIONS_MAX: usize = 6;

pub(super) fn functions() -> Vec<ScalarUDF> {
    [RowFunction::new("array_to_string", |types| array_type(types, 0).map(|_| DataType::Utf8View), to_string)]
        .map(RowFunction::function)
        .into()
}

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

/// Whether the text of an array is one of arrays.
pub(in crate::datafusion) fn is_nested(text: &str) -> bool {
    text.bytes().filter(|byte| !byte.is_ascii_whitespace()).take_while(|byte| *byte == b'{').count() > 1
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

/// `array_to_string(array, delimiter [, null])`
fn to_string(args: &[ArrayRef], _: &DataType) -> Result<ArrayRef> {
    let types: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
    let lists: ArrayRef = Arc::new(as_list(&args[0], &array_type(&types, 0)?)?);
    let lists = flattened(&lists)?;
    let lists = lists.as_list::<i32>();
    let items = super::casts::cast_to(&element_texts(lists.values())?, &DataType::Utf8View)?;
    let items = items.as_string_view();
    let delimiters = text_out::texts(&args[1])?;
    let nulls = args.get(2).map(text_out::texts).transpose()?;
    let mut builder = StringViewBuilder::with_capacity(lists.len());
    for row in 0..lists.len() {
        if lists.is_null(row) || delimiters.is_null(row) {
            builder.append_null();
            continue;
        }
        let null = nulls.as_ref().filter(|nulls| !nulls.is_null(row)).map(|nulls| nulls.value(row));
        let shown = range(lists, row).filter_map(|at| if items.is_null(at) { null } else { Some(items.value(at)) });
        builder.append_value(shown.collect::<Vec<_>>().join(delimiters.value(row)));
    }
    Ok(Arc::new(builder.finish()))
}

/// The texts of elements; those of booleans are short.
fn element_texts(values: &ArrayRef) -> Result<ArrayRef> {
    if values.data_type() == &DataType::Boolean {
        let texts = values.as_boolean().iter().map(|value| value.map(|value| if value { "t" } else { "f" }));
        return Ok(Arc::new(texts.collect::<datafusion::arrow::array::StringViewArray>()));
    }
    Ok(Arc::new(text_out::texts(values)?))
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
