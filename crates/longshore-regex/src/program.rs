//! A tree as an automaton, and as parts to be dissected.
//!
//! Every part of the tree is a stretch of instructions from its first one to where it ends, so that one automaton says of
//! each part, and of each rest of a sequence, where it matches.

use crate::error::{Error, Problem};
use crate::set::Set;
use crate::syntax::{Length, Node, Place, Repeat, Traits};

/// Instructions of an automaton, at most.
const INSTRUCTIONS_MAX: usize = 100_000;

pub(crate) type Pc = usize;

#[derive(Debug)]
pub(crate) enum Instruction {
    /// One character of the set, then the next instruction.
    One(usize),
    /// Both go on.
    Split(Pc, Pc),
    Jump(Pc),
    /// Goes on with the next one at such a place.
    Place(Place),
    /// Goes on with the next one if the stretch matches, or does not.
    Look {
        ahead: bool,
        negated: bool,
        stretch: Stretch,
        next: Pc,
    },
}

/// Instructions from the first one to where they end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) start: Pc,
    pub(crate) end: Pc,
}

#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) sets: Vec<Set>,
}

/// A part that is dissected.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) stretch: Stretch,
    pub(crate) prefers: Length,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// Nothing within is asked for.
    Whole,
    Group(usize, Box<Part>),
    Concat(Vec<Part>),
    Alternate(Vec<Part>),
    /// As often as it takes; the groups within are those of the last time.
    Repeat {
        part: Box<Part>,
        min: u32,
        max: Option<u32>,
        groups: Vec<usize>,
    },
    BackReference {
        group: usize,
        ignore_case: bool,
    },
}

/// The automaton of `node`, and its parts.
pub(crate) fn compile(node: &Node) -> Result<(Program, Part), Error> {
    let mut compiler = Compiler { program: Program::default(), root: node };
    let part = compiler.part(node)?;
    // Where the whole ends, there is nothing.
    compiler.push(Instruction::Jump(part.stretch.end))?;
    Ok((compiler.program, part))
}

struct Compiler<'a> {
    program: Program,
    root: &'a Node,
}

