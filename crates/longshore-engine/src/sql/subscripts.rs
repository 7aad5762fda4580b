//! Subscripts of what is assigned to: `SET a[1] = v`, `INSERT INTO t (a[1:2]) ...`, which sqlparser does not read.
//!
//! Before the statement is parsed, subscripts of a column become a part of its name that nobody can write. Behind that, the
//! value becomes a call of a function that puts it into the array ([`ASSIGN_ELEMENT`], [`ASSIGN_SLICE`]): in INSERT at once, into
//! no array; in UPDATE where the column is known (`statement::change`), so the call lacks its first argument until then.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Assignment, AssignmentTarget, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    Insert, MergeAction, ObjectName, ObjectNamePart, OnConflictAction, OnInsert, Query, SetExpr, Statement, Subscript,
    TableAliasColumnDef, TableFactor, Value, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::tokens::is_keyword;
use crate::sql::visit::VisitMut;
use crate::sql::{build, parse_expression};
use crate::{Error, ErrorKind};

/// The array with an element changed.
pub(crate) const ASSIGN_ELEMENT: &str = "array with element at";
/// The array with a part of it changed.
pub(crate) const ASSIGN_SLICE: &str = "array with slice";

/// Begins what subscripts became; Unicode keeps it for the inside of programs.
const MARK: char = '\u{fdd1}';

/// Makes subscripts of columns that are assigned to a part of their names; whether there are any.
pub(super) fn read_tokens(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is_change =
        |token: &TokenWithSpan| is_keyword(&token.token, Keyword::INSERT) || is_keyword(&token.token, Keyword::SET);
    if !tokens.iter().any(|token| token.token == Token::LBracket) || !tokens.iter().any(is_change) {
        return false;
    }
    let mut found = false;
    let mut depth = 0_usize;
    // The depth of a list of assignments, and that of the columns of an INSERT.
    let (mut set, mut columns) = (None, None);
    let mut before: Option<usize> = None;
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at].token;
        match token {
            Token::Whitespace(_) => {
                at += 1;
                continue;
            }
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                depth = depth.saturating_sub(1);
                set = set.filter(|set| *set <= depth);
                columns = columns.filter(|columns| *columns <= depth);
            }
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::SET => set = Some(depth),
                Keyword::WHERE | Keyword::FROM | Keyword::RETURNING => set = set.filter(|set| *set != depth),
                // The list is in the next parentheses.
                Keyword::INTO => columns = Some(depth + 1),
                Keyword::VALUES | Keyword::SELECT | Keyword::DEFAULT => columns = None,
                _ => {}
            },
            _ => {}
        }
        let begins = before.is_some_and(|before| match &tokens[before].token {
            Token::Comma => set == Some(depth) || columns == Some(depth),
            Token::LParen => columns == Some(depth),
            other => set == Some(depth) && is_keyword(other, Keyword::SET),
        });
        if begins && matches!(tokens[at].token, Token::Word(_)) {
            let is_set = set == Some(depth);
            found |= mark(tokens, at, is_set);
        }
        before = Some(at);
        at += 1;
    }
    found
}

/// Marks the subscripts behind the name at `at`, if what follows them says that it is assigned to.
fn mark(tokens: &mut Vec<TokenWithSpan>, at: usize, is_set: bool) -> bool {
    let mut end = at + 1;
    let (mut depth, mut text) = (0_usize, String::new());
    while let Some(token) = tokens.get(end) {
        match &token.token {
            Token::LBracket => depth += 1,
            Token::RBracket => depth = depth.saturating_sub(1),
            Token::Whitespace(_) => {}
            _ if depth == 0 => break,
            _ => {}
        }
        text.push_str(&token.token.to_string());
        end += 1;
    }
    let follows = tokens.get(end).is_some_and(|token| match token.token {
        Token::Eq => is_set,
        Token::Comma | Token::RParen => !is_set,
        _ => false,
    });
    if !follows || text.trim().is_empty() {
        return false;
    }
    let word = Word { value: format!("{MARK}{}", text.trim()), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let span = tokens[at].span;
    let parts = [Token::Period, Token::Word(word)].map(|token| TokenWithSpan { token, span });
    tokens.splice(at + 1..end, parts);
    true
}

/// Writes the assignments to what was marked out as calls.
///
/// # Errors
/// When the subscripts are none.
pub(super) fn write_out(statement: &mut Statement) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Writer) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Writes out what each statement within a statement assigns.
struct Writer;

