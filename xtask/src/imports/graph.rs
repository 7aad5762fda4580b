//! Which file of a crate imports from which, and what that comes to at each level of its folders.
//!
//! An import leads to the file that defines the name, not to one that passes it on.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{Module, Path};

/// A crate's files, and for each those that define what it names.
pub(super) struct Graph {
    imports: BTreeMap<Path, BTreeSet<Path>>,
}

/// The modules of one folder: what lies below each of them counts as theirs.
#[derive(Default)]
pub(super) struct Level {
    /// The module whose parts these are, `""` for the crate.
    pub(super) parent: String,
    /// The names of the modules.
    pub(super) modules: BTreeSet<String>,
    /// Who imports from whom, and the files that do.
    pub(super) imports: BTreeMap<(String, String), Vec<String>>,
}

impl Graph {
    /// The graph of a crate's files.
    pub(super) fn new(modules: &BTreeMap<Path, Module>) -> Graph {
        let mut imports = BTreeMap::new();
        for (home, module) in modules {
            let used = module.imports.iter().filter(|(name, _)| !module.passed_on.contains(*name));
            let named = used.map(|(_, path)| path).chain(&module.named).chain(&module.globs);
            imports.insert(home.clone(), named.filter_map(|path| definition(modules, path, 0)).collect());
        }
        Graph { imports }
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.imports.len()
    }

    /// Every folder's modules and imports.
    pub(super) fn levels(&self) -> Vec<Level> {
        let mut levels: BTreeMap<&[String], Level> = BTreeMap::new();
        for from in self.imports.keys() {
            if let Some((name, parent)) = from.split_last() {
                levels.entry(parent).or_default().modules.insert(name.clone());
            }
        }
        for (from, imports) in &self.imports {
            for to in imports {
                let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
                    let level = levels.entry(&from[..common]).or_default();
                    let files = level.imports.entry((one.clone(), other.clone())).or_default();
                    files.push(format!("{} -> {}", from.join("::"), to.join("::")));
                }
            }
        }
        let named = levels.into_iter().map(|(parent, level)| Level { parent: parent.join("::"), ..level });
        named.collect()
    }
}

impl Level {
    /// The circles among the modules, each in words.
    pub(super) fn circles(&self) -> Vec<String> {
        let reach: BTreeMap<&String, BTreeSet<&String>> =
            self.modules.iter().map(|from| (from, self.reach(from))).collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for (from, reached) in &reach {
            if !reached.contains(*from) || seen.contains(*from) {
                continue;
            }
            let circle: BTreeSet<&String> =
                reached.iter().copied().filter(|other| reach[*other].contains(*from)).collect();
            let inside = |from, to| circle.contains(from) && circle.contains(to);
            let files: Vec<&str> = self
                .imports
                .iter()
                .filter(|((from, to), _)| inside(from, to))
                .flat_map(|(_, files)| files.iter().map(String::as_str))
                .collect();
            let names: Vec<&str> = circle.iter().map(|name| name.as_str()).collect();
            circles.push(format!("circle of {}: {}", names.join(", "), files.join(", ")));
            seen.extend(circle);
        }
        circles
    }

    /// The modules that `from` needs, directly or not.
    fn reach<'a>(&'a self, from: &'a String) -> BTreeSet<&'a String> {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(next) = open.pop() {
            for (_, to) in self.imports.keys().filter(|(from, _)| from == next) {
                if reached.insert(to) {
                    open.push(to);
                }
            }
        }
        reached
    }
}

/// The file that defines what `path` names; `None` for a module as such.
fn definition(modules: &BTreeMap<Path, Module>, path: &[String], depth: usize) -> Option<Path> {
    // Exports do not go this deep: names that export each other would go on for ever.
    const DEPTH_MAX: usize = 16;
    let mut home: Path = Vec::new();
    for (at, part) in path.iter().enumerate() {
        home.push(part.clone());
        if modules.contains_key(&home) {
            continue;
        }
        home.pop();
        let module = &modules[&home];
        let behind = |target: &[String]| [target, &path[at + 1..]].concat();
        return match module.imports.get(part) {
            Some(target) if depth < DEPTH_MAX && target[..] != path[..=at] => {
                definition(modules, &behind(target), depth + 1)
            }
            _ => Some(home),
        };
    }
    None
}
