//! Columns come back from their buffers, and what packing would not have written is refused.

use arrow_buffer::Buffer;

use super::Layout;
use crate::arena::Arena;
use crate::memory::Memory;
use crate::packed::text::group_bytes;
use crate::packed::{PackedColumn, Packer};
use crate::types::Physical;
use crate::values::{TextRoom, Values};
use crate::view::{self, INLINE_BYTES_MAX};

fn of<T: arrow_buffer::ArrowNativeType>(values: &[T]) -> Buffer {
    Buffer::from_slice_ref(values)
}

fn none() -> Buffer {
    of::<u8>(&[])
}

/// The view of a text, of a long one at an offset.
fn view(text: &str, offset: usize) -> u128 {
    let mut start = [0; INLINE_BYTES_MAX];
    std::iter::zip(&mut start, text.as_bytes()).for_each(|(to, from)| *to = *from);
    view::of_start(&start, text.len() as u32, offset as u32)
}

#[test]
fn what_is_packed_comes_back() {
    let long = |i: usize| format!("the {i}th of many texts");
    let heap: String = (0..3000).map(long).collect();
    let mut at = 0;
    let mut long_view = |i: usize| {
        let view = view(&long(i), at);
        at += long(i).len();
        view
    };
    let long_views: Vec<u128> = (0..3000).map(&mut long_view).collect();
    let few: Vec<u128> = (0..3000).map(|i| long_views[i % 7]).collect();
    let short: Vec<u128> = (0..3000).map(|i| view(["AIR", "", "MAIL"][i % 3], 0)).collect();
    let wide: Vec<i64> = (0..3000).map(|i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)).collect();
    let stepped: Vec<i64> = (0..3000).map(|i| 10_i64.pow(12) + i * 1_000_000).collect();
    let doubles: Vec<f64> = (0..3000).map(|i| f64::from(i % 5) - 2.0).collect();
    let cases: [(Values<'_>, Physical); 8] = [
        (Values::U8(&[0, 1, 1, 0, 1]), Physical::U8),
        (Values::I64(&[-7; 9]), Physical::I64),
        (Values::I64(&wide), Physical::I64),
        (Values::I64(&stepped), Physical::I64),
        (Values::F64(&doubles), Physical::F64),
        (Values::Views(&long_views), Physical::View),
        (Values::Views(&few), Physical::View),
        (Values::Views(&short), Physical::View),
    ];
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let mut compressed_too = false;
    for (values, physical) in cases {
        let packed = Packer::default().pack(values, None, heap.as_bytes(), &mut arena).expect("there is memory");
        comes_back(&packed, physical);
        if let Some(compressed) = packed.compressed(&mut arena).expect("there is memory") {
            comes_back(&compressed, physical);
            compressed_too = true;
        }
    }
    assert!(compressed_too);
}

/// A column is the same when it is made of its buffers.
fn comes_back(packed: &PackedColumn, physical: Physical) {
    let (layout, rows) = (packed.layout(), packed.rows());
    assert!(layout.is_possible(physical));
    let lengths = layout.buffer_bytes(physical, rows);
    let buffers: Vec<_> =
        packed.buffers().zip(lengths).map(|(buffer, bytes)| buffer.slice_with_length(0, bytes)).collect();
    let again = PackedColumn::from_buffers(physical, rows, layout, buffers, of(packed.heap()), true);
    let again = again.unwrap_or_else(|error| panic!("{layout:?}: {error}"));
    assert_eq!(again.layout(), layout);
    for row in 0..rows {
        if physical == Physical::View {
            let room = TextRoom::default();
            assert_eq!(again.text(row, &room), packed.text(row, &room), "text {row} of {layout:?}");
        } else {
            assert_eq!(again.bits(row), packed.bits(row), "value {row} of {layout:?}");
        }
    }
}

/// The reason why a column is refused.
fn refused(physical: Physical, rows: usize, layout: Layout, buffers: Vec<Buffer>, heap: &[u8]) -> &'static str {
    PackedColumn::from_buffers(physical, rows, layout, buffers, of(heap), true).expect_err("it is refused")
}

