//! Texts come back from their codes, and forged ones are refused or what their bytes say.

use arrow_buffer::Buffer;
use longshore_testing::Random;

use super::ESCAPE;
use crate::arena::Arena;
use crate::memory::Memory;
use crate::packed::{Layout, PackedAs, PackedColumn, Packer};
use crate::types::Physical;
use crate::values::{Scratch, TextRoom, Values};
use crate::view::{self, INLINE_BYTES_MAX};

/// A column of texts, compressed whether it pays or not.
fn compressed(texts: &[Vec<u8>]) -> PackedColumn {
    let heap = texts.concat();
    let mut at = 0;
    let views: Vec<u128> = texts
        .iter()
        .map(|text| {
            let mut start = [0; INLINE_BYTES_MAX];
            std::iter::zip(&mut start, text).for_each(|(to, from)| *to = *from);
            at += text.len();
            view::of_start(&start, text.len() as u32, (at - text.len()) as u32)
        })
        .collect();
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    let packed = Packer::default().pack(Values::Views(&views), None, &heap, &mut arena).expect("there is memory");
    let compressed = packed.compressed_if(|_, _| true, &mut arena).expect("there is memory");
    compressed.unwrap_or_else(|| panic!("{packed:?}"))
}

/// The slow twin: the text of some codes, symbol by symbol and byte by byte. `None` if they are those of none.
fn text_of(symbols: &[u8], codes: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut codes = codes.iter();
    while let Some(&code) = codes.next() {
        if code == ESCAPE {
            text.push(*codes.next()?);
            continue;
        }
        let symbol = symbols.chunks(8).nth(code.into())?;
        let last = symbol.iter().rposition(|&byte| byte != 0).unwrap_or(0);
        text.extend_from_slice(&symbol[..=last]);
    }
    Some(text)
}

/// The same of all rows of a column with these buffers and this heap, whose ends take two bytes. `None` where something is
/// wrong.
fn texts_of(rows: usize, buffers: &[Vec<u8>], heap: &[u8]) -> Option<Vec<Vec<u8>>> {
    let [symbols, groups, ends] = buffers else { panic!("three buffers") };
    let mut at = 0;
    let mut texts = Vec::new();
    for row in 0..rows {
        if row % 256 == 0 {
            let group = &groups[row / 256 * 4..][..4];
            if u32::from_le_bytes(group.try_into().expect("four bytes")) as usize != at {
                return None;
            }
        }
        let start = u32::from_le_bytes(groups[row / 256 * 4..][..4].try_into().expect("four bytes")) as usize;
        let end = start + usize::from(u16::from_le_bytes(ends[row * 2..][..2].try_into().expect("two bytes")));
        texts.push(text_of(symbols, heap.get(at..end)?)?);
        at = end;
    }
    (at == heap.len()).then_some(texts)
}

fn parts(column: &PackedColumn) -> (Layout, Vec<Vec<u8>>, Vec<u8>) {
    let lengths = column.layout().buffer_bytes(Physical::View, column.rows());
    let buffers = column.buffers().zip(lengths).map(|(buffer, bytes)| buffer[..bytes].to_vec()).collect();
    (column.layout(), buffers, column.heap().to_vec())
}

fn comments(random: &mut Random, rows: usize) -> Vec<Vec<u8>> {
    let words = ["the ", "slyly ", "ironic ", "deposits ", "sleep ", "quickly ", "among ", "größe ", "Ωμέγα "];
    // As most columns, half of them are ASCII, of which less has to be checked.
    let words = &words[..random.pick(&[7, 9])];
    (0..rows)
        .map(|row| {
            let text: String = (0..random.below(12)).map(|_| random.pick(words)).collect();
            format!("{text}{row}").into_bytes()
        })
        .collect()
}

#[test]
fn texts_of_words_take_a_third() {
    let texts = comments(&mut Random::new(5), 5000);
    let column = compressed(&texts);
    let bytes: usize = texts.iter().map(Vec::len).sum();
    assert!(column.heap().len() * 2 < bytes, "{} of {bytes}", column.heap().len());
    assert_eq!(column.text_bytes(), bytes);
    let (_, buffers, heap) = parts(&column);
    assert_eq!(texts_of(5000, &buffers, &heap), Some(texts));
}

