//! Step 4: what stands around the table (titles, `sep=`, comments, blank lines), and what all its records have in common
//! (trailing delimiters, short records, stray quotes, decimal commas).
//!
//! Lines are skipped only where they cannot be records: they have fewer fields than the table, which must have more
//! records than there are such lines.

use super::comments::{COMMENTS, are_odd};
use super::family::Family;
use super::given::Given;
use super::parse::{Cell, LineBreaks, Record, Style, Table, behind_lines, parse};
use super::sniffed::{Found, Sniffed};
use super::types::{InferredType, Reading, TypeSet, classify};
use crate::QuoteCheck;
use crate::delimited::{LongRecords, ShortRecords};

/// Records of the sample that are looked at.
const RECORDS_MAX: usize = 20_000;
/// Records that tell enough of a table.
const RECORDS_MIN: usize = 8;
/// Records below a title that it is compared with.
const LIKE_MAX: usize = 100;
/// Records that make a table of another width.
const TABLE_RECORDS_MIN: usize = 3;

/// Finds where the table begins and what its records are like.
pub(super) fn refine(sniffed: &mut Sniffed, sample: &[u8], at_end: bool, given: &Given, breaks: LineBreaks) -> Table {
    if sniffed.family.value == Family::FixedWidth {
        return fixed_table(sniffed, sample, at_end, breaks);
    }
    let parse_again = |sniffed: &Sniffed| parse(sample, at_end, &sniffed.style(), breaks, RECORDS_MAX);
    let parse_places = |sniffed: &Sniffed| {
        let places = given.places.iter();
        places.map(|place| parse(&place.text, place.at_end, &sniffed.style(), breaks, RECORDS_MAX)).collect::<Vec<_>>()
    };
    let mut parsed = parse_again(sniffed);
    if sniffed.family.value == Family::Delimited {
        if sniffed.comment.value.is_none()
            && !sniffed.comment.given
            && let Some(comment) = comment_prefix(&parsed.records)
        {
            sniffed.comment = Found::detected(Some(comment.to_vec()), "lines that begin so do not fit the others");
            parsed = parse_again(sniffed);
        }
        if !sniffed.comment.given
            && let Some((prefix, line)) = header_among_comments(sniffed, sample, at_end, given, breaks)
        {
            let reason = format!("the last of the lines that begin with {prefix} names the columns");
            sniffed.comment = Found::detected(None, reason.clone());
            sniffed.skip_lines = Found::detected(sniffed.skip_lines.value + line, reason);
            let start = behind_lines(sample, line, breaks);
            return refine(sniffed, &sample[start..], at_end, given, breaks);
        }
        let places = parse_places(sniffed);
        note_stray_quotes(sniffed, places.iter().chain([&parsed]).map(|parsed| parsed.stray.max(parsed.inside)).sum());
    }
    sniffed.lacks_records = parsed.runs_on && parsed.records.len() < RECORDS_MIN;
    let mut records = parsed.records;
    if sniffed.family.value == Family::PgText {
        records.retain(|record| !matches!(&record.cells[..], [cell] if cell.content == b"\\."));
        for cell in records.iter_mut().flat_map(|record| &mut record.cells) {
            if cell.content == b"\\N" {
                cell.content.clear();
            }
        }
    }
    let fields = usual_fields(&records, given);
    skip_titles(sniffed, &mut records, fields, given);
    skip_filled_up_titles(sniffed, &mut records, fields, given);
    if !sniffed.blank_lines.given && fields > 1 && records.iter().any(Record::is_blank) {
        // Blank lines at the very end are no records either.
        sniffed.blank_lines = Found::detected(true, "empty lines stand between the records");
    }
    if sniffed.blank_lines.value {
        records.retain(|record| !record.is_blank());
    }
    // Two tables are not one whose records are short.
    let narrow: Vec<_> = records.chunk_by(|a, b| a.cells.len() == b.cells.len()).collect();
    let is_narrow = |run: &&[Record]| run[0].cells.len() < fields;
    let reading = sniffed.reading(given);
    let has_tables = narrow.into_iter().filter(is_narrow).any(|run| has_table(run, &reading));
    let mut table: Table = records.into_iter().map(|record| record.cells).collect();
    let fields = trailing_delimiter(sniffed, &mut table, fields, given);
    let is_short = |cells: &Vec<Cell>| cells.len() < fields;
    if !sniffed.short_records.given && fields > 1 && !has_tables && table.iter().any(is_short) {
        let short = table.iter().filter(|cells| cells.len() < fields).count();
        let reason = format!("{short} records of the sample have fewer than {fields} fields");
        sniffed.short_records = Found::detected(true, reason);
    }
    for cells in &mut table {
        cells.resize(fields, Cell::default());
    }
    if fields == 0 {
        table.clear();
    }
    decimal_separator(sniffed, &table, given);
    table
}