#[test]
fn impossible_layouts_are_told() {
    let offset = |divisor, width| Layout::Offset { base: 0, divisor, width };
    for (layout, physical) in [
        (Layout::Bits, Physical::I64),
        (offset(0, 1), Physical::I64),
        (offset(1, 3), Physical::I64),
        (offset(1, 1), Physical::F64),
        (Layout::Dictionary { entries: 0, width: 1 }, Physical::View),
        (Layout::Dictionary { entries: 257, width: 1 }, Physical::View),
        (Layout::Dictionary { entries: 3, width: 4 }, Physical::View),
        (Layout::Dictionary { entries: 2, width: 1 }, Physical::U8),
        (Layout::Texts { width: 1 }, Physical::View),
        (Layout::Texts { width: 2 }, Physical::I64),
        (Layout::Fsst { symbols: 255, width: 1 }, Physical::View),
        (Layout::Fsst { symbols: 255, width: 4 }, Physical::F64),
        (Layout::Plain, Physical::U8),
    ] {
        assert!(!layout.is_possible(physical), "{layout:?} of {physical:?}");
    }
}

#[test]
fn constants_are_values() {
    let constant = |bits: u128| Layout::Constant(bits.to_le_bytes());
    for (physical, bits) in [
        (Physical::U8, 2),
        (Physical::I16, 1 << 15),
        (Physical::I32, 1 << 40),
        (Physical::I64, 1 << 63),
        (Physical::F32, 1 << 32),
        (Physical::F64, 1 << 64),
    ] {
        let error = refused(physical, 3, constant(bits), vec![], &[]);
        assert_eq!(error, "the constant is no value of the column's type", "{physical:?}");
    }
    assert_eq!(refused(Physical::I64, 3, constant(1), vec![], b"x"), "numbers have no texts");
    let views = [
        (view("short", 0) | 1 << 127, &b""[..], "a view is not that of its text"),
        (view("a text of its own", 0), b"a text of its", "the long texts do not lie one behind the other"),
        (view("a text of its own", 0), b"another text of its own"[..17].as_ref(), "a view is not that of its text"),
        (view("short", 0), b"more", "there are more texts than the views refer to"),
    ];
    for (bits, heap, error) in views {
        assert_eq!(refused(Physical::View, 3, constant(bits), vec![], heap), error);
    }
}

#[test]
fn offsets_stay_within_the_type() {
    let beyond = "an offset leads beyond the column's type";
    let layout = |base: i128, divisor| Layout::Offset { base, divisor, width: 1 };
    let codes = || vec![of(&[0_u8, 200, 255])];
    assert_eq!(refused(Physical::I16, 3, layout(32_600, 1), codes(), &[]), beyond);
    assert_eq!(refused(Physical::I32, 3, layout(i128::from(i32::MIN) - 1, 1), codes(), &[]), beyond);
    assert_eq!(refused(Physical::I64, 3, layout(0, u64::MAX), codes(), &[]), beyond);
    assert_eq!(refused(Physical::I128, 3, layout(i128::MAX - 254, 1), codes(), &[]), beyond);
    let at_the_edge = PackedColumn::from_buffers(Physical::I128, 3, layout(i128::MAX - 255, 1), codes(), none(), true);
    assert_eq!(at_the_edge.expect("it is within").bits(2), i128::MAX as u128);
}

#[test]
fn dictionaries_are_in_order_and_have_all_codes() {
    let layout = Layout::Dictionary { entries: 2, width: 1 };
    let codes = || of(&[1_u8, 0, 1]);
    let not_in_order = "the entries of the dictionary are not in order";
    let entries = |one: i64, other: i64| vec![of(&[one, other]), codes()];
    assert_eq!(
        refused(Physical::I64, 3, layout, vec![of(&[1_i64, 2]), of(&[0_u8, 2, 0])], &[]),
        "a code has no entry in the dictionary"
    );
    assert_eq!(refused(Physical::I64, 3, layout, entries(2, 1), &[]), not_in_order);
    assert_eq!(refused(Physical::I64, 3, layout, entries(1, 1), &[]), not_in_order);
    assert_eq!(refused(Physical::F64, 3, layout, vec![of(&[f64::NAN, 1.0]), codes()], &[]), not_in_order);
    assert_eq!(refused(Physical::F32, 3, layout, vec![of(&[1.0_f32, -1.0]), codes()], &[]), not_in_order);
    let texts = vec![of(&[view("b", 0), view("a", 0)]), codes()];
    assert_eq!(refused(Physical::View, 3, layout, texts, &[]), not_in_order);
}

