//! Unpacks values, many at a time.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer};

use super::fsst::FsstTexts;
use super::offset::{self, Code, Whole};
use super::{Codes, Encoding, PackedColumn, text};
use crate::instruction_set::InstructionSet;
use crate::types::Physical;
use crate::values::{Scratch, SpareValues, Values, picked};

impl PackedColumn {
    /// Some of the values, unpacked.
    ///
    /// # Panics
    ///
    /// When there are fewer rows.
    pub fn read<'a>(&self, rows: Range<usize>, scratch: &'a mut Scratch) -> Values<'a> {
        if let Encoding::Fsst(texts) = &self.encoding {
            return self.decompress(texts, rows, scratch).0;
        }
        // SAFETY: `unpack` writes every slot.
        unsafe { scratch.filled(self.physical, rows.len(), |slots| self.unpack(rows, slots)) }
    }

    /// The same with the texts that long views refer to.
    ///
    /// # Panics
    ///
    /// When there are fewer rows.
    pub(crate) fn read_with_texts<'a>(
        &'a self,
        rows: Range<usize>,
        scratch: &'a mut Scratch,
    ) -> (Values<'a>, &'a [u8]) {
        match &self.encoding {
            Encoding::Fsst(texts) => self.decompress(texts, rows, scratch),
            _ => (self.read(rows, scratch), self.heap()),
        }
    }

    fn decompress<'a>(
        &self,
        texts: &FsstTexts,
        rows: Range<usize>,
        scratch: &'a mut Scratch,
    ) -> (Values<'a>, &'a [u8]) {
        assert!(rows.end <= self.rows, "rows to {} of {}", rows.end, self.rows);
        // SAFETY: `unpack` writes every slot.
        unsafe {
            scratch.filled_with_texts(rows.len(), |views, room| texts.unpack(rows, None, self.heap(), views, room))
        }
    }

    /// Some of the values in a buffer, and the texts that long views refer to, as arrays of views take them. What rows have
    /// that are not `wanted`, by a bit for each, means nothing then.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or not a bit for each.
    pub(crate) fn unpack_to_buffers(
        &self,
        rows: Range<usize>,
        wanted: Option<&BooleanBuffer>,
    ) -> (Buffer, Arc<[Buffer]>) {
        let Encoding::Fsst(texts) = &self.encoding else {
            return (self.unpack_to_buffer(rows), Arc::clone(&self.heap));
        };
        assert!(rows.end <= self.rows, "rows to {} of {}", rows.end, self.rows);
        let count = rows.len();
        let count_wanted = wanted.map_or(count, BooleanBuffer::count_set_bits);
        let (mut views, mut room) = (Vec::with_capacity(count), texts.room(count_wanted, self.rows, self.heap()));
        let end = texts.unpack(rows, wanted, self.heap(), &mut views.spare_capacity_mut()[..count], &mut room);
        // SAFETY: `unpack` writes every slot.
        unsafe { views.set_len(count) };
        room.truncate(end);
        (Buffer::from_vec::<u128>(views), Arc::new([Buffer::from_vec(room)]))
    }

    fn unpack_to_buffer(&self, rows: Range<usize>) -> Buffer {
        match self.physical {
            Physical::U8 => self.unpack_to_vec::<u8>(rows).into(),
            Physical::I16 => self.unpack_to_vec::<i16>(rows).into(),
            Physical::I32 => self.unpack_to_vec::<i32>(rows).into(),
            Physical::I64 => self.unpack_to_vec::<i64>(rows).into(),
            Physical::I128 => self.unpack_to_vec::<i128>(rows).into(),
            Physical::F32 => self.unpack_to_vec::<f32>(rows).into(),
            Physical::F64 => self.unpack_to_vec::<f64>(rows).into(),
            Physical::View => self.unpack_to_vec::<u128>(rows).into(),
        }
    }

    /// Some decimals, of 64 bits or 128.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, or they are of another type.
    pub(crate) fn unpack_decimals(&self, rows: Range<usize>) -> Vec<i128> {
        match (self.physical, &self.encoding) {
            (Physical::I128, _) | (Physical::I64, Encoding::Offset { .. }) => self.unpack_to_vec(rows),
            (Physical::I64, _) => {
                let narrow: Vec<i64> = self.unpack_to_vec(rows);
                narrow.into_iter().map(i128::from).collect()
            }
            (other, _) => panic!("decimals are asked of {other:?}"),
        }
    }

    fn unpack_to_vec<T>(&self, rows: Range<usize>) -> Vec<T>
    where
        for<'a> SpareValues<'a>: From<&'a mut [MaybeUninit<T>]>,
    {
        let count = rows.len();
        let mut values = Vec::with_capacity(count);
        let slots: &mut [MaybeUninit<T>] = &mut values.spare_capacity_mut()[..count];
        self.unpack(rows, slots.into());
        // SAFETY: `unpack` writes every slot.
        unsafe { values.set_len(count) };
        values
    }

    /// The values of some rows in the order given, packed in the same way, except that texts become views. Their long texts,
    /// unless compressed, and the entries of dictionaries are shared.
    ///
    /// # Panics
    ///
    /// When there are fewer rows.
    pub(crate) fn picked(&self, rows: &[u32]) -> PackedColumn {
        assert!(rows.iter().all(|&row| (row as usize) < self.rows), "a row is none of {}", self.rows);
        let encoding = match &self.encoding {
            Encoding::Constant(bytes) => Encoding::Constant(*bytes),
            Encoding::Bits(bits) => {
                let bits = BooleanBuffer::new(bits.clone(), 0, self.rows);
                let picked = BooleanBuffer::collect_bool(rows.len(), |at| bits.value(rows[at] as usize));
                Encoding::Bits(picked.into_inner())
            }
            Encoding::Offset { base, divisor, codes } => {
                Encoding::Offset { base: *base, divisor: *divisor, codes: codes.picked(rows) }
            }
            Encoding::Dictionary { entries, codes } => {
                Encoding::Dictionary { entries: entries.clone(), codes: codes.picked(rows) }
            }
            Encoding::Texts(ends) => {
                let views = rows.iter().map(|&row| {
                    let range = ends.range(row as usize);
                    text::view_at(self.heap(), range.start as u32, range.len() as u32)
                });
                Encoding::Plain(views.collect::<Vec<u128>>().into())
            }
            Encoding::Fsst(texts) => {
                let (views, texts) = texts.picked(rows, self.rows, self.heap());
                let heap = Arc::new([Buffer::from_vec(texts)]);
                return PackedColumn::new(self.physical, rows.len(), Encoding::Plain(views.into()), heap);
            }
            Encoding::Plain(values) => Encoding::Plain(Values::of(self.physical, values).picked(rows)),
        };
        PackedColumn::new(self.physical, rows.len(), encoding, Arc::clone(&self.heap))
    }

    /// Writes the values of some rows, one to each slot, all of them; views refer to the heap.
    ///
    /// # Panics
    ///
    /// When there are fewer rows, the slots are of another type or number, or texts are compressed.
    pub fn unpack(&self, rows: Range<usize>, slots: SpareValues<'_>) {
        self.unpack_with(InstructionSet::best(), rows, slots);
    }

    pub(super) fn unpack_with(&self, set: InstructionSet, rows: Range<usize>, slots: SpareValues<'_>) {
        assert!(rows.end <= self.rows, "rows to {} of {}", rows.end, self.rows);
        match slots {
            SpareValues::U8(slots) => self.unpack_booleans(rows, slots),
            SpareValues::I16(slots) => self.unpack_whole(set, rows, slots),
            SpareValues::I32(slots) => self.unpack_whole(set, rows, slots),
            SpareValues::I64(slots) => self.unpack_whole(set, rows, slots),
            SpareValues::I128(slots) => self.unpack_whole(set, rows, slots),
            SpareValues::F32(slots) => self.unpack_stored(rows, slots, |bits| f32::from_bits(bits as u32)),
            SpareValues::F64(slots) => self.unpack_stored(rows, slots, |bits| f64::from_bits(bits as u64)),
            SpareValues::Views(slots) => match &self.encoding {
                Encoding::Texts(ends) => ends.unpack(rows, self.heap(), slots),
                _ => self.unpack_stored(rows, slots, |bits| bits),
            },
        }
    }

    fn unpack_booleans(&self, rows: Range<usize>, slots: &mut [MaybeUninit<u8>]) {
        let Encoding::Bits(bits) = &self.encoding else {
            return self.unpack_stored(rows, slots, |bits| bits as u8);
        };
        assert_eq!(rows.len(), slots.len(), "one slot per row");
        for (slot, row) in slots.iter_mut().zip(rows) {
            slot.write(bits.as_slice()[row / 8] >> (row % 8) & 1);
        }
    }

    fn unpack_whole<T: Whole + ArrowNativeType>(
        &self,
        set: InstructionSet,
        rows: Range<usize>,
        slots: &mut [MaybeUninit<T>],
    ) {
        let Encoding::Offset { base, divisor, codes } = &self.encoding else {
            return self.unpack_stored(rows, slots, |bits| T::of(bits as i128));
        };
        let base = T::of(*base);
        match codes {
            Codes::U8(codes) => offset::unpack(set, &codes.typed_data::<u8>()[rows], base, *divisor, slots),
            Codes::U16(codes) => offset::unpack(set, &codes.typed_data::<u16>()[rows], base, *divisor, slots),
            Codes::U32(codes) => offset::unpack(set, &codes.typed_data::<u32>()[rows], base, *divisor, slots),
        }
    }

    /// The same of values that lie somewhere as they are.
    fn unpack_stored<T: ArrowNativeType>(
        &self,
        rows: Range<usize>,
        slots: &mut [MaybeUninit<T>],
        of_bits: impl Fn(u128) -> T,
    ) {
        assert_eq!((rows.len(), size_of::<T>()), (slots.len(), self.physical.width()), "one slot per row");
        match &self.encoding {
            Encoding::Constant(bytes) => slots.fill(MaybeUninit::new(of_bits(u128::from_le_bytes(*bytes)))),
            Encoding::Plain(values) => {
                slots.write_copy_of_slice(&values.typed_data::<T>()[rows]);
            }
            Encoding::Dictionary { entries, codes } => {
                let entries = entries.typed_data::<T>();
                match codes {
                    Codes::U8(codes) => look_up(entries, &codes.typed_data::<u8>()[rows], slots),
                    Codes::U16(codes) => look_up(entries, &codes.typed_data::<u16>()[rows], slots),
                    Codes::U32(codes) => look_up(entries, &codes.typed_data::<u32>()[rows], slots),
                }
            }
            Encoding::Bits(_) | Encoding::Offset { .. } | Encoding::Texts(_) => {
                unreachable!("they are of types that are unpacked elsewhere")
            }
            Encoding::Fsst(_) => panic!("views without texts are asked of {self:?}"),
        }
    }
}

impl Codes {
    /// Those of some rows, in the order given.
    fn picked(&self, rows: &[u32]) -> Codes {
        match self {
            Codes::U8(codes) => Codes::U8(picked(codes.as_slice(), rows)),
            Codes::U16(codes) => Codes::U16(picked(codes.typed_data::<u16>(), rows)),
            Codes::U32(codes) => Codes::U32(picked(codes.typed_data::<u32>(), rows)),
        }
    }
}

fn look_up<T: Copy, C: Code>(entries: &[T], codes: &[C], slots: &mut [MaybeUninit<T>]) {
    for (slot, code) in slots.iter_mut().zip(codes) {
        slot.write(entries[code.number() as usize]);
    }
}
