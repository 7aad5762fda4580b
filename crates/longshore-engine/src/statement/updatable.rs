//! Views that rows are changed through: those over one table, or one such view, that give its rows as they are.
//!
//! INSERT, UPDATE and DELETE change the table. What they say of columns is read over the view, so that the table of the
//! statement becomes a query in FROM: the lists of the views one above the other, with the numbers of the rows beside their
//! columns. A view with CHECK OPTION looks afterwards whether the rows are such that it has them.

use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, Insert, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, Statement, TableFactor, TableObject, Visitor,
};

use crate::catalog::{Entry, Table, View};
use crate::datafusion::{NamedInputs, TARGET};
use crate::sql::check_option::CheckOption;
use crate::sql::rows::is_aggregate;
use crate::sql::visit::Visit;
use crate::sql::{self, build, names};
use crate::statement::Context;
use crate::{Error, ErrorKind};

/// Views one above the other, at most.
const LEVELS_MAX: usize = 100;

/// What a statement does to a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Insert,
    Update,
    Delete,
}

/// The way from a view to its table.
pub(crate) struct ViewPath {
    /// The views, the one that the statement names first.
    levels: Vec<Level>,
}

/// A view over one table or view.
struct Level {
    name: String,
    /// What it calls what it reads.
    alias: Ident,
    columns: Vec<ViewColumn>,
    selection: Option<Expr>,
    check: Option<CheckOption>,
}

struct ViewColumn {
    name: String,
    value: Expr,
    /// The column below that it is.
    of: Option<String>,
}

impl ViewPath {
    /// The table that `verb` changes through `view`, and the way to it.
    pub(crate) fn new(context: &Context<'_>, view: &Arc<View>, verb: Verb) -> Result<(Arc<Table>, Self), Error> {
        let mut views = Vec::new();
        let mut next = Arc::clone(view);
        let table = loop {
            let (select, read, check) = simple(&next, verb)?;
            views.push((Arc::clone(&next), select, check));
            if views.len() == LEVELS_MAX {
                return Err(Error::new(ErrorKind::TooComplex, format!("{} is a view of too many views", view.name)));
            }
            next = match context.entry(&read) {
                Some(Entry::Table(table)) => break table,
                Some(Entry::View(below)) => below,
                None => return Err(Error::not_found(format!("relation \"{read}\" does not exist"))),
            };
        };
        let mut below: Vec<String> =
            table.relation.schema().columns().iter().map(|column| column.name.clone()).collect();
        let mut levels = Vec::with_capacity(views.len());
        for (view, select, check) in views.into_iter().rev() {
            let level = Level::new(&view, select, check, &below)?;
            below = level.columns.iter().map(|column| column.name.clone()).collect();
            levels.push(level);
        }
        levels.reverse();
        Ok((table, Self { levels }))
    }