/// The number of fields that most records have; of two as frequent ones, the larger. Where some may be short, or long, by
/// the user's word, the longest one tells, or else the header.
fn usual_fields(records: &[Record], given: &Given) -> usize {
    let rules = &given.rules;
    let mut counts = std::collections::BTreeMap::new();
    for record in records.iter().filter(|record| !record.is_blank()) {
        *counts.entry(record.cells.len()).or_insert(0_usize) += 1;
    }
    let header = records.first().filter(|_| given.header == Some(true)).map(|record| record.cells.len());
    match (rules.short_records, rules.long_records) {
        (Some(ShortRecords::Pad), None | Some(LongRecords::Reject)) => {
            return counts.into_keys().next_back().unwrap_or(0);
        }
        (_, Some(LongRecords::Truncate)) if header.is_some() => return header.unwrap_or(0),
        _ => {}
    }
    counts.into_iter().max_by_key(|&(fields, count)| (count, fields)).map_or(0, |(fields, _)| fields)
}

/// What lines begin with that cannot be records: some of them have another number of fields than the table.
fn comment_prefix(records: &[Record]) -> Option<&'static [u8]> {
    let fields = usual_fields(records, &Given::default());
    COMMENTS.into_iter().find(|prefix| {
        let begins = |record: &&Record| !record.cells[0].quoted && record.cells[0].content.starts_with(prefix);
        let count = records.iter().filter(begins).count();
        are_odd(records, prefix) && count * 2 < records.len() && (fields > 1 || *prefix == b"#")
            || fields == 1 && count > 0 && count * 2 < records.len() && typed_but_for(records, prefix)
    })
}

/// The prefix of comments and the line of the last one, if it stands right above the table, has as many fields, and names
/// columns that have no other names: as numeric programs write it.
fn header_among_comments(
    sniffed: &Sniffed,
    sample: &[u8],
    at_end: bool,
    given: &Given,
    breaks: LineBreaks,
) -> Option<(String, usize)> {
    let prefix = sniffed.comment.value.clone().filter(|_| given.skip_lines.is_none() && given.header != Some(false))?;
    let style = Style { comment: None, ..sniffed.style() };
    let records = parse(sample, at_end, &style, breaks, RECORDS_MAX).records;
    let is_comment = |record: &Record| !record.cells[0].quoted && record.cells[0].content.starts_with(&prefix[..]);
    let last = records.iter().rposition(is_comment)?;
    let fields = usual_fields(&records[last + 1..], given);
    let are_above = records[..last].iter().all(|record| is_comment(record) || record.is_blank());
    let is_header = |from: usize| {
        let fitting = records[from..].iter().filter(|record| record.cells.len() == fields);
        let table: Table = fitting.map(|record| record.cells.clone()).collect();
        super::header::is_header(&table, &sniffed.reading(given)).0
    };
    let names =
        are_above && fields > 1 && records[last].cells.len() == fields && !is_header(last + 1) && is_header(last);
    names.then(|| (String::from_utf8_lossy(&prefix).into_owned(), records[last].line))
}

/// Whether a single column has a type once lines with the prefix are left out.
fn typed_but_for(records: &[Record], prefix: &[u8]) -> bool {
    let reading = Reading::default();
    let values = records.iter().map(|record| &record.cells[0]).filter(|cell| !cell.content.starts_with(prefix));
    let set = values.skip(1).fold(TypeSet::EVERY, |set, cell| set.join(class(cell, &reading)));
    set.decide(&reading).value_type != InferredType::Text
}

