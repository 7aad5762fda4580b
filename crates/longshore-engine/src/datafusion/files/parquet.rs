//! Tables as Parquet files, for EXPORT and IMPORT.
//!
//! A file holds the rows of one snapshot in order. Row groups are written one after the other, their columns in
//! parallel; row groups are read in parallel and handed on in order. Not here: queries over Parquet files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use datafusion::parquet::arrow::arrow_writer::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use futures::{Stream, StreamExt, TryStreamExt};
use longshore_load::Control;
use longshore_storage::{Schema, Snapshot};
use tokio::task::spawn_blocking;

use super::row_group::RowGroup;
use crate::{Error, ErrorKind, Report, RowStream};

/// Chunks of a row group: what a worker holds decoded when it reads one.
const ROW_GROUP_CHUNKS: usize = 4;
/// Rows of a batch that is read.
const READ_BATCH_ROWS: usize = 65_536;

/// Writes `snapshot` to the file `path`, with up to `threads` workers.
pub(in crate::datafusion) fn write(
    snapshot: &Snapshot,
    path: &Path,
    threads: usize,
    control: &Control,
) -> Result<Report, Error> {
    let start = Instant::now();
    let failed = |error| parquet_error(path, "write", &error);
    let schema = snapshot.schema().arrow();
    let file = File::create(path).map_err(|error| Error::io("create", path, &error))?;
    let level = ZstdLevel::try_new(1).map_err(failed)?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(level)).set_max_row_group_row_count(None).build();
    let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).map_err(failed)?;
    let (mut writer, factory) = writer.into_serialized_writer().map_err(failed)?;
    for (index, chunks) in snapshot.chunks().chunks(ROW_GROUP_CHUNKS).enumerate() {
        let array = |chunk: usize, column: usize| chunks[chunk].array(column, 0, chunks[chunk].rows());
        let group = RowGroup { schema: &schema, parts: chunks.len(), array, control };
        let columns = group.encode(&factory, index, threads).map_err(failed)?;
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        let mut target = writer.next_row_group().map_err(failed)?;
        for column in columns {
            column.append_to_row_group(&mut target).map_err(failed)?;
        }
        target.close().map_err(failed)?;
        let bytes = chunks.iter().map(|chunk| chunk.bytes() as u64).sum();
        let rows = chunks.iter().map(|chunk| chunk.rows() as u64).sum();
        control.progress.add(bytes, rows);
    }
    writer.finish().map_err(failed)?;
    Ok(Report {
        rows: snapshot.rows(),
        bytes_read: 0,
        bytes_written: writer.bytes_written() as u64,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The rows of the file `path`, in order, as rows of a table with `schema`.
pub(in crate::datafusion) async fn read(
    path: &Path,
    schema: &Schema,
    threads: usize,
    control: &Arc<Control>,
) -> Result<RowStream, Error> {
    let source: PathBuf = path.to_owned();
    let opened = spawn_blocking(move || {
        let file = File::open(&source).map_err(|error| Error::io("open", &source, &error))?;
        ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|error| parquet_error(&source, "read", &error))
    });
    let metadata = joined(opened.await)?;
    let target = schema.arrow();
    check_columns(path, metadata.schema(), &target)?;
    let groups = metadata.metadata().num_row_groups();
    let path: Arc<Path> = path.into();
    let reading = {
        let (target, control) = (Arc::clone(&target), Arc::clone(control));
        move |group| {
            let (path, metadata) = (Arc::clone(&path), metadata.clone());
            let (target, control) = (Arc::clone(&target), Arc::clone(&control));
            spawn_blocking(move || read_group(&path, metadata, group, &target, &control))
        }
    };
    Ok(RowStream::new(target, in_order(groups, threads, reading)))
}

fn in_order(
    groups: usize,
    threads: usize,
    reading: impl FnMut(usize) -> tokio::task::JoinHandle<Result<Vec<RecordBatch>, Error>> + Send + 'static,
) -> impl Stream<Item = Result<RecordBatch, Error>> + Send + 'static {
    futures::stream::iter((0..groups).map(reading))
        .buffered(threads)
        .map(joined)
        .map_ok(|batches| futures::stream::iter(batches.into_iter().map(Ok)))
        .try_flatten()
}

fn joined<T>(result: Result<Result<T, Error>, tokio::task::JoinError>) -> Result<T, Error> {
    result.unwrap_or_else(|error| Err(Error::internal(format!("a reader of a Parquet file failed: {error}"))))
}

fn read_group(
    path: &Path,
    metadata: ArrowReaderMetadata,
    group: usize,
    target: &SchemaRef,
    control: &Control,
) -> Result<Vec<RecordBatch>, Error> {
    let file = File::open(path).map_err(|error| Error::io("open", path, &error))?;
    let bytes = metadata.metadata().row_group(group).compressed_size() as u64;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)
        .with_row_groups(vec![group])
        .with_batch_size(READ_BATCH_ROWS)
        .build()
        .map_err(|error| parquet_error(path, "read", &error))?;
    let mut batches = Vec::new();
    let mut rows = 0;
    for batch in reader {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        let damaged = |error| Error::in_file(ErrorKind::Damaged, path, format!("cannot read: {error}"));
        let batch = batch.map_err(damaged)?;
        let columns = batch.columns().iter().zip(target.fields());
        let columns: Result<Vec<ArrayRef>, _> =
            columns.map(|(array, field)| to_type(array, field.data_type())).collect();
        let batch = columns.and_then(|columns| RecordBatch::try_new(Arc::clone(target), columns));
        let batch = batch.map_err(damaged)?;
        rows += batch.num_rows() as u64;
        batches.push(batch);
    }
    control.progress.add(bytes, rows);
    Ok(batches)
}

fn to_type(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, datafusion::arrow::error::ArrowError> {
    if array.data_type() == data_type { Ok(Arc::clone(array)) } else { cast(array, data_type) }
}

fn check_columns(path: &Path, found: &SchemaRef, expected: &SchemaRef) -> Result<(), Error> {
    let names = |schema: &SchemaRef| -> Vec<String> { schema.fields().iter().map(|f| f.name().clone()).collect() };
    let (found, expected) = (names(found), names(expected));
    if found == expected {
        return Ok(());
    }
    Err(Error::in_file(
        ErrorKind::Damaged,
        path,
        format!(
            "the file has the columns {} where the table has {}; export it again",
            found.join(", "),
            expected.join(", ")
        ),
    ))
}

fn parquet_error(path: &Path, action: &str, error: &ParquetError) -> Error {
    let kind = if action == "read" { ErrorKind::Damaged } else { ErrorKind::Io };
    Error::in_file(kind, path, format!("cannot {action}: {error}"))
}
