//! Which text each group matches, once it is known what the whole matches.
//!
//! Parts take their texts from the left to the right. Each takes the longest one, or the shortest if it prefers that, that
//! lets the parts behind it match. Every part that is dissected is known to match its text, back references apart.

use crate::error::Error;
use crate::program::{Kind, Part, Stretch};
use crate::run::Runner;
use crate::span::Span;
use crate::syntax::Length;

/// The text of each group, by its number; that of the whole stands first.
pub(crate) type Groups = Vec<Option<Span>>;

pub(crate) struct Dissector<'a, 'b> {
    pub(crate) runner: &'a mut Runner<'b>,
    pub(crate) groups: Groups,
}

impl Dissector<'_, '_> {
    /// Whether `part` matches the text of `span`, with all its back references.
    pub(crate) fn dissect(&mut self, part: &Part, span: Span) -> Result<bool, Error> {
        self.runner.count()?;
        match &part.kind {
            Kind::Whole => Ok(true),
            Kind::Group(number, part) => {
                let found = self.dissect(part, span)?;
                if found {
                    self.groups[*number] = Some(span);
                }
                Ok(found)
            }
            Kind::Concat(parts) => self.sequence(parts, part.stretch.end, span),
            Kind::Alternate(branches) => {
                for branch in branches {
                    if self.runner.is_exact(branch.stretch, span.start, span.end)? && self.dissect(branch, span)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Kind::Repeat { part, min, max, groups } => {
                self.forget(groups);
                if span.is_empty() && *min == 0 {
                    // A group is tried once.
                    let is_once = matches!(part.kind, Kind::Group(..))
                        && self.runner.is_exact(part.stretch, span.start, span.end)?;
                    return if is_once { self.dissect(part, span) } else { Ok(true) };
                }
                self.times(part, *min, *max, groups, span)
            }
            Kind::BackReference { group, ignore_case } => {
                let Some(referred) = self.groups[*group] else { return Ok(false) };
                let (own, other) = (self.text(span), self.text(referred));
                let is_equal = own == other || (*ignore_case && own.to_lowercase() == other.to_lowercase());
                Ok(is_equal)
            }
        }
    }

    fn forget(&mut self, groups: &[usize]) {
        for group in groups {
            self.groups[*group] = None;
        }
    }

    fn text(&self, span: Span) -> &str {
        &self.runner.text[span.start..span.end]
    }

    /// Where `part` may end, the end that it prefers first.
    fn ends(&mut self, part: &Part, span: Span) -> Result<Vec<usize>, Error> {
        let mut ends = self.runner.ends(part.stretch, span.start, span.end)?;
        if part.prefers == Length::Longest {
            ends.reverse();
        }
        Ok(ends)
    }

    /// Parts one behind the other, the last of which ends at the instruction `end`.
    fn sequence(&mut self, parts: &[Part], end: usize, span: Span) -> Result<bool, Error> {
        let [part, rest @ ..] = parts else { return Ok(true) };
        let Some(following) = rest.first() else { return self.dissect(part, span) };
        let behind = Stretch { start: following.stretch.start, end };
        let kept = self.groups.clone();
        for middle in self.ends(part, span)? {
            if self.runner.is_exact(behind, middle, span.end)?
                && self.dissect(part, Span { start: span.start, end: middle })?
                && self.sequence(rest, end, Span { start: middle, end: span.end })?
            {
                return Ok(true);
            }
            self.groups.clone_from(&kept);
        }
        Ok(false)
    }

    /// `part` at least `min` times, up to the end of `span`.
    fn times(&mut self, part: &Part, min: u32, max: Option<u32>, groups: &[usize], span: Span) -> Result<bool, Error> {
        if max == Some(0) {
            return Ok(false);
        }
        let kept = self.groups.clone();
        for middle in self.ends(part, span)? {
            // Nothing is matched only as often as it must be.
            let is_needed = middle > span.start || (min as usize) > span.end - span.start || min > 1;
            if !is_needed && middle != span.end {
                continue;
            }
            self.forget(groups);
            let own = Span { start: span.start, end: middle };
            if self.dissect(part, own)? {
                if middle == span.end && min <= 1 {
                    return Ok(true);
                }
                let rest = Span { start: middle, end: span.end };
                if middle < span.end || min > 1 {
                    let (min, max) = (min.saturating_sub(1), max.map(|max| max - 1));
                    if (middle > span.start || min > 0) && self.times(part, min, max, groups, rest)? {
                        return Ok(true);
                    }
                }
            }
            self.groups.clone_from(&kept);
        }
        Ok(false)
    }
}
