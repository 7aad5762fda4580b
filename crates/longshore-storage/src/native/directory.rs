//! The list of columns and blocks at the end of a file.
//!
//! It is trusted in two steps: its checksum says that its bytes are those that were written, and [`Unverified::verify`]
//! that they describe a relation and a file that can exist. Only then is memory allocated by what it says.

use longshore_value::numeric::Limit;
use longshore_value::times::DIGITS_MAX;

use crate::row_id::CHUNK_ROWS_MAX;
use crate::types::{Column, ColumnType, Schema, TimeType};
use crate::view::HEAP_BYTES_MAX;

use super::block::Block;
use super::error::Place;
use super::wire::{Malformed, Reader, Writer};

/// The blocks of one chunk.
#[derive(Debug)]
pub(super) struct ChunkEntry {
    /// Rows.
    pub(super) rows: u32,
    /// One block per column.
    pub(super) blocks: Vec<Block>,
}

impl ChunkEntry {
    /// Bytes of the chunk's heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        self.blocks.iter().map(Block::heap_bytes).fold(0, u64::saturating_add)
    }
}

/// The contents of a file.
#[derive(Debug)]
pub(super) struct Directory {
    /// The columns.
    pub(super) schema: Schema,
    /// The chunks, in row order.
    pub(super) chunks: Vec<ChunkEntry>,
}

/// A directory that has been parsed, not yet believed.
#[derive(Debug)]
pub(super) struct Unverified(Directory);

impl Directory {
    /// Rows of all chunks.
    pub(super) fn rows(&self) -> u64 {
        self.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum()
    }

    /// The least that the values take in memory. A file may have few bytes of many rows, if these are alike.
    pub(super) fn bytes_in_memory(&self) -> u64 {
        let physical = self.schema.all_columns().iter().map(|column| column.column_type.physical()).collect::<Vec<_>>();
        let blocks = self.chunks.iter().flat_map(|chunk| chunk.blocks.iter().zip(&physical));
        blocks.map(|(block, &physical)| block.bytes_in_memory(physical)).fold(0, u64::saturating_add)
    }

    /// The directory's bytes.
    pub(super) fn encode(schema: &Schema, chunks: &[ChunkEntry]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u32(schema.all_columns().len() as u32);
        for column in schema.all_columns() {
            writer.bytes(column.name.as_bytes());
            write_type(&mut writer, column.column_type);
            writer.u8(u8::from(column.nullable));
        }
        writer.u32(chunks.len() as u32);
        for chunk in chunks {
            writer.u32(chunk.rows);
            for block in &chunk.blocks {
                block.write(&mut writer);
            }
        }
        writer.into_bytes()
    }

    /// Parses the bytes of the directory of a file of this version.
    pub(super) fn parse(bytes: &[u8], version: u32) -> Result<Unverified, Malformed> {
        let mut reader = Reader::new(bytes);
        let count = reader.u32()? as usize;
        let mut columns = reader.vec(count, COLUMN_BYTES_MIN, "columns")?;
        for _ in 0..count {
            columns.push(read_column(&mut reader)?);
        }
        if !columns.is_sorted_by_key(Column::is_hidden) {
            return Err(Malformed::new("a column that statements see stands behind a hidden one"));
        }
        let count = reader.u32()? as usize;
        let mut chunks = reader.vec(count, 4 + columns.len() * Block::BYTES_MIN, "chunks")?;
        for _ in 0..count {
            let rows = reader.u32()?;
            let blocks = columns
                .iter()
                .map(|column: &Column| Block::read(&mut reader, column.column_type, rows, version))
                .collect::<Result<Vec<_>, _>>()?;
            chunks.push(ChunkEntry { rows, blocks });
        }
        if reader.remaining() > 0 {
            return Err(Malformed::new(format!("{} bytes too many", reader.remaining())));
        }
        Ok(Unverified(Directory { schema: Schema::new(columns), chunks }))
    }
}

impl Unverified {
    /// Checks that the blocks are possible and that they fill the file from `blocks_start` to `blocks_end` without gap
    /// or overlap, so that no byte of the file goes unchecked.
    pub(super) fn verify(self, blocks_start: u64, blocks_end: u64) -> Result<Directory, (Place, Malformed)> {
        let Unverified(directory) = self;
        let mut extents = Vec::new();
        for (number, chunk) in directory.chunks.iter().enumerate() {
            let in_directory = |malformed| (Place::Directory, malformed);
            if chunk.rows == 0 || chunk.rows as usize > CHUNK_ROWS_MAX {
                return Err(in_directory(Malformed::new(format!("chunk {number} has {} rows", chunk.rows))));
            }
            for (column, block) in directory.schema.all_columns().iter().zip(&chunk.blocks) {
                block
                    .verify(column, chunk.rows)
                    .map_err(|malformed| (Place::Block { chunk: number, column: column.name.clone() }, malformed))?;
                extents.push((block.offset, block.bytes));
            }
            let heap_bytes = chunk.heap_bytes();
            if heap_bytes > HEAP_BYTES_MAX as u64 {
                return Err(in_directory(Malformed::new(format!("chunk {number} has {heap_bytes} bytes of text"))));
            }
        }
        // Empty blocks lie where a block ends, so they sort in front of the one that begins there.
        extents.sort_unstable();
        let end = extents.iter().try_fold(
            blocks_start,
            |end, &(offset, bytes)| {
                if offset == end { end.checked_add(bytes) } else { None }
            },
        );
        if end != Some(blocks_end) {
            return Err((Place::Directory, Malformed::new("the blocks do not fill the file exactly")));
        }
        Ok(directory)
    }
}

