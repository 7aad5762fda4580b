//! Records that are not whole: what is repaired where the dialect is found out, what it is told as, and what is refused;
//! the same for every kernel, thread count, piece and span size.

use crate::harness::infer::{columns, file, input, on_request, request};
use crate::harness::machines;
use longshore_load::{
    Control, InferRequest, Inferred, InputFile, LoadError, OnError, Source, Tuning, infer, load_inferred,
};

/// What is inferred of a text.
fn inferred(text: &str, change: impl Fn(&mut InferRequest)) -> Result<Inferred, String> {
    let file = file(text.as_bytes());
    let mut request = request(&Tuning::new(1));
    change(&mut request);
    let message = |error: LoadError| error.to_string().replace(&file.path().display().to_string(), "FILE");
    infer(vec![input(file.path(), false)], &request, &Control::new()).map_err(message)
}

/// What was repaired of a file on all machines, and its columns and rows.
fn repairs_to(text: &str, expected_columns: &str, expected_rows: &str, told: &[&str]) {
    let file = file(text.as_bytes());
    let request = request(&Tuning::new(1));
    for machine in machines() {
        let (columns, rows) =
            on_request(&machine, file.path(), &request).unwrap_or_else(|error| panic!("{machine:?}: {error}"));
        assert_eq!(columns, expected_columns, "{machine:?}");
        assert_eq!(rows, expected_rows, "{machine:?}");
        let mut request = InferRequest { tuning: machine.tuning.clone(), ..request.clone() };
        request.options.mode = machine.mode;
        let found = infer(vec![input(file.path(), machine.stream)], &request, &Control::new()).expect("it is read");
        let repaired = found.repaired.iter().map(ToString::to_string);
        let all: Vec<String> = repaired.chain(found.footers.iter().map(ToString::to_string)).collect();
        let path = file.path().display().to_string();
        let all: Vec<String> = all.into_iter().map(|told| told.replace("FILE", "").replace(&path, "")).collect();
        assert_eq!(all, told, "{machine:?}");
    }
}

/// Whole records `index,index * 2,name`, with others at some places.
fn lines(count: usize, others: &[(usize, &str)]) -> String {
    let line = |index| match others.iter().find(|(at, _)| *at == index) {
        Some((_, line)) => format!("{line}\n"),
        None => format!("{index},{},name {index}\n", index * 2),
    };
    format!("id,twice,name\n{}", (0..count).map(line).collect::<String>())
}

/// The rows of [`lines`], with others in places of the same numbers.
fn rows(count: usize, others: &[(usize, &str)]) -> String {
    let row = |index| match others.iter().find(|(at, _)| *at == index) {
        Some((_, "")) => String::new(),
        Some((_, row)) => format!("{row}\n"),
        None => format!("\"{index}\",\"{}\",\"name {index}\"\n", index * 2),
    };
    (0..count).map(row).collect()
}

const COLUMNS: &str = "id INTEGER, twice INTEGER, name TEXT";

#[test]
fn short_records_are_filled_up_and_told() {
    let text = lines(40, &[(3, "3,7"), (4, "4")]);
    let told = "2 records have too few fields; those that lack are NULL (the first: , line 5: \"3,7\")";
    repairs_to(&text, COLUMNS, &rows(40, &[(3, "\"3\",\"7\","), (4, "\"4\",,")]), &[told]);
}

#[test]
fn short_records_behind_the_sample_are_as_well() {
    let text = lines(20_000, &[(15_000, "15000,7"), (19_999, "19999")]);
    let expected = rows(20_000, &[(15_000, "\"15000\",\"7\","), (19_999, "\"19999\",,")]);
    let file = file(text.as_bytes());
    for (threads, stream) in [(1, false), (3, false), (2, true)] {
        let tuning = Tuning { span_bytes: Some(50_000), ..Tuning::new(threads) };
        let input = input(file.path(), stream);
        let (relation, found, _) =
            load_inferred(vec![input], &request(&tuning), &Control::new()).expect("it is loaded");
        assert_eq!((columns(&found).as_str(), crate::harness::dump(&relation)), (COLUMNS, expected.clone()));
        let repaired: Vec<(u64, u64)> = found.repaired.iter().map(|found| (found.records, found.line)).collect();
        assert_eq!(repaired, [(2, 15_002)]);
    }
}

