//! `cargo xtask imports`: within a crate, imports point down.
//!
//! The doc comment of a crate's `lib.rs` or `main.rs` lists its modules under the heading `# Modules`, lowest first. A
//! module may import from those before it only. Within a module the same holds for its parts, without a list: siblings
//! form no circle. A file and the files of its own folder are one module, and may name each other: in Rust, parts see
//! what is private to their parent, and a parent exports what its parts define.
//!
//! Not here: what crates may depend on (`ci::absence`).

mod graph;
mod paths;
mod tokens;

use std::collections::BTreeMap;
use std::fs;

use crate::shell::{files, root};
use graph::{Graph, Level};

/// The heading in the doc comment of a crate's root above the list of its modules.
const HEADING: &str = "//! # Modules";

/// A crate's source files and the order that it declares.
struct Crate {
    name: String,
    graph: Graph,
    order: Vec<String>,
}

/// Checks the crates that the arguments name, or all.
///
/// # Errors
///
/// All findings.
pub(crate) fn main(arguments: &[&str]) -> Result<(), String> {
    let crates = crates()?;
    if let Some(unknown) = arguments.iter().find(|name| crates.iter().all(|one| one.name != **name)) {
        return Err(format!("there is no crate {unknown:?}"));
    }
    let mut findings = Vec::new();
    for one in crates.iter().filter(|one| arguments.is_empty() || arguments.contains(&one.name.as_str())) {
        let found = check(&one.graph, &one.order);
        println!("{}: {} files, {} imports that climb or go in circles", one.name, one.graph.len(), found.len());
        findings.extend(found.into_iter().map(|finding| format!("{}: {finding}", one.name)));
        controls(one)?;
    }
    if findings.is_empty() { Ok(()) } else { Err(findings.join("\n")) }
}

/// The declared order read backwards must be found at fault: otherwise no import was seen. A single file imports nothing.
fn controls(one: &Crate) -> Result<(), String> {
    if one.graph.len() == 1 {
        return Ok(());
    }
    let backwards: Vec<String> = one.order.iter().rev().cloned().collect();
    if check(&one.graph, &backwards).is_empty() {
        return Err(format!("the control failed: {} passes with its modules in reverse order", one.name));
    }
    Ok(())
}

/// What is wrong with the imports of a crate whose modules have this order, lowest first.
fn check(graph: &Graph, order: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    for level in graph.levels() {
        if level.parent.is_empty() {
            findings.extend(climbs(&level, order));
        } else {
            findings.extend(level.circles().into_iter().map(|circle| format!("in {}: {circle}", level.parent)));
        }
    }
    findings
}

fn climbs(level: &Level, order: &[String]) -> Vec<String> {
    let mut findings = Vec::new();
    let place = |name: &str| order.iter().position(|listed| listed == name);
    for module in &level.modules {
        if place(module).is_none() {
            findings.push(format!("the list of modules in the crate's doc comment lacks `{module}`"));
        }
    }
    for listed in order {
        if !level.modules.contains(listed) {
            findings.push(format!("the list of modules in the crate's doc comment has `{listed}`, which is none"));
        }
    }
    for ((from, to), files) in &level.imports {
        if let (Some(low), Some(high)) = (place(from), place(to))
            && low < high
        {
            findings.push(format!("`{from}` is below `{to}` but imports from it: {}", files.join(", ")));
        }
    }
    findings
}

fn crates() -> Result<Vec<Crate>, String> {
    let mut sources: BTreeMap<String, Vec<(Vec<String>, String)>> = BTreeMap::new();
    for path in files()? {
        let Some((name, inner)) = path.strip_prefix("crates/").and_then(|path| path.split_once("/src/")) else {
            continue;
        };
        let Some(inner) = inner.strip_suffix(".rs") else { continue };
        let module: Vec<String> = match inner {
            "lib" | "main" => Vec::new(),
            _ => inner.split('/').map(str::to_owned).collect(),
        };
        if !module.iter().any(|part| part == "tests") {
            let text =
                fs::read_to_string(root().join(&path)).map_err(|error| format!("cannot read {path}: {error}"))?;
            sources.entry(name.to_owned()).or_default().push((module, text));
        }
    }
    let read = |(name, sources): (String, Vec<(Vec<String>, String)>)| {
        let order = sources.iter().find(|(module, _)| module.is_empty()).map_or_else(Vec::new, |(_, text)| order(text));
        let modules = sources.into_iter().map(|(module, text)| (module.clone(), paths::read(&text, &module)));
        Crate { name, graph: Graph::new(&modules.collect()), order }
    };
    Ok(sources.into_iter().map(read).collect())
}

/// The names in backticks that open the items of the list under [`HEADING`].
fn order(root: &str) -> Vec<String> {
    let listed = root.lines().skip_while(|line| *line != HEADING).skip(1);
    let items = listed.take_while(|line| line.starts_with("//!") && !line.starts_with("//! # "));
    items
        .filter_map(|line| line.strip_prefix("//! - "))
        .flat_map(|item| item.split(':').next().unwrap_or_default().split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of these files.
    fn graph(sources: &[(&str, &str)]) -> Graph {
        let modules = sources.iter().map(|(path, text)| {
            let module: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
            (module.clone(), paths::read(text, &module))
        });
        Graph::new(&modules.collect())
    }

    fn order_of(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn an_import_that_climbs_is_found() {
        let sources = [("", "mod low; mod high;"), ("low", "pub struct A;"), ("high", "use crate::low::A;")];
        assert!(check(&graph(&sources), &order_of(&["low", "high"])).is_empty());
        let found = check(&graph(&sources), &order_of(&["high", "low"]));
        assert_eq!(found, ["`high` is below `low` but imports from it: high -> low"]);
    }

    #[test]
    fn an_import_leads_to_the_file_that_defines_the_name() {
        let sources = [
            ("", "mod a; mod b;"),
            ("a", "mod inner; pub(crate) use inner::Name; pub(crate) use crate::b::Other;"),
            ("a/inner", "pub struct Name;"),
            ("b", "pub struct Other; fn f() { crate::a::Name::new(); }"),
        ];
        // `b` needs `a`; what `a` passes on does not make it need `b`.
        assert!(check(&graph(&sources), &order_of(&["a", "b"])).is_empty());
        assert_eq!(
            check(&graph(&sources), &order_of(&["b", "a"])),
            ["`b` is below `a` but imports from it: b -> a::inner"]
        );
    }

    #[test]
    fn siblings_in_a_circle_are_found() {
        let sources = [
            ("", "mod a;"),
            ("a", "mod x; mod y; pub struct Shared;"),
            ("a/x", "use super::Shared; use super::y::Y; pub struct X;"),
            ("a/y", "pub struct Y; fn f(x: super::x::X) {}"),
        ];
        let found = check(&graph(&sources), &order_of(&["a"]));
        assert_eq!(found, ["in a: circle of x, y: a::x -> a::y, a::y -> a::x"]);
    }

    #[test]
    fn modules_and_their_list_agree() {
        let sources = [("", "mod a;"), ("a", "")];
        assert_eq!(check(&graph(&sources), &order_of(&["b"])).len(), 2);
        let doc = "//! A crate.\n//!\n//! # Modules\n//!\n//! Lowest first.\n//!\n//! - `a`, `b`: with `words`\n//!   and more.\n\
                   //! - `c`\n\nmod a;";
        assert_eq!(order(doc), ["a", "b", "c"]);
    }
}
