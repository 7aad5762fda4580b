//! Looks at a sample of JSON: how its records stand, which values they have, and of which kinds.
//!
//! Values come in the order in which they first appear. What types columns should have is decided elsewhere, by the
//! values' texts; a kind only tells how a value is written.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use super::layout::{self, Layout};
use super::path::{JsonPath, JsonStep};
use super::plan::JSON_PATH_STEPS_MAX;
use super::skip::{colon, container};
use super::token::{Scanned, byte, name, number, skip_blanks, string, trim_end};
use super::unescape::unescape;

/// How values are written: a set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct JsonKinds(u8);

impl JsonKinds {
    /// Of no kind: never seen.
    pub const NONE: JsonKinds = JsonKinds(0);
    /// `null`.
    pub const NULL: JsonKinds = JsonKinds(1);
    /// `true` or `false`.
    pub const BOOLEAN: JsonKinds = JsonKinds(2);
    /// A number of digits only, but for its sign.
    pub const INTEGER: JsonKinds = JsonKinds(4);
    /// A number with a point or an exponent.
    pub const NUMBER: JsonKinds = JsonKinds(8);
    /// A string.
    pub const STRING: JsonKinds = JsonKinds(16);
    /// An object.
    pub const OBJECT: JsonKinds = JsonKinds(32);
    /// An array.
    pub const ARRAY: JsonKinds = JsonKinds(64);

    const NAMES: [(JsonKinds, &'static str); 7] = [
        (JsonKinds::NULL, "null"),
        (JsonKinds::BOOLEAN, "boolean"),
        (JsonKinds::INTEGER, "integer"),
        (JsonKinds::NUMBER, "number"),
        (JsonKinds::STRING, "string"),
        (JsonKinds::OBJECT, "object"),
        (JsonKinds::ARRAY, "array"),
    ];

    /// The kinds of both.
    #[must_use]
    pub const fn or(self, other: JsonKinds) -> JsonKinds {
        JsonKinds(self.0 | other.0)
    }

    /// These kinds without the others.
    #[must_use]
    pub const fn without(self, other: JsonKinds) -> JsonKinds {
        JsonKinds(self.0 & !other.0)
    }

    /// Whether all of the other kinds are among these.
    #[must_use]
    pub const fn contains(self, other: JsonKinds) -> bool {
        self.0 & other.0 == other.0
    }
}

impl fmt::Display for JsonKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = JsonKinds::NAMES.iter().filter(|(kind, _)| self.contains(*kind)).map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(", "))
    }
}

/// A value that records have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovered {
    /// Where it is found.
    pub path: JsonPath,
    /// How it is written.
    pub kinds: JsonKinds,
    /// Records that have it, `null` included.
    pub records: usize,
}

/// What a sample holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// The values of its records, in the order of their first appearance.
    pub values: Vec<Discovered>,
    /// How many records were looked at.
    pub records: usize,
    /// How many records are none.
    pub defects: usize,
}

/// How records stand in a text that begins like this; `None` if it does not begin with an object or array.
#[must_use]
pub fn detect_layout(sample: &[u8]) -> Option<Layout> {
    let start = skip_blanks::<false>(sample, 0);
    let text = sample.get(start..)?;
    let first_line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    let second_line = &text[skip_blanks::<false>(text, first_line.len())..];
    let first_value_end = container::<true>(text, 0, 0).ok();
    let is_line = first_value_end.is_some_and(|end| trim_end(&text[end..first_line.len()]).is_empty());
    let lines = match byte(text, 0) {
        // A first record that is none says little; it is a line if it looks finished and the next one begins like it.
        b'{' if first_value_end.is_none() => {
            let unfinished = matches!(trim_end(first_line).last(), Some(b'{' | b'[' | b','));
            !unfinished && (second_line.is_empty() || second_line[0] == b'{')
        }
        b'{' => is_line,
        // An array on each line, or an array of records? The first line is a record if scalars stand in it, or if
        // another array of arrays follows it.
        b'[' => {
            let first = byte(text, skip_blanks::<false>(text, 1));
            is_line && !matches!(first, b'{' | b']') && (first != b'[' || second_line.first() == Some(&b'['))
        }
        _ => return None,
    };
    Some(match byte(text, 0) {
        _ if lines => Layout::Lines,
        b'{' => Layout::Values,
        _ => Layout::Array,
    })
}

