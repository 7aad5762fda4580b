//! Syntax that PostgreSQL has and the planner has not, written out as calls of functions: ESCAPE, `~~`, LIKE ANY, SIMILAR TO,
//! `substring(a FROM b)`, `trim(BOTH FROM a)`, IS NORMALIZED, VARIADIC, operators in front of a number, COLLATE of the one
//! order there is, `OPERATOR(pg_catalog.+)`. And `rank(...) WITHIN GROUP`, which is another function than the window function
//! of its name.

mod reading;

use std::ops::ControlFlow;

use sqlparser::ast::{
    Array, ArrayElemTypeDef, BinaryOperator, DataType, DuplicateTreatment, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident, NormalizationForm, ObjectName, ObjectNamePart,
    OrderByExpr, OrderByOptions, TrimWhereField, UnaryOperator, Value, ValueWithSpan, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::build::{binary, call, cast_as, number, value};
use crate::sql::expressions::flow;
use crate::sql::set_returning::OF_LISTS;
use crate::sql::visit::VisitMut;
use crate::{Error, ErrorKind};
use reading::VARIADIC;
pub(super) use reading::prefix;

/// Where PostgreSQL's own functions are.
const CATALOG_SCHEMA: &str = "pg_catalog";
/// Orders of texts that are the one there is: by their bytes.
const COLLATIONS: [&str; 5] = ["C", "POSIX", "default", "ucs_basic", "C.UTF-8"];

/// Window functions that are also aggregates WITHIN GROUP: there they have this before their names.
const HYPOTHETICAL: &str = "hypothetical_";
const RANKS: [&str; 4] = ["rank", "dense_rank", "percent_rank", "cume_dist"];

/// The name of a function as it was written.
pub(crate) fn own_name(name: &str) -> &str {
    if let Some((own, _)) = OF_LISTS.iter().find(|(_, other)| *other == name) {
        return own;
    }
    let name = name.strip_prefix(HYPOTHETICAL).unwrap_or(name);
    name.strip_suffix(VARIADIC).unwrap_or(name)
}

/// Writes out what stands in `tree`.
///
/// # Errors
/// For orders of texts that there are not.
pub(super) fn write_out(tree: &mut impl VisitMut) -> Result<(), Error> {
    match VisitMut::visit(tree, &mut Writer) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether a statement of these tokens may have any of it: a long list of VALUES need not be walked.
pub(super) fn may_stand_in(tokens: &[TokenWithSpan]) -> bool {
    tokens.iter().any(|token| match &token.token {
        Token::Word(word) => {
            matches!(
                word.keyword,
                Keyword::LIKE
                    | Keyword::ILIKE
                    | Keyword::SIMILAR
                    | Keyword::SUBSTRING
                    | Keyword::SUBSTR
                    | Keyword::OVERLAY
                    | Keyword::POSITION
                    | Keyword::TRIM
                    | Keyword::NORMALIZE
                    | Keyword::NORMALIZED
                    | Keyword::COLLATE
                    | Keyword::WITHIN
                    | Keyword::VARIADIC
                    | Keyword::OPERATOR
            ) || word.value.eq_ignore_ascii_case(CATALOG_SCHEMA)
                || word.value.eq_ignore_ascii_case("string_agg")
                || word.value.eq_ignore_ascii_case("array_agg")
        }
        Token::CaretAt
        | Token::Tilde
        | Token::AtSign
        | Token::PGSquareRoot
        | Token::PGCubeRoot
        | Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => true,
        _ => false,
    })
}

struct Writer;

impl VisitorMut for Writer {
    type Break = Error;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        flow(written_out(expr))
    }
}

/// Takes what is within a box out of it.
fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Value(Value::Null.into()))
}

fn text(text: &str) -> Expr {
    value(Value::SingleQuotedString(text.to_owned()))
}

