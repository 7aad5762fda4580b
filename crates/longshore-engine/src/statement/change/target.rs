//! The table that UPDATE, DELETE or MERGE changes, and the query that finds its rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use longshore_storage::{Column, RowId};
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
};

use crate::catalog::{Entry, Origin, Table};
use crate::datafusion::{Changing, END_COLUMN, FoundRows, ROW_COLUMN, TARGET, images, rows_with_numbers};
use crate::sql::{self, Parsed, names};
use crate::statement::{Context, refuse};
use crate::{Error, ErrorKind};

/// The table that a statement changes.
pub(crate) struct Target {
    pub(crate) table: Arc<Table>,
    /// What the statement calls it.
    pub(crate) alias: Ident,
}

impl Target {
    pub(crate) fn new(context: &Context<'_>, from: &TableWithJoins) -> Result<Self, Error> {
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
        match context.entry(&name) {
            Some(Entry::Table(table)) => Ok(Self { table, alias: known_as }),
            Some(Entry::View(_)) => {
                Err(Error::unsupported(format!("{name} is a view; rows are changed in tables only")))
            }
            None => Err(Error::not_found(format!("table {name} does not exist"))),
        }
    }

    /// The column that is set, by its name, which may stand behind that of the table.
    pub(crate) fn column(&self, name: &ObjectName) -> Result<usize, Error> {
        let Some(ObjectNamePart::Identifier(last)) = name.0.last() else {
            return Err(Error::syntax(format!("{name}: the name of a column is expected")));
        };
        let column = names::identifier(last)?;
        self.table
            .relation
            .schema()
            .index_of(&column)
            .ok_or_else(|| Error::no_column(format!("column {column} of table {} does not exist", self.table.name)))
    }

    /// Finds the rows that `search` is about, with the values that their columns get. A row that is joined to several
    /// rows of other tables takes the values of one of them.
    pub(crate) async fn find(&self, context: &Context<'_>, search: Search<'_>) -> Result<FoundRows, Error> {
        let Search { columns, values, also, from, selection, named, with_others } = search;
        let mut statement = parsed(&format!(
            "SELECT {0}.{1} FROM {2} AS {0}",
            self.alias,
            names::quoted(ROW_COLUMN),
            names::quoted(TARGET)
        ))?;
        let select = select_of(&mut statement)?;
        self.refuse_identity(columns, &values)?;
        select.projection.extend(self.new_values(columns, values)?);
        for column in also {
            let name = &self.table.relation.schema().columns()[*column].name;
            select.projection.push(SelectItem::ExprWithAlias {
                expr: Expr::CompoundIdentifier(vec![self.alias.clone(), Ident::with_quote('"', name)]),
                alias: Ident::with_quote('"', format!("{name} (old)")),
            });
        }
        if with_others {
            for (number, name) in names_of(&from).into_iter().enumerate() {
                let end = names::quoted(&format!("{END_COLUMN}{number}"));
                let all = parsed(&format!("SELECT {name}.*, 1 AS {end}"));
                select.projection.append(&mut select_of(&mut all?)?.projection);
            }
        }
        select.from.extend(from);
        select.selection = selection;
        if let Statement::Query(query) = &mut statement {
            refuse::unless_reads_only(query)?;
            query.with = context.with.cloned();
        }
        let changing = Changing { table: &self.table, columns, also, named };
        context.database.queries.find_rows(statement, changing, context.parameters, context.work, context.control).await
    }

    /// These rows with their numbers, for a query that reads no others. All that they hold counts as read.
    pub(crate) fn rows(&self, context: &Context<'_>, rows: &[RowId]) -> Result<RecordBatch, Error> {
        let numbered: Vec<(usize, RowId)> = rows.iter().copied().enumerate().collect();
        rows_with_numbers(&self.images(context, rows)?, &numbered)
    }

    /// The same with their places in `rows`, in which a row may stand several times.
    pub(crate) fn rows_in_order(&self, context: &Context<'_>, rows: &[RowId]) -> Result<RecordBatch, Error> {
        let numbered: Vec<(usize, RowId)> = (0..rows.len()).map(|place| (place, RowId(place as u64))).collect();
        rows_with_numbers(&self.images(context, rows)?, &numbered)
    }

