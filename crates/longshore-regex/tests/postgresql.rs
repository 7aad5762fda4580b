//! What PostgreSQL 15 gives: `regexp_substr`, and the groups of `regexp_match`; a line end is shown as `~`.

use longshore_regex::{Match, Occurrence, Options, Regex, replace};

/// The match and its groups as the answers have them.
fn shown(text: &str, found: &Match, groups: usize) -> String {
    let mut shown = found.whole.of(text).to_owned();
    if groups == 0 {
        shown = format!("{shown},<{shown}>");
    }
    for group in found.groups() {
        shown.push(',');
        shown.push_str(&group.map_or("NULL".to_owned(), |group| format!("<{}>", group.of(text))));
    }
    shown.replace('\n', "~")
}

fn answer(flags: &str, pattern: &str, text: &str) -> String {
    let options = Options::of_flags(flags).expect("flags");
    let regex = match Regex::new(pattern, options) {
        Ok(regex) => regex,
        Err(error) => return format!("ERROR {error}"),
    };
    let found = regex.find_at(text, 0).expect("few steps");
    assert_eq!(regex.is_match(text), Ok(found.is_some()), "{pattern}");
    found.map_or_else(|| "NONE".to_owned(), |found| shown(text, &found, regex.group_count()))
}

/// Flags, expression, text, answer.
const ANSWERS: &[(&str, &str, &str, &str)] = &[
    ("", "foo|foobar", "foobar", "foobar,<foobar>"),
    ("", "Y*([0-9]{1,3})", "XY1234Z", "Y123,<123>"),
    ("", "Y*?([0-9]{1,3})", "XY1234Z", "Y1,<1>"),
    ("", "(.*)(\\d+)(.*)", "abc01234xyz", "abc01234xyz,<abc0123>,<4>,<xyz>"),
    ("", "(.*?)(\\d+)(.*)", "abc01234xyz", "abc0,<abc>,<0>,<>"),
    ("", "(?:(.*?)(\\d+)(.*)){1,1}", "abc01234xyz", "abc01234xyz,<abc>,<01234>,<xyz>"),
    ("", "(a*)*", "aa", "aa,<aa>"),
    ("", "(a*)+", "aaa", "aaa,<>"),
    ("", "(a|ab)(c|bcd)(d*)", "abcd", "abcd,<ab>,<c>,<d>"),
    ("", "(a|b)*?b", "aab", "aab,<a>"),
    ("", "(a(b)?)*", "aab", "aab,<ab>,<b>"),
    ("", "(.)\\1", "abba", "bb,<b>"),
    ("", "(a*)\\1", "aaaaa", "aaaa,<aa>"),
    ("", "(?=b)b", "abc", "b,<b>"),
    ("", "(?<!a)b", "ab cb", "b,<b>"),
    ("", "(?<=a)b", "ab cb", "b,<b>"),
    ("", "\\mb\\w*", "abc bcd", "bcd,<bcd>"),
    ("", "\\w+\\M", "  abc bcd", "abc,<abc>"),
    ("", "\\Ab", "ab", "NONE"),
    ("", "b\\Z", "ab", "b,<b>"),
    ("", "^b", "a\nb", "NONE"),
    ("n", "^b$", "a\nb\nc", "b,<b>"),
    ("", "a.b", "a\nb", "a~b,<a~b>"),
    ("n", "a.b", "a\nb", "NONE"),
    ("p", "a[^x]b", "a\nb", "NONE"),
    ("w", "^b", "a\nb", "b,<b>"),
    ("x", "a b # rest\n c", "abc", "abc,<abc>"),
    ("i", "ÄB", "xäb", "äb,<äb>"),
    ("q", "a.c", "abc a.c", "a.c,<a.c>"),
    ("", "***=a.c", "abc a.c", "a.c,<a.c>"),
    ("", "***:a.c", "abc", "abc,<abc>"),
    ("", "(?i)ABC", "xabc", "abc,<abc>"),
    ("", "[[:alpha:]]+[[:digit:]]", "ab1", "ab1,<ab1>"),
    ("", "[]a]+", "x]a]", "]a],<]a]>"),
    ("", "[\\d\\]]+", "x1]2", "1]2,<1]2>"),
    ("", "[^a-c]+", "abcxyz", "xyz,<xyz>"),
    ("", "a{2}", "aaa", "aa,<aa>"),
    ("", "a{2,}?", "aaaa", "aa,<aa>"),
    ("", "a{,2}", "a{,2}", "a{,2},<a{,2}>"),
    ("", "a{x", "a{x", "a{x,<a{x>"),
    ("", "[[:<:]]b[[:>:]]", "ab b c", "b,<b>"),
    ("", "\\x41\\u00e4", "Aä", "Aä,<Aä>"),
    ("", "\\101", "A", "A,<A>"),
    ("", "(a)|b", "b", "b,NULL"),
    ("", "()", "a", ",<>"),
    ("", "", "a", ",<>"),
    ("", "(?:a|b)+(c)?", "ababc", "ababc,<c>"),
    ("", "x*", "axx", ",<>"),
    ("", "((?=b)|a)*", "ab", "a,<a>"),
    ("", "(a?){2,3}", "aa", "aa,<>"),
    ("", "[[.hyphen.]]", "a-b", "-,<->"),
    ("", "[[=a=]]", "a", "a,<a>"),
    ("", "\\y", "a b", ",<>"),
    ("", "\\Y.", "ab", "b,<b>"),
    ("", "(", "", "ERROR invalid regular expression: parentheses () not balanced"),
    ("", ")", "", "ERROR invalid regular expression: parentheses () not balanced"),
    ("", "[a", "", "ERROR invalid regular expression: brackets [] not balanced"),
    ("", "a{2", "", "ERROR invalid regular expression: braces {} not balanced"),
    ("", "a{2,1}", "", "ERROR invalid regular expression: invalid repetition count(s)"),
    ("", "a{256}", "", "ERROR invalid regular expression: invalid repetition count(s)"),
    ("", "*a", "", "ERROR invalid regular expression: quantifier operand invalid"),
    ("", "a**", "", "ERROR invalid regular expression: quantifier operand invalid"),
    ("", "^*", "", "ERROR invalid regular expression: quantifier operand invalid"),
    ("", "\\1", "", "ERROR invalid regular expression: invalid backreference number"),
    ("", "(a\\1)", "", "ERROR invalid regular expression: invalid backreference number"),
    ("", "[b-a]", "", "ERROR invalid regular expression: invalid character range"),
    ("", "[[:nope:]]", "", "ERROR invalid regular expression: invalid character class"),
    ("", "[[.nope.]]", "", "ERROR invalid regular expression: invalid collating element"),
    ("", "\\", "", "ERROR invalid regular expression: invalid escape \\ sequence"),
    ("", "\\q", "", "ERROR invalid regular expression: invalid escape \\ sequence"),
    ("", "(?z)a", "", "ERROR invalid regular expression: invalid embedded option"),
    ("", "(?", "", "ERROR invalid regular expression: quantifier operand invalid"),
    ("", "a|*b", "", "ERROR invalid regular expression: quantifier operand invalid"),
];

