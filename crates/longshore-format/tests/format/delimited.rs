//! Delimited text: the language rule by rule.

use crate::common::{Read, Row, kinds, read_all, values};
use longshore_csv::{DefectKind, FirstRecord, RecordFormat};
use longshore_format::LineEnds;
use longshore_format::delimited::{
    Delimited, DelimitedError, DelimitedOptions, Escape, EscapeRule, LongRecords, NulBytes, ShortRecords, StrayQuotes,
    reference,
};

pub(crate) fn options(change: impl FnOnce(&mut DelimitedOptions)) -> DelimitedOptions {
    let mut options = DelimitedOptions::default();
    change(&mut options);
    options
}

/// The values of the rows that `text` is read as, and the kinds of its defects.
fn parse(options: &DelimitedOptions, fields: usize, text: &str) -> (Vec<Vec<String>>, Vec<DefectKind>) {
    let read = compared(options, fields, text.as_bytes());
    (values(&read), kinds(&read))
}

/// What is read of `text`, which is what the twin reads.
pub(crate) fn compared(options: &DelimitedOptions, fields: usize, text: &[u8]) -> Read {
    let format = Delimited::new(options.clone()).unwrap();
    let read = read_all(&format, text, fields);
    let (mut rows, mut defects) = (Vec::<Row>::new(), Vec::new());
    let records = reference::records(text, options);
    for record in &records {
        match reference::row(record, options, fields) {
            Ok(row) => {
                let row = row.into_iter().map(|field| match field {
                    Some(field) => {
                        let quoted = field.quoted || field.value.iter().any(|byte| b"\"\x1f\r\n".contains(byte));
                        (field.value, quoted, field.start)
                    }
                    None => (crate::common::MISSING.as_bytes().to_vec(), false, record.end),
                });
                rows.push(((record.start, record.end), row.collect()));
            }
            Err(kind) => defects.push((rows.len(), record.start, record.end, kind)),
        }
    }
    assert_eq!(read, Read { rows, defects }, "{options:?} {}", text.escape_ascii());
    let first = format.first_record(text, true);
    assert_eq!(first.as_ref().map(|first| first.bytes), records.first().map(|first| first.next));
    if let (Some(first), Some(record)) = (first, records.first())
        && !record.fields.iter().any(|field| field.null)
    {
        let mut twin: Vec<_> = record.fields.iter().map(|field| field.value.clone()).collect();
        if twin.len() > first.fields.len() && options.trailing_delimiter {
            assert_eq!(twin.pop(), Some(Vec::new()));
        }
        assert_eq!(first.fields, twin, "{options:?} {}", text.escape_ascii());
    }
    read
}

macro_rules! reads {
    ($name:ident, $options:expr, $text:expr, $rows:expr, $defects:expr) => {
        #[test]
        fn $name() {
            let rows: &[&[&str]] = &$rows;
            let defects: &[DefectKind] = &$defects;
            let fields = rows.first().map_or(2, |row| row.len());
            assert_eq!(parse(&options($options), fields, $text), (owned(rows), defects.to_vec()));
        }
    };
    ($name:ident, $options:expr, $text:expr, $rows:expr) => {
        reads!($name, $options, $text, $rows, []);
    };
}

fn owned(rows: &[&[&str]]) -> Vec<Vec<String>> {
    rows.iter().map(|row| row.iter().map(|value| (*value).to_owned()).collect()).collect()
}

fn delimiter(delimiter: &str) -> impl FnOnce(&mut DelimitedOptions) {
    move |options| delimiter.clone_into(&mut options.delimiter)
}

fn stray(rule: StrayQuotes) -> impl FnOnce(&mut DelimitedOptions) {
    move |options| options.stray_quotes = rule
}

fn escape(rule: EscapeRule) -> impl FnOnce(&mut DelimitedOptions) {
    move |options| options.escape = Some(Escape { byte: b'\\', rule })
}

fn any_line_end(options: &mut DelimitedOptions) {
    options.line_ends = LineEnds::Any;
}

