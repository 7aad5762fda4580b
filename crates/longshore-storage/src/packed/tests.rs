//! Packed columns against the plain ones that they were made of, by every instruction set.

use std::mem::MaybeUninit;

use longshore_testing::Random;

use super::{CodeSet, Known, PackedAs, PackedColumn, Packer, RangeSet, TextCodes, stored_bits};
use crate::arena::Arena;
use crate::instruction_set::InstructionSet;
use crate::memory::Memory;
use crate::statistics::bounds::Bounds;
use crate::types::Physical;
use crate::values::{Scratch, SpareValues, TextRoom, Values};
use crate::view;
use arrow_array::builder::make_view;
use arrow_buffer::BooleanBuffer;
use made::{doubles, texts, validity, whole};

mod made;

/// A column as it is, with bits of the rows that are not NULL.
struct Column {
    values: Stored,
    validity: Option<Vec<u8>>,
}

enum Stored {
    U8(Vec<u8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Texts(Vec<Vec<u8>>),
}

/// One line per physical type: the same of each.
macro_rules! each {
    ($stored:expr, $values:ident => $does:expr) => {
        match $stored {
            Stored::U8($values) => $does,
            Stored::I16($values) => $does,
            Stored::I32($values) => $does,
            Stored::I64($values) => $does,
            Stored::I128($values) => $does,
            Stored::F32($values) => $does,
            Stored::F64($values) => $does,
            Stored::Texts($values) => $does,
        }
    };
}

impl Column {
    fn of(values: Stored) -> Column {
        Column { values, validity: None }
    }

    fn rows(&self) -> usize {
        each!(&self.values, values => values.len())
    }

    fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|bits| bits[row / 8] >> (row % 8) & 1 == 1)
    }

    fn packed(&self, set: InstructionSet) -> PackedColumn {
        self.packed_knowing(set, &mut |_, _| Known::default())
    }

    /// The same with what is known of the values and their heap.
    fn packed_knowing(&self, set: InstructionSet, known: &mut dyn FnMut(Values<'_>, &[u8]) -> Known) -> PackedColumn {
        let mut arena = Arena::new(Memory::new(None), 1 << 20);
        let mut packer = Packer::with(set);
        let mut pack = |values, heap: &[u8]| {
            let (validity, known) = (self.validity.as_deref(), known(values, heap));
            packer.pack_known(values, validity, heap, known, &mut arena).expect("there is memory")
        };
        match &self.values {
            Stored::U8(values) => pack(Values::U8(values), &[]),
            Stored::I16(values) => pack(Values::I16(values), &[]),
            Stored::I32(values) => pack(Values::I32(values), &[]),
            Stored::I64(values) => pack(Values::I64(values), &[]),
            Stored::I128(values) => pack(Values::I128(values), &[]),
            Stored::F32(values) => pack(Values::F32(values), &[]),
            Stored::F64(values) => pack(Values::F64(values), &[]),
            Stored::Texts(texts) => {
                let mut heap = Vec::new();
                let views: Vec<u128> = texts
                    .iter()
                    .map(|text| {
                        let at = heap.len() as u32;
                        if text.len() > view::INLINE_BYTES_MAX {
                            heap.extend_from_slice(text);
                        }
                        make_view(text, 0, at)
                    })
                    .collect();
                pack(Values::Views(&views), &heap)
            }
        }
    }

    /// Every value of `packed` is that of the row, whichever way it is read.
    fn assert_equals(&self, packed: &PackedColumn, set: InstructionSet, random: &mut Random) {
        let rows = self.rows();
        assert_eq!(packed.rows(), rows);
        let from = random.below(rows + 1);
        let mut scratch = Scratch::default();
        let mut bounds = Bounds::new(packed.physical);
        bounds.add(packed.read(0..rows, &mut scratch), self.validity.as_deref().map(|bits| (bits, 0)));
        assert_eq!(packed.bounds(self.validity.as_deref(), &mut Scratch::default()), bounds, "{packed:?}");
        let ranges = [0..rows, from..rows, from..from + random.below(rows - from + 1)];
        for range in ranges {
            let from = range.start;
            let count = range.len();
            macro_rules! compared {
                ($slots:ident, $values:ident, $bits:expr) => {{
                    let mut slots = vec![MaybeUninit::uninit(); count];
                    packed.unpack_with(set, range, SpareValues::$slots(&mut slots));
                    for (at, slot) in slots.iter().enumerate() {
                        // SAFETY: all slots were written, as Miri and the sanitizers see.
                        let unpacked = $bits(unsafe { slot.assume_init() });
                        if self.is_valid(from + at) {
                            assert_eq!(unpacked, $bits($values[from + at]), "row {} of {packed:?}", from + at);
                            assert_eq!($bits(bits_of(packed.bits(from + at))), unpacked, "row {}", from + at);
                        }
                    }
                }};
            }
            match &self.values {
                Stored::U8(values) => compared!(U8, values, |value: u8| value),
                Stored::I16(values) => compared!(I16, values, |value: i16| value),
                Stored::I32(values) => compared!(I32, values, |value: i32| value),
                Stored::I64(values) => compared!(I64, values, |value: i64| value),
                Stored::I128(values) => compared!(I128, values, |value: i128| value),
                Stored::F32(values) => compared!(F32, values, f32::to_bits),
                Stored::F64(values) => compared!(F64, values, f64::to_bits),
                Stored::Texts(texts) => {
                    let is_compressed = packed.packed_as() == PackedAs::Fsst;
                    let mut scratch = Scratch::default();
                    let (Values::Views(views), heap) = packed.read_with_texts(range.clone(), &mut scratch) else {
                        panic!("texts have views")
                    };
                    assert_eq!(views.len(), count);
                    for (row, view) in range.clone().zip(views) {
                        let text = &texts[row];
                        assert_eq!(view::text(&view.to_le_bytes(), heap), text, "row {row}");
                        assert_eq!(packed.text(row, &TextRoom::default()), text, "row {row}");
                        // The view itself is the one that Arrow demands.
                        assert_eq!(*view, make_view(text, 0, (view >> 96) as u32), "row {row}");
                        assert!(is_compressed || packed.bits(row) == *view, "row {row}");
                    }
                    let wanted = random.once_in(2).then(|| BooleanBuffer::collect_bool(count, |_| random.once_in(3)));
                    let (buffer, heap_buffers) = packed.unpack_to_buffers(range.clone(), wanted.as_ref());
                    assert!(is_compressed || heap_buffers[0].as_slice() == heap);
                    for (at, view) in buffer.typed_data::<u128>().iter().enumerate() {
                        if wanted.as_ref().is_none_or(|wanted| wanted.value(at)) {
                            let text = &texts[from + at];
                            assert_eq!(view::text(&view.to_le_bytes(), &heap_buffers[0]), text, "row {}", from + at);
                        }
                    }
                    let long =
                        texts[range.clone()].iter().map(Vec::len).filter(|&bytes| bytes > view::INLINE_BYTES_MAX);
                    assert_eq!(packed.long_text_bytes(range), long.sum::<usize>());
                }
            }
        }
    }
}

