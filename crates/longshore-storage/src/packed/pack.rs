//! Chooses the encoding that takes the fewest bytes, and packs values by it.

use std::mem::MaybeUninit;
use std::sync::Arc;

use arrow_buffer::Buffer;

use super::dictionary::{self, Distinct};
use super::domain::{Domain, Floats, Integers, Texts};
use super::offset::{self, Code, Divisor, Whole};
use super::text;
use super::text_codes::TextCodes;
use super::{Codes, Encoding, PackedColumn, copy_of, double, filled, float};
use crate::arena::{Arena, Plain};
use crate::instruction_set::InstructionSet;
use crate::memory::OutOfMemory;
use crate::statistics::extremes::{Extremes, Lane, extremes};
use crate::types::Physical;
use crate::values::Values;
use crate::view::{self, INLINE_BYTES_MAX};

/// Values whose distances are looked at for a common divisor.
const SAMPLED: usize = 64;

/// Times that a divisor is tried before the values are taken to have none.
const DIVISORS_TRIED: usize = 4;

/// Packs columns. Its memory is used again from column to column.
pub struct Packer {
    set: InstructionSet,
    distinct: Distinct,
}

/// What is known of values before they are packed, and need not be found out.
#[derive(Default)]
pub(crate) struct Known {
    /// No whole number is less than the first or greater than the second, NULL aside.
    pub(crate) bounds: Option<(i128, i128)>,
    /// Which of a few texts each row has.
    pub(crate) codes: Option<TextCodes>,
}

impl Default for Packer {
    fn default() -> Packer {
        Packer::with(InstructionSet::best())
    }
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Packer").field("set", &self.set).finish_non_exhaustive()
    }
}

/// Whole numbers that are packed as offsets and dictionaries.
trait Number: Whole + Lane<Key = Self> + Plain + Ord + Into<i128> {}
impl Number for i16 {}
impl Number for i32 {}
impl Number for i64 {}
impl Number for i128 {}

impl Packer {
    pub(super) fn with(set: InstructionSet) -> Packer {
        Packer { set, distinct: Distinct::default() }
    }

    /// Packers by each instruction set that the machine has, with its name, the best first: to compare them.
    pub fn of_every_instruction_set() -> impl Iterator<Item = (&'static str, Packer)> {
        InstructionSet::all().map(|set| (set.name(), Packer::with(set)))
    }

    /// Packs the values of a column. `validity` has a bit for each (1 = valid), if some are NULL; long texts lie in
    /// `heap`.
    ///
    /// # Errors
    ///
    /// When memory is short.
    ///
    /// # Panics
    ///
    /// When there are too few validity bits, or a view refers beyond the heap.
    pub fn pack(
        &mut self,
        values: Values<'_>,
        validity: Option<&[u8]>,
        heap: &[u8],
        arena: &mut Arena,
    ) -> Result<PackedColumn, OutOfMemory> {
        self.pack_known(values, validity, heap, Known::default(), arena)
    }

    /// The same with what is known of the values.
    pub(crate) fn pack_known(
        &mut self,
        values: Values<'_>,
        validity: Option<&[u8]>,
        heap: &[u8],
        known: Known,
        arena: &mut Arena,
    ) -> Result<PackedColumn, OutOfMemory> {
        let bounds = known.bounds;
        let empty = || Buffer::from_vec(Vec::<u8>::new());
        let packed = |physical, rows, encoding, heap| PackedColumn::new(physical, rows, encoding, Arc::new([heap]));
        Ok(match values {
            Values::U8(values) => packed(Physical::U8, values.len(), booleans(values, validity, arena)?, empty()),
            Values::I16(values) => {
                packed(Physical::I16, values.len(), self.whole(values, validity, bounds, arena)?, empty())
            }
            Values::I32(values) => {
                packed(Physical::I32, values.len(), self.whole(values, validity, bounds, arena)?, empty())
            }
            Values::I64(values) => {
                packed(Physical::I64, values.len(), self.whole(values, validity, bounds, arena)?, empty())
            }
            Values::I128(values) => {
                packed(Physical::I128, values.len(), self.whole(values, validity, bounds, arena)?, empty())
            }
            Values::F32(values) => {
                let encoding =
                    self.dictionary_or_plain(values, &Floats(float), |value| value.to_bits().into(), arena)?;
                packed(Physical::F32, values.len(), encoding, empty())
            }
            Values::F64(values) => {
                let encoding =
                    self.dictionary_or_plain(values, &Floats(double), |value| value.to_bits().into(), arena)?;
                packed(Physical::F64, values.len(), encoding, empty())
            }
            Values::Views(views) => {
                let (encoding, heap) = match known.codes {
                    Some(codes) => coded_texts(&codes, views, heap, arena)?,
                    None => self.texts(views, heap, arena)?,
                };
                packed(Physical::View, views.len(), encoding, heap)
            }
        })
    }

