//! Whose rows a query locks: the tables behind FROM that its clauses name, or all of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_storage::RowLock;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, NonBlock, Query, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Visit, Visitor,
};

use crate::catalog::{Entry, Table};
use crate::sql::row_locks::LockedTables;
use crate::sql::{build, names};
use crate::statement::Context;
use crate::{Error, ErrorKind};

/// A table whose rows are locked.
pub(super) struct Target {
    /// Under which name the query reads it by now.
    pub(super) name: String,
    /// What the query calls it.
    pub(super) alias: Ident,
    pub(super) table: Arc<Table>,
    pub(super) lock: RowLock,
    pub(super) waits: WhenHeld,
}

/// What becomes of rows that others hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WhenHeld {
    /// They are waited for.
    Waits,
    /// They are left out.
    Skips,
    /// The statement fails.
    Fails,
}

/// A clause, and whether it has found its tables.
struct Clause {
    tables: LockedTables,
    waits: WhenHeld,
    found: Vec<String>,
}

/// The tables whose rows `query` locks; it reads them under other names from now on, with the numbers of their rows.
pub(super) fn targets(context: &Context<'_>, query: &mut Query) -> Result<Vec<Target>, Error> {
    let clauses = query.locks.iter().map(|clause| Clause {
        tables: LockedTables::of(clause),
        waits: match clause.nonblock {
            None => WhenHeld::Waits,
            Some(NonBlock::SkipLocked) => WhenHeld::Skips,
            Some(NonBlock::Nowait) => WhenHeld::Fails,
        },
        found: Vec::new(),
    });
    let definitions = query.with.iter().chain(context.with).flat_map(|with| &with.cte_tables);
    let definitions = definitions.map(|cte| names::identifier(&cte.alias.name)).collect::<Result<_, _>>()?;
    let mut search = Search { context, clauses: clauses.collect(), definitions, found: Vec::new() };
    let not_allowed = |what: &str| Err(not_allowed(&search.clauses[0].tables, what));
    let select = match query.body.as_mut() {
        SetExpr::Select(select) => select,
        SetExpr::Values(_) => {
            return Err(Error::unsupported(format!("{} cannot be applied to VALUES", search.clauses[0].tables.clause)));
        }
        _ => return not_allowed("UNION/INTERSECT/EXCEPT"),
    };
    if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
        return not_allowed("DISTINCT clause");
    }
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(groups, modifiers) if groups.is_empty() && modifiers.is_empty());
    if is_grouped {
        return not_allowed("GROUP BY clause");
    }
    if select.having.is_some() {
        return not_allowed("HAVING clause");
    }
    if select.projection.visit(&mut Windows).is_break() {
        return not_allowed("window functions");
    }
    for from in &mut select.from {
        search.tables(from, false)?;
    }
    for Clause { tables, found, .. } in &search.clauses {
        if let Some(missing) = tables.tables.iter().find(|table| !found.contains(table)) {
            return Err(Error::not_found(format!(
                "relation \"{missing}\" in {} clause not found in FROM clause",
                tables.clause
            )));
        }
    }
    match select.visit(&mut WholeRows(&search.found)) {
        ControlFlow::Continue(()) => Ok(search.found),
        ControlFlow::Break(name) => Err(Error::unsupported(format!(
            "{name} as a whole row beside {} is not supported; name its columns",
            search.clauses[0].tables.clause
        ))),
    }
}

/// Finds window functions.
struct Windows;

impl Visitor for Windows {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Finds rows of these tables that are taken as a whole: they would have the numbers of rows in them.
struct WholeRows<'t>(&'t [Target]);

impl Visitor for WholeRows<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        let Expr::Identifier(name) = expr else { return ControlFlow::Continue(()) };
        let is_it = |target: &&Target| {
            names::identifier(&target.alias).is_ok_and(|alias| names::identifier(name).is_ok_and(|name| name == alias))
                && target.table.relation.schema().index_of(&name.value).is_none()
        };
        match self.0.iter().find(is_it) {
            Some(_) => ControlFlow::Break(name.value.clone()),
            None => ControlFlow::Continue(()),
        }
    }
}

