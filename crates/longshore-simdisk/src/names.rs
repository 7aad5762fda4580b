//! The names of files and directories: what readers see, what is safe, and what lies between.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use longshore_testing::Random;

use crate::fate::Fate;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// A file, by its number.
    File(usize),
    Directory,
}

type Tree = BTreeMap<PathBuf, Node>;

/// All names of a disk.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    seen: Tree,
    safe: Tree,
    /// What has been done since the directories' last syncs, in order.
    changes: Vec<Change>,
}

#[derive(Clone, Debug)]
struct Change {
    directory: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Make { path: PathBuf, node: Node },
    Remove { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf, node: Node },
}

impl Names {
    /// The root directory alone.
    pub(crate) fn new() -> Names {
        let tree = Tree::from([(PathBuf::from("/"), Node::Directory)]);
        Names { seen: tree.clone(), safe: tree, changes: Vec::new() }
    }

    pub(crate) fn get(&self, path: &Path) -> Option<Node> {
        self.seen.get(path).copied()
    }

    pub(crate) fn is_directory(&self, path: &Path) -> bool {
        self.get(path) == Some(Node::Directory)
    }

    /// The names in a directory.
    pub(crate) fn list(&self, directory: &Path) -> Vec<OsString> {
        let inside = self.seen.keys().filter(|path| path.parent() == Some(directory));
        inside.filter_map(|path| path.file_name()).map(OsString::from).collect()
    }

    pub(crate) fn make(&mut self, path: &Path, node: Node) {
        self.change(path, Kind::Make { path: path.to_owned(), node });
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        self.change(path, Kind::Remove { path: path.to_owned() });
    }

    pub(crate) fn rename(&mut self, from: &Path, to: &Path, node: Node) {
        self.change(from, Kind::Rename { from: from.to_owned(), to: to.to_owned(), node });
    }

    fn change(&mut self, path: &Path, kind: Kind) {
        kind.apply(&mut self.seen);
        self.changes.push(Change { directory: path.parent().expect("the root is not changed").to_owned(), kind });
    }

    /// Makes the changes in a directory safe.
    pub(crate) fn sync(&mut self, directory: &Path) {
        for change in self.changes.extract_if(.., |change| change.directory == directory) {
            change.kind.apply(&mut self.safe);
        }
    }

    /// What a crash leaves.
    pub(crate) fn survivor(&self, random: &mut Random) -> Names {
        let mut safe = self.safe.clone();
        let fate = Fate::draw(random);
        for change in &self.changes {
            if fate.keeps(random) {
                change.kind.apply(&mut safe);
            }
        }
        // What lies in a directory that was lost is lost with it.
        let whole = |path: &Path| path.ancestors().skip(1).all(|above| safe.get(above) == Some(&Node::Directory));
        let safe: Tree =
            safe.iter().filter(|(path, _)| whole(path)).map(|(path, node)| (path.clone(), *node)).collect();
        Names { seen: safe.clone(), safe, changes: Vec::new() }
    }
}

impl Kind {
    fn apply(&self, tree: &mut Tree) {
        match self {
            Kind::Make { path, node } => {
                tree.insert(path.clone(), *node);
            }
            Kind::Remove { path } => {
                tree.remove(path);
            }
            Kind::Rename { from, to, node } => {
                if tree.get(from) == Some(node) {
                    tree.remove(from);
                }
                tree.insert(to.clone(), *node);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_when_their_directory_is_synced() {
        let mut names = Names::new();
        let [folder, a, b, c] = ["/d", "/d/a", "/d/b", "/d/c"].map(Path::new);
        names.make(folder, Node::Directory);
        names.sync(Path::new("/"));
        names.make(a, Node::File(1));
        names.make(b, Node::File(2));
        names.sync(folder);
        names.rename(a, c, Node::File(1));
        names.remove(b);
        assert_eq!(names.list(folder), ["c"]);
        let (mut renamed, mut removed) = ([false; 2], [false; 2]);
        for seed in 0..100 {
            let left = names.survivor(&mut Random::new(seed));
            renamed[usize::from(left.get(c) == Some(Node::File(1)))] = true;
            assert!(left.get(a).is_some() != left.get(c).is_some(), "a rename happens as a whole");
            removed[usize::from(left.get(b).is_none())] = true;
        }
        assert_eq!((renamed, removed), ([true; 2], [true; 2]));
    }

    #[test]
    fn what_lies_in_a_lost_directory_is_lost() {
        let mut names = Names::new();
        names.make(Path::new("/d"), Node::Directory);
        names.make(Path::new("/d/a"), Node::File(1));
        names.sync(Path::new("/d"));
        let left: Vec<_> = (0..50).map(|seed| names.survivor(&mut Random::new(seed))).collect();
        let (there, gone): (Vec<_>, Vec<_>) = left.iter().partition(|left| left.is_directory(Path::new("/d")));
        assert!(there.iter().all(|left| left.get(Path::new("/d/a")).is_some()) && !there.is_empty());
        assert!(gone.iter().all(|left| left.get(Path::new("/d/a")).is_none()) && !gone.is_empty());
    }
}