    fn whole<T: Number>(
        &mut self,
        values: &[T],
        validity: Option<&[u8]>,
        bounds: Option<(i128, i128)>,
        arena: &mut Arena,
    ) -> Result<Encoding, OutOfMemory> {
        let (least, greatest) = bounds.unwrap_or_else(|| {
            let Extremes { min, max, .. } = extremes(values, validity.map(|bits| (bits, 0)));
            (min.into(), max.into())
        });
        // None is valid, or all are the same.
        if least >= greatest {
            return Ok(Encoding::constant(if least > greatest { 0 } else { least as u128 }));
        }
        let numbers = Numbers { set: self.set, values, validity, base: T::of(least) };
        let range = u64::try_from(greatest.wrapping_sub(least) as u128).ok();
        let width = size_of::<T>();
        // Beyond 64 bits, distances wrap, and nothing is known of quotients.
        let narrowest = range.map_or(width, |range| bytes_of(range).min(width));
        if let Some(range) = range.filter(|_| narrowest > 1)
            && let Some(encoding) = numbers.divided(range, narrowest, arena)?
        {
            return Ok(encoding);
        }
        if narrowest > 1
            && let Some(encoding) = self.numbers_dictionary(values, narrowest, arena)?
        {
            return Ok(encoding);
        }
        if narrowest < width
            && let Some(codes) = numbers.by_width(narrowest, Divisor::ONE, u64::MAX, arena)?
        {
            return Ok(Encoding::Offset { base: least, divisor: 1, codes });
        }
        Ok(Encoding::Plain(copy_of(values, arena)?))
    }

    /// A dictionary of numbers, if it takes fewer bytes than `width` for each.
    fn numbers_dictionary<T: Number>(
        &mut self,
        values: &[T],
        width: usize,
        arena: &mut Arena,
    ) -> Result<Option<Encoding>, OutOfMemory> {
        // Codes of two bytes save little where two or four do.
        let most = if width <= 4 { 256 } else { usize::MAX };
        let bits = |value: T| {
            let wide: i128 = value.into();
            wide as u128
        };
        self.dictionary(values, width, most, &Integers, bits, arena)
    }

    fn dictionary_or_plain<T: Plain>(
        &mut self,
        values: &[T],
        domain: &impl Domain,
        bits: impl Fn(T) -> u128,
        arena: &mut Arena,
    ) -> Result<Encoding, OutOfMemory> {
        let first = values.first().map(|&value| bits(value)).unwrap_or_default();
        if values.iter().all(|&value| bits(value) == first) {
            return Ok(Encoding::constant(first));
        }
        match self.dictionary(values, size_of::<T>(), usize::MAX, domain, bits, arena)? {
            Some(encoding) => Ok(encoding),
            None => Ok(Encoding::Plain(copy_of(values, arena)?)),
        }
    }

    fn texts(&mut self, views: &[u128], heap: &[u8], arena: &mut Arena) -> Result<(Encoding, Buffer), OutOfMemory> {
        let distinct = &mut self.distinct;
        distinct.clear();
        if distinct.add_texts(views, heap, text_entries_max(views.len())).is_err() {
            return many_texts(views, heap, arena);
        }
        distinct.sort(&Texts { heap });
        text_dictionary(distinct.entries.clone(), |arena| distinct.codes(arena), heap, arena)
    }

