//! Assignments to parts of columns: `SET a[1] = x, a[2:3] = y, j['k'] = z`.
//!
//! sqlparser knows only names before the `=`. So the subscripts are taken out of the list before the parser sees it, and a
//! name that nobody can write stands in their place. In the tree the assignment becomes one to the whole column, of a call
//! that gives the column with the part changed; parts of one column are changed one after the other.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Assignment, AssignmentTarget, Expr, Ident, Insert, MergeAction, ObjectName, ObjectNamePart,
    OnConflictAction, OnInsert, Statement, Subscript, TableObject, Value, VisitMut, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::dialect::LongshoreDialect;
use super::{build, depth, syntax};
use crate::Error;

/// A value in which an element is assigned to: the value, the element, its subscripts.
pub(crate) const ASSIGN_ELEMENT: &str = "element assigned to";
/// An array in which a slice is assigned to: the array, the elements, two bounds for each dimension.
pub(crate) const ASSIGN_SLICE: &str = "slice assigned to";

/// How names begin that stand for subscripts.
const MARK: char = '\u{1}';
/// A bound that was left out.
const LEFT_OUT: &str = "";

/// Subscripts that were taken out of a statement.
pub(super) struct Taken(Vec<Vec<TokenWithSpan>>);

/// Takes the subscripts of assignments out; `None` if there are none.
pub(super) fn take(tokens: &mut Vec<TokenWithSpan>) -> Option<Taken> {
    let mut taken = Vec::new();
    // How deep the lists of assignments are that have begun.
    let mut lists: Vec<usize> = Vec::new();
    let (mut depth, mut is_target, mut at) = (0_usize, false, 0);
    while at < tokens.len() {
        let may_be_target = is_target;
        match &tokens[at].token {
            Token::Whitespace(_) => {
                at += 1;
                continue;
            }
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                depth = depth.saturating_sub(1);
                while lists.last().is_some_and(|list| *list > depth) {
                    lists.pop();
                }
            }
            _ => {}
        }
        is_target = match &tokens[at].token {
            Token::Word(Word { keyword: Keyword::SET, quote_style: None, .. }) => {
                lists.push(depth);
                true
            }
            Token::Word(Word { keyword: Keyword::WHERE | Keyword::RETURNING, quote_style: None, .. })
                if lists.last() == Some(&depth) =>
            {
                lists.pop();
                false
            }
            Token::Word(_) if may_be_target => {
                if let Some((start, end)) = subscripts(tokens, at) {
                    let span = tokens[start].span;
                    let value = format!("{MARK}{}", taken.len());
                    let mark = Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
                    let name = [Token::Period, mark].map(|token| TokenWithSpan { token, span });
                    taken.push(tokens.splice(start..end, name).collect());
                    at = start + 1;
                }
                false
            }
            Token::Comma => lists.last() == Some(&depth),
            _ => false,
        };
        at += 1;
    }
    (!taken.is_empty()).then_some(Taken(taken))
}