fn trim(options: &mut DelimitedOptions) {
    options.trim = true;
}

reads!(nothing, |_| (), "", []);
reads!(two_bytes, delimiter("||"), "a||b|\n|c||\"d||\"\n", [&["a", "b|"], &["|c", "d||"]]);
reads!(the_first_delimiter_counts, delimiter("||"), "a|||b\n", [&["a", "|b"]]);
reads!(a_character, delimiter("€"), "a€b\nâ€c\n", [&["a", "b"], &["â", "c"]]);
reads!(letters, delimiter("and"), "xandy\nanandan\n", [&["x", "y"], &["an", "an"]]);
reads!(blanks_in_a_delimiter, delimiter(" | "), "a | b\n\"x | y\" | |\n", [&["a", "b"], &["x | y", "|"]]);
reads!(a_control_character, delimiter("\x1f"), "a\x1fb\n\"\x1f\"\x1f\n", [&["a", "b"], &["\x1f", ""]]);
reads!(nul_between_fields, delimiter("\0"), "a\0b\n", [&["a", "b"]]);
reads!(the_unit_separator_in_a_field, |_| (), "a\x1fb,\"\x1f\"\n", [&["a\x1fb", "\x1f"]]);

reads!(quotes_of_another_kind, |o| o.quote = Some(b'\''), "'a,''b','\"'\n\",\"\n", [&["a,'b", "\""], &["\"", "\""]]);
reads!(nothing_quotes, |o| o.quote = None, "\"a,b\"\n", [&["\"a", "b\""]]);
reads!(
    comments,
    |o| o.comment = Some("//".to_owned()),
    "// a \"quote\na,/b\n//\n /,\"//\n//x\"\n//",
    [&["a", "/b"], &[" /", "//\n//x"]]
);
reads!(a_comment_of_the_letter_kind, |o| o.comment = Some("rem ".to_owned()), "rem x\nrem,b\nrem ", [&["rem", "b"]]);
reads!(
    blank_lines_skipped,
    |o| o.skip_blank_lines = true,
    "\n\r\na,b\n\n \nc,d\n\n",
    [&["a", "b"], &["c", "d"]],
    [DefectKind::MissingFields]
);
reads!(
    blank_lines_of_blanks_skipped,
    |o| {
        o.skip_blank_lines = true;
        o.trim = true;
    },
    " \t\na,b\n ",
    [&["a", "b"]]
);
reads!(
    tabs_between_fields_are_no_blanks,
    |o| {
        o.skip_blank_lines = true;
        o.trim = true;
        o.delimiter = "\t".to_owned();
    },
    "\t\n \n a \t b \n",
    [&["", ""], &["a", "b"]]
);

reads!(old_mac, any_line_end, "a,b\rc,\"d\r\"\r", [&["a", "b"], &["c", "d\r"]]);
reads!(mixed_line_ends, any_line_end, "a,b\r\nc,d\re,f\ng,h", [&["a", "b"], &["c", "d"], &["e", "f"], &["g", "h"]]);
reads!(
    a_carriage_return_is_a_defect,
    |_| (),
    "a,b\nc\rd,e\n\"f\r\",g\r\nh,i\r",
    [&["a", "b"], &["f\r", "g"], &["h", "i"]],
    [DefectKind::LineEnd]
);

