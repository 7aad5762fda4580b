//! DESCRIBE, SHOW TABLES and SHOW of a setting.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use longshore_storage::ColumnType;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, ShowStatementOptions, Statement};

use crate::catalog::{Entry, LOADS, is_temporary};
use crate::datafusion::loads_schema;
use crate::sql::{names, repeated};
use crate::statement::{ClientSettings, Context, identity, refuse, settings, time_settings, transaction, view};
use crate::transaction::Block;
use crate::{Database, Error, Outcome, RowStream, blocking};

/// The columns of a table or a view: `column_name`, `data_type` in SQL's spelling, `nullable`, and `default`, what they
/// take where no value is given.
pub(crate) async fn describe(context: &Context<'_>, name: &ObjectName) -> Result<Outcome, Error> {
    if let [ObjectNamePart::Identifier(file)] = name.0.as_slice()
        && file.quote_style == Some('\'')
    {
        return describe_file(context, &file.value).await;
    }
    let name = names::relation(name)?;
    let columns: Vec<DescribedColumn> = match context.entry(&name) {
        None if name == LOADS => described(&loads_schema()),
        None => return Err(Error::not_found(format!("table {name} does not exist"))),
        Some(Entry::Table(table)) => {
            let (columns, rules) = (table.relation.schema().columns().iter().enumerate(), table.rules());
            let described = columns.map(|(index, column)| {
                let default = rules.origin(index).described();
                let shown = rules.named_user_type(index).unwrap_or_else(|| column.column_type.to_string());
                (column.name.clone(), shown, column.nullable, default)
            });
            described.collect()
        }
        Some(Entry::View(view)) => {
            let schema = view::schema(context, &view).await?;
            described(&schema)
        }
    };
    rows_of_columns(&columns)
}

/// The columns of a query, which is not run, in the same way.
pub(crate) async fn describe_query(context: &Context<'_>, statement: Statement) -> Result<Outcome, Error> {
    let Statement::Query(mut query) = statement else {
        return Err(Error::unsupported(format!(
            "DESCRIBE of {} is not supported; describe a table, a view, a file or a query",
            refuse::name(&statement)
        )));
    };
    refuse::unless_reads_only(&query)?;
    repeated::name_apart(&mut query);
    let schema = context.database.queries.query_schema(&query, &context.execution()).await?;
    rows_of_columns(&described(&schema))
}

fn rows_of_columns(columns: &[DescribedColumn]) -> Result<Outcome, Error> {
    rows(&[
        ("column_name", texts(columns.iter().map(|column| column.0.as_str()))),
        ("data_type", texts(columns.iter().map(|column| column.1.as_str()))),
        ("nullable", Arc::new(columns.iter().map(|column| Some(column.2)).collect::<BooleanArray>())),
        ("default", Arc::new(columns.iter().map(|column| column.3.as_deref()).collect::<StringArray>())),
    ])
}

/// Name, type, whether it may be NULL, and default of a column.
type DescribedColumn = (String, String, bool, Option<String>);

/// The columns of what is not a table.
fn described(schema: &Schema) -> Vec<DescribedColumn> {
    let columns = schema.fields().iter();
    columns.map(|field| (field.name().clone(), shown_type(field.data_type()), field.is_nullable(), None)).collect()
}

/// The columns of a file: `column_name`, `data_type`, and `reason`, why it is that.
async fn describe_file(context: &Context<'_>, name: &str) -> Result<Outcome, Error> {
    let (database, name) = (Arc::clone(context.database), name.to_owned());
    let shared = Arc::clone(context.control);
    let columns = blocking::run(context.control, move |_| database.queries.describe_file(&name, &shared)).await?;
    rows(&[
        ("column_name", texts(columns.iter().map(|column| column.0.as_str()))),
        ("data_type", texts(columns.iter().map(|column| column.1.as_str()))),
        ("reason", texts(columns.iter().map(|column| column.2.as_str()))),
    ])
}

/// The type as SQL spells it, or Arrow's name for a type that no column can have.
fn shown_type(data_type: &DataType) -> String {
    ColumnType::from_arrow(data_type).map_or_else(|| data_type.to_string(), |column_type| column_type.to_string())
}