#[test]
fn codes_stand_for_texts() {
    let layout = Layout::Fsst { symbols: 2, width: 2 };
    let symbols = |one: &[u8; 8], other: &[u8; 8]| of(&[*one, *other].concat());
    let right = || symbols(b"zw\xC3\xB6\0\0\0\0", b"\0\0\0\0\0\0\0\0");
    let column = |symbols: Buffer, ends: [u16; 3], codes: &[u8], is_utf8: bool| {
        let buffers = vec![symbols, of(&[0_u32]), of(&ends)];
        PackedColumn::from_buffers(Physical::View, 3, layout, buffers, of(codes), is_utf8)
            .map(|column| [0, 1, 2].map(|row| column.text(row, &TextRoom::default()).to_vec()))
    };
    let texts = ["zwöl".as_bytes().to_vec(), Vec::new(), b"\0\0x".to_vec()];
    assert_eq!(column(right(), [3, 3, 7], &[0, 255, b'l', 1, 1, 255, b'x'], true), Ok(texts));
    let not_whole = Err("a text has a code without a symbol, or ends with an escape");
    assert_eq!(column(right(), [1, 2, 3], &[0, 1, 2], true), not_whole);
    assert_eq!(column(right(), [1, 2, 3], &[0, 255, 255], true), not_whole);
    assert_eq!(column(right(), [1, 1, 3], &[0, 1, 255], true), not_whole);
    // A half of a character in each.
    let halves = || symbols(b"\xC3\0\0\0\0\0\0\0", b"\xB6\0\0\0\0\0\0\0");
    assert_eq!(column(halves(), [2, 2, 2], &[0, 1], true).map(|texts| texts[0].clone()), Ok("ö".as_bytes().to_vec()));
    assert_eq!(column(halves(), [1, 1, 2], &[0, 1], true), Err("a text is not UTF-8"));
    assert!(column(halves(), [1, 1, 2], &[0, 1], false).is_ok());
    let beyond = Err("the texts do not fill their heap");
    assert_eq!(column(right(), [1, 1, 1], &[0, 1], true), beyond);
    assert_eq!(column(right(), [1, 1, 3], &[0, 1], true), beyond);
    assert_eq!(column(right(), [2, 1, 2], &[0, 1], true), beyond);
}

#[test]
fn texts_fill_their_heap() {
    let layout = Layout::Texts { width: 2 };
    let heap = |texts: &[u8]| [texts, &[0; INLINE_BYTES_MAX]].concat();
    let buffers = |start: u32, ends: [u16; 3]| vec![of(&[start]), of(&ends)];
    assert_eq!(group_bytes(3), 4);
    let column = |buffers, heap: &[u8]| {
        PackedColumn::from_buffers(Physical::View, 3, layout, buffers, of(heap), true).map(|column| {
            (0..3)
                .map(|row| String::from_utf8(column.text(row, &TextRoom::default()).to_vec()).expect("it is UTF-8"))
                .collect::<Vec<_>>()
        })
    };
    let texts = ["zw", "", "öl"].map(str::to_owned).to_vec();
    assert_eq!(column(buffers(0, [2, 2, 5]), &heap("zwöl".as_bytes())), Ok(texts));
    let beyond = Err("the texts do not fill their heap");
    assert_eq!(column(buffers(0, [2, 2, 4]), &heap(b"12345")), beyond);
    assert_eq!(column(buffers(0, [2, 2, 6]), &heap(b"12345")), beyond);
    assert_eq!(column(buffers(0, [3, 2, 5]), &heap(b"12345")), beyond);
    assert_eq!(column(buffers(1, [1, 2, 4]), &heap(b"12345")), beyond);
    assert_eq!(column(buffers(0, [0, 0, 0]), b"short"), beyond);
    assert_eq!(column(buffers(0, [1, 2, 5]), &heap(&[0xFF; 5])), Err("the texts are not UTF-8"));
    assert_eq!(column(buffers(0, [1, 2, 5]), &heap("äöa".as_bytes())), Err("a text begins inside a UTF-8 character"));
}
