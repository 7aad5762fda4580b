//! Types of whole files: what every value has, for any kernel, thread count, piece and span size, and however late a
//! value changes them.

use crate::harness::infer::{columns, file, infers, input, on, request};
use crate::harness::{Machine, dump};
use longshore_load::{Control, Tuning, infer, load_inferred};
use longshore_storage::ColumnType;
use longshore_testing::share;

#[test]
fn a_header_and_typed_columns() {
    infers(
        "id,name,price,day,flag\n1,Anna,1.50,2024-01-31,true\n2,\"B, C\",20.125,2024-02-01,false\n",
        "id INTEGER, name TEXT, price DECIMAL(18,3), day DATE, flag BOOLEAN",
        "\"1\",\"Anna\",\"1.500\",\"2024-01-31\",\"t\"\n\"2\",\"B, C\",\"20.125\",\"2024-02-01\",\"f\"\n",
    );
}

#[test]
fn what_would_lose_something_is_text() {
    infers(
        "a;b;c\n1;2;3\n2;3;4\n3;4;5\n4;007;+6\n",
        "a INTEGER, b TEXT, c TEXT",
        "\"1\",\"2\",\"3\"\n\"2\",\"3\",\"4\"\n\"3\",\"4\",\"5\"\n\"4\",\"007\",\"+6\"\n",
    );
}

#[test]
fn columns_without_values_are_text() {
    infers("a,b\n1,\n2,\n", "a INTEGER, b TEXT", "\"1\",\n\"2\",\n");
}

/// Lines `index,index * 3`, with another last line.
fn late(lines: usize, last: &str) -> Vec<u8> {
    let lines: Vec<String> = (0..lines).map(|index| format!("{index},{}\n", index * 3)).collect();
    format!("a,b\n{}{last}", lines.concat()).into_bytes()
}

#[test]
fn the_last_line_counts() {
    let lines = share(200_000);
    for (last, expected) in [
        ("1,x\n", "a INTEGER, b TEXT"),
        ("1,3000000000\n", "a INTEGER, b BIGINT"),
        ("1,0.5", "a INTEGER, b DECIMAL(18,1)"),
        ("1,1e3\n", "a INTEGER, b DOUBLE PRECISION"),
        ("01,1\n", "a TEXT, b INTEGER"),
    ] {
        let file = file(&late(lines, last));
        for stream in [false, true] {
            for threads in [1, 3] {
                let tuning = Tuning { span_bytes: Some(70_000), ..Tuning::new(threads) };
                let machine = Machine { tuning, mode: longshore_load::Mode::Exact, stream };
                let (columns, rows) = on(&machine, file.path()).expect("it is loaded");
                assert_eq!(columns, expected);
                assert_eq!(rows.lines().count(), lines + 1);
                let value = last.trim().split(',').next_back().expect("a field");
                assert!(rows.ends_with(&format!("{value}\"\n")) || value.starts_with("1e"), "{last:?}");
                assert!(rows.starts_with("\"0\",\"0"), "{last:?}");
            }
        }
    }
}

#[test]
fn a_change_in_the_middle_is_found() {
    let lines = 60_000;
    for at in [lines / 2 + 17, lines - 1_000, 9_000] {
        let line = |index| if index == at { format!("{index},n/a?\n") } else { format!("{index},{index}\n") };
        let text = format!("a,b\n{}", (0..lines).map(line).collect::<Vec<_>>().concat());
        let file = file(text.as_bytes());
        for threads in [1, 2, 7] {
            let tuning = Tuning { span_bytes: Some(20_000), ..Tuning::new(threads) };
            let machine = Machine { tuning, mode: longshore_load::Mode::Exact, stream: false };
            let (columns, rows) = on(&machine, file.path()).expect("it is loaded");
            assert_eq!(columns, "a INTEGER, b TEXT");
            assert_eq!(rows.lines().nth(at), Some(&*format!("\"{at}\",\"n/a?\"")));
        }
    }
}