#[test]
fn empty_fields_too_many_are_dropped_and_told() {
    let text = lines(40, &[(3, "3,6,x,"), (4, "4,8,y,,,")]);
    let told = "2 records have too many fields; those that are too many are empty and were dropped (the first: , line \
                5: \"3,6,x,\")";
    repairs_to(&text, COLUMNS, &rows(40, &[(3, "\"3\",\"6\",\"x\""), (4, "\"4\",\"8\",\"y\"")]), &[told]);
}

#[test]
fn values_too_many_are_refused() {
    let error = inferred(&lines(40, &[(3, "3,6,Smith, John")]), |_| {}).expect_err("a value would be lost");
    assert!(error.starts_with("FILE: line 5, byte "), "{error}");
    assert!(error.contains("\"3,6,Smith, John\": found 4 fields where 3 are expected"), "{error}");
    let error = inferred(&lines(40, &[(3, "3,6,x,\"\"")]), |_| {}).expect_err("an empty text is a value");
    assert!(error.contains("found 4 fields where 3 are expected"), "{error}");
}

#[test]
fn a_repair_does_not_change_types() {
    // A delimiter is lacking, so that the values behind it are those of other columns.
    let error = inferred(&lines(40, &[(7, "7 14,name 7")]), |_| {}).expect_err("its values do not fit");
    assert!(error.starts_with("FILE: line 9, byte "), "{error}");
    assert!(
        error.contains(
            "\"7 14,name 7\": has too few fields, and so its values do not fit: that of column id is not INTEGER as in \
             all whole records; mend the record, set QUOTE if it is a line of a text in quotes, or ON_ERROR ignore"
        ),
        "{error}"
    );
    // What loses something is not of the type either.
    let error = inferred(&lines(40, &[(7, "007,14")]), |_| {}).expect_err("zeros would be lost");
    assert!(error.contains("that of column id is not INTEGER"), "{error}");
    // The first such record counts, wherever others are.
    let text = lines(40_000, &[(35_000, "x,1"), (20_000, "y"), (100, "5,6")]);
    for threads in [1, 3] {
        let change = |request: &mut InferRequest| {
            request.tuning = Tuning { span_bytes: Some(20_000), ..Tuning::new(threads) };
        };
        let error = inferred(&text, change).expect_err("its values do not fit");
        assert!(error.starts_with("FILE: line 20002, byte "), "{error}");
    }
}

#[test]
fn records_that_do_not_fit_can_be_left_out() {
    let text = lines(40, &[(5, "5,1"), (7, "x"), (9, "9,9,9,9")]);
    let file = file(text.as_bytes());
    for machine in machines() {
        let mut request = InferRequest { tuning: machine.tuning.clone(), ..request(&machine.tuning) };
        request.options.on_error = OnError::Ignore;
        let input = input(file.path(), machine.stream);
        let (relation, found, report) = load_inferred(vec![input], &request, &Control::new()).expect("it is loaded");
        assert_eq!(columns(&found), COLUMNS);
        assert_eq!(crate::harness::dump(&relation), rows(40, &[(5, "\"5\",\"1\","), (7, ""), (9, "")]), "{machine:?}");
        let left: Vec<u64> = report.rejects.first.iter().map(|reject| reject.line).collect();
        assert_eq!((report.rejects.records, left), (2, vec![9, 11]), "{machine:?}");
        assert_eq!(found.repaired.iter().map(|repaired| repaired.records).sum::<u64>(), 1);
    }
}

#[test]
fn a_footer_is_left_out_and_told() {
    let text = lines(40, &[(40, "")]) + "Rows: 40\n\nSource: a survey\n";
    let told = "the end of  from line 42 on is no part of the table and was left out (\"Rows: 40\")";
    let file = file(text.as_bytes());
    for machine in machines() {
        let mut request = InferRequest { tuning: machine.tuning.clone(), ..request(&machine.tuning) };
        request.options.mode = machine.mode;
        let input = input(file.path(), machine.stream);
        let (relation, found, _) = load_inferred(vec![input], &request, &Control::new()).expect("it is loaded");
        assert_eq!(
            (columns(&found).as_str(), crate::harness::dump(&relation)),
            (COLUMNS, rows(40, &[])),
            "{machine:?}"
        );
        let footers: Vec<String> = found.footers.iter().map(ToString::to_string).collect();
        let path = file.path().display().to_string();
        assert_eq!(footers.concat().replace("FILE", "").replace(&path, ""), told);
    }
    // Records of another width that go on for long are none.
    let many = lines(400, &[]) + &"x\n".repeat(50);
    assert!(inferred(&many, |_| {}).expect_err("a table of its own").contains("line 402"));
}

