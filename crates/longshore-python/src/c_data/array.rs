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
    let size = |number: i64| usize::try_from(number).map_err(|_| broken("a length is negative"));
    let (rows, offset) = (size(array.length)?, size(array.offset)?);
    let all = rows.checked_add(offset).ok_or_else(|| broken("a length is too large"))?;
    let count = size(array.n_buffers)?;
    if count > 0 && array.buffers.is_null() {
        return Err(broken("there are no buffers"));
    }
    let bytes_of =
        |values: usize, width: usize| values.checked_mul(width).ok_or_else(|| broken("a length is too large"));
    // The buffer `at`, which has so many bytes.
    let buffer = |at: usize, bytes: usize| {
        if at >= count {
            return Err(broken("a buffer is missing"));
        }
        // SAFETY: the specification has so many pointers there.
        let start = unsafe { *array.buffers.add(at) }.cast_mut().cast::<u8>();
        let Some(start) = NonNull::new(start).filter(|_| bytes > 0) else {
            return if bytes == 0 { Ok(None) } else { Err(broken("a buffer is missing")) };
        };
        // SAFETY: the specification has so many bytes there, until the array is released, which `owner` sees to.
        Ok(Some(unsafe { Buffer::from_custom_allocation(start, bytes, Arc::<CArray>::clone(owner)) }))
    };
    let some = |buffer: Option<Buffer>| buffer.unwrap_or_else(|| Buffer::from_vec(Vec::<u8>::new()));
    let of_type = layout(data_type);
    let first = usize::from(of_type.can_contain_null_mask);
    // SAFETY: the specification has so many pointers there.
    let has_validity = first == 1 && count > 0 && !unsafe { *array.buffers }.is_null() && array.null_count != 0;
    let nulls = if has_validity { buffer(0, all.div_ceil(8))? } else { None };
    let mut buffers = Vec::new();
    match data_type {
        DataType::Utf8 | DataType::Binary => {
            let offsets = some(buffer(first, if all == 0 { 0 } else { bytes_of(all + 1, 4)? })?);
            let end = last::<4>(&offsets).map_or(0, |bytes| i64::from(i32::from_ne_bytes(bytes)));
            buffers.extend([offsets, some(buffer(first + 1, size(end)?)?)]);
        }
        DataType::LargeUtf8 | DataType::LargeBinary => {
            let offsets = some(buffer(first, if all == 0 { 0 } else { bytes_of(all + 1, 8)? })?);
            let end = last::<8>(&offsets).map_or(0, i64::from_ne_bytes);
            buffers.extend([offsets, some(buffer(first + 1, size(end)?)?)]);
        }
        DataType::List(_) | DataType::Map(..) => {
            buffers.push(some(buffer(first, if all == 0 { 0 } else { bytes_of(all + 1, 4)? })?));
        }
        DataType::LargeList(_) => {
            buffers.push(some(buffer(first, if all == 0 { 0 } else { bytes_of(all + 1, 8)? })?));
        }
        DataType::Utf8View | DataType::BinaryView => {
            buffers.push(some(buffer(first, bytes_of(all, 16)?)?));
            let heaps = count.checked_sub(first + 2).ok_or_else(|| broken("a buffer is missing"))?;
            let lengths = buffer(count - 1, heaps * 8)?;
            for (heap, length) in lengths.iter().flat_map(|lengths| lengths.chunks_exact(8)).enumerate() {
                let length = i64::from_ne_bytes(length.try_into().map_err(|_| broken("a length is cut off"))?);
                buffers.push(some(buffer(first + 1 + heap, size(length)?)?));
            }
        }
        _ => {
            for (at, spec) in of_type.buffers.iter().enumerate() {
                let bytes = match spec {
                    BufferSpec::FixedWidth { byte_width, .. } => bytes_of(all, *byte_width)?,
                    BufferSpec::BitMap => all.div_ceil(8),
                    BufferSpec::VariableWidth | BufferSpec::AlwaysNull => {
                        return Err(broken(&format!("values of type {data_type} are not supported")));
                    }
                };
                buffers.push(some(buffer(first + at, bytes)?));
            }
        }
    }
    let child = |at: usize, data_type: &DataType| {
        if array.children.is_null() || at as i64 >= array.n_children {
            return Err(broken("a child is missing"));
        }
        // SAFETY: the specification has so many pointers to arrays there.
        let child = unsafe { (*array.children.add(at)).as_ref() }.ok_or_else(|| broken("a child is missing"))?;
        // SAFETY: the child is as the specification has it, like its parent.
        unsafe { read(child, owner, data_type) }
    };
    let children = match data_type {
        DataType::Struct(fields) => {
            fields.iter().enumerate().map(|(at, field)| child(at, field.data_type())).collect::<Result<_, _>>()?
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::Map(item, _) => vec![child(0, item.data_type())?],
        DataType::Dictionary(_, values) => {
            // SAFETY: it is null or points to an array, as above.
            let dictionary = unsafe { array.dictionary.as_ref() }.ok_or_else(|| broken("a dictionary is missing"))?;
            // SAFETY: as of children.
            vec![unsafe { read(dictionary, owner, values) }?]
        }
        _ => Vec::new(),
    };
    // Checks offsets, lengths and texts, so that what another library did wrong is an error here.
    ArrayData::builder(data_type.clone())
        .len(rows)
        .offset(offset)
        .null_bit_buffer(nulls)
        .buffers(buffers)
        .child_data(children)
        .align_buffers(true)
        .build()
}

/// The last `N` bytes.
fn last<const N: usize>(buffer: &Buffer) -> Option<[u8; N]> {
    buffer.last_chunk::<N>().copied()
}
