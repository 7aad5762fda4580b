//! Detection against the truth: texts in all dialects, with whatever makes them hard far behind any sample, are read as
//! they were written or refused with a line and a remedy. Never is there a row or a value that nobody wrote.
//!
//! `LONGSHORE_DETECT=1` makes more and larger ones: up to a million records, fields of 100 MB.
//! `LONGSHORE_DETECT_SEED` and `LONGSHORE_DETECT_SEEDS` say which seed is the first, and how many there are.

mod truth;

use std::collections::BTreeMap;

use longshore_load::{Kernel, Mode, Tuning};
use longshore_testing::{Random, share};

use crate::harness::Machine;
use crate::harness::infer::{file, on_request, request};
use truth::{Before, Hazard, Special, Style, Table};

/// Records of a text; the larger ones only where they are asked for.
const RECORDS: [usize; 8] = [10, 10, 50, 300, 401, 1_000, 3_000, 20_000];
const RECORDS_LONG: [usize; 9] = [10, 50, 300, 401, 1_000, 20_000, 100_000, 300_000, 1_000_000];

fn is_long() -> bool {
    std::env::var_os("LONGSHORE_DETECT").is_some()
}

/// What may become of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// It is read.
    Rows,
    /// It is read, or refused.
    RowsOrRefusal,
    /// It is refused.
    Refusal,
}

struct Case {
    style: Style,
    hazard: Hazard,
    table: Table,
    text: String,
    expected: Expected,
}

fn style(random: &mut Random) -> Style {
    let delimiter = random.pick(&[",", ",", ",", ";", ";", "\t", "\t", "|", "|", " ", "^", "~", "\u{1}", "||", "::"]);
    let quote = random.pick(&[Some('"'), Some('"'), Some('"'), Some('\''), None]);
    let is_usual = matches!(delimiter, "," | ";" | "\t" | "|");
    Style {
        delimiter,
        quote,
        escape: if quote.is_some() && random.once_in(4) { Some('\\') } else { None },
        line_end: random.pick(&["\n", "\n", "\r\n"]),
        header: !random.once_in(3),
        trailing_delimiter: is_usual && random.once_in(10),
        before: if delimiter == " " {
            Before::Nothing
        } else {
            random.pick(&[Before::Nothing, Before::Nothing, Before::Nothing, Before::Title, Before::TitleAndBlankLine])
        },
        comments: is_usual && random.once_in(8),
        ended: !random.once_in(4),
    }
}

fn case(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let mut style = style(&mut random);
    let records = if is_long() { random.pick(&RECORDS_LONG) } else { random.pick(&RECORDS) };
    let at = match random.below(5) {
        0 => 0,
        1 => records - 1,
        2 => records / 2,
        3 => 400.min(records - 1),
        _ => random.below(records),
    };
    let hazard = match random.below(12) {
        0 => Hazard::None,
        1..=5 => {
            let specials = [Special::Delimiter, Special::LineEnd, Special::Quotes, Special::Plain, Special::Stray];
            Hazard::FirstQuote(at, random.pick(&specials))
        }
        6 => Hazard::Apostrophes,
        7 => Hazard::Cut,
        8 => Hazard::Short(at),
        9 => Hazard::Long(at),
        // Two records may be a preamble.
        10 => Hazard::OtherTable(at.max(3)),
        _ => {
            let bytes = random.pick(&[1 << 10, 60 << 10, 300 << 10, 2 << 20]);
            Hazard::Large(at, if is_long() && random.once_in(8) { 100 << 20 } else { bytes })
        }
    };
    let needs_quote = matches!(
        hazard,
        Hazard::Cut
            | Hazard::Large(..)
            | Hazard::FirstQuote(_, Special::Delimiter | Special::LineEnd | Special::Quotes | Special::Plain)
    );
    if needs_quote && style.quote.is_none() {
        style.quote = Some('"');
    }
    // Apostrophes around a word may be a part of it; nothing tells.
    if matches!(hazard, Hazard::FirstQuote(_, Special::Plain | Special::Quotes)) {
        style.quote = Some('"');
    }
    // Quotes tell of a comma, but two words that a blank joins are as many fields.
    let has_words =
        matches!(hazard, Hazard::Apostrophes | Hazard::OtherTable(_) | Hazard::FirstQuote(_, Special::Stray));
    if style.delimiter == " " && has_words {
        style.delimiter = ",";
    }
    let mut table = Table::random(&mut random, records);
    table.prepare(hazard, &style, &mut random);
    let text = table.write(hazard, &style, &mut random);
    let expected = match hazard {
        Hazard::None | Hazard::Apostrophes | Hazard::FirstQuote(..) | Hazard::Large(..) => Expected::Rows,
        Hazard::Cut | Hazard::OtherTable(_) => Expected::Refusal,
        Hazard::Short(_) | Hazard::Long(_) => Expected::RowsOrRefusal,
    };
    Case { style, hazard, table, text, expected }
}

