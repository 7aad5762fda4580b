//! What a record says, in words: a line for each change, for people who look into a log.
//!
//! Rows can only be read by the columns of their relation. Those are told by the item with which it joins or is altered, or by
//! who knows them from elsewhere ([`Describer::know`]).
//!
//! Not here: payloads of the layer above, which describes them itself; where records come from.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use longshore_value::numeric::Numeric;

use super::altered::{COMPUTED, FILLED, KEPT};
use super::error::ReplayProblem;
use super::item::{ItemKind, next_item};
use super::row::{ChangeKind, NextRow, ReadNullBits, columns, gone_rows, read_block};
use super::wire::Reader;
use crate::datum::Datum;
use crate::native::embedded::schema_of_bytes;
use crate::row_id::{CHUNK_ROWS_MAX, RowId};
use crate::show;
use crate::table::RelationId;
use crate::types::{Column, ColumnType, Schema};

/// Characters of a text, and bytes of a string of bytes, that are shown.
const SHOWN_MAX: usize = 40;

/// A part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described<'a> {
    /// A change, in words.
    Line(&'a str),
    /// Bytes of the layer above.
    Payload(&'a [u8]),
}

/// Describes records, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Describer {
    relations: BTreeMap<RelationId, (String, Arc<Schema>)>,
}