reads!(
    trailing,
    |o| o.trailing_delimiter = true,
    "a,b,\nc,d\n,,\n\"\",,\"\"\n",
    [&["a", "b"], &["c", "d"], &["", ""]],
    [DefectKind::ExtraFields]
);
reads!(
    trailing_short,
    |o| o.trailing_delimiter = true,
    "a,b,c,\nd,e,\nf,g,h\n\n",
    [&["a", "b", "c"], &["f", "g", "h"]],
    [DefectKind::MissingFields, DefectKind::MissingFields]
);
reads!(
    trailing_padded,
    |o| {
        o.trailing_delimiter = true;
        o.short_records = ShortRecords::Pad;
    },
    "a,b,\nc,\n\nd,e\nf,\"\"\n",
    [
        &["a", "b"],
        &["c", crate::common::MISSING],
        &[crate::common::MISSING, crate::common::MISSING],
        &["d", "e"],
        &["f", ""]
    ]
);
reads!(
    ragged_rejected,
    |_| (),
    "a,b\nc\nd,e,f\n\ng,h\n",
    [&["a", "b"], &["g", "h"]],
    [DefectKind::MissingFields, DefectKind::ExtraFields, DefectKind::MissingFields]
);
reads!(
    padded,
    |o| o.short_records = ShortRecords::Pad,
    "a,b\nc\nd,e,f\n",
    [&["a", "b"], &["c", crate::common::MISSING]],
    [DefectKind::ExtraFields]
);
reads!(
    truncated,
    |o| o.long_records = LongRecords::Truncate,
    "a,b\nc\nd,e,\"f\n\",g\n",
    [&["a", "b"], &["d", "e"]],
    [DefectKind::MissingFields]
);

reads!(stray_toggles, |_| (), "ab\"c,d\"e,f\n\"a\"b,c\n", [&["abc,de", "f"], &["ab", "c"]]);
reads!(
    stray_is_wrong,
    stray(StrayQuotes::Error),
    "a,b\nab\"c,d\"e,f\n\"a\"b,c\n\"d\" ,e\n\"\"\"\",\"\"\n",
    [&["a", "b"], &["\"", ""]],
    [DefectKind::Quote, DefectKind::Quote, DefectKind::Quote]
);
reads!(
    stray_is_literal,
    stray(StrayQuotes::Literal),
    "5\" pipe,b\n\"say \"hi\" he\",x\n\"a\"b,\"x\n\",c\"\n \"c\"\"d\",\"e\"\"\"\n",
    [&["5\" pipe", "b"], &["say \"hi\" he", "x"], &["a\"b,\"x\n", "c\""], &[" \"c\"\"d\"", "e\""]]
);
reads!(unclosed_is_a_defect, |_| (), "a,b\n\"c,d\ne,f\n", [&["a", "b"]], [DefectKind::Quote]);
reads!(trimmed, trim, "  a b ,\t\" c \" \n \"\" , \n", [&["a b", " c "], &["", ""]]);
reads!(
    trimmed_and_literal,
    |o| {
        o.trim = true;
        o.stray_quotes = StrayQuotes::Literal;
    },
    " \"a\" b\" , c \"\n",
    [&["a\" b", "c \""]]
);

reads!(
    escape_in_quotes,
    escape(EscapeRule::Quotes),
    "\"a\\\"b\\\\\",\\n\n\"\\n\",c\n",
    [&["a\"b\\", "\\n"], &["\\n", "c"]]
);
reads!(
    escape_everywhere,
    escape(EscapeRule::Everything),
    "a\\,b,c\\\nd\n\"\\\"\",\\\"\ne\\\r\nf,\\n\\\\\n",
    [&["a,b", "c\nd"], &["\"", "\""], &["e\r\nf", "n\\"]]
);
reads!(escape_at_the_end, escape(EscapeRule::Everything), "a,b\\", [&["a", "b\\"]]);
reads!(
    escaped_letters,
    escape(EscapeRule::Letters),
    "a\\nb,\\0\\Z\n\"\\t\\r\\b\",\\x\n",
    [&["a\nb", "\0\x1a"], &["\t\r\x08", "x"]]
);
reads!(
    an_escaped_blank_is_kept,
    |o| {
        o.trim = true;
        escape(EscapeRule::Everything)(o);
    },
    " \\ a\\  ,b\\\\ \n",
    [&[" a ", "b\\"]]
);

