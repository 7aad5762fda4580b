//! What ON CONFLICT says of an index beyond names of columns: `ON CONFLICT (lower(a), b) WHERE c > 0 DO ...`.
//!
//! sqlparser reads names only. So before the statement is parsed, such a target moves behind DO UPDATE SET, as values of
//! names that nobody can write; DO NOTHING becomes DO UPDATE of nothing else. Once the statement is a tree, it stands among
//! the settings of the INSERT, which no statement of PostgreSQL's dialect has.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Assignment, AssignmentTarget, ConflictTarget, Expr, Ident, Insert, OnConflictAction, OnInsert, Setting, Statement,
    VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::sql::Parsed;
use crate::sql::build::last_name;
use crate::sql::copy::CopyWhat;
use crate::sql::tokens::{is_keyword, is_said, is_word};
use crate::sql::visit::VisitMut;

/// What ON CONFLICT says of an index.
pub(crate) struct InferredIndex {
    /// Columns and expressions.
    pub(crate) parts: Vec<Expr>,
    /// Which rows it may be limited to.
    pub(crate) predicate: Option<Expr>,
}

const PARTS: &str = "\0on conflict";
const PREDICATE: &str = "\0on conflict where";

/// Moves targets that are more than names of columns; whether there are any.
pub(super) fn read_tokens(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let mut found = false;
    let mut at = 0;
    while let Some(open) = next_target(tokens, at) {
        at = open + 1;
        if let Some(target) = Target::at(tokens, open) {
            at = target.replace(tokens);
            found = true;
        }
    }
    found
}

/// The parenthesis behind the next ON CONFLICT.
fn next_target(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).filter(|at| is_keyword(&tokens[*at].token, Keyword::ON)).find_map(|on| {
        let conflict = next_said(tokens, on + 1).filter(|at| is_keyword(&tokens[*at].token, Keyword::CONFLICT))?;
        next_said(tokens, conflict + 1).filter(|at| tokens[*at].token == Token::LParen)
    })
}

/// The next token that is no white space.
fn next_said(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    (from..tokens.len()).find(|at| is_said(&tokens[*at].token))
}

/// The first token outside of parentheses for which this holds.
fn next_outside(tokens: &[TokenWithSpan], from: usize, is_it: impl Fn(&Token) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, TokenWithSpan { token, .. }) in tokens.iter().enumerate().skip(from) {
        if depth == 0 && is_it(token) {
            return Some(at);
        }
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

/// Where a target is, and what is around it.
struct Target {
    open: usize,
    close: usize,
    /// WHERE.
    condition: Option<usize>,
    /// DO.
    action: usize,
    /// The last word of DO NOTHING or DO UPDATE SET.
    end: usize,
    is_update: bool,
}

impl Target {
    /// The one in the parentheses that open here, if it is more than names.
    fn at(tokens: &[TokenWithSpan], open: usize) -> Option<Self> {
        let close = next_outside(tokens, open + 1, |token| *token == Token::RParen)?;
        let behind = next_said(tokens, close + 1)?;
        let is_do = |token: &Token| is_keyword(token, Keyword::DO);
        let condition = Some(behind).filter(|at| is_keyword(&tokens[*at].token, Keyword::WHERE));
        let action = match condition {
            Some(condition) => next_outside(tokens, condition + 1, is_do)?,
            None => Some(behind).filter(|at| is_do(&tokens[*at].token))?,
        };
        let said = tokens[open + 1..close].iter().filter(|token| is_said(&token.token));
        let are_names = said.enumerate().all(|(at, token)| match token.token {
            Token::Word(_) => at % 2 == 0,
            Token::Comma => at % 2 == 1,
            _ => false,
        });
        if are_names && condition.is_none() {
            return None;
        }
        let word = next_said(tokens, action + 1)?;
        let is_update = is_keyword(&tokens[word].token, Keyword::UPDATE);
        let end = if is_update {
            next_said(tokens, word + 1).filter(|at| is_keyword(&tokens[*at].token, Keyword::SET))?
        } else {
            Some(word).filter(|at| is_word(&tokens[*at].token, "NOTHING"))?
        };
        Some(Self { open, close, condition, action, end, is_update })
    }

    /// Moves it; says where the statement goes on.
    fn replace(&self, tokens: &mut Vec<TokenWithSpan>) -> usize {
        let span = tokens[self.open].span;
        let token = |token: Token| TokenWithSpan { token, span };
        let keyword = |word: &str| token(Token::make_word(word, None));
        let mut moved = vec![keyword("DO"), keyword("UPDATE"), keyword("SET")];
        let mut assign = |name: &str, value: &[TokenWithSpan]| {
            moved.extend([token(Token::make_word(name, Some('"'))), token(Token::Eq), token(Token::LParen)]);
            moved.extend_from_slice(value);
            moved.extend([token(Token::RParen), token(Token::Comma)]);
        };
        assign(PARTS, &tokens[self.open + 1..self.close]);
        if let Some(condition) = self.condition {
            assign(PREDICATE, &tokens[condition + 1..self.action]);
        }
        if !self.is_update {
            moved.pop();
        }
        let behind = self.open + moved.len();
        tokens.splice(self.open..=self.end, moved);
        behind
    }
}

/// Puts targets that were moved among the settings of their INSERTs.
pub(super) fn put(parsed: &mut Parsed) {
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) = match parsed {
        Parsed::Sql(statement) => statement.visit(&mut Inserts),
        Parsed::CopyTo(copy) => match &mut copy.what {
            CopyWhat::Query(query) => query.visit(&mut Inserts),
            CopyWhat::Table { .. } => return,
        },
        _ => return,
    };
}

