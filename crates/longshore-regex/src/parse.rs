//! Text to tree: PostgreSQL's advanced regular expressions, and the extended ones of POSIX.

mod bracket;
mod escape;

use crate::error::{Error, Problem};
use crate::options::Options;
use crate::set::Set;
use crate::syntax::{Length, Look, Node, Place, Repeat};

/// What a quantifier may ask for, at most.
const COUNT_MAX: u32 = 255;
/// Parentheses within each other, at most.
const DEPTH_MAX: usize = 250;

/// An expression that has been read.
pub(crate) struct Parsed {
    pub(crate) node: Node,
    /// How many groups it has.
    pub(crate) groups: usize,
}

/// Reads `pattern`, which may begin with options of its own.
pub(crate) fn parse(pattern: &str, mut options: Options) -> Result<Parsed, Error> {
    let mut rest = pattern;
    if !options.literal && !options.extended {
        if let Some(literal) = pattern.strip_prefix("***=") {
            (rest, options.literal) = (literal, true);
        } else if let Some(advanced) = pattern.strip_prefix("***:") {
            rest = advanced;
        } else if pattern.starts_with("***") {
            return Err(Error::Invalid(Problem::Quantifier));
        }
    }
    if !options.literal && !options.extended && rest.starts_with("(?") {
        let flags: &str = &rest[2..];
        let letters = flags.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(flags.len());
        if letters > 0 {
            if flags.as_bytes().get(letters) != Some(&b')') {
                return Err(Error::Invalid(Problem::EmbeddedOption));
            }
            flags[..letters].chars().try_for_each(|flag| options.embedded(flag))?;
            rest = &flags[letters + 1..];
        }
    }
    if options.literal {
        let characters = rest.chars().map(|c| Node::One(Set::one(c, options.ignore_case)));
        return Ok(Parsed { node: concat(characters.collect()), groups: 0 });
    }
    let characters: Vec<char> = rest.chars().collect();
    let mut parser = Parser { characters, at: 0, options, opened: 0, closed: Vec::new(), depth: 0 };
    let node = parser.alternatives()?;
    if parser.at < parser.characters.len() {
        return Err(Error::Invalid(Problem::Parentheses));
    }
    Ok(Parsed { node, groups: parser.opened })
}

fn concat(mut nodes: Vec<Node>) -> Node {
    match nodes.len() {
        0 => Node::Empty,
        1 => nodes.remove(0),
        _ => Node::Concat(nodes),
    }
}

/// A quantifier.
struct Quantifier {
    min: u32,
    max: Option<u32>,
    prefers: Option<Length>,
}

