//! JSON through a load: the same rows and errors for every thread count, piece size, span size and kind of source.

use std::sync::Arc;

use crate::harness::rejects::load_with_rejects;
use crate::harness::{Machine, dump, machines};
use longshore_format::json::{Json, JsonPath, Layout, UnknownKeys};
use longshore_load::{Control, InputFile, Source, TextFormat, TextOptions, copy_from};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use longshore_testing::share;
use tempfile::NamedTempFile;

const LAYOUTS: [Layout; 3] = [Layout::Lines, Layout::Values, Layout::Array];

fn schema() -> Arc<Schema> {
    let money = ColumnType::Decimal { precision: 12, scale: 2 };
    Arc::new(Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("price", money, true),
        Column::new("day", ColumnType::Date, true),
        Column::new("note", ColumnType::Text, true),
        Column::new("tags", ColumnType::Text, true),
        Column::new("city", ColumnType::Varchar(20), true),
        Column::new("open", ColumnType::Boolean, true),
    ]))
}

fn format(layout: Layout, unknown: UnknownKeys) -> TextOptions {
    let paths = ["id", "price", "day", "note", "tags", "address.city", "flags[1]"];
    let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().expect("a path")).collect();
    let json = Json::new(&paths, layout).expect("columns").with_unknown_keys(unknown);
    TextOptions::of(TextFormat::Other(Arc::new(json)))
}

/// A record of a text, and the line that shows it.
fn record(row: usize) -> (String, String) {
    let gap = ["", " ", "\t"][row % 5 % 3];
    let (price, price_shown) = match row % 3 {
        0 => (format!("{row}.50"), format!("\"{row}.50\"")),
        1 => (format!("-{row}"), format!("\"-{row}.00\"")),
        _ => ("null".to_owned(), String::new()),
    };
    let date = format!("\"1999-02-{:02}\"", 1 + row % 28);
    let (day, day_shown) = if row % 7 == 3 { (String::new(), "") } else { (format!("\"day\":{date},"), date.as_str()) };
    let pad = "x".repeat(row % 40);
    let (flags, flag_shown) = match row % 11 {
        5 => ("[null]", ""),
        6 => ("[1,true]", "\"t\""),
        _ => ("[0,false,{}]", "\"f\""),
    };
    let record = format!(
        "{{{gap}\"id\":{gap}{row},\"price\":{price},{day}\"note\":\"{pad} \\\"caf\\u00e9\\\" \\ud83d\\ude00 }}],[{{\",\
         \"tags\":[{row}, {{\"a\":\"]\"}}],\"other\":{{\"city\":\"no\"}},\"address\":{{\"street\":\"\",\"city\":\"Ulm\"}},\
         \"flags\":{flags}{gap}}}"
    );
    let line = format!(
        "\"{row}\",{price_shown},{day_shown},\"{pad} \"\"café\"\" 😀 }}],[{{\",\"[{row}, {{\"\"a\"\":\"\"]\"\"}}]\",\
         \"Ulm\",{flag_shown}\n"
    );
    (record, line)
}

fn text(layout: Layout, records: &[String]) -> String {
    match layout {
        Layout::Lines => records.join("\n") + "\n",
        Layout::Values => records.join("\n\n").replace(",\"note\"", "\n ,\r\n\"note\""),
        Layout::Array => format!("[\n{}\n]\n", records.join(",\n")),
    }
}

fn file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("written");
    file
}

fn load(machine: &Machine, file: &NamedTempFile, options: &TextOptions) -> Result<String, String> {
    let relation = Relation::new(schema(), Memory::new(None));
    let source = if machine.stream { Source::open_unmapped(file.path()) } else { Source::open(file.path()) };
    let input = InputFile::opened(source.expect("the file is there"), &[0, 1, 2, 3, 4, 5, 6]);
    let loaded = copy_from(vec![input], &relation, options, &machine.tuning, &Control::new());
    let message =
        |error: longshore_load::LoadError| error.to_string().replace(&file.path().display().to_string(), "FILE");
    loaded.map_err(message)?;
    Ok(dump(&relation))
}

#[test]
fn every_machine_loads_the_same_rows() {
    let (records, lines): (Vec<String>, Vec<String>) = (0..share(300)).map(record).unzip();
    let expected = lines.concat();
    for layout in LAYOUTS {
        let file = file(&text(layout, &records));
        let options = format(layout, UnknownKeys::Ignore);
        for machine in machines() {
            assert_eq!(load(&machine, &file, &options).as_ref(), Ok(&expected), "{layout:?} {machine:?}");
        }
    }
}

