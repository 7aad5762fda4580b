//! Where parts of a text match: all states of the automaton at once, character by character.

use crate::error::Error;
use crate::program::{Instruction, Pc, Program, Stretch};
use crate::set::is_word;
use crate::syntax::Place;

/// Steps that the matches of one text may take: minutes.
const STEPS_MAX: u64 = 20_000_000_000;

/// Runs a program over a text.
pub(crate) struct Runner<'a> {
    program: &'a Program,
    pub(crate) text: &'a str,
    /// For each instruction, the last round that it was in.
    seen: Vec<u64>,
    round: u64,
    now: Vec<Pc>,
    next: Vec<Pc>,
    waiting: Vec<Pc>,
    steps: u64,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(program: &'a Program, text: &'a str) -> Self {
        Self {
            program,
            text,
            seen: vec![0; program.instructions.len() + 1],
            round: 0,
            now: Vec::new(),
            next: Vec::new(),
            waiting: Vec::new(),
            steps: 0,
        }
    }

    /// Where matches of `stretch` that begin at `from` end, up to `limit`, in order.
    pub(crate) fn ends(&mut self, stretch: Stretch, from: usize, limit: usize) -> Result<Vec<usize>, Error> {
        let mut ends = Vec::new();
        self.run(stretch, from, limit, false, |end| {
            ends.push(end);
            true
        })?;
        Ok(ends)
    }

    /// Whether `stretch` matches the text from `from` to `to`.
    pub(crate) fn is_exact(&mut self, stretch: Stretch, from: usize, to: usize) -> Result<bool, Error> {
        let mut found = false;
        self.run(stretch, from, to, false, |end| {
            found = end == to;
            !found
        })?;
        Ok(found)
    }

    /// Whether `stretch` matches something that begins at `from`.
    fn begins(&mut self, stretch: Stretch, from: usize) -> Result<bool, Error> {
        let mut found = false;
        self.run(stretch, from, self.text.len(), false, |_| {
            found = true;
            false
        })?;
        Ok(found)
    }

    /// Whether `stretch` matches something that ends at `to`.
    fn precedes(&mut self, stretch: Stretch, to: usize) -> Result<bool, Error> {
        let mut found = false;
        self.run(stretch, 0, to, true, |end| {
            found = end == to;
            !found
        })?;
        Ok(found)
    }

    /// Tells `accept` where matches end, until it says that this is enough. With `anywhere`, they begin anywhere.
    fn run(
        &mut self,
        stretch: Stretch,
        from: usize,
        limit: usize,
        anywhere: bool,
        mut accept: impl FnMut(usize) -> bool,
    ) -> Result<(), Error> {
        let mut at = from;
        self.next.clear();
        self.round += 1;
        let mut ended = self.add(stretch.start, stretch.end, at)?;
        std::mem::swap(&mut self.now, &mut self.next);
        loop {
            if ended && !accept(at) {
                return Ok(());
            }
            if at >= limit || (self.now.is_empty() && !anywhere) {
                return Ok(());
            }
            let Some(c) = self.text[at..].chars().next() else { return Ok(()) };
            at += c.len_utf8();
            self.round += 1;
            self.next.clear();
            ended = false;
            for index in 0..self.now.len() {
                let pc = self.now[index];
                if let Instruction::One(set) = &self.program.instructions[pc]
                    && self.program.sets[*set].has(c)
                {
                    ended |= self.add(pc + 1, stretch.end, at)?;
                }
            }
            if anywhere {
                ended |= self.add(stretch.start, stretch.end, at)?;
            }
            self.steps += 1 + self.now.len() as u64;
            if self.steps > STEPS_MAX {
                return Err(Error::TooManySteps);
            }
            std::mem::swap(&mut self.now, &mut self.next);
        }
    }

    /// Adds `pc`, and what follows it without a character, to the next states; whether the end is among them.
    fn add(&mut self, pc: Pc, end: Pc, at: usize) -> Result<bool, Error> {
        let mut ended = false;
        self.waiting.push(pc);
        while let Some(pc) = self.waiting.pop() {
            if self.seen[pc] == self.round {
                continue;
            }
            self.seen[pc] = self.round;
            if pc == end {
                ended = true;
                continue;
            }
            match &self.program.instructions[pc] {
                Instruction::One(_) => self.next.push(pc),
                Instruction::Split(one, other) => self.waiting.extend([*other, *one]),
                Instruction::Jump(to) => self.waiting.push(*to),
                Instruction::Place(place) => {
                    if is_place(self.text, at, *place) {
                        self.waiting.push(pc + 1);
                    }
                }
                Instruction::Look { ahead, negated, stretch, next } => {
                    let mut runner = Runner::new(self.program, self.text);
                    runner.steps = self.steps;
                    let found = if *ahead { runner.begins(*stretch, at)? } else { runner.precedes(*stretch, at)? };
                    self.steps = runner.steps;
                    if found != *negated {
                        self.waiting.push(*next);
                    }
                }
            }
        }
        Ok(ended)
    }

    /// Counts a step of whoever uses the runner.
    pub(crate) fn count(&mut self) -> Result<(), Error> {
        self.steps += 1;
        if self.steps > STEPS_MAX { Err(Error::TooManySteps) } else { Ok(()) }
    }
}

fn is_place(text: &str, at: usize, place: Place) -> bool {
    let before = || text[..at].chars().next_back();
    let behind = || text[at..].chars().next();
    let word_before = || before().is_some_and(is_word);
    let word_behind = || behind().is_some_and(is_word);
    match place {
        Place::TextStart => at == 0,
        Place::TextEnd => at == text.len(),
        Place::LineStart => before().is_none_or(|c| c == '\n'),
        Place::LineEnd => behind().is_none_or(|c| c == '\n'),
        Place::WordStart => !word_before() && word_behind(),
        Place::WordEnd => word_before() && !word_behind(),
        Place::WordEdge => word_before() != word_behind(),
        Place::NotWordEdge => word_before() == word_behind(),
    }
}
