//! Keeps the process alive when a mapped file shrinks under its reader.
//!
//! Reading a mapped page that the file has lost raises SIGBUS. The handler here looks the address up in a table of
//! watched mappings; if it lies in one, a zero page takes the place of the lost one and the mapping is marked, so that
//! the load ends with an error. Any other SIGBUS goes where it went before. The handler uses atomics and `mmap` only,
//! and both may be used in a signal handler on Linux.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Mappings that can be watched at a time; files beyond are read, not mapped.
const WATCHED_MAX: usize = 256;

const PAGE_BYTES: usize = 4096;

struct Slot {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    hit: AtomicBool,
}

static WATCHED: [Slot; WATCHED_MAX] = [const {
    Slot {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        hit: AtomicBool::new(false),
    }
}; WATCHED_MAX];

static INSTALL: Once = Once::new();
/// The handler that was there before ours: an address, `SIG_DFL` or `SIG_IGN`.
static PREVIOUS: AtomicUsize = AtomicUsize::new(0);
static PREVIOUS_TAKES_INFO: AtomicBool = AtomicBool::new(false);

/// A watched range of addresses.
pub(super) struct Guarded(&'static Slot);

impl Guarded {
    /// Whether a page of the range was lost.
    pub(super) fn is_hit(&self) -> bool {
        self.0.hit.load(Ordering::Acquire)
    }

    /// Ends the watch; to be called before the range is unmapped.
    pub(super) fn release(&self) {
        self.0.end.store(0, Ordering::Release);
        self.0.start.store(0, Ordering::Release);
        self.0.taken.store(false, Ordering::Release);
    }
}

/// Watches `length` bytes at `start`; `None` when the table is full.
pub(super) fn watch(start: usize, length: usize) -> Option<Guarded> {
    INSTALL.call_once(install);
    let slot = WATCHED.iter().find(|slot| !slot.taken.swap(true, Ordering::AcqRel))?;
    slot.hit.store(false, Ordering::Release);
    slot.start.store(start, Ordering::Release);
    slot.end.store(start + length, Ordering::Release);
    Some(Guarded(slot))
}

fn install() {
    // SAFETY: all-zero is a valid sigaction; the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        let mut previous: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, &raw const action, &raw mut previous);
        PREVIOUS.store(previous.sa_sigaction, Ordering::Release);
        PREVIOUS_TAKES_INFO.store(previous.sa_flags & libc::SA_SIGINFO != 0, Ordering::Release);
    }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo for SIGBUS.
    let address = unsafe { (*info).si_addr() } as usize;
    for slot in &WATCHED {
        let start = slot.start.load(Ordering::Acquire);
        let end = slot.end.load(Ordering::Acquire);
        // The last page reaches beyond the file's last byte.
        if start != 0 && start <= address && address < end.next_multiple_of(PAGE_BYTES) {
            let page = address / PAGE_BYTES * PAGE_BYTES;
            // SAFETY: replaces one page of a mapping that we own by zeros; readers see zeros from then on.
            let mapped = unsafe {
                libc::mmap(
                    page as *mut libc::c_void,
                    PAGE_BYTES,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };
            if mapped != libc::MAP_FAILED {
                slot.hit.store(true, Ordering::Release);
                return;
            }
        }
    }
    forward(signal, info, context);
}

/// Does what would have happened without us.
fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.load(Ordering::Acquire);
    if previous == libc::SIG_DFL || previous == libc::SIG_IGN {
        // The instruction is tried again after the return; with the default action the process then dies of it.
        // SAFETY: restoring the default action is allowed in a handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    } else if PREVIOUS_TAKES_INFO.load(Ordering::Acquire) {
        // SAFETY: this is the handler that the process had installed, with the signature its flags announced.
        unsafe {
            std::mem::transmute::<usize, extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void)>(previous)(
                signal, info, context,
            );
        }
    } else {
        // SAFETY: as above, with the short signature.
        unsafe { std::mem::transmute::<usize, extern "C" fn(libc::c_int)>(previous)(signal) };
    }
}
