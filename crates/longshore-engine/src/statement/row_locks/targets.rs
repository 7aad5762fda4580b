//! Whose rows a query locks: the tables behind FROM that its clauses name, or all of them.
//!
//! Of a view or a query behind FROM these are the tables that it reads. It gives the numbers of their rows beside its columns;
//! the query of a view is put in its place. So is a query for a table whose number of rows would be taken for a column of it:
//! where columns are joined by their names, or the statement names them itself.

use std::ops::ControlFlow;
use std::sync::Arc;

use longshore_storage::RowLock;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, JoinConstraint, JoinOperator, NonBlock, Query, Select, SelectItem, SetExpr,
    TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Visitor,
};

use crate::Error;
use crate::catalog::{Entry, Table, View};
use crate::datafusion::ROW_COLUMN;
use crate::sql::row_locks::LockedTables;
use crate::sql::visit::Visit;
use crate::sql::{self, build, headings, names};
use crate::statement::Context;

/// A table whose rows are locked.
pub(super) struct Target {
    /// Under which name the query reads it by now.
    pub(super) name: String,
    /// The numbers of its rows, as an expression of the query.
    pub(super) number: Expr,
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
    let clauses: Vec<Clause> = clauses.collect();
    let Some(clause) = clauses.first().map(|clause| clause.tables.clause) else { return Ok(Vec::new()) };
    let mut search = Search { context, clauses, definitions, found: Vec::new(), aliases: Vec::new() };
    let select = match query.body.as_mut() {
        SetExpr::Select(select) => select,
        SetExpr::Values(_) => return Err(Error::unsupported(format!("{clause} cannot be applied to VALUES"))),
        _ => return Err(not_allowed(clause, "UNION/INTERSECT/EXCEPT")),
    };
    search.select(select, None, clause, 0)?;
    for Clause { tables, found, .. } in &search.clauses {
        if let Some(missing) = tables.tables.iter().find(|table| !found.contains(table)) {
            return Err(Error::not_found(format!(
                "relation \"{missing}\" in {} clause not found in FROM clause",
                tables.clause
            )));
        }
    }
    match select.visit(&mut WholeRows(&search.aliases)) {
        ControlFlow::Continue(()) => Ok(search.found),
        ControlFlow::Break(name) => {
            Err(Error::unsupported(format!("{name} as a whole row beside {clause} is not supported; name its columns")))
        }
    }
}

/// Refuses a query whose rows are not those of its tables.
fn check(select: &Select, clause: &str) -> Result<(), Error> {
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(groups, modifiers) if groups.is_empty() && modifiers.is_empty());
    let problem = if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
        "DISTINCT clause"
    } else if is_grouped {
        "GROUP BY clause"
    } else if select.having.is_some() {
        "HAVING clause"
    } else if select.projection.visit(&mut Windows).is_break() {
        "window functions"
    } else {
        return Ok(());
    };
    Err(not_allowed(clause, problem))
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
struct WholeRows<'t>(&'t [(Ident, Option<Arc<Table>>)]);

impl Visitor for WholeRows<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        let Expr::Identifier(name) = expr else { return ControlFlow::Continue(()) };
        let is_column = |table: &Arc<Table>| table.relation.schema().index_of(&name.value).is_some();
        let is_it = |(alias, table): &&(Ident, Option<Arc<Table>>)| {
            names::identifier(alias).is_ok_and(|alias| names::identifier(name).is_ok_and(|name| name == alias))
                && !table.as_ref().is_some_and(is_column)
        };
        match self.0.iter().find(is_it) {
            Some(_) => ControlFlow::Break(name.value.clone()),
            None => ControlFlow::Continue(()),
        }
    }
}

fn not_allowed(clause: &str, what: &str) -> Error {
    Error::unsupported(format!("{clause} is not allowed with {what}"))
}

struct Search<'c> {
    context: &'c Context<'c>,
    clauses: Vec<Clause>,
    /// The names that stand for queries of WITH.
    definitions: Vec<String>,
    found: Vec<Target>,
    /// What the query calls those of its tables and queries behind FROM whose rows have numbers, and the tables.
    aliases: Vec<(Ident, Option<Arc<Table>>)>,
}

/// How the rows of a table are to be locked.
#[derive(Clone, Copy)]
struct Asked {
    lock: RowLock,
    waits: WhenHeld,
    clause: &'static str,
    /// Whether a clause names it.
    is_named: bool,
}

