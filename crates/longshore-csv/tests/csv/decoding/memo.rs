//! Columns of text that are decoded with a memo, against the same without one.

use std::mem::MaybeUninit;

use longshore_csv::decode::{Coded, TextMemo};
use longshore_csv::{Decoder, Heap, PADDING, Reason, Rows, Target, Validity, Values};

use super::{Cell, viewed};

const USED: usize = 5;
const FIRST_BIT: usize = 3;

/// Decodes the rows several times with one memo, so that it knows ever more of their fields; each time they must be what is
/// expected, and codes must stand for the values beside them.
pub(crate) fn check(decoder: &Decoder, rows: Rows<'_>, column: usize, expected: &[Result<Cell, Reason>]) {
    const TIMES: usize = 3;
    let count = rows.count();
    let bytes = rows.text_bytes() + count * decoder.rule().value_type.growth_max();
    let mut memory = vec![MaybeUninit::<u8>::uninit(); USED + TIMES * bytes + PADDING];
    let mut memo = TextMemo::default();
    let mut used = USED;
    for time in 1..=TIMES {
        let mut bits = vec![0xFF_u8; count / 8 + 2];
        let mut slots = vec![MaybeUninit::new(9_u128); count];
        let mut codes = vec![MaybeUninit::new(0); count];
        let mut heap = Heap::new(&mut memory, used);
        let mut errors = Vec::new();
        let mut target = Target {
            values: Values::Views(&mut slots),
            validity: Validity::new(&mut bits, FIRST_BIT),
            heap: &mut heap,
            coded: Some(Coded { memo: &mut memo, codes: &mut codes }),
        };
        decoder.decode_lenient(&rows, column, &mut target, &mut errors);
        let nulls = target.validity.nulls();
        used = heap.used();
        // SAFETY: all slots began with a value.
        let text = |slot: &MaybeUninit<u128>| viewed(unsafe { slot.assume_init() }, &memory);
        let is_null = |row: usize| bits[(row + FIRST_BIT) / 8] >> ((row + FIRST_BIT) % 8) & 1 == 0;
        let mut cells: Vec<Result<Cell, Reason>> =
            (0..count).map(|row| Ok(if is_null(row) { Cell::Null } else { Cell::Bytes(text(&slots[row])) })).collect();
        for error in &errors {
            cells[error.row] = Err(error.reason);
        }
        assert!(cells == expected, "time {time} of {:?}", decoder.rule());
        assert_eq!(nulls, cells.iter().filter(|cell| **cell == Ok(Cell::Null)).count());
        let Some(views) = memo.views(count) else { continue };
        assert!(errors.is_empty(), "the codes of a column with bad fields are no use");
        for (row, code) in codes.iter().enumerate() {
            // SAFETY: as above.
            let code = usize::from(unsafe { code.assume_init() });
            assert_eq!(viewed(views[code], &memory), text(&slots[row]), "row {row}, code {code}");
        }
    }
}

/// Whether a memo keeps the codes of these rows.
pub(crate) fn has_codes(decoder: &Decoder, rows: Rows<'_>, column: usize) -> bool {
    let count = rows.count();
    let mut memory = vec![MaybeUninit::<u8>::uninit(); rows.text_bytes() + PADDING];
    let mut memo = TextMemo::default();
    let mut slots = vec![MaybeUninit::new(0_u128); count];
    let mut codes = vec![MaybeUninit::new(0); count];
    let mut bits = vec![0xFF; count / 8 + 1];
    let mut heap = Heap::new(&mut memory, 0);
    let mut target = Target {
        values: Values::Views(&mut slots),
        validity: Validity::new(&mut bits, 0),
        heap: &mut heap,
        coded: Some(Coded { memo: &mut memo, codes: &mut codes }),
    };
    decoder.decode_lenient(&rows, column, &mut target, &mut Vec::new());
    memo.views(count).is_some()
}