impl Column {
    /// Rows that are selected are those whose values are in the set, or whose codes are.
    fn assert_selects(&self, packed: &PackedColumn, set: InstructionSet, random: &mut Random) {
        let rows = self.rows();
        if rows == 0 {
            return;
        }
        let from = random.below(rows);
        let range = from..from + 1 + random.below(rows - from);
        let check = |wanted: &CodeSet, is_wanted: &dyn Fn(usize) -> bool| {
            let selected = packed.select_with(set, range.clone(), wanted);
            for (at, row) in range.clone().enumerate().filter(|(_, row)| self.is_valid(*row)) {
                let is_selected = selected.as_ref().is_none_or(|bits| bits.value(at));
                assert_eq!(is_selected, is_wanted(row), "row {row}: {wanted:?} of {packed:?}");
            }
        };
        let mut whole = |value: &dyn Fn(usize) -> i128| {
            let wanted = ranges(random, rows, value);
            match packed.codes_of(&wanted) {
                Some(codes) => check(&codes, &|row| wanted.contains(value(row))),
                None => assert_eq!(packed.packed_as(), PackedAs::Plain),
            }
        };
        match &self.values {
            Stored::U8(values) => whole(&|row| values[row].into()),
            Stored::I16(values) => whole(&|row| values[row].into()),
            Stored::I32(values) => whole(&|row| values[row].into()),
            Stored::I64(values) => whole(&|row| values[row].into()),
            Stored::I128(values) => whole(&|row| values[row]),
            Stored::F32(_) | Stored::F64(_) | Stored::Texts(_) => {}
        }
        let Some(count) = packed.entries() else { return };
        let entries = packed.entry_values();
        let width = packed.physical.width();
        assert_eq!(entries.len(), count * width);
        // What it holds of each of the rows is one of the entries.
        let code_of = |row: usize| {
            let value = &packed.bits(row).to_le_bytes()[..width];
            entries.chunks(width).position(|entry| entry == value).expect("an entry for each value")
        };
        let density = random.pick(&[1, 2, 2, 20, 300]);
        let says = random.once_in(2);
        let wanted: Vec<bool> = (0..count).map(|_| random.once_in(density) == says).collect();
        let shown: Vec<usize> = range.clone().map(code_of).collect();
        check(&CodeSet::of(&wanted), &|row| wanted[shown[row - from]]);
        let bits: Vec<bool> = range.clone().map(|_| random.once_in(3)).collect();
        let mut occurs = vec![false; count];
        packed.note_codes(range.clone(), &BooleanBuffer::from(&bits[..]), &mut occurs);
        let mut expected = vec![false; count];
        bits.iter().zip(&shown).filter(|(bit, _)| **bit).for_each(|(_, code)| expected[*code] = true);
        assert_eq!(occurs, expected, "{packed:?}");
    }
}

/// Numbers near those of the column, as one range, many, or all others.
fn ranges(random: &mut Random, rows: usize, value: &dyn Fn(usize) -> i128) -> RangeSet {
    let near = |random: &mut Random| value(random.below(rows)).saturating_add(random.below(3) as i128 - 1);
    let wanted = match random.below(4) {
        0 => {
            let low = if random.once_in(4) { i128::MIN } else { near(random) };
            let high = if random.once_in(4) { i128::MAX } else { near(random) };
            RangeSet::between(low, high)
        }
        1 => (0..random.below(4)).fold(RangeSet::none(), |ranges, _| {
            let low = near(random);
            ranges.union(&RangeSet::between(low, low.saturating_add(random.below(1000) as i128)))
        }),
        _ => RangeSet::of((0..random.pick(&[1, 3, 12, 300])).map(|_| near(random)).collect::<Vec<_>>()),
    };
    if random.once_in(3) { wanted.complement() } else { wanted }
}

/// A value of its lower bits.
fn bits_of<T: OfBits>(bits: u128) -> T {
    T::of(bits)
}

trait OfBits {
    fn of(bits: u128) -> Self;
}
macro_rules! of_bits {
    ($($type:ty: $of:expr;)*) => {$(
        impl OfBits for $type {
            fn of(bits: u128) -> $type {
                $of(bits)
            }
        }
    )*};
}
of_bits! {
    u8: |bits| bits as u8;
    i16: |bits| bits as i16;
    i32: |bits| bits as i32;
    i64: |bits| bits as i64;
    i128: |bits| bits as i128;
    f32: |bits| f32::from_bits(bits as u32);
    f64: |bits| f64::from_bits(bits as u64);
}

/// What is known of values by those who have written them.
fn known(values: Values<'_>, heap: &[u8], validity: Option<&[u8]>, physical: Physical, random: &mut Random) -> Known {
    if let Values::Views(views) = values {
        return Known { bounds: None, codes: TextCodes::found(views, heap, random) };
    }
    let mut bounds = Bounds::new(physical);
    bounds.add(values, validity.map(|bits| (bits, 0)));
    Known { bounds: bounds.whole(), codes: None }
}