impl VisitorMut for Writer {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        let written = match statement {
            Statement::Update(update) => assignments(&mut update.assignments),
            Statement::Insert(insert) => of_insert(insert),
            Statement::Merge(merge) => merge.clauses.iter_mut().try_for_each(|clause| match &mut clause.action {
                MergeAction::Update(update) => assignments(&mut update.assignments),
                MergeAction::Insert(_) | MergeAction::Delete { .. } => Ok(()),
            }),
            _ => Ok(()),
        };
        written.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

fn assignments(assignments: &mut [Assignment]) -> Result<(), Error> {
    for Assignment { target, value } in assignments {
        let AssignmentTarget::ColumnName(name) = target else { continue };
        if let Some(text) = taken(name) {
            let old = std::mem::replace(value, build::value(Value::Null));
            *value = call(&text, old)?;
        }
    }
    Ok(())
}

/// Takes what subscripts became off a name.
fn taken(name: &mut ObjectName) -> Option<String> {
    let text = match name.0.last()? {
        ObjectNamePart::Identifier(part) => part.value.strip_prefix(MARK)?.to_owned(),
        ObjectNamePart::Function(_) => return None,
    };
    name.0.pop();
    Some(text)
}

/// The call that puts `value` at subscripts; without the array.
fn call(text: &str, value: Expr) -> Result<Expr, Error> {
    if matches!(&value, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
    {
        return Err(Error::unsupported("cannot set an array element to DEFAULT"));
    }
    let Expr::CompoundFieldAccess { access_chain, .. } = parse_expression(&format!("a{text}"))? else {
        return Err(Error::syntax(format!("{text}: subscripts are expected")));
    };
    let subscripts = access_chain.into_iter().map(|access| match access {
        AccessExpr::Subscript(subscript) => Ok(subscript),
        AccessExpr::Dot(_) => Err(Error::unsupported("assignments to fields of elements are not supported")),
    });
    let subscripts = subscripts.collect::<Result<Vec<_>, _>>()?;
    let is_slice = subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice { .. }));
    let missing = || build::value(Value::Boolean(true));
    let mut args = vec![value];
    for subscript in subscripts {
        match subscript {
            Subscript::Index { index } if is_slice => args.extend([build::number(1), index]),
            Subscript::Index { index } => args.push(index),
            Subscript::Slice { lower_bound, upper_bound, .. } => {
                args.extend([lower_bound.unwrap_or_else(missing), upper_bound.unwrap_or_else(missing)]);
            }
        }
    }
    Ok(build::call(if is_slice { ASSIGN_SLICE } else { ASSIGN_ELEMENT }, args))
}

/// Whether it is a call that puts something into an array.
pub(crate) fn is_put(value: &Expr) -> bool {
    let Expr::Function(Function { name, .. }) = value else { return false };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return false };
    name.value == ASSIGN_ELEMENT || name.value == ASSIGN_SLICE
}

/// A call that lacks its array, with that; `None` of other expressions.
pub(crate) fn into_array(value: &Expr, array: impl FnOnce() -> Expr) -> Option<Expr> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = value else { return None };
    let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else { return None };
    let name = [ASSIGN_ELEMENT, ASSIGN_SLICE].into_iter().find(|own| *own == name.value)?;
    let args = list.args.iter().filter_map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg.clone()),
        _ => None,
    });
    Some(build::call(name, std::iter::once(array()).chain(args).collect()))
}

