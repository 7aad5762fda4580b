//! Arrays as `struct ArrowArray`, and back. Nothing is copied: both sides refer to the same buffers.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, RecordBatchOptions, StructArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, ScalarBuffer};
use arrow_data::{ArrayData, BufferSpec, layout};
use arrow_schema::{ArrowError, DataType, SchemaRef};

use super::CArray;
use super::schema::broken;

/// What an array of ours points to.
struct Kept {
    _buffers: Vec<Option<Buffer>>,
    pointers: Box<[*const c_void]>,
    children: Box<[*mut CArray]>,
    dictionary: *mut CArray,
}

unsafe extern "C" fn release(array: *mut CArray) {
    // SAFETY: the caller hands in an array of ours that is not released, whose private data `CArray::new` has boxed.
    let kept = unsafe { Box::from_raw((*array).private_data.cast::<Kept>()) };
    for child in kept.children.iter().chain(std::iter::once(&kept.dictionary)).filter(|child| !child.is_null()) {
        // SAFETY: `CArray::new` has boxed it, and nobody else frees it; what was taken out of it is released.
        drop(unsafe { Box::from_raw(*child) });
    }
    // SAFETY: as above.
    unsafe { (*array).release = None };
}

/// The validity bits of an array, where its other buffers begin.
fn validity(data: &ArrayData) -> Option<Buffer> {
    let nulls = data.nulls()?;
    if nulls.offset() == data.offset() {
        return Some(nulls.buffer().clone());
    }
    let mut bits = BooleanBufferBuilder::new(data.offset() + nulls.len());
    bits.append_n(data.offset(), true);
    bits.append_buffer(nulls.inner());
    Some(bits.finish().into_inner())
}

impl CArray {
    /// The rows of a batch.
    pub(crate) fn of_batch(batch: &RecordBatch) -> Self {
        Self::new(&StructArray::from(batch.clone()).into_data())
    }

    fn new(data: &ArrayData) -> Self {
        let of_type = layout(data.data_type());
        let mut buffers = Vec::with_capacity(data.buffers().len() + 2);
        if of_type.can_contain_null_mask {
            buffers.push(validity(data));
        }
        buffers.extend(data.buffers().iter().cloned().map(Some));
        if of_type.variadic {
            let lengths: Vec<i64> = data.buffers().iter().skip(1).map(|buffer| buffer.len() as i64).collect();
            buffers.push(Some(ScalarBuffer::from(lengths).into_inner()));
        }
        let at = |buffer: &Option<Buffer>| buffer.as_ref().map_or(std::ptr::null(), |buffer| buffer.as_ptr().cast());
        let boxed = |data: &ArrayData| Box::into_raw(Box::new(Self::new(data)));
        let (children, dictionary): (&[ArrayData], _) = match data.data_type() {
            DataType::Dictionary(..) => (&[], boxed(&data.child_data()[0])),
            _ => (data.child_data(), std::ptr::null_mut()),
        };
        let children: Box<[_]> = children.iter().map(boxed).collect();
        let pointers: Box<[_]> = buffers.iter().map(at).collect();
        let nulls = if *data.data_type() == DataType::Null { data.len() } else { data.null_count() };
        let mut kept = Box::new(Kept { _buffers: buffers, pointers, children, dictionary });
        Self {
            length: data.len() as i64,
            null_count: nulls as i64,
            offset: data.offset() as i64,
            n_buffers: kept.pointers.len() as i64,
            n_children: kept.children.len() as i64,
            buffers: kept.pointers.as_mut_ptr(),
            children: kept.children.as_mut_ptr(),
            dictionary,
            release: Some(release),
            private_data: Box::into_raw(kept).cast(),
        }
    }

    /// Whether there is no array: the end of a stream.
    pub(crate) fn is_released(&self) -> bool {
        self.release.is_none()
    }

    /// The rows that it has, with the columns of `schema`.
    ///
    /// # Safety
    /// It is an array of another library as the specification has it, with these columns.
    pub(crate) unsafe fn batch(self, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
        let data_type = DataType::Struct(schema.fields().clone());
        let owner = Arc::new(self);
        // SAFETY: as the caller says.
        let data = unsafe { read(&owner, &owner, &data_type) }?;
        let rows = StructArray::from(data);
        if rows.null_count() > 0 {
            return Err(broken("a row as a whole is NULL"));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(Arc::clone(schema), rows.columns().to_vec(), &options)
    }
}

/// The array `array`, whose buffers live as long as `owner`.
///
/// # Safety
/// It is as the specification has it, and of this type.
unsafe fn read(array: &CArray, owner: &Arc<CArray>, data_type: &DataType) -> Result<ArrayData, ArrowError> {
    let (rows, offset) = (size(array.length)?, size(array.offset)?);
    let all = rows.checked_add(offset).ok_or_else(|| broken("a length is too large"))?;
    let count = size(array.n_buffers)?;
    if count > 0 && array.buffers.is_null() {
        return Err(broken("there are no buffers"));
    }
    let foreign = Foreign { array, owner, all, count };
    let first = usize::from(layout(data_type).can_contain_null_mask);
    // Checks offsets, lengths and texts, so that what another library did wrong is an error here.
    ArrayData::builder(data_type.clone())
        .len(rows)
        .offset(offset)
        .null_bit_buffer(if first == 1 && count > 0 { foreign.validity()? } else { None })
        .buffers(foreign.buffers(first, data_type)?)
        .child_data(foreign.children(data_type)?)
        .align_buffers(true)
        .build()
}

fn size(number: i64) -> Result<usize, ArrowError> {
    usize::try_from(number).map_err(|_| broken("a length is negative or too large"))
}

/// An array of another library, as the specification has it.
struct Foreign<'a> {
    array: &'a CArray,
    owner: &'a Arc<CArray>,
    /// Rows from the begin of its buffers.
    all: usize,
    /// Buffers.
    count: usize,
}