/// Packs by every instruction set, and with what is known before; they agree on how. Returns it, and the bytes.
fn checked(column: &Column, random: &mut Random) -> (PackedAs, usize) {
    let mut packed: Vec<(InstructionSet, PackedColumn)> =
        InstructionSet::all().map(|set| (set, column.packed(set))).collect();
    let (physical, validity) = (packed[0].1.physical, column.validity.as_deref());
    let mut known = |values: Values<'_>, heap: &[u8]| known(values, heap, validity, physical, random);
    packed.push((InstructionSet::best(), column.packed_knowing(InstructionSet::best(), &mut known)));
    for (set, packed) in &packed {
        column.assert_equals(packed, *set, random);
        (0..3).for_each(|_| column.assert_selects(packed, *set, random));
    }
    assert_derived(column, &packed[0].1, random);
    let shapes: Vec<_> = packed.iter().map(|(_, packed)| (packed.packed_as(), packed.bytes())).collect();
    assert!(shapes.windows(2).all(|pair| pair[0] == pair[1]), "{shapes:?}");
    shapes[0]
}

/// What is made of a packed column without unpacking it: a copy, the same compressed, and some rows of both.
fn assert_derived(column: &Column, packed: &PackedColumn, random: &mut Random) {
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let copy = packed.copied(&mut arena).expect("there is memory");
    let compressed = packed.compressed_if(|_, _| true, &mut arena).expect("there is memory");
    assert_eq!(compressed.is_some(), packed.packed_as() == PackedAs::Texts);
    let set = InstructionSet::best();
    for made in [Some(copy), compressed].into_iter().flatten() {
        assert_eq!(made.bytes_if_plain(), packed.bytes_if_plain());
        column.assert_equals(&made, set, random);
        column.assert_equals(&made.copied(&mut arena).expect("there is memory"), set, random);
        let mut picked: Vec<u32> = (0..column.rows() as u32).filter(|_| random.once_in(3)).collect();
        random.shuffle(&mut picked);
        if let Stored::Texts(texts) = &column.values {
            let rows = Column::of(Stored::Texts(picked.iter().map(|&row| texts[row as usize].clone()).collect()));
            rows.assert_equals(&made.picked(&picked), set, random);
        } else {
            let rows = made.picked(&picked);
            assert_eq!(rows.rows(), picked.len());
            for (at, &row) in picked.iter().enumerate() {
                assert_eq!(rows.bits(at), made.bits(row as usize), "row {row} of {made:?}");
            }
        }
    }
}

const ROWS: [usize; 12] = [0, 1, 7, 8, 9, 63, 64, 255, 256, 257, 3000, 65_536];

#[test]
fn packed_values_are_the_plain_ones() {
    let mut random = Random::new(71);
    let mut seen = std::collections::HashSet::new();
    for round in 0..longshore_testing::share(1200) {
        let rows = match round % 8 {
            0 => ROWS[random.below(ROWS.len())],
            1 => random.below(5000),
            _ => random.below(600),
        };
        let values = match random.below(8) {
            0 => Stored::U8((0..rows).map(|_| random.below(2) as u8).collect()),
            1 => Stored::I16(whole(&mut random, rows).into_iter().map(|value| value as i16).collect()),
            2 => Stored::I32(whole(&mut random, rows).into_iter().map(|value| value as i32).collect()),
            3 => Stored::I64(whole(&mut random, rows).into_iter().map(|value| value as i64).collect()),
            4 => Stored::I128(whole(&mut random, rows)),
            5 => Stored::F32(doubles(&mut random, rows).into_iter().map(|value| value as f32).collect()),
            6 => Stored::F64(doubles(&mut random, rows)),
            _ => Stored::Texts(texts(&mut random, rows)),
        };
        let column = Column { values, validity: validity(&mut random, rows) };
        seen.insert(checked(&column, &mut random).0);
    }
    for expected in [
        PackedAs::Constant,
        PackedAs::Bits,
        PackedAs::Offset(1),
        PackedAs::Offset(2),
        PackedAs::Offset(4),
        PackedAs::Dictionary(1),
        PackedAs::Dictionary(2),
        PackedAs::Texts,
        PackedAs::Plain,
    ] {
        assert!(seen.contains(&expected) || longshore_testing::share(10) < 10, "{expected:?} in {seen:?}");
    }
}

