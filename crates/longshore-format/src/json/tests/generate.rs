//! Texts of JSON at random, and changes to them.

use longshore_testing::Random;

use crate::json::Layout;

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

/// A text of some records, in order.
pub(super) fn text(random: &mut Random, layout: Layout) -> String {
    let blanks: &[&str] = match (layout, random.below(3)) {
        (_, 0) => &[""],
        (Layout::Lines, _) => &["", "", " ", "\t", "\r"],
        _ => &["", "", " ", "\n", "\r\n  "],
    };
    let mut order: Vec<usize> = (0..KEYS.len()).collect();
    order.swap(0, random.below(KEYS.len()));
    order.swap(1, random.below(KEYS.len()));
    let records: Vec<String> = (0..random.below(8))
        .map(|_| {
            if random.below(10) == 0 {
                let at = random.below(KEYS.len());
                order.swap(at, 0);
            }
            record(random, &order, blanks)
        })
        .collect();
    match layout {
        Layout::Lines => {
            let end = ["\n", "\r\n", " \n", "\n\n"][random.below(4)];
            records.join(end) + ["", end][random.below(2)]
        }
        Layout::Values => records.join(["", "\n", " "][random.below(3)]),
        Layout::Array if random.below(5) == 0 => {
            let arrays: Vec<String> = records.chunks(2).map(|records| format!("[{}]", records.join(","))).collect();
            arrays.join(["", "\n", " "][random.below(3)])
        }
        Layout::Array => format!("[{}]", records.join([",", " , ", ",\n"][random.below(3)])),
    }
}

fn record(random: &mut Random, order: &[usize], blanks: &[&str]) -> String {
    let mut record = String::new();
    if random.below(6) == 0 {
        container(random, &mut record, blanks, 2);
        return record;
    }
    record.push('{');
    let mut gap = "";
    for &key in order {
        if random.below(3) > 0 {
            record.push_str(gap);
            gap = ",";
            member(random, KEYS[key], &mut record, blanks, 3);
        }
    }
    record.push('}');
    record
}

fn member(random: &mut Random, key: &str, out: &mut String, blanks: &[&str], depth: usize) {
    blank(random, out, blanks);
    out.push_str(key);
    blank(random, out, blanks);
    out.push(':');
    blank(random, out, blanks);
    value(random, out, blanks, depth);
    blank(random, out, blanks);
}

fn value(random: &mut Random, out: &mut String, blanks: &[&str], depth: usize) {
    match random.below(6) {
        0 | 1 => {
            let string = STRINGS[random.below(STRINGS.len())];
            out.push_str(if string.contains('\u{1f}') { "\"no control\"" } else { string });
        }
        2 if depth > 0 => container(random, out, blanks, depth - 1),
        _ => out.push_str(SCALARS[random.below(SCALARS.len())]),
    }
}

fn container(random: &mut Random, out: &mut String, blanks: &[&str], depth: usize) {
    let is_object = random.below(2) == 0;
    out.push(if is_object { '{' } else { '[' });
    blank(random, out, blanks);
    for index in 0..random.below(4) {
        if index > 0 {
            out.push(',');
        }
        if is_object {
            let key = KEYS[random.below(KEYS.len())];
            member(random, key, out, blanks, depth);
        } else {
            blank(random, out, blanks);
            value(random, out, blanks, depth);
            blank(random, out, blanks);
        }
    }
    out.push(if is_object { '}' } else { ']' });
}

fn blank(random: &mut Random, out: &mut String, blanks: &[&str]) {
    out.push_str(blanks[random.below(blanks.len())]);
}

/// Changes, adds or takes away a byte or a few.
pub(super) fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    let at = random.below(text.len() + 1);
    let byte = HOSTILE[random.below(HOSTILE.len())];
    match random.below(6) {
        0 => text.insert(at, byte),
        1 if at < text.len() => {
            text.remove(at);
        }
        2 if at < text.len() => {
            let end = text.len().min(at + 1 + random.below(10));
            text.drain(at..end);
        }
        3 => {
            let end = text.len().min(at + 1 + random.below(20));
            let copy = text[at..end].to_vec();
            let to = random.below(text.len() + 1);
            text.splice(to..to, copy);
        }
        4 if at < text.len() => text[at] ^= 1 << random.below(8),
        _ if at < text.len() => text[at] = byte,
        _ => text.truncate(at.saturating_sub(1)),
    }
}
