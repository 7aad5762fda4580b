//! What a record is looked through for: the paths of all columns as one tree.
//!
//! A node is a container that some path goes through; its keys lead to slots, one for each value that a column
//! takes, and to further nodes. Slots are numbered in the order of the tree, so that those below a key are
//! consecutive. Slot 0 takes what no column wants.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::ops::Range;

use super::path::{JsonPath, JsonStep};

/// Steps that a path may have; the reader calls itself once for each.
pub const JSON_PATH_STEPS_MAX: usize = 64;

/// Bytes of a key, with its quotes and colon, that are compared at once.
const COMPARED: usize = 32;

/// Where a value that no column wants goes.
pub(super) const IGNORED: u32 = 0;

/// A number of nodes and keys: the one that there is not.
pub(super) const NONE: u32 = u32::MAX;

/// All paths as a tree.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    pub(super) keys: Vec<Key>,
    /// The key expected behind each key before any record was seen: the order of the columns.
    pub(super) following: Vec<u32>,
    pub(super) slots: usize,
    /// The slot of each column.
    pub(super) columns: Vec<u32>,
}

/// A container that paths go through.
#[derive(Debug)]
pub(super) struct Node {
    /// Stands for "before the first key" where keys are asked what follows them.
    pub(super) before: u32,
    pub(super) by_name: HashMap<Box<[u8]>, u32>,
    /// Ascending.
    pub(super) by_index: Vec<(u32, u32)>,
    /// Its own path.
    pub(super) path: Option<JsonPath>,
}

/// A key of a node, or a position in one.
#[derive(Debug)]
pub(super) struct Key {
    /// The key as objects mostly spell it: quoted, with its colon.
    low: u128,
    high: u128,
    low_mask: u128,
    high_mask: u128,
    /// What `low` and `high` have no room for.
    tail: Box<[u8]>,
    len: usize,
    /// Where its value goes.
    pub(super) slot: u32,
    /// The node of its value, if paths go on.
    pub(super) node: u32,
    /// The slots below that node.
    pub(super) below: Range<u32>,
}

/// Paths that cannot be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// There are none.
    NoColumns,
    /// A path has more than [`JSON_PATH_STEPS_MAX`] steps.
    TooDeep(JsonPath),
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JsonError::NoColumns => f.write_str("a table read from JSON has no columns; name at least one"),
            JsonError::TooDeep(path) => write!(
                f,
                "the path {path} into JSON has {} steps, of which there may be {JSON_PATH_STEPS_MAX}; take the value \
                 further up as text",
                path.steps().len()
            ),
        }
    }
}

impl Error for JsonError {}

impl Plan {
    /// The tree of the columns' paths.
    pub(super) fn new(paths: &[JsonPath]) -> Result<Plan, JsonError> {
        if paths.is_empty() {
            return Err(JsonError::NoColumns);
        }
        let mut root = Branch::default();
        for (column, path) in paths.iter().enumerate() {
            if path.steps().len() > JSON_PATH_STEPS_MAX {
                return Err(JsonError::TooDeep(path.clone()));
            }
            root.insert(path.steps(), column);
        }
        let mut plan = Plan {
            nodes: Vec::new(),
            keys: Vec::new(),
            following: Vec::new(),
            slots: 1,
            columns: vec![0; paths.len()],
        };
        plan.add(&root, None);
        Ok(plan)
    }

    fn add(&mut self, branch: &Branch, path: Option<&JsonPath>) -> u32 {
        let node = self.nodes.len();
        let before = self.keys.len() as u32;
        self.add_key(Key::none(), before);
        self.nodes.push(Node {
            before,
            by_name: HashMap::with_capacity(branch.steps.len()),
            by_index: Vec::new(),
            path: path.cloned(),
        });
        let mut last = before;
        for (step, child) in &branch.steps {
            let key = match step {
                JsonStep::Key(name) => {
                    let key = self.add_key(Key::named(name), before);
                    self.nodes[node].by_name.insert(name.as_bytes().into(), key);
                    self.following[last as usize] = key;
                    last = key;
                    key
                }
                JsonStep::Index(index) => {
                    let key = self.add_key(Key::none(), before);
                    self.nodes[node].by_index.push((*index, key));
                    key
                }
            };
            let start = self.slots as u32;
            if !child.columns.is_empty() {
                self.slots += 1;
                self.keys[key as usize].slot = start;
                for &column in &child.columns {
                    self.columns[column] = start;
                }
            }
            if !child.steps.is_empty() {
                let path = path.map_or_else(|| JsonPath::from(step.clone()), |path| path.then(step.clone()));
                let below = self.slots as u32;
                self.keys[key as usize].node = self.add(child, Some(&path));
                self.keys[key as usize].below = below..self.slots as u32;
            }
        }
        self.nodes[node].by_index.sort_unstable();
        node as u32
    }

    /// Adds a key of the node that begins with `before`, which matches nothing and so is a guess without harm.
    fn add_key(&mut self, key: Key, before: u32) -> u32 {
        self.keys.push(key);
        self.following.push(before);
        self.keys.len() as u32 - 1
    }
}

impl Key {
    /// A key that no text matches.
    fn none() -> Key {
        // Blanks are skipped before a key is looked for.
        Key::spelled(b" ")
    }