/// The values that the records of a sample have: the members of objects, the elements of arrays. With `flatten`, the
/// members of objects that are members themselves take their place, unless other values stand there as well. With
/// `at_end`, the sample is the whole text; else its last record may be cut off and does not count.
#[must_use]
pub fn discover(sample: &[u8], layout: Layout, flatten: bool, at_end: bool) -> Discovery {
    let mut discovery = Discovery::default();
    let mut root = Branch::default();
    for Extent { bytes: Range { start, end }, stray } in extents(sample, layout) {
        if end == sample.len() && !at_end {
            break;
        }
        let is_record = !stray
            && matches!(byte(sample, start), b'{' | b'[')
            && container::<false>(&sample[..end], start, 0).is_ok_and(|found| found == end)
            && std::str::from_utf8(&sample[start..end]).is_ok();
        if is_record && root.add(&sample[..end], start, flatten, 0).is_ok() {
            discovery.records += 1;
        } else {
            discovery.defects += 1;
        }
    }
    root.values(None, flatten, &mut discovery.values);
    discovery
}

/// Where a record stands, or something in its place.
pub(super) struct Extent {
    /// Of no length where nothing stands in a record's place.
    pub(super) bytes: Range<usize>,
    /// Whether it stands where no record may be: outside the array.
    pub(super) stray: bool,
}

/// Where the records of a text are.
pub(super) fn extents(text: &[u8], layout: Layout) -> Vec<Extent> {
    let mut extents = Vec::new();
    let mut at = skip_blanks::<false>(text, 0);
    let mut inside = layout == Layout::Array && layout::begins_inside(text, at);
    while at < text.len() {
        let (start, end) = match (layout, inside, text[at]) {
            (Layout::Values, ..) => (at, layout::value_end(text, at)),
            (Layout::Array, false, b'[') => {
                inside = true;
                let start = skip_blanks::<false>(text, at + 1);
                if byte(text, start) == b']' {
                    at = start;
                    continue;
                }
                (start, layout::element_end(text, start))
            }
            (Layout::Array, true, b',') => {
                let start = skip_blanks::<false>(text, at + 1);
                (start, layout::element_end(text, start))
            }
            (Layout::Array, true, b']') => {
                inside = false;
                at = skip_blanks::<false>(text, at + 1);
                continue;
            }
            (Layout::Lines | Layout::Array, ..) => (at, layout::stray_end(text, at)),
        };
        if start == text.len() {
            break;
        }
        let bytes = start..start + trim_end(&text[start..end]).len();
        extents.push(Extent { bytes, stray: layout == Layout::Array && !inside });
        at = skip_blanks::<false>(text, end);
    }
    extents
}

/// What was seen at a path, and below it.
#[derive(Default)]
struct Branch {
    kinds: JsonKinds,
    records: usize,
    steps: Vec<(JsonStep, Branch)>,
    positions: HashMap<JsonStep, usize>,
}

impl Branch {
    /// Adds the value at `at`, which is JSON; returns where it ends.
    fn add(&mut self, text: &[u8], at: usize, flatten: bool, depth: usize) -> Scanned {
        self.records += 1;
        let (kind, end) = match byte(text, at) {
            b'"' => (JsonKinds::STRING, string(text, at + 1)?.0 + 1),
            b'-' | b'0'..=b'9' => {
                let end = number(text, at)?;
                let is_integer = !text[at..end].iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
                (if is_integer { JsonKinds::INTEGER } else { JsonKinds::NUMBER }, end)
            }
            b'{' if depth == 0 || flatten && depth < JSON_PATH_STEPS_MAX => {
                (JsonKinds::OBJECT, self.add_members(text, at, flatten, depth)?)
            }
            b'[' if depth == 0 => (JsonKinds::ARRAY, self.add_elements(text, at, flatten)?),
            b'{' => (JsonKinds::OBJECT, container::<false>(text, at, 0)?),
            b'[' => (JsonKinds::ARRAY, container::<false>(text, at, 0)?),
            b'n' => (JsonKinds::NULL, name(text, at)?),
            _ => (JsonKinds::BOOLEAN, name(text, at)?),
        };
        self.kinds = self.kinds.or(kind);
        Ok(end)
    }

    fn add_members(&mut self, text: &[u8], at: usize, flatten: bool, depth: usize) -> Scanned {
        let mut at = skip_blanks::<false>(text, at + 1);
        while byte(text, at) == b'"' {
            let (quote, _) = string(text, at + 1)?;
            let key = unescape(&text[at + 1..quote]);
            let key = JsonStep::Key(String::from_utf8_lossy(&key).into());
            at = colon::<false>(text, quote + 1)?;
            at = skip_blanks::<false>(text, self.step(key).add(text, at, flatten, depth + 1)?);
            if byte(text, at) == b',' {
                at = skip_blanks::<false>(text, at + 1);
            }
        }
        Ok(at + 1)
    }

    fn add_elements(&mut self, text: &[u8], at: usize, flatten: bool) -> Scanned {
        let mut at = skip_blanks::<false>(text, at + 1);
        let mut index = 0;
        while byte(text, at) != b']' {
            let element = self.step(JsonStep::Index(index));
            at = skip_blanks::<false>(text, element.add(text, at, flatten, 1)?);
            index += 1;
            if byte(text, at) == b',' {
                at = skip_blanks::<false>(text, at + 1);
            }
        }
        Ok(at + 1)
    }

