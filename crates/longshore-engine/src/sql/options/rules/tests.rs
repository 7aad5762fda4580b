//! Names of options, and slips of the pen.

use super::*;

#[test]
fn slips_of_the_pen_are_understood() {
    for (name, expected) in [
        ("DELIMITR", Some("DELIMITER")),
        ("DELIMTIER", Some("DELIMITER")),
        ("HEADERS", Some("HEADER")),
        ("NUL", Some("NULL")),
        ("FORCENULL", Some("FORCE_NULL")),
        ("COLOUR", None),
        ("X", None),
    ] {
        assert_eq!(meant(name, Use::CopyFrom), expected, "{name}");
    }
}

#[test]
fn names_are_unique_and_complete() {
    for (index, rule) in OPTIONS.iter().enumerate() {
        assert!(OPTIONS[..index].iter().all(|other| other.name != rule.name), "{}", rule.name);
        assert!(!rule.places.is_empty() && !rule.meaning.is_empty() && !rule.values.contains('|'), "{}", rule.name);
    }
}
