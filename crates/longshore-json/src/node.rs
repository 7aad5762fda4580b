//! A text as a tree of its parts.

/// A JSON value where it stands in its text.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    /// Its part of the text, without white space around it.
    pub text: &'a str,
    /// What it is.
    pub kind: Kind<'a>,
}

/// What a value is.
#[derive(Debug, Clone)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, which is the node's text.
    Number,
    /// A string without its escapes.
    String(String),
    /// The elements of an array.
    Array(Vec<Node<'a>>),
    /// The members of an object as they come.
    Object(Vec<(String, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// The last member of this name, if it is an object that has one.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Node<'a>> {
        match &self.kind {
            Kind::Object(members) => members.iter().rev().find(|(key, _)| key == name).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The element at `index`, counted from 0, or from the end if negative, if it is an array that has one.
    #[must_use]
    pub fn element(&self, index: i64) -> Option<&Node<'a>> {
        match &self.kind {
            Kind::Array(elements) => elements.get(place(index, elements.len())?),
            _ => None,
        }
    }

    /// What lies at `path`: names of members, and numbers of elements.
    #[must_use]
    pub fn at<'n>(&'n self, path: &[&str]) -> Option<&'n Node<'a>> {
        path.iter().try_fold(self, |node, step| match &node.kind {
            Kind::Object(_) => node.member(step),
            Kind::Array(_) => node.element(index(step)?),
            _ => None,
        })
    }

    /// Its value as text: a string as it is, and anything else as it stands there; `None` for `null`.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Null => None,
            Kind::String(text) => Some(text),
            _ => Some(self.text),
        }
    }

    /// What `json_typeof` calls it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "boolean",
            Kind::Number => "number",
            Kind::String(_) => "string",
            Kind::Array(_) => "array",
            Kind::Object(_) => "object",
        }
    }
}

/// The place of `index` among `len` elements, counted from the end if negative.
pub(crate) fn place(index: i64, len: usize) -> Option<usize> {
    let place = if index < 0 { index.checked_add(len as i64)? } else { index };
    usize::try_from(place).ok().filter(|place| *place < len)
}

/// The number that a step of a path is; as C reads it, so with white space in front and a sign.
pub(crate) fn index(step: &str) -> Option<i64> {
    step.trim_start().parse::<i32>().ok().map(i64::from)
}
