//! What must hold for any bytes, one module for each subject, and what these share: choices taken from the input, padded text,
//! columns to decode into.
//!
//! Tests give them random bytes. The targets in `fuzz/` give them those that libFuzzer finds, under AddressSanitizer.

pub mod containers;
pub mod data_directory;
pub mod decode;
pub mod encodings;
pub mod formats;
pub mod index;
pub mod json;
pub mod load;
pub mod native;
#[cfg(feature = "server")]
pub mod protocol;
pub mod redo;
pub mod round_trip;
pub mod scan;
pub mod sniff;

use std::mem::MaybeUninit;

use longshore_csv::decode::{Decoder, FieldError, Heap, Slot, Target, Validity, Values};
use longshore_csv::{Dialect, PADDING, Padded, Rows};

/// Takes choices off the front of an input; when it is used up, every choice is the first.
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Choices from an input.
    #[must_use]
    pub fn new(input: &'a [u8]) -> Choices<'a> {
        Choices { rest: input }
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        first
    }

    /// A number below `bound`, which is at most 65,536.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = usize::from(self.byte()) | usize::from(self.byte()) << 8;
        number % bound
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.byte()) % from.len()]
    }

    /// A dialect: the usual ones, with and without an escape character, and one without quotes.
    ///
    /// # Panics
    ///
    /// Never: all of them are valid.
    pub fn dialect(&mut self) -> Dialect {
        let (delimiter, quote, escape) = self.pick(&[
            (b',', Some(b'"'), None),
            (b'|', Some(b'"'), None),
            (b',', Some(b'"'), Some(b'\\')),
            (b'\t', Some(b'\''), Some(b'\\')),
            (b'|', None, None),
        ]);
        Dialect::new(delimiter, quote, escape).expect("the dialects above are valid")
    }

    /// Whether the input is used up.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// What is left: the text.
    #[must_use]
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }
}

/// A copy of a text in an allocation that ends right behind its padding, so that reading further is seen.
pub struct PaddedText {
    buffer: Vec<u8>,
    len: usize,
}

impl PaddedText {
    /// The padding is of bytes that would mean something if they were read as text.
    #[must_use]
    pub fn new(text: &[u8], padding: u8) -> PaddedText {
        let mut buffer = Vec::with_capacity(text.len() + PADDING);
        buffer.extend_from_slice(text);
        buffer.resize(text.len() + PADDING, padding);
        buffer.shrink_to_fit();
        PaddedText { buffer, len: text.len() }
    }

    /// The text as the scan takes it.
    #[must_use]
    pub fn padded(&self) -> Padded<'_> {
        Padded::new(&self.buffer, self.len)
    }
}

/// A decoded value that can be compared: NULL, the bits of a number, or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// An integer, a date, a time, or the bits of a float.
    Number(i128),
    /// A string.
    Bytes(Vec<u8>),
}

/// Decodes one column into memory of exactly the size that the decoder may ask for.
///
/// # Errors
///
/// What the decoder refuses.
pub fn decoded(decoder: &Decoder, rows: &Rows<'_>, column: usize) -> Result<Vec<Cell>, FieldError> {
    let count = rows.count();
    let mut bits = vec![0xff_u8; count.div_ceil(8)];
    let growth = count * decoder.rule().value_type.growth_max();
    let mut bytes = vec![MaybeUninit::new(0_u8); rows.text_bytes() + growth + PADDING];
    macro_rules! column {
        ($values:ident, $type:ty, $cell:expr) => {{
            let mut slots = vec![MaybeUninit::new(<$type>::default()); count];
            let mut heap = Heap::new(&mut bytes, 0);
            let validity = Validity::new(&mut bits, 0);
            decoder.decode(
                rows,
                column,
                &mut Target { values: Values::$values(&mut slots), validity, heap: &mut heap, coded: None },
            )?;
            let used = heap.used();
            // SAFETY: every slot was initialised above, whatever the decoder did.
            let values: Vec<$type> = slots.iter().map(|slot| unsafe { slot.assume_init() }).collect();
            // SAFETY: as for the slots.
            let bytes: Vec<u8> = bytes[..used].iter().map(|byte| unsafe { byte.assume_init() }).collect();
            let cell: fn($type, &[u8]) -> Cell = $cell;
            values.into_iter().map(|value| cell(value, &bytes)).collect::<Vec<_>>()
        }};
    }
    let mut cells = match decoder.rule().value_type.slot() {
        Slot::U8 => column!(U8, u8, |value, _| Cell::Number(value.into())),
        Slot::I16 => column!(I16, i16, |value, _| Cell::Number(value.into())),
        Slot::I32 => column!(I32, i32, |value, _| Cell::Number(value.into())),
        Slot::I64 => column!(I64, i64, |value, _| Cell::Number(value.into())),
        Slot::I128 => column!(I128, i128, |value, _| Cell::Number(value)),
        Slot::F32 => column!(F32, f32, |value, _| Cell::Number(value.to_bits().into())),
        Slot::F64 => column!(F64, f64, |value, _| Cell::Number(value.to_bits().into())),
        Slot::View => column!(Views, u128, |view, heap| Cell::Bytes(viewed(view, heap))),
    };
    for (row, cell) in cells.iter_mut().enumerate() {
        if bits[row / 8] >> (row % 8) & 1 == 0 {
            *cell = Cell::Null;
        }
    }
    Ok(cells)
}

/// The bytes that a view stands for, its own rules checked.
fn viewed(view: u128, heap: &[u8]) -> Vec<u8> {
    let raw = view.to_le_bytes();
    let len = u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]) as usize;
    if len <= 12 {
        assert!(raw[4 + len..].iter().all(|&byte| byte == 0), "an inline view is padded with zeros");
        return raw[4..4 + len].to_vec();
    }
    assert_eq!(raw[8..12], [0; 4], "there is one heap");
    let offset = u32::from_le_bytes([raw[12], raw[13], raw[14], raw[15]]) as usize;
    let bytes = heap[offset..offset + len].to_vec();
    assert_eq!(raw[4..8], bytes[..4], "a view repeats the first bytes");
    bytes
}
