//! Delimited text, PostgreSQL's text format and lines through a load: the same rows and errors for every thread count,
//! piece size, span size and kind of source.

#![allow(clippy::format_push_string, reason = "short here, and the text is small")]

use std::sync::Arc;

use crate::harness::{Machine, dump, machines};
use longshore_csv::RecordFormat;
use longshore_format::delimited::{Escape, EscapeRule, ShortRecords};
use longshore_format::{
    Delimited, DelimitedOptions, FixedColumn, FixedWidth, FixedWidthOptions, LineEnds, LineOptions, Pattern,
    PostgresText, PostgresTextOptions,
};
use longshore_load::{Control, InputFile, Source, TextFormat, TextOptions, copy_from};
use longshore_storage::{Column, ColumnType, Memory, Relation, Schema};
use longshore_testing::share;
use tempfile::NamedTempFile;

fn load(machine: &Machine, text: &str, options: &TextOptions) -> Result<String, String> {
    let schema = Schema::new(vec![
        Column::new("id", ColumnType::BigInt, false),
        Column::new("note", ColumnType::Text, true),
        Column::new("day", ColumnType::Date, true),
    ]);
    let relation = Relation::new(Arc::new(schema), Memory::new(None));
    let file = NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), text).expect("written");
    let source = if machine.stream { Source::open_unmapped(file.path()) } else { Source::open(file.path()) };
    let input = InputFile::opened(source.expect("the file is there"), &[0, 1, 2]);
    let loaded = copy_from(vec![input], &relation, options, &machine.tuning, &Control::new());
    loaded.map_err(|error| error.to_string().replace(&file.path().display().to_string(), "FILE"))?;
    Ok(dump(&relation))
}

fn format(format: impl RecordFormat + 'static, null: &str) -> TextOptions {
    let mut options = TextOptions::of(TextFormat::Other(Arc::new(format)));
    options.values.nulls = vec![null.to_owned()];
    options
}

fn delimited(change: impl FnOnce(&mut DelimitedOptions)) -> TextOptions {
    let mut options = DelimitedOptions::default();
    change(&mut options);
    format(Delimited::new(options).expect("options"), "\\N")
}

fn assert_loads(text: &str, options: &TextOptions, expected: &str) {
    for machine in machines() {
        assert_eq!(load(&machine, text, options).as_deref(), Ok(expected), "{options:?} {machine:?}");
    }
}

/// The error of every machine.
fn error(text: &str, options: &TextOptions) -> String {
    let said: Vec<String> = machines().iter().map(|machine| load(machine, text, options).expect_err("bad")).collect();
    assert!(said.iter().all(|message| *message == said[0]), "{said:#?}");
    said[0].clone()
}

#[test]
fn every_machine_loads_delimited_text() {
    let options = delimited(|options| {
        options.delimiter = "||".to_owned();
        options.escape = Some(Escape { byte: b'\\', rule: EscapeRule::Letters });
        options.comment = Some("#".to_owned());
        options.line_ends = LineEnds::Any;
        options.short_records = ShortRecords::Pad;
    });
    let (mut text, mut expected) = (String::new(), String::new());
    for row in 0..share(400) {
        let line_end = ["\n", "\r\n", "\r"][row % 7 % 3];
        let pad = "y".repeat(row % 30);
        text += &match row % 5 {
            0 => format!("{row}||a|{pad}\\|||1999-02-01{line_end}"),
            1 => format!("# \" {line_end}{row}||\"\\\"{pad}||\n\"||\\N{line_end}"),
            2 => format!("{row}||\\N{line_end}"),
            3 => format!("\"{row}\"||\"\\N\"{line_end}"),
            _ => format!("{row}||\\\n{pad}{line_end}"),
        };
        expected += &match row % 5 {
            0 => format!("\"{row}\",\"a|{pad}|\",\"1999-02-01\"\n"),
            1 => format!("\"{row}\",\"\"\"{pad}||\n\",\n"),
            2 => format!("\"{row}\",,\n"),
            3 => format!("\"{row}\",\"N\",\n"),
            _ => format!("\"{row}\",\"\n{pad}\",\n"),
        };
    }
    assert_loads(&text, &options, &expected);
}

#[test]
fn every_machine_loads_the_text_format_up_to_its_mark() {
    let options = format(PostgresText::new(PostgresTextOptions::default()).expect("options"), "\\N");
    let (mut text, mut expected) = (String::new(), String::new());
    for row in 0..share(300) {
        let pad = "z".repeat(row % 50);
        text += &format!("{row}\t{pad}\\t\\\n\\x41\t\\N\n");
        expected += &format!("\"{row}\",\"{pad}\t\nA\",\n");
    }
    assert_loads(&text, &options, &expected);
    let behind = "no record\n".repeat(500);
    assert_loads(&format!("{text}\\.\n{behind}"), &options, &expected);
}

#[test]
fn a_record_has_a_limit_on_every_machine() {
    let options = delimited(|options| options.record_bytes_max = 40);
    let rows = "1,a,\\N\n".repeat(20);
    let said = error(&format!("{rows}2,\"{},\n{rows}", "x".repeat(50)), &options);
    assert!(said.contains("takes 195 bytes where 40 are the most"), "{said}");
    let said = error(&format!("{rows}2,{},\\N\n{rows}", "x".repeat(50)), &options);
    assert!(said.starts_with("FILE: line 21, byte 140: "), "{said}");
    assert!(said.contains("takes 55 bytes where 40 are the most"), "{said}");
}

#[test]
fn every_machine_loads_lines() {
    let columns = FixedColumn::row(&[("id", 5), ("note", 4), ("day", 12)]);
    let fixed = format(FixedWidth::new(FixedWidthOptions::new(columns)).expect("columns"), "");
    let pattern = Pattern::new("^ *(?<id>[0-9]+) +(?<note>[^ ]+)? +(?<day>[-0-9]+)$", LineOptions::default());
    let pattern = format(pattern.expect("a pattern"), "");
    let (mut text, mut expected) = (String::new(), String::new());
    for row in 0..share(300) {
        text += &format!("{row:5}{:4}  1999-02-{:02}\r\n", ["é", "ab"][row % 2], 1 + row % 28);
        expected += &format!("\"{row}\",\"{}\",\"1999-02-{:02}\"\n", ["é", "ab"][row % 2], 1 + row % 28);
    }
    assert_loads(&text, &fixed, &expected);
    let spaced = text.replace("é ", " é ").replace("ab ", " ab ");
    assert_loads(&spaced, &pattern, &expected);
    let said = error(&format!("{spaced}x\n"), &pattern);
    assert!(said.contains("does not match the pattern"), "{said}");
}