fn class(cell: &Cell, reading: &Reading) -> TypeSet {
    if cell.content.is_empty() && !cell.quoted { TypeSet::EVERY } else { classify(&cell.content, cell.quoted, reading) }
}

fn note_stray_quotes(sniffed: &mut Sniffed, stray: usize) {
    if !sniffed.stray_quotes.given && sniffed.quote.value.is_some() && stray > 0 {
        let reason = format!("{stray} quotes stand inside of fields");
        sniffed.stray_quotes = Found::detected(true, reason);
        if sniffed.quote_check == QuoteCheck::Whole {
            sniffed.quote_check = QuoteCheck::Literal;
        }
    }
}

/// Leaves out what stands before the table.
fn skip_titles(sniffed: &mut Sniffed, records: &mut Vec<Record>, fields: usize, given: &Given) {
    if given.skip_lines.is_some() {
        return;
    }
    let reading = sniffed.reading(given);
    // The title of a table of one column cannot be told from its header.
    let fits = |record: &Record| record.cells.len() == fields && fields > 1 && !record.is_blank();
    let first = records.iter().position(fits).unwrap_or(0);
    let begins_header = || {
        let fitting = records[first..].iter().filter(|record| record.cells.len() == fields);
        super::header::is_header(&fitting.map(|record| record.cells.clone()).collect::<Table>(), &reading).0
    };
    let has_wide = records[..first].iter().any(|record| record.cells.len() > fields);
    let is_title = |record: &Record| record.is_blank() || record.cells.len() != fields;
    let titles = records[..first].iter().filter(|record| !record.is_blank()).count();
    let table = records[first..].iter().filter(|record| record.cells.len() == fields).count();
    let odd_header =
        titles == 1 && fields > 2 && records[..first].iter().any(|record| record.cells.len() + 1 == fields);
    if first == 0 || !records[..first].iter().all(is_title) || titles >= table || odd_header {
        return;
    }
    // What has more fields than the table may be its header, and what is a table of its own is no title.
    if has_wide && !begins_header() || has_table(&records[..first], &reading) {
        return;
    }
    // A short record is where the table begins.
    let below: Table = records[first..].iter().take(LIKE_MAX).map(|record| record.cells.clone()).collect();
    let first = records[..first].iter().position(|record| is_like(record, &below, &reading)).unwrap_or(first);
    if first == 0 {
        return;
    }
    let lines = sniffed.skip_lines.value + records[first].line;
    sniffed.skip_lines = Found::detected(lines, "lines before the table have fewer fields");
    records.drain(..first);
}

/// Whether some of the records that follow each other are a table: a header and values below it, all as wide.
fn has_table(records: &[Record], reading: &Reading) -> bool {
    let runs = records.chunk_by(|a, b| a.cells.len() == b.cells.len());
    runs.filter(|run| run.len() >= TABLE_RECORDS_MIN && run[0].cells.len() > 1).any(|run| {
        let table: Table = run.iter().map(|record| record.cells.clone()).collect();
        super::header::is_header(&table, reading).0
            || (0..table[0].len()).any(|column| type_of(&table, column, reading).is_some())
    })
}

/// The type that all values of a column have, if it is one that texts rarely have.
fn type_of(table: &Table, column: usize, reading: &Reading) -> Option<TypeSet> {
    let values = table.iter().filter_map(|cells| cells.get(column));
    let types = values.fold(TypeSet::EVERY, |set, cell| set.join(class(cell, reading)));
    Some(types).filter(|types| types.decide(reading).value_type != InferredType::Text)
}

/// Whether a record above a table has the values of one, if fewer: it has a value wherever a column has a type, and of
/// that type.
fn is_like(record: &Record, below: &Table, reading: &Reading) -> bool {
    let values = record.cells.iter().enumerate().filter(|(_, cell)| !cell.content.is_empty());
    let typed = values.filter_map(|(column, cell)| {
        let types = type_of(below, column, reading)?.join(class(cell, reading));
        Some(types.decide(reading).value_type != InferredType::Text)
    });
    let fitting: Vec<bool> = typed.collect();
    !fitting.is_empty() && fitting.into_iter().all(|fits| fits)
}

