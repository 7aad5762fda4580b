//! Cases written by hand, in the manner of `JSONTestSuite`: what a parser must take, what it must refuse, and what
//! the standard leaves open and this one decides.

use super::*;

/// Values that stand in `{"a":...}`: what their field is.
const TAKEN: &[(&str, Option<(&str, bool)>)] = &[
    ("1", Some(("1", false))),
    ("-0", Some(("-0", false))),
    ("0e+1", Some(("0e+1", false))),
    ("20e1", Some(("20e1", false))),
    ("123.456e78", Some(("123.456e78", false))),
    ("1E400", Some(("1E400", false))),
    (
        "-0.000000000000000000000000000000000000000000000001",
        Some(("-0.000000000000000000000000000000000000000000000001", false)),
    ),
    ("100000000000000000000000000000000000", Some(("100000000000000000000000000000000000", false))),
    ("true", Some(("true", false))),
    ("false", Some(("false", false))),
    ("null", None),
    ("\"\"", Some(("", true))),
    ("\"null\"", Some(("null", true))),
    ("\"\\u0022\\u005C\"", Some(("\"\\", true))),
    ("\"\\\"\"", Some(("\"", true))),
    ("\"\\\\n\"", Some(("\\n", true))),
    ("\"\\uD834\\udd1e\"", Some(("\u{1D11E}", true))),
    ("\"\\uDBFF\\uDFFF\"", Some(("\u{10FFFF}", true))),
    ("\"\\u0000\"", Some(("\0", true))),
    ("\"\\uFEFF\\uFFFE\\u2028\"", Some(("\u{FEFF}\u{FFFE}\u{2028}", true))),
    ("\"\u{2028}\u{7f}\u{10FFFF}\"", Some(("\u{2028}\u{7f}\u{10FFFF}", true))),
    ("\"/ and \\/\"", Some(("/ and /", true))),
    ("\"a/*b*/c\"", Some(("a/*b*/c", true))),
    ("[]", Some(("[]", true))),
    ("{}", Some(("{}", true))),
    ("[ 1, {\"b\" : \"]\"} ]", Some(("[ 1, {\"b\" : \"]\"} ]", true))),
    ("[[],[[]],{\"\":{}}]", Some(("[[],[[]],{\"\":{}}]", true))),
];

/// Values that are none.
const REFUSED: &[&str] = &[
    "",
    "NaN",
    "-NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "None",
    "True",
    "undefined",
    "nul",
    "nulll",
    "TRUE",
    "tru",
    "+1",
    ".5",
    "5.",
    "-",
    "--1",
    "-.5",
    "01",
    "-01",
    "0x1F",
    "1e",
    "1e+",
    "1.e1",
    "0.e1",
    "1eE2",
    "1_000",
    "1,000",
    "0 1",
    "1a",
    "1 000",
    "-1x",
    "\u{ff11}",
    "2.",
    "0e",
    "1.2.3",
    "- 1",
    "'a'",
    "a",
    "\"a",
    "a\"",
    "\"\\x41\"",
    "\"\\u00G0\"",
    "\"\\u12\"",
    "\"\\uD800\"",
    "\"\\uDC00\"",
    "\"\\uD800\\n\"",
    "\"\\uD800\\uD800\"",
    "\"\\",
    "\"\\\"",
    "\"\t\"",
    "\"\u{0}\"",
    "\"a\u{1f}\"",
    "[1,]",
    "[,1]",
    "[1,,2]",
    "[1",
    "[1}",
    "]",
    "}",
    "[1 2]",
    "[1:2]",
    "{1:2}",
    "{\"b\"}",
    "{\"b\":}",
    "{\"b\":1,}",
    "{,\"b\":1}",
    "{b:1}",
    "{'b':1}",
    "{\"b\" 1}",
    "{\"b\"::1}",
    "{\"b\":1]",
    "{null:1}",
    "[\"\": 1]",
    "{\"b\":1 \"c\":2}",
    "/**/1",
    "1/**/",
    "1//",
    "#",
    "1;",
    "(1)",
    "\u{feff}1",
    "\u{a0}1",
    "*",
    "&",
    "[\"a\",\n",
    "[a",
    "[\u{e5}]",
    "{\"b\":\"c\",,\"d\":1}",
    "\"a\"\"b\"",
    "1\u{0}",
    "\u{c}1",
    "\\u0031",
];

#[test]
fn values_that_are_taken() {
    for (value, expected) in TAKEN {
        let expected = expected.map(|(text, quoted)| (text.as_bytes().to_vec(), quoted));
        for text in [
            format!("{{\"a\":{value}}}"),
            format!(
                "{{ \"b\" : {value} , \"a\" : {value} , \"c\":[{value}] }}\n{{\"a\":\"and a lot of text behind it\"}}"
            ),
        ] {
            let outcome = read_whole(&format(&["a"], Layout::Lines), text.as_bytes());
            assert!(outcome.defects.is_empty(), "{text}: {:?}", outcome.defects);
            assert_eq!(outcome.rows[0].2, std::slice::from_ref(&expected), "{text}");
        }
    }
}

#[test]
fn values_that_are_refused() {
    for value in REFUSED {
        for text in [
            format!("{{\"a\":{value}}}"),
            format!("{{\"b\":{value}}}"),
            format!("{{\"b\":[{value}]}}"),
            format!("{{\"b\":{{\"c\":{value}}}}}"),
            format!("{{\"a\":{value},\"z\":\"and a lot of text behind it\"}}"),
        ] {
            if value.is_empty() && text.contains("[]") || *value == "1,000" && text.contains("[1,000]") {
                continue;
            }
            let outcome = read_whole(&format(&["a"], Layout::Lines), text.as_bytes());
            assert!(outcome.rows.is_empty() && !outcome.defects.is_empty(), "{text}: {:?}", outcome.rows);
            let others = text.replace('\n', " ");
            let outcome = read_whole(&format(&["a"], Layout::Values), others.as_bytes());
            assert!(!outcome.defects.is_empty(), "{text}: {:?}", outcome.rows);
        }
    }
}

