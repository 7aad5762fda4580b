//! The table that UPDATE or DELETE changes, and the query that finds its rows.

use std::sync::Arc;

use arrow_array::RecordBatch;
use longshore_storage::Column;
use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Select, SelectItem, SetExpr, Statement, TableFactor, TableWithJoins,
};

use crate::catalog::{Entry, Origin, Table};
use crate::datafusion::{Changing, FoundRows, ROW_COLUMN, TARGET};
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
    pub(super) fn new(context: &Context<'_>, from: &TableWithJoins) -> Result<Self, Error> {
        let TableWithJoins { relation: TableFactor::Table { name, alias, .. }, joins } = from else {
            return Err(Error::unsupported("UPDATE and DELETE change a table, not a query; name the table"));
        };
        if !joins.is_empty() {
            return Err(Error::unsupported(
                "the table to change cannot be joined; name the other tables behind FROM (UPDATE) or USING (DELETE)",
            ));
        }
        let known_as = match alias {
            Some(alias) if alias.columns.is_empty() => alias.name.clone(),
            Some(_) => return Err(Error::unsupported("the table to change takes an alias, but none for its columns")),
            None => match name.0.last() {
                Some(ObjectNamePart::Identifier(ident)) => ident.clone(),
                _ => return Err(Error::syntax(format!("{name}: the name of a table is expected"))),
            },
        };
        let name = names::relation(name)?;
        match context.database.catalog.get(&name) {
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
            .ok_or_else(|| Error::not_found(format!("column {column} of table {} does not exist", self.table.name)))
    }

    /// Finds the rows for which `selection` is true, with the `values` that their `columns` get and those that their
    /// columns `also` have. A row that is joined to several rows of `from` takes the values of one of them. `named` are
    /// rows that the statement knows by a name.
    #[expect(clippy::too_many_arguments, reason = "these are the parts of a statement")]
    pub(super) async fn find(
        &self,
        context: &Context<'_>,
        columns: &[usize],
        values: Vec<Expr>,
        also: &[usize],
        from: Vec<TableWithJoins>,
        selection: Option<Expr>,
        named: Option<(&str, RecordBatch)>,
    ) -> Result<FoundRows, Error> {
        let mut statement = parsed(&format!(
            "SELECT {0}.{1} FROM {2} AS {0}",
            self.alias,
            names::quoted(ROW_COLUMN),
            names::quoted(TARGET)
        ))?;
        let (schema, rules) = (self.table.relation.schema(), self.table.rules());
        let select = select_of(&mut statement)?;
        for (column, value) in columns.iter().zip(values) {
            let described = &schema.columns()[*column];
            select.projection.push(SelectItem::ExprWithAlias {
                expr: new_value(value, described, rules.origin(*column))?,
                alias: Ident::with_quote('"', format!("{} (new)", described.name)),
            });
        }
        for column in also {
            let name = &schema.columns()[*column].name;
            select.projection.push(SelectItem::ExprWithAlias {
                expr: Expr::CompoundIdentifier(vec![self.alias.clone(), Ident::with_quote('"', name)]),
                alias: Ident::with_quote('"', format!("{name} (old)")),
            });
        }
        select.from.extend(from);
        select.selection = selection;
        if let Statement::Query(query) = &statement {
            refuse::unless_reads_only(query)?;
        }
        let changing = Changing { table: &self.table, columns, also, named };
        context.database.queries.find_rows(statement, changing, context.work, context.control).await
    }
}

/// The value that `column` is set to, in its type; DEFAULT is what its origin says.
fn new_value(value: Expr, column: &Column, origin: &Origin) -> Result<Expr, Error> {
    if is_default(&value) {
        return origin.value(column.column_type);
    }
    if origin.is_always() {
        return Err(Error::new(
            ErrorKind::Generated,
            format!("column \"{}\" can only be updated to DEFAULT: it is GENERATED ALWAYS AS IDENTITY", column.name),
        ));
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
pub(super) fn select_of(statement: &mut Statement) -> Result<&mut Select, Error> {
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
