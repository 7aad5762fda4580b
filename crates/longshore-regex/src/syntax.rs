//! An expression as a tree.

use crate::set::Set;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Empty,
    /// One character.
    One(Set),
    /// A place between characters.
    Place(Place),
    Look(Box<Look>),
    /// A group with its number, counted from 1.
    Group(usize, Box<Node>),
    Concat(Vec<Node>),
    Alternate(Vec<Node>),
    Repeat(Box<Repeat>),
    BackReference {
        group: usize,
        ignore_case: bool,
    },
}

/// A place between characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    TextStart,
    TextEnd,
    LineStart,
    LineEnd,
    WordStart,
    WordEnd,
    WordEdge,
    NotWordEdge,
}

/// What must, or must not, stand before or behind a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) ahead: bool,
    pub(crate) negated: bool,
    pub(crate) node: Node,
}

/// A part that matches several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    pub(crate) node: Node,
    pub(crate) min: u32,
    /// `None` without a limit.
    pub(crate) max: Option<u32>,
    /// The quantifier's own preference; `{m}` has none.
    pub(crate) prefers: Option<Length>,
}

/// Which of several lengths a part takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Longest,
    Shortest,
}

/// What a part asks of those who match it.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub(crate) struct Traits {
    pub(crate) has_groups: bool,
    pub(crate) has_back_references: bool,
    pub(crate) has_longest: bool,
    pub(crate) has_shortest: bool,
}

impl Traits {
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            has_groups: self.has_groups || other.has_groups,
            has_back_references: self.has_back_references || other.has_back_references,
            has_longest: self.has_longest || other.has_longest,
            has_shortest: self.has_shortest || other.has_shortest,
        }
    }

    /// Whether it must be taken apart from its neighbours.
    pub(crate) fn is_apart(self) -> bool {
        self.has_groups || self.has_back_references || (self.has_longest && self.has_shortest)
    }

    fn of_length(length: Option<Length>) -> Self {
        Self {
            has_longest: length == Some(Length::Longest),
            has_shortest: length == Some(Length::Shortest),
            ..Self::default()
        }
    }
}

impl Node {
    pub(crate) fn traits(&self) -> Traits {
        match self {
            Self::Empty | Self::One(_) | Self::Place(_) | Self::Look(_) => Traits::default(),
            Self::Group(_, node) => Traits { has_groups: true, ..node.traits() },
            Self::Concat(nodes) => nodes.iter().fold(Traits::default(), |all, node| all.with(node.traits())),
            Self::Alternate(nodes) => {
                nodes.iter().fold(Traits::of_length(Some(Length::Longest)), |all, node| all.with(node.traits()))
            }
            Self::Repeat(repeat) => repeat.node.traits().with(Traits::of_length(repeat.prefers)),
            Self::BackReference { .. } => Traits { has_back_references: true, ..Traits::default() },
        }
    }

    /// Whether there is anything that only the automaton here can search for.
    pub(crate) fn is_own(&self) -> bool {
        match self {
            Self::Empty | Self::One(_) | Self::Place(_) => false,
            Self::Look(_) | Self::BackReference { .. } => true,
            Self::Group(_, node) => node.is_own(),
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes.iter().any(Self::is_own),
            Self::Repeat(repeat) => repeat.node.is_own(),
        }
    }

    /// Which length the part takes, if it says.
    pub(crate) fn prefers(&self) -> Option<Length> {
        match self {
            Self::Empty | Self::One(_) | Self::Place(_) | Self::Look(_) | Self::BackReference { .. } => None,
            Self::Group(_, node) => node.prefers(),
            Self::Concat(nodes) => nodes.iter().find_map(Self::prefers),
            Self::Alternate(_) => Some(Length::Longest),
            Self::Repeat(repeat) => repeat.prefers.or_else(|| repeat.node.prefers()),
        }
    }

    /// The group of this number, within the part.
    pub(crate) fn group(&self, number: usize) -> Option<&Node> {
        match self {
            Self::Group(own, node) => {
                if *own == number {
                    Some(node)
                } else {
                    node.group(number)
                }
            }
            Self::Concat(nodes) | Self::Alternate(nodes) => nodes.iter().find_map(|node| node.group(number)),
            Self::Repeat(repeat) => repeat.node.group(number),
            Self::Look(look) => look.node.group(number),
            Self::Empty | Self::One(_) | Self::Place(_) | Self::BackReference { .. } => None,
        }
    }
}