fn not_allowed(tables: &LockedTables, what: &str) -> Error {
    Error::unsupported(format!("{} is not allowed with {what}", tables.clause))
}

struct Search<'c> {
    context: &'c Context<'c>,
    clauses: Vec<Clause>,
    /// The names that stand for queries of WITH.
    definitions: Vec<String>,
    found: Vec<Target>,
}

impl Search<'_> {
    /// Looks at a table and what is joined to it; `is_nullable` says that an outer join may put NULL in the place of its rows.
    fn tables(&mut self, from: &mut TableWithJoins, is_nullable: bool) -> Result<(), Error> {
        let outer = |operator: &JoinOperator| match operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
            JoinOperator::FullOuter(_) => (true, true),
            _ => (false, false),
        };
        let sides: Vec<(bool, bool)> = from.joins.iter().map(|join| outer(&join.join_operator)).collect();
        let behind = |at: usize| sides[at..].iter().any(|(left, _)| *left);
        self.table(&mut from.relation, is_nullable || behind(0))?;
        for (at, join) in from.joins.iter_mut().enumerate() {
            if is_natural(&join.join_operator) {
                return Err(Error::unsupported(
                    "rows of tables that are joined by NATURAL JOIN cannot be locked here; write ON or USING",
                ));
            }
            self.table(&mut join.relation, is_nullable || sides[at].1 || behind(at + 1))?;
        }
        Ok(())
    }

    fn table(&mut self, factor: &mut TableFactor, is_nullable: bool) -> Result<(), Error> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            return self.tables(table_with_joins, is_nullable);
        }
        let Some(alias) = build::name_of(factor) else { return Ok(()) };
        let known_as = names::own(&names::identifier(&alias)?).to_owned();
        let mut lock: Option<(RowLock, WhenHeld, &'static str, bool)> = None;
        for clause in &mut self.clauses {
            let is_named = clause.tables.tables.contains(&known_as);
            if !(is_named || clause.tables.tables.is_empty()) {
                continue;
            }
            clause.found.push(known_as.clone());
            let (strongest, waits, _, named) = lock.unwrap_or((clause.tables.lock, clause.waits, "", false));
            lock = Some((
                strongest.max(clause.tables.lock),
                waits.max(clause.waits),
                clause.tables.clause,
                named || is_named,
            ));
        }
        let Some((lock, waits, clause, is_named)) = lock else { return Ok(()) };
        let unsupported = |what: &str| Err(Error::unsupported(format!("{clause} cannot be applied to {what}")));
        let TableFactor::Table { name, alias: known, args: None, .. } = factor else {
            return match factor {
                TableFactor::Derived { .. } => Err(Error::unsupported(format!(
                    "{clause} does not lock the rows of a query in FROM here; name the tables to lock behind OF, or lock \
                     them in that query"
                ))),
                _ if is_named => unsupported("a function"),
                _ => Ok(()),
            };
        };
        let wanted = names::relation(name)?;
        if self.definitions.contains(&wanted) {
            return if is_named { unsupported("a WITH query") } else { Ok(()) };
        }
        match self.context.entry(&wanted) {
            Some(Entry::Table(table)) => {
                if is_nullable {
                    return unsupported("the nullable side of an outer join");
                }
                let hidden = format!("locked table {} (hidden)", self.found.len());
                *name = build::object(&hidden);
                let visible = Ident::with_quote('"', known_as);
                let alias = known.get_or_insert_with(|| TableAlias {
                    explicit: true,
                    name: visible,
                    columns: Vec::new(),
                    at: None,
                });
                if !alias.columns.is_empty() {
                    return Err(Error::unsupported(format!(
                        "{clause} of a table with names for its columns is not supported"
                    )));
                }
                self.found.push(Target { name: hidden, alias: alias.name.clone(), table, lock, waits });
                Ok(())
            }
            Some(Entry::View(view)) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("{clause} of the view \"{}\" is not supported; lock the tables that it reads", view.name),
            )),
            None if is_named => unsupported("what is no table"),
            None => Ok(()),
        }
    }
}

fn is_natural(operator: &JoinOperator) -> bool {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => *constraint == JoinConstraint::Natural,
        _ => false,
    }
}
