//! `longshore check`: every checksum, and whether catalog, rows, keys and constraints fit each other.
//!
//! It goes on behind damage and lists all of it. Constraints are checked by queries on a database that knows none of them, so
//! that no index and no optimizer takes for granted what is to be shown.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use longshore_storage::data_directory::{DataDirectory, LogEnd, LogEntry, Recovered};
use longshore_storage::disk::{Disk, SystemDisk};
use longshore_storage::{Relation, RelationId};

use super::constraints::{self, Constraints};
use super::{missing_rows, salvage};
use crate::catalog::{Image, Origin, Rules, fits};
use crate::sql::names;
use crate::{Config, Database, Error, ErrorKind};

/// What a check has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// All that is wrong, in words; nothing if the database is sound.
    pub problems: Vec<String>,
    /// Tables that are there.
    pub tables: usize,
    /// Rows of all of them.
    pub rows: u64,
    /// Block files that the database needs.
    pub files: usize,
    /// Records in the log, needed or not.
    pub records: u64,
}

impl Database {
    /// Checks the durable database in a directory, which nobody should have open for writing, and writes nothing.
    ///
    /// # Errors
    /// When there is no database, or memory runs out. Damage is no error here.
    pub async fn check_directory(path: &Path, config: Config) -> Result<CheckReport, Error> {
        Self::check_on(&(Arc::new(SystemDisk) as Arc<dyn Disk>), path, &config).await
    }

    /// The same on a disk that the caller brings, for tests that damage it.
    ///
    /// # Errors
    /// As [`Database::check_directory`].
    pub async fn check_on(disk: &Arc<dyn Disk>, path: &Path, config: &Config) -> Result<CheckReport, Error> {
        let mut report = CheckReport::default();
        let (database, salvaged) = match salvage(disk, path, config) {
            Ok(salvaged) => salvaged,
            Err(error) if error.kind() == ErrorKind::Damaged => {
                report.problems.push(format!("{error}; without it nothing else can be checked"));
                return Ok(report);
            }
            Err(error) => return Err(error),
        };
        report.files = salvaged.files;
        report.problems.extend(salvaged.damage.iter().map(ToString::to_string));
        check_log(disk, path, &mut report);
        let mut image = match Image::of(&salvaged.recovered) {
            Ok(image) => image,
            Err(error) => {
                report.problems.push(format!("the catalog: {error}"));
                return Ok(report);
            }
        };
        report.problems.extend(missing_rows(&salvaged.lost, &image.tables));
        let Recovered { mut relations, .. } = salvaged.recovered;
        let rules = take_rules(&mut image, &mut relations, &mut report);
        sequences(&image, &rules, &relations, &mut report);
        if let Err(error) = database.catalog.restore(image, relations, database.config.threads) {
            report.problems.push(format!("the catalog: {error}"));
            return Ok(report);
        }
        database.set_read_only();
        let mut session = database.session();
        for (name, rules) in &rules {
            let Some(table) = database.catalog.table(name) else { continue };
            let snapshot = table.relation.snapshot();
            report.tables += 1;
            report.rows += snapshot.rows();
            let found = constraints::check(&mut session, &Constraints { name, rules, snapshot: &snapshot }).await;
            report.problems.extend(found);
        }
        Ok(report)
    }
}

/// Checks the log as far back as it reaches.
fn check_log(disk: &Arc<dyn Disk>, path: &Path, report: &mut CheckReport) {
    let (mut records, mut problems, mut at) = (0, Vec::new(), None);
    let end = DataDirectory::dump_log(disk, path, None, &mut |entry| match entry {
        LogEntry::Record { start, .. } => {
            records += 1;
            at = Some(start);
        }
        LogEntry::Unread(problem) => {
            let start = at.unwrap_or_default();
            problems.push(format!("the log, the record at {start}: {problem}"));
        }
        LogEntry::Checkpoint(_) | LogEntry::Part(_) | LogEntry::OtherVersion(_) => {}
    });
    report.records = records;
    report.problems.append(&mut problems);
    let problem = match end {
        Ok(LogEnd::Clean(_) | LogEnd::Torn { .. }) => return,
        Ok(LogEnd::Damaged(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    if !report.problems.contains(&problem) {
        report.problems.push(problem);
    }
}

/// Takes the constraints and keys out of the catalog, and what has no rows or no table out of both.
fn take_rules(
    image: &mut Image,
    relations: &mut BTreeMap<RelationId, Relation>,
    report: &mut CheckReport,
) -> BTreeMap<String, Rules> {
    let mut rules = BTreeMap::new();
    relations.retain(|id, _| {
        let is_known = image.ledger == Some(*id) || image.tables.values().any(|table| table.relation == *id);
        if !is_known {
            report.problems.push(format!("relation {id} has rows, and no table in the catalog is it"));
        }
        is_known
    });
    image.tables.retain(|name, table| {
        let Some(relation) = relations.get(&table.relation) else {
            let table = (names::quoted(name), table.relation);
            report.problems.push(format!("table {}: there is no relation {}, which has its rows", table.0, table.1));
            return false;
        };
        if let Err(error) = fits(name, table, relation) {
            report.problems.push(format!("the catalog: {error}"));
            relations.remove(&table.relation);
            return false;
        }
        let columns = table.rules.columns.clone();
        let bare = Rules { columns, keys: Vec::new(), checks: Vec::new(), references: Vec::new() };
        rules.insert(name.clone(), std::mem::replace(&mut table.rules, bare));
        true
    });
    rules
}

/// That the owners of sequences are there, and the sequences of identity columns.
fn sequences(
    image: &Image,
    rules: &BTreeMap<String, Rules>,
    relations: &BTreeMap<RelationId, Relation>,
    report: &mut CheckReport,
) {
    for (name, sequence) in &image.sequences {
        let Some(owner) = &sequence.owner else { continue };
        let relation = image.tables.get(&owner.table).and_then(|table| relations.get(&table.relation));
        let has_column =
            |relation: &Relation| relation.schema().columns().iter().any(|column| column.name == owner.column);
        if !relation.is_some_and(has_column) {
            report.problems.push(format!(
                "sequence {}: it belongs to {}.{}, which is not there",
                names::quoted(name),
                names::quoted(&owner.table),
                names::quoted(&owner.column)
            ));
        }
    }
    for (name, rules) in rules {
        for rule in &rules.columns {
            let Origin::Identity { sequence, .. } = &rule.origin else { continue };
            if !image.sequences.contains_key(sequence) {
                let (table, sequence) = (names::quoted(name), names::quoted(sequence));
                report
                    .problems
                    .push(format!("table {table}: the sequence {sequence} of its identity column is not there"));
            }
        }
    }
}