/// Leaves out titles that were filled up with delimiters, as spreadsheets do: records with nothing but a first cell, or
/// nothing at all, above one that is a header only if they are no records.
fn skip_filled_up_titles(sniffed: &mut Sniffed, records: &mut Vec<Record>, fields: usize, given: &Given) {
    if given.skip_lines.is_some() || given.header == Some(false) || fields < 3 {
        return;
    }
    let is_empty = |cell: &Cell| !cell.quoted && cell.content.is_empty();
    let is_title = |record: &Record| record.cells.len() == fields && record.cells[1..].iter().all(is_empty);
    let first = records.iter().position(|record| !is_title(record)).unwrap_or(0);
    if first == 0 || first * 2 > records.len() {
        return;
    }
    let header = &records[first];
    let names = header.cells.iter().filter(|cell| !is_empty(cell)).count();
    let fitting = records[first..].iter().filter(|record| record.cells.len() == fields);
    let below: Table = fitting.map(|record| record.cells.clone()).collect();
    let is_header = super::header::is_header(&below, &sniffed.reading(given)).0;
    if header.cells.len() != fields || names + 1 < fields || !is_header {
        return;
    }
    let lines = sniffed.skip_lines.value + header.line;
    sniffed.skip_lines = Found::detected(lines, "lines before the header have one field that is not empty, or none");
    records.drain(..first);
}

/// Cuts the empty field behind a delimiter at the end of every record; returns the number of fields that are left.
fn trailing_delimiter(sniffed: &mut Sniffed, table: &mut Table, fields: usize, given: &Given) -> usize {
    let is_empty = |cell: &Cell| !cell.quoted && cell.content.is_empty();
    let ends_empty = |cells: &Vec<Cell>| cells.len() > 1 && cells.last().is_some_and(is_empty);
    // A short record may end with one, too.
    let trails = |cells: &Vec<Cell>| cells.len() <= fields && ends_empty(cells);
    let all = fields > 1
        && table.iter().any(|cells| cells.len() == fields && trails(cells))
        // A header may lack the last delimiter, and so may a record at the end; one that is too long is none.
        && table.iter().enumerate().all(|(row, cells)| {
            let is_last = row + 1 == table.len() && cells.len() < fields;
            trails(cells)
                || row == 0 && (cells.len() + 1 == fields || ends_empty(cells) && !begins_with_names(sniffed, table, fields, given))
                || row > 0 && (cells.len() > fields || is_last)
        });
    if sniffed.family.value != Family::Delimited
        || !(all && given.trailing_delimiter.is_none() || sniffed.trailing_delimiter.value)
    {
        return fields;
    }
    if given.trailing_delimiter.is_none() {
        sniffed.trailing_delimiter = Found::detected(true, "every record of the sample ends with one");
    }
    if !all {
        return fields;
    }
    for cells in table {
        if trails(cells) {
            cells.pop();
        }
        cells.truncate(fields - 1);
    }
    fields - 1
}

/// Whether the first record names columns, as far as there are `fields` of them.
fn begins_with_names(sniffed: &Sniffed, table: &Table, fields: usize, given: &Given) -> bool {
    let wide = table.iter().filter(|cells| cells.len() >= fields).map(|cells| cells[..fields].to_vec());
    given.header.unwrap_or_else(|| super::header::is_header(&wide.collect::<Table>(), &sniffed.reading(given)).0)
}