/// An operand that stays one beside an operator which binds more tightly.
fn in_parentheses(expr: Expr) -> Expr {
    if matches!(expr, Expr::BinaryOp { .. } | Expr::UnaryOp { .. }) { Expr::Nested(Box::new(expr)) } else { expr }
}

fn not(expr: Expr, negated: bool) -> Expr {
    if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(Expr::Nested(Box::new(expr))) } } else { expr }
}

fn written_out(expr: &mut Expr) -> Result<(), Error> {
    match expr {
        Expr::Like { negated, any, expr: left, pattern, escape_char } => {
            let escaped = escape(take(pattern), escape_char.take());
            *expr = like(take(left), escaped, *negated, *any, false)?;
        }
        Expr::ILike { negated, any, expr: left, pattern, escape_char } => {
            let escaped = escape(take(pattern), escape_char.take());
            *expr = like(take(left), escaped, *negated, *any, true)?;
        }
        Expr::SimilarTo { negated, expr: left, pattern, escape_char } => {
            let mut arguments = vec![take(pattern)];
            arguments.extend(escape_char.take().map(Expr::Value));
            let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
            *expr = binary(take(left), op, call("similar_to_escape", arguments));
        }
        Expr::BinaryOp { left, op, right } => {
            let (ignore_case, negated) = match op {
                BinaryOperator::PGLikeMatch => (false, false),
                BinaryOperator::PGNotLikeMatch => (false, true),
                BinaryOperator::PGILikeMatch => (true, false),
                BinaryOperator::PGNotILikeMatch => (true, true),
                BinaryOperator::PGStartsWith => {
                    *expr = call("starts_with", vec![take(left), take(right)]);
                    return Ok(());
                }
                BinaryOperator::PGCustomBinaryOperator(name) => {
                    let op = reading::operator(name)?;
                    *expr = binary(in_parentheses(take(left)), op, in_parentheses(take(right)));
                    return written_out(expr);
                }
                _ => return Ok(()),
            };
            *expr = like(take(left), take(right), negated, false, ignore_case)?;
        }
        Expr::UnaryOp { op, expr: operand } => {
            let name = match op {
                UnaryOperator::BitwiseNot => "bitwise_not",
                UnaryOperator::PGAbs => "abs",
                UnaryOperator::PGSquareRoot => "sqrt",
                UnaryOperator::PGCubeRoot => "cbrt",
                _ => return Ok(()),
            };
            let operand = take(operand);
            // Those of roots take double precision alone, where functions compute exactly.
            let is_root = matches!(op, UnaryOperator::PGSquareRoot | UnaryOperator::PGCubeRoot);
            let operand = if is_root { cast_as(operand, DataType::DoublePrecision) } else { operand };
            *expr = call(name, vec![operand]);
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            if let Some(conditions) = quantified(left, compare_op, right, &BinaryOperator::Or) {
                *expr = conditions;
            }
        }
        Expr::AllOp { left, compare_op, right } => {
            if let Some(conditions) = quantified(left, compare_op, right, &BinaryOperator::And) {
                *expr = conditions;
            }
        }
        Expr::Substring { expr: text, substring_from, substring_for, shorthand, .. } => {
            let mut arguments = vec![take(text)];
            let from = substring_from.as_mut().map(|from| take(from));
            let length = substring_for.as_mut().map(|length| take(length));
            match (from, length) {
                (None, None) => return Ok(()),
                (None, Some(length)) => arguments.extend([number(1), length]),
                (Some(from), length) => {
                    arguments.push(from);
                    arguments.extend(length);
                }
            }
            *expr = call(if *shorthand { "substr" } else { "substring" }, arguments);
        }
        Expr::Overlay { expr: text, overlay_what, overlay_from, overlay_for } => {
            let mut arguments = vec![take(text), take(overlay_what), take(overlay_from)];
            arguments.extend(overlay_for.as_mut().map(|length| take(length)));
            *expr = call("overlay", arguments);
        }
        Expr::Position { expr: wanted, r#in: text } => *expr = call("position", vec![take(text), take(wanted)]),
        Expr::Trim { expr: text, trim_where, trim_what, trim_characters } => {
            let name = match trim_where {
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
                Some(TrimWhereField::Both) | None => "btrim",
            };
            let mut arguments = vec![take(text)];
            arguments.extend(trim_what.as_mut().map(|what| take(what)));
            arguments.extend(trim_characters.take().into_iter().flatten());
            *expr = call(name, arguments);
        }
        Expr::IsNormalized { expr: text, form, negated } => {
            let form = self::text(&form.unwrap_or(NormalizationForm::NFC).to_string());
            *expr = not(call("is_normalized", vec![take(text), form]), *negated);
        }
        Expr::Function(function) => of_function(function),
        Expr::Collate { expr: inner, collation } => {
            known_collation(collation)?;
            *expr = take(inner);
        }
        _ => {}
    }
    Ok(())
}

/// A comparison with ANY or ALL elements of an array that is written out, if its operator is one of patterns.
fn quantified(left: &mut Expr, op: &BinaryOperator, right: &Expr, junction: &BinaryOperator) -> Option<Expr> {
    if let Some((ignore_case, negated)) = like_operator(op) {
        let patterns = elements(right)?;
        return Some(like_each(&take(left), patterns, negated, ignore_case, junction));
    }
    let patterns = regex_operator(op).then(|| elements(right)).flatten()?;
    Some(each(&take(left), patterns, op, junction))
}

/// Refuses orders of texts that there are not.
pub(crate) fn known_collation(name: &ObjectName) -> Result<(), Error> {
    let Some(ObjectNamePart::Identifier(last)) = name.0.last() else {
        return Err(Error::syntax(format!("{name}: the name of a collation is expected")));
    };
    let is_known = |known: &str| match last.quote_style {
        Some(_) => last.value == known,
        None => last.value.eq_ignore_ascii_case(known) && known.chars().all(|c| !c.is_ascii_uppercase()),
    };
    if COLLATIONS.into_iter().any(is_known) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("the collation {last} is not supported; texts are in the order of their bytes, which is \"C\""),
    ))
}

