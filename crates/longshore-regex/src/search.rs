//! A tree as an expression of the crate `regex`, which searches for it.

use std::fmt::Write;

use crate::syntax::{Length, Node, Place};

/// An expression of the crate `regex` that matches the same texts, and whose first match begins at the same place; `None`
/// if it has none.
pub(crate) fn searched(node: &Node) -> Option<String> {
    if node.is_own() {
        return None;
    }
    let mut text = String::new();
    write(node, &mut text);
    Some(text)
}

fn write(node: &Node, text: &mut String) {
    match node {
        Node::Empty | Node::Look(_) | Node::BackReference { .. } => {}
        Node::One(set) => set.searched(text),
        Node::Place(place) => text.push_str(match place {
            Place::TextStart => "\\A",
            Place::TextEnd => "\\z",
            Place::LineStart => "(?m:^)",
            Place::LineEnd => "(?m:$)",
            Place::WordStart => "\\b{start}",
            Place::WordEnd => "\\b{end}",
            Place::WordEdge => "\\b",
            Place::NotWordEdge => "\\B",
        }),
        Node::Group(_, node) => group(node, text),
        Node::Concat(nodes) => nodes.iter().for_each(|node| match node {
            Node::Alternate(_) => group(node, text),
            node => write(node, text),
        }),
        Node::Alternate(nodes) => {
            for (at, node) in nodes.iter().enumerate() {
                if at > 0 {
                    text.push('|');
                }
                write(node, text);
            }
        }
        Node::Repeat(repeat) => {
            group(&repeat.node, text);
            let _ = match (repeat.min, repeat.max) {
                (0, None) => write!(text, "*"),
                (1, None) => write!(text, "+"),
                (0, Some(1)) => write!(text, "?"),
                (min, None) => write!(text, "{{{min},}}"),
                (min, Some(max)) => write!(text, "{{{min},{max}}}"),
            };
            if repeat.prefers == Some(Length::Shortest) {
                text.push('?');
            }
        }
    }
}

fn group(node: &Node, text: &mut String) {
    text.push_str("(?:");
    write(node, text);
    text.push(')');
}
