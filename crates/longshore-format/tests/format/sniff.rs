//! Texts of known dialect and types, written in many ways: what the sniffer finds must be what was written.

pub(crate) mod table;
mod writer;

use longshore_format::sniff::{Given, Sniffed};
use longshore_testing::{Random, share};
use table::{Numbers, Table};
use writer::{Dialect, Written};

/// Combinations that are tried.
const COMBINATIONS: usize = 600;
/// How many of them may be found otherwise than they were written.
const WRONG_MAX: usize = 12;

/// What differs between truth and finding; `silent` if a value would be another one without anybody noticing.
struct Difference {
    what: String,
    silent: bool,
}

fn differences(table: &Table, written: &Written, found: &Sniffed) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut differ = |silent: bool, what: String| differences.push(Difference { what, silent });
    let dialect = &written.dialect;
    if found.delimiter.value != dialect.delimiter {
        differ(false, format!("delimiter {:?}", String::from_utf8_lossy(&found.delimiter.value)));
        return differences;
    }
    if written.quotes && found.quote.value != dialect.quote {
        differ(false, format!("quote {:?}", found.quote.value.map(char::from)));
    }
    if written.escapes && found.escape.value != dialect.escape {
        differ(false, format!("escape {:?}", found.escape.value.map(char::from)));
    }
    if found.skip_lines.value != written.skip_lines {
        differ(found.skip_lines.value > written.skip_lines, format!("skip {}", found.skip_lines.value));
    }
    if found.header.value != dialect.header {
        differ(found.header.value, format!("header {} ({})", found.header.value, found.header.reason));
    }
    if found.trailing_delimiter.value != dialect.trailing_delimiter {
        differ(false, format!("trailing delimiter {}", found.trailing_delimiter.value));
    }
    if written.comments && found.comment.value.is_none() {
        differ(false, "no comment".to_owned());
    }
    if found.columns.len() != table.columns.len() {
        differ(false, format!("{} columns", found.columns.len()));
        return differences;
    }
    for (column, found) in table.columns.iter().zip(&found.columns) {
        if dialect.header && found.name != column.name {
            differ(false, format!("column {:?} is called {:?}", column.name, found.name));
        }
        let value_type = found.decision.value_type.to_string();
        if value_type != column.value_type {
            let reason = &found.decision.reason;
            differ(
                value_type != "TEXT",
                format!("column {} {} is {value_type}: {reason}", column.name, column.value_type),
            );
        }
    }
    differences
}

