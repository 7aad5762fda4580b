//! The rows of a statement: a stream that works while it is read, or batches that are kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use longshore_engine::{BuiltinType, Error, RowStream, TextRows, Texts, TypeId, decimal_columns, is_null};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};

use crate::c_data::stream::{Batches, Failure};
use crate::runtime::{Home, Running, wait};
use crate::{capsule, errors, values};

/// A stream of rows that is read by whoever asks next.
type Shared = Arc<tokio::sync::Mutex<RowStream>>;

/// Where the rows are.
enum Source {
    /// They are made while they are read, and were not asked for yet.
    Stream(Shared),
    /// Some of them were read, and not kept.
    Reading(Shared),
    /// All of them.
    Kept(Kept),
}

/// All rows of a statement, with their columns, or of texts.
#[derive(Clone)]
enum Kept {
    Batches(SchemaRef, Arc<[RecordBatch]>),
    Texts(Arc<TextRows>),
}

impl Kept {
    fn schema(&self) -> SchemaRef {
        match self {
            Kept::Batches(schema, _) => Arc::clone(schema),
            Kept::Texts(texts) => Arc::clone(&texts.schema),
        }
    }

    fn row_count(&self) -> usize {
        match self {
            Kept::Batches(_, batches) => batches.iter().map(RecordBatch::num_rows).sum(),
            Kept::Texts(texts) => texts.row_count(),
        }
    }

    fn batch_count(&self) -> usize {
        match self {
            Kept::Batches(_, batches) => batches.len(),
            Kept::Texts(texts) => texts.batch_count(),
        }
    }

    fn batch(&self, at: usize) -> Result<RecordBatch, Error> {
        match self {
            Kept::Batches(_, batches) => Ok(batches[at].clone()),
            Kept::Texts(texts) => texts.batch(at),
        }
    }

    /// All batches, each made when it is read.
    fn batches(self) -> Batches {
        let (schema, mut at) = (self.schema(), 0..self.batch_count());
        let next = move || at.next().map(|at| self.batch(at).map_err(Failure::from));
        Batches { schema, next: Box::new(next) }
    }
}

/// The rows of a statement. Their columns, types and batches are those of Arrow; values that Arrow has no type for are texts,
/// and NUMERIC becomes decimals where all rows are kept.
#[pyclass(module = "longshore._longshore", frozen)]
pub(crate) struct Rows {
    /// The columns of rows that are not kept.
    schema: SchemaRef,
    types: Arc<[TypeId]>,
    source: Home<Arc<Mutex<Source>>>,
    running: Running,
    sql: Option<Arc<str>>,
}

/// Some rows of a statement, with their columns as arrays of Arrow.
#[pyclass(module = "longshore._longshore", frozen)]
pub(crate) struct Batch {
    batch: RecordBatch,
    types: Arc<[TypeId]>,
}

fn locked(source: &Mutex<Source>) -> MutexGuard<'_, Source> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Rows {
    /// Rows that are made while they are read. `running` has the control of their statement.
    pub(crate) fn of_stream(stream: RowStream, running: Running, sql: Arc<str>) -> Self {
        let (schema, types) = (Arc::clone(stream.schema()), stream.types());
        let source = Source::Stream(Arc::new(tokio::sync::Mutex::new(stream)));
        Self { schema, types, source: Home::new(Arc::new(Mutex::new(source))), running, sql: Some(sql) }
    }

    /// The rows of texts.
    pub(crate) fn of_texts(texts: TextRows) -> Self {
        let (schema, types) = (Arc::clone(&texts.schema), Arc::clone(&texts.types));
        let source = Home::new(Arc::new(Mutex::new(Source::Kept(Kept::Texts(Arc::new(texts))))));
        Self { schema, types, source, running: Running::default(), sql: None }
    }

    fn failed(&self, py: Python<'_>, error: &Error) -> PyErr {
        errors::of_engine(py, error, self.sql.as_deref())
    }

    /// All rows, which are kept from now on.
    fn kept(&self, py: Python<'_>) -> PyResult<Kept> {
        let source = Arc::clone(self.source.get(py)?);
        let stream = match &*locked(&source) {
            Source::Kept(kept) => return Ok(kept.clone()),
            Source::Stream(stream) => Arc::clone(stream),
            Source::Reading(_) => {
                return Err(errors::misuse(
                    py,
                    "some of these rows were read one after the other and not kept; execute the statement again, or keep all \
                     rows first, as with arrow()",
                ));
            }
        };
        let (schema, types) = (Arc::clone(&self.schema), Arc::clone(&self.types));
        let read = wait(py, &self.running, async move {
            let mut stream = stream.lock().await;
            // Another thread may have read them meanwhile.
            if let Source::Kept(kept) = &*locked(&source) {
                return Ok(kept.clone());
            }
            let mut batches = Vec::new();
            while let Some(batch) = stream.next().await {
                batches.push(batch?);
            }
            let (schema, batches) = decimal_columns(&schema, &types, &batches)?;
            let kept = Kept::Batches(schema, batches.into());
            *locked(&source) = Source::Kept(kept.clone());
            Ok(kept)
        })?;
        read.map_err(|error: Error| self.failed(py, &error))
    }

    /// What reads the rows one batch after the other, and keeps none; `None` if they are kept.
    fn streamed(&self, py: Python<'_>) -> PyResult<Option<Shared>> {
        let mut source = locked(self.source.get(py)?);
        let stream = match &*source {
            Source::Kept(..) => return Ok(None),
            Source::Stream(stream) | Source::Reading(stream) => Arc::clone(stream),
        };
        *source = Source::Reading(Arc::clone(&stream));
        Ok(Some(stream))
    }

    /// Whether all rows have to be known before the types of their columns are.
    fn has_numeric(&self) -> bool {
        let mut fields = self.schema.fields().iter().zip(&*self.types);
        fields.any(|(field, type_id)| name_of(type_id) == "numeric" && !field.data_type().is_decimal())
    }

    /// The columns as they are known now.
    fn columns(&self, py: Python<'_>) -> PyResult<SchemaRef> {
        Ok(match &*locked(self.source.get(py)?) {
            Source::Kept(kept) => kept.schema(),
            Source::Stream(_) | Source::Reading(_) => Arc::clone(&self.schema),
        })
    }
}

