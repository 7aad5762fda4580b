//! Every format reads any bytes without a panic; rows are those of the slow twin where there is one, whichever records
//! are read at a time and wherever the text is cut.

use crate::Choices;
use longshore_csv::{Defect, DefectKind, Missing, RecordFormat, RowText, reference as csv};
use longshore_format::delimited::{
    Delimited, DelimitedOptions, Escape, EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes,
    reference as delimited,
};
use longshore_format::fixed_width::Unit;
use longshore_format::logfmt::UnknownKeys;
use longshore_format::postgres_text::{PostgresText, PostgresTextOptions, reference as postgres};
use longshore_format::{
    FixedColumn, FixedWidth, FixedWidthOptions, LineEnds, LineOptions, Logfmt, LogfmtOptions, Pattern,
};

const MISSING: &[u8] = b"(missing)";

/// Where a record stands, and of each field its content, whether it is quoted, and where it stands.
type Row = ((usize, usize), Vec<(Vec<u8>, bool, usize)>);

/// Rows, and defects with the number of rows before them, their places and kinds.
type Read = (Vec<Row>, Vec<(usize, usize, usize, DefectKind)>);

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let mut choices = Choices::new(input);
    let kind = choices.byte() % 5;
    let fields = 1 + choices.below(4);
    let cut = choices.below(4096);
    match kind {
        0 => {
            let options = delimited_options(&mut choices);
            let Ok(format) = Delimited::new(options.clone()) else { return };
            let text = choices.rest();
            let whole = check(&format, text, fields, cut);
            assert_eq!(whole, delimited_twin(&options, text, fields), "{options:?}");
        }
        1 => {
            let options = PostgresTextOptions {
                delimiter: choices.pick(b"\t|,"),
                line_ends: choices.pick(&[LineEnds::Standard, LineEnds::Any]),
                ..PostgresTextOptions::default()
            };
            let format = PostgresText::new(options.clone()).expect("options that go together");
            // Behind the mark that ends the data a text cannot be cut.
            let text = choices.rest();
            let text = &text[..format.end_of_data(text).unwrap_or(text.len())];
            let whole = check(&format, text, fields, cut);
            assert_eq!(whole, postgres_twin(&options, text, fields), "{options:?}");
        }
        2 => {
            let columns = (0..fields).map(|field| FixedColumn {
                name: field.to_string(),
                start: choices.below(9),
                width: 1 + choices.below(5),
            });
            let mut options = FixedWidthOptions::new(columns.collect());
            options.unit = choices.pick(&[Unit::Characters, Unit::Bytes]);
            options.short_records = choices.pick(&[ShortRecords::Reject, ShortRecords::Pad]);
            options.lines = lines(&mut choices);
            let format = FixedWidth::new(options).expect("columns");
            check(&format, choices.rest(), fields, cut);
        }
        3 => {
            let keys = ["a", "b", "c", "d"][..fields].iter().map(|key| (*key).to_owned()).collect();
            let unknown_keys = choices.pick(&[UnknownKeys::Drop, UnknownKeys::Reject]);
            let format = Logfmt::new(LogfmtOptions { keys, unknown_keys, lines: lines(&mut choices) }).expect("keys");
            check(&format, choices.rest(), fields, cut);
        }
        _ => {
            let format = Pattern::new(r"^(?<a>\w*)(?:-(?<b>.*))?$", lines(&mut choices)).expect("a pattern");
            check(&format, choices.rest(), 2, cut);
        }
    }
}

fn lines(choices: &mut Choices<'_>) -> LineOptions {
    let flags = choices.byte();
    LineOptions {
        line_ends: if flags & 1 == 0 { LineEnds::Standard } else { LineEnds::Any },
        comment: (flags & 2 != 0).then(|| "#".to_owned()),
        skip_blank_lines: flags & 4 != 0,
        record_bytes_max: if flags & 8 == 0 { 1 << 20 } else { 8 },
    }
}

fn delimited_options(choices: &mut Choices<'_>) -> DelimitedOptions {
    let flags = choices.byte();
    let rule = choices.pick(&[EscapeRule::Quotes, EscapeRule::Everything, EscapeRule::Letters]);
    DelimitedOptions {
        delimiter: choices.pick(&[",", ";", "||", ", ", "\t", "€", "ab", "\x1f", "\0"]).to_owned(),
        quote: choices.pick(&[Some(b'"'), Some(b'\''), None]),
        escape: choices.pick(&[None, Some(b'\\'), Some(b'^')]).map(|byte| Escape { byte, rule }),
        comment: choices.pick(&[None, Some("#"), Some("//"), Some("a")]).map(str::to_owned),
        skip_blank_lines: flags & 1 != 0,
        line_ends: if flags & 2 == 0 { LineEnds::Standard } else { LineEnds::Any },
        trailing_delimiter: flags & 4 != 0,
        short_records: if flags & 8 == 0 { ShortRecords::Reject } else { ShortRecords::Pad },
        long_records: if flags & 16 == 0 { LongRecords::Reject } else { LongRecords::Truncate },
        stray_quotes: choices.pick(&[StrayQuotes::Toggle, StrayQuotes::Error, StrayQuotes::Literal]),
        trim: flags & 32 != 0,
        nul: choices.pick(&[NulBytes::Keep, NulBytes::Error, NulBytes::Strip]),
        record_bytes_max: if flags & 64 == 0 { 1 << 20 } else { 8 },
        ..DelimitedOptions::default()
    }
}