/// Where a table stands.
#[derive(Clone, Copy)]
struct Place {
    /// In how many queries behind FROM.
    depth: usize,
    /// Whether an outer join may put NULL in the place of its rows.
    is_nullable: bool,
    /// Whether columns of the same names are joined.
    is_natural: bool,
    /// What is asked of all tables here.
    asked: Option<Asked>,
}

impl Search<'_> {
    /// Looks at the tables of a query; `asked` of all of them, unless its own clauses say.
    fn select(&mut self, select: &mut Select, asked: Option<Asked>, clause: &str, depth: usize) -> Result<(), Error> {
        check(select, clause)?;
        for from in &mut select.from {
            self.tables(from, Place { depth, is_nullable: false, is_natural: false, asked })?;
        }
        Ok(())
    }

    /// Looks at a table and what is joined to it.
    fn tables(&mut self, from: &mut TableWithJoins, place: Place) -> Result<(), Error> {
        let outer = |operator: &JoinOperator| match operator {
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
            JoinOperator::FullOuter(_) => (true, true),
            _ => (false, false),
        };
        let sides: Vec<(bool, bool)> = from.joins.iter().map(|join| outer(&join.join_operator)).collect();
        let behind = |at: usize| sides[at..].iter().any(|(left, _)| *left);
        let is_natural = place.is_natural || from.joins.iter().any(|join| is_natural(&join.join_operator));
        let at = |is_nullable: bool| Place { is_nullable: place.is_nullable || is_nullable, is_natural, ..place };
        self.table(&mut from.relation, at(behind(0)))?;
        for (number, join) in from.joins.iter_mut().enumerate() {
            self.table(&mut join.relation, at(sides[number].1 || behind(number + 1)))?;
        }
        Ok(())
    }

    /// How the rows of what is called so are locked by the clauses of the query, if they are.
    fn asked(&mut self, known_as: &str) -> Option<Asked> {
        let mut asked: Option<Asked> = None;
        for clause in &mut self.clauses {
            let is_named = clause.tables.tables.iter().any(|table| table == known_as);
            if is_named {
                clause.found.push(known_as.to_owned());
            } else if !clause.tables.tables.is_empty() {
                continue;
            }
            let LockedTables { lock, clause: name, .. } = clause.tables;
            let before = asked.unwrap_or(Asked { lock, waits: clause.waits, clause: name, is_named: false });
            asked = Some(Asked {
                lock: before.lock.max(lock),
                waits: before.waits.max(clause.waits),
                clause: name,
                is_named: before.is_named || is_named,
            });
        }
        asked
    }

    fn table(&mut self, factor: &mut TableFactor, place: Place) -> Result<(), Error> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = factor {
            return self.tables(table_with_joins, place);
        }
        if let TableFactor::Derived { alias: alias @ None, .. } = factor {
            let name = build::quoted(&format!("query {} (hidden)", self.aliases.len()));
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        let Some(alias) = build::name_of(factor) else { return Ok(()) };
        let known_as = names::own(&names::identifier(&alias)?).to_owned();
        let Some(asked) = place.asked.or_else(|| self.asked(&known_as)) else { return Ok(()) };
        let unsupported = |what: &str| Err(Error::unsupported(format!("{} cannot be applied to {what}", asked.clause)));
        if place.is_nullable && matches!(factor, TableFactor::Derived { .. }) {
            return unsupported("the nullable side of an outer join");
        }
        let TableFactor::Table { name, alias: given, args: None, .. } = factor else {
            return match factor {
                TableFactor::Derived { subquery, alias: Some(alias), .. } => {
                    self.query(subquery, alias, asked, place.depth + 1)
                }
                _ if asked.is_named => unsupported("a function"),
                _ => Ok(()),
            };
        };
        let wanted = names::relation(name)?;
        if self.definitions.contains(&wanted) {
            return if asked.is_named { unsupported("a WITH query") } else { Ok(()) };
        }
        let found = self.context.entry(&wanted);
        if place.is_nullable && found.is_some() {
            return unsupported("the nullable side of an outer join");
        }
        let called = given.take().unwrap_or_else(|| TableAlias {
            explicit: true,
            name: Ident::with_quote('"', known_as),
            columns: Vec::new(),
            at: None,
        });
        match found {
            Some(Entry::Table(table)) => {
                let hidden = format!("locked table {} (hidden)", self.found.len());
                *name = build::object(&hidden);
                self.aliases.push((called.name.clone(), Some(Arc::clone(&table))));
                let number = if place.depth > 0 || place.is_natural || !called.columns.is_empty() {
                    let row = format!("{ROW_COLUMN} {} at {}", self.found.len(), place.depth + 1);
                    let number = build::column(&called.name, &row);
                    with_number(factor, &hidden, &table, &row, called);
                    number
                } else {
                    let number = build::column(&called.name, ROW_COLUMN);
                    *given = Some(called);
                    number
                };
                self.found.push(Target { name: hidden, number, table, lock: asked.lock, waits: asked.waits });
                Ok(())
            }
            Some(Entry::View(view)) => self.view(factor, &view, called, asked, place.depth + 1),
            None if asked.is_named => unsupported("what is no table"),
            None => {
                *given = Some(called);
                Ok(())
            }
        }
    }

    /// Puts the query of a view in its place, and locks the rows of what it reads.
    fn view(
        &mut self,
        factor: &mut TableFactor,
        view: &View,
        mut called: TableAlias,
        asked: Asked,
        depth: usize,
    ) -> Result<(), Error> {
        let is_hidden = |read: &String| self.definitions.iter().any(|name| name == names::own(read));
        if view.reads.iter().any(is_hidden) {
            return Err(Error::unsupported(format!(
                "{} of the view \"{}\" is not supported behind a WITH query with the name of what the view reads",
                asked.clause, view.name
            )));
        }
        let mut query = sql::parse_query(&view.sql)?;
        if matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) {
            // As in PostgreSQL no row is locked.
            let TableFactor::Table { alias, .. } = factor else { return Ok(()) };
            *alias = Some(called);
            return Ok(());
        }
        headings::name(&mut query);
        let more = view.columns.iter().skip(called.columns.len());
        called.columns.extend(more.map(|name| TableAliasColumnDef { name: build::quoted(name), data_type: None }));
        let definitions = std::mem::take(&mut self.definitions);
        let found = self.query(&mut query, &called, asked, depth);
        self.definitions = definitions;
        found?;
        *factor = TableFactor::Derived { lateral: false, subquery: query, alias: Some(called), sample: None };
        Ok(())
    }

    /// Locks the rows of what a query behind FROM reads, which gives their numbers beside its columns.
    fn query(&mut self, query: &mut Query, called: &TableAlias, asked: Asked, depth: usize) -> Result<(), Error> {
        let (known, first) = (self.definitions.len(), self.found.len());
        let own = query.with.iter().flat_map(|with| &with.cte_tables);
        self.definitions.extend(own.map(|cte| names::identifier(&cte.alias.name)).collect::<Result<Vec<_>, _>>()?);
        let select = match query.body.as_mut() {
            SetExpr::Select(select) => select,
            SetExpr::Query(inner) => return self.query(inner, called, asked, depth),
            // Its rows are of no table.
            SetExpr::Values(_) => return Ok(()),
            _ => return Err(not_allowed(asked.clause, "UNION/INTERSECT/EXCEPT")),
        };
        self.select(select, Some(asked), asked.clause, depth)?;
        self.definitions.truncate(known);
        if !called.columns.is_empty() && self.found.len() > first && !ends_with_its_columns(select) {
            return Err(Error::unsupported(format!(
                "{} of a query with * and names for its columns is not supported; name the columns in the query",
                asked.clause
            )));
        }
        for (at, target) in self.found.iter_mut().enumerate().skip(first) {
            let row = format!("{ROW_COLUMN} {at} at {depth}");
            let inner = std::mem::replace(&mut target.number, build::column(&called.name, &row));
            select.projection.push(build::named(inner, &row));
        }
        self.aliases.push((called.name.clone(), None));
        Ok(())
    }
}

/// Whether the numbers of rows come behind the columns that a query gives: `*` has them, too.
fn ends_with_its_columns(select: &Select) -> bool {
    let is_star = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let is_alone = matches!(select.from.as_slice(), [from] if from.joins.is_empty());
    let before_last = select.projection.iter().rev().skip(1);
    !select.projection.iter().any(is_star) || is_alone && !before_last.into_iter().any(is_star)
}

/// Puts a query in the place of a table, which gives the numbers of its rows beside its columns as `row`.
fn with_number(factor: &mut TableFactor, hidden: &str, table: &Table, row: &str, called: TableAlias) {
    let own = build::quoted(hidden);
    let columns = table.relation.schema().columns().iter();
    let mut columns: Vec<SelectItem> =
        columns.map(|column| build::named(build::column(&own, &column.name), &column.name)).collect();
    columns.push(build::named(build::column(&own, ROW_COLUMN), row));
    let alone = std::mem::replace(factor, build::table(hidden, None));
    let query = build::query_of(build::select(columns, vec![build::alone(alone)]));
    *factor = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias: Some(called), sample: None };
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
