//! What the tests of formats share: random numbers, and rows as the slow parser of CSV reads them.

#![allow(clippy::unwrap_used, reason = "this is test code")]

use longshore_csv::{Defect, DefectKind, Missing, RecordFormat, RowText, reference};
use longshore_testing::Random;

/// Up to `count` of these, one behind the other.
pub(crate) fn soup(random: &mut Random, tokens: &[&[u8]], count: usize) -> Vec<u8> {
    (0..random.below(count + 1)).flat_map(|_| random.pick(tokens).to_vec()).collect()
}

/// What a missing field becomes in these tests: a value that no text holds.
pub(crate) const MISSING: &str = "(missing)";

/// A row: where it stands, and of each field its content, whether it is quoted, and where it stands.
pub(crate) type Row = ((usize, usize), Vec<(Vec<u8>, bool, usize)>);

/// What is read of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) rows: Vec<Row>,
    /// Rows before it, where it stands, what it is.
    pub(crate) defects: Vec<(usize, usize, usize, DefectKind)>,
}

/// Everything that `format` reads of `text`, from `offset` of a longer one on, with rows that are full with `bytes_max`.
pub(crate) fn read(
    format: &dyn RecordFormat,
    text: &[u8],
    fields: usize,
    bytes_max: usize,
    into: &mut Read,
    offset: usize,
) {
    let missing = Missing { null: MISSING.as_bytes().into(), default: None };
    let mut rows = RowText::new(vec![missing; fields], bytes_max);
    let mut at = 0;
    while at < text.len() {
        rows.clear();
        let mut defects = Vec::new();
        let taken = format.read(&text[at..], &mut rows, &mut defects);
        assert!(taken > 0, "something is taken of {:?}", &text[at..].escape_ascii().to_string());
        append(&mut rows, &defects, into, offset + at);
        at += taken;
    }
    assert_eq!(at, text.len());
}

fn append(rows: &mut RowText, defects: &[Defect], into: &mut Read, offset: usize) {
    let before = into.rows.len();
    for defect in defects {
        assert!(!defect.reason.is_empty() && !defect.remedy.is_empty(), "{defect:?}");
        let (start, end) = (defect.start as usize + offset, defect.end as usize + offset);
        into.defects.push((before + defect.row, start, end, defect.kind));
    }
    let origins: Vec<_> = (0..rows.count())
        .map(|row| {
            let fields: Vec<u32> = (0..rows.fields()).map(|column| rows.field_origin(row, column)).collect();
            (rows.record_origin(row), fields)
        })
        .collect();
    rows.seal();
    let rows = rows.rows();
    let records = reference::records(rows.text().text(), rows.dialect()).unwrap();
    assert_eq!(records.len(), rows.count());
    for (row, (record, ((start, end), fields))) in records.into_iter().zip(origins).enumerate() {
        assert_eq!(record.fields.len(), fields.len());
        let mut read = Vec::new();
        for (column, (field, origin)) in record.fields.into_iter().zip(fields).enumerate() {
            assert_eq!(rows.field(row, column), (field.start as u32, field.end as u32));
            read.push((field.value, field.quoted, origin as usize + offset));
        }
        into.rows.push(((start as usize + offset, end as usize + offset), read));
    }
}

/// Everything that `format` reads of `text` at once.
pub(crate) fn read_all(format: &dyn RecordFormat, text: &[u8], fields: usize) -> Read {
    let mut all = Read::default();
    read(format, text, fields, usize::MAX, &mut all, 0);
    all
}

/// Contents of the rows.
pub(crate) fn values(read: &Read) -> Vec<Vec<String>> {
    let text = |(value, _, _): &(Vec<u8>, bool, usize)| String::from_utf8_lossy(value).into_owned();
    read.rows.iter().map(|(_, row)| row.iter().map(text).collect()).collect()
}

/// Kinds of the defects.
pub(crate) fn kinds(read: &Read) -> Vec<DefectKind> {
    read.defects.iter().map(|defect| defect.3).collect()
}

/// Cutting `text` with `complete` anywhere, or filling rows with a record at a time, does not change what is read.
pub(crate) fn assert_cuts_do_not_matter(format: &dyn RecordFormat, text: &[u8], fields: usize, whole: &Read) {
    let mut singly = Read::default();
    read(format, text, fields, 0, &mut singly, 0);
    assert_eq!(&singly, whole, "a record at a time");
    for end in 0..text.len() {
        let cut = format.complete(&text[..end], false);
        assert!(cut <= end);
        let mut parts = Read::default();
        read(format, &text[..cut], fields, usize::MAX, &mut parts, 0);
        read(format, &text[cut..], fields, usize::MAX, &mut parts, cut);
        assert_eq!(&parts, whole, "cut at {cut} of {end}, {}", text.escape_ascii());
    }
    assert_eq!(format.complete(text, true), text.len());
}
