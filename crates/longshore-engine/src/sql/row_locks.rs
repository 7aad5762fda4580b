//! The locks behind a query: FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE, FOR KEY SHARE.
//!
//! sqlparser knows two of them, and one table behind OF. The others are written as FOR UPDATE OF a name that says all of it,
//! which [`LockedTables`] reads. Locks that stand before LIMIT, OFFSET or FETCH change places with these.

use std::ops::{ControlFlow, Range};

use longshore_storage::RowLock;
use sqlparser::ast::{
    LockClause, LockType, ObjectNamePart, Query, SetExpr, Statement, TableFactor, Visitor, VisitorMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::Error;
use crate::sql::tokens::{is_keyword, is_said, is_word};
use crate::sql::visit::{Visit, VisitMut};
use crate::sql::{build, names};

/// Stands between the parts of a name that says all of a lock; no name has it.
const PART: char = '\u{1}';

/// What a lock is called, and what it is.
const LOCKS: [(&str, RowLock); 4] = [
    ("FOR UPDATE", RowLock::Update),
    ("FOR NO KEY UPDATE", RowLock::NoKeyUpdate),
    ("FOR SHARE", RowLock::Share),
    ("FOR KEY SHARE", RowLock::KeyShare),
];

/// A lock of a query: how rows are locked, and of which tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LockedTables {
    /// As a message names it.
    pub(crate) clause: &'static str,
    pub(crate) lock: RowLock,
    /// As the query calls them; none for all.
    pub(crate) tables: Vec<String>,
}

impl LockedTables {
    /// What a clause says.
    pub(crate) fn of(clause: &LockClause) -> Self {
        let plain = match clause.lock_type {
            LockType::Update => RowLock::Update,
            LockType::Share => RowLock::Share,
        };
        let name = match clause.of.as_ref().and_then(|of| of.0.last()) {
            Some(ObjectNamePart::Identifier(name)) if name.quote_style.is_some() => name.value.clone(),
            Some(part) => part.to_string().to_lowercase(),
            None => String::new(),
        };
        let mut parts = name.split(PART);
        let first = parts.next().unwrap_or_default();
        let said = LOCKS.iter().find(|(clause, _)| *clause == first && name.contains(PART));
        let (lock, tables) = match said {
            Some((_, lock)) => (*lock, parts.filter(|table| !table.is_empty()).map(str::to_owned).collect()),
            None if name.is_empty() => (plain, Vec::new()),
            None => (plain, vec![name]),
        };
        let clause = LOCKS.iter().find(|(_, known)| *known == lock).map_or("FOR UPDATE", |(clause, _)| clause);
        Self { clause, lock, tables }
    }
}

/// FOR UPDATE of all tables of a query.
pub(crate) fn for_update() -> LockClause {
    LockClause { lock_type: LockType::Update, of: None, nonblock: None }
}

/// Whether rows are locked in a statement.
pub(crate) fn are_in(statement: &Statement) -> bool {
    statement.visit(&mut Finder { skips_first: false }).is_break()
}

/// Whether rows are locked within a statement, by more than the query that it is.
pub(crate) fn are_within(statement: &Statement) -> bool {
    statement.visit(&mut Finder { skips_first: matches!(statement, Statement::Query(_)) }).is_break()
}