/// What is read of a text: the same at once, a record at a time, and in two parts.
fn check(format: &dyn RecordFormat, text: &[u8], fields: usize, cut: usize) -> Read {
    let mut whole = Read::default();
    read(format, text, fields, usize::MAX, 0, &mut whole);
    let mut singly = Read::default();
    read(format, text, fields, 0, 0, &mut singly);
    assert_eq!(singly, whole, "{format:?}");
    let complete = format.complete(&text[..cut.min(text.len())], false);
    let mut parts = Read::default();
    read(format, &text[..complete], fields, usize::MAX, 0, &mut parts);
    read(format, &text[complete..], fields, usize::MAX, complete, &mut parts);
    assert_eq!(parts, whole, "{format:?} cut at {complete}");
    assert_eq!(format.complete(text, true), text.len());
    let _ = format.first_record(text, true);
    whole
}

fn read(format: &dyn RecordFormat, text: &[u8], fields: usize, bytes_max: usize, offset: usize, into: &mut Read) {
    let missing = Missing { null: MISSING.into(), default: None };
    let mut rows = RowText::new(vec![missing; fields], bytes_max);
    let mut at = 0;
    while at < text.len() {
        rows.clear();
        let mut defects = Vec::new();
        let taken = format.read(&text[at..], &mut rows, &mut defects);
        assert!(taken > 0, "{format:?}");
        append(&mut rows, defects, offset + at, into);
        at += taken;
    }
}

fn append(rows: &mut RowText, defects: Vec<Defect>, offset: usize, into: &mut Read) {
    let before = into.0.len();
    let place = |at: u32| at as usize + offset;
    into.1.extend(defects.into_iter().map(|d| (before + d.row, place(d.start), place(d.end), d.kind)));
    rows.seal();
    let plain = rows.rows();
    let records = csv::records(plain.text().text(), plain.dialect()).expect("plain rows");
    assert_eq!(records.len(), rows.count());
    for (row, record) in records.into_iter().enumerate() {
        assert_eq!(record.fields.len(), rows.fields());
        let field = |(column, field): (usize, csv::RawField)| {
            (field.value, field.quoted, place(rows.field_origin(row, column)))
        };
        let (start, end) = rows.record_origin(row);
        into.0.push(((place(start), place(end)), record.fields.into_iter().enumerate().map(field).collect()));
    }
}

/// A field of plain rows is quoted if it must be.
fn quoted(value: &[u8], quoted: bool) -> bool {
    quoted || value.iter().any(|byte| b"\"\x1f\r\n".contains(byte))
}

fn delimited_twin(options: &DelimitedOptions, text: &[u8], fields: usize) -> Read {
    let mut read = Read::default();
    for record in delimited::records(text, options) {
        match delimited::row(&record, options, fields) {
            Ok(row) => {
                let field = |field: Option<delimited::Field>| match field {
                    Some(field) => (field.value.clone(), quoted(&field.value, field.quoted), field.start),
                    None => (MISSING.to_vec(), false, record.end),
                };
                read.0.push(((record.start, record.end), row.into_iter().map(field).collect()));
            }
            Err(kind) => read.1.push((read.0.len(), record.start, record.end, kind)),
        }
    }
    read
}

fn postgres_twin(options: &PostgresTextOptions, text: &[u8], fields: usize) -> Read {
    let mut read = Read::default();
    for record in postgres::records(text, options) {
        let kind = match record.fields {
            Ok(row) if row.len() == fields => {
                let row = row.into_iter().map(|field| {
                    let quoted = quoted(&field.value, field.quoted);
                    (field.value, quoted, field.start)
                });
                read.0.push(((record.start, record.end), row.collect()));
                continue;
            }
            Ok(row) if row.len() < fields => DefectKind::MissingFields,
            Ok(_) => DefectKind::ExtraFields,
            Err(kind) => kind,
        };
        read.1.push((read.0.len(), record.start, record.end, kind));
    }
    read
}
