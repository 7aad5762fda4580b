//! The table that UPDATE, DELETE or MERGE changes, and the query that finds its rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use longshore_storage::{Column, RowId};
use sqlparser::ast::{Expr, Ident, ObjectName, ObjectNamePart, Select, SelectItem, TableFactor, TableWithJoins};

use crate::catalog::{Entry, Origin, Table};
use crate::datafusion::{Changing, END_COLUMN, FoundRows, ROW_COLUMN, TARGET, fetch_rows, rows_with_numbers};
use crate::sql::assigned::assigned;
use crate::sql::build::{self, last_name, name_of};
use crate::sql::names;
use crate::statement::Context;
use crate::statement::updatable::{Verb, ViewPath};
use crate::{Error, ErrorKind};

/// The table that a statement changes.
pub(crate) struct Target {
    pub(crate) table: Arc<Table>,
    /// What the statement calls it.
    pub(crate) alias: Ident,
    /// The view that the statement names, if it is not the table itself.
    pub(crate) view: Option<ViewPath>,
    verb: Verb,
}

impl Target {
    /// The table or view `name`, which the statement calls `alias`.
    pub(crate) fn named(context: &Context<'_>, name: &str, alias: Ident, verb: Verb) -> Result<Self, Error> {
        match context.entry(name) {
            Some(Entry::Table(table)) => Ok(Self { table, alias, view: None, verb }),
            Some(Entry::View(view)) => {
                let (table, path) = ViewPath::new(context, &view, verb)?;
                Ok(Self { table, alias, view: Some(path), verb })
            }
            None => Err(Error::not_found(format!("table {name} does not exist"))),
        }
    }

    pub(crate) fn new(context: &Context<'_>, from: &TableWithJoins, verb: Verb) -> Result<Self, Error> {
        let TableWithJoins { relation: TableFactor::Table { name, alias, .. }, joins } = from else {
            return Err(Error::unsupported("UPDATE, DELETE and MERGE change a table, not a query; name the table"));
        };
        if !joins.is_empty() {
            return Err(Error::unsupported(
                "the table to change cannot be joined; name the other tables behind FROM (UPDATE) or USING (DELETE, \
                 MERGE)",
            ));
        }
        let known_as = match alias {
            Some(alias) if alias.columns.is_empty() => alias.name.clone(),
            Some(_) => return Err(Error::unsupported("the table to change takes an alias, but none for its columns")),
            None => last_name(name)?,
        };
        let name = names::relation(name)?;
        Self::named(context, &name, known_as, verb)
    }

    /// The column that is set, by its name, which may stand behind that of the table.
    pub(crate) fn column(&self, name: &ObjectName) -> Result<usize, Error> {
        let Some(ObjectNamePart::Identifier(last)) = name.0.last() else {
            return Err(Error::syntax(format!("{name}: the name of a column is expected")));
        };
        let mut column = names::identifier(last)?;
        if let Some(view) = &self.view {
            column = view.column(&column, self.verb)?;
        }
        self.table_column(&column)
    }

    /// The column of the table itself.
    pub(crate) fn table_column(&self, column: &str) -> Result<usize, Error> {
        self.table.relation.schema().index_of(column).ok_or_else(|| {
            Error::no_column(format!("column \"{column}\" of relation \"{}\" does not exist", self.table.name))
        })
    }

    /// The columns of the table that an INSERT names, which names those of the table also where it is one into a view.
    pub(crate) fn named_columns(&self, names: &[ObjectName]) -> Result<Vec<usize>, Error> {
        let column = |name: &ObjectName| names::identifier(&last_name(name)?).and_then(|name| self.table_column(&name));
        names.iter().map(column).collect()
    }

    /// Refuses rows that the view would not have, if it says that it checks them.
    pub(crate) async fn check_view(&self, context: &Context<'_>, rows: &[RowId]) -> Result<(), Error> {
        match self.view.as_ref().filter(|view| view.checks()) {
            Some(view) => view.check(context, self.fetch_rows(context, rows)?).await,
            None => Ok(()),
        }
    }

    /// Finds the rows that `search` is about, with the values that their columns get. A row that is joined to several
    /// rows of other tables takes the values of one of them.
    pub(crate) async fn find(&self, context: &Context<'_>, search: Search<'_>) -> Result<FoundRows, Error> {
        let Search { columns, values, also, from, selection, named, with_others } = search;
        let also_read = also;
        let mut select = rows_of_target(&self.alias);
        self.refuse_identity(columns, &values)?;
        select.projection.extend(self.new_values(columns, values));
        let also = also.iter().map(|column| self.table.relation.schema().columns()[*column].name.clone());
        let also: Vec<(String, String)> = also.map(|name| (name.clone(), format!("{name} (old)"))).collect();
        for (name, old) in &also {
            let read = if self.view.is_some() { old } else { name };
            select.projection.push(build::named(build::column(&self.alias, read), old));
        }
        if let Some(view) = &self.view {
            let row = (ROW_COLUMN.to_owned(), ROW_COLUMN.to_owned());
            let beside: Vec<(String, String)> = also.into_iter().chain([row]).collect();
            select.from = vec![build::alone(view.source(&self.alias, &beside, true))];
        }
        if with_others {
            for (number, name) in names_of(&from).into_iter().enumerate() {
                select.projection.push(build::all_of(&name));
                select.projection.push(build::named(build::number(1), &format!("{END_COLUMN}{number}")));
            }
        }
        select.from.extend(from);
        select.selection = selection;
        let statement = context.reading(select)?;
        let changing = Changing { table: &self.table, columns, also: also_read, named };
        context.database.queries.find_rows(statement, changing, &context.execution()).await
    }