/// Some machines: every kernel now and then, 1, 2 and 7 threads, mapped files and streams.
fn machines(random: &mut Random, count: usize) -> Vec<Machine> {
    let kernels = Kernel::available();
    let machine = |random: &mut Random, threads: usize| {
        let span_bytes = random.pick(&[None, None, Some(5_000), Some(100_000)]);
        let tuning = Tuning { kernel: random.pick(&kernels), span_bytes, ..Tuning::new(threads) };
        Machine { tuning, mode: Mode::Exact, stream: random.once_in(3) }
    };
    [1, 2, 7].into_iter().take(count).map(|threads| machine(random, threads)).collect()
}

/// What is wrong with what became of a text, if anything.
fn judge(case: &Case, outcome: &Result<(String, String), String>) -> Option<String> {
    match outcome {
        Ok((columns, rows)) => {
            let expected = case.table.dump();
            let is_padded = matches!(case.hazard, Hazard::Short(record)
                if *rows == without_last_field(&case.table, record));
            // Words between blanks may be a text of lines.
            let lines = case.text.lines().count();
            let is_lines = case.style.delimiter == " " && columns.ends_with("TEXT") && !columns.contains(',');
            if is_lines && lines.abs_diff(rows_of(rows)) <= 1 {
                return None;
            }
            if case.expected == Expected::Refusal {
                return Some(format!("it is read as {columns}"));
            }
            if *rows == expected || is_padded {
                return None;
            }
            let differing = rows.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
            Some(format!("it is read as {columns}, {} rows; {differing:?}", rows.lines().count()))
        }
        Err(message) => {
            let acts = ["set ", "check ", "close ", "double ", "quote ", "end every"];
            if !message.contains("line ") || !acts.iter().any(|act| message.contains(act)) {
                return Some(format!("no line or remedy: {message}"));
            }
            (case.expected == Expected::Rows).then(|| format!("it is refused: {message}"))
        }
    }
}

/// Lines of a dump, of texts that have none in them.
fn rows_of(dump: &str) -> usize {
    dump.lines().count()
}

/// The rows where one record lacks its last field.
fn without_last_field(table: &Table, record: usize) -> String {
    let dump = table.dump();
    let mut lines: Vec<String> = dump.lines().map(str::to_owned).collect();
    if let Some(line) = lines.get_mut(record) {
        let end = line.rfind(",\"").map_or(0, |at| at + 1);
        line.truncate(end);
    }
    lines.join("\n") + "\n"
}

/// Whether the outcome is one that nobody may ever see: rows that nobody wrote, or a refusal that helps nobody.
fn is_grave(case: &Case, outcome: &Result<(String, String), String>, problem: &str) -> bool {
    outcome.is_ok() || problem.starts_with("no line") || case.expected == Expected::Refusal
}

/// Tells the seed when something panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

#[test]
fn no_dialect_makes_rows_up() {
    // Under AddressSanitizer each takes ten times as long.
    let is_slow = std::env::var_os("ASAN_OPTIONS").is_some();
    let given = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let usual = if is_long() { 6_000 } else { share(if is_slow { 100 } else { 400 }) as u64 };
    let seeds = given("LONGSHORE_DETECT_SEEDS").unwrap_or(usual);
    let first = given("LONGSHORE_DETECT_SEED").unwrap_or(0);
    let (mut refused, mut grave) = (Vec::new(), Vec::new());
    let mut kinds: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for seed in first..first + seeds {
        let case = case(seed);
        let dump = std::env::var_os("LONGSHORE_DETECT_DUMP");
        if let Some(path) = &dump {
            std::fs::write(path, &case.text).expect("written");
        }
        let _seed = Seed(seed);
        let file = file(case.text.as_bytes());
        let mut random = Random::new(seed ^ 0xABCD);
        let count = if case.table.rows.len() > 3_000 { 1 } else { 3 };
        let mut outcomes = machines(&mut random, count)
            .into_iter()
            .map(|machine| (on_request(&machine, file.path(), &request(&machine.tuning)), machine));
        let (outcome, _) = outcomes.next().expect("a machine");
        for (other, machine) in outcomes {
            assert_eq!(outcome, other, "seed {seed}, {machine:?}");
        }
        let name = format!("{:?}", case.hazard);
        if dump.is_some() {
            println!("seed {seed}: {:.1000?}", outcome.as_ref().map(|(columns, _)| columns));
            return;
        }
        let kind = kinds.entry(name.split('(').next().unwrap_or_default().to_owned()).or_default();
        kind.0 += 1;
        if let Some(problem) = judge(&case, &outcome) {
            kind.1 += 1;
            let head: Vec<_> = case.text.lines().take(4).map(|line| format!("    {line:.100?}")).collect();
            let Case { style, hazard, table, .. } = &case;
            let told = format!("seed {seed}: {table}; {style:?}; {hazard:?}\n  {problem:.400}\n{}", head.join("\n"));
            if is_grave(&case, &outcome, &problem) { grave.push(told) } else { refused.push(told) }
        }
    }
    println!("{kinds:?}");
    println!("refused without need: {}\n{}", refused.len(), refused.join("\n"));
    assert!(grave.is_empty(), "{} texts are read otherwise than they were written:\n{}", grave.len(), grave.join("\n"));
    assert!(refused.len() as u64 * 50 <= seeds, "{} texts are refused without need", refused.len());
}