/// The name of a type in `pg_type`; of arrays with `[]`.
fn type_name(type_id: &TypeId) -> String {
    match BuiltinType::of_oid(type_id.oid) {
        Some((builtin, true)) => format!("{}[]", builtin.name),
        Some((builtin, false)) => builtin.name.to_owned(),
        None => "text".to_owned(),
    }
}

fn name_of(type_id: &TypeId) -> &'static str {
    BuiltinType::of_oid(type_id.oid).filter(|(_, is_array)| !is_array).map_or("", |(builtin, _)| builtin.name)
}

#[pymethods]
impl Rows {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The types of the columns: name in `pg_type`, OID, bytes of a value (-1 where they vary), modifier (-1 for none).
    #[getter]
    fn types(&self) -> Vec<(String, u32, i16, i32)> {
        self.types.iter().map(|of| (type_name(of), of.oid, of.length, of.modifier)).collect()
    }

    /// Whether all rows are kept.
    #[getter]
    fn is_kept(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(matches!(&*locked(self.source.get(py)?), Source::Kept(..)))
    }

    /// Reads all rows and keeps them; their number.
    fn keep(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.kept(py)?.row_count())
    }

    /// How many batches there are of all rows, which are kept.
    fn batch_count(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.kept(py)?.batch_count())
    }

    /// Batch `at` of all rows, which are kept.
    fn kept_batch(&self, py: Python<'_>, at: usize) -> PyResult<Batch> {
        let kept = self.kept(py)?;
        if at >= kept.batch_count() {
            return Err(PyIndexError::new_err(format!("there is no batch {at} of {}", kept.batch_count())));
        }
        let batch = py.detach(|| kept.batch(at)).map_err(|error| self.failed(py, &error))?;
        Ok(Batch { batch, types: Arc::clone(&self.types) })
    }

    /// The next batch of rows that are not kept; `None` behind the last one.
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<Batch>> {
        let Some(stream) = self.streamed(py)? else {
            return Err(errors::misuse(py, "these rows are kept"));
        };
        let next = wait(py, &self.running, async move { stream.lock().await.next().await })?;
        let batch = next.transpose().map_err(|error| self.failed(py, &error))?;
        Ok(batch.map(|batch| Batch { batch, types: Arc::clone(&self.types) }))
    }

    /// Arrow's stream of the rows: kept ones each time from the first, others once. With columns of NUMERIC all rows are read
    /// first, as the type of such a column depends on all its values.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may leave it to the consumer to cast.
        let _ = requested_schema;
        let is_read = matches!(&*locked(self.source.get(py)?), Source::Reading(_));
        if is_read {
            return Err(errors::misuse(py, "these rows were read already; execute the statement again"));
        }
        if self.has_numeric() {
            self.kept(py)?;
        }
        let Some(stream) = self.streamed(py)? else {
            return capsule::of_batches(py, self.kept(py)?.batches());
        };
        let running = self.running.clone();
        let next = move || {
            let stream = Arc::clone(&stream);
            let next = Python::try_attach(|py| wait(py, &running, async move { stream.lock().await.next().await }));
            match next {
                Some(Ok(batch)) => batch.map(|batch| batch.map_err(Failure::from)),
                Some(Err(raised)) => Some(Err(raised.to_string().into())),
                None => Some(Err("the interpreter is ending".to_owned().into())),
            }
        };
        capsule::of_batches(py, Batches { schema: Arc::clone(&self.schema), next: Box::new(next) })
    }

    /// Arrow's stream of all rows, which are kept, with decimals as the nearest doubles.
    fn stream_with_doubles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_batches(py, self.kept(py)?.batches().with_doubles())
    }

    /// Arrow's schema of the rows.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        if self.has_numeric() {
            self.kept(py)?;
        }
        capsule::of_schema(py, &*self.columns(py)?)
    }
}

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The rows from `start` to before `end`, each a tuple of Python's values.
    #[pyo3(signature = (start=0, end=usize::MAX))]
    fn rows<'py>(&self, py: Python<'py>, start: usize, end: usize) -> PyResult<Bound<'py, PyList>> {
        values::rows(py, &self.batch, &self.types, start, end)
    }

    /// The first rows as texts, as the shell shows them; `None` for NULL.
    fn texts(&self, limit: usize) -> Vec<Vec<Option<String>>> {
        let count = limit.min(self.batch.num_rows());
        let mut rows = vec![Vec::with_capacity(self.batch.num_columns()); count];
        for array in self.batch.columns() {
            let texts = Texts::new(array);
            for (row, cells) in rows.iter_mut().enumerate() {
                let shown = texts.as_ref().filter(|_| !is_null(array, row)).map(|texts| {
                    if let Some(values) = array.as_boolean_opt() {
                        return values.value(row).to_string();
                    }
                    let mut text = Vec::new();
                    texts.write(row, &mut text);
                    String::from_utf8_lossy(&text).into_owned()
                });
                cells.push(shown);
            }
        }
        rows
    }

    /// Arrow's schema and array of the rows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        capsule::of_batch(py, &self.batch)
    }

    /// Arrow's schema of the rows.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_schema(py, self.batch.schema_ref())
    }
}