    /// These rows with their numbers, for a query that reads no others. All that they hold counts as read.
    pub(crate) fn rows(&self, context: &Context<'_>, rows: &[RowId]) -> Result<RecordBatch, Error> {
        let numbered: Vec<(usize, RowId)> = rows.iter().copied().enumerate().collect();
        rows_with_numbers(&self.fetch_rows(context, rows)?, &numbered)
    }

    /// The same with their places in `rows`, in which a row may stand several times.
    pub(crate) fn rows_in_order(&self, context: &Context<'_>, rows: &[RowId]) -> Result<RecordBatch, Error> {
        let numbered: Vec<(usize, RowId)> = (0..rows.len()).map(|place| (place, RowId(place as u64))).collect();
        rows_with_numbers(&self.fetch_rows(context, rows)?, &numbered)
    }

    /// These rows as they are now. All that they hold counts as read.
    pub(crate) fn fetch_rows(&self, context: &Context<'_>, rows: &[RowId]) -> Result<RecordBatch, Error> {
        let relation = &self.table.relation;
        let columns: Vec<usize> = (0..relation.schema().columns().len()).collect();
        context.transaction.with(|transaction| {
            transaction.log_columns(relation, &columns);
            Ok(())
        })?;
        fetch_rows(&context.transaction.snapshot(relation), rows)
    }

    /// Refuses to set what only the table itself sets.
    fn refuse_identity(&self, columns: &[usize], values: &[Expr]) -> Result<(), Error> {
        let (schema, rules) = (self.table.relation.schema(), self.table.rules());
        let is_refused = |(column, value): &(&usize, &Expr)| rules.origin(**column).is_always() && !is_default(value);
        match columns.iter().zip(values).find(is_refused) {
            None => Ok(()),
            Some((column, _)) => Err(Error::new(
                ErrorKind::Generated,
                format!(
                    "column \"{}\" can only be updated to DEFAULT: it is {}",
                    schema.columns()[*column].name,
                    if rules.is_generated(*column) { "a generated column" } else { "GENERATED ALWAYS AS IDENTITY" }
                ),
            )),
        }
    }

    /// The values that columns get, in the types of the columns.
    pub(crate) fn new_values(&self, columns: &[usize], values: Vec<Expr>) -> Vec<SelectItem> {
        let (schema, rules) = (self.table.relation.schema(), self.table.rules());
        let item = |(column, value): (&usize, Expr)| {
            let described = &schema.columns()[*column];
            build::named(new_value(value, described, rules.origin(*column)), &format!("{} (new)", described.name))
        };
        columns.iter().zip(values).map(item).collect()
    }
}

/// Which rows of a table are looked for, and what they get.
#[derive(Default)]
pub(crate) struct Search<'a> {
    /// The columns that are set.
    pub(crate) columns: &'a [usize],
    /// What they are set to.
    pub(crate) values: Vec<Expr>,
    /// Columns that are not set, and whose values are wanted all the same.
    pub(crate) also: &'a [usize],
    /// Other tables.
    pub(crate) from: Vec<TableWithJoins>,
    pub(crate) selection: Option<Expr>,
    /// Rows that the statement knows by names.
    pub(crate) named: Vec<(String, RecordBatch)>,
    /// Whether the rows of the other tables are wanted, too.
    pub(crate) with_others: bool,
}

/// The names by which the tables behind FROM are known, those without one left out.
pub(crate) fn names_of(from: &[TableWithJoins]) -> Vec<Ident> {
    let mut names = Vec::new();
    for TableWithJoins { relation, joins } in from {
        for factor in std::iter::once(relation).chain(joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    names.extend(names_of(std::slice::from_ref(table_with_joins)));
                }
                factor => names.extend(name_of(factor)),
            }
        }
    }
    names
}

/// The value that `column` is set to, in its type; DEFAULT is what its origin says.
fn new_value(value: Expr, column: &Column, origin: &Origin) -> Expr {
    if is_default(&value) {
        return origin.value(column.column_type);
    }
    build::cast(assigned(value, column), column.column_type)
}

/// The numbers of all rows of the table [`TARGET`], which the query calls `alias`.
pub(crate) fn rows_of_target(alias: &Ident) -> Select {
    let numbers = SelectItem::UnnamedExpr(build::column(alias, ROW_COLUMN));
    build::select(vec![numbers], vec![build::alone(build::table(TARGET, Some(alias)))])
}

/// Whether the keyword DEFAULT stands for a value.
pub(crate) fn is_default(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}
