//! The README's reference of options says what the table of options says.

use std::fmt::Write as _;

use longshore_engine::OPTIONS;

const BEGIN: &str =
    "<!-- options: checked by crates/longshore-cli/tests/reference.rs, which prints what must stand here -->\n";
const END: &str = "<!-- end of options -->\n";

/// The reference as it must stand in the README.
fn reference() -> String {
    let mut table = "| option | in | value | default | meaning |\n|---|---|---|---|---|\n".to_owned();
    for option in OPTIONS {
        let places: Vec<&str> = option.places().collect();
        let cells = [option.values, option.default, option.meaning].map(|cell| cell.replace('|', "\\|"));
        let [values, default, meaning] = cells;
        let places = short(&places);
        writeln!(table, "| `{}` | {places} | {values} | {default} | {meaning} |", option.name)
            .expect("a String takes everything");
    }
    table
}

/// Where an option has a meaning, in a word: most have one wherever text is read.
fn short(places: &[&str]) -> &'static str {
    let reads = places.iter().any(|place| place.contains("FROM") || place.contains("read"));
    let writes = places.iter().any(|place| place.contains("TO") || place.contains("EXPORT"));
    match (reads, writes) {
        (true, false) => "reading",
        (false, true) => "writing",
        _ => "both",
    }
}

#[test]
fn the_readme_lists_every_option() {
    let readme = include_str!("../../../README.md");
    let listed = readme.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(table, _)| table);
    let expected = reference();
    assert!(listed == Some(expected.as_str()), "put this between the marks in README.md:\n{BEGIN}{expected}{END}");
}
