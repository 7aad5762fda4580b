//! EXPORT DATABASE: every table into a file of its own, and the SQL to make it all again.
//!
//! ```text
//! directory/
//!   lineitem.longshore   one file per table: .longshore, .csv or .parquet
//!   load.sql             COPY lineitem FROM 'lineitem.longshore' (FORMAT native);
//!   schema.sql           CREATE SEQUENCE ...; CREATE TABLE lineitem (...); SELECT setval(...); CREATE VIEW ...
//! ```
//! `schema.sql` is written last, so a directory without it is not an export. All is written beside the directory, which it
//! becomes when it is complete (`new_folder`): an export that fails leaves nothing, and OVERWRITE replaces last night's in one
//! step. Not here: the formats (`longshore-storage::native`, `longshore-load`, `datafusion`).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use longshore_load::{Target, TextCompression};
use longshore_storage::{Snapshot, Storage, native};

use crate::catalog::{
    Catalog, Check, ColumnRule, Commented, Entry, Origin, Owner, Role, Sequence, Table, UserType, View, is_temporary,
    kind_name,
};
use crate::sql::copy::ExportStatement;
use crate::sql::names;
use crate::sql::options::{Format, Options, Use};
use crate::statement::Context;
use crate::statement::new_folder::NewFolder;
use crate::statement::unload::{self, TableBatches};
use crate::{Error, Outcome, Report, blocking};

/// The file that makes tables and views.
pub(crate) const SCHEMA_FILE: &str = "schema.sql";

/// The file that says which file belongs to which table.
pub(crate) const LOAD_FILE: &str = "load.sql";

/// Bytes of a table's name that are kept in the name of its file.
const FILE_STEM_BYTES_MAX: usize = 100;

pub(crate) async fn export(context: &Context<'_>, statement: &ExportStatement) -> Result<Outcome, Error> {
    let options = Options::new(&statement.options, Use::Export)?;
    let format = options.format.unwrap_or(Format::Native);
    check_options(format, statement)?;
    refuse_file_name(&statement.directory)?;
    let extension = extension(format, &options)?;
    let started = Instant::now();
    let mut entries = context.entries();
    entries.retain(|entry| !is_temporary(entry.name()));
    let tables: Vec<(Arc<Table>, Arc<Snapshot>)> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Table(table) => Some((Arc::clone(table), context.transaction.snapshot(&table.relation))),
            Entry::View(_) => None,
        })
        .collect();
    let directory = NewFolder::create(Path::new(&statement.directory), options.overwrite, is_export)?;
    let mut load = String::new();
    let mut report = Report::default();
    let mut stems = BTreeSet::new();
    for (table, snapshot) in tables {
        let file = format!("{}.{extension}", file_stem(&names::shown_name(&table.name), &mut stems));
        let path = directory.path().join(&file);
        let written = match format {
            Format::Native => write_native(context, snapshot, path, &options).await?,
            Format::Csv => {
                let columns = (0..snapshot.schema().columns().len()).collect();
                let batches = TableBatches::new(snapshot, columns);
                unload::unload_table(context, batches, Target::File(path), &options).await?
            }
            // `extension` has refused all others.
            _ => context.database.queries.write_parquet(snapshot, &path, context.control).await?,
        };
        report.rows += written.rows;
        report.bytes_written += written.bytes_written;
        let how = match format {
            Format::Csv => options.to_read_back()?,
            format => format!("FORMAT {}", format.name()),
        };
        let _ = writeln!(load, "COPY {} FROM {} ({how});", names::quoted(&table.name), names::literal(&file));
    }
    write_file(&directory.path().join(LOAD_FILE), &load)?;
    write_file(&directory.path().join(SCHEMA_FILE), &schema_sql(&context.database.catalog, &entries))?;
    directory.keep()?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(Outcome::Done { tag: "EXPORT DATABASE".to_owned(), report, notice: None })
}

/// Endings of files that hold many others.
const ARCHIVES: [&str; 10] = ["zip", "tar", "gz", "tgz", "zst", "bz2", "xz", "7z", "parquet", "csv"];