/// `pattern` in which the escape character is a backslash.
fn escape(pattern: Expr, escape: Option<ValueWithSpan>) -> Expr {
    match escape {
        None => pattern,
        Some(escape) => call("like_escape", vec![pattern, Expr::Value(escape)]),
    }
}

fn like(left: Expr, pattern: Expr, negated: bool, any: bool, ignore_case: bool) -> Result<Expr, Error> {
    let name = |expr: &Expr| match expr {
        Expr::Function(function) => function.name.to_string().to_lowercase(),
        _ => String::new(),
    };
    let (junction, patterns) = if any {
        (BinaryOperator::Or, elements(&pattern))
    } else if let "some" | "all" = name(&pattern).as_str() {
        let junction = if name(&pattern) == "all" { BinaryOperator::And } else { BinaryOperator::Or };
        let argument = match &pattern {
            Expr::Function(Function { args: FunctionArguments::List(list), .. }) => match list.args.as_slice() {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))] => elements(argument),
                _ => None,
            },
            _ => None,
        };
        (junction, argument)
    } else {
        return Ok(one_like(left, pattern, negated, ignore_case));
    };
    let Some(patterns) = patterns else {
        return Err(Error::unsupported("LIKE ANY and LIKE ALL take ARRAY[...] only; write LIKE for each pattern"));
    };
    Ok(like_each(&left, patterns, negated, ignore_case, &junction))
}

fn one_like(left: Expr, pattern: Expr, negated: bool, ignore_case: bool) -> Expr {
    let (expr, pattern) = (Box::new(left), Box::new(pattern));
    if ignore_case {
        Expr::ILike { negated, any: false, expr, pattern, escape_char: None }
    } else {
        Expr::Like { negated, any: false, expr, pattern, escape_char: None }
    }
}

