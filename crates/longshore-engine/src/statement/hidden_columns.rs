//! The hidden columns of unique indexes over expressions or about some of the rows.
//!
//! Such an index is one over columns, as all others are. Each part of it that is no column is a generated column that no
//! statement sees. Another one says which rows the index is about: it is TRUE in these, and NULL in all others, which have no
//! key then. So whoever completes rows with generated columns completes their keys, and the storage compares them as it
//! compares all keys.
//!
//! Not here: how tables that exist get and lose such columns (`alter::hidden_columns`), their values
//! (`datafusion::planning::generated`).

use longshore_storage::{Column, Schema};
use sqlparser::ast::{CaseWhen, Expr, Ident, Value};

use crate::Error;
use crate::catalog::{ColumnRule, Key, Origin, Rules};
use crate::sql::{build, names};
use crate::statement::Context;

/// What a column of such an index is.
pub(crate) enum Part {
    /// A column of the table.
    Column(Ident),
    /// The values of an expression.
    Value(Expr),
    /// Whether the index is about the row.
    Filter(Expr),
}

impl Part {
    /// The columns of an index, in their order, if it needs hidden ones.
    pub(crate) fn all(key: &Key) -> Option<Vec<Self>> {
        let definition = key.hides()?;
        let parts = definition.parts.iter().map(|part| match part {
            Expr::Identifier(name) => Self::Column(name.clone()),
            other => Self::Value(other.clone()),
        });
        Some(parts.chain(definition.predicate.iter().cloned().map(Self::Filter)).collect())
    }
}

/// A hidden column to come.
pub(crate) struct HiddenColumn {
    pub(crate) column: Column,
    /// Its values, as an expression over the other columns.
    pub(crate) value: Expr,
}

impl HiddenColumn {
    /// The one for a part of an index of a table with these columns; of a column there is none. `is_taken` says of names
    /// whether another column has them.
    pub(crate) fn new(
        context: &Context<'_>,
        (table, schema): (&str, &Schema),
        part: &Part,
        is_taken: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, Error> {
        let queries = &context.database.queries;
        let (value, make): (Expr, Box<dyn Fn(usize) -> Column>) = match part {
            Part::Column(_) => return Ok(None),
            Part::Value(expr) => {
                let column_type = queries.type_of_key(table, schema, (expr, "expression"), &context.execution())?;
                (expr.clone(), Box::new(move |number| Column::hidden(number, column_type)))
            }
            Part::Filter(condition) => {
                queries.type_of_key(table, schema, (condition, "predicate"), &context.execution())?;
                let condition = Expr::Nested(Box::new(condition.clone()));
                let holds = CaseWhen { condition, result: build::value(Value::Boolean(true)) };
                (build::case(vec![holds], None), Box::new(Column::filter))
            }
        };
        let column = (1..=usize::MAX).map(make).find(|column| !is_taken(&column.name));
        let column = column.ok_or_else(|| Error::internal("numbers of columns do not end"))?;
        Ok(Some(Self { column, value }))
    }

    /// What holds for it.
    pub(crate) fn rule(&self) -> ColumnRule {
        ColumnRule { origin: Origin::Generated(Box::new(self.value.clone())), not_null: None }
    }
}

/// The columns of a table to come with the hidden ones that its indexes need.
pub(crate) fn with_hidden(
    context: &Context<'_>,
    table: &str,
    schema: &Schema,
    rules: &mut Rules,
) -> Result<Schema, Error> {
    let mut columns = schema.all_columns().to_vec();
    rules.columns.resize_with(columns.len(), ColumnRule::default);
    let mut keys = std::mem::take(&mut rules.keys);
    for key in &mut keys {
        let Some(parts) = Part::all(key).filter(|_| key.columns.is_empty()) else { continue };
        for part in &parts {
            let is_taken = |name: &str| columns.iter().any(|column| column.name == name);
            let at = match (part, HiddenColumn::new(context, (table, schema), part, is_taken)?) {
                (Part::Column(name), _) => {
                    let name = names::identifier(name)?;
                    let known = schema.index_of(&name);
                    known.ok_or_else(|| Error::no_column(format!("column \"{name}\" does not exist")))?
                }
                (_, Some(hidden)) => {
                    rules.columns.push(hidden.rule());
                    columns.push(hidden.column);
                    columns.len() - 1
                }
                (_, None) => return Err(Error::internal("what is no column is hidden in one")),
            };
            key.columns.push(at);
        }
    }
    rules.keys = keys;
    Ok(Schema::new(columns))
}