    /// A dictionary of at most so many values, if it takes fewer bytes than `width` for each.
    fn dictionary<T: Plain>(
        &mut self,
        values: &[T],
        width: usize,
        most: usize,
        domain: &impl Domain,
        bits: impl Fn(T) -> u128,
        arena: &mut Arena,
    ) -> Result<Option<Encoding>, OutOfMemory> {
        let entries_max = dictionary::entries_max(values.len()).min(most);
        self.distinct.clear();
        if entries_max < 2 || self.distinct.add(values.iter().map(|&value| bits(value)), entries_max, domain).is_err() {
            return Ok(None);
        }
        let entries = self.distinct.entries.len();
        let bytes = entries * size_of::<T>() + values.len() * bytes_of(entries as u64 - 1);
        if bytes >= values.len() * width {
            return Ok(None);
        }
        self.distinct.sort(domain);
        let distinct = &self.distinct.entries;
        let entries = filled(arena, distinct.len() * size_of::<T>(), |slots: &mut [MaybeUninit<u8>]| {
            for (slot, entry) in slots.chunks_exact_mut(size_of::<T>()).zip(distinct) {
                slot.write_copy_of_slice(&entry.to_le_bytes()[..size_of::<T>()]);
            }
        })?;
        Ok(Some(Encoding::Dictionary { entries, codes: self.distinct.codes(arena)? }))
    }
}

/// The most entries of a dictionary of texts. One that all rows have needs no codes.
fn text_entries_max(rows: usize) -> usize {
    dictionary::entries_max(rows).max(1)
}

/// Texts whose codes are known.
fn coded_texts(
    coded: &TextCodes,
    views: &[u128],
    heap: &[u8],
    arena: &mut Arena,
) -> Result<(Encoding, Buffer), OutOfMemory> {
    let (entries, ranks) = coded.ordered(heap);
    if entries.len() > text_entries_max(views.len()) {
        return many_texts(views, heap, arena);
    }
    text_dictionary(entries, |arena| coded.ranked(views.len(), &ranks, arena), heap, arena)
}

/// Texts of which each row has one of these, which are in their order.
fn text_dictionary(
    mut entries: Vec<u128>,
    codes: impl FnOnce(&mut Arena) -> Result<Codes, OutOfMemory>,
    heap: &[u8],
    arena: &mut Arena,
) -> Result<(Encoding, Buffer), OutOfMemory> {
    let heap = texts_heap(&mut entries, heap, arena)?;
    if let [] | [_] = entries[..] {
        return Ok((Encoding::constant(entries.first().copied().unwrap_or_default()), heap));
    }
    Ok((Encoding::Dictionary { entries: copy_of(&entries, arena)?, codes: codes(arena)? }, heap))
}

/// Texts of which few are the same.
fn many_texts(views: &[u128], heap: &[u8], arena: &mut Arena) -> Result<(Encoding, Buffer), OutOfMemory> {
    if let Some((ends, heap)) = text::pack(views, heap, arena)? {
        return Ok((Encoding::Texts(ends), heap));
    }
    let mut views = views.to_vec();
    let heap = texts_heap(&mut views, heap, arena)?;
    Ok((Encoding::Plain(copy_of(&views, arena)?), heap))
}

impl Encoding {
    /// All rows have the value of these bits.
    fn constant(bits: u128) -> Encoding {
        Encoding::Constant(bits.to_le_bytes())
    }
}

/// Bytes of a code that holds a number.
fn bytes_of(number: u64) -> usize {
    match number {
        0..=0xFF => 1,
        0x100..=0xFFFF => 2,
        0x1_0000..=0xFFFF_FFFF => 4,
        _ => 8,
    }
}

/// Numbers that are not less than a base.
struct Numbers<'a, T> {
    set: InstructionSet,
    values: &'a [T],
    validity: Option<&'a [u8]>,
    base: T,
}