#[test]
fn bytes_that_are_not_utf8_are_refused_wherever_they_are() {
    for text in [
        b"{\"a\":\"\xFF\"}".as_slice(),
        b"{\"b\":\"\xC0\xAF\"}",
        b"{\"b\":[\"\xED\xA0\x80\"]}",
        b"{\"\xE2\x82\":1}",
        b"{\"a\":\"\xF4\xBF\xBF\xBF\"}",
    ] {
        let outcome = read_whole(&format(&["a"], Layout::Lines), text);
        assert_eq!(outcome.defects.len(), 1);
        assert_eq!(outcome.defects[0].kind, DefectKind::Encoding);
    }
    let outcome = read_whole(&format(&["a"], Layout::Lines), b"{\"a\":\"x\xFF\"}");
    assert_eq!(outcome.defects[0].reason, "found the byte 0xFF, which is not UTF-8, at byte 8 of the record");
}

#[test]
fn records_must_be_what_the_paths_begin_with() {
    for (text, paths, reason) in [
        ("1", "a", "found '1' at byte 1 of the record where an object is expected"),
        ("[1]", "a", "found '[' at byte 1 of the record where an object is expected"),
        ("{}", "[0]", "found '{' at byte 1 of the record where an array is expected"),
        ("\"a\"", "a", "found '\"' at byte 1 of the record where an object is expected"),
        ("null", "a", "found \"null\" at byte 1 of the record where an object is expected"),
        ("{} {}", "a", "found '{' at byte 4 of the record where the end of the line is expected"),
        ("{\"a\":1", "a", "found the end of the text at byte 7 of the record where ',' or '}' is expected"),
    ] {
        let outcome = read_whole(&format(&[paths], Layout::Lines), text.as_bytes());
        assert_eq!(outcome.defects[0].reason, reason);
        assert_eq!(outcome.rows, []);
    }
}

#[test]
fn of_a_key_that_stands_twice_the_last_one_counts() {
    let text = b"{\"a\":{\"b\":1},\"c\":2,\"a\":{\"d\":3},\"c\":null}";
    let outcome = read_whole(&format(&["a.b", "a.d", "c"], Layout::Lines), text);
    assert_eq!(outcome.rows[0].2, [None, Some((b"3".to_vec(), false)), None]);
    let outcome = read_whole(&format(&["a.b", "a"], Layout::Lines), b"{\"a\":{\"b\":1},\"a\":4}");
    assert_eq!(outcome.rows[0].2, [None, Some((b"4".to_vec(), false))]);
}

#[test]
fn a_bad_line_costs_no_more_than_itself() {
    let text = b"{\"a\":1}\n{\"a\":\"2}\n\n  {\"a\":[3}  \r\n{\"a\":4}";
    let outcome = read_whole(&format(&["a"], Layout::Lines), text);
    assert_eq!(outcome.rows.iter().map(|(start, ..)| *start).collect::<Vec<_>>(), [0, 32]);
    let defects: Vec<_> = outcome.defects.iter().map(|defect| (defect.row, defect.start, defect.end)).collect();
    assert_eq!(defects, [(1, 8, 16), (1, 20, 28)]);
}

#[test]
fn a_bad_element_costs_no_more_than_itself_where_its_brackets_are_balanced() {
    let text = b"[{\"a\":1}, {a:2}, {\"a\":3}}, nonsense, {\"a\":4},]";
    let outcome = read_whole(&format(&["a"], Layout::Array), text);
    let values: Vec<&[u8]> = outcome.rows.iter().map(|(.., fields)| fields[0].as_ref().unwrap().0.as_slice()).collect();
    assert_eq!(values, [b"1", b"4"]);
    let shown: Vec<&str> = outcome
        .defects
        .iter()
        .map(|defect| std::str::from_utf8(&text[defect.start as usize..defect.end as usize]).unwrap())
        .collect();
    assert_eq!(shown, ["{a:2}", "{\"a\":3}}", "nonsense", ","]);
    assert_eq!(outcome.defects[3].remedy, "take out the comma, which separates nothing");
}

#[test]
fn depth_has_a_limit_that_is_the_same_everywhere() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for (path, lead, trail) in
        [("a", "{\"a\":", "}"), ("b", "{\"a\":", "}"), ("b.c", "{\"b\":{\"c\":", "}}"), ("a[0]", "{\"a\":", "}")]
    {
        let outer = lead.matches('{').count();
        let json = format(&[path], Layout::Lines);
        let text = format!("{lead}{}{trail}", nested(JSON_DEPTH_MAX - outer));
        assert_eq!(read_whole(&json, text.as_bytes()).defects, [], "{path}");
        let text = format!("{lead}{}{trail}", nested(JSON_DEPTH_MAX - outer + 1));
        let outcome = read_whole(&json, text.as_bytes());
        assert_eq!(outcome.defects.len(), 1, "{path}");
        assert!(outcome.defects[0].reason.starts_with("found more than 1024 objects and arrays within each other at"));
    }
    let endless = "[".repeat(1_000_000);
    assert_eq!(read_whole(&format(&["a", "[0]"], Layout::Values), endless.as_bytes()).defects.len(), 1);
}
