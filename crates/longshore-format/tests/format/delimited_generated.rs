//! Delimited text: generated text against the slow twin and against plain CSV.

use crate::common::{assert_cuts_do_not_matter, kinds, read_all, values};
use crate::delimited::{compared, options};
use longshore_csv::{Dialect, reference as csv};
use longshore_format::delimited::{
    Delimited, DelimitedOptions, Escape, EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes,
};
use longshore_format::{LineEnds, QuoteCheck};
use longshore_testing::Random;

/// A random language.
fn random_options(random: &mut Random) -> DelimitedOptions {
    loop {
        let rule = [EscapeRule::Quotes, EscapeRule::Everything, EscapeRule::Letters][random.below(3)];
        let options = DelimitedOptions {
            delimiter: random
                .pick(&[",", ";", "||", ", ", " | ", "\t", "€", "ab", "\x1f", ",", "\0", "--,"])
                .to_owned(),
            quote: [Some(b'"'), Some(b'"'), Some(b'\''), None][random.below(4)],
            escape: random.once_in(2).then(|| Escape { byte: [b'\\', b'^'][random.below(2)], rule }),
            comment: random.once_in(4).then(|| random.pick(&["#", "//", "--", "a"]).to_owned()),
            skip_blank_lines: random.once_in(3),
            line_ends: [LineEnds::Standard, LineEnds::Any][random.below(2)],
            trailing_delimiter: random.once_in(3),
            short_records: [ShortRecords::Reject, ShortRecords::Pad][random.below(2)],
            long_records: [LongRecords::Reject, LongRecords::Truncate, LongRecords::TruncateEmpty][random.below(3)],
            stray_quotes: [StrayQuotes::Toggle, StrayQuotes::Error, StrayQuotes::Literal][random.below(3)],
            trim: random.once_in(3),
            nul: [NulBytes::Keep, NulBytes::Error, NulBytes::Strip][random.below(3)],
            null_texts: vec![b"\\N".as_slice().into()],
            record_bytes_max: if random.once_in(10) { 8 } else { 1000 },
            quote_check: [QuoteCheck::Off, QuoteCheck::Whole, QuoteCheck::Literal][random.below(3)],
        };
        let quote_check =
            if options.quote.is_none() && random.once_in(2) { QuoteCheck::Unquoted } else { QuoteCheck::Off };
        let options =
            DelimitedOptions { quote_check: options.quote.map_or(quote_check, |_| options.quote_check), ..options };
        if Delimited::new(options.clone()).is_ok() {
            return options;
        }
    }
}

/// A random text whose special bytes are mostly those of the language.
fn random_text(random: &mut Random, options: &DelimitedOptions) -> Vec<u8> {
    let delimiter = options.delimiter.as_bytes();
    let quote = options.quote.map_or(vec![], |quote| vec![quote]);
    let quoted = [&quote[..], b"x", &quote[..], delimiter].concat();
    let escape = options.escape.map_or(vec![], |escape| vec![escape.byte]);
    let comment = options.comment.as_deref().unwrap_or("").as_bytes();
    let rare: [&[u8]; 12] = [
        &escape,
        &quote,
        comment,
        b"\r\n",
        b"\r",
        b"\n\n",
        b"\\N",
        b"\"",
        b"\x1f",
        b"\0",
        &delimiter[..1],
        "é".as_bytes(),
    ];
    let frequent: [&[u8]; 8] = [delimiter, delimiter, b"\n", b" ", b"abc", b"1", &quote, &quoted];
    let odds = [2, 5, 50][random.below(3)];
    let count = [8, 40][random.below(2)];
    (0..count)
        .flat_map(|_| if random.once_in(odds) { random.pick(&rare) } else { random.pick(&frequent) }.to_vec())
        .collect()
}

#[test]
fn generated_text_is_read_as_the_twin_reads_it_wherever_it_is_cut() {
    let mut random = Random::new(7);
    for _ in 0..15_000 {
        let options = random_options(&mut random);
        let text = random_text(&mut random, &options);
        let fields = 1 + random.below(3);
        let whole = compared(&options, fields, &text);
        let format = Delimited::new(options).unwrap();
        assert_cuts_do_not_matter(&format, &text, fields, &whole);
    }
}

#[test]
fn what_a_dialect_can_say_is_read_as_plain_csv() {
    let mut random = Random::new(8);
    let mut compared_records = 0;
    for _ in 0..10_000 {
        let (quote, escape) = [(Some(b'"'), None), (Some(b'\''), Some(b'\\')), (None, None)][random.below(3)];
        let dialect = Dialect::new(b',', quote, escape).unwrap();
        let options = options(|options| {
            options.quote = quote;
            options.escape = escape.map(|byte| Escape { byte, rule: EscapeRule::Quotes });
        });
        let text = random_text(&mut random, &options);
        let Ok(right) = csv::records(&text, &dialect) else { continue };
        let right: Vec<(usize, usize, Vec<Vec<u8>>)> = right
            .into_iter()
            .map(|record| (record.start, record.end, record.fields.into_iter().map(|field| field.value).collect()))
            .collect();
        let fields = right.iter().map(|record| record.2.len()).max().unwrap_or(1);
        let format = Delimited::new(DelimitedOptions { short_records: ShortRecords::Pad, ..options }).unwrap();
        let read = read_all(&format, &text, fields);
        let found: Vec<(usize, usize, Vec<Vec<u8>>)> = read
            .rows
            .into_iter()
            .map(|((start, end), row)| {
                let values = row.into_iter().map(|(value, _, _)| value);
                (start, end, values.filter(|value| value != crate::common::MISSING.as_bytes()).collect())
            })
            .collect();
        assert_eq!((found, read.defects), (right, Vec::new()));
        compared_records += 1;
    }
    assert!(compared_records > 1000);
}

#[test]
fn csv_spectrum_is_read_as_plain_csv() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/csv/spectrum/csvs"));
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        let right = csv::records(&text, &Dialect::default()).unwrap();
        let fields = right[0].fields.len();
        let read = compared(&DelimitedOptions::default(), fields, &text);
        let text = |field: &csv::RawField| String::from_utf8_lossy(&field.value).into_owned();
        let right: Vec<Vec<String>> = right.iter().map(|record| record.fields.iter().map(text).collect()).collect();
        assert_eq!((values(&read), kinds(&read)), (right, vec![]));
        files += 1;
    }
    assert_eq!(files, 12);
}
