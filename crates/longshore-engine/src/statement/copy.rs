//! COPY FROM: files, standard input and queries to tables.
//!
//! All or nothing. Text without a condition goes straight into the table (`longshore-load`); whatever computes or
//! leaves out rows, and Parquet and Arrow files, goes through the planner as an INSERT would. Not here: parsing of the
//! statement (`sql::copy`) and of its options (`sql::options`), COPY TO (`unload`).

mod columns;
mod conflict;
mod load;
mod query;
mod rules;

use std::sync::Arc;
use std::time::Instant;

use longshore_load::Conflicts;
use longshore_source::FoundFile;
use longshore_storage::{Column, Merged, OnConflict, Schema};
use sqlparser::ast::{Expr, Query, SetExpr, Statement};

use columns::{check_fields, position};
pub(crate) use columns::{check_named, positions};
pub(crate) use load::load_file;
use load::run_load;
use query::{parsed_query, without_queries};
use rules::Followed;

use crate::catalog::{Entry, Rules, Table};
use crate::datafusion::{
    Appended, Appending, Columnar, FileKind, Filling, NamedSource, TextTable, Texts, Wanted, explain_load, find_files,
    kind_of, tell_repairs,
};
use crate::session::Streams;
use crate::sql::copy::{CopyFrom, CopySource};
use crate::sql::options::{CheckTime, ConflictChoice, Format, MergeMode, Options, Use};
use crate::sql::{self, Parsed, names};
use crate::statement::rejects::{self, Rejects};
use crate::statement::{Context, create_from, refuse};
use crate::{Error, Outcome, Report};

pub(crate) async fn copy_from(context: &Context<'_>, streams: &mut Streams, copy: CopyFrom) -> Result<Outcome, Error> {
    let is_query = matches!(copy.source, CopySource::Query(_));
    let options = Options::new(&copy.options, if is_query { Use::CopyQuery } else { Use::CopyFrom })?;
    if options.auto && context.database.catalog.get(&copy.table).is_none() {
        return create_from::copy_auto(context, streams, copy, options).await;
    }
    let table = table_of(context, &copy.table)?;
    check_named(&options, &copied(&table, &copy.columns)?)?;
    options.check_known_columns(&copy.table)?;
    let (report, notice) = match copy.source {
        CopySource::Query(query) => {
            let target = Target::new(table, &copy.columns, &options, Vec::new())?;
            target.append_query(context, query, &options).await?
        }
        CopySource::Stdin => {
            check_format(&options, FileKind::Text, "STDIN")?;
            let reader = streams.input.take().ok_or_else(|| {
                Error::unsupported("COPY FROM STDIN: no standard input was given to this session; copy from a file")
            })?;
            let texts = Texts::Reader("STDIN".to_owned(), reader);
            let target = Target::new(table, &copy.columns, &options, texts.further_columns(&options)?)?;
            target.append_text(context, texts, options, copy.condition).await?
        }
        CopySource::Files(names) => {
            let files = find_files(&names, &options.source)?;
            rejects::check_file(&options, &files)?;
            let mut kinds = Vec::with_capacity(files.len());
            for file in &files {
                let kind = kind_of(file, options.format)?;
                check_format(&options, kind, &file.location.to_string())?;
                kinds.push(kind);
            }
            if kinds.iter().all(|kind| *kind == FileKind::Text) {
                let texts = Texts::Files(files.clone());
                let target = Target::new(table, &copy.columns, &options, texts.further_columns(&options)?)?;
                let loaded = target.append_text(context, texts, options.clone(), copy.condition).await;
                loaded.map_err(|error| explain_load(error, &Texts::Files(files), &options))?
            } else {
                options.check_columnar()?;
                let target = Target::new(table, &copy.columns, &options, Vec::new())?;
                target.append_columnar(context, &files, &options, copy.condition).await?
            }
        }
    };
    Ok(Outcome::Done { tag: format!("COPY {}", report.rows), report, notice })
}

