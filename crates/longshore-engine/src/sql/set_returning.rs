//! Functions that give rows: `SELECT generate_series(1, 3)`, `FROM unnest(a) WITH ORDINALITY AS u`, `ROWS FROM (f(), g())`.
//!
//! As functions of values they give arrays. In the list of a SELECT, `unnest` around them makes rows, several of them in
//! step. In FROM they become calls that the planner of table functions reads (`datafusion::planning::table_functions`),
//! and that may use columns of what stands before them.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Query, Select, SelectItem,
    Statement, TableFactor, TableFunctionArgs, Visitor, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::expressions::each_own;
use crate::sql::set_functions::{SET_RETURNING, UNNEST, function_called, is_set_call, is_set_returning};
use crate::sql::tokens::{is_keyword, is_word};
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, set_returning_order};

/// The function that an array is an argument of before its elements are rows.
const ELEMENTS: &str = "array elements";
/// What stands in FROM for ROWS FROM.
pub(crate) const ROWS_FROM: &str = "rows from";

/// Writes out what functions in the lists and in FROM of `statement` mean; `is_function` knows functions of values.
pub(crate) fn write_out(statement: &mut Statement, is_function: impl Fn(&str) -> bool) {
    let ControlFlow::Continue(()) = VisitMut::visit(statement, &mut Writer { is_function });
}

struct Writer<F> {
    is_function: F,
}

impl<F: Fn(&str) -> bool> VisitorMut for Writer<F> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        set_returning_order::write_out(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        for item in &mut select.projection {
            let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else { continue };
            let Ok(()) = each_own::<Infallible>(expr, |part| {
                unnest(part);
                Ok(())
            });
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        match factor {
            TableFactor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
                let TableFunctionArgs { args, settings: None } = args else { return ControlFlow::Continue(()) };
                let function = name.to_string().to_lowercase().replace('"', "");
                let is_ours = function == ROWS_FROM
                    || is_set_returning(&function)
                    || is_record_function(&function)
                    || (self.is_function)(&function);
                // That gives an array as a function of values, and rows in FROM.
                if is_ours && function != "range" {
                    *factor = TableFactor::Function {
                        lateral: args.iter().any(has_columns),
                        name: name.clone(),
                        args: std::mem::take(args),
                        with_ordinality: *with_ordinality,
                        alias: alias.take(),
                    };
                }
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset: false,
                with_offset_alias: None,
                with_ordinality,
            } => {
                let args = std::mem::take(array_exprs).into_iter();
                let args: Vec<FunctionArg> = args.map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect();
                *factor = TableFactor::Function {
                    lateral: args.iter().any(has_columns),
                    name: ObjectName::from(vec![Ident::new(UNNEST)]),
                    args,
                    with_ordinality: *with_ordinality,
                    alias: alias.take(),
                };
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Functions whose columns are told where they are called.
pub(crate) fn is_record_function(name: &str) -> bool {
    ["json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"].contains(&name)
}

/// Puts `unnest` around a call in the list of a SELECT.
fn unnest(expr: &mut Expr) {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, .. }) = expr else { return };
    let name = function_called(name);
    if name == UNNEST {
        if let [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] = list.args.as_mut_slice()
            && !is_call_of(array, ELEMENTS)
            && !is_set_call(array)
        {
            let own = std::mem::replace(array, build::number(0));
            *array = build::call(ELEMENTS, vec![own]);
        }
    } else if SET_RETURNING.contains(&name.as_str()) {
        let call = std::mem::replace(expr, build::number(0));
        *expr = build::call(UNNEST, vec![call]);
    }
}

fn is_call_of(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Function(function) if function.name.to_string() == name)
}

/// Whether an argument may be about columns.
fn has_columns(arg: &FunctionArg) -> bool {
    struct Columns;
    impl Visitor for Columns {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    Visit::visit(arg, &mut Columns).is_break()
}

/// Makes of `ROWS FROM (...)` the call of a function, and gives a name to what only has columns: `f(...) AS (a int)`.
pub(super) fn read_tokens(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|token| matches!(token.token, Token::LParen)) {
        return;
    }
    let mut at = 0;
    while at < tokens.len() {
        take_variadic(tokens, at);
        if is_keyword(&tokens[at].token, Keyword::ROWS)
            && let Some(from) = next(tokens, at).filter(|from| is_keyword(&tokens[*from].token, Keyword::FROM))
            && let Some(open) = next(tokens, from).filter(|open| tokens[*open].token == Token::LParen)
            && next(tokens, open).is_some_and(|name| is_column(&tokens[name]))
            && is_in_from(&tokens[..at])
        {
            tokens[at].token = quoted(ROWS_FROM);
            tokens.drain(at + 1..=from);
        } else if tokens[at].token == Token::RParen
            && let Some(word) = next(tokens, at).filter(|word| is_keyword(&tokens[*word].token, Keyword::AS))
            && let Some(open) = next(tokens, word).filter(|open| tokens[*open].token == Token::LParen)
            && let Some(name) = next(tokens, open).filter(|name| is_column(&tokens[*name]))
            && next(tokens, name).is_some_and(|token| matches!(tokens[token].token, Token::Word(_)))
            && let Some(function) = called(tokens, at)
        {
            let mut token = tokens[open].clone();
            token.token = function;
            tokens.insert(open, token);
        }
        at += 1;
    }
}