struct Finder {
    skips_first: bool,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let is_skipped = std::mem::take(&mut self.skips_first);
        if query.locks.is_empty() || is_skipped { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// The tables and views of which a query locks rows, if by one within it.
pub(crate) fn locked_tables(query: &Query) -> Result<Vec<String>, Error> {
    let mut names = Names(Vec::new());
    match query.visit(&mut names) {
        ControlFlow::Continue(()) => Ok(names.0),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Names(Vec<String>);

impl Visitor for Names {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
        let clauses: Vec<LockedTables> = query.locks.iter().map(LockedTables::of).collect();
        let SetExpr::Select(select) = query.body.as_ref() else { return ControlFlow::Continue(()) };
        let all = select
            .from
            .iter()
            .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
        for factor in all {
            let TableFactor::Table { name, args: None, .. } = factor else { continue };
            let known_as = build::name_of(factor).and_then(|name| names::identifier(&name).ok()).unwrap_or_default();
            let is_locked = |clause: &LockedTables| {
                clause.tables.is_empty() || clause.tables.iter().any(|table| table == names::own(&known_as))
            };
            if clauses.iter().any(is_locked) {
                match names::relation(name) {
                    Ok(name) => self.0.push(name),
                    Err(error) => return ControlFlow::Break(error),
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// Takes the locks out of a query, which is only described.
pub(crate) fn leave_out(query: &mut Query) {
    struct Without;

    impl VisitorMut for Without {
        type Break = ();

        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            query.locks.clear();
            ControlFlow::Continue(())
        }
    }

    let _ = VisitMut::visit(query, &mut Without);
}

/// Writes out what the parser does not know.
pub(super) fn spell_out(tokens: &mut Vec<TokenWithSpan>) {
    let mut at = 0;
    while at < tokens.len() {
        if is_keyword(&tokens[at].token, Keyword::FOR)
            && let Some(clause) = Clause::read(tokens, at)
        {
            let from = at;
            at = clause.write(tokens);
            at = move_behind(tokens, from..at);
        } else {
            at += 1;
        }
    }
}

/// A clause as it is written.
struct Clause {
    name: &'static str,
    /// What is behind OF.
    tables: Vec<Word>,
    /// From FOR to the last table.
    tokens: Range<usize>,
}

impl Clause {
    fn read(tokens: &[TokenWithSpan], start: usize) -> Option<Self> {
        let said: Vec<usize> = (start + 1..tokens.len()).filter(|at| is_said(&tokens[*at].token)).take(64).collect();
        let is = |place: usize, words: &[&str]| {
            let mut each = words.iter().zip(place..);
            each.all(|(word, at)| said.get(at).is_some_and(|at| is_word(&tokens[*at].token, word)))
        };
        let (name, mut next) = if is(0, &["update"]) {
            ("FOR UPDATE", 1)
        } else if is(0, &["no", "key", "update"]) {
            ("FOR NO KEY UPDATE", 3)
        } else if is(0, &["share"]) {
            ("FOR SHARE", 1)
        } else if is(0, &["key", "share"]) {
            ("FOR KEY SHARE", 2)
        } else {
            return None;
        };
        let mut tables = Vec::new();
        if is(next, &["of"]) {
            loop {
                let Token::Word(word) = &tokens[*said.get(next + 1)?].token else { return None };
                tables.push(word.clone());
                next += 2;
                if said.get(next).is_none_or(|at| tokens[*at].token != Token::Comma) {
                    break;
                }
            }
        }
        Some(Self { name, tables, tokens: start..said[next - 1] + 1 })
    }

    /// Writes it in a way that is read; says where it ends.
    fn write(self, tokens: &mut Vec<TokenWithSpan>) -> usize {
        let is_known = matches!(self.name, "FOR UPDATE" | "FOR SHARE") && self.tables.len() <= 1;
        if is_known {
            return self.tokens.end;
        }
        let mut all = format!("{}{PART}", self.name);
        for Word { value, quote_style, .. } in self.tables {
            all.push_str(&if quote_style.is_some() { value } else { value.to_lowercase() });
            all.push(PART);
        }
        let (start, span) = (self.tokens.start, tokens[self.tokens.start].span);
        let space = || Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
        let words = ["FOR", "UPDATE", "OF"].map(Token::make_keyword);
        let name = Token::Word(Word { value: all, quote_style: Some('"'), keyword: Keyword::NoKeyword });
        let written: Vec<TokenWithSpan> = words
            .into_iter()
            .flat_map(|word| [word, space()])
            .chain([name])
            .map(|token| TokenWithSpan { token, span })
            .collect();
        let end = start + written.len();
        tokens.splice(self.tokens, written);
        end
    }
}

/// Moves a clause, with what says how it waits, behind LIMIT, OFFSET and FETCH; says where it ends.
fn move_behind(tokens: &mut [TokenWithSpan], clause: Range<usize>) -> usize {
    let mut end = clause.end;
    let said = |from: usize| (from..tokens.len()).find(|at| is_said(&tokens[*at].token));
    for words in [&["nowait"][..], &["skip", "locked"]] {
        let mut next = end;
        let is_there = words.iter().all(|word| {
            let found = said(next).filter(|at| is_word(&tokens[*at].token, word));
            next = found.map_or(next, |at| at + 1);
            found.is_some()
        });
        if is_there {
            end = next;
        }
    }
    let Some(first) = said(end) else { return end };
    if !["limit", "offset", "fetch"].iter().any(|word| is_word(&tokens[first].token, word)) {
        return end;
    }
    let mut depth = 0_usize;
    let mut last = end;
    for (at, token) in tokens.iter().enumerate().skip(first) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => break,
            Token::RParen => depth -= 1,
            Token::SemiColon | Token::EOF => break,
            token if depth == 0 && is_keyword(token, Keyword::FOR) => break,
            _ => {}
        }
        last = at + 1;
    }
    // White space goes along, so that words stay apart.
    tokens[clause.start..last].rotate_left(end - clause.start);
    last
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;

    use super::*;
    use crate::sql::{Parsed, parse};

    fn locks(sql: &str) -> (Vec<LockedTables>, String) {
        match parse(sql) {
            Ok(Parsed::Sql(statement)) => match *statement {
                Statement::Query(mut query) => {
                    let locks = std::mem::take(&mut query.locks);
                    (locks.iter().map(LockedTables::of).collect(), query.to_string())
                }
                other => panic!("{other}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn all_locks_are_read() {
        let lock = |clause, lock, tables: &[&str]| LockedTables {
            clause,
            lock,
            tables: tables.iter().map(|table| (*table).to_owned()).collect(),
        };
        let (update, key) = (("FOR UPDATE", RowLock::Update), ("FOR NO KEY UPDATE", RowLock::NoKeyUpdate));
        for (clauses, expected) in [
            ("FOR UPDATE", vec![lock(update.0, update.1, &[])]),
            ("for no key update of A, \"B\" nowait", vec![lock(key.0, key.1, &["a", "B"])]),
            ("FOR KEY SHARE", vec![lock("FOR KEY SHARE", RowLock::KeyShare, &[])]),
            (
                "FOR SHARE OF a FOR UPDATE OF b SKIP LOCKED",
                vec![lock("FOR SHARE", RowLock::Share, &["a"]), lock(update.0, update.1, &["b"])],
            ),
        ] {
            assert_eq!(locks(&format!("SELECT * FROM a, b {clauses}")).0, expected, "{clauses}");
        }
    }

    #[test]
    fn limits_may_stand_behind_locks() {
        for sql in [
            "SELECT * FROM t FOR UPDATE SKIP LOCKED LIMIT 1",
            "SELECT * FROM t FOR KEY SHARE LIMIT 1",
            "SELECT * FROM t LIMIT 1 FOR UPDATE",
        ] {
            let (locks, query) = locks(sql);
            assert_eq!((locks.len(), query.as_str()), (1, "SELECT * FROM t LIMIT 1"), "{sql}");
        }
        let Ok(Parsed::Sql(update)) = parse("UPDATE t SET a = 1 WHERE id IN (SELECT id FROM t FOR UPDATE LIMIT 1)")
        else {
            panic!("it is read")
        };
        assert!(update.to_string().ends_with("LIMIT 1 FOR UPDATE)"), "{update}");
    }
}