/// Compares the format that was asked for with what the file is.
pub(crate) fn check_format(options: &Options, kind: FileKind, name: &str) -> Result<(), Error> {
    let wanted = match options.format {
        None => return Ok(()),
        Some(Format::Native) => {
            return Err(Error::unsupported(
                "COPY with FORMAT native is not supported yet; use IMPORT DATABASE, or FORMAT csv",
            ));
        }
        Some(text) if text.is_text() => kind == FileKind::Text,
        Some(Format::Parquet) => kind == FileKind::Parquet,
        Some(_) => matches!(kind, FileKind::Arrow | FileKind::ArrowStream),
    };
    if wanted {
        return Ok(());
    }
    let format = options.format.map_or("csv", Format::name);
    Err(Error::invalid(format!(
        "{name}: FORMAT {format} was given, but this is {}; leave FORMAT out, or name the format that it has",
        kind.described()
    )))
}

/// The table that COPY loads.
fn table_of(context: &Context<'_>, name: &str) -> Result<Arc<Table>, Error> {
    match context.entry(name) {
        Some(Entry::Table(table)) => Ok(table),
        Some(Entry::View(_)) => Err(Error::invalid(format!("{name} is a view; COPY FROM loads tables only"))),
        None => Err(Error::not_found(format!("table {name} does not exist; create it first"))),
    }
}

/// The names of the columns that a statement copies: all if it names none.
fn copied<'a>(table: &'a Table, columns: &[String]) -> Result<Vec<&'a str>, Error> {
    let schema = table.relation.schema();
    let places = positions(&table.name, schema, columns)?;
    Ok(places.into_iter().map(|place| schema.columns()[place].name.as_str()).collect())
}

/// Where COPY puts rows.
struct Target {
    table: Arc<Table>,
    /// The column of each field.
    fields: Vec<usize>,
    /// What goes into columns that no field goes to.
    fillings: Vec<(usize, Filling)>,
    /// Whether the statement names columns.
    names_columns: bool,
    rules: Arc<Rules>,
}

impl Target {
    /// The table's `columns`, or all of them if none is named; `further` are what the options ask for beside the fields
    /// of the files.
    fn new(
        table: Arc<Table>,
        columns: &[String],
        options: &Options,
        further: Vec<(Column, Filling)>,
    ) -> Result<Self, Error> {
        let (name, schema) = (&table.name, table.relation.schema());
        let mut fields = positions(name, schema, columns)?;
        let mut fillings = Vec::new();
        let place_of = |column: &str, filling: &Filling| {
            position(name, schema, column).map_err(|error| {
                Error::new(error.kind(), format!("{column} is to take {}: {error}", filling.described()))
            })
        };
        for (column, filling) in further {
            let place = place_of(&column.name, &filling)?;
            if !columns.is_empty() && fields.contains(&place) {
                return Err(Error::invalid(format!(
                    "column {} is among the columns to copy, but it is to take {}; leave it out there",
                    column.name,
                    filling.described()
                )));
            }
            fields.retain(|field| *field != place);
            fillings.push((place, filling));
        }
        for (column, value) in options.defaults() {
            let filling = Filling::Value(value.to_owned());
            let place = place_of(column, &filling)?;
            if !fields.contains(&place) && !fillings.iter().any(|(filled, _)| *filled == place) {
                fillings.push((place, filling));
            }
        }
        let rules = table.rules();
        check_fields(name, schema, &rules, &fields, &fillings)?;
        Ok(Self { fields, fillings, names_columns: !columns.is_empty(), table, rules })
    }

    /// The columns that are copied.
    fn names(&self) -> Vec<&str> {
        let columns = self.table.relation.schema().columns();
        self.fields.iter().map(|field| columns[*field].name.as_str()).collect()
    }

    /// What becomes of rows whose key is there already.
    fn conflicts(&self, options: &Options) -> Result<Conflicts, Error> {
        let filled = self.fillings.iter().map(|(column, _)| *column);
        let columns: Vec<usize> = self.fields.iter().copied().chain(filled).collect();
        conflict::conflicts(&options.conflict, &self.table.name, &self.table.relation, &columns)
    }

    /// The same for rows that are no records of a text.
    fn conflicts_of_rows(&self, options: &Options) -> Result<OnConflict, Error> {
        if options.conflict.choice == ConflictChoice::Reject {
            return Err(Error::unsupported(
                "option ON_CONFLICT: reject is for texts that are loaded without a condition; keep_first leaves the same \
                 rows out",
            ));
        }
        if options.merge_mode == MergeMode::Interleaved {
            return Err(Error::unsupported(
                "option MERGE_MODE: interleaved is for texts that are loaded without a condition; leave it out",
            ));
        }
        Ok(self.conflicts(options)?.on)
    }