fn like_each(left: &Expr, patterns: Vec<Expr>, negated: bool, ignore_case: bool, junction: &BinaryOperator) -> Expr {
    joined(patterns.into_iter().map(|pattern| one_like(left.clone(), pattern, negated, ignore_case)), junction)
}

fn each(left: &Expr, patterns: Vec<Expr>, op: &BinaryOperator, junction: &BinaryOperator) -> Expr {
    joined(patterns.into_iter().map(|pattern| binary(left.clone(), op.clone(), pattern)), junction)
}

/// All conditions by AND or OR, in parentheses.
fn joined(conditions: impl Iterator<Item = Expr>, junction: &BinaryOperator) -> Expr {
    let whole = conditions.reduce(|left, right| binary(left, junction.clone(), right));
    // No pattern is none of them, and all of them.
    Expr::Nested(Box::new(whole.unwrap_or_else(|| value(Value::Boolean(*junction == BinaryOperator::And)))))
}

fn like_operator(op: &BinaryOperator) -> Option<(bool, bool)> {
    match op {
        BinaryOperator::PGLikeMatch => Some((false, false)),
        BinaryOperator::PGNotLikeMatch => Some((false, true)),
        BinaryOperator::PGILikeMatch => Some((true, false)),
        BinaryOperator::PGNotILikeMatch => Some((true, true)),
        _ => None,
    }
}

fn regex_operator(op: &BinaryOperator) -> bool {
    use BinaryOperator::{PGRegexIMatch, PGRegexMatch, PGRegexNotIMatch, PGRegexNotMatch};
    matches!(op, PGRegexMatch | PGRegexIMatch | PGRegexNotMatch | PGRegexNotIMatch)
}

/// The elements of an array that is written out.
fn elements(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Array(Array { elem, .. }) => Some(elem.clone()),
        Expr::Nested(expr) => elements(expr),
        Expr::Cast { expr, data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)), .. } => {
            let cast = |one: Expr| cast_as(one, element.as_ref().clone());
            elements(expr).map(|elements| elements.into_iter().map(cast).collect())
        }
        _ => None,
    }
}

/// The elements that an aggregate takes once are in their order.
fn sort_distinct(function: &mut Function) {
    let name = function.name.to_string().to_lowercase();
    if let FunctionArguments::List(list) = &mut function.args
        && list.duplicate_treatment == Some(DuplicateTreatment::Distinct)
        && list.clauses.is_empty()
        && matches!(name.as_str(), "array_agg" | "string_agg")
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(first))) = list.args.first()
    {
        let key = OrderByExpr { expr: first.clone(), options: OrderByOptions::default(), with_fill: None };
        list.clauses.push(FunctionArgumentClause::OrderBy(vec![key]));
    }
}

fn of_function(function: &mut Function) {
    sort_distinct(function);
    if !function.within_group.is_empty()
        && let [ObjectNamePart::Identifier(name)] = function.name.0.as_mut_slice()
        && RANKS.iter().any(|rank| name.value.eq_ignore_ascii_case(rank))
    {
        name.value = format!("{HYPOTHETICAL}{}", name.value.to_lowercase());
    }
    if let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(_)] = function.name.0.as_slice()
        && schema.value.eq_ignore_ascii_case(CATALOG_SCHEMA)
    {
        function.name.0.remove(0);
    }
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(last))) = list.args.last_mut()
        && let Some(array) = variadic(last)
    {
        // Elements that are written out are arguments; other arrays go to a function of their own.
        if let Some(elements) = elements(&array) {
            list.args.pop();
            list.args.extend(elements.into_iter().map(|one| FunctionArg::Unnamed(FunctionArgExpr::Expr(one))));
        } else {
            *last = array;
            if let Some(ObjectNamePart::Identifier(name)) = function.name.0.last_mut() {
                name.value = format!("{}{VARIADIC}", name.value.to_lowercase());
            }
        }
    }
    let is_normalize = function.name.to_string().eq_ignore_ascii_case("normalize");
    if is_normalize
        && let FunctionArguments::List(list) = &mut function.args
        && let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(form))] = list.args.as_mut_slice()
        && let Expr::Identifier(Ident { value: name, quote_style: None, .. }) = form
    {
        *form = text(name);
    }
}

