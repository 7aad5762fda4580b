//! Arrow's C data interface: the three structs by which programs in one process hand each other schemas, arrays and streams
//! without a copy, and how they become values of Arrow and back.
//!
//! The layouts are those of the specification (<https://arrow.apache.org/docs/format/CDataInterface.html>). Arrow's own
//! implementation is behind a feature that would have all of DataFusion compiled once more for this package alone; so the
//! part that we need is here. Not here: Python's capsules (`capsule`).

pub(crate) mod array;
pub(crate) mod schema;
pub(crate) mod stream;

use std::ffi::{c_char, c_int, c_void};

/// `struct ArrowSchema`.
#[repr(C)]
pub(crate) struct CSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut CSchema,
    dictionary: *mut CSchema,
    release: Option<unsafe extern "C" fn(*mut CSchema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
pub(crate) struct CArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut CArray,
    dictionary: *mut CArray,
    release: Option<unsafe extern "C" fn(*mut CArray)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
pub(crate) struct CStream {
    get_schema: Option<unsafe extern "C" fn(*mut CStream, *mut CSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut CStream, *mut CArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut CStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut CStream)>,
    private_data: *mut c_void,
}

/// What the three have in common: whoever has one releases it once, and who takes it leaves one behind that is released.
macro_rules! released_once {
    ($($type:ident),*) => {$(
        impl Drop for $type {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it is not released yet, and the function is the one that its producer gave for that.
                    unsafe { release(self) };
                }
            }
        }

        // SAFETY: the specification has the structs moved between threads; what they point to belongs to them.
        unsafe impl Send for $type {}

        impl $type {
            /// Takes what is at `place`, and leaves there what is released.
            ///
            /// # Safety
            /// A valid struct is at `place`, and nobody else uses it meanwhile.
            pub(crate) unsafe fn take(place: *mut Self) -> Self {
                // SAFETY: as the caller says.
                unsafe { std::ptr::replace(place, Self::released()) }
            }
        }
    )*};
}

released_once!(CSchema, CArray, CStream);

// SAFETY: after it is made, an array is only read until it is released.
unsafe impl Sync for CArray {}

impl CSchema {
    pub(crate) fn released() -> Self {
        Self {
            format: std::ptr::null(),
            name: std::ptr::null(),
            metadata: std::ptr::null(),
            flags: 0,
            n_children: 0,
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl CArray {
    pub(crate) fn released() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: std::ptr::null_mut(),
            children: std::ptr::null_mut(),
            dictionary: std::ptr::null_mut(),
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}

impl CStream {
    pub(crate) fn released() -> Self {
        Self {
            get_schema: None,
            get_next: None,
            get_last_error: None,
            release: None,
            private_data: std::ptr::null_mut(),
        }
    }
}