type Take<'a> = &'a mut dyn FnMut(Described<'_>);

impl Describer {
    /// Takes note of a relation.
    pub(crate) fn know(&mut self, id: RelationId, name: &str, schema: Schema) {
        self.relations.insert(id, (name.to_owned(), Arc::new(schema)));
    }

    /// Describes a record.
    ///
    /// # Errors
    ///
    /// Where it is none; `take` has what lies before that.
    pub(crate) fn record(&mut self, record: &[u8], take: Take<'_>) -> Result<(), ReplayProblem> {
        let mut reader = Reader::new(record);
        while let Some((kind, mut item)) = next_item(&mut reader)? {
            if kind == ItemKind::Payload {
                take(Described::Payload(item.take(item.len())?));
                continue;
            }
            let id = u32::try_from(item.number()?).map(RelationId);
            let id = id.map_err(|_| ReplayProblem::Malformed("no relation has such a number".to_owned()))?;
            match kind {
                ItemKind::Rows => self.rows(id, item, take)?,
                ItemKind::Created | ItemKind::CreatedUnlogged => {
                    let (name, schema) = named_schema(&mut item)?;
                    let how = if kind == ItemKind::Created { "joins" } else { "joins unlogged" };
                    take(Described::Line(&format!("relation {id} {how}: {name} ({})", shown_columns(&schema))));
                    self.know(id, &name, schema);
                }
                ItemKind::Dropped => {
                    let relation = self.shown(id);
                    take(Described::Line(&format!("{relation} goes")));
                    self.relations.remove(&id);
                }
                ItemKind::Altered => self.altered(id, item, take)?,
                ItemKind::Payload => {}
            }
        }
        Ok(())
    }

    fn shown(&self, id: RelationId) -> String {
        match self.relations.get(&id) {
            Some((name, _)) => format!("{name} (relation {id})"),
            None => format!("relation {id}"),
        }
    }

    fn rows(&self, id: RelationId, mut item: Reader<'_>, take: Take<'_>) -> Result<(), ReplayProblem> {
        let Some((_, schema)) = self.relations.get(&id) else {
            let bytes = item.len();
            let line = format!("relation {id}: changes of {bytes} bytes; what its columns are stands further back");
            take(Described::Line(&line));
            return Ok(());
        };
        let (relation, mut next, mut updated) = (self.shown(id), NextRow::default(), Vec::new());
        while !item.is_empty() {
            let (kind, row) = next.read(&mut item)?;
            let mut line = format!("{relation}: ");
            match kind {
                ChangeKind::Insert => {
                    let all: Vec<&Column> = schema.all_columns().iter().collect();
                    let _ = write!(line, "insert row {row}: {}", shown_values(&all, &mut item)?);
                }
                ChangeKind::Update | ChangeKind::UpdateAlike => {
                    if kind == ChangeKind::Update {
                        updated = columns(&mut item, schema.all_columns().len())?;
                    }
                    let changed: Vec<&Column> = updated.iter().map(|&column| &schema.all_columns()[column]).collect();
                    let _ = write!(line, "update row {row}: {}", shown_values(&changed, &mut item)?);
                }
                ChangeKind::Delete => {
                    let _ = write!(line, "delete row {row}");
                }
                ChangeKind::Truncate => {
                    let last = RowId(row.0 + CHUNK_ROWS_MAX as u64 - 1);
                    let _ = write!(line, "delete rows {row} to {last}");
                }
                ChangeKind::Chunk => {
                    let gone = gone_rows(row, &mut item)?.len();
                    let bytes = item.bytes()?.len();
                    let _ = write!(line, "insert rows from {row} on, packed in {bytes} bytes{}", but_for(gone));
                }
                ChangeKind::Block => {
                    let gone = gone_rows(row, &mut item)?.len();
                    let block = read_block(&mut item)?;
                    let _ = write!(
                        line,
                        "load rows from {row} on: {} bytes in blocks/{:016x}.blocks at offset {}{}",
                        block.bytes,
                        block.file,
                        block.offset,
                        but_for(gone)
                    );
                }
            }
            take(Described::Line(&line));
        }
        Ok(())
    }

    fn altered(&mut self, id: RelationId, mut item: Reader<'_>, take: Take<'_>) -> Result<(), ReplayProblem> {
        let (name, schema) = named_schema(&mut item)?;
        let before = self.shown(id);
        let mut computed = Vec::new();
        let mut origins = Vec::new();
        for column in schema.all_columns() {
            let shown = shown_column(column);
            match item.byte()? {
                KEPT => {
                    let from = item.count()?;
                    let from = match self.relations.get(&id).and_then(|(_, schema)| schema.all_columns().get(from)) {
                        Some(before) if before.name == column.name => String::new(),
                        Some(before) => format!(" (was {})", before.shown_name()),
                        None => format!(" (was column {from})"),
                    };
                    origins.push(format!("{shown}{from}"));
                }
                FILLED => origins.push(format!("{shown} = {}", shown_value_of(column, &mut item)?)),
                COMPUTED => {
                    computed.push(column);
                    origins.push(format!("{shown} (new)"));
                }
                other => return Err(ReplayProblem::Malformed(format!("{other} is not where a column comes from"))),
            }
        }
        take(Described::Line(&format!("{before} is altered: {name} ({})", origins.join(", "))));
        let mut next = NextRow::default();
        while !item.is_empty() {
            let (_, row) = next.read(&mut item)?;
            let values = shown_values(&computed, &mut item)?;
            take(Described::Line(&format!("{name} (relation {id}): row {row} has {values}")));
        }
        self.know(id, &name, schema);
        Ok(())
    }
}

fn named_schema(item: &mut Reader<'_>) -> Result<(String, Schema), ReplayProblem> {
    let name = String::from_utf8_lossy(item.bytes()?).into_owned();
    Ok((name, schema_of_bytes(item.bytes()?)?))
}

fn but_for(gone: usize) -> String {
    if gone == 0 { String::new() } else { format!(", but for {gone} of them") }
}

fn shown_columns(schema: &Schema) -> String {
    schema.all_columns().iter().map(shown_column).collect::<Vec<_>>().join(", ")
}

fn shown_column(column: &Column) -> String {
    format!("{} {}{}", column.shown_name(), column.column_type, if column.nullable { "" } else { " NOT NULL" })
}

/// A value that stands alone.
fn shown_value_of(column: &Column, item: &mut Reader<'_>) -> Result<String, ReplayProblem> {
    let mut nulls = ReadNullBits::begin(item, usize::from(column.nullable))?;
    let value = nulls.read(item, column)?;
    Ok(shown_value(value.datum(column.column_type), column.column_type))
}

/// The values of columns, in their order.
fn shown_values(columns: &[&Column], item: &mut Reader<'_>) -> Result<String, ReplayProblem> {
    let nullable = columns.iter().filter(|column| column.nullable).count();
    let mut nulls = ReadNullBits::begin(item, nullable)?;
    let mut shown = String::new();
    for column in columns {
        let value = nulls.read(item, column)?;
        let separator = if shown.is_empty() { "" } else { ", " };
        let value = shown_value(value.datum(column.column_type), column.column_type);
        let _ = write!(shown, "{separator}{} = {value}", column.shown_name());
    }
    Ok(shown)
}

/// A value as SQL spells it, if it is short.
fn shown_value(datum: Datum<'_>, column_type: ColumnType) -> String {
    let digits = match datum {
        Datum::I32(value) => i128::from(value),
        Datum::I64(value) => i128::from(value),
        Datum::I128(value) => value,
        Datum::Text(text) if text.chars().nth(SHOWN_MAX).is_some() => {
            let start: String = text.chars().take(SHOWN_MAX).collect();
            return format!("'{}'... ({} bytes)", start.escape_debug(), text.len());
        }
        Datum::Text(text) => return format!("'{}'", text.escape_debug()),
        Datum::Bytes(bytes) if bytes.len() > SHOWN_MAX && !matches!(column_type, ColumnType::Numeric(_)) => {
            return format!("{}... ({} bytes)", Datum::Bytes(&bytes[..SHOWN_MAX]), bytes.len());
        }
        Datum::Bytes(bytes) if matches!(column_type, ColumnType::Numeric(_)) => {
            return Numeric::of(bytes).map_or_else(|| datum.to_string(), |value| value.to_string());
        }
        other => return other.to_string(),
    };
    match column_type.unrounded() {
        ColumnType::Decimal { scale, .. } => show::Decimal(digits, scale).to_string(),
        ColumnType::Date => show::Date(digits as i64).to_string(),
        ColumnType::Time => show::Time(digits as i64).to_string(),
        ColumnType::Timestamp => show::Timestamp(digits as i64).to_string(),
        ColumnType::TimestampTz => format!("{}+00", show::Timestamp(digits as i64)),
        _ => digits.to_string(),
    }
}
