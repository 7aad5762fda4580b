//! Patterns of SIMILAR TO as PostgreSQL has them. `DataFusion` takes such a pattern for a regular expression that may match
//! a part of the text.
//!
//! `x SIMILAR TO p` becomes `x ~ similar_to_escape(p)`: the whole text is to match, `%` stands for any characters, also line
//! ends, `_` for one, and the escape character, a backslash unless ESCAPE names another, makes a character mean itself.
//! `|`, `*`, `+`, `?`, `{m,n}`, groups and brackets are as in regular expressions.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Like, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// What makes the next character mean itself, where ESCAPE says nothing else.
const ESCAPE: char = '\\';

static PATTERN: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(SimilarPattern::new())));

/// `like`, which is a SIMILAR TO, as a match of a regular expression.
pub(super) fn similar_to(like: Like) -> Expr {
    let Like { negated, expr, pattern, escape_char, .. } = like;
    let escape = Expr::Literal(ScalarValue::from(escape_char.unwrap_or(ESCAPE).to_string()), None);
    let call = ScalarFunction { func: Arc::clone(&PATTERN), args: vec![*pattern, escape] };
    let op = if negated { Operator::RegexNotMatch } else { Operator::RegexMatch };
    Expr::BinaryExpr(BinaryExpr { left: expr, op, right: Box::new(Expr::ScalarFunction(call)) })
}

/// `similar_to_escape(pattern, escape)`: the pattern as a regular expression.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SimilarPattern {
    signature: Signature,
}

impl SimilarPattern {
    fn new() -> Self {
        Self { signature: Signature::exact(vec![DataType::Utf8, DataType::Utf8], Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for SimilarPattern {
    fn name(&self) -> &'static str {
        "similar_to_escape"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [pattern, ColumnarValue::Scalar(ScalarValue::Utf8(Some(escape)))] = args.args.as_slice() else {
            return internal_err!("similar_to_escape takes a pattern and an escape character");
        };
        let escape = escape.chars().next().unwrap_or(ESCAPE);
        if let ColumnarValue::Scalar(ScalarValue::Utf8(pattern)) = pattern {
            let regular = pattern.as_ref().map(|pattern| regular_expression(pattern, escape));
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8(regular)));
        }
        let patterns = pattern.to_array(args.number_rows)?;
        let patterns = patterns.as_string::<i32>().iter();
        let regular: StringArray =
            patterns.map(|pattern| pattern.map(|pattern| regular_expression(pattern, escape))).collect();
        Ok(ColumnarValue::Array(Arc::new(regular) as ArrayRef))
    }
}

/// The regular expression that matches what the pattern of SIMILAR TO matches.
fn regular_expression(pattern: &str, escape: char) -> String {
    let mut regular = String::from("^(?s:");
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            _ if character == escape => match characters.next() {
                // As in PostgreSQL, `\d` is what it is in a regular expression.
                Some(escaped) if escaped.is_alphanumeric() && escape == ESCAPE => regular.extend([ESCAPE, escaped]),
                Some(escaped) => literally(escaped, &mut regular),
                None => {}
            },
            '%' => regular.push_str(".*"),
            '_' => regular.push('.'),
            '(' => regular.push_str("(?:"),
            '[' => {
                regular.push('[');
                regular.extend(characters.next_if_eq(&'^'));
                if characters.next_if_eq(&']').is_some() {
                    regular.push_str("\\]");
                }
                bracket(&mut characters, escape, &mut regular);
            }
            '.' | '^' | '$' | '\\' => literally(character, &mut regular),
            other => regular.push(other),
        }
    }
    regular.push_str(")$");
    regular
}

/// The characters of a bracket expression, up to its end.
fn bracket(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, escape: char, regular: &mut String) {
    while let Some(character) = characters.next() {
        match character {
            ']' => {
                regular.push(']');
                return;
            }
            '[' if characters.peek() == Some(&':') => {
                // `[:alpha:]`
                regular.push('[');
                for inner in characters.by_ref() {
                    regular.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            _ if character == escape => {
                if let Some(escaped) = characters.next() {
                    literally(escaped, regular);
                }
            }
            '[' | '&' | '~' | '\\' => literally(character, regular),
            other => regular.push(other),
        }
    }
}

fn literally(character: char, regular: &mut String) {
    if character.is_ascii_punctuation() {
        regular.push('\\');
    }
    regular.push(character);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_regular_expressions() {
        for (pattern, escape, expected) in [
            ("a%", '\\', "^(?s:a.*)$"),
            ("_b|c*", '\\', "^(?s:.b|c*)$"),
            ("%(b|d)%", '\\', "^(?s:.*(?:b|d).*)$"),
            ("a.b^$", '\\', "^(?s:a\\.b\\^\\$)$"),
            ("a\\%", '\\', "^(?s:a\\%)$"),
            ("a#%", '#', "^(?s:a\\%)$"),
            ("a\\", '#', "^(?s:a\\\\)$"),
            ("[a-c%_[:alpha:]]+", '\\', "^(?s:[a-c%_[:alpha:]]+)$"),
            ("[^]&]", '\\', "^(?s:[^\\]\\&])$"),
            ("\\d{2,3}", '\\', "^(?s:\\d{2,3})$"),
        ] {
            assert_eq!(regular_expression(pattern, escape), expected, "{pattern}");
        }
    }
}