/// Refuses to make a directory of a name that is that of one file.
fn refuse_file_name(directory: &str) -> Result<(), Error> {
    let ending = Path::new(directory).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ARCHIVES.contains(&ending.to_ascii_lowercase().as_str()) {
        return Err(Error::unsupported(format!(
            "EXPORT DATABASE '{directory}' makes a directory with a file for each table, not a file; name it without \
             .{ending}"
        )));
    }
    Ok(())
}

/// Options of CSV make no sense for other formats.
fn check_options(format: Format, statement: &ExportStatement) -> Result<(), Error> {
    let of_any = ["FORMAT", "THREADS", "OVERWRITE"];
    let other = statement.options.iter().find(|option| !of_any.contains(&option.name.as_str()));
    match other {
        Some(option) if format != Format::Csv => Err(Error::invalid(format!(
            "option {} has a meaning for FORMAT csv only; the format is {}",
            option.name,
            format.name()
        ))),
        _ => Ok(()),
    }
}

async fn write_native(
    context: &Context<'_>,
    snapshot: Arc<Snapshot>,
    path: PathBuf,
    options: &Options,
) -> Result<Report, Error> {
    let threads = options.tuned(context.database.config.tuning()).threads;
    blocking::run(context.control, move |control| {
        let watch = |bytes| {
            control.progress.add(bytes, 0);
            !control.is_cancelled()
        };
        let written = native::write(&path, &snapshot, threads, &watch)?;
        Ok(Report {
            rows: written.rows,
            bytes_written: written.bytes_on_disk,
            seconds: written.seconds,
            ..Report::default()
        })
    })
    .await
}

fn extension(format: Format, options: &Options) -> Result<&'static str, Error> {
    match format {
        Format::Native => Ok("longshore"),
        Format::Csv => Ok(match unload::compression(options)? {
            None => "csv",
            Some(TextCompression::Gzip) => "csv.gz",
            Some(TextCompression::Zstd) => "csv.zst",
        }),
        Format::Parquet => Ok("parquet"),
        other => Err(Error::unsupported(format!(
            "EXPORT DATABASE with FORMAT {} is not supported; the formats are native, csv and parquet",
            other.name()
        ))),
    }
}

/// A file name for a table that every file system takes, different from those in `taken`: letters, digits, `_` and `-`
/// stay, lower-case only; other bytes become `%` and two hexadecimal digits.
fn file_stem(table: &str, taken: &mut BTreeSet<String>) -> String {
    let mut stem = String::new();
    for byte in table.bytes() {
        if stem.len() >= FILE_STEM_BYTES_MAX {
            break;
        }
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-' {
            stem.push(char::from(byte));
        } else {
            let _ = write!(stem, "%{byte:02x}");
        }
    }
    let mut unique = stem.clone();
    let mut count = 1;
    while !taken.insert(unique.clone()) {
        count += 1;
        unique = format!("{stem}%{count}");
    }
    unique
}

fn schema_sql(catalog: &Catalog, entries: &[Entry]) -> String {
    let mut sql = String::new();
    let mut views = Vec::new();
    let mut sequences = catalog.sequences();
    sequences.retain(|sequence| !is_temporary(&sequence.name));
    let definitions = catalog.definitions(Clone::clone);
    for schema in &definitions.schemas {
        let _ = writeln!(sql, "CREATE SCHEMA {};", names::quoted(schema));
    }
    for (name, user_type) in &definitions.types {
        let _ = writeln!(sql, "{}", create_type_sql(name, user_type));
    }
    let of_identity: BTreeSet<String> = entries.iter().flat_map(identity_sequences).collect();
    // Defaults take numbers of them.
    for sequence in sequences.iter().filter(|sequence| !of_identity.contains(&sequence.name)) {
        let _ = writeln!(sql, "{}", sequence.create_sql());
    }
    for entry in entries {
        match entry {
            Entry::Table(table) => create_table_sql(&mut sql, catalog, table),
            Entry::View(view) => views.push(Arc::clone(view)),
        }
    }
    for entry in entries {
        if let Entry::Table(table) = entry {
            constraints_sql(&mut sql, table);
        }
    }
    for sequence in &sequences {
        sequence_state_sql(&mut sql, sequence, of_identity.contains(&sequence.name));
    }
    // A view comes after the views that it reads; there are no cycles.
    while !views.is_empty() {
        let names: BTreeSet<String> = views.iter().map(|view| view.name.clone()).collect();
        let (ready, waiting): (Vec<_>, Vec<_>) =
            views.into_iter().partition(|view| !view.reads.iter().any(|name| names.contains(name)));
        if ready.is_empty() {
            for view in &waiting {
                create_view_sql(&mut sql, view);
            }
            break;
        }
        for view in &ready {
            create_view_sql(&mut sql, view);
        }
        views = waiting;
    }
    for (on, text) in &definitions.comments {
        if let Some(on) = commented(on, entries) {
            let _ = writeln!(sql, "COMMENT ON {on} IS {};", names::literal(text));
        }
    }
    sql
}

