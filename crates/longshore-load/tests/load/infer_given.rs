//! Inference beside what the user says of records, and of formats that are named: on every machine the same.

use crate::harness::infer::{file, infers, infers_given, input, on_request, request};
use crate::harness::machines;
use longshore_format::delimited::{EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes};
use longshore_format::lines::LineEnds;
use longshore_format::sniff::{Family, Given, QuoteChoice, RecordRules};
use longshore_load::{Control, InferRequest, Tuning, load_inferred};

fn rules(rules: RecordRules) -> Given {
    Given { rules, ..Given::default() }
}

/// The message on every machine, which is the same.
fn refused(given: Given, text: &str) -> String {
    let file = file(text.as_bytes());
    let request = InferRequest { given, ..request(&Tuning::new(1)) };
    let mut messages =
        machines().into_iter().map(|machine| on_request(&machine, file.path(), &request).expect_err("an error"));
    let first = messages.next().expect("there are machines");
    assert!(messages.all(|message| message == first), "{first}");
    first
}

#[test]
fn logfmt_is_found_and_read() {
    infers(
        "at=1 msg=\"a b\" level=info\nat=2 level=warn msg=x took=1.5\n\nat=3 msg=\"\" level=info\n",
        "at INTEGER, msg TEXT, level TEXT, took DECIMAL(18,1)",
        "\"1\",\"a b\",\"info\",\n\"2\",\"x\",\"warn\",\"1.5\"\n\"3\",\"\",\"info\",\n",
    );
    let logfmt = Given { family: Some(Family::Logfmt), ..Given::default() };
    infers_given(logfmt.clone(), "a=1 b\na=2\n", "a INTEGER, b BOOLEAN", "\"1\",\"t\"\n\"2\",\n");
    assert!(refused(logfmt, "a=1\na=\"2\n").contains("opens a quote that is never closed"));
}

#[test]
fn what_is_no_logfmt_is_not_taken_for_it() {
    infers("a,b\nx=1,y=2\nx=3,y=4\n", "a TEXT, b TEXT", "\"x=1\",\"y=2\"\n\"x=3\",\"y=4\"\n");
}

#[test]
fn keys_that_come_late_are_told_or_ignored() {
    let text = format!("{}a=1 b=2 late=3\n", "a=1 b=x\n".repeat(1_200_000));
    let file = file(text.as_bytes());
    let load = |unknown_keys| {
        let rules = RecordRules { unknown_keys, ..RecordRules::default() };
        let given = Given { family: Some(Family::Logfmt), rules, ..Given::default() };
        let request = InferRequest { given, ..request(&Tuning::new(2)) };
        load_inferred(vec![input(file.path(), false)], &request, &Control::new())
    };
    let error = load(None).map(|_| ()).expect_err("a key that no column takes");
    assert!(error.to_string().contains("line 1200001") && error.to_string().contains("'late'"), "{error}");
    let (relation, ..) = load(Some(false)).expect("it is ignored");
    assert_eq!((relation.schema().columns().len(), relation.snapshot().rows()), (2, 1_200_001));
}

#[test]
fn patterns_take_lines_apart() {
    let given = |pattern: &str| Given {
        family: Some(Family::Pattern),
        rules: RecordRules { pattern: Some(pattern.to_owned()), ..RecordRules::default() },
        ..Given::default()
    };
    infers_given(
        given(r"^(?<day>\S+) (?<n>\d+)?\s*(?<rest>.*)$"),
        "2024-01-31 7 hello\n2024-02-01 oh \n",
        "day DATE, n INTEGER, rest TEXT",
        "\"2024-01-31\",\"7\",\"hello\"\n\"2024-02-01\",,\"oh \"\n",
    );
    infers_given(
        given("common"),
        "h - bob [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 2326\n\
         h - - [11/Oct/2000:13:55:36 +0000] \"GET /x HTTP/1.0\" 304 -\n",
        "host TEXT, ident TEXT, user TEXT, time TIMESTAMP WITH TIME ZONE, request TEXT, status INTEGER, bytes INTEGER",
        "\"h\",,\"bob\",\"2000-10-10 20:55:36+00\",\"GET / HTTP/1.0\",\"200\",\"2326\"\n\
         \"h\",,,\"2000-10-11 13:55:36+00\",\"GET /x HTTP/1.0\",\"304\",\n",
    );
    let message = refused(given(r"^(?<n>\d+)$"), "1\n2\nx\n");
    assert!(message.contains("line 3, byte 4: \"x\": does not match the pattern"), "{message}");
    assert!(refused(given("("), "1\n").contains("the pattern cannot be read"));
    assert!(refused(given("x"), "1\n").contains("names no group"));
}

#[test]
fn line_ends_of_all_kinds() {
    let any = RecordRules { line_ends: Some(LineEnds::Any), ..RecordRules::default() };
    infers_given(
        rules(any.clone()),
        "a,b\r1,x\n2,y\r\n3,z\r",
        "a INTEGER, b TEXT",
        "\"1\",\"x\"\n\"2\",\"y\"\n\"3\",\"z\"\n",
    );
    let json = "{\"a\": 1}\n{\"a\": 2}\n";
    assert!(refused(rules(any), json).contains("option LINE_ENDS means nothing in what the file was taken for"));
}

