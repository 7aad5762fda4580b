//! A list of integers in as few bits per value as its range, its step or its slope allows.
//!
//! Two shapes, of which the program that wrote the block chose the one of fewer bits:
//!
//! * **frame**: `value = base + residual * step`. The step is the greatest common divisor of the distances to the
//!   least value: timestamps of whole seconds, prices of whole units and doubles with few digits lose their zeros.
//! * **slope**: `value = previous + slope + residual`, from `base` on, for lists without nulls. Sorted keys shrink
//!   to a few bits, and a sequence with one stride to nothing.
//!
//! Residuals are split into planes (`plane`). Arithmetic wraps at the width of the type, so any code read from a
//! file decodes to *some* values; that they are the right ones is what the checksum of the block says.
//!
//! Floats take the same way as integers of the same width, by their bits (`column`).

#![allow(clippy::inline_always, reason = "what is not inlined is not compiled for the instruction set of its caller")]

use std::mem::MaybeUninit;

use super::plane::{BATCH_ROWS, Integer, Planes, is_width};
use crate::instruction_set::{InstructionSet, for_each_instruction_set};
use crate::native::wire::{Malformed, Reader};

/// How the residuals become values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum Shape {
    /// Residuals count multiples of `step` from the base.
    Frame {
        /// What the residuals are multiplied with.
        step: i128,
    },
    /// Residuals add to the previous value and `slope`.
    Slope {
        /// The least difference between neighbours.
        slope: i128,
    },
}

/// All that is needed to read a list of integers but its planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) struct IntegerCode {
    /// The least value of a frame; the first value of a slope.
    pub(super) base: i128,
    /// Frame or slope.
    pub(super) shape: Shape,
    /// Bits per residual.
    pub(super) width: u8,
}

impl IntegerCode {
    /// Reads the code of integers of at most `width_max` bits.
    pub(super) fn read(reader: &mut Reader<'_>, width_max: u8) -> Result<IntegerCode, Malformed> {
        let (tag, width, base, parameter) = (reader.u8()?, reader.u8()?, reader.i128()?, reader.i128()?);
        let shape = match tag {
            0 => Shape::Frame { step: parameter },
            1 => Shape::Slope { slope: parameter },
            _ => return Err(Malformed::new(format!("{tag} is not an integer encoding"))),
        };
        if width > width_max || !is_width(width) {
            return Err(Malformed::new(format!("residuals of {width} bits where values have {width_max}")));
        }
        Ok(IntegerCode { base, shape, width })
    }
}

/// Joins the planes of `code` into `out`.
pub(super) fn decode<'out, T: Integer>(
    code: &IntegerCode,
    planes: &Planes<'_>,
    out: &'out mut [MaybeUninit<T>],
) -> &'out [T] {
    join(InstructionSet::best(), code, planes, out);
    // SAFETY: the reader has filled batch after batch, to the last slot.
    unsafe { out.assume_init_ref() }
}

for_each_instruction_set! {
    /// Fills `out` with the values that the planes of `code` have.
    fn join<T: Integer>(code: &IntegerCode, planes: &Planes<'_>, out: &mut [MaybeUninit<T>]) = join_inlined;
}

#[inline(always)]
fn join_inlined<T: Integer>(code: &IntegerCode, planes: &Planes<'_>, out: &mut [MaybeUninit<T>]) {
    let mut reader = IntegerReader::new(code, planes);
    for batch in out.chunks_mut(BATCH_ROWS) {
        reader.read(batch);
    }
}

/// Reads a list of integers from its start, a batch at a time.
pub(super) struct IntegerReader<'a, T> {
    planes: &'a Planes<'a>,
    shape: Shape,
    /// The base of a frame; of a slope, what the next value would be without its residual.
    base: T,
    batch: usize,
    residuals: [T; BATCH_ROWS],
}

impl<'a, T: Integer> IntegerReader<'a, T> {
    /// Reads the list that `code` and `planes` describe.
    #[inline(always)]
    pub(super) fn new(code: &IntegerCode, planes: &'a Planes<'a>) -> IntegerReader<'a, T> {
        let base = T::truncate(code.base);
        IntegerReader { planes, shape: code.shape, base, batch: 0, residuals: [T::default(); BATCH_ROWS] }
    }

    /// Fills `out` with the next `BATCH_ROWS` values, or those that are left.
    #[inline(always)]
    pub(super) fn read<'out>(&mut self, out: &'out mut [MaybeUninit<T>]) -> &'out [T] {
        let residuals = &mut self.residuals[..out.len()];
        self.planes.join(self.batch, residuals);
        self.batch += 1;
        let base = self.base;
        match self.shape {
            Shape::Frame { step: 1 } => fill(out, residuals, |residual| base.add(residual)),
            Shape::Frame { step } => {
                let step = T::truncate(step);
                fill(out, residuals, |residual| base.add(residual.mul(step)))
            }
            Shape::Slope { slope } => {
                let slope = T::truncate(slope);
                let mut next = base;
                let values = fill(out, residuals, |residual| {
                    let value = next.add(residual);
                    next = value.add(slope);
                    value
                });
                self.base = next;
                values
            }
        }
    }
}

#[inline(always)]
fn fill<'out, T: Integer>(
    out: &'out mut [MaybeUninit<T>],
    residuals: &[T],
    mut value: impl FnMut(T) -> T,
) -> &'out [T] {
    assert_eq!(out.len(), residuals.len());
    for (slot, &residual) in out.iter_mut().zip(residuals) {
        slot.write(value(residual));
    }
    // SAFETY: there are as many residuals as slots, so the loop wrote every slot.
    unsafe { out.assume_init_ref() }
}

#[cfg(test)]
mod tests;