#[test]
fn given_types_are_kept_and_their_errors_told() {
    let file = file(b"a,b\n1,2\n3,x\n");
    let mut request = request(&Tuning::new(1));
    request.types = vec![("b".to_owned(), ColumnType::Text), ("a".to_owned(), ColumnType::BigInt)];
    let inferred = infer(vec![input(file.path(), false)], &request, &Control::new()).expect("inferred");
    assert_eq!(columns(&inferred), "a BIGINT, b TEXT");
    request.types = vec![("b".to_owned(), ColumnType::Integer)];
    let error = load_inferred(vec![input(file.path(), false)], &request, &Control::new()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("line 3, byte 10, column b INTEGER: \"x\""), "{error}");
    request.types = vec![("z".to_owned(), ColumnType::Integer)];
    let error = infer(vec![input(file.path(), false)], &request, &Control::new()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("its columns are a, b"), "{error}");
}

#[test]
fn general_formats_are_inferred_as_well() {
    infers(
        "# made by hand\nid||name\n1||x\n\n2||y\n3||z\n",
        "id INTEGER, name TEXT",
        "\"1\",\"x\"\n\"2\",\"y\"\n\"3\",\"z\"\n",
    );
    infers(
        "Report\n\na;b\r\n1;2024-01-01\r\n2;2024-01-02\r\n",
        "a INTEGER, b DATE",
        "\"1\",\"2024-01-01\"\n\"2\",\"2024-01-02\"\n",
    );
    infers("a,b\r1,2\r3,4\r", "a INTEGER, b INTEGER", "\"1\",\"2\"\n\"3\",\"4\"\n");
}

#[test]
fn files_without_anything_have_a_column_and_no_rows() {
    for text in ["", "\u{feff}", "\n", "[]\n"] {
        let file = file(text.as_bytes());
        for stream in [false, true] {
            let inputs = || vec![input(file.path(), stream)];
            let request = request(&Tuning::new(2));
            let (relation, found, _) = load_inferred(inputs(), &request, &Control::new()).expect("nothing is wrong");
            assert_eq!((columns(&found).as_str(), relation.snapshot().rows()), ("column1 TEXT", 0), "{text:?}");
            assert!(found.sniffed.is_empty);
            let found = infer(inputs(), &request, &Control::new()).expect("nothing is wrong");
            assert_eq!((columns(&found).as_str(), found.rows), ("column1 TEXT", 0), "{text:?}");
        }
    }
}

