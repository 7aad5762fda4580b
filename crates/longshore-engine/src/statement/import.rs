//! IMPORT DATABASE: what EXPORT DATABASE has written, all of it or nothing.
//!
//! `schema.sql` says which tables, views and sequences to make, `load.sql` which file belongs to which table. Both are
//! SQL that a person may read, run and change, but only CREATE TABLE, CREATE INDEX, CREATE VIEW, foreign keys, what makes
//! and sets sequences, and COPY FROM are taken here, and only files of the directory itself. What was exported obeyed its
//! rules, but a file may have been changed: keys, foreign keys and CHECK are checked again. Not here: sequences (`sequences`), foreign keys
//! (`references`).

mod completed;
mod references;
mod sequences;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use longshore_storage::{Memory, Relation, Schema, native};
use sqlparser::ast::{CreateIndex, CreateTable, SchemaName, Statement};

use crate::catalog::{Entry, Sequence, Table, UserType, View, innermost};
use crate::sql::copy::{CopyFrom, CopySource, ImportStatement};
use crate::sql::objects::{CommentStatement, ObjectStatement};
use crate::sql::options::{Format, Options, Use};
use crate::sql::{self, Parsed, names};
use crate::statement::alter::make::validate;
use crate::statement::create::Definition;
use crate::statement::export::{LOAD_FILE, SCHEMA_FILE};
use crate::statement::hidden_columns::with_hidden;
use crate::statement::storage::TableStorage;
use crate::statement::{Context, copy, create, objects, own_types, refuse, user_types, view};
use crate::{Error, ErrorKind, Outcome, Report, blocking};

/// What may stand in `schema.sql`.
const TAKEN: &str = "CREATE SCHEMA, CREATE TYPE, CREATE DOMAIN, CREATE TABLE, CREATE INDEX, CREATE VIEW, ALTER TABLE ... ADD \
                     CONSTRAINT ... FOREIGN KEY or CHECK, CREATE SEQUENCE, ALTER SEQUENCE, SELECT setval and COMMENT ON";

pub(crate) async fn import(context: &Context<'_>, statement: &ImportStatement) -> Result<Outcome, Error> {
    let started = Instant::now();
    let directory = Path::new(&statement.directory);
    let Made { mut schemas, views, sequences, created, types, comments } = read_schema(directory)?;
    references::resolve(&mut schemas).map_err(|error| in_file(&directory.join(SCHEMA_FILE), &error))?;
    let files = read_load(directory, &schemas)?;
    let catalog = &context.database.catalog;
    for name in schemas.keys().chain(views.keys()).chain(sequences.keys()) {
        check_free(catalog.get(name))?;
        check_no_sequence(catalog.sequence(name))?;
    }
    for (name, definition) in &schemas {
        let checked = definition.check(context, name, |name| sequences.contains_key(name));
        checked.map_err(|error| in_file(&directory.join(SCHEMA_FILE), &error))?;
    }
    let mut report = Report::default();
    let mut tables = BTreeMap::new();
    for (name, Definition { schema, mut rules, storage, .. }) in schemas {
        let all = with_hidden(context, &name, &schema, &mut rules)?;
        let relation = match files.get(&name) {
            None => empty(context, &name, all, storage),
            Some(file) => {
                let is_whole = all == schema;
                let (mut relation, read) = load(context, &name, (schema, storage), file).await?;
                if !is_whole {
                    relation = completed::completed(context, &name, (all, storage), relation, &rules).await?;
                }
                report.rows += read.rows;
                report.bytes_read += read.bytes_read;
                relation
            }
        };
        let table = blocking::run(context.control, move |_| Table::new(&name, relation, rules)).await?;
        tables.insert(table.name.clone(), Arc::new(table));
    }
    references::bind(context, &tables).await?;
    check(context, &tables).await?;
    let mut entries: Vec<Entry> = tables.into_values().map(Entry::Table).collect();
    entries.extend(views.into_values().map(|view| Entry::View(Arc::new(view))));
    catalog.change(|change| {
        change.created_by(context.creator());
        for entry in entries {
            check_free(change.entries.insert(entry.name().to_owned(), entry))?;
        }
        let taken = &mut change.sequences;
        sequences.into_iter().try_for_each(|(name, sequence)| check_no_sequence(taken.insert(name, sequence)))?;
        change.definitions.schemas.extend(created);
        for (name, user_type) in types {
            if change.definitions.types.insert(name.clone(), user_type).is_some() {
                return Err(Error::exists(format!("type {name} exists already; drop it first")));
            }
        }
        let names = change.entries.keys().chain(change.sequences.keys());
        let lost = names.map(|name| names::parts(name).0).find(|schema| !change.definitions.has_schema(schema));
        match lost {
            Some(schema) if !schema.starts_with("pg_temp_") => {
                Err(Error::new(ErrorKind::NoSchema, format!("schema \"{schema}\" does not exist")))
            }
            _ => Ok(()),
        }
    })?;
    for comment in &comments {
        objects::comment_on(context, comment)?;
    }
    report.seconds = started.elapsed().as_secs_f64();
    Ok(Outcome::Done { tag: "IMPORT DATABASE".to_owned(), report, notice: None })
}