struct Parser {
    characters: Vec<char>,
    at: usize,
    options: Options,
    /// Groups that have begun.
    opened: usize,
    /// Groups that have ended.
    closed: Vec<usize>,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.characters[self.at..].iter().copied().take(text.chars().count()).eq(text.chars());
        if found {
            self.at += text.chars().count();
        }
        found
    }

    /// Skips what does not count: `(?#...)`, and with `x` blanks and remarks.
    fn skip(&mut self) -> Result<(), Error> {
        loop {
            if self.options.expanded {
                while self.peek().is_some_and(char::is_whitespace) {
                    self.at += 1;
                }
                if self.peek() == Some('#') {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                    continue;
                }
            }
            if self.options.extended || !self.take("(?#") {
                return Ok(());
            }
            while let Some(c) = self.next() {
                if c == ')' {
                    break;
                }
            }
        }
    }

    fn alternatives(&mut self) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::Invalid(Problem::TooLarge));
        }
        let mut branches = vec![self.branch()?];
        while self.peek() == Some('|') {
            self.at += 1;
            branches.push(self.branch()?);
        }
        self.depth -= 1;
        Ok(if branches.len() == 1 { branches.remove(0) } else { Node::Alternate(branches) })
    }

    fn branch(&mut self) -> Result<Node, Error> {
        let mut nodes = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                None | Some('|' | ')') => return Ok(concat(nodes)),
                Some(_) => {
                    let is_enclosed = self.is_group();
                    let atom = self.atom()?;
                    let is_place = matches!(atom, Node::Place(_) | Node::Look(_)) && !is_enclosed;
                    self.skip()?;
                    match self.quantifier()? {
                        Some(_) if is_place => return Err(Error::Invalid(Problem::Quantifier)),
                        Some(quantifier) => nodes.push(repeat(atom, &quantifier)),
                        None => nodes.push(atom),
                    }
                }
            }
        }
    }

    fn quantifier(&mut self) -> Result<Option<Quantifier>, Error> {
        let Some(first) = self.peek() else { return Ok(None) };
        let (min, max, has_preference) = match first {
            '*' => (0, None, true),
            '+' => (1, None, true),
            '?' => (0, Some(1), true),
            '{' if self.characters.get(self.at + 1).is_some_and(char::is_ascii_digit) => {
                self.at += 1;
                let min = self.count()?;
                let (max, has_preference) = if self.take(",") {
                    (if self.peek().is_some_and(|c| c.is_ascii_digit()) { Some(self.count()?) } else { None }, true)
                } else {
                    (Some(min), false)
                };
                match self.peek() {
                    Some('}') => {}
                    None => return Err(Error::Invalid(Problem::Braces)),
                    Some(_) => return Err(Error::Invalid(Problem::Counts)),
                }
                if max.is_some_and(|max| max < min) {
                    return Err(Error::Invalid(Problem::Counts));
                }
                (min, max, has_preference)
            }
            _ => return Ok(None),
        };
        self.at += 1;
        self.skip()?;
        let is_shortest = !self.options.extended && self.take("?");
        let length = if is_shortest { Length::Shortest } else { Length::Longest };
        self.skip()?;
        if let Some('*' | '+' | '?') = self.peek() {
            return Err(Error::Invalid(Problem::Quantifier));
        }
        Ok(Some(Quantifier { min, max, prefers: has_preference.then_some(length) }))
    }

    fn count(&mut self) -> Result<u32, Error> {
        let mut count = 0;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            self.at += 1;
            count = count * 10 + digit;
            if count > COUNT_MAX {
                return Err(Error::Invalid(Problem::Counts));
            }
        }
        Ok(count)
    }

    fn atom(&mut self) -> Result<Node, Error> {
        let options = self.options;
        let Some(c) = self.next() else { return Ok(Node::Empty) };
        Ok(match c {
            '.' => Node::One(Set::any(options.line_feeds_stop)),
            '^' => Node::Place(if options.lines_anchor { Place::LineStart } else { Place::TextStart }),
            '$' => Node::Place(if options.lines_anchor { Place::LineEnd } else { Place::TextEnd }),
            '(' => return self.parenthesis(),
            '[' => return self.bracket(),
            '\\' => return self.escape(),
            '*' | '+' | '?' => return Err(Error::Invalid(Problem::Quantifier)),
            '{' if self.peek().is_some_and(|c| c.is_ascii_digit()) => return Err(Error::Invalid(Problem::Quantifier)),
            other => Node::One(Set::one(other, options.ignore_case)),
        })
    }

    /// Whether a group begins, be it without a number; what looks ahead or back is none.
    fn is_group(&self) -> bool {
        let next = |at: usize| self.characters.get(self.at + at);
        next(0) == Some(&'(') && (next(1) != Some(&'?') || next(2) == Some(&':'))
    }

    fn parenthesis(&mut self) -> Result<Node, Error> {
        let close = |parser: &mut Self| {
            if parser.take(")") { Ok(()) } else { Err(Error::Invalid(Problem::Parentheses)) }
        };
        if self.options.extended || !self.take("?") {
            self.opened += 1;
            let number = self.opened;
            let node = self.alternatives()?;
            close(self)?;
            self.closed.push(number);
            return Ok(Node::Group(number, Box::new(node)));
        }
        if self.take(":") {
            let node = self.alternatives()?;
            close(self)?;
            return Ok(node);
        }
        let (ahead, negated) = if self.take("=") {
            (true, false)
        } else if self.take("!") {
            (true, true)
        } else if self.take("<=") {
            (false, false)
        } else if self.take("<!") {
            (false, true)
        } else {
            return Err(Error::Invalid(Problem::Quantifier));
        };
        // Groups within cannot be referred to, and have no numbers.
        let opened = self.opened;
        let node = without_groups(self.alternatives()?);
        self.opened = opened;
        self.closed.retain(|closed| *closed <= opened);
        close(self)?;
        Ok(Node::Look(Box::new(Look { ahead, negated, node })))
    }
}

fn repeat(node: Node, quantifier: &Quantifier) -> Node {
    match quantifier {
        Quantifier { min: 1, max: Some(1), prefers: None } => node,
        Quantifier { max: Some(0), .. } => Node::Empty,
        &Quantifier { min, max, prefers } => Node::Repeat(Box::new(Repeat { node, min, max, prefers })),
    }
}

fn without_groups(node: Node) -> Node {
    match node {
        Node::Group(_, node) => without_groups(*node),
        Node::Concat(nodes) => Node::Concat(nodes.into_iter().map(without_groups).collect()),
        Node::Alternate(nodes) => Node::Alternate(nodes.into_iter().map(without_groups).collect()),
        Node::Repeat(repeat) => {
            let Repeat { node, min, max, prefers } = *repeat;
            Node::Repeat(Box::new(Repeat { node: without_groups(node), min, max, prefers }))
        }
        other => other,
    }
}