reads!(nul_kept, |_| (), "a\0,b\n", [&["a\0", "b"]]);
reads!(nul_stripped, |o| o.nul = NulBytes::Strip, "a\0,\"\0b\0\"\n", [&["a", "b"]]);
reads!(
    nul_is_wrong,
    |o| o.nul = NulBytes::Error,
    "a,b\nc\0,d\n\"\0\",e\n",
    [&["a", "b"]],
    [DefectKind::Encoding, DefectKind::Encoding]
);
reads!(
    too_long,
    |o| o.record_bytes_max = 7,
    "a,b\n1234567,\n\"a\nb\",c\n\"ab\nc\",d\ne,f\n",
    [&["a", "b"], &["a\nb", "c"], &["e", "f"]],
    [DefectKind::TooLong, DefectKind::TooLong]
);

#[test]
fn a_null_text_keeps_its_escapes_and_nothing_else_becomes_one() {
    let read = compared(&options(escape(EscapeRule::Letters)), 4, b"\\N,\\\\N,\"\\N\",N\n");
    let row: Vec<_> = read.rows[0].1.iter().map(|(value, quoted, _)| (&**value, *quoted)).collect();
    assert_eq!(row, [(&b"\\N"[..], false), (b"\\N", true), (b"N", true), (b"N", false)]);
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let error = |change: &dyn Fn(&mut DelimitedOptions)| Delimited::new(options(change)).unwrap_err().to_string();
    assert_eq!(
        error(&|o| o.delimiter = String::new()),
        "DELIMITER cannot be ''; choose 1 to 16 bytes without line ends"
    );
    assert_eq!(
        error(&|o| o.comment = Some("#\n".into())),
        "COMMENT cannot be '#\\n'; choose 1 to 16 bytes without line ends"
    );
    assert_eq!(
        error(&|o| o.quote = Some(0xE9)),
        "QUOTE cannot be '\\xe9'; choose an ASCII character other than NUL and the line ends"
    );
    assert_eq!(
        error(&|o| o.delimiter = "a\"".into()),
        "QUOTE and DELIMITER are both '\\\"'; choose different characters"
    );
    assert_eq!(
        error(&|o| o.comment = Some("\"".into())),
        "QUOTE and COMMENT are both '\\\"'; choose different characters"
    );
    assert!(matches!(
        Delimited::new(options(|o| o.delimiter = "0123456789abcdefg".into())),
        Err(DelimitedError::UnusableText { option: "DELIMITER", .. })
    ));
    assert_eq!(
        error(&|o| {
            o.quote = None;
            o.escape = Some(Escape { byte: b'\\', rule: EscapeRule::Quotes });
        }),
        "ESCAPE '\\\\' has no effect without QUOTE; set QUOTE or leave ESCAPE out"
    );
    assert_eq!(
        error(&|o| o.escape = Some(Escape { byte: b'"', rule: EscapeRule::Everything })),
        "ESCAPE and QUOTE are both '\\\"'; choose different characters"
    );
    assert!(error(&|o| o.comment = Some(",;".into())).starts_with("COMMENT ',;' and DELIMITER begin alike"));
    assert_eq!(error(&|o| o.record_bytes_max = 0), "a record cannot be limited to 0 bytes; choose 1 to 1073741824");
}

#[test]
fn the_first_record_is_the_header() {
    let format = Delimited::new(options(|o| o.comment = Some("#".into()))).unwrap();
    let text = b"#x\n\"a\"\"\",b\r\n1,2\n";
    let first = FirstRecord { bytes: 12, fields: vec![b"a\"".to_vec(), b"b".to_vec()] };
    assert_eq!(format.first_record(text, false), Some(first.clone()));
    assert_eq!(format.first_record(&text[..11], false), None);
    assert_eq!(format.first_record(&text[..11], true), Some(FirstRecord { bytes: 11, ..first }));
    assert_eq!(format.first_record(b"#x", true), None);
}

#[test]
fn a_comment_or_a_blank_line_alone_is_complete() {
    let format = Delimited::new(options(|o| o.comment = Some("#".into()))).unwrap();
    assert_eq!(format.complete(b"#\"\n#x", false), 3);
    assert_eq!(format.complete(b"#x\n#\n", false), 5);
}