    fn step(&mut self, step: JsonStep) -> &mut Branch {
        let known = self.positions.get(&step).copied();
        let position = known.unwrap_or_else(|| {
            self.positions.insert(step.clone(), self.steps.len());
            self.steps.push((step, Branch::default()));
            self.steps.len() - 1
        });
        &mut self.steps[position].1
    }

    fn values(self, path: Option<&JsonPath>, flatten: bool, values: &mut Vec<Discovered>) {
        for (step, branch) in self.steps {
            let path = match path {
                Some(path) => path.then(step),
                None => JsonPath::from(step),
            };
            let only_objects = branch.kinds.without(JsonKinds::NULL) == JsonKinds::OBJECT;
            if flatten && only_objects && !branch.steps.is_empty() {
                branch.values(Some(&path), flatten, values);
            } else {
                values.push(Discovered { path, kinds: branch.kinds, records: branch.records });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sample: &str, flatten: bool) -> Vec<String> {
        let layout = detect_layout(sample.as_bytes()).unwrap();
        let discovery = discover(sample.as_bytes(), layout, flatten, true);
        discovery.values.iter().map(|value| format!("{}: {} ({})", value.path, value.kinds, value.records)).collect()
    }

    #[test]
    fn values_come_in_the_order_of_their_appearance_with_all_kinds() {
        let sample = "{\"a\":1,\"b\":\"x\"}\n{\"c\":[1],\"a\":2.5}\n{\"b\":null,\"d.e\":{\"f\":true}}\n";
        assert_eq!(
            found(sample, false),
            ["a: integer, number (2)", "b: null, string (2)", "c: array (1)", "\"d.e\": object (1)"]
        );
        assert_eq!(found(sample, true).last().unwrap(), "\"d.e\".f: boolean (1)");
    }

    #[test]
    fn objects_are_flattened_unless_something_else_stands_there_too() {
        let sample = "[{\"a\":{\"b\":{\"c\":1}},\"x\":{\"y\":1},\"e\":{}},{\"a\":null,\"x\":2,\"e\":{}}]";
        assert_eq!(found(sample, true), ["a.b.c: integer (1)", "x: integer, object (2)", "e: object (2)"]);
    }

    #[test]
    fn arrays_have_positions() {
        assert_eq!(
            found("[1,\"a\"]\n[2,null,{\"x\":1}]\n", true),
            ["[0]: integer (2)", "[1]: null, string (2)", "[2].x: integer (1)"]
        );
    }

    #[test]
    fn a_record_that_is_cut_off_does_not_count_and_one_that_is_wrong_does() {
        let sample = b"{\"a\":1}\n{\"a\":}\n{\"b\":1";
        let discovery = discover(sample, Layout::Lines, false, false);
        assert_eq!((discovery.records, discovery.defects, discovery.values.len()), (1, 1, 1));
        let discovery = discover(sample, Layout::Lines, false, true);
        assert_eq!((discovery.records, discovery.defects), (1, 2));
    }

    #[test]
    fn a_form_feed_is_no_blank() {
        let discovery = discover(b"[6]\x0C\n[6]\r\n", Layout::Lines, false, true);
        assert_eq!((discovery.records, discovery.defects), (1, 1));
    }

    #[test]
    fn layouts_are_told_by_how_the_text_begins() {
        for (sample, layout) in [
            ("{\"a\":1}\n{\"a\":2}\n", Some(Layout::Lines)),
            ("{\"a\":1}", Some(Layout::Lines)),
            ("\n {\"a\":1}\r\n{\"a\":2}", Some(Layout::Lines)),
            ("{\"a\":1,}\n{\"a\":2}\n", Some(Layout::Lines)),
            ("{\"a\":1, \"cut", Some(Layout::Lines)),
            ("{\"a\":1}{\"a\":2}", Some(Layout::Values)),
            ("{\"a\":1}\u{c}", Some(Layout::Values)),
            ("{\n\"a\":1}\n{\n\"a\":2}", Some(Layout::Values)),
            ("{\n  \"a\": {\n", Some(Layout::Values)),
            ("[{\"a\":1},{\"a\":2}]", Some(Layout::Array)),
            ("[\n{\"a\":1}\n]\n", Some(Layout::Array)),
            ("[]", Some(Layout::Array)),
            ("[[1,2],[3,4]]", Some(Layout::Array)),
            ("[1,2]\n[3,4]", Some(Layout::Lines)),
            ("[[1],2]\n[[3],4]", Some(Layout::Lines)),
            ("[{\"a\":1}]\n[{\"a\":2}]", Some(Layout::Array)),
            ("a,b\n", None),
            ("", None),
        ] {
            assert_eq!(detect_layout(sample.as_bytes()), layout, "{sample}");
        }
    }
}
