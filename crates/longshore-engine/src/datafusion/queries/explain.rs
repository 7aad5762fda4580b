//! What EXPLAIN says. It tells how many rows there are, so it reads all of them.
//!
//! Without ANALYZE, the logical and the physical plan, each as one text, without the line break behind it, which tables show as
//! an empty line. With ANALYZE, the physical plan with what its operators did (`tree`), a row for each line.

mod tree;

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{AnalyzeFormatKind, DescribeAlias, Statement};

use super::Queries;
use super::retry::Source;
use crate::datafusion::errors::from_datafusion;
use crate::datafusion::planning::long_statements::{logical, physical};
use crate::datafusion::planning::plan::reads_only;
use crate::datafusion::request::ExecutionContext;
use crate::sql::explain::ExplainOptions;
use crate::{Error, RowStream};
use tree::{Operator, Totals};

impl Queries {
    /// What EXPLAIN with these options says of `query`.
    pub(crate) async fn explain(
        &self,
        query: Statement,
        options: ExplainOptions,
        context: &ExecutionContext<'_>,
    ) -> Result<RowStream, Error> {
        if options.analyze || options.is_json {
            return self.explain_as_tree(query, options, context).await;
        }
        let statement = Statement::Explain {
            describe_alias: DescribeAlias::Explain,
            analyze: false,
            verbose: options.verbose,
            query_plan: false,
            estimate: false,
            statement: Box::new(query),
            format: None::<AnalyzeFormatKind>,
            options: None,
        };
        let planner = self.planner(context);
        let names = Arc::clone(&planner.names);
        let rows = self.run_query(planner, statement, &ExecutionContext { parameters: None, ..*context }).await?;
        // A plan tells how many rows there are, and depends on what is in them.
        names.log_everything();
        Ok(trimmed(rows))
    }

    async fn explain_as_tree(
        &self,
        query: Statement,
        options: ExplainOptions,
        context: &ExecutionContext<'_>,
    ) -> Result<RowStream, Error> {
        let planner = self.planner(context);
        let names = Arc::clone(&planner.names);
        let started = Instant::now();
        let (planner, plan) = Box::pin(logical(planner, query, context.control)).await?;
        reads_only(&plan)?;
        let (planner, plan, physical) = Box::pin(physical(planner, plan, context.control)).await?;
        names.log_everything();
        let planning = started.elapsed();
        let ExplainOptions { timing, summary, verbose, .. } = options;
        let mut totals = None;
        if options.analyze {
            let memory = &self.files.memory;
            memory.reset_peak();
            let started = Instant::now();
            let mut rows = self.run(planner, Source::Plan(plan), Arc::clone(&physical), context.control)?;
            let mut count = 0;
            while let Some(batch) = rows.try_next().await? {
                count += batch.num_rows() as u64;
            }
            let execution = started.elapsed();
            totals = Some(Totals { rows: count, planning, execution, memory: memory.peak() }).filter(|_| summary);
        }
        let operator = Operator::of(&physical);
        if options.is_json {
            let mut json = "[\n  {\n    \"Plan\": ".to_owned();
            operator.json(timing, verbose, 4, &mut json);
            json.push_str(&totals.map_or_else(String::new, |totals| totals.json()));
            json.push_str("\n  }\n]");
            return query_plan(vec![json]);
        }
        let mut lines = operator.lines(timing, verbose);
        lines.extend(totals.iter().flat_map(Totals::lines));
        query_plan(lines)
    }
}

/// What the operators of a plan that has run did.
pub(super) fn told(plan: &Arc<dyn ExecutionPlan>) -> String {
    Operator::of(plan).lines(true, false).join("\n")
}

/// Rows of one column, named as PostgreSQL names it.
fn query_plan(lines: Vec<String>) -> Result<RowStream, Error> {
    let schema = Arc::new(Schema::new(vec![Field::new("QUERY PLAN", DataType::Utf8, false)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(StringArray::from(lines))]);
    Ok(RowStream::from_batch(batch.map_err(|error| from_datafusion(error.into()))?).of_command("EXPLAIN"))
}

/// The same rows without line breaks at the end of texts.
fn trimmed(rows: RowStream) -> RowStream {
    let schema = Arc::clone(rows.schema());
    RowStream::new(schema, rows.map(|batch| trimmed_batch(&batch?))).of_command("EXPLAIN")
}

fn trimmed_batch(batch: &RecordBatch) -> Result<RecordBatch, Error> {
    let column = |array: &ArrayRef| match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>().iter().map(|text| text.map(|text| text.trim_end_matches('\n')));
            Arc::new(texts.collect::<StringArray>()) as ArrayRef
        }
        _ => Arc::clone(array),
    };
    let columns = batch.columns().iter().map(column).collect();
    RecordBatch::try_new(batch.schema(), columns).map_err(|error| from_datafusion(error.into()))
}