/// Looks whether all rows pass the checks of their tables.
async fn check(context: &Context<'_>, tables: &BTreeMap<String, Arc<Table>>) -> Result<(), Error> {
    // Begun behind the loads, it sees their rows.
    let look = context.transaction.beside(&context.database.transactions, None);
    for table in tables.values() {
        for check in table.rules().checks.iter().filter(|check| check.is_valid) {
            Box::pin(validate(context, table, check, &look)).await?;
        }
    }
    Ok(())
}

fn check_free(existing: Option<Entry>) -> Result<(), Error> {
    match existing {
        None => Ok(()),
        Some(existing) => Err(Error::exists(format!(
            "{} {} exists already; drop it first, or import into an empty database",
            existing.kind(),
            existing.name()
        ))),
    }
}

fn check_no_sequence(existing: Option<Arc<Sequence>>) -> Result<(), Error> {
    match existing {
        None => Ok(()),
        Some(existing) => Err(Error::exists(format!(
            "sequence {} exists already; drop it first, or import into an empty database",
            existing.name
        ))),
    }
}

type Schemas = BTreeMap<String, Definition>;
type Views = BTreeMap<String, View>;
type Sequences = BTreeMap<String, Arc<Sequence>>;
type Types = BTreeMap<String, Arc<UserType>>;

/// What `schema.sql` makes.
#[derive(Default)]
struct Made {
    schemas: Schemas,
    views: Views,
    sequences: Sequences,
    /// Schemas in the sense of SQL.
    created: Vec<String>,
    /// Types of users.
    types: Types,
    comments: Vec<CommentStatement>,
}

/// The statements of an SQL file of the directory.
fn read_sql(path: &Path) -> Result<Vec<Parsed>, Error> {
    let text = fs::read_to_string(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Error::in_file(
            ErrorKind::NotFound,
            path,
            "there is no such file; name a directory that EXPORT DATABASE has written",
        ),
        _ => Error::io("read", path, &error),
    })?;
    let split = sql::split::split(&text);
    let parse = |sql: &String| sql::parse(sql).map_err(|error| in_file(path, &error));
    split.statements.iter().chain([&split.rest]).map(parse).collect()
}

fn in_file(path: &Path, error: &Error) -> Error {
    error.clone().with_file(&path.display().to_string())
}

