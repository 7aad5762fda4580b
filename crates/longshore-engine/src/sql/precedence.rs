//! How tightly operators bind: PostgreSQL's table, where sqlparser has another one.
//!
//! From the tightest: `::`, `[]`, unary `+` and `-`, COLLATE, AT TIME ZONE, `^`, `* / %`, `+ -`, every other operator
//! (binary or in front of its operand, also `~` and `OPERATOR(...)`), BETWEEN IN LIKE ILIKE SIMILAR, comparisons, IS, NOT,
//! AND, OR. Three of these levels do not chain: `a < b < c` is an error. Most of it is sqlparser's; it is told here what
//! binds otherwise.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, Word};

use crate::sql::tokens::is_word;

const POSTGRESQL: PostgreSqlDialect = PostgreSqlDialect {};

/// Unary plus and minus: between COLLATE (120) and a subscript (130).
const SIGN: u8 = 125;
const _: () = assert!(120 < SIGN && SIGN < 130);

fn of(precedence: Precedence) -> u8 {
    POSTGRESQL.prec_value(precedence)
}

/// The precedence of the operator that follows, where it is not sqlparser's.
pub(super) fn next(parser: &Parser) -> Option<u8> {
    match &parser.peek_token_ref().token {
        Token::Tilde
        | Token::TildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::DoubleTilde
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => Some(of(Precedence::PgOther)),
        Token::Word(word) if word.keyword == Keyword::OPERATOR => Some(of(Precedence::PgOther)),
        Token::Word(word) if is_isnull(word) => Some(of(Precedence::Is)),
        _ => None,
    }
}

/// An operator in front of its operand.
pub(super) fn prefix(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    if parser.parse_keyword(Keyword::NOT) {
        if !parser.peek_keyword(Keyword::EXISTS) {
            parser.prev_token();
            return None;
        }
        // What follows the query belongs to EXISTS: `NOT EXISTS (...) IS NULL` denies that it is NULL.
        return Some(parser.parse_subexpr(of(Precedence::UnaryNot)).map(|expr| match expr {
            Expr::Exists { subquery, negated: false } => Expr::Exists { subquery, negated: true },
            expr => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) },
        }));
    }
    let (op, precedence) = match &parser.peek_token_ref().token {
        Token::Plus => (UnaryOperator::Plus, SIGN),
        Token::Minus => (UnaryOperator::Minus, SIGN),
        Token::Tilde => (UnaryOperator::BitwiseNot, of(Precedence::PgOther)),
        Token::AtSign => (UnaryOperator::PGAbs, of(Precedence::PgOther)),
        Token::PGSquareRoot => (UnaryOperator::PGSquareRoot, of(Precedence::PgOther)),
        Token::PGCubeRoot => (UnaryOperator::PGCubeRoot, of(Precedence::PgOther)),
        _ => return None,
    };
    parser.advance_token();
    Some(parser.parse_subexpr(precedence).map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
}

/// What follows `left`, where sqlparser would take too much or should not take it.
pub(super) fn infix(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let token = &parser.peek_token_ref().token;
    if let Some(level) = level_of_token(parser, token).filter(|level| level_of(left) == Some(*level)) {
        let what = match level {
            Level::Comparison => "comparisons do not chain",
            Level::Pattern => "BETWEEN, IN and LIKE do not chain",
            Level::Is => "IS does not chain",
        };
        let place = parser.peek_token_ref().span.start;
        let message = format!("{what}: put one in parentheses, or write AND, before {token}{place}");
        return Some(Err(ParserError::ParserError(message)));
    }
    if let Some(between) = symmetric(parser, left) {
        return Some(between);
    }
    match &parser.peek_token_ref().token {
        Token::Word(word) if is_isnull(word) => {
            parser.advance_token();
            Some(Ok(Expr::IsNull(Box::new(left.clone()))))
        }
        Token::Word(word) if word.keyword == Keyword::IS => {
            let distinct =
                |negated: &[Keyword]| [&[Keyword::IS], negated, &[Keyword::DISTINCT, Keyword::FROM]].concat();
            let is = |parser: &mut Parser| parser.parse_subexpr(of(Precedence::Is)).map(Box::new);
            if parser.parse_keywords(&distinct(&[])) {
                Some(is(parser).map(|right| Expr::IsDistinctFrom(Box::new(left.clone()), right)))
            } else if parser.parse_keywords(&distinct(&[Keyword::NOT])) {
                Some(is(parser).map(|right| Expr::IsNotDistinctFrom(Box::new(left.clone()), right)))
            } else {
                None
            }
        }
        _ => None,
    }
}

