//! What paths find, and their normal form.

use super::*;

#[test]
fn paths_find_what_postgresql_finds() {
    for (json, path, expected) in [
        ("{\"a\":[1,2,3]}", "$.a[*] ? (@ > 1)", "[2, 3]"),
        ("{\"a\":[1,2,3]}", "$.a[last]", "[3]"),
        ("{\"a\":[1,2,3]}", "$.a[0 to 1, 2]", "[1, 2, 3]"),
        ("[{\"a\":1},{\"a\":2}]", "$.a", "[1, 2]"),
        ("[{\"a\":1},{\"b\":2}]", "$[*].a + 1", "[2]"),
        ("{\"a\":{\"b\":[1]}}", "$.**", "[{\"a\": {\"b\": [1]}}, {\"b\": [1]}, [1], 1]"),
        ("{\"a\":{\"b\":[1]}}", "$.**{2}", "[[1]]"),
        ("[1,\"x\",null]", "$[*].type()", "[\"number\", \"string\", \"null\"]"),
        ("[-1.5,2]", "$[*].abs()", "[1.5, 2]"),
        ("[1,2]", "-$[*]", "[-1, -2]"),
        ("[\"abc\",\"b\"]", "$[*] ? (@ starts with \"a\")", "[\"abc\"]"),
        ("[\"abc\",\"b\"]", "$[*] ? (@ like_regex \"^A\" flag \"i\")", "[\"abc\"]"),
        ("{\"a\":1}", "$.a == 1", "[true]"),
        ("{\"a\":1}", "$.a == \"x\"", "[null]"),
        ("{\"a\":1}", "exists($.b)", "[false]"),
        ("{\"a\":1,\"b\":2}", "$.* ? (@ == 2 && !(@ == 1))", "[2]"),
        ("1", "$[0]", "[1]"),
        ("[]", "$.size()", "[0]"),
    ] {
        let found = Path::parse(path).unwrap().query(&Value::parse(json).unwrap(), None).unwrap();
        assert_eq!(Value::Array(found).to_text(), expected, "{json} {path}");
    }
    for (json, path) in [("{}", "strict $.a"), ("1", "strict $[0]"), ("[1]", "strict $[1]"), ("\"a\"", "$ + 1")] {
        assert!(Path::parse(path).unwrap().query(&Value::parse(json).unwrap(), None).is_err(), "{path}");
    }
}

#[test]
fn paths_have_a_normal_form() {
    for (path, expected) in [
        ("$", "$"),
        ("strict $.a.b", "strict $.\"a\".\"b\""),
        ("$.a/+-1", "($.\"a\" / -1)"),
        ("$.a + 1 * 2", "($.\"a\" + 1 * 2)"),
        ("($.a + 1) * 2", "(($.\"a\" + 1) * 2)"),
        ("$.g ? (@.a == 1 || !(@.x >= 123))", "$.\"g\"?(@.\"a\" == 1 || !(@.\"x\" >= 123))"),
        ("$.a[1, 2 to 16]", "$.\"a\"[1,2 to 16]"),
        ("$.**{2 to last}.b", "$.**{2 to last}.\"b\""),
        ("1 .type()", "(1).type()"),
        ("($).a", "$.\"a\""),
        ("$.a ? (@ like_regex \"x\" flag \"si\")", "$.\"a\"?(@ like_regex \"x\" flag \"is\")"),
        ("($ > 1).type()", "($ > 1).type()"),
    ] {
        let parsed = Path::parse(path).unwrap();
        assert_eq!(parsed.to_string(), expected);
        assert_eq!(Path::parse(expected).unwrap().to_string(), expected);
    }
    for path in ["", "@ + 1", "last", "1a", "00", "$.a[", "$ ? ($)", "1 == 2 == 3", "$ + (1 == 1)", "!$", "\"a"] {
        assert!(Path::parse(path).is_err(), "{path}");
    }
    assert!(Path::parse(&"(".repeat(100_000)).is_err());
    assert!(Path::parse(&"-".repeat(100_000)).is_err());
    assert!(Path::parse(&format!("{}(1 == 1)", "!".repeat(100_000))).is_err());
}
