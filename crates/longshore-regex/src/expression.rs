//! Expressions that are ready for use.

use crate::dissect::{Dissector, Groups};
use crate::error::Error;
use crate::options::Options;
use crate::parse::parse;
use crate::program::{Part, Program, compile};
use crate::run::Runner;
use crate::search::searched;
use crate::span::Span;
use crate::syntax::Length;

/// What an expression matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The whole.
    pub whole: Span,
    groups: Groups,
}

impl Match {
    /// The group of this number, counted from 1; 0 is the whole.
    #[must_use]
    pub fn group(&self, number: usize) -> Option<Span> {
        if number == 0 { Some(self.whole) } else { self.groups.get(number).copied().flatten() }
    }

    /// Where the search for the next match in `text` begins; behind the text if there is none.
    #[must_use]
    pub fn next_search(&self, text: &str) -> usize {
        after(text, self.whole)
    }

    /// The groups, in their order.
    pub fn groups(&self) -> impl Iterator<Item = Option<Span>> {
        self.groups.iter().skip(1).copied()
    }
}

/// A regular expression.
#[derive(Debug)]
pub struct Regex {
    program: Program,
    root: Part,
    groups: usize,
    has_back_references: bool,
    search: Option<regex::Regex>,
}

impl Regex {
    /// Reads `pattern`.
    ///
    /// # Errors
    /// If it is no regular expression, or has what is not supported.
    pub fn new(pattern: &str, options: Options) -> Result<Self, Error> {
        let parsed = parse(pattern, options)?;
        let (program, root) = compile(&parsed.node)?;
        let has_back_references = parsed.node.traits().has_back_references;
        let search = searched(&parsed.node).and_then(|text| regex::Regex::new(&text).ok());
        Ok(Self { program, root, groups: parsed.groups, has_back_references, search })
    }

    /// How many groups it has.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.groups
    }

    /// The expression of the crate `regex` that matches the same texts, if there is one.
    #[must_use]
    pub fn searched(&self) -> Option<&str> {
        self.search.as_ref().map(regex::Regex::as_str)
    }

    /// Whether it matches some part of `text`.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn is_match(&self, text: &str) -> Result<bool, Error> {
        match &self.search {
            Some(search) => Ok(search.is_match(text)),
            None => self.find_at(text, 0).map(|found| found.is_some()),
        }
    }

    /// The first match that begins at `from` or behind it.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn find_at(&self, text: &str, from: usize) -> Result<Option<Match>, Error> {
        if from > text.len() {
            return Ok(None);
        }
        let mut from = from;
        if let Some(search) = &self.search {
            match search.find_at(text, from) {
                Some(found) => from = found.start(),
                None => return Ok(None),
            }
        }
        let mut runner = Runner::new(&self.program, text);
        let starts = text[from..].char_indices().map(|(at, _)| from + at).chain([text.len()]);
        for start in starts {
            let mut ends = runner.ends(self.root.stretch, start, text.len())?;
            if self.root.prefers == Length::Longest {
                ends.reverse();
            }
            for end in ends {
                let whole = Span { start, end };
                let mut dissector = Dissector { runner: &mut runner, groups: vec![None; self.groups + 1] };
                if dissector.dissect(&self.root, whole)? {
                    return Ok(Some(Match { whole, groups: dissector.groups }));
                }
                if !self.has_back_references {
                    // Cannot be: what matches can be dissected.
                    return Ok(Some(Match { whole, groups: vec![None; self.groups + 1] }));
                }
            }
        }
        Ok(None)
    }

    /// All matches, or the first; with `real`, only those that are not empty at the ends of the text or of the match before,
    /// as a text is split.
    ///
    /// # Errors
    /// If it takes too long.
    pub fn find_all(&self, text: &str, all: bool, real: bool) -> Result<Vec<Match>, Error> {
        let mut matches = Vec::new();
        let mut from = 0;
        let mut previous_end = 0;
        while let Some(found) = self.find_at(text, from)? {
            let whole = found.whole;
            if !real || (whole.start < text.len() && whole.end > previous_end) {
                matches.push(found);
            }
            previous_end = whole.end;
            if !all {
                break;
            }
            from = after(text, whole);
        }
        Ok(matches)
    }
}

/// Where the search for the next match begins; behind the text if there is none.
fn after(text: &str, whole: Span) -> usize {
    if !whole.is_empty() {
        return whole.end;
    }
    whole.end + text[whole.end..].chars().next().map_or(1, char::len_utf8)
}
