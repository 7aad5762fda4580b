//! Batches as `struct ArrowArrayStream`, and back.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use longshore_engine::{Error, doubles_of_decimals, schema_with_doubles};

use super::schema::broken;
use super::{CArray, CSchema, CStream};

/// What a stream returns where it cannot go on.
const EIO: c_int = 5;

/// Why there is no next batch.
pub(crate) struct Failure {
    /// The SQLSTATE, if it is an error of the engine.
    pub(crate) sqlstate: Option<String>,
    pub(crate) message: String,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { sqlstate: Some(error.kind().sqlstate().to_owned()), message: error.to_string() }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self { sqlstate: None, message }
    }
}

/// Batches that are made while they are read: all have `schema`.
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    pub(crate) next: Box<dyn FnMut() -> Option<Result<RecordBatch, Failure>> + Send>,
}

impl Batches {
    /// The same, where decimals are the nearest doubles.
    pub(crate) fn with_doubles(mut self) -> Self {
        let schema = schema_with_doubles(&self.schema);
        let to = Arc::clone(&schema);
        let made = move |batch: RecordBatch| doubles_of_decimals(&batch, &to).map_err(Failure::from);
        Self { schema, next: Box::new(move || (self.next)().map(|batch| batch.and_then(&made))) }
    }
}

/// What a stream of ours points to.
struct Kept {
    batches: Batches,
    failure: Option<Failure>,
    /// The message of the failure.
    error: CString,
    /// What a driver has told of it, which lives as long as the stream.
    told: Option<Box<dyn Any + Send>>,
}

impl Kept {
    fn fail(&mut self, failure: Failure) -> c_int {
        self.error = CString::new(failure.message.replace('\0', "")).unwrap_or_default();
        self.failure = Some(failure);
        EIO
    }
}

unsafe extern "C" fn release(stream: *mut CStream) {
    // SAFETY: the caller hands in a stream of ours that is not released, whose private data `CStream::new` has boxed.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Kept>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn get_schema(stream: *mut CStream, out: *mut CSchema) -> c_int {
    // SAFETY: as for `release`; nobody else uses the stream during a call.
    let kept = unsafe { &mut *(*stream).private_data.cast::<Kept>() };
    match CSchema::of_table(&kept.batches.schema) {
        Ok(schema) => {
            // SAFETY: the caller has room for a schema there, with nothing in it.
            unsafe { out.write(schema) };
            0
        }
        Err(error) => kept.fail(Failure::from(error.to_string())),
    }
}

unsafe extern "C" fn get_next(stream: *mut CStream, out: *mut CArray) -> c_int {
    // SAFETY: as for `release`; nobody else uses the stream during a call.
    let kept = unsafe { &mut *(*stream).private_data.cast::<Kept>() };
    let array = match (kept.batches.next)() {
        Some(Ok(batch)) => CArray::of_batch(&batch),
        Some(Err(failure)) => return kept.fail(failure),
        None => CArray::released(),
    };
    // SAFETY: the caller has room for an array there, with nothing in it.
    unsafe { out.write(array) };
    0
}

unsafe extern "C" fn get_last_error(stream: *mut CStream) -> *const c_char {
    // SAFETY: as for `release`.
    unsafe { (*(*stream).private_data.cast::<Kept>()).error.as_ptr() }
}

impl CStream {
    /// These batches.
    pub(crate) fn new(batches: Batches) -> Self {
        let kept = Box::new(Kept { batches, failure: None, error: CString::default(), told: None });
        Self {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: Box::into_raw(kept).cast(),
        }
    }

    /// Calls `tell` with why a stream of ours cannot go on, and keeps what it makes as long as the stream; `None` where it can, or is
    /// not ours.
    ///
    /// # Safety
    /// `stream` is null or valid, and nobody else uses it meanwhile.
    pub(crate) unsafe fn told<'a, T: Any + Send>(
        stream: *mut Self,
        tell: impl FnOnce(&Failure) -> T,
    ) -> Option<&'a mut T> {
        // SAFETY: as the caller says.
        let stream = unsafe { stream.as_mut() }?;
        stream.release.filter(|known| std::ptr::fn_addr_eq(*known, release as unsafe extern "C" fn(*mut Self)))?;
        // SAFETY: the stream is ours and not released, so its private data is what `CStream::new` has boxed.
        let kept = unsafe { &mut *stream.private_data.cast::<Kept>() };
        kept.told = Some(Box::new(tell(kept.failure.as_ref()?)));
        kept.told.as_mut()?.downcast_mut()
    }

    fn failed(&mut self) -> ArrowError {
        let text = self.get_last_error.map(|get_last_error| {
            // SAFETY: the stream is not released, and its last call has failed.
            unsafe { get_last_error(self) }
        });
        let text = text.filter(|text| !text.is_null()).map(|text| {
            // SAFETY: the specification has a string there that NUL ends, until the next call.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        });
        ArrowError::CDataInterface(text.unwrap_or_else(|| "the Arrow stream cannot be read".to_owned()))
    }
}

/// The batches of a stream of another library.
pub(crate) struct StreamReader {
    stream: CStream,
    schema: SchemaRef,
    is_done: bool,
}

impl StreamReader {
    /// Reads `stream`.
    ///
    /// # Safety
    /// It is a stream as the specification has it.
    pub(crate) unsafe fn new(mut stream: CStream) -> Result<Self, ArrowError> {
        let get_schema = stream.get_schema.filter(|_| stream.release.is_some());
        let get_schema = get_schema.ok_or_else(|| broken("the stream was read already"))?;
        let mut schema = CSchema::released();
        // SAFETY: the stream is not released, and the schema is room for one.
        if unsafe { get_schema(&raw mut stream, &raw mut schema) } != 0 {
            return Err(stream.failed());
        }
        let DataType::Struct(fields) = schema.data_type()? else {
            return Err(broken("it is one column and no table; make a table of it first"));
        };
        Ok(Self { stream, schema: Arc::new(Schema::new(fields)), is_done: false })
    }

    /// The columns of the batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let get_next = self.stream.get_next.ok_or_else(|| broken("the stream was read already"))?;
        let mut array = CArray::released();
        // SAFETY: the stream is not released, and the array is room for one.
        if unsafe { get_next(&raw mut self.stream, &raw mut array) } != 0 {
            return Err(self.stream.failed());
        }
        if array.is_released() {
            return Ok(None);
        }
        // SAFETY: the stream is as the specification has it, and so are its arrays, which have its schema.
        unsafe { array.batch(&self.schema) }.map(Some)
    }
}

impl Iterator for StreamReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let read = self.read();
        self.is_done = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}