/// Functions, and those that take the list of their arguments.
pub(super) const OF_LISTS: [(&str, &str); 4] = [
    ("json_build_array", "json array of list"),
    ("jsonb_build_array", "jsonb array of list"),
    ("json_build_object", "json object of list"),
    ("jsonb_build_object", "jsonb object of list"),
];

/// `f(VARIADIC array)` as the call of a function that takes the array; of others than JSON is built by, it stays.
fn take_variadic(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let is_variadic = |token: &TokenWithSpan| is_word(&token.token, "variadic");
    let Token::Word(function) = &tokens[at].token else { return };
    let name = function.value.to_lowercase();
    let Some((_, other)) = OF_LISTS.iter().find(|(own, _)| *own == name) else { return };
    if let Some(open) = next(tokens, at).filter(|open| tokens[*open].token == Token::LParen)
        && let Some(word) = next(tokens, open).filter(|word| is_variadic(&tokens[*word]))
    {
        tokens[at].token = quoted(other);
        tokens.remove(word);
    }
}

/// The name of the function whose arguments end here.
fn called(tokens: &[TokenWithSpan], end: usize) -> Option<Token> {
    let mut depth = 0;
    for at in (0..=end).rev() {
        match tokens[at].token {
            Token::RParen => depth += 1,
            Token::LParen => {
                depth -= 1;
                if depth == 0 {
                    let before =
                        tokens[..at].iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)))?;
                    let Token::Word(word) = &before.token else { return None };
                    let is_function = is_record_function(&word.value.to_lowercase()) || word.value == ROWS_FROM;
                    return is_function.then(|| before.token.clone());
                }
            }
            _ => {}
        }
    }
    None
}

fn next(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    (at + 1..tokens.len()).find(|next| !matches!(tokens[*next].token, Token::Whitespace(_)))
}

/// Whether ROWS behind `before` may begin what stands in FROM, and is no column of a list.
fn is_in_from(before: &[TokenWithSpan]) -> bool {
    let last = before.iter().rev().find(|token| !matches!(token.token, Token::Whitespace(_)));
    last.is_some_and(|last| {
        let keywords = [Keyword::FROM, Keyword::JOIN, Keyword::LATERAL, Keyword::USING];
        last.token == Token::Comma || keywords.iter().any(|keyword| is_keyword(&last.token, *keyword))
    })
}

/// Whether a name of a column comes rather than a query.
fn is_column(token: &TokenWithSpan) -> bool {
    let queries = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::TABLE, Keyword::FROM];
    matches!(&token.token, Token::Word(word) if word.quote_style.is_some() || !queries.contains(&word.keyword))
}

fn quoted(name: &str) -> Token {
    Token::Word(Word { value: name.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::{Parsed, parse};

    #[test]
    fn functions_in_lists_and_in_from_are_written_out() {
        for (sql, expected) in [
            ("SELECT generate_series(1, 3) + 1", "SELECT unnest(generate_series(1, 3)) + 1"),
            ("SELECT unnest(a) FROM t", "SELECT unnest(array elements(a)) FROM t"),
            ("SELECT sum(a) FROM t", "SELECT sum(a) FROM t"),
            ("SELECT * FROM f(1)", "SELECT * FROM f(1)"),
            ("SELECT * FROM t, unnest(t.a) AS u", "SELECT * FROM t, LATERAL unnest(t.a) AS u"),
            ("SELECT * FROM rows from (f(1), g(2))", "SELECT * FROM \"rows from\"(f(1), g(2))"),
            ("SELECT 1 AS rows FROM (SELECT 2)", "SELECT 1 AS rows FROM (SELECT 2)"),
            (
                "SELECT * FROM json_to_record('{}') AS (a int, b text)",
                "SELECT * FROM json_to_record('{}') AS json_to_record (a INT, b TEXT)",
            ),
        ] {
            let Ok(Parsed::Sql(mut statement)) = parse(sql) else { panic!("{sql}") };
            write_out(&mut statement, |name| name == "g");
            assert_eq!(statement.to_string(), expected, "{sql}");
        }
    }
}
