//! Texts in place of matches.

use crate::error::Error;
use crate::expression::{Match, Regex};

/// Which matches are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    /// All.
    All,
    /// The one of this number, counted from 1.
    Number(usize),
}

/// `text` with `replacement` for matches that begin at `from` or behind it. In the replacement, `\1` to `\9` stand for
/// groups and `\&` for the match.
///
/// # Errors
/// If it takes too long.
pub fn replace(
    regex: &Regex,
    text: &str,
    from: usize,
    replacement: &str,
    occurrence: Occurrence,
) -> Result<String, Error> {
    let mut replaced = String::with_capacity(text.len());
    let mut copied = 0;
    let mut search = from;
    let mut number = 0;
    while let Some(found) = regex.find_at(text, search)? {
        number += 1;
        search = found.next_search(text);
        if let Occurrence::Number(wanted) = occurrence
            && number < wanted
        {
            continue;
        }
        replaced.push_str(&text[copied..found.whole.start]);
        append(&mut replaced, text, replacement, &found);
        copied = found.whole.end;
        if occurrence != Occurrence::All {
            break;
        }
    }
    replaced.push_str(&text[copied.min(text.len())..]);
    Ok(replaced)
}

fn append(replaced: &mut String, text: &str, replacement: &str, found: &Match) {
    let mut rest = replacement;
    while let Some(at) = rest.find('\\') {
        replaced.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let Some(c) = behind.chars().next() else {
            replaced.push('\\');
            return;
        };
        let taken = match c {
            '1'..='9' => {
                let group = found.group(usize::from(c as u8 - b'0'));
                replaced.push_str(group.map_or("", |group| group.of(text)));
                1
            }
            '&' => {
                replaced.push_str(found.whole.of(text));
                1
            }
            '\\' => {
                replaced.push('\\');
                1
            }
            _ => {
                replaced.push('\\');
                0
            }
        };
        rest = &behind[taken..];
    }
    replaced.push_str(rest);
}