/// Tables and views: `table_name`, `kind`, and for tables `rows` and `bytes` of memory.
pub(crate) fn show_tables(context: &Context<'_>, statement: &Statement) -> Result<Outcome, Error> {
    let (Statement::ShowTables { show_options: options, .. } | Statement::ShowViews { show_options: options, .. }) =
        statement
    else {
        return Err(Error::internal("SHOW TABLES expected"));
    };
    let none =
        ShowStatementOptions { show_in: None, starts_with: None, limit: None, limit_from: None, filter_position: None };
    if *options != none {
        return Err(Error::unsupported("SHOW TABLES takes no further words; it shows all tables and views"));
    }
    let views_only = matches!(statement, Statement::ShowViews { .. });
    let mut entries = context.entries();
    entries.retain(|entry| !views_only || matches!(entry, Entry::View(_)));
    let sizes: Vec<Option<(i64, i64)>> = entries
        .iter()
        .map(|entry| match entry {
            Entry::View(_) => None,
            Entry::Table(table) => {
                // Who counts the rows has read which there are.
                context.transaction.log_scan(&table.relation, &[], &[]);
                let snapshot = context.transaction.snapshot(&table.relation);
                Some((snapshot.rows() as i64, snapshot.bytes() as i64))
            }
        })
        .collect();
    let shown: Vec<String> = entries.iter().map(|entry| names::shown_name(entry.name())).collect();
    rows(&[
        ("table_name", texts(shown.iter().map(String::as_str))),
        ("kind", texts(entries.iter().map(kind))),
        ("rows", Arc::new(sizes.iter().map(|size| size.map(|size| size.0)).collect::<Int64Array>())),
        ("bytes", Arc::new(sizes.iter().map(|size| size.map(|size| size.1)).collect::<Int64Array>())),
    ])
}

/// What an entry is, and whether its rows outlive a crash.
fn kind(entry: &Entry) -> &'static str {
    match entry {
        Entry::Table(table) if is_temporary(&table.name) => "temporary table",
        Entry::View(view) if is_temporary(&view.name) => "temporary view",
        Entry::Table(table) if !table.relation.is_logged() => "unlogged table",
        other => other.kind(),
    }
}

/// Names and values of all settings, sorted by name.
pub(crate) fn all_settings(database: &Database, block: &Block, client: &ClientSettings) -> Vec<(&'static str, String)> {
    let config = database.config();
    let limit = config.memory_limit.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string());
    let mut all = vec![
        ("kernel", config.tuning().kernel.to_string()),
        ("memory_limit", limit),
        ("memory_used", database.memory().used().to_string()),
        ("threads", config.threads.to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    all.extend(settings::settings(database));
    all.extend(transaction::settings(block));
    all.extend(time_settings::shown(block));
    all.extend(client.shown());
    all.extend(identity::shown(database, block, client));
    all.extend(settings::PRESETS.map(|(name, value)| (name, value.to_owned())));
    all.sort_unstable_by_key(|(name, _)| name.to_lowercase());
    all
}

/// One setting, or `ALL`.
pub(crate) fn show_setting(
    database: &Database,
    block: &Block,
    client: &ClientSettings,
    variable: &[Ident],
) -> Result<Outcome, Error> {
    let all = all_settings(database, block, client);
    let wanted = match variable.iter().map(|ident| ident.value.to_lowercase()).collect::<Vec<_>>().join(" ") {
        wanted if wanted == "time zone" => "timezone".to_owned(),
        wanted if wanted == "transaction isolation level" => "transaction_isolation".to_owned(),
        wanted => wanted,
    };
    let shown: Vec<_> = all.iter().filter(|(name, _)| wanted == "all" || name.eq_ignore_ascii_case(&wanted)).collect();
    if shown.is_empty() {
        let known: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        return Err(Error::no_object(format!(
            "setting {wanted} does not exist; there are TABLES, ALL, {}",
            known.join(", ")
        )));
    }
    if let ([(name, setting)], false) = (shown.as_slice(), wanted == "all") {
        return rows(&[(*name, texts([setting.as_str()].into_iter()))]);
    }
    rows(&[
        ("name", texts(shown.iter().map(|(name, _)| *name))),
        ("setting", texts(shown.iter().map(|(_, setting)| setting.as_str()))),
    ])
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn rows(columns: &[(&str, ArrayRef)]) -> Result<Outcome, Error> {
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), array.is_nullable()));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let arrays = columns.iter().map(|(_, array)| Arc::clone(array)).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), arrays).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Outcome::Rows(RowStream::from_batch(batch).of_command("SHOW")))
}