#[test]
fn a_line_of_a_text_in_quotes_is_no_footer_and_no_short_record() {
    let quoted = |at: usize, text: &str| {
        let line = |index| if index == at { format!("{text}\n") } else { format!("{index};name {index}\n") };
        format!("id;name\n{}", (0..20_000).map(line).collect::<String>())
    };
    for (text, lines) in [
        (quoted(19_999, "19999;'a\nb'"), 20_002..=20_002),
        (quoted(19_999, "19999;'a\n\nb, and\nc'"), 20_003..=20_004),
        (quoted(15_000, "15000;'a\nb'"), 15_003..=15_003),
        (quoted(15_000, "'a\nb';15000"), 15_002..=15_003),
        (quoted(15_000, "15000;'it''s a\nb'"), 15_003..=15_003),
    ] {
        let file = file(text.as_bytes());
        // Spans of a few bytes take long for so many records.
        for machine in machines().into_iter().filter(|machine| machine.tuning.span_bytes.is_none()).step_by(6) {
            match on_request(&machine, file.path(), &request(&machine.tuning)) {
                // What stands behind it may tell of the quotes.
                Ok((_, rows)) => assert!(rows.contains("a\nb\""), "{machine:?}, {lines:?}"),
                Err(error) => {
                    let has_line = lines.clone().any(|line| error.contains(&format!("line {line}, ")));
                    assert!(has_line && error.contains("set QUOTE"), "{machine:?}, {lines:?}: {error}");
                }
            }
        }
    }
    // Apostrophes are no quotes.
    let text = quoted(19_999, "19999;O'Brien\nRows: 20000, as of today's count");
    let found = inferred(&text, |_| {}).expect("it is read");
    assert_eq!((found.rows, found.footers.len()), (20_000, 1));
}

#[test]
fn empty_lines_behind_the_sample_are_no_records() {
    let text = lines(20_000, &[(15_000, "")]);
    for repairs in [true, false] {
        let found = inferred(&text, |request| request.repairs = repairs);
        match found {
            Ok(found) => assert!(repairs && found.rows == 19_999 && found.repaired.is_empty(), "{found:?}"),
            Err(error) => assert!(!repairs && error.contains("line 15002"), "{error}"),
        }
    }
}

#[test]
fn strict_repairs_nothing() {
    let strict = |request: &mut InferRequest| request.repairs = false;
    let line = |index| if index == 7 { "7,5\" pipe\n".to_owned() } else { format!("{index},\"n, {index}\"\n") };
    let quoted = format!("id,name\n{}", (0..40).map(line).collect::<String>());
    let found = inferred(&quoted, |_| {}).expect("a quote within a field is a character");
    assert_eq!(found.repaired.iter().map(|found| (found.records, found.line)).collect::<Vec<_>>(), [(1, 9)]);
    for (text, expected) in [
        (lines(40, &[(3, "3,6")]), "line 5, byte 47: \"3,6\": found 2 fields where 3 are expected"),
        (lines(20_000, &[(15_000, "3,6")]), "line 15002, byte "),
        (lines(40, &[(3, "3,6,x,")]), "found 4 fields where 3 are expected"),
        (quoted, "line 9, byte "),
    ] {
        let error = inferred(&text, strict).expect_err("it is refused");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_can_be_read_only_once_is_kept_for_it() {
    let text = lines(20_000, &[(15_000, "15000,1"), (15_001, "15001")]) + "Total: 3\n";
    let file = file(text.as_bytes());
    let source = Source::open_unmapped(file.path()).expect("it is there");
    let input = InputFile::opened(source, &[]);
    let request = request(&Tuning::new(2));
    let (relation, found, _) = load_inferred(vec![input], &request, &Control::new()).expect("it is loaded");
    let filled = [(15_000, "\"15000\",\"1\","), (15_001, "\"15001\",,")];
    assert_eq!(crate::harness::dump(&relation), rows(20_000, &filled));
    assert_eq!((found.repaired.len(), found.footers.len()), (1, 1));
}
