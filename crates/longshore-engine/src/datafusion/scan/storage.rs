//! What `storage('t')` shows: how each column of a table is kept, in how many bytes, and about how many distinct values it has.
//!
//! The rows are made when the plan is about to run, of the chunks that the transaction sees then. As for SHOW TABLES, they
//! count as a read of which rows there are. Not here: the call (`planning::storage`).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use longshore_load::Control;
use longshore_storage::{Chunk, PackedAs, Relation, Snapshot};

use crate::datafusion::errors::external;
use crate::transaction::StatementTransaction;
use crate::{Error, blocking};

/// Names and types of the columns.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("column_name", DataType::Utf8, false),
        Field::new("data_type", DataType::Utf8, false),
        // That of no chunk.
        Field::new("encoding", DataType::Utf8, true),
        Field::new("bytes", DataType::Int64, false),
        Field::new("bytes_if_plain", DataType::Int64, false),
        Field::new("rows", DataType::Int64, false),
        Field::new("packed_chunks", DataType::Int64, false),
        Field::new("plain_chunks", DataType::Int64, false),
        Field::new("n_distinct", DataType::Int64, false),
    ]))
});

/// The columns of a table as rows.
pub(in crate::datafusion) struct StorageTable {
    pub(in crate::datafusion) relation: Arc<Relation>,
    pub(in crate::datafusion) transaction: Arc<StatementTransaction>,
    pub(in crate::datafusion) control: Arc<Control>,
}

impl fmt::Debug for StorageTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageTable").finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for StorageTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.transaction.log_scan(&self.relation, &[], &[]);
        let snapshot = self.transaction.snapshot(&self.relation);
        let rows = blocking::run(&self.control, move |control| rows(&snapshot, control)).await.map_err(external)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![rows]], Arc::clone(&SCHEMA), projection.cloned())?)
    }
}

/// How a column is kept, all chunks together.
#[derive(Default)]
struct ColumnStorage {
    /// How many chunks have each encoding.
    encodings: HashMap<PackedAs, usize>,
    bytes: usize,
    bytes_if_plain: usize,
    packed_chunks: usize,
    plain_chunks: usize,
}

impl ColumnStorage {
    /// The encodings, that of the most chunks first, and how many have it unless all have the same; `None` if there is no
    /// chunk.
    fn described(&self) -> Option<String> {
        let mut encodings: Vec<(Reverse<usize>, String)> =
            self.encodings.iter().map(|(encoding, chunks)| (Reverse(*chunks), encoding.to_string())).collect();
        encodings.sort_unstable();
        match encodings.as_slice() {
            [] => None,
            [(_, only)] => Some(only.clone()),
            several => {
                let several = several.iter().map(|(Reverse(chunks), encoding)| format!("{encoding}: {chunks}"));
                Some(several.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn add(&mut self, chunk: &Chunk, column: usize) {
        let packed = chunk.packed(column);
        *self.encodings.entry(packed.map_or(PackedAs::Plain, |packed| packed.packed_as())).or_default() += 1;
        self.packed_chunks += usize::from(packed.is_some());
        self.plain_chunks += usize::from(packed.is_none());
    }
}

/// The rows for the columns of `snapshot`, in their order.
fn rows(snapshot: &Snapshot, control: &Control) -> Result<RecordBatch, Error> {
    let columns = snapshot.schema().columns();
    let mut kept: Vec<ColumnStorage> = columns.iter().map(|_| ColumnStorage::default()).collect();
    for piece in snapshot.pieces() {
        if control.is_cancelled() {
            return Err(Error::cancelled());
        }
        for (column, bytes) in piece.chunk().column_bytes().into_iter().enumerate().take(columns.len()) {
            kept[column].add(piece.chunk(), column);
            kept[column].bytes += bytes.stored;
            kept[column].bytes_if_plain += bytes.if_plain;
        }
    }
    let numbers = |number: &dyn Fn(&ColumnStorage) -> usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(kept.iter().map(|column| number(column) as i64)))
    };
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(columns.iter().map(|column| &column.name))),
        Arc::new(StringArray::from_iter_values(columns.iter().map(|column| column.column_type.to_string()))),
        Arc::new(kept.iter().map(ColumnStorage::described).collect::<StringArray>()),
        numbers(&|column| column.bytes),
        numbers(&|column| column.bytes_if_plain),
        numbers(&|_| snapshot.rows() as usize),
        numbers(&|column| column.packed_chunks),
        numbers(&|column| column.plain_chunks),
        Arc::new(Int64Array::from_iter_values((0..columns.len()).map(|column| snapshot.distinct_count(column) as i64))),
    ];
    RecordBatch::try_new(Arc::clone(&SCHEMA), arrays).map_err(|error| Error::internal(error.to_string()))
}