#[test]
fn short_and_long_records() {
    let text = "a,b,c\n1,x,y\n2\n3,z\n4,p,q,r\n";
    let short = RecordRules { short_records: Some(ShortRecords::Pad), ..RecordRules::default() };
    let both = RecordRules { long_records: Some(LongRecords::Truncate), ..short.clone() };
    infers_given(
        Given { header: Some(true), delimiter: Some(b",".to_vec()), ..rules(both) },
        text,
        "a INTEGER, b TEXT, c TEXT",
        "\"1\",\"x\",\"y\"\n\"2\",,\n\"3\",\"z\",\n\"4\",\"p\",\"q\"\n",
    );
    // The longest record tells how many fields there are.
    infers_given(
        Given { header: Some(false), delimiter: Some(b",".to_vec()), ..rules(short) },
        "1\n2\n3\n4,p,q\n5\n",
        "column1 INTEGER, column2 TEXT, column3 TEXT",
        "\"1\",,\n\"2\",,\n\"3\",,\n\"4\",\"p\",\"q\"\n\"5\",,\n",
    );
    let strict = RecordRules { short_records: Some(ShortRecords::Reject), ..RecordRules::default() };
    let comma = Some(b",".to_vec());
    let message = refused(Given { header: Some(true), delimiter: comma, ..rules(strict) }, "a,b\n1,2\n3\n4,5\n");
    assert!(message.contains("line 3, byte 8: \"3\": found 1 field where 2 are expected"), "{message}");
}

#[test]
fn quotes_and_escapes() {
    let literal = RecordRules { stray_quotes: Some(StrayQuotes::Literal), ..RecordRules::default() };
    infers_given(
        Given { quote: Some(QuoteChoice::Byte(b'"')), ..rules(literal) },
        "size;n\n5\" pipe;1\n\"a;b\";2\n",
        "size TEXT, n INTEGER",
        "\"5\"\" pipe\",\"1\"\n\"a;b\",\"2\"\n",
    );
    let error = RecordRules { stray_quotes: Some(StrayQuotes::Error), ..RecordRules::default() };
    let message = refused(Given { header: Some(true), ..rules(error) }, "size,n\na,1\n5\" pipe,1\nb,2\n");
    assert!(message.contains("line 3, byte 11"), "{message}");
    let everything = RecordRules { escape_rule: Some(EscapeRule::Everything), ..RecordRules::default() };
    let quote = Some(QuoteChoice::Byte(b'"'));
    let escaped = Given { escape: Some(QuoteChoice::Byte(b'\\')), quote, ..rules(everything) };
    infers_given(escaped.clone(), "a,b\n1,x\\,y\n2,\"p\\q\"\n", "a INTEGER, b TEXT", "\"1\",\"x,y\"\n\"2\",\"pq\"\n");
    let letters = RecordRules { escape_rule: Some(EscapeRule::Letters), ..RecordRules::default() };
    infers_given(
        Given { rules: letters, ..escaped },
        "a,b\n1,x\\ty\n2,z\n",
        "a INTEGER, b TEXT",
        "\"1\",\"x\ty\"\n\"2\",\"z\"\n",
    );
}

#[test]
fn nul_bytes() {
    let strip = RecordRules { nul: Some(NulBytes::Strip), ..RecordRules::default() };
    infers_given(rules(strip), "a,b\n1\0,x\n\x002,y\n", "a INTEGER, b TEXT", "\"1\",\"x\"\n\"2\",\"y\"\n");
    let error = RecordRules { nul: Some(NulBytes::Error), ..RecordRules::default() };
    let message = refused(Given { header: Some(true), ..rules(error) }, "a,b\n1,x\n2,y\0\n");
    assert!(message.contains("line 3"), "{message}");
}

#[test]
fn long_records_are_told() {
    let short = RecordRules { record_bytes_max: Some(12), ..RecordRules::default() };
    infers_given(rules(short.clone()), "a,b\n1,x\n2,y\n", "a INTEGER, b TEXT", "\"1\",\"x\"\n\"2\",\"y\"\n");
    let message = refused(rules(short), "a,b\n1,x\n2,a text too long\n");
    assert!(message.contains("where 12 are the most"), "{message}");
}

#[test]
fn places_are_kept() {
    let places = RecordRules { places: Some(vec![(0, 3), (4, 8), (9, 10)]), ..RecordRules::default() };
    infers_given(
        Given { family: Some(Family::FixedWidth), header: Some(false), ..rules(places) },
        "  1 ab  x-\n 22 cdefy-\n",
        "column1 INTEGER, column2 TEXT, column3 TEXT",
        "\"1\",\"ab\",\"-\"\n\"22\",\"cdef\",\"-\"\n",
    );
}

#[test]
fn paths_name_columns_of_json() {
    let paths = vec![("city".to_owned(), "at.city".parse().unwrap()), ("key".to_owned(), "id".parse().unwrap())];
    infers_given(
        rules(RecordRules { paths, ..RecordRules::default() }),
        "{\"id\": 1, \"at\": {\"city\": \"x\"}}\n{\"id\": 2, \"at\": null}\n",
        "key INTEGER, at TEXT, city TEXT",
        "\"1\",\"{\"\"city\"\": \"\"x\"\"}\",\"x\"\n\"2\",,\n",
    );
}
