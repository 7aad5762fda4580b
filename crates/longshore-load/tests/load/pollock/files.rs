//! The polluted files: one clean table, and what befalls it.
//!
//! The kinds of pollution, and how often each was found in 3,712 files of open data portals (the weights), are those of
//! G. Vitagliano, M. Hameed, L. Jiang, L. Reisener, E. Wu and F. Naumann, "Pollock: A Data Loading Benchmark", VLDB 2023.
//! The table, its text and what is right to expect of each file are our own:
//!
//! - Quotes that are not the dialect's are text of their cell; where a separator is lacking between two cells they are
//!   one, which holds both; where there is one too many, there is an empty cell.
//! - A record has the cells that its line has: padding or cutting it counts as wrong, as it does in the paper.
//! - Lines before the header, a second line of it, and empty lines are no records. The header of a second table is part
//!   of the header, its rows are records.

/// A cell, and whether its text is quoted even where that is not needed.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    value: String,
    quoted: bool,
}

/// How a file is written.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) delimiter: &'static str,
    pub(crate) quote: u8,
    pub(crate) escape: Option<u8>,
    line_end: &'static str,
}

const USUAL: Style = Style { delimiter: ",", quote: b'"', escape: Some(b'"'), line_end: "\r\n" };

/// A polluted file, and what is to be expected of it.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) weight: f64,
    pub(crate) text: String,
    pub(crate) style: Style,
    /// Lines before the first record, with those of the header.
    pub(crate) lines_before: u64,
    /// The cells of all headers.
    pub(crate) header: Vec<String>,
    /// Columns that someone who knows the file would name.
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

const NAMES: [&str; 9] =
    ["DATE", "TIME", "Qty", "PRODUCTID", "Price", "ProductType", "ProductDescription", "URL", "Comments"];

const ROWS: usize = 83;

fn cell(value: impl Into<String>, quoted: bool) -> Cell {
    Cell { value: value.into(), quoted }
}

/// The header and the rows of the clean table.
fn table() -> Vec<Vec<Cell>> {
    let kinds = ["Trail Boots", "Round Table, 48\"", "Kids' Hat", "Pillow, Wooden", "Tee, 10\" Inseam", "Men's Vest"];
    let mut lines = vec![NAMES.iter().map(|name| cell(*name, matches!(*name, "ProductDescription" | "URL"))).collect()];
    for row in 0..ROWS {
        let kind = kinds[row % kinds.len()];
        let description = match row % 4 {
            0 => format!("Made for every weather, light and quick; number {row}."),
            1 => format!("The best of {row}: soft, warm, and it won't let you down."),
            2 => format!("An easy fit with 9\" of length, washed {row} times."),
            _ => format!("Sturdy and plain, article {row}"),
        };
        lines.push(vec![
            cell(format!("{:02}/{:02}/2018", 1 + row % 28, 1 + row / 28), false),
            cell(format!("{:02}:{:02}", row % 24, row * 15 % 60), false),
            cell((row * 7 % 30).to_string(), false),
            cell(format!("{}-{}", ["MG", "RI", "CC", "YY"][row % 4], 1000 + row * 37), false),
            cell(format!("${}.{:02}", row * 13 % 90, row * 29 % 100), false),
            cell(kind, false),
            cell(description, true),
            cell(format!("https://www.example.com/product/{row}.html"), true),
            cell("", false),
        ]);
    }
    lines
}

fn write_cell(cell: &Cell, style: &Style, text: &mut String) {
    let quote = char::from(style.quote);
    let first = style.delimiter.chars().next().unwrap_or(',');
    if !cell.quoted && !cell.value.contains([quote, first, '\n']) {
        text.push_str(&cell.value);
        return;
    }
    let inner = match style.escape {
        Some(escape) if escape != style.quote => {
            let escape = char::from(escape);
            cell.value.replace(escape, &format!("{escape}{escape}")).replace(quote, &format!("{escape}{quote}"))
        }
        Some(_) => cell.value.replace(quote, &format!("{quote}{quote}")),
        None => cell.value.clone(),
    };
    text.extend([quote]);
    text.push_str(&inner);
    text.extend([quote]);
}

