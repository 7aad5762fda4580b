//! Reads one record: finds the values that columns take, and proves that the record is JSON.
//!
//! Objects of a text mostly have the same keys in the same order. So each key is remembered with the one that stood
//! behind it last time, and that one is compared with the text at once, quotes and colon and all; only when it is
//! another is its name looked up. Keys that no column wants are remembered as well.
//! Not here: cutting a text into records, UTF-8 (`reader`), values that nobody wants (`skip`).

use std::collections::HashMap;
use std::ops::Range;

use longshore_csv::{DefectKind, RowText};

use super::fault::{Expected, Fault};
use super::plan::{IGNORED, Key, NONE, Plan};
use super::skip::{self, colon, container};
use super::token::{Scanned, byte, name, number, skip_blanks, string};
use super::unescape::{unescape, unescape_into};

/// Keys without a column that are remembered, at most; others are read, only not predicted.
const STRANGERS_MAX: usize = 1024;

/// A value that a column takes.
#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u32,
    end: u32,
    form: Form,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Not at all.
    Missing,
    /// As null.
    Null,
    /// Without quotes: numbers, booleans.
    Bare,
    /// As a string that stands for itself.
    Plain,
    /// As a string with escapes.
    Escaped,
    /// As an object or array, kept as text.
    Container,
}

const MISSING: Slot = Slot { start: 0, end: 0, form: Form::Missing };

/// Reads the records of one text.
pub(super) struct RecordReader<'a> {
    text: &'a [u8],
    plan: &'a Plan,
    rejects_unknown: bool,
    slots: Vec<Slot>,
    /// The key that stood behind each key when it was last seen.
    following: Vec<u32>,
    /// Keys that no column wants, numbered after those of the plan.
    strangers: Vec<Key>,
    /// By node and spelling.
    strangers_by_name: HashMap<(u32, &'a [u8]), u32>,
}