    /// The names of the columns of the view.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &str> {
        self.levels.iter().take(1).flat_map(|level| level.columns.iter().map(|column| column.name.as_str()))
    }

    /// The column of the table that a column of the view is.
    pub(crate) fn column(&self, name: &str, verb: Verb) -> Result<String, Error> {
        let mut wanted = name.to_owned();
        for level in &self.levels {
            let found = level.columns.iter().find(|column| column.name == wanted).ok_or_else(|| {
                Error::no_column(format!("column \"{wanted}\" of relation \"{}\" does not exist", level.name))
            })?;
            wanted = found.of.clone().ok_or_else(|| {
                let verb = if verb == Verb::Insert { "insert into" } else { "update" };
                Error::unsupported(format!(
                    "cannot {verb} column \"{wanted}\" of view \"{}\": it is not a column of what the view reads",
                    level.name
                ))
            })?;
        }
        Ok(wanted)
    }

    /// The rows of the table [`TARGET`] as the view shows them, under the name `alias`, with columns of the table beside them:
    /// each under another name. Only rows that the views have, if `filters`.
    pub(crate) fn source(&self, alias: &Ident, beside: &[(String, String)], filters: bool) -> TableFactor {
        self.source_of(0, alias, beside, filters)
    }

    fn source_of(&self, level: usize, alias: &Ident, beside: &[(String, String)], filters: bool) -> TableFactor {
        let Some(Level { alias: own, columns, selection, .. }) = self.levels.get(level) else {
            return build::table(TARGET, Some(alias));
        };
        let is_last = level + 1 == self.levels.len();
        let below = self.source_of(level + 1, own, beside, filters);
        let values = columns.iter().map(|column| build::named(column.value.clone(), &column.name));
        let beside =
            beside.iter().map(|(of, name)| build::named(build::column(own, if is_last { of } else { name }), name));
        let mut select = build::select(values.chain(beside).collect(), vec![build::alone(below)]);
        select.selection = selection.clone().filter(|_| filters);
        build::derived(build::query_of(select), alias)
    }

    /// Whether rows must fulfil something afterwards.
    pub(crate) fn checks(&self) -> bool {
        self.levels.iter().any(|level| level.check.is_some())
    }

    /// Refuses rows of the table that views with CHECK OPTION would not have.
    pub(crate) async fn check(&self, context: &Context<'_>, rows: RecordBatch) -> Result<(), Error> {
        let mut is_cascaded = false;
        let mut checked = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            if is_cascaded || level.check.is_some() {
                checked.push(number);
            }
            is_cascaded |= level.check == Some(CheckOption::Cascaded);
        }
        for number in checked.into_iter().rev() {
            let level = &self.levels[number];
            let Some(selection) = &level.selection else { continue };
            let from = self.source_of(number + 1, &level.alias, &[], false);
            let mut select = build::select(vec![SelectItem::UnnamedExpr(build::number(1))], vec![build::alone(from)]);
            select.selection = Some(Expr::IsNotTrue(Box::new(Expr::Nested(Box::new(selection.clone())))));
            let statement = Statement::Query(Box::new(build::query_of(select)));
            let inputs = NamedInputs { rows: vec![(TARGET.to_owned(), rows.clone())], ..NamedInputs::default() };
            let found = context.database.queries.query_with(statement, inputs, &context.execution()).await?;
            let found: Vec<RecordBatch> = found.try_collect().await?;
            if found.iter().any(|batch| batch.num_rows() > 0) {
                return Err(Error::new(
                    ErrorKind::ViewCheck,
                    format!("new row violates check option for view \"{}\"", level.name),
                ));
            }
        }
        Ok(())
    }

    /// Makes an INSERT into the view one into the table.
    pub(crate) fn insert_into(&self, insert: &mut Insert, table: &Table) -> Result<(), Error> {
        let given = match insert.source.as_deref().map(|source| source.body.as_ref()) {
            Some(SetExpr::Values(values)) => values.rows.iter().map(|row| row.content.len()).max(),
            Some(SetExpr::Select(select)) if !select.projection.iter().any(is_star) => Some(select.projection.len()),
            _ => None,
        };
        let all = self.columns().count();
        if insert.columns.is_empty() && given.is_some_and(|given| given > all) {
            return Err(Error::syntax("INSERT has more expressions than target columns"));
        }
        let named: Vec<String> = if insert.columns.is_empty() {
            self.columns().take(given.unwrap_or(all)).map(str::to_owned).collect()
        } else {
            let name = |name: &ObjectName| build::last_name(name).and_then(|ident| names::identifier(&ident));
            insert.columns.iter().map(name).collect::<Result<Vec<_>, _>>()?
        };
        if insert.source.is_some() {
            let columns = named.iter().map(|name| self.column(name, Verb::Insert)).collect::<Result<Vec<_>, _>>()?;
            let columns = columns.iter().map(|name| ObjectName(vec![ObjectNamePart::Identifier(build::quoted(name))]));
            insert.columns = columns.collect();
        }
        insert.table = TableObject::TableName(build::object(&table.name));
        Ok(())
    }
}