fn line(cells: &[Cell], style: &Style) -> String {
    let mut text = String::new();
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            text.push_str(style.delimiter);
        }
        write_cell(cell, style, &mut text);
    }
    text
}

fn values(cells: &[Cell]) -> Vec<String> {
    cells.iter().map(|cell| cell.value.clone()).collect()
}

fn names() -> Vec<String> {
    NAMES.iter().map(|name| (*name).to_owned()).collect()
}

/// A file of these lines, the first of them a header.
fn file(name: &str, weight: f64, lines: &[Vec<Cell>], style: Style) -> File {
    let text = lines.iter().map(|cells| line(cells, &style) + style.line_end).collect();
    File {
        name: name.to_owned(),
        weight,
        text,
        style,
        lines_before: 1,
        header: names(),
        columns: names(),
        rows: lines[1..].iter().map(|cells| values(cells)).collect(),
    }
}

/// All files of the kinds of which there are few, and one of `step` of the others, which weigh as much as all of these.
pub(crate) fn files(step: usize) -> Vec<File> {
    let table = table();
    let usual = |name: &str, weight: f64| file(name, weight, &table, USUAL);
    let styled = |name: &str, weight: f64, change: &dyn Fn(&mut Style)| {
        let mut style = USUAL;
        change(&mut style);
        file(name, weight, &table, style)
    };
    let empty =
        File { text: String::new(), header: vec![], rows: vec![], lines_before: 0, ..usual("file_no_payload", 15.0) };
    let mut files = vec![usual("source", 1.0), empty];
    let mut no_end = usual("file_no_trailing_newline", 184.0);
    no_end.text.truncate(no_end.text.len() - 2);
    files.push(no_end);
    let mut two_ends = usual("file_double_trailing_newline", 5.0);
    two_ends.text.push_str("\r\n");
    files.push(two_ends);
    let mut no_header = usual("file_no_header", 470.0);
    no_header.text.drain(..=no_header.text.find('\n').unwrap_or(0));
    (no_header.lines_before, no_header.header) = (0, vec![]);
    files.push(no_header);
    for more in [1, 2] {
        let mut multi = usual(&format!("file_header_multirow_{}", more + 1), 47.0);
        let second: Vec<Cell> =
            NAMES.iter().map(|name| cell(format!("{} ({more})", name.to_lowercase()), false)).collect();
        let at = multi.text.find('\n').map_or(0, |at| at + 1);
        multi.text.insert_str(at, &(line(&second, &USUAL) + "\r\n").repeat(more));
        multi.lines_before += more as u64;
        files.push(multi);
    }
    let mut preamble = usual("file_preamble", 282.0);
    preamble.text.insert_str(0, "PREAMBLE,,,,,,,,\r\n,,,,,,,,\r\n");
    preamble.lines_before += 2;
    files.push(preamble);
    for (kind, columns) in [("less", 5), ("same", 9), ("more", 12)] {
        files.push(two_tables(usual(&format!("file_multitable_{kind}"), 188.0 / 3.0), columns));
    }
    files.push(file("file_header_only", 3.0, &table[..1], USUAL));
    files.push(file("file_one_data_row", 4.0, &table[..2], USUAL));
    files.push(styled("file_record_delimiter_cr", 7.0, &|style| style.line_end = "\r"));
    files.push(styled("file_record_delimiter_lf", 1691.0, &|style| style.line_end = "\n"));
    files.push(styled("file_field_delimiter_tab", 4.0, &|style| style.delimiter = "\t"));
    files.push(styled("file_field_delimiter_semicolon", 834.0, &|style| style.delimiter = ";"));
    files.push(styled("file_field_delimiter_blank", 4.0, &|style| style.delimiter = " "));
    files.push(styled("file_field_delimiter_comma_blank", 101.0, &|style| style.delimiter = ", "));
    files.push(styled("file_quotation_char_single", 11.0, &|style| {
        (style.quote, style.escape) = (b'\'', Some(b'\''));
    }));
    files.push(styled("file_escape_char_backslash", 1.0, &|style| style.escape = Some(b'\\')));
    files.push(styled("file_escape_char_none", 7.0, &|style| style.escape = None));
    for place in (0..table.len() * NAMES.len()).step_by(step) {
        let (row, column) = (place / NAMES.len(), place % NAMES.len());
        let polluted = [
            fewer_separators(&table, row, column),
            more_separators(&table, row, column),
            extra_quote(&table, row, column),
        ];
        files.extend(polluted.map(|file| File { weight: file.weight * step as f64, ..file }));
    }
    files
}