impl<'a> RecordReader<'a> {
    pub(super) fn new(text: &'a [u8], plan: &'a Plan, rejects_unknown: bool) -> RecordReader<'a> {
        RecordReader {
            text,
            plan,
            rejects_unknown,
            slots: vec![MISSING; plan.slots],
            following: plan.following.clone(),
            strangers: Vec::new(),
            strangers_by_name: HashMap::new(),
        }
    }

    /// The position behind the record that begins at `at`; its values are kept until the next one is read.
    #[inline]
    pub(super) fn read<const LINES: bool>(&mut self, at: usize) -> Scanned {
        self.slots.fill(MISSING);
        let root = &self.plan.nodes[0];
        match byte(self.text, at) {
            b'{' if !root.by_name.is_empty() => self.object::<LINES>(at + 1, 0, 1),
            b'[' if !root.by_index.is_empty() => self.array::<LINES>(at + 1, 0, 1),
            _ if root.by_index.is_empty() => Err(Fault::unexpected(self.text, at, Expected::Other("an object"))),
            _ if root.by_name.is_empty() => Err(Fault::unexpected(self.text, at, Expected::Other("an array"))),
            _ => Err(Fault::unexpected(self.text, at, Expected::Other("an object or array"))),
        }
    }

    /// Appends the values of the record just read, which stands at `start..end`, as a row.
    #[inline]
    pub(super) fn push_row(&self, start: usize, end: usize, rows: &mut RowText) {
        for &slot in &self.plan.columns {
            let Slot { start: from, end: to, form } = self.slots[slot as usize];
            let content = &self.text[from as usize..to as usize];
            match form {
                Form::Missing => rows.push_missing(start as u32),
                Form::Null => rows.push_null(from),
                Form::Bare => rows.push_clean(content, from),
                Form::Plain => rows.push_verbatim(content, from),
                Form::Container => rows.push_quoted(content, from),
                Form::Escaped => {
                    rows.open_quoted();
                    unescape_into(&content[1..content.len() - 1], rows);
                    rows.close_quoted(from);
                }
            }
        }
        rows.end_record(start as u32, end as u32);
    }

    /// The position behind the object of a node whose first byte is behind `at`; `depth` containers are open.
    fn object<const LINES: bool>(&mut self, at: usize, node: u32, depth: usize) -> Scanned {
        let mut at = skip_blanks::<LINES>(self.text, at);
        if byte(self.text, at) == b'}' {
            return Ok(at + 1);
        }
        let mut last = self.plan.nodes[node as usize].before;
        loop {
            let predicted = self.following[last as usize];
            let (key, value) = match self.key(predicted).end_in(self.text, at) {
                Some(end) => (predicted, end),
                None => self.other_key::<LINES>(at, node, last)?,
            };
            last = key;
            at = self.value::<LINES>(value, key, depth)?;
            if byte(self.text, at) <= b' ' {
                at = skip_blanks::<LINES>(self.text, at);
            }
            match byte(self.text, at) {
                b',' => at += 1,
                b'}' => return Ok(at + 1),
                _ => return Err(Fault::unexpected(self.text, at, Expected::Other("',' or '}'"))),
            }
            if byte(self.text, at) <= b' ' {
                at = skip_blanks::<LINES>(self.text, at);
            }
        }
    }

    #[inline(always)]
    fn key(&self, key: u32) -> &Key {
        let known = self.plan.keys.len();
        match self.plan.keys.get(key as usize) {
            Some(key) => key,
            None => &self.strangers[key as usize - known],
        }
    }

    /// The key at `at`, which is another than the one predicted behind `last`, and the position of its value.
    #[inline(never)]
    fn other_key<const LINES: bool>(&mut self, at: usize, node: u32, last: u32) -> Scanned<(u32, usize)> {
        // Most often, the predicted one is absent this time.
        let next_but_one = self.following[self.following[last as usize] as usize];
        if let Some(end) = self.key(next_but_one).end_in(self.text, at) {
            self.following[last as usize] = next_but_one;
            return Ok((next_but_one, end));
        }
        if byte(self.text, at) != b'"' {
            return Err(Fault::unexpected(self.text, at, Expected::Key));
        }
        let (quote, escaped) = string(self.text, at + 1)?;
        let value = colon::<LINES>(self.text, quote + 1)?;
        let content = &self.text[at + 1..quote];
        let known = &self.plan.nodes[node as usize].by_name;
        let known = if escaped { known.get(unescape(content).as_slice()) } else { known.get(content) };
        let key = match known {
            Some(key) => *key,
            None if self.rejects_unknown => return Err(self.unknown(at, node, content)),
            None => self.stranger(node, &self.text[at..=quote]),
        };
        self.following[last as usize] = key;
        Ok((key, value))
    }

    /// The number of a key that no column wants.
    fn stranger(&mut self, node: u32, quoted: &'a [u8]) -> u32 {
        if let Some(known) = self.strangers_by_name.get(&(node, quoted)) {
            return *known;
        }
        let before = self.plan.nodes[node as usize].before;
        if self.strangers.len() == STRANGERS_MAX {
            return before;
        }
        let key = self.following.len() as u32;
        let spelled = [quoted, b":"].concat();
        self.strangers.push(Key::spelled(&spelled));
        self.strangers_by_name.insert((node, quoted), key);
        self.following.push(before);
        key
    }

    #[cold]
    fn unknown(&self, at: usize, node: u32, content: &[u8]) -> Box<Fault> {
        let key = String::from_utf8_lossy(content);
        let within = self.plan.nodes[node as usize].path.as_ref().map_or(String::new(), |path| format!(" in {path}"));
        Fault::new(
            at,
            DefectKind::ExtraFields,
            format!("found the key \"{key}\"{within}, which is no column's,"),
            "add a column for it, or ignore unknown keys",
        )
    }

    /// The position behind the array of a node whose first byte is behind `at`; `depth` containers are open.
    fn array<const LINES: bool>(&mut self, at: usize, node: u32, depth: usize) -> Scanned {
        let mut at = skip_blanks::<LINES>(self.text, at);
        if byte(self.text, at) == b']' {
            return Ok(at + 1);
        }
        let plan = self.plan;
        let node = &plan.nodes[node as usize];
        let mut wanted = node.by_index.iter().peekable();
        for index in 0_u32.. {
            let key = match wanted.next_if(|(position, _)| *position == index) {
                Some((_, key)) => *key,
                None if self.rejects_unknown && wanted.peek().is_none() && node.path.is_none() => {
                    return Err(extra_element(at, index));
                }
                None => node.before,
            };
            at = self.value::<LINES>(at, key, depth)?;
            at = skip_blanks::<LINES>(self.text, at);
            match byte(self.text, at) {
                b',' => at = skip_blanks::<LINES>(self.text, at + 1),
                b']' => return Ok(at + 1),
                _ => return Err(Fault::unexpected(self.text, at, Expected::Other("',' or ']'"))),
            }
        }
        unreachable!("a text has fewer elements than u32 has values")
    }

    /// The position behind the value at `at`, before which there may be blanks.
    #[inline(always)]
    fn value<const LINES: bool>(&mut self, mut at: usize, key: u32, depth: usize) -> Scanned {
        let text = self.text;
        let (slot, node) = {
            let key = self.key(key);
            (key.slot, key.node)
        };
        if byte(text, at) <= b' ' {
            at = skip_blanks::<LINES>(text, at);
        }
        if node != NONE {
            let below = self.key(key).below.clone();
            // Of a key that stands twice in an object, the last one counts, with all that is below it.
            self.forget(below);
        }
        let (found, end) = match byte(text, at) {
            b'"' => {
                let (quote, escaped) = string(text, at + 1)?;
                let form = if escaped { Form::Escaped } else { Form::Plain };
                (Slot { start: at as u32, end: quote as u32 + 1, form }, quote + 1)
            }
            b'-' | b'0'..=b'9' => {
                let end = number(text, at)?;
                (Slot { start: at as u32, end: end as u32, form: Form::Bare }, end)
            }
            b'{' | b'[' => {
                let end = self.nested::<LINES>(at, node, depth)?;
                (Slot { start: at as u32, end: end as u32, form: Form::Container }, end)
            }
            first => {
                let end = name(text, at)?;
                let form = if first == b'n' { Form::Null } else { Form::Bare };
                (Slot { start: at as u32, end: end as u32, form }, end)
            }
        };
        self.slots[slot as usize] = found;
        Ok(end)
    }

    fn forget(&mut self, slots: Range<u32>) {
        self.slots[slots.start as usize..slots.end as usize].fill(MISSING);
    }

    /// The position behind the object or array at `at`, in which paths go on at `node`.
    #[inline(never)]
    fn nested<const LINES: bool>(&mut self, at: usize, node: u32, depth: usize) -> Scanned {
        if depth >= skip::JSON_DEPTH_MAX {
            return Err(skip::too_deep(at));
        }
        let Some(inner) = self.plan.nodes.get(node as usize) else {
            return container::<LINES>(self.text, at, depth);
        };
        match byte(self.text, at) {
            b'{' if !inner.by_name.is_empty() => self.object::<LINES>(at + 1, node, depth + 1),
            b'[' if !inner.by_index.is_empty() => self.array::<LINES>(at + 1, node, depth + 1),
            _ => container::<LINES>(self.text, at, depth),
        }
    }
}

#[cold]
fn extra_element(at: usize, index: u32) -> Box<Fault> {
    Fault::new(
        at,
        DefectKind::ExtraFields,
        format!("found element {} of the record, which is no column's,", u64::from(index) + 1),
        "add a column for it, or ignore unknown elements",
    )
}

const _: () = assert!(IGNORED == 0);