/// Tells decimal commas: a column is a number with them and is none without, and a comma does not only stand before
/// three digits, as it would between thousands.
fn decimal_separator(sniffed: &mut Sniffed, table: &Table, given: &Given) {
    if given.decimal_separator.is_some()
        || sniffed.delimiter.value == b"," && !table.iter().flatten().any(|cell| cell.quoted)
    {
        return;
    }
    let columns = table.first().map_or(0, Vec::len);
    if columns < 2 && given.delimiter.is_none() {
        // The comma may stand between two columns, too.
        return;
    }
    // That points group digits has to show: `5.555` alone may be either.
    let is_grouped = table.iter().flatten().any(|cell| is_grouped(&cell.content));
    let values = |column: usize| table.iter().skip(1).map(move |cells| &cells[column]);
    let decided = |column, reading: &Reading| {
        let set = values(column).fold(TypeSet::EVERY, |set, cell| set.join(class(cell, reading)));
        set.decide(reading).value_type
    };
    let comma =
        Reading { decimal_separator: b',', thousands_separator: given.thousands_separator, ..Reading::default() };
    let grouped = Reading { thousands_separator: Some(b'.'), ..comma.clone() };
    let is_number = |found| matches!(found, InferredType::Decimal { .. } | InferredType::Double);
    let mut thousands = false;
    let mut proven = false;
    let mut contradicted = false;
    for column in 0..columns {
        let commas = values(column).any(|cell| cell.content.contains(&b','));
        if commas && values(column).any(|cell| is_decimal_comma(&cell.content)) {
            if is_number(decided(column, &comma)) {
                proven = true;
            } else if given.thousands_separator.is_none() && is_grouped && is_number(decided(column, &grouped)) {
                (proven, thousands) = (true, true);
            }
        }
        contradicted |=
            !commas && is_number(decided(column, &Reading::default())) && !is_number(decided(column, &grouped));
    }
    if proven && !contradicted {
        sniffed.decimal_separator =
            Found::detected(b',', "numbers have one comma, and not always three digits behind it");
        if thousands {
            sniffed.thousands_separator = Found::detected(Some(b'.'), "points stand before groups of three digits");
        }
    }
}

/// Whether points in a number can only stand between thousands: there is a comma behind them, or there are several.
fn is_grouped(content: &[u8]) -> bool {
    let content = content.trim_ascii();
    let digits = content.strip_prefix(b"-").unwrap_or(content);
    let integer = digits.split(|byte| *byte == b',').next().unwrap_or(digits);
    let groups: Vec<&[u8]> = integer.split(|byte| *byte == b'.').collect();
    let [first, rest @ ..] = &groups[..] else { return false };
    let is_number = |group: &&[u8]| group.iter().all(u8::is_ascii_digit);
    matches!(first.len(), 1..=3)
        && groups.iter().all(is_number)
        && rest.iter().all(|group| group.len() == 3)
        && (rest.len() > 1 || rest.len() == 1 && integer.len() < digits.len())
}

/// Whether the comma in a number cannot stand between thousands.
fn is_decimal_comma(content: &[u8]) -> bool {
    let content = content.trim_ascii();
    let content = content.strip_prefix(b"-").unwrap_or(content);
    let mut parts = content.split(|byte| *byte == b',');
    let (Some(integer), Some(fraction), None) = (parts.next(), parts.next(), parts.next()) else { return false };
    !fraction.is_empty()
        && (fraction.len() != 3
            || integer == b"0"
            || integer.is_empty()
            || integer.contains(&b'.')
            || integer.len() > 3)
}

/// The fields of every line of a text of fixed width, blanks around them taken away.
fn fixed_table(sniffed: &Sniffed, sample: &[u8], at_end: bool, breaks: LineBreaks) -> Table {
    let style = Style::default();
    let lines = parse(sample, at_end, &style, breaks, RECORDS_MAX).records;
    let cut = |record: &Record| {
        let text: Vec<char> = String::from_utf8_lossy(&record.cells[0].content).chars().collect();
        let widths = sniffed.widths.iter().enumerate();
        widths
            .map(|(index, &(start, end))| {
                // Up to where the next field begins, since the sample may not have the longest value.
                let next = sniffed.widths.get(index + 1).map_or(usize::MAX, |next| next.0);
                let end = if sniffed.rules.places.is_some() { end } else { next.max(end) };
                let field: String = text.iter().skip(start).take(end - start).collect();
                Cell { content: field.trim().as_bytes().to_vec(), quoted: false }
            })
            .collect()
    };
    lines.iter().filter(|record| !record.is_blank()).map(cut).collect()
}