/// The array that stands behind VARIADIC.
fn variadic(argument: &Expr) -> Option<Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = argument else { return None };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] if name.to_string() == VARIADIC => Some(array.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::sql::parse_expression;

    #[test]
    fn syntax_about_texts_is_written_out() {
        for (sql, expected) in [
            ("a LIKE b ESCAPE '#'", "a LIKE like_escape(b, '#')"),
            ("a NOT ILIKE b ESCAPE ''", "a NOT ILIKE like_escape(b, '')"),
            ("a ~~ b", "a LIKE b"),
            ("a !~~* b", "a NOT ILIKE b"),
            ("a LIKE ANY (ARRAY['x', 'y'])", "(a LIKE 'x' OR a LIKE 'y')"),
            ("a NOT LIKE ALL (ARRAY['x', 'y'])", "(a NOT LIKE 'x' AND a NOT LIKE 'y')"),
            ("a ~~ ANY (ARRAY['x', 'y'])", "(a LIKE 'x' OR a LIKE 'y')"),
            ("a SIMILAR TO b", "a ~ similar_to_escape(b)"),
            ("a NOT SIMILAR TO b ESCAPE '#'", "a !~ similar_to_escape(b, '#')"),
            ("substring(a FROM b)", "substring(a, b)"),
            ("substring(a FROM 2 FOR 3)", "substring(a, 2, 3)"),
            ("substring(a FOR 3)", "substring(a, 1, 3)"),
            ("substring(a SIMILAR b ESCAPE '#')", "substring(a, b, '#')"),
            ("substr(a, 2)", "substr(a, 2)"),
            ("overlay(a PLACING b FROM 2 FOR 1)", "overlay(a, b, 2, 1)"),
            ("position(a IN b)", "position(b, a)"),
            ("trim(BOTH FROM a)", "btrim(a)"),
            ("trim(LEADING 'x' FROM a)", "ltrim(a, 'x')"),
            ("trim(TRAILING FROM a, 'x')", "rtrim(a, 'x')"),
            ("a IS NFKC NORMALIZED", "is_normalized(a, 'NFKC')"),
            ("a IS NOT NORMALIZED", "NOT (is_normalized(a, 'NFC'))"),
            ("normalize(a, nfd)", "normalize(a, 'nfd')"),
            ("a COLLATE \"C\" < b", "a < b"),
            ("pg_catalog.lower(a)", "lower(a)"),
            ("a ^@ b", "starts_with(a, b)"),
            ("~ a", "bitwise_not(a)"),
            ("@ -a", "abs(-a)"),
            ("|/ a", "sqrt(CAST(a AS DOUBLE PRECISION))"),
            ("a BETWEEN SYMMETRIC b AND c", "(a BETWEEN b AND c OR a BETWEEN c AND b)"),
            ("a NOT BETWEEN SYMMETRIC b AND c", "(a NOT BETWEEN b AND c AND a NOT BETWEEN c AND b)"),
            ("string_agg(DISTINCT a, b)", "string_agg(DISTINCT a, b ORDER BY a)"),
            ("concat(a, VARIADIC ARRAY[b, c])", "concat(a, b, c)"),
            ("concat(VARIADIC ARRAY[b]::text[])", "concat(CAST(b AS TEXT))"),
            ("concat(VARIADIC a)", "concat$variadic(a)"),
        ] {
            assert_eq!(parse_expression(sql).unwrap().to_string(), expected, "{sql}");
        }
        for sql in ["a COLLATE \"de_DE\"", "a COLLATE c", "a LIKE ANY (b)"] {
            assert!(parse_expression(sql).is_err(), "{sql}");
        }
    }
}
