//! Checks UTF-8 of many records at once.
//!
//! Records are short and a call per record costs more than the check. So a stretch of text is checked as one; only
//! where that fails are its records checked one by one.

/// Bytes that are checked at once.
const STRETCH_BYTES: usize = 1 << 16;

/// How far a text is known to be valid.
#[derive(Debug, Default)]
pub(super) struct Utf8Check {
    /// Everything up to here was looked at.
    checked: usize,
    /// The stretch that ends at `checked` holds something invalid.
    suspect: bool,
}

impl Utf8Check {
    /// The position of the first byte in `start..end` that is not UTF-8. Records come in the order of the text.
    #[inline]
    pub(super) fn first_invalid(&mut self, text: &[u8], start: usize, end: usize) -> Option<usize> {
        if end > self.checked {
            self.go_on(text, start, end);
        }
        if self.suspect { first_invalid(&text[start..end]).map(|at| start + at) } else { None }
    }

    #[cold]
    fn go_on(&mut self, text: &[u8], start: usize, end: usize) {
        // A record that lies in two stretches is checked with the second one.
        let mut stop = text.len().min(end.max(start + STRETCH_BYTES));
        while stop > end && text.get(stop).is_some_and(|byte| byte & 0xC0 == 0x80) {
            stop -= 1;
        }
        self.suspect = simdutf8::basic::from_utf8(&text[start..stop]).is_err();
        self.checked = stop;
    }
}

fn first_invalid(record: &[u8]) -> Option<usize> {
    simdutf8::compat::from_utf8(record).err().map(|error| error.valid_up_to())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_judged_as_if_it_stood_alone() {
        let mut text = Vec::new();
        let mut records = Vec::new();
        for index in 0..20_000_usize {
            let start = text.len();
            text.extend_from_slice("größe €".repeat(index % 4).as_bytes());
            if index.is_multiple_of(4_999) {
                text.extend_from_slice(b"\xE2\x82");
            }
            records.push((start, text.len()));
            text.push(b'\n');
        }
        let mut check = Utf8Check::default();
        for (start, end) in records {
            let right = std::str::from_utf8(&text[start..end]).err().map(|error| start + error.valid_up_to());
            assert_eq!(check.first_invalid(&text, start, end), right);
        }
    }
}
