//! Handles: what they stand for, made, found and taken out again; and telling what went wrong with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::abi::{CError, Handle, INVALID_ARGUMENT, INVALID_STATE, OK, Status};
use super::problem::Problem;
use crate::runtime::{FORKED, Home};

/// Tells what came of `work`, which may panic.
///
/// # Safety
/// `error` is null or a valid error of a manager.
pub(super) unsafe fn told(error: *mut CError, work: impl FnOnce() -> Result<(), Problem>) -> Status {
    let done = catch_unwind(AssertUnwindSafe(work));
    match done.unwrap_or_else(|panic| Err(Problem::of_panic(panic.as_ref()))) {
        Ok(()) => OK,
        // SAFETY: as the caller says.
        Err(problem) => unsafe { problem.tell(error) },
    }
}

/// Makes what a handle stands for.
///
/// # Safety
/// `handle` is a valid handle with nothing in it, and `error` as for [`told`].
pub(super) unsafe fn made<T: Default>(handle: *mut Handle, error: *mut CError) -> Status {
    // SAFETY: as the caller says.
    unsafe {
        told(error, || {
            let handle = handle.as_mut().ok_or_else(|| Problem::new(INVALID_ARGUMENT, "there is no handle"))?;
            handle.private_data = Box::into_raw(Box::new(Home::new(T::default()))).cast();
            Ok(())
        })
    }
}

/// What a handle stands for.
///
/// # Safety
/// `handle` is null or valid, and has nothing in it or what [`made`] put there for this type.
pub(super) unsafe fn state<'a, T>(handle: *mut Handle) -> Result<&'a T, Problem> {
    // SAFETY: as the caller says; what is there is shared between threads, so that only shared references are made of it.
    let state = unsafe { handle.as_ref().and_then(|handle| handle.private_data.cast::<Home<T>>().as_ref()) };
    let state = state.ok_or_else(|| Problem::new(INVALID_STATE, "this was released, or never made"))?;
    state.here().ok_or_else(|| Problem::new(INVALID_STATE, FORKED))
}

/// Calls `work` with what a handle stands for.
///
/// # Safety
/// As for [`state`] and [`told`].
pub(super) unsafe fn with<T>(
    handle: *mut Handle,
    error: *mut CError,
    work: impl FnOnce(&T) -> Result<(), Problem>,
) -> Status {
    // SAFETY: as the caller says.
    unsafe { told(error, || work(state(handle)?)) }
}

/// Takes what a handle stands for out of it.
///
/// # Safety
/// As for [`state`]; nobody else uses the handle.
pub(super) unsafe fn taken<T>(handle: *mut Handle) -> Result<Box<Home<T>>, Problem> {
    // SAFETY: as the caller says.
    let handle = unsafe { handle.as_mut() }.filter(|handle| !handle.private_data.is_null());
    let handle = handle.ok_or_else(|| Problem::new(INVALID_STATE, "this was released, or never made"))?;
    let state = std::mem::replace(&mut handle.private_data, std::ptr::null_mut());
    // SAFETY: `made` has boxed it, and it is taken out once.
    Ok(unsafe { Box::from_raw(state.cast()) })
}

/// Puts a stream where a manager has room for one.
///
/// # Safety
/// There is room for a stream at `out`, with nothing in it.
pub(super) unsafe fn put<T>(out: *mut T, value: T) -> Result<(), Problem> {
    if out.is_null() {
        return Err(Problem::new(INVALID_ARGUMENT, "there is no room for the result"));
    }
    // SAFETY: as the caller says.
    unsafe { out.write(value) };
    Ok(())
}
