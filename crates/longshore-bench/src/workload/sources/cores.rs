//! Keeps a case to some cores: threads that decompress beside those that load would else take what one core's share
//! is compared with.

use std::io;

use crate::Failure;

/// Runs `work` on a thread of its own, which has the first `count` of the cores that this process may use; threads
/// that it starts have no others.
///
/// # Errors
///
/// When the system refuses.
pub(super) fn on<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            keep_to(count)?;
            Ok(work())
        });
        worker.join().map_err(|_| Failure::from("the case panicked"))?
    })
}

#[cfg(target_os = "linux")]
fn keep_to(count: usize) -> Result<(), Failure> {
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: a set of cores is plain bits, of which none need be set.
    let mut cores: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set has as many bytes as are said.
    if unsafe { libc::sched_getaffinity(0, bytes, &raw mut cores) } != 0 {
        return Err(io::Error::last_os_error().into());
    }
    let mut left = count;
    for core in 0..8 * bytes {
        // SAFETY: `core` is below the number of bits of the set.
        unsafe {
            if libc::CPU_ISSET(core, &cores) {
                if left == 0 {
                    libc::CPU_CLR(core, &mut cores);
                } else {
                    left -= 1;
                }
            }
        }
    }
    // SAFETY: as above; only this thread is kept to the cores.
    if unsafe { libc::sched_setaffinity(0, bytes, &raw const cores) } != 0 {
        return Err(io::Error::last_os_error().into());
    }
    Ok(())
}

/// Other systems have no such thing: all cores are used.
#[cfg(not(target_os = "linux"))]
fn keep_to(_count: usize) -> Result<(), Failure> {
    Ok(())
}