fn read_schema(directory: &Path) -> Result<Made, Error> {
    let path = directory.join(SCHEMA_FILE);
    let Made { mut schemas, mut views, mut sequences, mut created, mut types, mut comments } = Made::default();
    for statement in read_sql(&path)? {
        let taken = match statement {
            Parsed::Empty => continue,
            Parsed::Sql(statement) => match *statement {
                Statement::CreateType { name, representation } => {
                    let made = user_types::enumeration(representation.as_ref());
                    let made = made.and_then(|made| Ok((names::relation(&name)?, made)));
                    let (name, made) = made.map_err(|error| in_file(&path, &error))?;
                    types.insert(name, Arc::new(made));
                    None
                }
                Statement::CreateTable(mut create) => {
                    for column in &mut create.columns {
                        let found = own_types::find(&types, innermost(&column.data_type).0);
                        let expanded = found.and_then(|found| own_types::expand(column, found));
                        expanded.map_err(|error| in_file(&path, &error))?;
                    }
                    let is_taken = |name: &str| schemas.contains_key(name) || sequences.contains_key(name);
                    let (name, definition) = table(&create, &is_taken).map_err(|error| in_file(&path, &error))?;
                    let own = definition.sequences.iter().map(|sequence| (sequence.name.clone(), Arc::clone(sequence)));
                    sequences.extend(own);
                    let earlier = schemas.insert(name.clone(), definition).is_some();
                    (earlier || views.contains_key(&name)).then_some(name)
                }
                Statement::CreateView(create) => {
                    let view = refuse::unless_reads_only(&create.query)
                        .and_then(|()| view::parsed(&create))
                        .map_err(|error| in_file(&path, &error))?;
                    let name = view.name.clone();
                    let earlier = views.insert(name.clone(), view).is_some();
                    (earlier || schemas.contains_key(&name)).then_some(name)
                }
                Statement::CreateSchema { schema_name: SchemaName::Simple(name), .. } => {
                    created.push(crate::statement::schemas::name_of(&name).map_err(|error| in_file(&path, &error))?);
                    None
                }
                Statement::CreateIndex(create) => {
                    add_index(&mut schemas, &create).map_err(|error| in_file(&path, &error))?;
                    None
                }
                Statement::Query(query) => match sequences::is_set(&query) {
                    Some(set) => {
                        set.apply(&sequences).map_err(|error| in_file(&path, &error))?;
                        None
                    }
                    None => return Err(foreign(&path, "a query", TAKEN)),
                },
                other => return Err(foreign(&path, &refuse::name(&other), TAKEN)),
            },
            Parsed::AlterTable(alter) => {
                references::add(&mut schemas, &alter).map_err(|error| in_file(&path, &error))?;
                None
            }
            Parsed::Domain(statement) => {
                let made = user_types::made_domain(*statement, &types).map_err(|error| in_file(&path, &error))?;
                types.insert(made.0, Arc::new(made.1));
                None
            }
            Parsed::Object(statement) => match *statement {
                ObjectStatement::Comment(comment) => {
                    comments.push(comment);
                    None
                }
                _ => return Err(foreign(&path, "this", TAKEN)),
            },
            Parsed::Sequence(statement) => {
                sequences::run(&mut sequences, &schemas, statement).map_err(|error| in_file(&path, &error))?
            }
            _ => return Err(foreign(&path, "COPY", TAKEN)),
        };
        if let Some(name) = taken {
            return Err(Error::in_file(ErrorKind::Invalid, &path, format!("{name} is made twice")));
        }
    }
    for view in views.values() {
        view::refuse_cycle(view, |name| views.get(name).map(|view| view.reads.clone()))?;
    }
    Ok(Made { schemas, views, sequences, created, types, comments })
}

/// Adds an index to those of the tables made so far.
fn add_index(schemas: &mut Schemas, create: &CreateIndex) -> Result<(), Error> {
    let name = names::relation(&create.table_name)?;
    let (schema, _) = names::parts(&name);
    let is_taken = |index: &str| {
        let has_it = |definition: &Definition| definition.rules.keys.iter().any(|key| key.name == index);
        schemas.iter().any(|(table, definition)| names::parts(table).0 == schema && has_it(definition))
    };
    let definition = schemas.get(&name).ok_or_else(|| Error::not_found(format!("table {name} does not exist")))?;
    let key = create::of_index(&name, definition.schema.columns(), create, is_taken)?;
    if is_taken(&key.name) {
        return Err(Error::exists(format!("index {} is made twice", key.name)));
    }
    schemas.entry(name).and_modify(|definition| definition.rules.keys.push(key));
    Ok(())
}

fn table(create: &CreateTable, is_taken: &dyn Fn(&str) -> bool) -> Result<(String, Definition), Error> {
    create::refuse_clauses(create)?;
    let name = names::relation(&create.name)?;
    if create.query.is_some() {
        return Err(Error::unsupported(format!("table {name}: CREATE TABLE AS does not belong here")));
    }
    let definition = create::definition(&name, &create.columns, &create.constraints, &create.table_options, is_taken)?;
    Ok((name, definition))
}

fn foreign(path: &Path, what: &str, expected: &str) -> Error {
    Error::unsupported(format!(
        "{}: {what} does not belong here, only {expected} do; run the file as a script instead",
        path.display()
    ))
}

/// A file of the directory and how to read it.
struct DataFile {
    path: PathBuf,
    options: Options,
}

