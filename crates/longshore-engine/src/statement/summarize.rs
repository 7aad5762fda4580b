//! SUMMARIZE: a row for each column of a query, with its type, its least and greatest value, how many values differ, average,
//! deviation and quartiles of numbers, how many rows there are, and how many of a hundred are NULL.
//!
//! It is a query: all of it is computed in one pass, as one row, of which each column then takes its part.

use std::fmt::Write as _;

use longshore_storage::ColumnType;
use sqlparser::ast::Query;

use crate::sql::{self, names, repeated};
use crate::statement::{Context, refuse, run_query};
use crate::{Error, Outcome};

/// Summarizes the rows of `query`.
pub(crate) async fn summarize(context: &Context<'_>, mut query: Box<Query>) -> Result<Outcome, Error> {
    refuse::unless_reads_only(&query)?;
    repeated::number_apart(&mut query);
    let schema = context.database.queries.query_schema(&query, &context.execution()).await?;
    let (mut once, mut rows, mut columns) = (String::new(), Vec::new(), Vec::new());
    for (at, field) in schema.fields().iter().enumerate() {
        columns.push(format!("c{at}"));
        let column_type = ColumnType::from_arrow(field.data_type());
        let _ = write!(once, ", count(c{at}) AS n{at}");
        let (mut ordered, mut number) = (
            "NULL::text, NULL::text, NULL::bigint".to_owned(),
            "NULL::double precision, \
             NULL::double precision, NULL::double precision, NULL::double precision, NULL::double precision"
                .to_owned(),
        );
        if !matches!(column_type, None | Some(ColumnType::Bytea)) {
            let _ = write!(once, ", min(c{at}) AS lo{at}, max(c{at}) AS hi{at}, approx_distinct(c{at}::text) AS d{at}");
            ordered = format!("lo{at}::text, hi{at}::text, d{at}::bigint");
        }
        if field.data_type().is_numeric() {
            let value = format!("c{at}::double precision");
            let _ = write!(once, ", avg({value}) AS avg{at}, stddev({value}) AS std{at}");
            number = format!("avg{at}, std{at}");
            for (quartile, part) in ["0.25", "0.5", "0.75"].into_iter().enumerate() {
                let _ = write!(
                    once,
                    ", approx_percentile_cont({part}) WITHIN GROUP (ORDER BY {value}) AS q{quartile}_{at}"
                );
                let _ = write!(number, ", q{quartile}_{at}");
            }
        }
        let name = names::literal(field.name());
        let type_name =
            column_type.map_or_else(|| field.data_type().to_string(), |column_type| column_type.to_string());
        rows.push(format!(
            "SELECT {at}, {name}, {}, {ordered}, {number}, n, CASE WHEN n > 0 THEN (100 * (n - n{at})::double precision \
             / n)::decimal(5,2) END FROM summary",
            names::literal(&type_name)
        ));
    }
    if rows.is_empty() {
        return Err(Error::invalid("SUMMARIZE: the query has no column"));
    }
    let text = format!(
        "WITH summary AS (SELECT count(*) AS n{once} FROM ({query}) AS s ({})) SELECT column_name, column_type, min, max, \
         approx_unique, avg, std, q25, q50, q75, count, null_percentage FROM ({}) AS s (place, column_name, column_type, \
         min, max, approx_unique, avg, std, q25, q50, q75, count, null_percentage) ORDER BY place",
        columns.join(", "),
        rows.join(" UNION ALL ")
    );
    run_query(context, sql::parse_query(&text)?).await
}
