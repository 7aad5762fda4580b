//! Compresses the texts of a column that is packed already, and copies columns to other memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_buffer::Buffer;

use super::{Codes, Encoding, PackedColumn, copy_of, fsst};
use crate::arena::Arena;
use crate::memory::OutOfMemory;

/// Texts that together have fewer bytes stay as they are: a table takes a few thousand.
const HEAP_BYTES_MIN: usize = 8 << 10;

/// Whether texts of so many bytes are better compressed to so many: it must save a third.
///
/// Of TPC-H, comments, names and clerks shrink to 0.27 to 0.40 of their bytes, phone numbers to 0.47; addresses, which are
/// random letters, to 0.96. Nothing is near the limit.
fn pays(bytes: usize, compressed: usize) -> bool {
    compressed <= bytes - bytes / 3
}

impl PackedColumn {
    /// Whether its texts may yet be compressed: they are one behind the other, and nobody has tried.
    pub(crate) fn is_compressible(&self) -> bool {
        matches!(self.encoding, Encoding::Texts(_)) && !self.incompressible.load(Ordering::Relaxed)
    }

    /// The same column with its texts compressed. `None` if that saves too little, which the column remembers, or it has no
    /// texts one behind the other.
    ///
    /// # Errors
    ///
    /// When memory is short.
    pub fn compressed(&self, arena: &mut Arena) -> Result<Option<PackedColumn>, OutOfMemory> {
        if !self.is_compressible() {
            return Ok(None);
        }
        let is_small = self.heap().len() < HEAP_BYTES_MIN;
        let compressed = if is_small { None } else { self.compressed_if(pays, arena)? };
        self.incompressible.store(compressed.is_none(), Ordering::Relaxed);
        Ok(compressed)
    }

    /// The same, if that pays. `None` as well if it has no texts one behind the other.
    pub(super) fn compressed_if(
        &self,
        pays: impl Fn(usize, usize) -> bool,
        arena: &mut Arena,
    ) -> Result<Option<PackedColumn>, OutOfMemory> {
        let Encoding::Texts(ends) = &self.encoding else { return Ok(None) };
        let compressed = fsst::compress(self.rows, ends, self.heap(), pays, arena)?;
        Ok(compressed.map(|(texts, codes)| {
            PackedColumn::new(self.physical, self.rows, Encoding::Fsst(texts), Arc::new([codes]))
        }))
    }

    /// A copy in memory of another arena, with what it remembers.
    pub(crate) fn copied(&self, arena: &mut Arena) -> Result<PackedColumn, OutOfMemory> {
        let encoding = match &self.encoding {
            Encoding::Constant(bytes) => Encoding::Constant(*bytes),
            Encoding::Bits(values) => Encoding::Bits(bytes_of(values, arena)?),
            Encoding::Offset { base, divisor, codes } => {
                Encoding::Offset { base: *base, divisor: *divisor, codes: codes.copied(arena)? }
            }
            Encoding::Dictionary { entries, codes } => {
                Encoding::Dictionary { entries: bytes_of(entries, arena)?, codes: codes.copied(arena)? }
            }
            Encoding::Texts(ends) => Encoding::Texts(ends.copied(arena)?),
            Encoding::Fsst(texts) => Encoding::Fsst(texts.copied(arena)?),
            Encoding::Plain(values) => Encoding::Plain(bytes_of(values, arena)?),
        };
        let heap = Arc::new([bytes_of(&self.heap[0], arena)?]);
        let mut copy = PackedColumn::new(self.physical, self.rows, encoding, heap);
        copy.all_long_text_bytes = self.all_long_text_bytes.clone();
        copy.incompressible = self.incompressible.load(Ordering::Relaxed).into();
        Ok(copy)
    }
}

impl Codes {
    /// A copy in memory of another arena.
    pub(super) fn copied(&self, arena: &mut Arena) -> Result<Codes, OutOfMemory> {
        Ok(match self {
            Codes::U8(codes) => Codes::U8(bytes_of(codes, arena)?),
            Codes::U16(codes) => Codes::U16(bytes_of(codes, arena)?),
            Codes::U32(codes) => Codes::U32(bytes_of(codes, arena)?),
        })
    }
}

fn bytes_of(buffer: &Buffer, arena: &mut Arena) -> Result<Buffer, OutOfMemory> {
    copy_of(buffer.as_slice(), arena)
}
