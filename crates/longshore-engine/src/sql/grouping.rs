//! GROUP BY as the planner takes it: sets within sets, ROLLUP and CUBE of several columns at a time, the empty list, and
//! HAVING without groups.
//!
//! As PostgreSQL's documentation says, `GROUPING SETS (a, GROUPING SETS (b, c))` are the sets a, b and c, and what
//! ROLLUP and CUBE stand for is put in their place.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Select, Value,
    Visitor,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::Error;
use crate::sql::build;
use crate::sql::tokens::is_keyword;
use crate::sql::visit::Visit;

/// Columns or lists of columns in CUBE, at most, as in PostgreSQL.
const CUBE_MAX: usize = 12;

/// Takes `GROUPING SETS (` and its end away around what stands within other sets.
pub(super) fn flatten(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    // Depths of parentheses that belong to sets.
    let (mut depth, mut open): (usize, Vec<(usize, bool)>) = (0, Vec::new());
    while at < tokens.len() {
        let next = |from: usize| {
            let skipped = tokens[from..].iter().position(|token| !matches!(token.token, Token::Whitespace(_)))?;
            Some(from + skipped)
        };
        if is_keyword(&tokens[at].token, Keyword::GROUPING)
            && let Some(sets) = next(at + 1).filter(|sets| is_keyword(&tokens[*sets].token, Keyword::SETS))
            && let Some(paren) = next(sets + 1).filter(|paren| tokens[*paren].token == Token::LParen)
        {
            let is_within = open.last().is_some_and(|(outer, _)| *outer == depth);
            if is_within {
                tokens.drain(at..=paren);
                open.push((depth, true));
            } else {
                depth += 1;
                open.push((depth, false));
                at = paren + 1;
            }
            continue;
        }
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => match open.last() {
                Some((outer, true)) if *outer == depth => {
                    open.pop();
                    tokens.remove(at);
                    continue;
                }
                Some((outer, false)) if *outer == depth => {
                    open.pop();
                    depth = depth.saturating_sub(1);
                }
                _ => depth = depth.saturating_sub(1),
            },
            _ => {}
        }
        at += 1;
    }
}

/// Writes out the groups of a SELECT.
///
/// # Errors
/// A CUBE is too large.
pub(super) fn write_out(select: &mut Select) -> Result<(), Error> {
    let GroupByExpr::Expressions(groups, _) = &mut select.group_by else { return Ok(()) };
    for group in groups.iter_mut() {
        let sets = match group {
            Expr::GroupingSets(sets) => {
                std::mem::take(sets).into_iter().map(sets_of).collect::<Result<Vec<_>, _>>()?.concat()
            }
            Expr::Rollup(lists) if lists.iter().any(|list| list.len() != 1) => rollup(lists),
            Expr::Cube(lists) if lists.iter().any(|list| list.len() != 1) => cube(lists)?,
            _ => continue,
        };
        *group = Expr::GroupingSets(sets);
    }
    let is_empty = |group: &Expr| matches!(group, Expr::Tuple(list) if list.is_empty());
    if !groups.is_empty() && groups.iter().all(is_empty) {
        *groups = vec![Expr::GroupingSets(vec![Vec::new()])];
    } else {
        groups.retain(|group| !is_empty(group));
    }
    if groups.is_empty()
        && let Some(having) = select.having.take()
    {
        select.having = Some(if calls_functions(&having) { having } else { of_one_group(having) });
    }
    Ok(())
}

/// What one of several sets stands for.
fn sets_of(set: Vec<Expr>) -> Result<Vec<Vec<Expr>>, Error> {
    if let [Expr::Function(call)] = set.as_slice()
        && let Some(lists) = lists_of(call)
    {
        return match call.name.to_string().to_ascii_lowercase().as_str() {
            "rollup" => Ok(rollup(&lists)),
            "cube" => cube(&lists),
            _ => Ok(vec![set]),
        };
    }
    Ok(vec![set.into_iter().flat_map(columns_of).collect()])
}

/// The arguments of a call that may be ROLLUP or CUBE.
fn lists_of(call: &Function) -> Option<Vec<Vec<Expr>>> {
    let FunctionArguments::List(list) = &call.args else { return None };
    let lists = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(columns_of(expr.clone())),
        _ => None,
    });
    lists.collect()
}

/// The columns of a list in parentheses, or the one column.
fn columns_of(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::Tuple(list) => list.into_iter().flat_map(columns_of).collect(),
        Expr::Nested(inner) => columns_of(*inner),
        one => vec![one],
    }
}

/// All of the lists, all but the last, and so on down to none.
fn rollup(lists: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    (0..=lists.len()).rev().map(|count| lists[..count].concat()).collect()
}

/// Every choice among the lists.
fn cube(lists: &[Vec<Expr>]) -> Result<Vec<Vec<Expr>>, Error> {
    if lists.len() > CUBE_MAX {
        return Err(Error::invalid(format!("CUBE is limited to {CUBE_MAX} elements")));
    }
    let chosen = |choice: usize| {
        let lists = lists.iter().enumerate().filter(|(place, _)| (choice >> (lists.len() - 1 - place)) & 1 == 1);
        lists.flat_map(|(_, list)| list.clone()).collect()
    };
    Ok((0..1_usize << lists.len()).rev().map(chosen).collect())
}

/// Whether a condition calls functions, of which some may be aggregates.
fn calls_functions(condition: &Expr) -> bool {
    struct Calls;
    impl Visitor for Calls {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> std::ops::ControlFlow<()> {
            match expr {
                Expr::Function(_) => std::ops::ControlFlow::Break(()),
                _ => std::ops::ControlFlow::Continue(()),
            }
        }
    }
    condition.visit(&mut Calls).is_break()
}

/// A condition on the one group of all rows: an aggregate says that there is a group.
fn of_one_group(condition: Expr) -> Expr {
    let count = build::call("count", vec![Expr::Value(Value::Number("1".to_owned(), false).into())]);
    let counted = build::binary(count, BinaryOperator::GtEq, build::number(0));
    build::binary(Expr::Nested(Box::new(condition)), BinaryOperator::And, counted)
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    #[test]
    fn sets_are_written_out() {
        for (sql, expected) in [
            ("GROUPING SETS (a, GROUPING SETS (b, c), ())", "GROUPING SETS ((a), (b), (c), ())"),
            ("GROUPING SETS (GROUPING SETS (rollup(a, b)), (a, (b)))", "GROUPING SETS ((a, b), (a), (), (a, b))"),
            ("GROUPING SETS (cube((a, b), c))", "GROUPING SETS ((a, b, c), (a, b), (c), ())"),
            ("ROLLUP ((a, b), c), CUBE (a)", "GROUPING SETS ((a, b, c), (a, b), ()), CUBE (a)"),
            ("(), ()", "GROUPING SETS (())"),
            ("(), a", "a"),
        ] {
            match parse(&format!("SELECT 1 FROM t GROUP BY {sql}")) {
                Ok(Parsed::Sql(statement)) => {
                    let written = statement.to_string().replace("GROUPING SETS(", "GROUPING SETS (");
                    assert_eq!(written.split(" GROUP BY ").nth(1), Some(expected), "{sql}");
                }
                other => panic!("{sql}: {other:?}"),
            }
        }
    }
}
