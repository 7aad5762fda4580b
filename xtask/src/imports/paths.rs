//! What one source file declares and names: its modules, its imports, the paths in its code.
//!
//! Not here: what a path leads to (`graph`).

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Token, tokens};

/// A path from the root of the crate: `["chunk", "hot", "Column"]` for `crate::chunk::hot::Column`.
pub(super) type Path = Vec<String>;

/// What a module declares and names.
#[derive(Default, Debug)]
pub(super) struct Module {
    /// The names that its `use` items bring in, and what they stand for.
    pub(super) imports: BTreeMap<String, Path>,
    /// What its globs bring in.
    pub(super) globs: Vec<Path>,
    /// The names among `imports` that are passed on (`pub use`) and not used by the module itself.
    pub(super) passed_on: BTreeSet<String>,
    /// Other paths in its code.
    pub(super) named: BTreeSet<Path>,
}

/// Reads the source of the module at `home`.
pub(super) fn read(source: &str, home: &[String]) -> Module {
    let tokens = tokens(source);
    let mut reader =
        Reader { tokens: &tokens, at: 0, scopes: vec![(home.to_vec(), 0)], depth: 0, module: Module::default() };
    let mut exported = BTreeSet::new();
    let mut used = BTreeSet::new();
    while let Some(&token) = reader.tokens.get(reader.at) {
        match token {
            Token::Mark(b'{') => reader.depth += 1,
            Token::Mark(b'}') => reader.close(),
            Token::Word("mod") => reader.declaration(),
            Token::Word("use") => {
                let public = reader.is_public();
                let before: BTreeSet<String> = reader.module.imports.keys().cloned().collect();
                reader.at += 1;
                reader.tree(&[]);
                if public {
                    exported.extend(reader.module.imports.keys().filter(|name| !before.contains(*name)).cloned());
                }
                continue;
            }
            Token::Word(word) => {
                let follows =
                    reader.at > 0 && matches!(reader.tokens[reader.at - 1], Token::Colons | Token::Mark(b'.'));
                if !follows {
                    used.insert(word.to_owned());
                    if reader.tokens.get(reader.at + 1) == Some(&Token::Colons) {
                        reader.path();
                        continue;
                    }
                }
            }
            _ => {}
        }
        reader.at += 1;
    }
    reader.module.passed_on = exported.into_iter().filter(|name| !used.contains(name)).collect();
    reader.module
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    /// The modules that the reader stands in, with the depth of braces each began at.
    scopes: Vec<(Path, usize)>,
    depth: usize,
    module: Module,
}

impl Reader<'_> {
    fn home(&self) -> &Path {
        &self.scopes[self.scopes.len() - 1].0
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.scopes.len() > 1 && self.scopes[self.scopes.len() - 1].1 == self.depth {
            self.scopes.pop();
        }
    }

    /// `mod name {` opens a module within the file.
    fn declaration(&mut self) {
        if let (Some(Token::Word(name)), Some(Token::Mark(b'{'))) =
            (self.tokens.get(self.at + 1), self.tokens.get(self.at + 2))
        {
            let mut inner = self.home().clone();
            inner.push((*name).to_owned());
            self.scopes.push((inner, self.depth));
        }
    }

    /// Whether the `use` at hand has a visibility of its own.
    fn is_public(&self) -> bool {
        match self.at.checked_sub(1).map(|before| self.tokens[before]) {
            Some(Token::Word("pub")) => true,
            Some(Token::Mark(b')')) => {
                self.tokens[..self.at].iter().rev().take(6).any(|token| *token == Token::Word("pub"))
            }
            _ => false,
        }
    }

    /// A tree of `use`, behind `prefix`.
    fn tree(&mut self, prefix: &[String]) {
        let mut path = prefix.to_vec();
        loop {
            match self.tokens.get(self.at) {
                Some(Token::Word("as")) => {
                    self.at += 1;
                    if let Some(Token::Word(alias)) = self.tokens.get(self.at) {
                        self.import((*alias).to_owned(), &path);
                    }
                    self.at += 1;
                    return self.tree_end();
                }
                Some(Token::Word(word)) => {
                    path.push((*word).to_owned());
                    self.at += 1;
                    if !matches!(self.tokens.get(self.at), Some(Token::Colons | Token::Word("as"))) {
                        if *word == "self" && path.len() > 1 {
                            path.pop();
                        }
                        let name = path[path.len() - 1].clone();
                        self.import(name, &path);
                        return self.tree_end();
                    }
                }
                Some(Token::Colons) => self.at += 1,
                Some(Token::Mark(b'*')) => {
                    self.at += 1;
                    if let Some(path) = self.absolute(&path) {
                        self.module.globs.push(path);
                    }
                    return self.tree_end();
                }
                Some(Token::Mark(b'{')) => {
                    self.at += 1;
                    while !matches!(self.tokens.get(self.at), None | Some(Token::Mark(b'}'))) {
                        self.tree(&path);
                        if self.tokens.get(self.at) == Some(&Token::Mark(b',')) {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return self.tree_end();
                }
                _ => return self.tree_end(),
            }
        }
    }

    fn tree_end(&mut self) {
        if self.tokens.get(self.at) == Some(&Token::Mark(b';')) {
            self.at += 1;
        }
    }

    fn import(&mut self, name: String, path: &[String]) {
        if let Some(path) = self.absolute(path) {
            if self.scopes.len() > 1 || name == "_" {
                self.module.named.insert(path);
            } else {
                self.module.imports.insert(name, path);
            }
        }
    }

    /// A path in code, which begins here.
    fn path(&mut self) {
        let mut path = Vec::new();
        while let Some(Token::Word(word)) = self.tokens.get(self.at) {
            path.push((*word).to_owned());
            self.at += 1;
            if self.tokens.get(self.at) != Some(&Token::Colons) {
                break;
            }
            self.at += 1;
        }
        if let Some(path) = self.absolute(&path) {
            self.module.named.insert(path);
        }
    }

    /// The path from the crate's root; `None` where it is empty. Whether its first name is of this crate at all,
    /// the graph finds out.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let mut base = match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "Self" => return None,
            "super" | "self" => self.home().clone(),
            _ => {
                let mut relative = self.scopes[0].0.clone();
                relative.extend_from_slice(path);
                return Some(relative);
            }
        };
        let mut rest = path;
        while let Some((first, behind)) = rest.split_first() {
            match first.as_str() {
                "self" => {}
                "super" => {
                    base.pop();
                }
                _ => break,
            }
            rest = behind;
        }
        base.extend_from_slice(rest);
        Some(base)
    }
}