fn read_load(directory: &Path, schemas: &Schemas) -> Result<BTreeMap<String, DataFile>, Error> {
    let path = directory.join(LOAD_FILE);
    let mut files = BTreeMap::new();
    for statement in read_sql(&path)? {
        let copy = match statement {
            Parsed::Empty => continue,
            Parsed::CopyFrom(copy) => *copy,
            Parsed::Sql(other) => return Err(foreign(&path, &refuse::name(&other), "COPY table FROM 'file'")),
            Parsed::CopyTo(_)
            | Parsed::CreateFrom(_)
            | Parsed::Export(_)
            | Parsed::Import(_)
            | Parsed::Sequence(_)
            | Parsed::AlterTable(_)
            | Parsed::Object(_)
            | Parsed::Domain(_)
            | Parsed::Checkpoint
            | Parsed::Backup(_)
            | Parsed::Summarize(_)
            | Parsed::Pivot(_)
            | Parsed::SchemaElements(_)
            | Parsed::SetConstraints(_)
            | Parsed::Notification(_)
            | Parsed::Role(_)
            | Parsed::Identity(_)
            | Parsed::Privilege(_)
            | Parsed::Cursor(_) => {
                return Err(foreign(&path, "this", "COPY table FROM 'file'"));
            }
        };
        let (name, file) = data_file(directory, copy).map_err(|error| in_file(&path, &error))?;
        if !schemas.contains_key(&name) {
            return Err(Error::in_file(
                ErrorKind::NotFound,
                &path,
                format!("table {name} is not made by {SCHEMA_FILE}"),
            ));
        }
        if files.insert(name.clone(), file).is_some() {
            return Err(Error::in_file(ErrorKind::Invalid, &path, format!("table {name} is loaded twice")));
        }
    }
    Ok(files)
}

fn data_file(directory: &Path, copy: CopyFrom) -> Result<(String, DataFile), Error> {
    let CopyFrom { table: name, columns, source, options, condition } = copy;
    let name = names::plain(&name);
    let (CopySource::Files(files), None) = (source, condition) else {
        return Err(Error::unsupported("only COPY table FROM 'file' belongs here"));
    };
    let [file] = files.as_slice() else {
        return Err(Error::unsupported("only COPY table FROM one file belongs here"));
    };
    if !columns.is_empty() {
        return Err(Error::unsupported(format!("COPY {name} must not name columns here")));
    }
    let options = Options::new(&options, Use::CopyFrom)?;
    let file = Path::new(file);
    let is_plain = matches!(file.components().collect::<Vec<_>>().as_slice(), [Component::Normal(_)]);
    if !is_plain {
        return Err(Error::invalid(format!(
            "{}: only files of the directory itself can be imported; use COPY FROM for others",
            file.display()
        )));
    }
    Ok((name, DataFile { path: directory.join(file), options }))
}

/// The relation of a table without rows.
fn empty(context: &Context<'_>, name: &str, schema: Schema, storage: TableStorage) -> Arc<Relation> {
    let relation = context.database.relation(name, schema);
    storage.apply(&relation);
    Arc::new(relation)
}

/// Makes the relation of one table and fills it.
async fn load(
    context: &Context<'_>,
    name: &str,
    (schema, storage): (Schema, TableStorage),
    file: &DataFile,
) -> Result<(Arc<Relation>, Report), Error> {
    let memory = Arc::clone(context.database.memory());
    let format = file.options.format.unwrap_or(Format::Csv);
    if format == Format::Native {
        return load_native(context, name, (schema, storage), file, memory).await;
    }
    let relation = empty(context, name, schema, storage);
    if format == Format::Csv {
        let report = copy::load_file(context, &relation, &file.path, &file.options).await?;
        return Ok((relation, report));
    }
    let bytes_read = fs::metadata(&file.path).map_err(|error| Error::io("read", &file.path, &error))?.len();
    let queries = &context.database.queries;
    let rows = queries.read_parquet(&file.path, relation.schema(), context.control).await?;
    let rows = queries.append(rows, &relation, None, context.control).await?;
    Ok((relation, Report { rows, bytes_read, ..Report::default() }))
}

async fn load_native(
    context: &Context<'_>,
    name: &str,
    (schema, storage): (Schema, TableStorage),
    file: &DataFile,
    memory: Arc<Memory>,
) -> Result<(Arc<Relation>, Report), Error> {
    let threads = file.options.tuned(context.database.config.tuning()).threads;
    let path = file.path.clone();
    let (name, database) = (name.to_owned(), Arc::clone(context.database));
    blocking::run(context.control, move |control| {
        let watch = |bytes| {
            control.progress.add(bytes, 0);
            !control.is_cancelled()
        };
        let (relation, read) = native::read(&path, storage.storage, threads, &memory, &watch)?;
        if **relation.schema() != schema {
            return Err(Error::new(
                ErrorKind::Damaged,
                format!(
                    "{}: the columns in the file are not those that {SCHEMA_FILE} gives table {name}; export again",
                    path.display()
                ),
            ));
        }
        storage.apply(&relation);
        let report = Report { rows: read.rows, bytes_read: read.bytes_on_disk, ..Report::default() };
        Ok((Arc::new(database.adopt(&name, relation)?), report))
    })
    .await
}