#[test]
fn what_does_not_pay_is_tried_once() {
    let mut random = Random::new(6);
    let mut arena = Arena::new(Memory::new(None), 1 << 20);
    for (letters, pays) in [(2, true), (64, false)] {
        let texts: Vec<Vec<u8>> =
            (0..3000).map(|_| (0..40).map(|_| b'0' + random.below(letters) as u8).collect()).collect();
        let heap = texts.concat();
        let views: Vec<u128> = (0..3000)
            .map(|row| view::of_start(texts[row].first_chunk().expect("40 bytes"), 40, row as u32 * 40))
            .collect();
        let packed = Packer::default().pack(Values::Views(&views), None, &heap, &mut arena).expect("there is memory");
        assert!(packed.packed_as() == PackedAs::Texts && packed.is_compressible());
        let compressed = packed.compressed(&mut arena).expect("there is memory");
        assert_eq!((compressed.is_some(), packed.is_compressible()), (pays, pays));
        let copy = packed.copied(&mut arena).expect("there is memory");
        assert_eq!(copy.is_compressible(), pays, "a copy knows it, too");
        if let Some(compressed) = compressed {
            assert!(!compressed.is_compressible() && compressed.bytes() * 3 <= packed.bytes() * 2);
        }
    }
}

#[test]
fn a_text_of_a_megabyte_is_compressed() {
    let words: Vec<u8> = (0..1 << 20).map(|at| b"the quick brown fox "[at % 20]).collect();
    let noise: Vec<u8> = std::iter::repeat_with(|| 0).take(70_000).collect();
    let texts = [words, Vec::new(), noise, b"y".to_vec()];
    let column = compressed(&texts);
    for (row, text) in texts.iter().enumerate() {
        assert_eq!(column.text(row, &TextRoom::default()), text);
    }
}

#[test]
fn forged_columns_are_refused_or_what_they_say() {
    let mut random = Random::new(7);
    let (mut read, mut refused) = (0, 0);
    for round in 0..longshore_testing::share(3000) {
        let rows = 1 + random.below(600);
        let (layout, mut buffers, mut heap) = parts(&compressed(&comments(&mut random, rows.max(2))));
        let rows = rows.max(2);
        for _ in 0..random.below(4) {
            let part = random.below(4);
            let bytes = buffers.get_mut(part).unwrap_or(&mut heap);
            if !bytes.is_empty() {
                let at = random.below(bytes.len());
                bytes[at] = random.pick(&[0, 1, 127, 128, 254, 255, random_byte(round)]);
            }
        }
        let of = |bytes: &Vec<u8>| Buffer::from_slice_ref(bytes);
        let expected = texts_of(rows, &buffers, &heap);
        let is_utf8 = random.once_in(2);
        let column =
            PackedColumn::from_buffers(Physical::View, rows, layout, buffers.iter().map(of), of(&heap), is_utf8);
        let expected = expected.filter(|texts| !is_utf8 || texts.iter().all(|text| std::str::from_utf8(text).is_ok()));
        assert_eq!(column.is_ok(), expected.is_some(), "{column:?}");
        let (Ok(column), Some(expected)) = (column, expected) else {
            refused += 1;
            continue;
        };
        read += 1;
        let mut scratch = Scratch::default();
        let (Values::Views(views), texts) = column.read_with_texts(0..rows, &mut scratch) else { panic!("views") };
        for ((row, view), text) in views.iter().enumerate().zip(&expected) {
            assert_eq!(view::text(&view.to_le_bytes(), texts), text, "row {row}");
            assert_eq!(column.text(row, &TextRoom::default()), text, "row {row}");
        }
    }
    assert!(read > 0 && refused > 0, "both happen: {read} read, {refused} refused");
}

fn random_byte(round: usize) -> u8 {
    (round * 37) as u8
}