#[test]
fn a_text_without_lines_is_not_taken_for_an_empty_one() {
    let file = file(&vec![0; 40 << 20]);
    for stream in [false, true] {
        let inputs = vec![input(file.path(), stream)];
        let error = infer(inputs, &request(&Tuning::new(1)), &Control::new()).map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains("line 1 begins a record that is longer than ") && error.contains(", all of them NUL"),
            "{error}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_told_where_nothing_is_decoded_as_well() {
    let lines = (0..20_000).map(|line| format!("{line},name")).collect::<Vec<_>>().join("\n") + "\n";
    let text = [format!("id,name\n{lines}").as_bytes(), b"7,caf\xe9\n"].concat();
    let file = file(&text);
    for threads in [1, 3] {
        let inputs = vec![input(file.path(), false)];
        let error = infer(inputs, &request(&Tuning::new(threads)), &Control::new()).map(|_| ()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("line 20002, byte ") && error.contains("column name TEXT: \"caf\\xe9\""), "{error}");
    }
}

#[test]
fn other_spellings_are_found_and_read() {
    infers(
        "a;b;c\n1,5;31.12.2023;NA\n2,25;01.02.2024;7\n",
        "a DECIMAL(18,2), b DATE, c INTEGER",
        "\"1.50\",\"2023-12-31\",\n\"2.25\",\"2024-02-01\",\"7\"\n",
    );
    infers(
        "a,b,c\n12/31/2023 11:59 PM,\"\",x\n01/02/2024 1:05 AM,\"5\",\"\"\n",
        "a TIMESTAMP, b INTEGER, c TEXT",
        "\"2023-12-31 23:59:00\",,\"x\"\n\"2024-01-02 01:05:00\",\"5\",\"\"\n",
    );
    infers("a,b\n01/02/2024,x\n02/03/2024,y\n", "a TEXT, b TEXT", "\"01/02/2024\",\"x\"\n\"02/03/2024\",\"y\"\n");
}

#[test]
fn what_tells_the_order_of_day_and_month_may_come_last() {
    let lines: Vec<String> =
        (0..20_000).map(|index| format!("0{}/0{}/2024,{index}\n", index % 9 + 1, index % 7 + 1)).collect();
    for (last, expected, first) in [
        ("12/31/2024,1\n", "DATE", "2024-01-01"),
        ("31/12/2024,1\n", "DATE", "2024-01-01"),
        ("1/1/2024,1\n", "TEXT", "01/01/2024"),
        ("31/31/2024,1\n", "TEXT", "01/01/2024"),
    ] {
        let file = file(format!("d,n\n{}{last}", lines.concat()).as_bytes());
        for stream in [false, true] {
            let tuning = Tuning { span_bytes: Some(30_000), ..Tuning::new(3) };
            let machine = Machine { tuning, mode: longshore_load::Mode::Exact, stream };
            let (columns, rows) = on(&machine, file.path()).expect("it is loaded");
            assert_eq!(columns, format!("d {expected}, n INTEGER"), "{last:?}");
            assert!(rows.starts_with(&format!("\"{first}\"")), "{last:?}");
        }
    }
}

#[test]
fn other_formats_are_found_and_read() {
    infers(
        "1\tx\\ty\t\\N\n2\t\\\\N\t2024-01-31\n",
        "column1 INTEGER, column2 TEXT, column3 DATE",
        "\"1\",\"x\ty\",\n\"2\",\"\\N\",\"2024-01-31\"\n",
    );
    infers(
        "id   name    amount\n1    Anna     12.50\n22   Bob       3.75\n333  Charly  100.00\n",
        "id INTEGER, name TEXT, amount DECIMAL(18,2)",
        "\"1\",\"Anna\",\"12.50\"\n\"22\",\"Bob\",\"3.75\"\n\"333\",\"Charly\",\"100.00\"\n",
    );
    infers(
        "{\"a\": 1, \"b\": \"7\", \"c\": {\"d\": [1]}}\n{\"b\": null, \"a\": 2.5, \"e\": true}\n",
        "a DECIMAL(18,1), b TEXT, c TEXT, e BOOLEAN",
        "\"1.0\",\"7\",\"{\"\"d\"\": [1]}\",\n\"2.5\",,,\"t\"\n",
    );
}

#[test]
fn a_key_that_the_sample_does_not_have_is_told() {
    let lines = vec!["{\"a\": 1}\n"; 100_000];
    let file = file(format!("{}{{\"a\": 2, \"late\": 3}}\n", lines.concat()).as_bytes());
    let error = load_inferred(vec![input(file.path(), true)], &request(&Tuning::new(2)), &Control::new());
    assert!(error.map(|_| ()).unwrap_err().to_string().contains("late"));
}

#[test]
fn layouts_are_formats_of_the_decoders() {
    use longshore_csv::ValueType;
    use longshore_csv::decode::DateTimeFormat;
    use longshore_format::sniff::types::{Reading, classify};
    let reading = Reading::default();
    for text in [
        "2024/12/31",
        "12/31/2024",
        "31/12/2024",
        "12-31-2024",
        "31-12-2024",
        "31.12.2024",
        "2024.12.31",
        "31-Dec-2024",
        "31 dec 2024",
        "Dec 31, 2024",
        "1/31/2024",
        "31.1.2024",
    ] {
        for time in ["", " 1:05", " 23:59:59", " 23:59:59.25", " 11:59 PM", " 1:59:59 am"] {
            let text = format!("{text}{time}");
            let found = classify(text.as_bytes(), false, &reading).decide(&reading).value_type;
            let layout = found.layout().unwrap_or_else(|| panic!("{text} has no layout"));
            let value_type = if time.is_empty() { ValueType::Date } else { ValueType::Timestamp };
            let format = DateTimeFormat::new(&[layout.format()]).expect("a format");
            assert!(format.matches(value_type, text.as_bytes()), "{text} as {}", layout.format());
        }
    }
}

#[test]
fn all_files_count_and_their_headers_must_agree() {
    let files = [file(b"a,b\n1,2\n"), file(b"a,b\n3,x\n"), file(b"b,a\n5,6\n")];
    let inputs = |count: usize| files[..count].iter().map(|file| input(file.path(), false)).collect();
    let (relation, inferred, _) =
        load_inferred(inputs(2), &request(&Tuning::new(2)), &Control::new()).expect("it is loaded");
    assert_eq!(columns(&inferred), "a INTEGER, b TEXT");
    assert_eq!(dump(&relation), "\"1\",\"2\"\n\"3\",\"x\"\n");
    let error = infer(inputs(3), &request(&Tuning::new(2)), &Control::new()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("the header names field 1 \"b\" where column \"a\" is expected"), "{error}");
}