impl Compiler<'_> {
    fn here(&self) -> Pc {
        self.program.instructions.len()
    }

    fn push(&mut self, instruction: Instruction) -> Result<Pc, Error> {
        if self.here() == INSTRUCTIONS_MAX {
            return Err(Error::Invalid(Problem::TooLarge));
        }
        self.program.instructions.push(instruction);
        Ok(self.here() - 1)
    }

    fn part(&mut self, node: &Node) -> Result<Part, Error> {
        let traits = node.traits();
        let start = self.here();
        let prefers = node.prefers().unwrap_or(Length::Longest);
        if !traits.has_groups && !traits.has_back_references {
            self.emit(node)?;
            return Ok(Part { stretch: Stretch { start, end: self.here() }, prefers, kind: Kind::Whole });
        }
        let kind = match node {
            Node::Group(number, node) => Kind::Group(*number, Box::new(self.part(node)?)),
            Node::Concat(nodes) => Kind::Concat(self.sequence(nodes)?),
            Node::Alternate(nodes) => Kind::Alternate(self.branches(nodes, Self::part)?),
            Node::Repeat(repeat) => self.repeated_part(repeat)?,
            Node::BackReference { group, ignore_case } => {
                // What it may match, at most.
                if let Some(node) = self.root.group(*group) {
                    self.emit(node)?;
                }
                Kind::BackReference { group: *group, ignore_case: *ignore_case }
            }
            Node::Empty | Node::One(_) | Node::Place(_) | Node::Look(_) => {
                self.emit(node)?;
                Kind::Whole
            }
        };
        Ok(Part { stretch: Stretch { start, end: self.here() }, prefers, kind })
    }

    /// The parts of a sequence; neighbours of which nothing is asked, and that agree on the length, are one.
    fn sequence(&mut self, nodes: &[Node]) -> Result<Vec<Part>, Error> {
        let mut parts = Vec::new();
        let mut at = 0;
        while at < nodes.len() {
            let mut end = at;
            let mut all = Traits::default();
            while end < nodes.len() && !all.with(nodes[end].traits()).is_apart() {
                all = all.with(nodes[end].traits());
                end += 1;
            }
            if end == at {
                parts.push(self.part(&nodes[at])?);
                at += 1;
                continue;
            }
            let start = self.here();
            for node in &nodes[at..end] {
                self.emit(node)?;
            }
            let prefers = nodes[at..end].iter().find_map(Node::prefers).unwrap_or(Length::Longest);
            parts.push(Part { stretch: Stretch { start, end: self.here() }, prefers, kind: Kind::Whole });
            at = end;
        }
        Ok(parts)
    }

    /// A repeated part with groups within. Of several times the last one has the groups, so that the others need not be
    /// dissected, if the part must match at all and refers to nothing.
    fn repeated_part(&mut self, repeat: &Repeat) -> Result<Kind, Error> {
        let Repeat { node, min, max, prefers } = repeat;
        if *min > 0 && !node.traits().has_back_references {
            let before = Repeat { node: node.clone(), min: min - 1, max: max.map(|max| max - 1), prefers: *prefers };
            let start = self.here();
            self.emit_repeat(&before)?;
            let stretch = Stretch { start, end: self.here() };
            let length = prefers.or_else(|| node.prefers()).unwrap_or(Length::Longest);
            let before = Part { stretch, prefers: length, kind: Kind::Whole };
            return Ok(Kind::Concat(vec![before, self.part(node)?]));
        }
        let mut groups = Vec::new();
        groups_of(node, &mut groups);
        let part = self.emit_times(*min, *max, |compiler, is_first| {
            if is_first { compiler.part(node).map(Some) } else { compiler.emit(node).map(|()| None) }
        })?;
        Ok(match part {
            Some(part) => Kind::Repeat { part: Box::new(part), min: *min, max: *max, groups },
            None => Kind::Whole,
        })
    }

    fn branches<T>(
        &mut self,
        nodes: &[Node],
        each: impl Fn(&mut Self, &Node) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut jumps = Vec::new();
        let mut branches = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let is_last = at + 1 == nodes.len();
            let split = if is_last { None } else { Some(self.push(Instruction::Split(0, 0))?) };
            branches.push(each(self, node)?);
            jumps.push(self.push(Instruction::Jump(0))?);
            if let Some(split) = split {
                self.program.instructions[split] = Instruction::Split(split + 1, self.here());
            }
        }
        let end = self.here();
        for jump in jumps {
            self.program.instructions[jump] = Instruction::Jump(end);
        }
        Ok(branches)
    }

    fn emit(&mut self, node: &Node) -> Result<(), Error> {
        match node {
            Node::Empty => {}
            Node::One(set) => {
                self.program.sets.push(set.clone());
                self.push(Instruction::One(self.program.sets.len() - 1))?;
            }
            Node::Place(place) => {
                self.push(Instruction::Place(*place))?;
            }
            Node::Look(look) => {
                let at = self.push(Instruction::Jump(0))?;
                let start = self.here();
                self.emit(&look.node)?;
                let end = self.push(Instruction::Jump(0))?;
                let stretch = Stretch { start, end };
                self.program.instructions[at] =
                    Instruction::Look { ahead: look.ahead, negated: look.negated, stretch, next: end + 1 };
            }
            Node::Group(_, node) => self.emit(node)?,
            Node::Concat(nodes) => nodes.iter().try_for_each(|node| self.emit(node))?,
            Node::Alternate(nodes) => {
                self.branches(nodes, Self::emit)?;
            }
            Node::Repeat(repeat) => self.emit_repeat(repeat)?,
            Node::BackReference { group, .. } => {
                if let Some(node) = self.root.group(*group) {
                    self.emit(node)?;
                }
            }
        }
        Ok(())
    }

    fn emit_repeat(&mut self, repeat: &Repeat) -> Result<(), Error> {
        self.emit_times(repeat.min, repeat.max, |compiler, _| compiler.emit(&repeat.node).map(|()| None::<Part>))
            .map(drop)
    }

    /// `each` so many times, of which it is told the first; gives what the first gave.
    fn emit_times(
        &mut self,
        min: u32,
        max: Option<u32>,
        mut each: impl FnMut(&mut Self, bool) -> Result<Option<Part>, Error>,
    ) -> Result<Option<Part>, Error> {
        let mut first = None;
        let mut is_first = true;
        let mut once = |compiler: &mut Self| -> Result<(), Error> {
            let made = each(compiler, is_first)?;
            if is_first {
                first = made;
                is_first = false;
                // Where the first one ends, nothing else may.
                let next = compiler.here() + 1;
                compiler.push(Instruction::Jump(next))?;
            }
            Ok(())
        };
        for _ in 0..min {
            once(self)?;
        }
        match max {
            None => {
                let split = self.push(Instruction::Split(0, 0))?;
                once(self)?;
                self.push(Instruction::Jump(split))?;
                self.program.instructions[split] = Instruction::Split(split + 1, self.here());
            }
            Some(max) => {
                let mut splits = Vec::new();
                for _ in min..max {
                    splits.push(self.push(Instruction::Split(0, 0))?);
                    once(self)?;
                }
                for split in splits {
                    self.program.instructions[split] = Instruction::Split(split + 1, self.here());
                }
            }
        }
        Ok(first)
    }
}

/// The numbers of the groups within `node`.
fn groups_of(node: &Node, groups: &mut Vec<usize>) {
    match node {
        Node::Group(number, node) => {
            groups.push(*number);
            groups_of(node, groups);
        }
        Node::Concat(nodes) | Node::Alternate(nodes) => nodes.iter().for_each(|node| groups_of(node, groups)),
        Node::Repeat(repeat) => groups_of(&repeat.node, groups),
        Node::Empty | Node::One(_) | Node::Place(_) | Node::Look(_) | Node::BackReference { .. } => {}
    }
}