fn create_type_sql(name: &str, user_type: &UserType) -> String {
    let name = names::quoted(name);
    match user_type {
        UserType::Enum(labels) => {
            let labels: Vec<String> = labels.iter().map(|label| names::literal(label)).collect();
            format!("CREATE TYPE {name} AS ENUM ({});", labels.join(", "))
        }
        UserType::Domain(domain) => {
            let mut sql = format!("CREATE DOMAIN {name} AS {}", domain.base);
            if let Some(default) = &domain.default {
                let _ = write!(sql, " DEFAULT {default}");
            }
            if domain.not_null {
                sql.push_str(" NOT NULL");
            }
            for (check, condition) in &domain.checks {
                let _ = write!(sql, " CONSTRAINT {} CHECK ({condition})", names::quoted(check));
            }
            sql + ";"
        }
    }
}

/// What a comment is about, as COMMENT ON says it.
fn commented(on: &Commented, entries: &[Entry]) -> Option<String> {
    let kind = |name: &str| match entries.iter().find(|entry| entry.name() == name) {
        Some(entry) => entry.kind().to_uppercase(),
        None => "SEQUENCE".to_owned(),
    };
    Some(match on {
        Commented::Database => format!("DATABASE {}", names::CATALOG),
        Commented::Schema(name) => format!("SCHEMA {}", names::quoted(name)),
        Commented::Type(name) => format!("TYPE {}", names::quoted(name)),
        Commented::Relation(of) | Commented::Index(of, _) | Commented::Column(of, _) | Commented::Constraint(of, _)
            if is_temporary(of) =>
        {
            return None;
        }
        Commented::Relation(name) => format!("{} {}", kind(name), names::quoted(name)),
        Commented::Index(of, name) => {
            format!("INDEX {}", names::quoted(&names::in_schema(names::parts(of).0, name)))
        }
        Commented::Column(of, name) => format!("COLUMN {}.{}", names::quoted(of), names::quoted(name)),
        Commented::Constraint(of, name) => format!("CONSTRAINT {} ON {}", names::quoted(name), names::quoted(of)),
    })
}

/// The names of the sequences of a table's identity columns.
fn identity_sequences(entry: &Entry) -> Vec<String> {
    let Entry::Table(table) = entry else { return Vec::new() };
    let rules = table.rules();
    let of_column = |rule: &ColumnRule| match &rule.origin {
        Origin::Identity { sequence, .. } => Some(sequence.clone()),
        Origin::Null | Origin::Default(_) | Origin::Generated(_) => None,
    };
    rules.columns.iter().filter_map(of_column).collect()
}

/// Whose a sequence is, and where it is at.
fn sequence_state_sql(sql: &mut String, sequence: &Sequence, is_identity: bool) {
    let (owner, fresh) = (sequence.owner(), sequence.is_fresh());
    // The sequence of an identity column is known by that column: it may get another name.
    let known_as = match &owner {
        Some(Owner { table, column }) if is_identity => {
            format!("pg_get_serial_sequence({}, {})", names::literal(&names::quoted(table)), names::literal(column))
        }
        _ => names::literal(&names::quoted(&sequence.name)),
    };
    if let Some(Owner { table, column }) = owner.filter(|_| !is_identity) {
        let (name, table, column) = (names::quoted(&sequence.name), names::quoted(&table), names::quoted(&column));
        let _ = writeln!(sql, "ALTER SEQUENCE {name} OWNED BY {table}.{column};");
    }
    if !fresh {
        let (value, is_called) = sequence.value();
        let _ = writeln!(sql, "SELECT setval({known_as}, {value}, {is_called});");
    }
}