/// `left [NOT] BETWEEN SYMMETRIC a AND b`: between them in either order. ASYMMETRIC says nothing.
fn symmetric(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = is_word(&parser.peek_nth_token_ref(0).token, "NOT");
    let between = usize::from(negated);
    if !is_word(&parser.peek_nth_token_ref(between).token, "BETWEEN") {
        return None;
    }
    let is_symmetric = is_word(&parser.peek_nth_token_ref(between + 1).token, "SYMMETRIC");
    if !is_symmetric && !is_word(&parser.peek_nth_token_ref(between + 1).token, "ASYMMETRIC") {
        return None;
    }
    for _ in 0..between + 2 {
        parser.advance_token();
    }
    let mut bounds = || {
        let low = parser.parse_subexpr(of(Precedence::Between))?;
        parser.expect_keyword(Keyword::AND)?;
        Ok((low, parser.parse_subexpr(of(Precedence::Between))?))
    };
    let (low, high) = match bounds() {
        Ok(bounds) => bounds,
        Err(error) => return Some(Err(error)),
    };
    let within = |low: &Expr, high: &Expr| Expr::Between {
        expr: Box::new(left.clone()),
        negated,
        low: Box::new(low.clone()),
        high: Box::new(high.clone()),
    };
    if !is_symmetric {
        return Some(Ok(within(&low, &high)));
    }
    let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
    let (one, other) = (Box::new(within(&low, &high)), Box::new(within(&high, &low)));
    Some(Ok(Expr::Nested(Box::new(Expr::BinaryOp { left: one, op, right: other }))))
}

/// ISNULL, which is no keyword of sqlparser's.
fn is_isnull(word: &Word) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull")
}

/// Levels whose operators do not chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Comparison,
    Pattern,
    Is,
}

fn level_of_token(parser: &Parser, token: &Token) -> Option<Level> {
    let pattern = |word: &Keyword| {
        matches!(word, Keyword::BETWEEN | Keyword::IN | Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR)
    };
    match token {
        Token::Eq | Token::Neq | Token::Lt | Token::LtEq | Token::Gt | Token::GtEq => Some(Level::Comparison),
        Token::Word(word) => match word.keyword {
            Keyword::IS | Keyword::NOTNULL => Some(Level::Is),
            _ if is_isnull(word) => Some(Level::Is),
            Keyword::NOT => match &parser.peek_nth_token_ref(1).token {
                Token::Word(next) if pattern(&next.keyword) => Some(Level::Pattern),
                _ => None,
            },
            keyword if pattern(&keyword) => Some(Level::Pattern),
            _ => None,
        },
        _ => None,
    }
}

