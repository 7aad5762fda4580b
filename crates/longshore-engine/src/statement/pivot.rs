//! PIVOT and UNPIVOT as statements: the values or columns are found first, then it is a query.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use futures::TryStreamExt;
use sqlparser::ast::{Expr, ExprWithAlias, Query};

use crate::sql::pivot::{NewColumn, PivotStatement, Turn, columns_in, pivoting, shown, unpivoting};
use crate::sql::{headings, names, parse_expression, parse_query, repeated};
use crate::statement::{Context, run_query};
use crate::{Error, Outcome};

/// Columns that PIVOT makes, at most.
const COLUMNS_MAX: usize = 10_000;

pub(crate) async fn pivot(context: &Context<'_>, statement: PivotStatement) -> Result<Outcome, Error> {
    let query = Box::pin(query_of(context, statement)).await?;
    run_query(context, query).await
}

/// The query that says the same.
async fn query_of(context: &Context<'_>, statement: PivotStatement) -> Result<Box<Query>, Error> {
    let relation = statement.relation.to_string();
    let query = match &statement.what {
        Turn::Pivot { on, using, group_by } => {
            let count = ExprWithAlias { expr: parse_expression("count(*)")?, alias: None };
            let using = if using.is_empty() { vec![count] } else { using.clone() };
            let mut columns = vec![NewColumn { name: String::new(), condition: "true".to_owned() }];
            for (expr, values) in on {
                let values = match values {
                    Some(values) => values.iter().map(|value| given(expr, value)).collect(),
                    None => found(context, &relation, expr).await?,
                };
                columns = all_pairs(&columns, &values)?;
            }
            let group = if group_by.is_empty() {
                let aggregates = using.iter().map(|aggregate| &aggregate.expr);
                let used = columns_in(on.iter().map(|(expr, _)| expr).chain(aggregates));
                let names = columns_of(context, &relation).await?;
                let others = names.iter().filter(|name| !used.contains(name)).map(|name| names::quoted(name));
                others.collect::<Vec<_>>().join(", ")
            } else {
                group_by.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ")
            };
            if on.is_empty() {
                let named = |aggregate: &ExprWithAlias| aggregate.to_string();
                let list: Vec<String> =
                    (!group.is_empty()).then_some(group).into_iter().chain(using.iter().map(named)).collect();
                parse_query(&format!("SELECT {} FROM {relation} GROUP BY ALL", list.join(", ")))?
            } else {
                pivoting(&relation, &group, &using, &columns)?
            }
        }
        Turn::Unpivot { on, name, value } => {
            let mut columns = Vec::new();
            for expr in on {
                if headings::columns_call(expr).is_none() {
                    columns.push(ExprWithAlias { expr: expr.clone(), alias: None });
                    continue;
                }
                for name in schema_of(context, &format!("SELECT {expr} FROM {relation}")).await? {
                    columns.push(ExprWithAlias { expr: parse_expression(&names::quoted(&name))?, alias: None });
                }
            }
            unpivoting(&relation, &columns, name, value, false)?
        }
    };
    Ok(statement.finished(query))
}

/// The column of a value that is given.
fn given(expr: &Expr, value: &Expr) -> NewColumn {
    NewColumn { name: shown(value), condition: format!("({expr}) = ({value})") }
}

/// A column for each value of `expr` in the data but NULL, in their order.
async fn found(context: &Context<'_>, relation: &str, expr: &Expr) -> Result<Vec<NewColumn>, Error> {
    let text = format!(
        "SELECT t FROM (SELECT DISTINCT ({expr}) AS v, CAST(({expr}) AS TEXT) AS t FROM {relation}) AS found WHERE t IS NOT NULL \
         ORDER BY v LIMIT {}",
        COLUMNS_MAX + 1
    );
    let Outcome::Rows(mut rows) = run_query(context, parse_query(&text)?).await? else {
        return Err(Error::internal("a query has no rows"));
    };
    let mut columns = Vec::new();
    while let Some(batch) = rows.try_next().await? {
        let column = |text: &str| NewColumn {
            condition: format!("CAST(({expr}) AS TEXT) = {}", names::literal(text)),
            name: text.to_owned(),
        };
        match batch.column(0).data_type() {
            DataType::Utf8View => columns.extend(batch.column(0).as_string_view().iter().flatten().map(column)),
            _ => columns.extend(batch.column(0).as_string::<i32>().iter().flatten().map(column)),
        }
    }
    Ok(columns)
}

/// The columns for all pairs of values of several expressions.
fn all_pairs(left: &[NewColumn], right: &[NewColumn]) -> Result<Vec<NewColumn>, Error> {
    if left.len().saturating_mul(right.len()) > COLUMNS_MAX {
        return Err(Error::invalid(format!(
            "PIVOT would make more than {COLUMNS_MAX} columns; give the values that are wanted in ON ... IN (...)"
        )));
    }
    let pair = |left: &NewColumn, right: &NewColumn| NewColumn {
        name: if left.name.is_empty() { right.name.clone() } else { format!("{}_{}", left.name, right.name) },
        condition: format!("{} AND {}", left.condition, right.condition),
    };
    Ok(left.iter().flat_map(|left| right.iter().map(move |right| pair(left, right))).collect())
}

/// The names of the columns of `relation`.
async fn columns_of(context: &Context<'_>, relation: &str) -> Result<Vec<String>, Error> {
    schema_of(context, &format!("SELECT * FROM {relation}")).await
}

async fn schema_of(context: &Context<'_>, query: &str) -> Result<Vec<String>, Error> {
    let mut query = parse_query(query)?;
    repeated::number_apart(&mut query);
    let schema = context.database.queries.query_schema(&query, &context.execution()).await?;
    Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
}