/// The columns of an INSERT, each once, and what they are given.
fn of_insert(insert: &mut Insert) -> Result<(), Error> {
    if let Some(OnInsert::OnConflict(on)) = &mut insert.on
        && let OnConflictAction::DoUpdate(update) = &mut on.action
    {
        assignments(&mut update.assignments)?;
    }
    let given: Vec<Option<String>> = insert.columns.iter_mut().map(taken).collect();
    if given.iter().all(Option::is_none) {
        return Ok(());
    }
    // Several elements of a column are put into one array.
    let mut columns: Vec<(ObjectName, Vec<usize>)> = Vec::new();
    for (at, name) in insert.columns.drain(..).enumerate() {
        match columns.iter_mut().find(|(known, _)| *known == name && given[at].is_some()) {
            Some((_, places)) => places.push(at),
            None => columns.push((name, vec![at])),
        }
    }
    let combined = |values: &[Expr]| {
        let column = |places: &Vec<usize>| {
            let mut array: Option<Expr> = None;
            for at in places {
                let value = values[*at].clone();
                array = Some(match &given[*at] {
                    None => value,
                    Some(text) => {
                        let call = call(text, value)?;
                        let none = || array.take().unwrap_or_else(|| build::value(Value::Null));
                        into_array(&call, none).ok_or_else(|| Error::internal("a call of ours is expected"))?
                    }
                });
            }
            Ok(array.unwrap_or_else(|| build::value(Value::Null)))
        };
        columns.iter().map(|(_, places)| column(places)).collect::<Result<Vec<Expr>, Error>>()
    };
    if let Some(source) = &mut insert.source {
        match source.body.as_mut() {
            SetExpr::Values(values) if source.with.is_none() => {
                for row in &mut values.rows {
                    if row.content.len() != given.len() {
                        return Err(Error::new(ErrorKind::Syntax, "INSERT has more expressions than target columns"));
                    }
                    row.content = combined(&row.content)?;
                }
            }
            _ => {
                let names: Vec<Ident> = (0..given.len()).map(|at| build::quoted(&format!("column {at}"))).collect();
                let values: Vec<Expr> = names.iter().cloned().map(Expr::Identifier).collect();
                let list = combined(&values)?.into_iter().enumerate();
                let list = list.map(|(at, expr)| build::named(expr, &format!("value {at}"))).collect();
                let query: Query = source.as_ref().clone();
                let mut rows = build::derived(query, &build::quoted("rows"));
                if let TableFactor::Derived { alias: Some(alias), .. } = &mut rows {
                    alias.columns =
                        names.into_iter().map(|name| TableAliasColumnDef { name, data_type: None }).collect();
                }
                **source = build::query_of(build::select(list, vec![build::alone(rows)]));
            }
        }
    }
    insert.columns = columns.into_iter().map(|(name, _)| name).collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::sql::{Parsed, parse};

    fn written(sql: &str) -> String {
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => statement.to_string(),
            other => panic!("{sql}: {other:?}"),
        }
    }

    #[test]
    fn assignments_to_elements_are_calls() {
        for (sql, expected) in [
            ("UPDATE t SET a[1] = 2", "UPDATE t SET a = array with element at(2, 1)"),
            (
                "UPDATE t SET b = 1, a[1:2][3] = '{}' WHERE c[1] = 2",
                "UPDATE t SET b = 1, a = array with slice('{}', 1, 2, 1, 3) WHERE c[1] = 2",
            ),
            ("UPDATE t SET b = x[1]", "UPDATE t SET b = x[1]"),
            (
                "INSERT INTO t (a[1], a[2], b) VALUES (1, 2, 3)",
                "INSERT INTO t (a, b) VALUES (array with element at(array with element at(NULL, 1, 1), 2, 2), 3)",
            ),
            ("INSERT INTO t SELECT b, a[1] = 2 FROM u", "INSERT INTO t SELECT b, a[1] = 2 FROM u"),
        ] {
            assert_eq!(written(sql).replace('"', ""), expected, "{sql}");
        }
    }
}