#[test]
fn most_dialects_are_found_and_no_value_becomes_another() {
    let mut wrong = Vec::new();
    let combinations = share(COMBINATIONS);
    for seed in 0..combinations as u64 {
        let dialect = Dialect::random(seed);
        let numbers = if dialect.comma_decimals { Numbers::Comma } else { Numbers::Point };
        let table = Table::random(seed, numbers);
        let written = dialect.write(&table, seed);
        let found = longshore_format::sniff::sniff(&written.text, true, &Given::default());
        let differences = differences(&table, &written, &found);
        if !differences.is_empty() {
            let text = String::from_utf8_lossy(&written.text);
            let head: Vec<_> = text.lines().take(6).map(|line| format!("    {line:?}")).collect();
            let what: Vec<_> = differences.iter().map(|difference| difference.what.as_str()).collect();
            wrong.push(format!("{seed} {dialect:?}: {}\n{}\n", what.join("; "), head.join("\n")));
        }
        let silent: Vec<_> = differences.iter().filter(|difference| difference.silent).collect();
        assert!(silent.is_empty(), "{}", wrong.last().expect("there is a difference"));
    }
    println!("{} of {combinations} found otherwise", wrong.len());
    assert!(wrong.len() <= WRONG_MAX, "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_given_is_kept() {
    let given = Given {
        delimiter: Some(b";".to_vec()),
        header: Some(false),
        skip_lines: Some(1),
        names: Some(vec!["x".to_owned(), "y".to_owned()]),
        ..Given::default()
    };
    let found = longshore_format::sniff::sniff(b"title\na,b;c\n1;2\n", true, &given);
    assert!(found.delimiter.given && found.header.given && found.skip_lines.given);
    assert_eq!(found.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["x", "y"]);
    assert_eq!(found.columns[1].decision.value_type.to_string(), "TEXT");
    let options = found.to_string();
    assert_eq!(options, "(FORMAT csv, DELIMITER ';', QUOTE '\"', SKIP 1, HEADER false)");
}

/// Files and what is found in them, as options and columns.
#[test]
fn special_files() {
    for (text, expected) in [
        ("", "(FORMAT csv, DELIMITER ',', QUOTE '\"', HEADER false)"),
        ("a,b,c\n", "(FORMAT csv, DELIMITER ',', QUOTE '\"', HEADER true) a TEXT, b TEXT, c TEXT"),
        ("5\n7\n", "(FORMAT csv, DELIMITER ',', QUOTE '\"', HEADER false) column1 INTEGER"),
        ("n\n5\n7\n", "(FORMAT csv, DELIMITER ',', QUOTE '\"', HEADER true) n INTEGER"),
        ("12:30:00\n08:15:00\n23:59:59\n", "(FORMAT csv, DELIMITER ',', QUOTE '\"', HEADER false) column1 TIME"),
        (
            "sep=;\r\nid;name\r\n1;x\r\n",
            "(FORMAT csv, DELIMITER ';', QUOTE '\"', SKIP 1, HEADER true) id INTEGER, name TEXT",
        ),
        (
            "id,id,\n1,2,3\n4,5,6\n",
            "(FORMAT csv, DELIMITER ',', QUOTE '\"', HEADER true) id INTEGER, id_2 INTEGER, column3 INTEGER",
        ),
        (
            "1|x|\n2|y|\n3|z|\n",
            "(FORMAT csv, DELIMITER '|', QUOTE '\"', TRAILING_DELIMITER true, HEADER false) \
             column1 INTEGER, column2 TEXT",
        ),
        ("1\tx\t\\N\n2\ta\\tb\t5\n", "(FORMAT text, HEADER false) column1 INTEGER, column2 TEXT, column3 INTEGER"),
        ("{\"a\": 1}\n{\"a\": 2}\n", "(FORMAT json, LAYOUT 'lines') a INTEGER"),
        (
            " [ {\"a\": 1, \"b\": \"1\", \"c\": [1]}, {\"a\": 2.5, \"b\": \"2\"}]",
            "(FORMAT json, LAYOUT 'array') a DECIMAL(18,1), b TEXT, c TEXT",
        ),
        (
            "[section]\nkey,1\nother,2\nthird,3\n",
            "(FORMAT csv, DELIMITER ',', QUOTE '\"', SKIP 1, HEADER false) column1 TEXT, column2 INTEGER",
        ),
        (
            "id   name    amount\n1    Anna     12.50\n22   Bob       3.75\n333  Charly  100.00\n",
            "(FORMAT fixed, PLACES '0-5,5-13,13-', HEADER true) id INTEGER, name TEXT, amount DECIMAL(18,2)",
        ),
        (
            "a;b\n1,5;2\n2,75;3\n",
            "(FORMAT csv, DELIMITER ';', QUOTE '\"', HEADER true, DECIMAL_SEPARATOR ',') a DECIMAL(18,2), b INTEGER",
        ),
        ("a;b\n1,500;2\n2,750;3\n", "(FORMAT csv, DELIMITER ';', QUOTE '\"', HEADER true) a TEXT, b INTEGER"),
        (
            "n,size\n1,5\" pipe\n2,7\" pipe\n3,x\n",
            "(FORMAT csv, DELIMITER ',', QUOTE NONE, HEADER true) n INTEGER, size TEXT",
        ),
        (
            "a,b\n1,\"x\\\"y\"\n2,\"z, w\"\n",
            "(FORMAT csv, DELIMITER ',', QUOTE '\"', ESCAPE '\\', HEADER true) a INTEGER, b TEXT",
        ),
    ] {
        let found = longshore_format::sniff::sniff(text.as_bytes(), true, &Given::default());
        let columns: Vec<_> =
            found.columns.iter().map(|column| format!("{} {}", column.name, column.decision.value_type)).collect();
        let shown = format!("{found} {}", columns.join(", "));
        assert_eq!(shown.trim(), expected, "{text:?}");
    }
}

#[test]
fn any_prefix_of_a_text_is_looked_at_without_trouble() {
    for seed in 0..20 {
        let dialect = Dialect::random(seed);
        let text = dialect.write(&Table::random(seed, Numbers::Point), seed).text;
        for end in (0..text.len()).step_by(23) {
            for at_end in [false, true] {
                let _ = longshore_format::sniff::sniff(&text[..end], at_end, &Given::default());
            }
        }
    }
}

#[test]
fn mutated_texts_are_looked_at_without_trouble() {
    const BYTES: &[u8] = b",;\t|\"'\\\r\n #{}[]:0.-e\xff\0A";
    for seed in 0..share(300) as u64 {
        let mut random = Random::new(seed);
        let mut text = Dialect::random(seed).write(&Table::random(seed, Numbers::Point), seed).text;
        text.truncate(2_000);
        for _ in 0..=random.below(40) {
            let at = random.below(text.len());
            match random.below(3) {
                0 => text[at] = random.pick(BYTES),
                1 => text.insert(at, random.pick(BYTES)),
                _ => text.truncate(at.max(1)),
            }
        }
        let found = longshore_format::sniff::sniff(&text, random.once_in(2), &Given::default());
        assert!(found.to_string().starts_with("(FORMAT "));
    }
}

/// What is found in the files of csv-spectrum: each has a header and commas.
#[test]
fn spectrum() {
    for (name, expected) in [
        ("comma_in_quotes", "first TEXT, last TEXT, address TEXT, city TEXT, zip TEXT"),
        ("empty", "a INTEGER, b INTEGER, c INTEGER"),
        ("empty_crlf", "a INTEGER, b INTEGER, c INTEGER"),
        ("escaped_quotes", "a INTEGER, b TEXT"),
        ("json", "key INTEGER, val TEXT"),
        ("location_coordinates", "Contact Phone Number INTEGER, Location Coordinates TEXT, Cities TEXT, Counties TEXT"),
        ("newlines", "a TEXT, b INTEGER, c INTEGER"),
        ("newlines_crlf", "a TEXT, b INTEGER, c INTEGER"),
        ("quotes_and_newlines", "a INTEGER, b TEXT"),
        ("simple", "a INTEGER, b INTEGER, c INTEGER"),
        ("simple_crlf", "a INTEGER, b INTEGER, c INTEGER"),
        ("utf8", "a INTEGER, b INTEGER, c TEXT"),
    ] {
        let path = format!("{}/../../tests/csv/spectrum/csvs/{name}.csv", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read(&path).expect("a file of csv-spectrum");
        let found = longshore_format::sniff::sniff(&text, true, &Given::default());
        // Seconds of arc are no quotes.
        let quote = if name == "location_coordinates" { "NONE" } else { "'\"'" };
        assert_eq!(found.to_string(), format!("(FORMAT csv, DELIMITER ',', QUOTE {quote}, HEADER true)"), "{name}");
        let columns: Vec<_> =
            found.columns.iter().map(|column| format!("{} {}", column.name, column.decision.value_type)).collect();
        assert_eq!(columns.join(", "), expected, "{name}");
    }
}

#[test]
fn a_stray_quote_does_not_make_lines_of_a_table() {
    let found = |text: &str| longshore_format::sniff::sniff(text.as_bytes(), true, &Given::default());
    let shape = |text: &str| (found(text).columns.len(), found(text).quote.value);
    let stray = "2,\"b\"c\",3\n";
    let rest = "3,d,4\n4,\"e, f\",5\n";
    assert_eq!(shape(&format!("id,name,n\n1,\"a\nx\",2\n{stray}3,d,4\n")), (3, Some(b'"')));
    assert_eq!(shape(&format!("id,name,n\n{stray}1,\"a\nx\",2\n{rest}")), (3, Some(b'"')));
    assert_eq!(shape(&format!("id;name;n\r\n1;\"a;\r\nx\";2\r\n{}", stray.replace(',', ";"))).0, 3);
    // One record in a few may have another number of fields, and is a matter of the load.
    assert_eq!(shape(&format!("id,name,n\n1,\"a\nx\",2\n{stray}{rest}5,g,6,more\n")).0, 3);
    // A text that ends in quotes is cut off, which the load refuses.
    assert_eq!(shape(&format!("id,name,n\n1,\"a\nx\",2\n{stray}{rest}5,\"g")), (3, Some(b'"')));
    // What nobody wrote as a table is none.
    assert_eq!(shape("He said \"yes, no\"\nShe said \"a, b, c\", and left\nNobody, \"ever\", did\nOr so\n").0, 1);
    assert_eq!(shape("\"Hello, world\"\n\"x, y, z\"\n\"and\"so\" on\"\n\"a\"\n").0, 1);
}

#[test]
fn titles_may_be_filled_up_with_delimiters() {
    let skipped = |text: &str| {
        let found = longshore_format::sniff::sniff(text.as_bytes(), true, &Given::default());
        let names: Vec<String> = found.columns.iter().map(|column| column.name.clone()).collect();
        (found.skip_lines.value, names.join("|"))
    };
    let table = "id,name,price\n1,x,2.50\n2,y,3.75\n3,z,4.00\n";
    assert_eq!(skipped(&format!("Report of May,,\n,,\n{table}")), (2, "id|name|price".to_owned()));
    let no_header = "only the first,,\n1,x,2.50\n2,y,3.75\n3,z,4.00\n";
    assert_eq!(skipped(no_header).0, 0, "a record may have one value");
    let texts = "a,,\nb,,\nc,d,e\nf,g,h\ni,j,k\nl,m,n\n";
    assert_eq!(skipped(texts).0, 0, "nothing tells a header");
}

#[test]
fn a_blank_behind_every_delimiter_is_a_part_of_it() {
    let delimiter = |text: &str| {
        let found = longshore_format::sniff::sniff(text.as_bytes(), true, &Given::default());
        (String::from_utf8(found.delimiter.value).expect("text"), found.columns[1].name.clone())
    };
    assert_eq!(delimiter("id, name, note\n1, x, \"a, b\"\n2, y, \"c, d\"\n"), (", ".to_owned(), "name".to_owned()));
    assert_eq!(delimiter("id, name, note\n1,x, 1\n2,y, 2\n").0, ",");
}

/// What a place in the middle of a file tells, wherever it is cut out of records with line ends in quotes.
#[test]
fn a_place_that_begins_in_quotes_tells_the_types_of_its_records() {
    // A line within quotes may have as many parts as a record has fields; of the second text, every one has.
    for body in
        ["he said, \"\"ahoy\"\"\nthree, parts, here\nbreak, cargo", "he, \"\"ahoy\"\", said\nthree, parts, here"]
    {
        let record = |n: usize| format!("{n},\"title {n}\",\"{body}\"\n");
        let text: String = std::iter::once("id,title,body\n".to_owned()).chain((0..200).map(record)).collect();
        let given = Given::default();
        let sniffed = longshore_format::sniff::sniff(text.as_bytes(), true, &given);
        assert_eq!(sniffed.columns.len(), 3);
        let numbers = sniffed.columns[0].types;
        for cut in 2000..2200 {
            let types = sniffed.types_of(&text.as_bytes()[cut..cut + 4000], false, &given);
            let joined = numbers.join(types[0]);
            let reading = sniffed.reading(&given);
            assert_eq!(joined.decide(&reading).value_type, numbers.decide(&reading).value_type, "{body}, {cut}");
        }
    }
}