struct Inserts;

impl VisitorMut for Inserts {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        if let Statement::Insert(insert) = statement {
            settle(insert);
        }
        ControlFlow::Continue(())
    }
}

fn settle(insert: &mut Insert) {
    let Some(OnInsert::OnConflict(conflict)) = &mut insert.on else { return };
    let OnConflictAction::DoUpdate(update) = &mut conflict.action else { return };
    let (moved, assignments): (Vec<Assignment>, Vec<Assignment>) =
        std::mem::take(&mut update.assignments).into_iter().partition(|assignment| name_of(assignment).is_some());
    update.assignments = assignments;
    if moved.is_empty() {
        return;
    }
    let settings = moved.into_iter().filter_map(|assignment| {
        let key = Ident::new(name_of(&assignment)?);
        Some(Setting { key, value: assignment.value })
    });
    insert.settings.get_or_insert_default().extend(settings);
    conflict.conflict_target = Some(ConflictTarget::Columns(Vec::new()));
    if update.assignments.is_empty() {
        conflict.action = OnConflictAction::DoNothing;
    }
}

/// Under which of our names an assignment stands.
fn name_of(assignment: &Assignment) -> Option<&'static str> {
    let AssignmentTarget::ColumnName(name) = &assignment.target else { return None };
    let name = last_name(name).ok()?;
    [PARTS, PREDICATE].into_iter().find(|of| *of == name.value)
}

/// The expressions that ON CONFLICT of an INSERT has instead of names of columns.
pub(crate) fn expressions(insert: &Insert) -> impl Iterator<Item = &Expr> {
    let settings = insert.settings.iter().flatten();
    settings.filter(|setting| [PARTS, PREDICATE].contains(&setting.key.value.as_str())).map(|setting| &setting.value)
}

/// Takes what ON CONFLICT of an INSERT says of an index, if that is more than names of columns.
pub(crate) fn take(insert: &mut Insert) -> Option<InferredIndex> {
    let settings = insert.settings.as_mut()?;
    let mut take = |name: &str| {
        let at = settings.iter().position(|setting| setting.key.value == name)?;
        Some(settings.remove(at).value)
    };
    let (parts, predicate) = (take(PARTS)?, take(PREDICATE));
    let parts = match parts {
        Expr::Tuple(parts) => parts,
        one => vec![one],
    };
    Some(InferredIndex { parts, predicate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::parse;

    fn found(sql: &str) -> Option<(String, Option<String>, bool)> {
        let statement = match parse(sql) {
            Ok(Parsed::Sql(statement)) => *statement,
            other => panic!("{sql}: {other:?}"),
        };
        let Statement::Insert(mut insert) = statement else { panic!("{statement}") };
        let Some(OnInsert::OnConflict(conflict)) = &insert.on else { panic!("{insert}") };
        let is_nothing = matches!(conflict.action, OnConflictAction::DoNothing);
        let InferredIndex { parts, predicate } = take(&mut insert)?;
        let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        Some((parts.join("; "), predicate.map(|predicate| predicate.to_string()), is_nothing))
    }

    #[test]
    fn targets_are_taken_that_are_more_than_names() {
        let insert = |target: &str| format!("INSERT INTO t VALUES (1) ON CONFLICT {target}");
        let expect = |parts: &str, predicate: Option<&str>, is_nothing| {
            Some((parts.to_owned(), predicate.map(str::to_owned), is_nothing))
        };
        assert_eq!(found(&insert("(a, \"b\") DO NOTHING")), None);
        assert_eq!(found(&insert("(a) DO UPDATE SET a = 1 WHERE t.a > 0")), None);
        assert_eq!(found(&insert("(lower(a)) DO NOTHING")), expect("(lower(a))", None, true));
        assert_eq!(
            found(&insert("(lower(a), b) WHERE c IS NULL DO UPDATE SET a = excluded.a, b = 2")),
            expect("lower(a); b", Some("(c IS NULL)"), false)
        );
        assert_eq!(
            found(&insert("(a) where (c > 0 and d) do nothing returning a")),
            expect("(a)", Some("((c > 0 AND d))"), true)
        );
    }
}