#[test]
fn every_machine_finds_the_first_error() {
    let bad = [
        (
            "{\"id\":1,}",
            "found '}' at byte 9 of the record where a key in double quotes is expected; take out the comma",
        ),
        ("{\"id\":NaN}", "found \"NaN\" at byte 7 of the record where a value is expected; write null, or a string"),
        ("{\"id\":\"\\ud800\"}", "found \\uD800, half a character, at byte 8 of the record"),
        ("{\"id\":1,\"day\":\"1999-02-30\"}", "column day DATE: \"\"1999-02-30\"\""),
        ("{\"price\":1}", "column id BIGINT: "),
    ];
    for layout in LAYOUTS {
        for (wrong, reason) in bad {
            let mut records: Vec<String> = (0..100).map(|row| record(row).0).collect();
            records.insert(60, wrong.to_owned());
            records.insert(80, "{]".to_owned());
            let file = file(&text(layout, &records));
            let options = format(layout, UnknownKeys::Ignore);
            let said: Vec<String> =
                machines().iter().map(|machine| load(machine, &file, &options).unwrap_err()).collect();
            assert!(said[0].contains(reason), "{layout:?}: {}", said[0]);
            if layout == Layout::Lines {
                assert!(said[0].starts_with("FILE: line 61, byte "), "{}", said[0]);
            }
            assert!(said.iter().all(|message| *message == said[0]), "{said:#?}");
        }
    }
}

#[test]
fn unknown_keys_are_refused_when_asked() {
    let file = file("{\"id\":1,\"flags\":[],\"address\":{\"zip\":5}}\n");
    let options = format(Layout::Lines, UnknownKeys::Reject);
    let error = load(&machines()[0], &file, &options).unwrap_err();
    assert!(error.contains("found the key \"zip\" in address, which is no column's,"), "{error}");
}

#[test]
fn an_array_that_is_cut_off_is_an_error_on_every_machine() {
    let records: Vec<String> = (0..50).map(|row| record(row).0).collect();
    let whole = text(Layout::Array, &records);
    let options = format(Layout::Array, UnknownKeys::Ignore);
    for cut in ["\n]\n", "}\n]\n"] {
        let file = file(whole.strip_suffix(cut).expect("the end"));
        let said: Vec<String> = machines().iter().map(|machine| load(machine, &file, &options).unwrap_err()).collect();
        assert!(said[0].contains("found the end of the text"), "{}", said[0]);
        assert!(said.iter().all(|message| *message == said[0]), "{said:#?}");
    }
}

#[test]
fn texts_without_records_load_no_rows() {
    for (layout, text) in
        [(Layout::Lines, "\n \n"), (Layout::Values, " \n"), (Layout::Array, " [\n]\n"), (Layout::Array, "")]
    {
        let file = file(text);
        let options = format(layout, UnknownKeys::Ignore);
        for machine in machines() {
            assert_eq!(load(&machine, &file, &options).as_deref(), Ok(""), "{layout:?} {machine:?}");
        }
    }
}

#[test]
fn every_machine_rejects_the_same_records() {
    let wrong = [
        "{\"id\":1,}",
        "{\"id\":\"x\"}",
        "{\"id\":2,\"day\":\"1999-02-30\",\"memo\":\"\\ud800\"}",
        "{\"id\":null}",
        "{\"id\":3 \"price\":4}",
        "[]",
    ];
    for layout in LAYOUTS {
        let mut records: Vec<String> = (0..60).map(|row| record(row).0).collect();
        for (index, wrong) in wrong.iter().enumerate() {
            records.insert(index * 11, (*wrong).to_owned());
        }
        let whole = text(layout, &records);
        // An array that is cut off is a reject of its own.
        let cut = if layout == Layout::Array { whole.strip_suffix("\n]\n").expect("the end") } else { &whole };
        let file = file(cut);
        let options = format(layout, UnknownKeys::Ignore);
        let load = |machine: &Machine| load_with_rejects(machine, file.path(), &schema(), &options).expect("a load").0;
        let first = load(&machines()[0]);
        assert_eq!(first.records, wrong.len() as u64 + u64::from(layout == Layout::Array), "{:#?}", first.rejects);
        assert_eq!(first.rows, (0..60).map(|row| record(row).1).collect::<String>());
        for (reject, wrong) in first.rejects.iter().zip(wrong) {
            assert_eq!(String::from_utf8_lossy(&reject.record), wrong, "{layout:?}");
        }
        for machine in machines() {
            assert_eq!(load(&machine), first, "{layout:?} {machine:?}");
        }
    }
}