impl Level {
    fn new(view: &View, select: Select, check: Option<CheckOption>, below: &[String]) -> Result<Self, Error> {
        let Some(factor) = select.from.first().map(|from| &from.relation) else {
            return Err(Error::internal("a view over one relation expected"));
        };
        let alias = build::name_of(factor).ok_or_else(|| Error::internal("a relation with a name expected"))?;
        let mut columns: Vec<ViewColumn> = Vec::new();
        let all = |columns: &mut Vec<ViewColumn>| {
            columns.extend(below.iter().map(|name| ViewColumn {
                name: name.clone(),
                value: build::column(&alias, name),
                of: Some(name.clone()),
            }));
        };
        for item in select.projection {
            match item {
                SelectItem::Wildcard(_)
                | SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(_), _) => all(&mut columns),
                SelectItem::UnnamedExpr(value) => {
                    let name = sql::headings::of(&value);
                    let of = column_of(&value, below);
                    columns.push(ViewColumn { name, value, of });
                }
                SelectItem::ExprWithAlias { expr: value, alias } => {
                    let of = column_of(&value, below);
                    columns.push(ViewColumn { name: names::identifier(&alias)?, value, of });
                }
                _ => return Err(Error::unsupported(format!("changes through the view {}", view.name))),
            }
        }
        for (column, name) in columns.iter_mut().zip(&view.columns) {
            column.name.clone_from(name);
        }
        Ok(Self { name: view.name.clone(), alias, columns, selection: select.selection, check })
    }
}

/// The column that an expression is, as it stands.
fn column_of(value: &Expr, below: &[String]) -> Option<String> {
    let name = match value {
        Expr::Identifier(name) => names::identifier(name).ok()?,
        Expr::CompoundIdentifier(parts) => names::identifier(parts.last()?).ok()?,
        Expr::Nested(inner) => return column_of(inner, below),
        _ => return None,
    };
    below.contains(&name).then_some(name)
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// The SELECT of a view that rows can be changed through, the relation that it reads, and its CHECK OPTION.
fn simple(view: &View, verb: Verb) -> Result<(Select, String, Option<CheckOption>), Error> {
    let refused = |reason: &str| {
        let verb = match verb {
            Verb::Insert => "insert into",
            Verb::Update => "update",
            Verb::Delete => "delete from",
        };
        Error::new(
            ErrorKind::State,
            format!("cannot {verb} view \"{}\": views {reason} are not automatically updatable", view.name),
        )
    };
    let (text, check) = CheckOption::of_text(&view.sql);
    let Query { with, body, limit_clause, fetch, .. } = *sql::parse_query(text)?;
    if with.is_some() {
        return Err(refused("containing WITH"));
    }
    if limit_clause.is_some() || fetch.is_some() {
        return Err(refused("containing LIMIT or OFFSET"));
    }
    let select = match *body {
        SetExpr::Select(select) => *select,
        SetExpr::SetOperation { .. } => return Err(refused("containing UNION, INTERSECT, or EXCEPT")),
        _ => return Err(refused("that do not select from a single table or view")),
    };
    if matches!(select.distinct, Some(Distinct::Distinct | Distinct::On(_))) {
        return Err(refused("containing DISTINCT"));
    }
    if !matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty()) {
        return Err(refused("containing GROUP BY"));
    }
    if select.having.is_some() {
        return Err(refused("containing HAVING"));
    }
    let read = match select.from.as_slice() {
        [from] if from.joins.is_empty() => match &from.relation {
            TableFactor::Table { name, args: None, alias, sample: None, .. }
                if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) =>
            {
                names::relation(name).ok()
            }
            _ => None,
        },
        _ => None,
    };
    let Some(read) = read else { return Err(refused("that do not select from a single table or view")) };
    if select.projection.iter().any(|item| item.visit(&mut Aggregates).is_break()) {
        return Err(refused("that return aggregate functions or window functions"));
    }
    if select.qualify.is_some() {
        return Err(refused("that return window functions"));
    }
    Ok((select, read, check))
}

/// Finds calls that look at several rows.
struct Aggregates;

impl Visitor for Aggregates {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> std::ops::ControlFlow<()> {
        const OF_ROWS: [&str; 2] = ["generate_series", "unnest"];
        match expr {
            Expr::Function(call)
                if call.over.is_some()
                    || is_aggregate(call)
                    || OF_ROWS.contains(&call.name.to_string().to_lowercase().as_str()) =>
            {
                std::ops::ControlFlow::Break(())
            }
            _ => std::ops::ControlFlow::Continue(()),
        }
    }
}