impl Foreign<'_> {
    /// The buffer `at`, which has so many bytes.
    fn buffer(&self, at: usize, bytes: Option<usize>) -> Result<Buffer, ArrowError> {
        let bytes = bytes.ok_or_else(|| broken("a length is too large"))?;
        if at >= self.count {
            return Err(broken("a buffer is missing"));
        }
        if bytes == 0 {
            return Ok(Buffer::from_vec(Vec::<u8>::new()));
        }
        // SAFETY: the specification has `count` pointers there.
        let start = unsafe { *self.array.buffers.add(at) }.cast_mut().cast::<u8>();
        let start = NonNull::new(start).ok_or_else(|| broken("a buffer is missing"))?;
        // SAFETY: the specification has so many bytes there, until the array is released, which the owner sees to.
        Ok(unsafe { Buffer::from_custom_allocation(start, bytes, Arc::<CArray>::clone(self.owner)) })
    }

    /// The validity bits, if a value may be NULL.
    fn validity(&self) -> Result<Option<Buffer>, ArrowError> {
        // SAFETY: the specification has a pointer there.
        let is_there = !unsafe { *self.array.buffers }.is_null();
        (is_there && self.array.null_count != 0).then(|| self.buffer(0, Some(self.all.div_ceil(8)))).transpose()
    }

    /// Offsets of so many bytes each: one more than rows, or none.
    fn offsets(&self, at: usize, width: usize) -> Result<Buffer, ArrowError> {
        self.buffer(at, if self.all == 0 { Some(0) } else { (self.all + 1).checked_mul(width) })
    }

    /// The buffers of values, from `first` on.
    fn buffers(&self, first: usize, data_type: &DataType) -> Result<Vec<Buffer>, ArrowError> {
        Ok(match data_type {
            DataType::Utf8 | DataType::Binary => {
                let offsets = self.offsets(first, 4)?;
                let end = offsets.last_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes).into());
                vec![offsets, self.buffer(first + 1, Some(size(end)?))?]
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let offsets = self.offsets(first, 8)?;
                let end = offsets.last_chunk().map_or(0, |bytes| i64::from_ne_bytes(*bytes));
                vec![offsets, self.buffer(first + 1, Some(size(end)?))?]
            }
            DataType::List(_) | DataType::Map(..) => vec![self.offsets(first, 4)?],
            DataType::LargeList(_) => vec![self.offsets(first, 8)?],
            DataType::Utf8View | DataType::BinaryView => self.views(first)?,
            other => {
                let bytes = |spec: &BufferSpec| match spec {
                    BufferSpec::FixedWidth { byte_width, .. } => Ok(self.all.checked_mul(*byte_width)),
                    BufferSpec::BitMap => Ok(Some(self.all.div_ceil(8))),
                    BufferSpec::VariableWidth | BufferSpec::AlwaysNull => {
                        Err(broken(&format!("values of type {other} are not supported")))
                    }
                };
                let specs = layout(other).buffers;
                let buffers = specs.iter().enumerate().map(|(at, spec)| self.buffer(first + at, bytes(spec)?));
                buffers.collect::<Result<_, _>>()?
            }
        })
    }

    /// Views, and the heaps that they refer to; the last buffer has the lengths of these.
    fn views(&self, first: usize) -> Result<Vec<Buffer>, ArrowError> {
        let mut buffers = vec![self.buffer(first, self.all.checked_mul(16))?];
        let heaps = self.count.checked_sub(first + 2).ok_or_else(|| broken("a buffer is missing"))?;
        let lengths = self.buffer(self.count - 1, heaps.checked_mul(8))?;
        for (heap, length) in lengths.as_chunks::<8>().0.iter().enumerate() {
            buffers.push(self.buffer(first + 1 + heap, Some(size(i64::from_ne_bytes(*length))?))?);
        }
        Ok(buffers)
    }

    fn child(&self, at: usize, data_type: &DataType) -> Result<ArrayData, ArrowError> {
        if self.array.children.is_null() || at as i64 >= self.array.n_children {
            return Err(broken("a child is missing"));
        }
        // SAFETY: the specification has so many pointers to arrays there.
        let child = unsafe { (*self.array.children.add(at)).as_ref() }.ok_or_else(|| broken("a child is missing"))?;
        // SAFETY: the child is as the specification has it, like its parent.
        unsafe { read(child, self.owner, data_type) }
    }

    fn children(&self, data_type: &DataType) -> Result<Vec<ArrayData>, ArrowError> {
        match data_type {
            DataType::Struct(fields) => {
                fields.iter().enumerate().map(|(at, field)| self.child(at, field.data_type())).collect()
            }
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item)
            | DataType::Map(item, _) => Ok(vec![self.child(0, item.data_type())?]),
            DataType::Dictionary(_, values) => {
                // SAFETY: it is null or points to an array, as the specification has it.
                let dictionary = unsafe { self.array.dictionary.as_ref() };
                let dictionary = dictionary.ok_or_else(|| broken("a dictionary is missing"))?;
                // SAFETY: as of children.
                Ok(vec![unsafe { read(dictionary, self.owner, values) }?])
            }
            _ => Ok(Vec::new()),
        }
    }
}