#[test]
fn expressions_match_what_they_match_in_postgresql() {
    for (flags, pattern, text, expected) in ANSWERS {
        assert_eq!(answer(flags, pattern, text), *expected, "{pattern} with {flags:?} in {text:?}");
    }
}

#[test]
fn matches_are_replaced_as_in_postgresql() {
    for (pattern, text, replacement, all, expected) in [
        ("b..", "foobarbaz", "X", false, "fooXbaz"),
        ("b..", "foobarbaz", "X", true, "fooXX"),
        ("b(..)", "foobarbaz", "X\\1Y", true, "fooXarYXazY"),
        ("(b)(x)?", "abc", "<\\2\\&\\\\\\z\\", true, "a<b\\\\z\\c"),
        ("", "äb", "-", true, "-ä-b-"),
        ("x*", "axb", "-", true, "-a--b-"),
    ] {
        let regex = Regex::new(pattern, Options::default()).expect("an expression");
        let occurrence = if all { Occurrence::All } else { Occurrence::Number(1) };
        assert_eq!(replace(&regex, text, 0, replacement, occurrence).as_deref(), Ok(expected), "{pattern} in {text}");
    }
}

#[test]
fn a_text_is_split_by_matches_that_are_real() {
    let regex = Regex::new("", Options::default()).expect("an expression");
    let parts = regex.find_all("abc", true, true).expect("few steps");
    assert_eq!(parts.iter().map(|found| found.whole.start).collect::<Vec<_>>(), [1, 2]);
    let regex = Regex::new("\\s*", Options::default()).expect("an expression");
    let parts = regex.find_all("a  b", true, true).expect("few steps");
    assert_eq!(parts.iter().map(|found| found.whole.end).collect::<Vec<_>>(), [3]);
}