    /// The columns that fields go to, which stand at `places`.
    fn wanted<'a>(&'a self, places: &'a [usize], fillings: &'a [(usize, Filling)]) -> Wanted<'a> {
        let columns = self.table.relation.schema().columns();
        let columns = self.fields.iter().map(|field| &columns[*field]).collect();
        Wanted { columns, places, fillings, are_listed: self.names_columns }
    }

    async fn append_text(
        &self,
        context: &Context<'_>,
        texts: Texts,
        options: Options,
        condition: Option<Expr>,
    ) -> Result<(Report, Option<String>), Error> {
        check_named(&options, &self.names())?;
        let followed = if condition.is_none() { self.followed(context, options.rejects.dry_run)? } else { None };
        if let Some(Followed { fillings, mut rules }) = followed {
            rules.conflicts = self.conflicts(&options)?;
            let fillings: Vec<_> = self.fillings.iter().cloned().chain(fillings).collect();
            let wanted = self.wanted(&self.fields, &fillings);
            let work = Some(context.work);
            return run_load(context, &self.table.relation, &wanted, texts, options, rules, work).await;
        }
        if options.references == Some(CheckTime::Unified) {
            return Err(Error::unsupported(
                "option FOREIGN_KEYS: unified is for texts that are loaded as they are; with WHERE, and where values are \
                 computed or checked, foreign keys are checked when all rows are there",
            ));
        }
        let columns = self.table.relation.schema().columns();
        let filled = self.fillings.iter().map(|(column, _)| *column);
        let fields: Vec<usize> = self.fields.iter().copied().chain(filled).collect();
        let schema = Arc::new(Schema::new(fields.iter().map(|field| columns[*field].clone()).collect()));
        let name = texts.name();
        let places: Vec<usize> = (0..self.fields.len()).collect();
        let behind = self.fillings.iter().enumerate();
        let fillings: Vec<_> = behind.map(|(index, (_, filling))| (places.len() + index, filling.clone())).collect();
        let (inputs, text) = texts.plan(&options, &self.wanted(&places, &fillings), context.control)?;
        // The plan is run once, so that records are repaired as they come.
        let mut text = text.repairing().unwrap_or(text);
        let log = text.repair_log().cloned();
        let rejects = Rejects::new(context, &options)?;
        text.on_error = rejects.on_error.clone();
        let tuning = options.tuned(context.database.config.tuning());
        let text = TextTable::new(name, inputs, schema, text, tuning, context.database.memory());
        let source = NamedSource::Text(Box::new(TextTable { checks_all: true, ..text }));
        let all = Self {
            table: Arc::clone(&self.table),
            fields,
            fillings: Vec::new(),
            names_columns: self.names_columns,
            rules: Arc::clone(&self.rules),
        };
        let fields: Vec<String> = all.names().into_iter().map(str::to_owned).collect();
        let appended = all.append_source(context, source, &fields, &options, condition, &rejects).await?;
        if let Some(log) = log {
            tell_repairs(&log.summary(), context.control);
        }
        Ok(appended)
    }

    async fn append_columnar(
        &self,
        context: &Context<'_>,
        files: &[FoundFile],
        options: &Options,
        condition: Option<Expr>,
    ) -> Result<(Report, Option<String>), Error> {
        let files = Columnar::open(files, &options.source.open.store, context.database.memory())?;
        let fields = self.fields_of(&files)?;
        let bytes = files.bytes();
        context.control.progress.start(bytes);
        let shown = files.shown();
        let source = NamedSource::Columnar(files);
        let rejects = Rejects::new(context, options)?;
        let appended = self.append_source(context, source, &fields, options, condition, &rejects).await;
        let (report, notice) = appended.map_err(|error| error.of_file(&shown))?;
        Ok((Report { bytes_read: bytes, ..report }, notice))
    }

    /// The column of the file that each copied column takes its values from: the one of its name.
    fn fields_of(&self, files: &Columnar) -> Result<Vec<String>, Error> {
        let found: Vec<&str> = files.names().collect();
        let mut fields: Vec<String> = Vec::new();
        for name in self.names() {
            let alike: Vec<&&str> = found.iter().filter(|field| field.eq_ignore_ascii_case(name)).collect();
            let field = match (found.iter().find(|field| **field == name), alike.as_slice()) {
                (Some(exact), _) => exact,
                (None, [only]) => only,
                _ => {
                    return Err(Error::no_column(format!(
                        "{} has no column {name}; its columns are {}: name the columns to load, as in COPY {} (a, b) FROM",
                        files.shown(),
                        found.join(", "),
                        names::quoted(&self.table.name)
                    )));
                }
            };
            fields.push((*field).to_owned());
        }
        let left_over = found.iter().find(|field| !fields.iter().any(|used| used == **field));
        match left_over {
            Some(field) if !self.names_columns => Err(Error::invalid(format!(
                "{} has a column {field}, which table {} lacks; name the columns to load, as in COPY {} (a, b) FROM",
                files.shown(),
                self.table.name,
                names::quoted(&self.table.name)
            ))),
            _ => Ok(fields),
        }
    }

    /// Appends the rows of a file for which `condition` is true; `fields` of it are the columns that are copied.
    async fn append_source(
        &self,
        context: &Context<'_>,
        source: NamedSource,
        fields: &[String],
        options: &Options,
        condition: Option<Expr>,
        rejects: &Rejects,
    ) -> Result<(Report, Option<String>), Error> {
        let columns: Vec<String> = self.names().into_iter().map(names::quoted).collect();
        let renamed =
            fields.iter().zip(&columns).map(|(field, column)| format!("{} AS {column}", names::quoted(field)));
        let renamed = renamed.collect::<Vec<_>>().join(", ");
        let columns = columns.join(", ");
        let table = names::quoted(&self.table.name);
        let source_name = format!("{} (the file)", self.table.name);
        let sql = format!(
            "SELECT {columns} FROM (SELECT {renamed} FROM {}) AS {table} WHERE TRUE",
            names::quoted(&source_name)
        );
        let mut query = parsed_query(&sql)?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.selection = match condition {
                Some(condition) => Some(without_queries(condition)?),
                None => None,
            };
        }
        self.insert(context, query, Some((source_name, source)), options, rejects).await
    }

    async fn append_query(
        &self,
        context: &Context<'_>,
        query: Box<Query>,
        options: &Options,
    ) -> Result<(Report, Option<String>), Error> {
        refuse::unless_reads_only(&query)?;
        self.insert(context, query, None, options, &Rejects::new(context, options)?).await
    }

    /// Appends the rows of `query`, in which `source` stands for files.
    async fn insert(
        &self,
        context: &Context<'_>,
        query: Box<Query>,
        source: Option<(String, NamedSource)>,
        options: &Options,
        rejects: &Rejects,
    ) -> Result<(Report, Option<String>), Error> {
        self.check_rejects(rejects.on_error.stops())?;
        let started = Instant::now();
        let dry_run = options.rejects.dry_run;
        let appending = Appending {
            merge: options.merge,
            threads: options.threads,
            source,
            rejects: rejects.of_file(options),
            dry_run,
            conflict: self.conflicts_of_rows(options)?,
        };
        let columns: Vec<String> = self.names().into_iter().map(names::quoted).collect();
        let sql = format!("INSERT INTO {} ({}) SELECT 1", names::quoted(&self.table.name), columns.join(", "));
        let mut statement = match sql::parse(&sql)? {
            Parsed::Sql(statement) => statement,
            other => return Err(Error::internal(format!("an INSERT expected, found {other:?}"))),
        };
        if let Statement::Insert(insert) = statement.as_mut() {
            insert.source = Some(query);
        }
        let queries = &context.database.queries;
        let inserted = queries.insert(*statement, &self.table, appending, None, context.work, context.control).await;
        let inserted = inserted.map_err(|error| self.with_column_count(error))?;
        rejects.keep(context)?;
        let Appended { rows, updated, left_out, rejects } = inserted;
        let notice = rejects::told(&rejects, &options.rejects, rows, Some(&self.table.relation));
        let notice = conflict::told(Merged { inserted: rows, updated, left_out }, &options.conflict, notice);
        let rows = if dry_run { 0 } else { rows + updated };
        Ok((Report { rows, seconds: started.elapsed().as_secs_f64(), ..Report::default() }, notice))
    }

    /// The planner's error, with the numbers that it leaves out.
    fn with_column_count(&self, error: Error) -> Error {
        if !error.to_string().starts_with("Column count doesn't match") {
            return error;
        }
        Error::invalid(format!(
            "the query has not as many columns as are to be copied, {}: {}",
            self.fields.len(),
            self.names().join(", ")
        ))
    }
}
