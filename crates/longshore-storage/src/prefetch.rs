//! Asks for memory before it is needed, so that accesses to several places wait at the same time and not one after the
//! other. Whoever knows the next dozen rows or keys gains by it; a single one does not.

/// Asks for the cache line at an address, which may be any.
#[inline]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 CPU prefetches, and a prefetch of any address is harmless.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