/// Where the subscripts behind the name at `name` begin and end, if an assignment follows them.
fn subscripts(tokens: &[TokenWithSpan], name: usize) -> Option<(usize, usize)> {
    let next = |mut at: usize| {
        while matches!(tokens.get(at)?.token, Token::Whitespace(_)) {
            at += 1;
        }
        Some(at)
    };
    let mut at = next(name + 1)?;
    while tokens[at].token == Token::Period {
        at = next(next(at + 1)? + 1)?;
    }
    let start = at;
    while tokens[at].token == Token::LBracket {
        let mut depth = 0_usize;
        loop {
            match tokens.get(at)?.token {
                Token::LBracket | Token::LParen => depth += 1,
                Token::RBracket | Token::RParen => depth = depth.checked_sub(1)?,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at = next(at)?;
    }
    (at > start && tokens[at].token == Token::Eq).then_some((start, at))
}

/// Writes the assignments of `statement` out whose subscripts were taken.
///
/// # Errors
/// When these are no subscripts.
pub(super) fn put(taken: Taken, statement: &mut Statement) -> Result<(), Error> {
    match VisitMut::visit(statement, &mut Writer { taken: taken.0 }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Writer {
    taken: Vec<Vec<TokenWithSpan>>,
}

impl VisitorMut for Writer {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Error> {
        let done = match statement {
            Statement::Update(update) => {
                let table = build::name_of(&update.table.relation);
                self.write_out(&mut update.assignments, table.as_ref())
            }
            Statement::Insert(insert) => {
                let table = inserted_into(insert);
                match &mut insert.on {
                    Some(OnInsert::OnConflict(on)) => match &mut on.action {
                        OnConflictAction::DoUpdate(update) => self.write_out(&mut update.assignments, table.as_ref()),
                        OnConflictAction::DoNothing => Ok(()),
                    },
                    _ => Ok(()),
                }
            }
            Statement::Merge(merge) => {
                let table = build::name_of(&merge.table);
                merge.clauses.iter_mut().try_for_each(|clause| match &mut clause.action {
                    MergeAction::Update(update) => self.write_out(&mut update.assignments, table.as_ref()),
                    MergeAction::Insert(_) | MergeAction::Delete { .. } => Ok(()),
                })
            }
            _ => Ok(()),
        };
        done.map_or_else(ControlFlow::Break, ControlFlow::Continue)
    }
}

/// The name of the table that an INSERT is about, as its expressions know it.
fn inserted_into(insert: &Insert) -> Option<Ident> {
    match (&insert.table_alias, &insert.table) {
        (Some(alias), _) => Some(alias.alias.clone()),
        (None, TableObject::TableName(name)) => build::last_name(name).ok(),
        _ => None,
    }
}

impl Writer {
    fn write_out(&self, assignments: &mut Vec<Assignment>, table: Option<&Ident>) -> Result<(), Error> {
        let mut written: Vec<Assignment> = Vec::with_capacity(assignments.len());
        // Where the parts of a column are assigned to.
        let mut of_parts: Vec<usize> = Vec::new();
        for Assignment { mut target, value } in std::mem::take(assignments) {
            let Some(subscripts) = self.subscripts_of(&mut target)? else {
                written.push(Assignment { target, value });
                continue;
            };
            let before = of_parts.iter().copied().find(|place| written[*place].target == target);
            let whole = match (before, &target) {
                (Some(place), _) => written[place].value.clone(),
                (None, AssignmentTarget::ColumnName(name)) => {
                    let column = build::last_name(name)?;
                    Expr::CompoundIdentifier(table.into_iter().cloned().chain([column]).collect())
                }
                (None, AssignmentTarget::Tuple(_)) => {
                    return Err(Error::syntax("a list of columns that are set holds names without subscripts"));
                }
            };
            let value = assigned(whole, value, subscripts)?;
            match before {
                Some(place) => written[place].value = value,
                None => {
                    of_parts.push(written.len());
                    written.push(Assignment { target, value });
                }
            }
        }
        *assignments = written;
        Ok(())
    }

    /// The subscripts that the last part of a target stands for; that part goes.
    fn subscripts_of(&self, target: &mut AssignmentTarget) -> Result<Option<Vec<Subscript>>, Error> {
        let AssignmentTarget::ColumnName(ObjectName(parts)) = target else { return Ok(None) };
        let number = match parts.last() {
            Some(ObjectNamePart::Identifier(ident)) => {
                ident.value.strip_prefix(MARK).and_then(|mark| mark.parse().ok())
            }
            _ => None,
        };
        let Some(tokens) = number.and_then(|number: usize| self.taken.get(number)) else { return Ok(None) };
        parts.pop();
        let column = TokenWithSpan::wrap(Token::make_word("x", None));
        let tokens = std::iter::once(column).chain(tokens.iter().cloned()).collect();
        let mut parser =
            Parser::new(&LongshoreDialect).with_recursion_limit(depth::NESTING_MAX).with_tokens_with_locations(tokens);
        let Expr::CompoundFieldAccess { access_chain, .. } = parser.parse_expr().map_err(syntax)? else {
            return Err(Error::syntax("subscripts are expected between the name of a column and ="));
        };
        let subscripts = access_chain.into_iter().map(|access| match access {
            AccessExpr::Subscript(subscript) => Ok(subscript),
            AccessExpr::Dot(_) => Err(Error::unsupported("assignments to fields of elements are not supported")),
        });
        subscripts.collect::<Result<_, _>>().map(Some)
    }
}

/// `whole` with `value` at the subscripts. One slice makes all of them slices; a number is then the upper bound.
fn assigned(whole: Expr, value: Expr, subscripts: Vec<Subscript>) -> Result<Expr, Error> {
    let is_slice = subscripts.iter().any(|subscript| matches!(subscript, Subscript::Slice { .. }));
    let mut args = vec![whole, value];
    let left_out = || build::value(Value::SingleQuotedString(LEFT_OUT.to_owned()));
    for subscript in subscripts {
        match subscript {
            Subscript::Index { index } if is_slice => args.extend([build::number(1), index]),
            Subscript::Index { index } => args.push(index),
            Subscript::Slice { lower_bound, upper_bound, stride: None } => {
                args.extend([lower_bound.unwrap_or_else(left_out), upper_bound.unwrap_or_else(left_out)]);
            }
            Subscript::Slice { .. } => return Err(Error::syntax("a slice has two bounds")),
        }
    }
    Ok(build::call(if is_slice { ASSIGN_SLICE } else { ASSIGN_ELEMENT }, args))
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
    fn parts_of_columns_are_assigned_to() {
        for (sql, expected) in [
            ("UPDATE t SET a[1] = 2, b = c[3]", "UPDATE t SET a = element assigned to(t.a, 2, 1), b = c[3]"),
            (
                "UPDATE s.t AS x SET j['it''s'][n + 1] = '1', a [2 : 3] = '{7}' WHERE b[1] = 2",
                "UPDATE s.t AS x SET j = element assigned to(x.j, '1', 'it''s', n + 1), a = slice assigned to(x.a, '{7}', 2, 3) \
                 WHERE b[1] = 2",
            ),
            (
                "UPDATE t SET a[1] = 2, a[:] = 'x' RETURNING 1, a[1] = 2",
                "UPDATE t SET a = slice assigned to(element assigned to(t.a, 2, 1), 'x', '', '') RETURNING 1, a[1] = 2",
            ),
            (
                "INSERT INTO t VALUES (1) ON CONFLICT (k) DO UPDATE SET a[1] = excluded.a[1]",
                "INSERT INTO t VALUES (1) ON CONFLICT(k) DO UPDATE SET a = element assigned to(t.a, excluded.a[1], 1)",
            ),
        ] {
            assert_eq!(written(sql), expected);
        }
        assert!(parse("UPDATE t SET a[] = 1").is_err());
        assert!(parse("UPDATE t SET a[1 = 1").is_err());
    }
}
