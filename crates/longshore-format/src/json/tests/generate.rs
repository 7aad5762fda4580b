//! Texts of JSON at random, and changes to them.

use crate::json::Layout;

#[path = "../../../../longshore-csv/tests/csv/common/random.rs"]
mod random;

pub(super) use random::Random;

const KEYS: [&str; 12] = [
    "\"a\"",
    "\"b\"",
    "\"c\"",
    "\"d\"",
    "\"e\"",
    "\"\"",
    "\"\\u0061\"",
    "\"gr\u{f6}\u{df}e\"",
    "\"gr\\u00f6\\u00DFe\"",
    "\"long key of more bytes than are compared\"",
    "\"long key of more bytes than are compared, and more\"",
    "\"q\\\"\\\\\"",
];

const STRINGS: [&str; 12] = [
    "\"\"",
    "\"x\"",
    "\"a plain string of more than sixteen bytes\"",
    "\"}],\\\"{[\"",
    "\"\\\\\"",
    "\"\\ud83d\\ude00\"",
    "\"größe €\"",
    "\"0123456789abcdef\"",
    "\"\\n\\t\\/\\u0000\"",
    "\"tab, \u{7f}\"",
    "\"\u{1f}\"",
    "\"end\\\\\\\"\"",
];

const SCALARS: [&str; 16] = [
    "0",
    "-0",
    "1",
    "-17.50",
    "12345678901234567890",
    "1e5",
    "1E-05",
    "0.0001",
    "true",
    "false",
    "null",
    "123456789.123",
    "-1.25e+10",
    "9007199254740993",
    "1234567890123456",
    "123456789012345",
];

/// What bytes are changed to, mostly.
const HOSTILE: &[u8] = b"{}[]\",:\\\n 0-.eutfn\x00\x1f\x80\xffa'/";

impl Random {
    /// A text of some records, in order.
    pub(super) fn text(&mut self, layout: Layout) -> String {
        let blanks: &[&str] = match (layout, self.below(3)) {
            (_, 0) => &[""],
            (Layout::Lines, _) => &["", "", " ", "\t", "\r"],
            _ => &["", "", " ", "\n", "\r\n  "],
        };
        let mut order: Vec<usize> = (0..KEYS.len()).collect();
        order.swap(0, self.below(KEYS.len()));
        order.swap(1, self.below(KEYS.len()));
        let records: Vec<String> = (0..self.below(8))
            .map(|_| {
                if self.below(10) == 0 {
                    let at = self.below(KEYS.len());
                    order.swap(at, 0);
                }
                self.record(&order, blanks)
            })
            .collect();
        match layout {
            Layout::Lines => {
                let end = ["\n", "\r\n", " \n", "\n\n"][self.below(4)];
                records.join(end) + ["", end][self.below(2)]
            }
            Layout::Values => records.join(["", "\n", " "][self.below(3)]),
            Layout::Array if self.below(5) == 0 => {
                let arrays: Vec<String> = records.chunks(2).map(|records| format!("[{}]", records.join(","))).collect();
                arrays.join(["", "\n", " "][self.below(3)])
            }
            Layout::Array => format!("[{}]", records.join([",", " , ", ",\n"][self.below(3)])),
        }
    }

    fn record(&mut self, order: &[usize], blanks: &[&str]) -> String {
        let mut record = String::new();
        if self.below(6) == 0 {
            self.container(&mut record, blanks, 2);
            return record;
        }
        record.push('{');
        let mut gap = "";
        for &key in order {
            if self.below(3) > 0 {
                record.push_str(gap);
                gap = ",";
                self.member(KEYS[key], &mut record, blanks, 3);
            }
        }
        record.push('}');
        record
    }

    fn member(&mut self, key: &str, out: &mut String, blanks: &[&str], depth: usize) {
        self.blank(out, blanks);
        out.push_str(key);
        self.blank(out, blanks);
        out.push(':');
        self.blank(out, blanks);
        self.value(out, blanks, depth);
        self.blank(out, blanks);
    }

    fn value(&mut self, out: &mut String, blanks: &[&str], depth: usize) {
        match self.below(6) {
            0 | 1 => {
                let string = STRINGS[self.below(STRINGS.len())];
                out.push_str(if string.contains('\u{1f}') { "\"no control\"" } else { string });
            }
            2 if depth > 0 => self.container(out, blanks, depth - 1),
            _ => out.push_str(SCALARS[self.below(SCALARS.len())]),
        }
    }

    fn container(&mut self, out: &mut String, blanks: &[&str], depth: usize) {
        let is_object = self.below(2) == 0;
        out.push(if is_object { '{' } else { '[' });
        self.blank(out, blanks);
        for index in 0..self.below(4) {
            if index > 0 {
                out.push(',');
            }
            if is_object {
                let key = KEYS[self.below(KEYS.len())];
                self.member(key, out, blanks, depth);
            } else {
                self.blank(out, blanks);
                self.value(out, blanks, depth);
                self.blank(out, blanks);
            }
        }
        out.push(if is_object { '}' } else { ']' });
    }

    fn blank(&mut self, out: &mut String, blanks: &[&str]) {
        out.push_str(blanks[self.below(blanks.len())]);
    }

    /// Changes, adds or takes away a byte or a few.
    pub(super) fn mutate(&mut self, text: &mut Vec<u8>) {
        let at = self.below(text.len() + 1);
        let byte = HOSTILE[self.below(HOSTILE.len())];
        match self.below(6) {
            0 => text.insert(at, byte),
            1 if at < text.len() => {
                text.remove(at);
            }
            2 if at < text.len() => {
                let end = text.len().min(at + 1 + self.below(10));
                text.drain(at..end);
            }
            3 => {
                let end = text.len().min(at + 1 + self.below(20));
                let copy = text[at..end].to_vec();
                let to = self.below(text.len() + 1);
                text.splice(to..to, copy);
            }
            4 if at < text.len() => text[at] ^= 1 << self.below(8),
            _ if at < text.len() => text[at] = byte,
            _ => text.truncate(at.saturating_sub(1)),
        }
    }
}
