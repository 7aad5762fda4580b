//! The arithmetic of `avx2` with masks of 64 bytes at once. Compilers have longer vectors and more registers.

#![allow(clippy::cast_ptr_alignment, reason = "all loads and stores are unaligned ones")]

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_movepi8_mask,
    _mm512_set1_epi8, _mm512_storeu_si512,
};

use super::{Avx2, SimdLevel};

/// x86-64 with AVX-512: [`crate::Kernel::Avx512`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx512;

impl SimdLevel for Avx512 {
    #[inline(always)]
    unsafe fn whole(field: *const u8, len: usize) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe { Avx2::whole(field, len) }
    }

    #[inline(always)]
    unsafe fn pointed(field: *const u8, len: usize, fraction: usize) -> Option<u64> {
        // SAFETY: as the caller promises.
        unsafe { Avx2::pointed(field, len, fraction) }
    }

    #[inline(always)]
    unsafe fn point(field: *const u8, len: usize) -> usize {
        // SAFETY: as the caller promises.
        unsafe { Avx2::point(field, len) }
    }

    #[inline(always)]
    unsafe fn equal(text: *const u8, byte: u8) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(text.cast::<__m512i>()), _mm512_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    unsafe fn high(text: *const u8) -> u64 {
        // SAFETY: as the caller promises.
        unsafe { _mm512_movepi8_mask(_mm512_loadu_si512(text.cast::<__m512i>())) }
    }

    #[inline(always)]
    unsafe fn compress(text: *const u8, keep: u64, to: *mut u8) {
        // SAFETY: as the caller promises. Compressed in a register: the form that stores is slow on some CPUs.
        unsafe {
            let kept = _mm512_maskz_compress_epi8(keep, _mm512_loadu_si512(text.cast::<__m512i>()));
            _mm512_storeu_si512(to.cast::<__m512i>(), kept);
        }
    }

    #[inline(always)]
    unsafe fn store_view(slot: *mut u128, content: *const u8, mask: u128, low: u64, high: u64) {
        // SAFETY: as the caller promises.
        unsafe { Avx2::store_view(slot, content, mask, low, high) }
    }
}
