//! Whether the quotes of a text enclose whole fields, 64 bytes at a time.
//!
//! Where quotes are doubled, each one that turns the state to "inside" stands behind a delimiter, a line end or a quote, and
//! each one that turns it back stands before one of these: then a field has no quotes, or begins and ends with one and has
//! pairs of them in between.

use super::block::{BLOCK_BYTES, Block, low_bits, zero_padded};
use crate::kernel::with_kernel;
use crate::{Dialect, Kernel};

/// Whether no field of `text`, which begins with a record, has a quote but around all of it and doubled within. Where this says
/// no, a field may still be whole, with blanks around its quotes.
///
/// # Panics
/// If the CPU does not run `kernel`, or the dialect has no quote or an escape character.
#[must_use]
pub fn quotes_enclose_fields(kernel: Kernel, dialect: &Dialect, text: &[u8]) -> bool {
    kernel.assert_available();
    assert!(dialect.escape().is_none(), "quotes are doubled");
    let quote = dialect.quote().expect("there are quotes");
    let enclose: unsafe fn(u8, u8, &[u8]) -> bool = with_kernel!(kernel, simd => simd::quotes_enclose_fields);
    // SAFETY: the CPU runs the kernel.
    unsafe { enclose(quote, dialect.delimiter(), text) }
}

/// The same for one kernel.
///
/// # Safety
/// The CPU has the features of the kernel of `B`.
#[inline(always)]
pub(crate) unsafe fn enclose_fields<B: Block>(quote: u8, delimiter: u8, text: &[u8]) -> bool {
    let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
    let mut before = Before { inside: 0, bound: 1, closing: 0 };
    for block in blocks {
        // SAFETY: 64 bytes; the caller vouches for the features.
        let block = unsafe { B::load(block.as_ptr()) };
        if !before.goes_on(block, u64::MAX, quote, delimiter) {
            return false;
        }
    }
    let last = zero_padded(rest);
    // SAFETY: 64 bytes; the caller vouches for the features.
    let last = unsafe { B::load(last.as_ptr()) };
    (rest.is_empty() || before.goes_on(last, low_bits(rest.len()), quote, delimiter)) && before.inside == 0
}

/// What stands before a block.
struct Before {
    /// All ones if it begins inside quotes.
    inside: u64,
    /// One if a quote may open a field at its first byte.
    bound: u64,
    /// One if the byte before it is a quote that closes a field, or is the first of a pair.
    closing: u64,
}

impl Before {
    /// Whether the quotes of the next block stand as they should.
    #[inline(always)]
    fn goes_on<B: Block>(&mut self, block: B, valid: u64, quote: u8, delimiter: u8) -> bool {
        let quotes = block.eq(quote) & valid;
        let bounds = (block.eq_either(delimiter, b'\n') | quotes) & valid;
        let inside = block.prefix_xor(quotes) ^ self.inside;
        let (opening, closing) = (quotes & inside, quotes & !inside);
        let is_opened_within = opening & !(bounds << 1 | self.bound) != 0;
        let is_closed_within = (closing << 1 | self.closing) & !(bounds | block.eq(b'\r')) & valid != 0;
        *self = Before {
            inside: (inside.cast_signed() >> 63).cast_unsigned(),
            // Inside quotes none is opened. Without `inside`, the compiler would take the bit from the bytes, one by one.
            bound: (bounds & !inside) >> 63,
            closing: closing >> 63,
        };
        !is_opened_within && !is_closed_within
    }
}

#[cfg(test)]
mod tests {
    use longshore_testing::Random;

    use super::*;

    /// The slow twin: byte by byte.
    fn by_bytes(text: &[u8]) -> bool {
        let at = |at: Option<usize>| at.and_then(|at| text.get(at)).copied();
        let mut is_inside = false;
        for place in (0..text.len()).filter(|place| text[*place] == b'"') {
            is_inside = !is_inside;
            let stands_well = if is_inside {
                matches!(at(place.checked_sub(1)), None | Some(b',' | b'\n' | b'"'))
            } else {
                matches!(at(place.checked_add(1)), None | Some(b',' | b'\n' | b'\r' | b'"'))
            };
            if !stands_well {
                return false;
            }
        }
        !is_inside
    }

    #[test]
    fn every_kernel_says_what_a_look_at_each_byte_does() {
        let mut random = Random::new(4);
        let mut counts = [0; 2];
        for round in 0..30_000 {
            let mut text = Vec::new();
            while text.len() < random.below(260) {
                match random.below(8) {
                    0 => text.extend_from_slice(b"plain text"),
                    1..4 => {
                        text.push(b'"');
                        for _ in 0..random.below(40) {
                            text.extend_from_slice(random.pick(&[
                                &b"a"[..],
                                b"\"\"",
                                b",",
                                b"\n",
                                b"some words",
                                b"\r",
                            ]));
                        }
                        text.push(b'"');
                    }
                    _ => text.push(b'7'),
                }
                text.extend_from_slice(random.pick(&[&b","[..], b"\n", b"\r\n"]));
            }
            if round % 2 == 1 && !text.is_empty() {
                let at = random.below(text.len());
                text[at] = random.pick(b"\"\"\"a,\n\r ");
            }
            let expected = by_bytes(&text);
            counts[usize::from(expected)] += 1;
            for kernel in Kernel::available() {
                let said = quotes_enclose_fields(kernel, &Dialect::default(), &text);
                assert_eq!(said, expected, "{kernel:?}: {}", text.escape_ascii());
            }
        }
        assert!(counts.iter().all(|count| *count > 3000), "{counts:?}");
    }
}