/// The level of the operator that made `expr` and whose last operand stands in no parentheses; nor does `expr`.
fn level_of(expr: &Expr) -> Option<Level> {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    match expr {
        Expr::BinaryOp { op: Eq | NotEq | Lt | LtEq | Gt | GtEq, .. } => Some(Level::Comparison),
        Expr::Between { .. } | Expr::Like { .. } | Expr::ILike { .. } | Expr::SimilarTo { .. } => Some(Level::Pattern),
        Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => Some(Level::Is),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::LongshoreDialect;

    /// The expression with all its parentheses.
    fn tree(sql: &str) -> String {
        let expr = Parser::new(&LongshoreDialect).try_with_sql(sql).and_then(|mut parser| {
            let expr = parser.parse_expr()?;
            parser.expect_token(&Token::EOF)?;
            Ok(expr)
        });
        expr.as_ref().map_or_else(|error| format!("error: {error}"), shown)
    }

    fn shown(expr: &Expr) -> String {
        match expr {
            Expr::Nested(inner) => shown(inner),
            Expr::UnaryOp { op, expr } => format!("({op} {})", shown(expr)),
            Expr::BinaryOp { left, op, right } => format!("({} {op} {})", shown(left), shown(right)),
            Expr::IsDistinctFrom(left, right) => format!("({} DIFFERS {})", shown(left), shown(right)),
            Expr::IsNotDistinctFrom(left, right) => format!("({} IS {})", shown(left), shown(right)),
            Expr::IsNull(inner) => format!("({} NULL)", shown(inner)),
            Expr::IsTrue(inner) => format!("({} TRUE)", shown(inner)),
            Expr::Cast { expr, data_type, .. } => format!("({}::{data_type})", shown(expr)),
            Expr::Like { expr, pattern, .. } => format!("({} LIKE {})", shown(expr), shown(pattern)),
            Expr::Between { expr, low, high, .. } => {
                format!("({} BETWEEN {} {})", shown(expr), shown(low), shown(high))
            }
            Expr::AtTimeZone { timestamp, time_zone } => format!("({} AT {})", shown(timestamp), shown(time_zone)),
            other => other.to_string(),
        }
    }

    /// Every answer is PostgreSQL 15's, read from the definition of a view.
    #[test]
    fn operators_bind_as_in_postgresql() {
        for (sql, expected) in [
            ("a IS DISTINCT FROM true AND b", "((a DIFFERS true) AND b)"),
            ("a IS NOT DISTINCT FROM b OR c", "((a IS b) OR c)"),
            ("a IS DISTINCT FROM b = c", "(a DIFFERS (b = c))"),
            ("NOT a IS DISTINCT FROM b", "(NOT (a DIFFERS b))"),
            ("-2 ^ 2", "((- 2) ^ 2)"),
            ("2 ^ -2", "(2 ^ (- 2))"),
            ("2 ^ 3 ^ 2", "((2 ^ 3) ^ 2)"),
            ("-a::int", "(- (a::INT))"),
            ("- a * b + c", "(((- a) * b) + c)"),
            ("-a AT TIME ZONE 'x'", "((- a) AT 'x')"),
            ("a + b AT TIME ZONE 'x'", "(a + (b AT 'x'))"),
            ("~ a + b", "(~ (a + b))"),
            ("~ a & b", "((~ a) & b)"),
            ("@ -a + b", "(@ ((- a) + b))"),
            ("a || b ~ c", "((a || b) ~ c)"),
            ("a ~ b || c", "((a ~ b) || c)"),
            ("a = b ~ c", "(a = (b ~ c))"),
            ("a ~ b = c", "((a ~ b) = c)"),
            ("a !~* b || c", "((a !~* b) || c)"),
            ("a & b + c", "(a & (b + c))"),
            ("a << b || c", "((a << b) || c)"),
            ("a || b + c", "(a || (b + c))"),
            ("a LIKE b || c", "(a LIKE (b || c))"),
            ("a LIKE b = c", "((a LIKE b) = c)"),
            ("a = b LIKE c", "(a = (b LIKE c))"),
            ("NOT a LIKE b", "(NOT (a LIKE b))"),
            ("a BETWEEN b AND c + 1 AND d", "((a BETWEEN b (c + 1)) AND d)"),
            ("a BETWEEN b AND c = d", "((a BETWEEN b c) = d)"),
            ("a = b IS NULL", "((a = b) NULL)"),
            ("a ISNULL AND b", "((a NULL) AND b)"),
            ("NOT a = b", "(NOT (a = b))"),
            ("NOT a AND b OR c", "(((NOT a) AND b) OR c)"),
            ("a IS TRUE = b", "((a TRUE) = b)"),
            ("a - b - c", "((a - b) - c)"),
            ("a OPERATOR(pg_catalog.+) b * c", "(a OPERATOR(pg_catalog.+) (b * c))"),
        ] {
            assert_eq!(tree(sql), expected, "{sql}");
        }
        for sql in ["a = b = c", "a < b < c", "a LIKE b LIKE c", "a IS DISTINCT FROM b IS NULL", "a = b <> c"] {
            assert!(tree(sql).contains("not chain"), "{sql}");
        }
        assert_eq!(tree("(a = b) = c"), "((a = b) = c)");
        assert_eq!(tree("a IS NULL IS NULL"), "((a NULL) NULL)");
    }
}
