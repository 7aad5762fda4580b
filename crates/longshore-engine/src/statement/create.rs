//! CREATE TABLE, empty or AS a query.
//!
//! Everything is taken from the syntax tree: `DataFusion` would drop lengths and ignore some constraints. What a table
//! cannot keep is refused. To be sure that no clause is overlooked, the statement is built again from the parts that
//! were understood; if that is not the statement that was parsed, something else was in it.

mod columns;
mod keys;
mod like;

use std::sync::Arc;
use std::time::Instant;

use longshore_storage::{Column, ColumnType, Schema};
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{ColumnDef, CreateTable, CreateTableOptions, DataType, Expr, Query, Statement, TableConstraint};

use columns::Defined;
pub(crate) use columns::check_of;
use keys::Keys;
pub(crate) use keys::of_index;

use crate::catalog::{Catalog, Check, Entry, Key, Rules, Sequence, Table, columns_read};
use crate::sql::{self, headings, names, repeated};
use crate::statement::drop::empty_in_block;
use crate::statement::foreign::{self, ColumnDefaults, dependents};
use crate::statement::hidden_columns::with_hidden;
use crate::statement::storage::TableStorage;
use crate::statement::{Context, refuse, temporary};
use crate::{Error, ErrorKind, Outcome, Report, RowStream};

pub(crate) async fn create_table(context: &Context<'_>, mut create: CreateTable) -> Result<Outcome, Error> {
    refuse_clauses(&create)?;
    let name = names::relation(&create.name)?;
    let replace = Replace { or_replace: create.or_replace, if_not_exists: create.if_not_exists };
    if create.or_replace && create.if_not_exists {
        return Err(Error::invalid("OR REPLACE and IF NOT EXISTS contradict each other; leave one out"));
    }
    if replace.is_done(&context.database.catalog, &name)? {
        let notice = format!("relation \"{}\" already exists, skipping", names::shown_name(&name));
        return Ok(Outcome::done("CREATE TABLE").with_notices(vec![notice]));
    }
    if let Some(query) = &create.query {
        refuse::unless_reads_only(query)?;
        return create_as(context, &name, &create, query, replace).await;
    }
    let further = like::written_out(context, &mut create)?;
    let catalog = &context.database.catalog;
    // A table that is replaced gives the names of its sequences free.
    let is_replaced = |sequence: &Sequence| sequence.owner().is_some_and(|owner| owner.table == name);
    let is_taken = |name: &str| {
        let sequence = catalog.sequence(name);
        catalog.get(name).is_some() || sequence.is_some_and(|sequence| !is_replaced(&sequence))
    };
    let definition = definition(&name, &create.columns, &create.constraints, &create.table_options, &is_taken)?;
    definition.check(context, &name, |name| catalog.sequence(name).is_some())?;
    let Definition { schema, mut rules, sequences, storage } = definition;
    foreign::resolve_all(context, &name, (schema.columns(), storage.is_logged), &mut rules)?;
    further.add_indexes(catalog, &name, schema.columns(), &mut rules)?;
    let schema = with_hidden(context, &name, &schema, &mut rules)?;
    let defaults = foreign::defaults(context, schema.columns(), &rules)?;
    let relation = context.database.relation(&name, schema);
    storage.apply(&relation);
    let table = Table::new(&name, relation.into(), rules)?;
    replace.insert(context, table, sequences, &defaults)?;
    further.comment(catalog, &name)?;
    temporary::note(context, &name, create.on_commit.as_ref());
    Ok(Outcome::done("CREATE TABLE"))
}

