//! The arguments of PostgreSQL's functions, by their names, as `pg_proc` has them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::fixed;

/// What a function takes.
#[derive(Debug)]
pub(in crate::datafusion::planning) struct Signature {
    /// The OIDs of the types of its arguments.
    pub(in crate::datafusion::planning) arguments: Vec<u32>,
    /// How many of them, at the end, may be left out.
    pub(in crate::datafusion::planning) defaults: usize,
    /// The type of each value that the last argument, an array, may be given as.
    pub(in crate::datafusion::planning) variadic: Option<u32>,
}

/// Read by itself, without the other tables: what a statement is planned by must be there at once.
static SIGNATURES: LazyLock<HashMap<&str, Vec<Signature>>> = LazyLock::new(|| {
    let place = |name| fixed::place("pg_proc", name);
    let (name, kind, variadic) = (place("proname"), place("prokind"), place("provariadic"));
    let (defaults, arguments) = (place("pronargdefaults"), place("proargtypes"));
    let mut known: HashMap<&str, Vec<Signature>> = HashMap::new();
    for line in fixed::text("pg_proc").lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        if cells[kind] != "f" {
            continue;
        }
        known.entry(cells[name]).or_default().push(Signature {
            arguments: cells[arguments].split_whitespace().filter_map(|oid| oid.parse().ok()).collect(),
            defaults: cells[defaults].parse().unwrap_or(0),
            variadic: cells[variadic].parse().ok().filter(|oid| *oid != 0),
        });
    }
    known
});

/// What the functions of this name take; none where PostgreSQL has no such function.
pub(in crate::datafusion::planning) fn signatures(name: &str) -> &'static [Signature] {
    SIGNATURES.get(name).map_or(&[], Vec::as_slice)
}
