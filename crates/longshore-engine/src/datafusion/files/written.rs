//! Batches as one Parquet or Arrow file, for COPY TO.
//!
//! Row groups of Parquet are gathered, then encoded by all workers, a column at a time; an Arrow file is written as it comes.
//! Arrow's texts and bytes in views, which not every reader knows, become plain ones there.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use datafusion::parquet::basic::{Compression, GzipLevel, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use longshore_load::{Control, OpenTarget, Target};

use super::row_group::RowGroup;
use crate::{Error, ErrorKind, Report};

/// Rows of a row group, but for the last.
const ROW_GROUP_ROWS: usize = 1 << 18;
/// Bytes of arrays that are gathered for one, at most.
const ROW_GROUP_BYTES_MAX: usize = 256 << 20;

/// A format of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnarFormat {
    Parquet(ParquetCompression),
    Arrow,
}

/// What pages of Parquet are compressed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParquetCompression {
    None,
    Snappy,
    Gzip,
    Zstd,
    Lz4,
}

/// Writes all `batches` to `target`, with up to `threads` workers; a file that was there stays as it was until all is written.
///
/// # Errors
/// An error among the batches, a type that the format does not have, or a target that cannot be written.
pub(crate) fn write_columnar(
    batches: &mut dyn Iterator<Item = Result<RecordBatch, Error>>,
    schema: &SchemaRef,
    target: Target,
    format: ColumnarFormat,
    threads: usize,
    control: &Control,
) -> Result<Report, Error> {
    let started = Instant::now();
    let target = OpenTarget::open(target)?;
    let counted = Counted { target: &target, bytes: 0 };
    let written = match format {
        ColumnarFormat::Parquet(compression) => parquet(batches, schema, counted, compression, threads, control),
        ColumnarFormat::Arrow => arrow(batches, schema, counted, control),
    };
    match written {
        Ok((rows, bytes_written)) => {
            target.complete()?;
            Ok(Report { rows, bytes_written, seconds: started.elapsed().as_secs_f64(), ..Report::default() })
        }
        Err(error) => {
            target.discard();
            Err(error)
        }
    }
}

/// A target that counts what it takes.
struct Counted<'a> {
    target: &'a OpenTarget,
    bytes: u64,
}

impl std::io::Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.target.write_next(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The next batch with rows, unless the statement is cancelled.
fn next(
    batches: &mut dyn Iterator<Item = Result<RecordBatch, Error>>,
    control: &Control,
) -> Result<Option<RecordBatch>, Error> {
    loop {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        match batches.next().transpose()? {
            Some(batch) if batch.num_rows() == 0 => {}
            batch => return Ok(batch),
        }
    }
}

fn arrow(
    batches: &mut dyn Iterator<Item = Result<RecordBatch, Error>>,
    schema: &SchemaRef,
    target: Counted<'_>,
    control: &Control,
) -> Result<(u64, u64), Error> {
    let failed = |error: ArrowError| write_error(&error);
    let plain = Arc::new(without_views(schema));
    let mut writer = FileWriter::try_new(target, &plain).map_err(failed)?;
    let mut rows = 0;
    while let Some(batch) = next(batches, control)? {
        let columns = batch.columns().iter().zip(plain.fields()).map(|(array, field)| {
            if array.data_type() == field.data_type() { Ok(Arc::clone(array)) } else { cast(array, field.data_type()) }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let batch = RecordBatch::try_new(Arc::clone(&plain), columns).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
        rows += batch.num_rows() as u64;
        control.progress.add(batch.get_array_memory_size() as u64, batch.num_rows() as u64);
    }
    writer.finish().map_err(failed)?;
    let target = writer.into_inner().map_err(failed)?;
    Ok((rows, target.bytes))
}

/// The same columns with texts and bytes that are not in views.
fn without_views(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let data_type = match field.data_type() {
            DataType::Utf8View => DataType::Utf8,
            DataType::BinaryView => DataType::Binary,
            other => other.clone(),
        };
        Field::new(field.name(), data_type, field.is_nullable())
    });
    Schema::new(fields.collect::<Vec<_>>())
}

fn parquet(
    batches: &mut dyn Iterator<Item = Result<RecordBatch, Error>>,
    schema: &SchemaRef,
    target: Counted<'_>,
    compression: ParquetCompression,
    threads: usize,
    control: &Control,
) -> Result<(u64, u64), Error> {
    let failed = |error: ParquetError| write_error(&error);
    let compression = match compression {
        ParquetCompression::None => Compression::UNCOMPRESSED,
        ParquetCompression::Snappy => Compression::SNAPPY,
        ParquetCompression::Gzip => Compression::GZIP(GzipLevel::default()),
        ParquetCompression::Zstd => Compression::ZSTD(ZstdLevel::try_new(1).map_err(failed)?),
        ParquetCompression::Lz4 => Compression::LZ4_RAW,
    };
    let properties = WriterProperties::builder().set_compression(compression).set_max_row_group_row_count(None).build();
    // Readers take the types from Parquet itself.
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let writer = ArrowWriter::try_new_with_options(target, Arc::clone(schema), options).map_err(failed)?;
    let (mut writer, factory) = writer.into_serialized_writer().map_err(failed)?;
    let (mut rows, mut index) = (0, 0);
    let mut at_end = false;
    while !at_end {
        let mut group: Vec<RecordBatch> = Vec::new();
        let (mut group_rows, mut group_bytes) = (0, 0);
        while group_rows < ROW_GROUP_ROWS && group_bytes < ROW_GROUP_BYTES_MAX {
            let Some(batch) = next(batches, control)? else {
                at_end = true;
                break;
            };
            group_rows += batch.num_rows();
            group_bytes += batch.get_array_memory_size();
            group.push(batch);
        }
        if group.is_empty() {
            break;
        }
        let array = |batch: usize, column: usize| Arc::clone(group[batch].column(column));
        let group = RowGroup { schema, parts: group.len(), array, control };
        let columns = group.encode(&factory, index, threads).map_err(failed)?;
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        let mut written = writer.next_row_group().map_err(failed)?;
        for column in columns {
            column.append_to_row_group(&mut written).map_err(failed)?;
        }
        written.close().map_err(failed)?;
        control.progress.add(group_bytes as u64, group_rows as u64);
        rows += group_rows as u64;
        index += 1;
    }
    writer.finish().map_err(failed)?;
    Ok((rows, writer.bytes_written() as u64))
}

fn write_error(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write: {error}"))
}