/// The tag of arrays, whose element's type follows.
const ARRAY: u8 = 26;

/// The tag of types of times with a precision.
const ROUNDED: u8 = 29;

/// The types of times that may have one, by their numbers in the parameter.
const TIME_TYPES: [TimeType; 5] =
    [TimeType::Time, TimeType::TimeTz, TimeType::Timestamp, TimeType::TimestampTz, TimeType::Interval];

/// The fewest bytes of a column in the directory: an empty name, its type, whether it is nullable.
const COLUMN_BYTES_MIN: usize = 4 + 5 + 1;

fn write_type(writer: &mut Writer, column_type: ColumnType) {
    let (tag, parameter) = match column_type {
        ColumnType::Boolean => (0, 0),
        ColumnType::SmallInt => (1, 0),
        ColumnType::Integer => (2, 0),
        ColumnType::BigInt => (3, 0),
        ColumnType::Real => (4, 0),
        ColumnType::Double => (5, 0),
        ColumnType::Decimal { precision, scale } => (6, u32::from(precision) << 8 | u32::from(scale)),
        ColumnType::Char(length) => (7, length),
        ColumnType::Varchar(length) => (8, length),
        ColumnType::Text => (9, 0),
        ColumnType::Date => (10, 0),
        ColumnType::Time => (11, 0),
        ColumnType::Timestamp => (12, 0),
        ColumnType::TimestampTz => (13, 0),
        ColumnType::Uuid => (30, 0),
        ColumnType::Bytea => (15, 0),
        ColumnType::TimeTz => (27, 0),
        ColumnType::Interval => (28, 0),
        ColumnType::Rounded(of, digits) => (ROUNDED, (of as u32) << 8 | u32::from(digits)),
        ColumnType::Json => (24, 0),
        ColumnType::Jsonb => (25, 0),
        ColumnType::Array(_, dimensions) => (ARRAY, dimensions.into()),
        ColumnType::Numeric(None) => (16, 0),
        ColumnType::Numeric(Some(Limit { precision, scale })) => {
            (17, u32::from(precision) << 16 | u32::from(scale as u16))
        }
    };
    writer.u8(tag);
    writer.u32(parameter);
    if let ColumnType::Array(element, _) = column_type {
        write_type(writer, *element);
    }
}

fn read_type(reader: &mut Reader<'_>) -> Result<ColumnType, Malformed> {
    let (tag, parameter) = (reader.u8()?, reader.u32()?);
    if tag == ARRAY {
        let element = read_type(reader)?;
        let is_array = matches!(element, ColumnType::Array(..));
        let array = (0..parameter).try_fold(element, |inner, _| if parameter > 6 { None } else { inner.array() });
        return match array.filter(|_| !is_array && parameter > 0) {
            Some(array) => Ok(array),
            None => Err(Malformed::new(format!("an array of {parameter} dimensions is not a column type"))),
        };
    }
    Ok(match (tag, parameter) {
        (0, 0) => ColumnType::Boolean,
        (1, 0) => ColumnType::SmallInt,
        (2, 0) => ColumnType::Integer,
        (3, 0) => ColumnType::BigInt,
        (4, 0) => ColumnType::Real,
        (5, 0) => ColumnType::Double,
        (6, _) if matches!(parameter >> 8, 1..=38) && parameter & 0xFF <= parameter >> 8 => {
            ColumnType::Decimal { precision: (parameter >> 8) as u8, scale: parameter as u8 }
        }
        (7, length) => ColumnType::Char(length),
        (8, length) => ColumnType::Varchar(length),
        // 14 is a UUID, when it was stored as its text.
        (9 | 14, 0) => ColumnType::Text,
        (10, 0) => ColumnType::Date,
        (11, 0) => ColumnType::Time,
        (12, 0) => ColumnType::Timestamp,
        (13, 0) => ColumnType::TimestampTz,
        (30, 0) => ColumnType::Uuid,
        (15, 0) => ColumnType::Bytea,
        (27, 0) => ColumnType::TimeTz,
        (28, 0) => ColumnType::Interval,
        (ROUNDED, _)
            if parameter & 0xFF < u32::from(DIGITS_MAX)
                && let Some(of) = TIME_TYPES.get((parameter >> 8) as usize) =>
        {
            ColumnType::Rounded(*of, parameter as u8)
        }
        (24, 0) => ColumnType::Json,
        (25, 0) => ColumnType::Jsonb,
        (16, 0) => ColumnType::Numeric(None),
        (17, _) if let Some(limit) = Limit::new((parameter >> 16).into(), i64::from(parameter as u16 as i16)) => {
            ColumnType::Numeric(Some(limit))
        }
        _ => return Err(Malformed::new(format!("{tag} with {parameter} is not a column type"))),
    })
}

fn read_column(reader: &mut Reader<'_>) -> Result<Column, Malformed> {
    let name = std::str::from_utf8(reader.bytes()?)
        .map_err(|_| Malformed::new("the name of a column is not UTF-8"))?
        .to_owned();
    let column_type = read_type(reader)?;
    let nullable = match reader.u8()? {
        0 => false,
        1 => true,
        other => {
            return Err(Malformed::new(format!("column {name} is neither nullable nor not: {other}")));
        }
    };
    Ok(Column { name, column_type, nullable })
}