    fn named(name: &str) -> Key {
        let mut spelled = String::from("\"");
        for character in name.chars() {
            match character {
                '"' | '\\' => spelled.extend(['\\', character]),
                '\u{8}' => spelled.push_str("\\b"),
                '\u{c}' => spelled.push_str("\\f"),
                '\n' => spelled.push_str("\\n"),
                '\r' => spelled.push_str("\\r"),
                '\t' => spelled.push_str("\\t"),
                '\0'..'\x20' => {
                    let digit = |of: u32| char::from_digit(of, 16).unwrap_or_default();
                    spelled.push_str("\\u00");
                    spelled.extend([digit(u32::from(character) >> 4), digit(u32::from(character) & 15)]);
                }
                _ => spelled.push(character),
            }
        }
        spelled.push_str("\":");
        Key::spelled(spelled.as_bytes())
    }

    /// A key that stands in a text like this, colon and all.
    pub(super) fn spelled(text: &[u8]) -> Key {
        let mut head = [0; COMPARED];
        let compared = text.len().min(COMPARED);
        head[..compared].copy_from_slice(&text[..compared]);
        let mut mask = [0; COMPARED];
        mask[..compared].fill(0xFF);
        let (low, high) = words(&head);
        let (low_mask, high_mask) = words(&mask);
        let tail = text[compared..].into();
        Key { low, high, low_mask, high_mask, tail, len: text.len(), slot: IGNORED, node: NONE, below: 0..0 }
    }

    /// The position behind the key's colon, if the text has the key at `at` as objects mostly spell it. Near the end
    /// of a text, none is found.
    #[inline(always)]
    pub(super) fn end_in(&self, text: &[u8], at: usize) -> Option<usize> {
        let (low, high) = words(text.get(at..)?.first_chunk()?);
        let differs = (low ^ self.low) & self.low_mask | (high ^ self.high) & self.high_mask;
        let matches = differs == 0 && (self.tail.is_empty() || text[at + COMPARED..].starts_with(&self.tail));
        matches.then_some(at + self.len)
    }
}

#[inline(always)]
fn words(bytes: &[u8; COMPARED]) -> (u128, u128) {
    let (low, high) = bytes.split_at(COMPARED / 2);
    let word = |half: &[u8]| half.first_chunk().map_or(0, |half| u128::from_le_bytes(*half));
    (word(low), word(high))
}

/// The tree while it grows: steps in the order in which they were first named.
#[derive(Default)]
struct Branch {
    columns: Vec<usize>,
    steps: Vec<(JsonStep, Branch)>,
    positions: HashMap<JsonStep, usize>,
}

impl Branch {
    fn insert(&mut self, steps: &[JsonStep], column: usize) {
        let Some((first, rest)) = steps.split_first() else {
            self.columns.push(column);
            return;
        };
        let known = self.positions.get(first).copied();
        let position = known.unwrap_or_else(|| {
            self.positions.insert(first.clone(), self.steps.len());
            self.steps.push((first.clone(), Branch::default()));
            self.steps.len() - 1
        });
        self.steps[position].1.insert(rest, column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(paths: &[&str]) -> Plan {
        let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        Plan::new(&paths).unwrap()
    }

    #[test]
    fn slots_below_a_key_are_consecutive() {
        let plan = plan(&["a.x", "b", "a", "a.y[1]", "b"]);
        assert_eq!(plan.columns, [2, 4, 1, 3, 4]);
        assert_eq!(plan.slots, 5);
        let a = &plan.keys[plan.nodes[0].by_name[b"a".as_slice()] as usize];
        assert_eq!((a.slot, a.below.clone()), (1, 2..4));
        assert_eq!(plan.nodes[a.node as usize].path, Some(JsonPath::key("a")));
    }

    #[test]
    fn keys_are_expected_in_the_order_of_the_columns() {
        let plan = plan(&["b", "a", "c.d", "c.e"]);
        let root = &plan.nodes[0];
        let key = |name: &str| root.by_name[name.as_bytes()];
        assert_eq!(plan.following[root.before as usize], key("b"));
        assert_eq!(plan.following[key("b") as usize], key("a"));
        assert_eq!(plan.following[key("a") as usize], key("c"));
        // Behind the last one comes what matches nothing.
        let after = &plan.keys[plan.following[key("c") as usize] as usize];
        assert_eq!(after.end_in(&[b'"'; 40], 0), None);
    }

    #[test]
    fn keys_match_as_they_are_mostly_spelled() {
        let long = "a key that is longer than what is compared at once";
        for name in ["a", "", "größe", "say \"\\\"", long, "tab\there\u{1}"] {
            let spelled = serde_json::to_string(name).unwrap() + ":";
            let key = Key::named(name);
            let text = format!("{{{spelled}1{}", " ".repeat(COMPARED));
            assert_eq!(key.end_in(text.as_bytes(), 1), Some(1 + spelled.len()), "{name}");
            assert_eq!(key.end_in(text.as_bytes(), 0), None);
            assert_eq!(key.end_in(&spelled.as_bytes()[..spelled.len() - 1], 0), None, "too near the end");
        }
        let key = Key::named(long);
        let other = format!("\"{long}, and more\": 1                ");
        assert_eq!(key.end_in(other.as_bytes(), 0), None);
    }

    #[test]
    fn too_deep_and_too_few_paths_are_refused() {
        assert_eq!(Plan::new(&[]).unwrap_err(), JsonError::NoColumns);
        let deep: JsonPath = ["a"; 65].join(".").parse().unwrap();
        let message = Plan::new(&[deep]).unwrap_err().to_string();
        assert!(message.contains("has 65 steps, of which there may be 64"), "{message}");
    }
}
