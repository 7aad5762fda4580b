//! Keeps trees from growing deeper than the stack allows.
//!
//! `1 + 1 + ... + 1` makes a tree as deep as it is long, and whoever walks, copies or frees it needs a stack to match;
//! `DataFusion` gives up (the process dies) somewhere above a thousand levels. So the length of such chains is bounded
//! before the parser sees them; chains of AND and of OR, which programs do write, become balanced trees, which are
//! shallow and mean the same; and trees that are still too deep are refused.
//! Not here: nesting by parentheses, which the parser bounds by itself.

use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Query, Select, SetExpr, Value, VisitorMut};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::visit::VisitMut;
use crate::{Error, ErrorKind};

/// Tokens between two commas or parentheses of the same level, at most: no tree is deeper than that.
const RUN_TOKENS_MAX: usize = 20_000;

/// Levels of an expression, queries in one UNION, relations in one FROM, at most.
const DEPTH_MAX: usize = 500;

/// Levels of parentheses, CASE, NOT and subqueries within each other, at most: the parser tries the arguments of a
/// function in two ways, so that each level of functions doubles its time.
pub(super) const NESTING_MAX: usize = 50;

/// Chains of AND or OR from this length on are balanced.
const CHAIN_MIN: usize = 16;

/// Bytes of text up to which any stack is large enough for the parser's trees.
const SHORT_TEXT_BYTES: usize = 4096;

/// A stack that is large enough for the trees of [`RUN_TOKENS_MAX`] tokens: some hundred bytes per level.
const STACK_BYTES: usize = 32 << 20;

/// Runs `parse`, which makes and frees trees of `text`, with a stack that is large enough for them.
pub(super) fn with_stack<R>(text: &str, parse: impl FnOnce() -> R) -> R {
    if text.len() <= SHORT_TEXT_BYTES { parse() } else { stacker::grow(STACK_BYTES, parse) }
}

/// Refuses texts that may make trees too deep for the parser.
pub(super) fn check_tokens(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let mut outer = Vec::new();
    let mut run = 0;
    for token in tokens {
        match token.token {
            Token::Whitespace(_) => {}
            Token::LParen => outer.push(std::mem::take(&mut run)),
            Token::RParen => run = outer.pop().unwrap_or_default(),
            Token::Comma | Token::SemiColon => run = 0,
            _ => run += 1,
        }
        if run > RUN_TOKENS_MAX {
            return Err(Error::new(
                ErrorKind::TooComplex,
                format!("more than {RUN_TOKENS_MAX} words without a comma or parenthesis; split the statement"),
            ));
        }
    }
    Ok(())
}

/// Balances chains of AND and OR in `tree`, and refuses it if it is still too deep.
pub(super) fn limit_depth(tree: &mut impl VisitMut) -> Result<(), Error> {
    match tree.visit(&mut Tamer { depth: 0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(what) => Err(Error::new(
            ErrorKind::TooComplex,
            format!(
                "{what} of more than {DEPTH_MAX} are not supported; split the statement, or use IN or a table of values"
            ),
        )),
    }
}

struct Tamer {
    depth: usize,
}

impl VisitorMut for Tamer {
    type Break = &'static str;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<&'static str> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return ControlFlow::Break("chains of operators");
        }
        if let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = expr {
            let op = op.clone();
            if chain_length(expr, &op) >= CHAIN_MIN {
                let null = Expr::Value(Value::Null.into());
                let terms = terms(std::mem::replace(expr, null), &op);
                *expr = balanced(terms, &op);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<&'static str> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<&'static str> {
        let mut body = query.body.as_ref();
        let mut queries = 1;
        while let SetExpr::SetOperation { left, .. } = body {
            queries += 1;
            body = left;
        }
        if queries > DEPTH_MAX { ControlFlow::Break("UNIONs") } else { ControlFlow::Continue(()) }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<&'static str> {
        let relations: usize = select.from.iter().map(|table| 1 + table.joins.len()).sum();
        if relations > DEPTH_MAX { ControlFlow::Break("joins") } else { ControlFlow::Continue(()) }
    }
}

/// How many terms the parser has chained by `op`, from left to right.
fn chain_length(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut terms = 1;
    while let Expr::BinaryOp { left, op: own, .. } = expr
        && own == op
    {
        terms += 1;
        expr = left;
    }
    terms
}

/// The terms of such a chain, in order.
fn terms(mut expr: Expr, op: &BinaryOperator) -> Vec<Expr> {
    let mut terms = Vec::new();
    loop {
        match expr {
            Expr::BinaryOp { left, op: own, right } if own == *op => {
                terms.push(*right);
                expr = *left;
            }
            first => {
                terms.push(first);
                terms.reverse();
                return terms;
            }
        }
    }
}

/// A tree of `op` over `terms`, in order, of least depth.
fn balanced(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
    while terms.len() > 1 {
        let mut pairs = Vec::with_capacity(terms.len().div_ceil(2));
        let mut rest = terms.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) },
                None => left,
            });
        }
        terms = pairs;
    }
    terms.pop().expect("a chain has terms")
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    fn text(sql: &str) -> String {
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => statement.to_string(),
            other => panic!("{other:?}"),
        }
    }

    fn refused(sql: &str) -> String {
        parse(sql).map(|_| ()).expect_err("too deep").to_string()
    }

    #[test]
    fn chains_of_and_and_or_may_be_long() {
        for terms in [15, 16, 17, 100, 4000] {
            let chain: Vec<String> = (0..terms).map(|term| format!("a = {term}")).collect();
            for op in [" OR ", " AND "] {
                let sql = format!("SELECT a FROM t WHERE {}", chain.join(op));
                assert_eq!(text(&sql), sql);
            }
        }
        let mixed = format!("SELECT a FROM t WHERE {}x", "a AND b OR ".repeat(1000));
        assert_eq!(text(&mixed), mixed);
    }

    #[test]
    fn other_chains_are_bounded() {
        assert!(parse(&format!("SELECT 1{}", " + 1".repeat(400))).is_ok());
        assert!(
            refused(&format!("SELECT 1{}", " + 1".repeat(600))).starts_with("chains of operators of more than 500")
        );
        assert!(refused(&format!("SELECT {}1", "- ".repeat(9000))).contains("nested more than 50 deep"));
        assert!(refused(&format!("SELECT 1{}", " UNION SELECT 1".repeat(600))).starts_with("UNIONs"));
        assert!(refused(&format!("SELECT 1 FROM t{}", " CROSS JOIN t".repeat(600))).starts_with("joins"));
        assert!(refused(&format!("COPY (SELECT 1{}) TO 'f'", " + 1".repeat(600))).starts_with("chains of operators"));
    }

    #[test]
    fn texts_that_no_stack_could_take_are_refused_before_they_are_parsed() {
        for part in [" + 1", " OR true", "::int", " UNION SELECT 1", " IS NULL"] {
            assert!(refused(&format!("SELECT 1{}", part.repeat(100_000))).contains("split the statement"), "{part}");
            assert!(parse(&format!("SELECT 1{} bogus (", part.repeat(4000))).is_err(), "{part}");
        }
    }

    #[test]
    fn many_rows_of_values_are_no_chain() {
        assert!(parse(&format!("INSERT INTO t VALUES (1){}", ", (1)".repeat(50_000))).is_ok());
    }
}