    /// These rows as they are now. All that they hold counts as read.
    pub(crate) fn images(&self, context: &Context<'_>, rows: &[RowId]) -> Result<RecordBatch, Error> {
        let relation = &self.table.relation;
        let columns: Vec<usize> = (0..relation.schema().columns().len()).collect();
        context.work.with(|transaction| {
            transaction.log_columns(relation, &columns);
            Ok(())
        })?;
        images(&context.work.snapshot(relation), rows)
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
                    "column \"{}\" can only be updated to DEFAULT: it is GENERATED ALWAYS AS IDENTITY",
                    schema.columns()[*column].name
                ),
            )),
        }
    }

    /// The values that columns get, in the types of the columns.
    pub(crate) fn new_values(&self, columns: &[usize], values: Vec<Expr>) -> Result<Vec<SelectItem>, Error> {
        let (schema, rules) = (self.table.relation.schema(), self.table.rules());
        let item = |(column, value): (&usize, Expr)| {
            let described = &schema.columns()[*column];
            Ok(SelectItem::ExprWithAlias {
                expr: new_value(value, described, rules.origin(*column))?,
                alias: Ident::with_quote('"', format!("{} (new)", described.name)),
            })
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

/// The name by which a table behind FROM is known.
pub(crate) fn name_of(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. }
        | TableFactor::TableFunction { alias: Some(alias), .. }
        | TableFactor::Function { alias: Some(alias), .. }
        | TableFactor::UNNEST { alias: Some(alias), .. }
        | TableFactor::NestedJoin { alias: Some(alias), .. } => Some(alias.name.clone()),
        TableFactor::Table { name, .. } => last_name(name).ok(),
        _ => None,
    }
}

fn last_name(name: &ObjectName) -> Result<Ident, Error> {
    match name.0.last() {
        Some(ObjectNamePart::Identifier(ident)) => Ok(ident.clone()),
        _ => Err(Error::syntax(format!("{name}: the name of a table is expected"))),
    }
}

/// The value that `column` is set to, in its type; DEFAULT is what its origin says.
fn new_value(value: Expr, column: &Column, origin: &Origin) -> Result<Expr, Error> {
    if is_default(&value) {
        return origin.value(column.column_type);
    }
    let mut cast = expression(&format!("CAST(NULL AS {})", column.column_type))?;
    if let Expr::Cast { expr, .. } = &mut cast {
        **expr = value;
    }
    Ok(cast)
}

/// Whether the keyword DEFAULT stands for a value.
pub(crate) fn is_default(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// An expression of ours.
pub(crate) fn expression(sql: &str) -> Result<Expr, Error> {
    let mut statement = parsed(&format!("SELECT {sql}"))?;
    match select_of(&mut statement)?.projection.pop() {
        Some(SelectItem::UnnamedExpr(expr)) => Ok(expr),
        other => Err(Error::internal(format!("an expression expected, found {other:?}"))),
    }
}

/// A SELECT without any clause.
pub(crate) fn plain_select() -> Result<Select, Error> {
    let mut statement = parsed("SELECT 1")?;
    let select = select_of(&mut statement)?;
    select.projection.clear();
    Ok(select.clone())
}

/// The one SELECT that a query of ours consists of.
pub(crate) fn select_of(statement: &mut Statement) -> Result<&mut Select, Error> {
    if let Statement::Query(query) = statement
        && let SetExpr::Select(select) = query.body.as_mut()
    {
        return Ok(select);
    }
    Err(Error::internal("a SELECT expected"))
}

/// The table of this name behind FROM.
pub(crate) fn from_item(name: &str) -> Result<TableWithJoins, Error> {
    let mut statement = parsed(&format!("SELECT 1 FROM {}", names::quoted(name)))?;
    select_of(&mut statement)?.from.pop().ok_or_else(|| Error::internal("a FROM expected"))
}

/// A statement of ours.
pub(crate) fn parsed(sql: &str) -> Result<Statement, Error> {
    match sql::parse(sql)? {
        Parsed::Sql(statement) => Ok(*statement),
        other => Err(Error::internal(format!("a query expected, found {other:?}"))),
    }
}
