//! Lineitem as a relation: its schema, and the one way in which workloads load it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use longshore_format::json::{Json, JsonPath, Layout};
use longshore_load::{Control, Dialect, InputFile, Source, TextFormat, TextOptions, Tuning, copy_from};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema, Storage};

use crate::Failure;
use crate::facts::{COLUMNS, Facts};
use crate::text::{Lineitem, NAMES, Text};

/// The types of the specification, decimals with this precision (18 digits or fewer are stored in 64 bits).
pub(crate) fn schema(precision: u8) -> Arc<Schema> {
    let decimal = ColumnType::Decimal { precision, scale: 2 };
    let types = [
        ColumnType::BigInt,
        ColumnType::Integer,
        ColumnType::Integer,
        ColumnType::Integer,
        decimal,
        decimal,
        decimal,
        decimal,
        ColumnType::Char(1),
        ColumnType::Char(1),
        ColumnType::Date,
        ColumnType::Date,
        ColumnType::Date,
        ColumnType::Char(25),
        ColumnType::Char(10),
        ColumnType::Varchar(44),
    ];
    let columns = NAMES.iter().zip(types).map(|(name, kind)| Column::new(*name, kind, false));
    Arc::new(Schema::new(columns.collect()))
}

/// The precision that the specification's money has.
pub(crate) const DECIMAL_PRECISION: u8 = 15;

/// How lineitem is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredAs {
    /// Digits of its decimals.
    pub(crate) precision: u8,
    pub(crate) storage: Storage,
}

impl StoredAs {
    /// As TPC-H has it, packed.
    pub(crate) const PACKED: StoredAs = StoredAs { precision: DECIMAL_PRECISION, storage: Storage::Packed };
    /// As TPC-H has it, plain.
    pub(crate) const PLAIN: StoredAs = StoredAs { storage: Storage::Plain, ..StoredAs::PACKED };
}

/// How a text is read.
pub(crate) fn options(text: Text) -> TextOptions {
    let layout = match text {
        Text::JsonLines => Layout::Lines,
        Text::JsonArray => Layout::Array,
        Text::Plain | Text::Quoted | Text::Crlf => return TextOptions::new(dialect(text)),
    };
    let json = Json::new(&NAMES.map(JsonPath::key), layout).expect("there are columns");
    TextOptions::of(TextFormat::Other(Arc::new(json)))
}

/// The dialect of a text of CSV.
pub(crate) fn dialect(text: Text) -> Dialect {
    Dialect::new(text.delimiter(), Some(b'"'), None).expect("the dialect is a valid one")
}

/// A file loaded into a fresh relation.
pub(crate) struct Loaded {
    /// The relation.
    pub(crate) relation: Relation,
    /// How long the load took.
    pub(crate) time: Duration,
}

/// Loads a file into a fresh relation whose blocks come from `memory`.
///
/// # Errors
///
/// When the load fails.
pub(crate) fn load(
    path: &Path,
    text: Text,
    stored_as: StoredAs,
    tuning: &Tuning,
    memory: &Arc<Memory>,
) -> Result<Loaded, Failure> {
    let relation = Relation::new(schema(stored_as.precision), Arc::clone(memory));
    relation.set_storage(stored_as.storage);
    let fields: Vec<usize> = (0..COLUMNS).collect();
    let started = Instant::now();
    let file = InputFile::opened(Source::open(path)?, &fields);
    copy_from(vec![file], &relation, &options(text), tuning, &Control::new())?;
    let time = started.elapsed();
    Ok(Loaded { relation, time })
}

/// Where the memory of a relation comes from.
#[derive(Clone, Debug)]
pub(crate) enum Blocks {
    /// From the relation before it, which was dropped: so it goes in a process that loads more than once.
    Recycled(Arc<Memory>),
    /// From the operating system, page by page: so it goes in the first load of a process.
    New,
}

impl Blocks {
    /// Memory that is recycled from now on.
    pub(crate) fn recycled() -> Blocks {
        Blocks::Recycled(Memory::new(None))
    }

    /// Both ways, the usual one first.
    pub(crate) fn both() -> [Blocks; 2] {
        [Blocks::recycled(), Blocks::New]
    }

    /// What is added to the name of a case.
    pub(crate) fn suffix(&self) -> &'static str {
        match self {
            Blocks::Recycled(_) => "",
            Blocks::New => ", new memory",
        }
    }

    /// Memory for one relation.
    pub(crate) fn memory(&self) -> Arc<Memory> {
        match self {
            Blocks::Recycled(memory) => Arc::clone(memory),
            Blocks::New => Memory::with_free_bytes_max(None, 0),
        }
    }
}

/// Loads, checks the relation against the facts, and returns the time of the load alone. The relation is dropped.
///
/// # Errors
///
/// When the load fails or the relation is wrong.
pub(crate) fn timed_load(
    file: &Lineitem,
    text: Text,
    stored_as: StoredAs,
    tuning: &Tuning,
    blocks: &Blocks,
) -> Result<Duration, Failure> {
    let loaded = load(&file.path, text, stored_as, tuning, &blocks.memory())?;
    file.facts.check(&Facts::of_snapshot(&loaded.relation.snapshot())?)?;
    Ok(loaded.time)
}
