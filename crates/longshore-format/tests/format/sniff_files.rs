//! Kinds of files that are hard to tell, and what is found in them.

use longshore_format::sniff::{Given, Place, Sniffed, sniff};

fn found(text: &str) -> String {
    shown(&sniff(text.as_bytes(), true, &Given::default()))
}

fn shown(found: &Sniffed) -> String {
    let columns: Vec<_> =
        found.columns.iter().map(|column| format!("{} {}", column.name, column.decision.value_type)).collect();
    let found = found.to_string();
    let options = found.trim_start_matches("(FORMAT csv, DELIMITER ").trim_end_matches(')');
    format!("{options}: {}", columns.join(", "))
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (1..=count).map(line).collect()
}

#[test]
fn a_quote_may_come_late() {
    let head = format!("id,t\n{}", lines(1_000, |line| format!("{line},x{line}\n")));
    for last in ["51,\"a\nb\"\n", "51,\"hello\"\n", "51,\"a,b\"\n", "51,\"a \"\"b\"\"\"\n"] {
        assert_eq!(found(&format!("{head}{last}")), "',', QUOTE '\"', HEADER true: id INTEGER, t TEXT", "{last:?}");
    }
    assert_eq!(found(&format!("{head}51,5\" pipe\n")), "',', QUOTE NONE, HEADER true: id INTEGER, t TEXT");
    let escaped = format!("{head}51,\"a \\\"b\\\"\"\n");
    assert_eq!(found(&escaped), "',', QUOTE '\"', ESCAPE '\\', HEADER true: id INTEGER, t TEXT");
}

#[test]
fn a_place_behind_the_sample_counts() {
    let head = format!("id,t\n1,5\" pipe\n{}", lines(1_000, |line| format!("{line},x{line}\n")));
    let after = |text: &str| {
        let place = Place { text: text.as_bytes().to_vec(), at_end: true };
        shown(&sniff(head.as_bytes(), false, &Given { places: vec![place], ..Given::default() }))
    };
    assert_eq!(after("9,x\n"), "',', QUOTE NONE, HEADER true: id INTEGER, t TEXT");
    assert_eq!(after("9,\"a,b\"\n"), "',', QUOTE '\"', STRAY_QUOTES literal, HEADER true: id INTEGER, t TEXT");
    assert_eq!(after("9,\"a\" b\n"), "',', QUOTE NONE, HEADER true: id INTEGER, t TEXT");
}

#[test]
fn a_file_may_end_within_quotes() {
    for count in [5, 50, 300, 1_000] {
        let text = format!("id,t\n{}51,\"cut", lines(count, |line| format!("{line},\"x, {line}\"\n")));
        assert_eq!(found(&text), "',', QUOTE '\"', HEADER true: id INTEGER, t TEXT", "{count}");
    }
}

#[test]
fn quoted_fields_may_have_many_lines() {
    let field = "some text, in a line\n".repeat(5_000);
    for delimiter in [",", ";"] {
        let text = format!("id{delimiter}t\n1{delimiter}\"{field}\"\n2{delimiter}x\n");
        assert_eq!(found(&text), format!("'{delimiter}', QUOTE '\"', HEADER true: id INTEGER, t TEXT"));
    }
}

#[test]
fn two_columns_of_integers_are_none_of_decimals() {
    let expected = "',', QUOTE '\"', SHORT_RECORDS pad, HEADER true: a INTEGER, b INTEGER";
    assert_eq!(found("a,b\n1,2\n3,4\n5\n"), expected);
    let text = lines(1_000, |line| if line % 10 == 0 { format!("{line}\n") } else { format!("{line},7\n") });
    assert_eq!(found(&format!("a,b\n{text}")), expected);
    assert_eq!(found("price\n1,5\n2,75\n"), "E'\\t', QUOTE '\"', HEADER true: price TEXT");
}

#[test]
fn points_that_may_be_either_make_texts() {
    assert_eq!(found("id;v\n1;5,5\n2;5.555\n3;5\n"), "';', QUOTE '\"', HEADER true: id INTEGER, v TEXT");
    assert_eq!(
        found("id;v\n1;5,5\n2;5.555\n3;1.234,5\n"),
        "';', QUOTE '\"', HEADER true, DECIMAL_SEPARATOR ',', THOUSANDS_SEPARATOR '.': id INTEGER, v DECIMAL(18,1)"
    );
}

#[test]
fn tables_of_several_widths_are_none_of_one_column() {
    let narrow = lines(20, |line| format!("{line},y\n"));
    let wide = lines(20, |line| format!("{line},x,{line}\n"));
    assert_eq!(
        found(&format!("a,b,c\n{wide}d,e\n{narrow}")),
        "',', QUOTE '\"', HEADER true: a TEXT, b TEXT, c INTEGER"
    );
    let second = found(&format!("d,e\n{narrow}a,b,c\n{wide}"));
    assert_eq!(second, "',', QUOTE '\"', HEADER false: column1 TEXT, column2 TEXT, column3 TEXT");
}