/// With a table of so many columns below an empty line.
fn two_tables(mut first: File, columns: usize) -> File {
    let header: Vec<Cell> = (0..columns).map(|column| cell(format!("OTHER{column}"), false)).collect();
    first.text += &format!("\r\n{}\r\n", line(&header, &USUAL));
    first.header.extend(values(&header));
    for row in 0..10 {
        let cells: Vec<Cell> = (0..columns).map(|column| cell(format!("v{row}x{column}"), false)).collect();
        first.text += &format!("{}\r\n", line(&cells, &USUAL));
        first.rows.push(values(&cells));
    }
    first
}

/// With the text of one line and its cells changed.
fn with_line(name: &str, weight: f64, table: &[Vec<Cell>], row: usize, text: &str, cells: Vec<String>) -> File {
    let mut file = file(name, weight, table, USUAL);
    let written =
        |(index, cells): (usize, &Vec<Cell>)| if index == row { text.to_owned() } else { line(cells, &USUAL) };
    file.text = table.iter().enumerate().map(|line| written(line) + "\r\n").collect();
    if let Some(row) = row.checked_sub(1) {
        file.rows[row] = cells;
        return file;
    }
    file.header.clone_from(&cells);
    file.columns = cells;
    // Rows have nine cells, whatever the header says.
    file.columns.extend((file.columns.len()..NAMES.len()).map(|column| format!("column{}", column + 1)));
    file
}

/// Without the separator before a cell; before the first one there is none.
fn fewer_separators(table: &[Vec<Cell>], row: usize, column: usize) -> File {
    let cells = &table[row];
    let mut expected = values(cells);
    let mut text = line(cells, &USUAL);
    if column > 0 {
        text = format!("{}{}", line(&cells[..column], &USUAL), line(&cells[column..], &USUAL));
        // Two quotes side by side are one.
        let glue = if cells[column - 1].quoted && cells[column].quoted { "\"" } else { "" };
        let right = expected.remove(column);
        expected[column - 1] = format!("{}{glue}{right}", expected[column - 1]);
    }
    with_line(&format!("row_less_sep_{row}_{column}"), LESS_OR_MORE, table, row, &text, expected)
}

/// With a second separator before a cell.
fn more_separators(table: &[Vec<Cell>], row: usize, column: usize) -> File {
    let mut cells = table[row].clone();
    cells.insert(column, cell("", false));
    with_line(&format!("row_more_sep_{row}_{column}"), LESS_OR_MORE, table, row, &line(&cells, &USUAL), values(&cells))
}

/// With a quote before a cell.
fn extra_quote(table: &[Vec<Cell>], row: usize, column: usize) -> File {
    let cells = &table[row];
    let before = if column == 0 { String::new() } else { line(&cells[..column], &USUAL) + "," };
    let text = format!("{before}\"{}", line(&cells[column..], &USUAL));
    let mut expected = values(cells);
    expected[column].insert(0, '"');
    with_line(&format!("row_extra_quote_{row}_{column}"), 7.0 / 756.0, table, row, &text, expected)
}

/// Files of the survey with records of another number of cells, for each file here.
const LESS_OR_MORE: f64 = 260.0 / 707.0;