impl<T: Number> Numbers<'_, T> {
    /// Packs quotients by a divisor with which they are narrower than so many bytes, if there is one.
    fn divided(&self, range: u64, width: usize, arena: &mut Arena) -> Result<Option<Encoding>, OutOfMemory> {
        let step = self.values.len().div_ceil(SAMPLED).max(1);
        let is_valid = |row: usize| self.validity.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
        let rows = (0..self.values.len()).step_by(step).filter(|&row| is_valid(row));
        let sampled = rows.map(|row| self.values[row].distance_from(self.base));
        let mut divisor = offset::common_divisor(sampled.chain([range]));
        for _ in 0..DIVISORS_TRIED {
            let narrower = bytes_of(range / divisor.max(1));
            if divisor <= 1 || narrower >= width {
                return Ok(None);
            }
            if let Some(codes) = self.by_width(narrower, Divisor::new(divisor), range / divisor, arena)? {
                return Ok(Some(Encoding::Offset { base: self.base.into(), divisor, codes }));
            }
            let not_divided = (0..self.values.len())
                .filter(|&row| is_valid(row))
                .map(|row| self.values[row].distance_from(self.base))
                .find(|distance| distance % divisor != 0);
            divisor = offset::common_divisor([divisor, not_divided.unwrap_or(1)].into_iter());
        }
        Ok(None)
    }

    /// Packs quotients in codes of so many bytes. `None` if there are no such codes, or a quotient is greater than
    /// `quotient_max`: then not all distances are multiples.
    fn by_width(
        &self,
        width: usize,
        divisor: Divisor,
        quotient_max: u64,
        arena: &mut Arena,
    ) -> Result<Option<Codes>, OutOfMemory> {
        Ok(match width {
            1 => self.codes::<u8>(divisor, quotient_max, arena)?.map(Codes::U8),
            2 => self.codes::<u16>(divisor, quotient_max, arena)?.map(Codes::U16),
            4 => self.codes::<u32>(divisor, quotient_max, arena)?.map(Codes::U32),
            _ => None,
        })
    }

    fn codes<C: Code + Plain>(
        &self,
        divisor: Divisor,
        quotient_max: u64,
        arena: &mut Arena,
    ) -> Result<Option<Buffer>, OutOfMemory> {
        let (rows, bytes) = (self.values.len(), self.values.len() * size_of::<C>());
        let mut region = arena.allocate(bytes)?;
        let codes = region.spare::<C>(0, rows);
        if offset::pack(self.set, self.values, self.validity, self.base, divisor, codes) > quotient_max {
            region.shrink(0);
            return Ok(None);
        }
        // SAFETY: all codes were written, and the region is given up here, so that nobody writes to it any more.
        Ok(Some(unsafe { region.buffer(bytes) }))
    }
}

fn booleans(values: &[u8], validity: Option<&[u8]>, arena: &mut Arena) -> Result<Encoding, OutOfMemory> {
    let is_valid = |row: usize| validity.is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1);
    let mut valid = values.iter().enumerate().filter(|(row, _)| is_valid(*row)).map(|(_, &value)| value);
    let first = valid.next().unwrap_or_default();
    if valid.all(|value| value == first) {
        return Ok(Encoding::constant(first.into()));
    }
    Ok(Encoding::Bits(filled(arena, values.len().div_ceil(8), |bytes: &mut [MaybeUninit<u8>]| {
        for (byte, values) in bytes.iter_mut().zip(values.chunks(8)) {
            byte.write(values.iter().enumerate().fold(0, |bits, (row, value)| bits | value << row));
        }
    })?))
}

/// Copies the long texts of views to a heap of their own, which the views refer to from then on.
fn texts_heap(views: &mut [u128], heap: &[u8], arena: &mut Arena) -> Result<Buffer, OutOfMemory> {
    filled(arena, view::heap_bytes(views), |texts: &mut [MaybeUninit<u8>]| {
        let mut at = 0;
        for view in views.iter_mut().filter(|view| view::length(**view) > INLINE_BYTES_MAX) {
            let text = &heap[view::offset(*view)..][..view::length(*view)];
            texts[at..at + text.len()].write_copy_of_slice(text);
            *view = view::moved(*view, at);
            at += text.len();
        }
    })
}