#[test]
fn comments_may_be_as_many_as_records() {
    assert_eq!(
        found("# A\n# B\na;b\n# c\n1;3\n6;7\n# d"),
        "';', QUOTE '\"', COMMENT '#', HEADER true: a INTEGER, b INTEGER"
    );
    assert_eq!(found("#id,name\n1,a\n2,b\n#3,c\n"), "',', QUOTE '\"', HEADER true: #id TEXT, name TEXT");
    let table = lines(19, |line| format!("{line},{line}.5\n"));
    let columns = "##Temp INTEGER, Volt DECIMAL(18,1)";
    assert_eq!(found(&format!("##Temp,Volt\n{table}")), format!("',', QUOTE '\"', HEADER true: {columns}"));
    assert_eq!(
        found(&format!("# made by x\n# on Monday\n##Temp,Volt\n{table}")),
        format!("',', QUOTE '\"', SKIP 2, HEADER true: {columns}")
    );
}

#[test]
fn blanks_may_be_delimiters() {
    let columns = "id INTEGER, name TEXT, amount INTEGER";
    let plain = lines(20, |line| format!("{line} north {}\n", line * 3));
    assert_eq!(found(&format!("id name amount\n{plain}")), format!("' ', QUOTE '\"', HEADER true: {columns}"));
    let quoted = lines(20, |line| format!("{line} \"north pole\" {}\n", line * 3));
    assert_eq!(found(&format!("id name amount\n{quoted}")), format!("' ', QUOTE '\"', HEADER true: {columns}"));
}

#[test]
fn apostrophes_are_no_quotes() {
    let table = lines(20, |line| format!("{line},Men's Shoes {line},'soft, warm {line}'\n"));
    assert_eq!(
        found(&format!("n,title,text\n{table}")),
        "',', QUOTE '''', STRAY_QUOTES literal, HEADER true: n INTEGER, title TEXT, text TEXT"
    );
    let table = lines(20, |line| format!("{line},O'Neil\n"));
    assert_eq!(found(&format!("n,name\n{table}")), "',', QUOTE '\"', HEADER true: n INTEGER, name TEXT");
}

#[test]
fn what_explains_the_first_line_wins() {
    assert_eq!(found("col1,col2\n1;2;3,4;5;6\na;b;c,d;e;f\n"), "',', QUOTE '\"', HEADER true: col1 TEXT, col2 TEXT");
    let table = lines(19, |line| format!("{line},{line}.5\n"));
    assert_eq!(
        found(&format!("X,Y,2017\ncm,T\n{table}")),
        "',', QUOTE '\"', SKIP 1, HEADER true: cm INTEGER, T DECIMAL(18,1)"
    );
}

#[test]
fn a_record_above_a_table_is_no_title() {
    let table = lines(19, |line| format!("{line},north,{line}\n"));
    assert_eq!(
        found(&format!("Report\n0,north\n{table}")).split(':').next(),
        Some("',', QUOTE '\"', SHORT_RECORDS pad, SKIP 1, HEADER false")
    );
    let trailing = lines(19, |line| format!("{line};north;{line};\n"));
    assert_eq!(
        found(&format!("Report\n0;north;\n{trailing}")),
        "';', QUOTE '\"', TRAILING_DELIMITER true, SHORT_RECORDS pad, SKIP 1, HEADER false: column1 INTEGER, \
         column2 TEXT, column3 INTEGER"
    );
    assert_eq!(
        found(&format!("Report\n\n{table}")),
        "',', QUOTE '\"', SKIP 2, HEADER false: column1 INTEGER, column2 TEXT, column3 INTEGER"
    );
}

#[test]
fn a_line_end_in_quotes_tells_between_delimiters() {
    let table = lines(19, |line| format!("{line}||x||{line}||north\n"));
    assert_eq!(
        found(&format!("0||'a\nb'||0||north\n{table}")),
        "'||', QUOTE '''', HEADER false: column1 INTEGER, column2 TEXT, column3 INTEGER, column4 TEXT"
    );
}

#[test]
fn a_long_first_record_ends_with_a_delimiter_as_the_others_do() {
    let table = lines(19, |line| format!("{line}\tnorth\t\n"));
    assert_eq!(
        found(&format!("0\tnorth\tmore\t\n{table}")),
        "E'\\t', QUOTE '\"', TRAILING_DELIMITER true, HEADER false: column1 INTEGER, column2 TEXT"
    );
    // A name that no record has a value for is a column all the same.
    assert_eq!(
        found(&format!("id\tname\tmore\t\n{table}")),
        "E'\\t', QUOTE '\"', HEADER true: id INTEGER, name TEXT, more TEXT"
    );
}

#[test]
fn blanks_alone_make_no_fixed_width() {
    assert_eq!(found("   bla\n1\n2\n3"), "',', QUOTE '\"', HEADER true:    bla INTEGER");
    let padded = "\"carat\",\"cut\",\"price\"\n0.23, \"Ideal\",  326\n0.21, \"Premium\", 326\n0.29, \"Good\",    334\n";
    assert_eq!(found(padded), "',', QUOTE '\"', HEADER true: carat DECIMAL(18,2), cut TEXT, price INTEGER");
}

#[test]
fn backslashes_of_paths_are_no_escapes() {
    assert_eq!(found("a\tb\n1\tC:\\temp\\new\n2\tC:\\notes\n"), "E'\\t', QUOTE '\"', HEADER true: a INTEGER, b TEXT");
}