async fn create_as(
    context: &Context<'_>,
    name: &str,
    create: &CreateTable,
    query: &Query,
    replace: Replace,
) -> Result<Outcome, Error> {
    if create.columns.iter().any(|column| column.data_type != DataType::Unspecified || !column.options.is_empty()) {
        return Err(Error::unsupported(
            "CREATE TABLE ... AS takes names of columns only; their types come from the query, use CAST there",
        ));
    }
    if let Some(constraint) = create.constraints.first() {
        return Err(Error::unsupported(format!(
            "CREATE TABLE ... AS takes no constraints, such as {constraint}; make the table first, then INSERT the query"
        )));
    }
    if create.columns.is_empty() {
        repeated::refuse(query, &format!("table {name}"))?;
    }
    let given = create.columns.iter().map(|column| names::identifier(&column.name)).collect::<Result<Vec<_>, _>>()?;
    let mut query = Box::new(query.clone());
    repeated::name_for(&mut query, !given.is_empty());
    let query = Statement::Query(query);
    let execution = context.execution();
    let rows = Box::pin(context.database.queries.query(query, &execution));
    let storage = TableStorage::of_table_options(&create.table_options)?;
    let report = Box::pin(create_of(context, name, given, (storage, replace), rows)).await?;
    temporary::note(context, name, create.on_commit.as_ref());
    Ok(Outcome::Done { tag: format!("SELECT {}", report.rows), report, notice: None })
}

/// Makes the table `name` of `rows`, whose first columns are called as `given`.
pub(crate) async fn create_of(
    context: &Context<'_>,
    name: &str,
    given: Vec<String>,
    (storage, replace): (TableStorage, Replace),
    rows: impl Future<Output = Result<RowStream, Error>>,
) -> Result<Report, Error> {
    let started = Instant::now();
    let rows = rows.await?;
    let schema = schema_of_query(name, &rows, given)?;
    let relation = Arc::new(context.database.relation(name, schema));
    storage.apply(&relation);
    // In a block the rows are its own until it commits.
    let transaction = context.database.catalog.is_fork().then_some(context.transaction.as_ref());
    let rows = context.database.queries.append(rows, &relation, transaction, context.control).await?;
    replace.insert(context, Table::new(name, relation, Rules::default())?, Vec::new(), &None)?;
    Ok(Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() })
}

/// What to do when the name is taken.
#[derive(Clone, Copy)]
pub(crate) struct Replace {
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
}

impl Replace {
    /// Whether there is nothing to do because the table exists. An error if it must not exist.
    pub(crate) fn is_done(self, catalog: &Catalog, name: &str) -> Result<bool, Error> {
        match catalog.get(name) {
            None => Ok(false),
            Some(_) if self.if_not_exists => Ok(true),
            Some(existing) => self.check(&existing).map(|()| false),
        }
    }

    fn check(self, existing: &Entry) -> Result<(), Error> {
        let name = existing.name();
        match existing {
            Entry::Table(_) if self.or_replace => Ok(()),
            Entry::Table(_) => Err(Error::exists(format!(
                "table {name} exists already; drop it first, or use CREATE OR REPLACE TABLE or IF NOT EXISTS"
            ))),
            Entry::View(_) => Err(Error::exists(format!(
                "{name} is a view; choose another name for the table, or drop the view first"
            ))),
        }
    }

    /// Enters the table and the sequences that it has for itself; another session may have been faster. `defaults` are
    /// what its foreign keys ask for.
    pub(crate) fn insert(
        self,
        context: &Context<'_>,
        table: Table,
        own: Vec<Arc<Sequence>>,
        defaults: &ColumnDefaults,
    ) -> Result<(), Error> {
        let table = Arc::new(table);
        let catalog = &context.database.catalog;
        // What is replaced is freed after the catalog is open to others again.
        let replaced = catalog.change(|change| {
            change.created_by(context.creator());
            let (entries, sequences) = (&mut change.entries, &mut change.sequences);
            if let Some(existing) = entries.get(&table.name) {
                if self.if_not_exists {
                    return Ok(None);
                }
                self.check(existing)?;
                dependents::check_unreferenced(entries.values(), existing.name())?;
            }
            let freed = catalog.sequences_of(&table.name, None);
            sequences.retain(|_, sequence| !freed.iter().any(|freed| Arc::ptr_eq(freed, sequence)));
            if sequences.contains_key(&table.name) {
                return Err(is_sequence(&table.name, "table"));
            }
            for sequence in own {
                if sequences.contains_key(&sequence.name) || entries.contains_key(&sequence.name) {
                    return Err(Error::exists(format!("{} exists already", sequence.name)));
                }
                sequences.insert(sequence.name.clone(), sequence);
            }
            foreign::bind_all(context, entries, &table, defaults, true)?;
            let replaced = entries.insert(table.name.clone(), Entry::Table(Arc::clone(&table)));
            change.otherwise(move || foreign::unbind_all(&table));
            if let Some(Entry::Table(replaced)) = &replaced {
                let replaced = Arc::clone(replaced);
                change.then(move || foreign::unbind_all(&replaced));
            }
            Ok(replaced)
        })?;
        empty_in_block(context, replaced.iter())
    }
}