fn create_table_sql(sql: &mut String, catalog: &Catalog, table: &Table) {
    let name = names::quoted(&table.name);
    let (columns, rules) = (table.relation.schema().columns(), table.rules());
    let mut parts: Vec<String> = Vec::new();
    for (at, (column, rule)) in columns.iter().zip(&rules.columns).enumerate() {
        let constraint = match &rule.not_null {
            Some(name) if !column.nullable => format!(" CONSTRAINT {}", names::quoted(name)),
            _ => String::new(),
        };
        let not_null = if column.nullable { "" } else { " NOT NULL" };
        let origin = rule.origin.sql(catalog, column.column_type);
        let column_type = rules.named_user_type(at).unwrap_or_else(|| column.column_type.to_string());
        parts.push(format!("{} {column_type}{constraint}{not_null}{origin}", names::quoted(&column.name)));
    }
    let own = rules.checks.iter().filter(|check| check.is_valid && check.user_type().is_none());
    parts.extend(own.map(Check::sql));
    let mut indexes = String::new();
    for key in &rules.keys {
        let key_name = names::quoted(&key.name);
        let (list, using) = (key.parts(columns), kind_name(key.index));
        match key.role {
            Role::Primary => parts.push(format!("CONSTRAINT {key_name} PRIMARY KEY {list}")),
            Role::Unique => parts.push(format!("CONSTRAINT {key_name} UNIQUE {list}")),
            Role::UniqueIndex | Role::Index => {
                let unique = if key.role.is_unique() { "UNIQUE " } else { "" };
                let _ = writeln!(indexes, "CREATE {unique}INDEX {key_name} ON {name} USING {using} {list};");
            }
        }
    }
    let storage = if table.relation.storage() == Storage::Plain { " WITH (storage = plain)" } else { "" };
    let unlogged = if table.relation.is_logged() { "" } else { "UNLOGGED " };
    let _ = writeln!(sql, "CREATE {unlogged}TABLE {name} (\n    {}\n){storage};", parts.join(",\n    "));
    sql.push_str(&indexes);
}

/// The foreign keys of a table, for when all tables are there, and checks that not all rows may pass.
fn constraints_sql(sql: &mut String, table: &Table) {
    let (columns, rules) = (table.relation.schema().columns(), table.rules());
    let checks = rules.checks.iter().filter(|check| !check.is_valid).map(Check::sql);
    for constraint in checks.chain(rules.references.iter().map(|reference| reference.sql(columns))) {
        let _ = writeln!(sql, "ALTER TABLE {} ADD {constraint};", names::quoted(&table.name));
    }
}

fn create_view_sql(sql: &mut String, view: &View) {
    let columns: Vec<String> = view.columns.iter().map(|column| names::quoted(column)).collect();
    let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    let _ = writeln!(sql, "CREATE VIEW {}{columns} AS {};", names::quoted(&view.name), view.sql);
}

/// Refuses to replace a directory that is no export.
fn is_export(directory: &Path) -> Result<(), Error> {
    if [SCHEMA_FILE, LOAD_FILE].iter().all(|file| directory.join(file).is_file()) {
        return Ok(());
    }
    Err(Error::exists(format!(
        "{}: the directory is not an export, which OVERWRITE would replace; name a new one, or empty it first",
        directory.display()
    )))
}

fn write_file(path: &Path, text: &str) -> Result<(), Error> {
    let write = || {
        let mut file = fs::File::create_new(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| Error::io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_plain_and_differ() {
        let mut taken = BTreeSet::new();
        let mut stem = |name: &str| file_stem(name, &mut taken);
        assert_eq!(stem("lineitem"), "lineitem");
        assert_eq!(stem("Line/item"), "%4cine%2fitem");
        assert_eq!(stem(".."), "%2e%2e");
        assert_eq!(stem("ä"), "%c3%a4");
        let long = "x".repeat(255);
        assert_eq!(stem(&long).len(), FILE_STEM_BYTES_MAX);
        assert_eq!(stem(&format!("{long}y")), format!("{}%2", "x".repeat(FILE_STEM_BYTES_MAX)));
    }
}