#[test]
fn the_encoding_is_the_one_of_the_fewest_bytes() {
    let mut random = Random::new(1);
    let rows = 4096;
    let i64s = |value: fn(i64) -> i64| Stored::I64((0..4096).map(value).collect());
    let dictionary_of_200 = 200 * 8 + rows;
    for (values, packed_as, bytes) in [
        (i64s(|_| 7), PackedAs::Constant, 0),
        (i64s(|row| i64::MIN + row % 256), PackedAs::Offset(1), rows),
        (i64s(|row| row % 257), PackedAs::Offset(2), 2 * rows),
        (i64s(|row| row * 100_000), PackedAs::Offset(2), 2 * rows),
        (i64s(|row| (row * 7919 % 4096) * 1_000_001 + 5), PackedAs::Offset(2), 2 * rows),
        (i64s(|row| row * row * 3 + row), PackedAs::Offset(4), 4 * rows),
        (i64s(|row| (row % 200 + 1).pow(7)), PackedAs::Dictionary(1), dictionary_of_200),
        (i64s(|row| row.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)), PackedAs::Plain, 8 * rows),
        (Stored::U8((0..4096).map(|row| (row % 3 == 0).into()).collect()), PackedAs::Bits, rows / 8),
        (Stored::Texts(vec![b"a text that is not short".to_vec(); rows]), PackedAs::Constant, 24),
        (Stored::F64((0..4096).map(|row| f64::from(row % 7) / 10.0).collect()), PackedAs::Dictionary(1), 7 * 8 + rows),
        (
            Stored::Texts((0..4096).map(|row| format!("{row:05}").into_bytes()).collect()),
            PackedAs::Texts,
            5 * rows + 2 * rows + 4 * rows / 256 + 12,
        ),
        (
            Stored::Texts((0..4096).map(|row| format!("{}", row % 3).into_bytes()).collect()),
            PackedAs::Dictionary(1),
            3 * 16 + rows,
        ),
    ] {
        assert_eq!(checked(&Column::of(values), &mut random), (packed_as, bytes));
    }
}

#[test]
fn one_value_that_is_no_multiple_is_found() {
    let mut random = Random::new(2);
    for (odd, packed_as) in [(0, PackedAs::Offset(2)), (500_000, PackedAs::Offset(2)), (1, PackedAs::Offset(4))] {
        let mut values: Vec<i64> = (0..4096).map(|row| row * 1_000_000).collect();
        // Not among those that are sampled.
        values[4095 - 1] += odd;
        for value in &mut values {
            *value += 3;
        }
        assert_eq!(checked(&Column::of(Stored::I64(values)), &mut random).0, packed_as, "{odd}");
    }
}

#[test]
fn entries_of_a_dictionary_ascend() {
    let texts = ["b", "a long text that has a heap", "", "a", "a long text that had a heap"];
    let column = Column::of(Stored::Texts((0..400).map(|row| texts[row % 5].as_bytes().to_vec()).collect()));
    let packed = column.packed(InstructionSet::best());
    let super::Encoding::Dictionary { entries, .. } = &packed.encoding else { panic!("{packed:?}") };
    let entries: Vec<Vec<u8>> = (0..5)
        .map(|at| stored_bits(crate::types::Physical::View, entries, at))
        .map(|view| view::text(&view.to_le_bytes(), packed.heap()).to_vec())
        .collect();
    assert!(entries.is_sorted() && entries.len() == 5, "{entries:?}");
}

#[test]
fn a_text_of_a_megabyte_is_packed() {
    let mut random = Random::new(3);
    let texts = vec![vec![b'x'; 1 << 20], b"y".to_vec(), vec![b'z'; 70_000], Vec::new()];
    assert_eq!(checked(&Column::of(Stored::Texts(texts)), &mut random).0, PackedAs::Texts);
}