/// The name of a sequence is wanted for something else.
pub(crate) fn is_sequence(name: &str, kind: &str) -> Error {
    Error::exists(format!("{name} is a sequence; choose another name for the {kind}, or drop the sequence first"))
}

/// What CREATE TABLE says of a table.
pub(crate) struct Definition {
    pub(crate) schema: Schema,
    pub(crate) rules: Rules,
    /// The sequences of its identity columns.
    pub(crate) sequences: Vec<Arc<Sequence>>,
    /// How its rows are kept.
    pub(crate) storage: TableStorage,
}

/// The table with these column definitions, constraints and options; `is_taken` says of names whether a table, view or
/// sequence has them.
pub(crate) fn definition(
    table: &str,
    definitions: &[ColumnDef],
    constraints: &[TableConstraint],
    table_options: &CreateTableOptions,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<Definition, Error> {
    let storage = TableStorage::of_table_options(table_options)?;
    if definitions.is_empty() {
        return Err(Error::invalid(format!("table {table}: a table must have at least one column")));
    }
    let mut columns = Vec::with_capacity(definitions.len());
    let mut rules = Rules::default();
    let mut sequences: Vec<Arc<Sequence>> = Vec::new();
    for definition in definitions {
        let is_taken = |name: &str| is_taken(name) || sequences.iter().any(|sequence| sequence.name == name);
        let Defined { column, rule, sequence } = columns::column(table, definition, &is_taken)?;
        columns.push(column);
        rules.columns.push(rule);
        sequences.extend(sequence.map(Arc::new));
    }
    check_names(table, &columns)?;
    let options = definitions.iter().enumerate().flat_map(|(column, definition)| {
        definition.options.iter().map(move |option| (column, &option.option, option.name.as_ref()))
    });
    let options: Vec<_> = options.collect();
    let Keys { keys } = Keys::new(table, &mut columns, &options, constraints)?;
    rules.keys = keys;
    columns::add_checks(table, &columns, definitions, constraints, &mut rules)?;
    foreign::of_definitions(table, &columns, definitions, constraints, &mut rules)?;
    Ok(Definition { schema: Schema::new(columns), rules, sequences, storage })
}

impl Definition {
    /// Refuses what cannot be kept: expressions that make no sense, and sequences that do not exist.
    pub(crate) fn check(
        &self,
        context: &Context<'_>,
        table: &str,
        has_sequence: impl Fn(&str) -> bool,
    ) -> Result<(), Error> {
        let is_own = |name: &str| self.sequences.iter().any(|sequence| sequence.name == name);
        for rule in &self.rules.columns {
            if let Some(name) = rule.origin.sequences().into_iter().find(|name| !is_own(name) && !has_sequence(name)) {
                return Err(Error::not_found(format!("sequence {name} does not exist; CREATE SEQUENCE makes it")));
            }
        }
        for expr in self.rules.expressions() {
            // EXPORT DATABASE writes its text.
            if sql::parse_expression(&expr.to_string()).ok().as_ref() != Some(expr) {
                return Err(Error::unsupported(format!(
                    "the expression {expr} cannot be kept: its text would read back differently; write it in another way"
                )));
            }
        }
        let queries = &context.database.queries;
        queries.check_rules(table, &self.schema, &self.rules, &context.execution())
    }
}

/// Refuses an index whose expressions cannot be kept, or make no sense.
pub(crate) fn check_index(context: &Context<'_>, table: &Table, key: &Key) -> Result<(), Error> {
    let Some(definition) = &key.definition else { return Ok(()) };
    let columns = table.relation.schema().columns();
    let check = |condition: Expr| Check {
        name: key.name.clone(),
        columns: columns_read(&condition, columns),
        condition,
        is_valid: true,
    };
    let is_null = |expr: &Expr| Expr::IsNull(Box::new(Expr::Nested(Box::new(expr.clone()))));
    let mut checks: Vec<Check> = definition.parts.iter().map(|part| check(is_null(part))).collect();
    checks.extend(definition.predicate.iter().cloned().map(check));
    let rules = Rules { checks, ..Rules::default() };
    for expr in definition.expressions() {
        if sql::parse_expression(&expr.to_string()).ok().as_ref() != Some(expr) {
            return Err(Error::unsupported(format!(
                "the expression {expr} cannot be kept: its text would read back differently; write it in another way"
            )));
        }
    }
    context.database.queries.check_rules(&table.name, table.relation.schema(), &rules, &context.execution())
}

fn schema_of_query(table: &str, rows: &RowStream, given: Vec<String>) -> Result<Schema, Error> {
    let schema = rows.schema();
    if given.len() > schema.fields().len() {
        return Err(Error::syntax(format!(
            "table {table}: {} column names are given, but the query has {} columns",
            given.len(),
            schema.fields().len()
        )));
    }
    if schema.fields().is_empty() {
        return Err(Error::invalid(format!("table {table}: the query has no column")));
    }
    let mut given = given.into_iter();
    let mut columns = Vec::new();
    for (field, shown) in schema.fields().iter().zip(rows.types().iter()) {
        let own = || headings::shown(field.name()).unwrap_or(field.name()).to_owned();
        let name = given.next().unwrap_or_else(own);
        let Some(of_values) = ColumnType::from_arrow(field.data_type()) else {
            return Err(Error::unsupported(format!(
                "table {table}: column {name} of the query has the type {}, which a table cannot hold; use CAST",
                field.data_type()
            )));
        };
        columns.push(Column::new(name, shown.column_type(of_values), true));
    }
    check_names(table, &columns)?;
    Ok(Schema::new(columns))
}

fn check_names(table: &str, columns: &[Column]) -> Result<(), Error> {
    for (index, column) in columns.iter().enumerate() {
        if columns[..index].iter().any(|earlier| earlier.name == column.name) {
            return Err(Error::duplicate_column(&format!("table {table}"), &column.name));
        }
    }
    Ok(())
}

/// Refuses every clause but those of `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t (columns, constraints) [AS query]`.
pub(crate) fn refuse_clauses(create: &CreateTable) -> Result<(), Error> {
    let is_known = |constraint: &&TableConstraint| {
        matches!(
            constraint,
            TableConstraint::PrimaryKey(_)
                | TableConstraint::Unique(_)
                | TableConstraint::Check(_)
                | TableConstraint::ForeignKey(_)
        )
    };
    let understood = CreateTableBuilder::new(create.name.clone())
        .or_replace(create.or_replace)
        .if_not_exists(create.if_not_exists)
        .columns(create.columns.clone())
        .constraints(create.constraints.iter().filter(is_known).cloned().collect())
        .query(create.query.clone())
        .table_options(create.table_options.clone())
        .temporary(create.temporary)
        .on_commit(create.on_commit.filter(|_| create.temporary))
        .build();
    if *create == understood {
        return Ok(());
    }
    if create.on_commit.is_some() && !create.temporary {
        return Err(Error::new(ErrorKind::InvalidTable, "ON COMMIT can only be used on temporary tables"));
    }
    let clause = if let Some(constraint) = create.constraints.iter().find(|constraint| !is_known(constraint)) {
        constraint.to_string()
    } else if create.like.is_some() {
        "LIKE".to_owned()
    } else if create.inherits.is_some() {
        "INHERITS".to_owned()
    } else if create.partition_by.is_some() || create.partition_of.is_some() {
        "PARTITION".to_owned()
    } else if create.external {
        "EXTERNAL".to_owned()
    } else {
        "such a clause".to_owned()
    };
    Err(Error::unsupported(format!("CREATE TABLE with {clause} is not supported yet; leave it out")))
}
