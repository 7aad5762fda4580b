//! Fixed width, logfmt and patterns: their rules one by one, then generated lines against slow twins.

use crate::common::{MISSING, Read, assert_cuts_do_not_matter, kinds, read_all, soup, values};
use longshore_csv::{DefectKind, FirstRecord, RecordFormat};
use longshore_format::delimited::{LongRecords, ShortRecords};
use longshore_format::fixed_width::Unit;
use longshore_format::logfmt::UnknownKeys;
use longshore_format::pattern::{preset, presets};
use longshore_format::{
    FixedColumn, FixedWidth, FixedWidthOptions, LineEnds, LineOptions, Logfmt, LogfmtOptions, Pattern,
};
use longshore_testing::Random;

/// Two columns of three and one behind a gap.
fn places() -> FixedWidthOptions {
    let mut columns = FixedColumn::row(&[("a", 3), ("b", 3)]);
    columns.push(FixedColumn { name: "c".to_owned(), start: 7, width: 2 });
    FixedWidthOptions::new(columns)
}

fn fixed(options: FixedWidthOptions, text: &str) -> (Vec<Vec<String>>, Vec<DefectKind>) {
    let read = read_all(&FixedWidth::new(options).unwrap(), text.as_bytes(), 3);
    (values(&read), kinds(&read))
}

#[test]
fn fixed_width_fields_stand_at_their_places() {
    let (rows, defects) = fixed(places(), "ab cd   1\r\n\"é\"ééé x2 \n   \n    x   3 \n");
    assert_eq!(rows, [["ab", "cd", "1"], ["\"é\"", "ééé", "x2"], ["", "x", "3"]]);
    assert!(defects.is_empty(), "a line of blanks is none, and blanks behind the last place are nothing");
}

#[test]
fn fixed_width_in_bytes_and_untrimmed() {
    let (rows, _) = fixed(FixedWidthOptions { unit: Unit::Bytes, trim: false, ..places() }, "é ab  yz\n");
    assert_eq!(rows, [["é ", "ab ", "yz"]]);
}

#[test]
fn fixed_width_lines_may_be_short_or_long() {
    let text = "abcdef\nabcdef__3\nabcdef__345\n";
    let (rows, defects) = fixed(places(), text);
    assert_eq!(
        (rows, defects),
        (
            vec![vec!["abc".into(), "def".into(), "_3".to_owned()]],
            vec![DefectKind::MissingFields, DefectKind::ExtraFields]
        )
    );
    let lenient =
        FixedWidthOptions { short_records: ShortRecords::Pad, long_records: LongRecords::Truncate, ..places() };
    let (rows, defects) = fixed(lenient, text);
    assert_eq!(rows, [["abc", "def", MISSING], ["abc", "def", "_3"], ["abc", "def", "_3"]]);
    assert!(defects.is_empty());
}

#[test]
fn fixed_width_has_a_header() {
    let format = FixedWidth::new(places()).unwrap();
    let first = FirstRecord { bytes: 0, fields: vec![b"a".to_vec(), b"bc".to_vec(), b"d".to_vec()] };
    assert_eq!(format.first_record(b"\na  bc   d\n1", false), Some(FirstRecord { bytes: 11, ..first }));
    assert_eq!(format.first_record(b"a  bc   d", false), None);
    assert_eq!(format.columns().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn fixed_width_columns_that_are_none_are_refused() {
    let error = |columns: &[(&str, usize)]| {
        FixedWidth::new(FixedWidthOptions::new(FixedColumn::row(columns))).unwrap_err().to_string()
    };
    assert_eq!(error(&[]), "fixed-width text needs columns; give name, start and width of each");
    assert_eq!(error(&[("a", 1), ("a", 1)]), "two columns are named 'a'; choose different names");
    assert_eq!(
        error(&[("a", 1), ("b", 0)]),
        "column 'b' cannot begin at 1 and be 0 wide; choose a width from 1, and an end of at most 16777216"
    );
    assert!(error(&[("a", usize::MAX), ("b", 9)]).starts_with("column 'a' cannot begin at 0"));
}

/// Every column of a line, character by character.
fn fixed_twin(text: &str, options: &FixedWidthOptions) -> Read {
    let mut read = Read::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let next = start + line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let units: Vec<String> = match options.unit {
            Unit::Characters => line.chars().map(String::from).collect(),
            Unit::Bytes => line.bytes().map(|byte| char::from(byte).to_string()).collect(),
        };
        let mut row = Vec::new();
        let mut missing = false;
        for column in &options.columns {
            if column.start >= units.len() {
                missing = true;
                row.push((MISSING.as_bytes().to_vec(), false, start + line.len()));
                continue;
            }
            let before: usize = units[..column.start].iter().map(String::len).sum();
            let value = units.iter().skip(column.start).take(column.width).cloned().collect::<String>();
            let value = if options.trim { value.trim_matches([' ', '\t']) } else { &value };
            let quoted = value.contains(['"', '\r', '\x1f']);
            row.push((value.as_bytes().to_vec(), quoted, start + before));
        }
        let width = options.columns.iter().map(|column| column.start + column.width).max().unwrap_or(0);
        let rest = units.iter().skip(width).any(|unit| unit != " " && unit != "\t");
        let is_filled = |place: usize| units.get(place).is_some_and(|unit| unit != " " && unit != "\t");
        let begins_in_word =
            |column: &FixedColumn| column.start > 0 && is_filled(column.start - 1) && is_filled(column.start);
        let cut = options.whole_words && options.columns.iter().any(begins_in_word);
        let end = start + line.len();
        if options.lines.skip_blank_lines && line.trim_matches([' ', '\t']).is_empty() {
        } else if line.len() > options.lines.record_bytes_max {
            read.defects.push((read.rows.len(), start, end, DefectKind::TooLong));
        } else if missing && options.short_records == ShortRecords::Reject {
            read.defects.push((read.rows.len(), start, end, DefectKind::MissingFields));
        } else if rest && options.long_records != LongRecords::Truncate || cut {
            read.defects.push((read.rows.len(), start, end, DefectKind::ExtraFields));
        } else {
            read.rows.push(((start, end), row));
        }
        start = next;
    }
    read
}

#[test]
fn generated_fixed_width_text_is_read_as_the_twin_reads_it() {
    let mut random = Random::new(4);
    for _ in 0..8_000 {
        let unit = [Unit::Characters, Unit::Bytes][random.below(2)];
        let wide: &[u8] = if unit == Unit::Characters { "é€".as_bytes() } else { b"#" };
        let tokens: [&[u8]; 10] = [b"a", b"bc", b" ", b"  ", b"\t", b"\"", b"\n", b"\r\n", b"\r", wide];
        let text = String::from_utf8(soup(&mut random, &tokens, 40)).unwrap();
        let mut column =
            |name: &str| FixedColumn { name: name.to_owned(), start: random.below(6), width: 1 + random.below(4) };
        let columns = vec![column("a"), column("b")];
        let options = FixedWidthOptions {
            unit,
            trim: random.once_in(2),
            short_records: [ShortRecords::Reject, ShortRecords::Pad][random.below(2)],
            long_records: [LongRecords::Reject, LongRecords::Truncate, LongRecords::TruncateEmpty][random.below(3)],
            whole_words: random.once_in(3),
            lines: LineOptions {
                skip_blank_lines: random.once_in(2),
                record_bytes_max: 5 + random.below(20),
                ..LineOptions::default()
            },
            ..FixedWidthOptions::new(columns)
        };
        let format = FixedWidth::new(options.clone()).unwrap();
        let whole = read_all(&format, text.as_bytes(), 2);
        assert_eq!(whole, fixed_twin(&text, &options), "{options:?} {text:?}");
        assert_cuts_do_not_matter(&format, text.as_bytes(), 2, &whole);
    }
}

fn logfmt(unknown_keys: UnknownKeys) -> Logfmt {
    let keys = ["level", "msg", "n"].map(str::to_owned).to_vec();
    Logfmt::new(LogfmtOptions { keys, unknown_keys, lines: LineOptions::default() }).unwrap()
}

#[test]
fn logfmt_values_go_to_their_keys() {
    let text = br#"level=info msg="a \"b\" \u00e9\ud83d\ude00\n" n=1
  msg=http://x/?a="b" other="\\" n
msg="" level= level=warn

"#;
    let read = read_all(&logfmt(UnknownKeys::Drop), text, 3);
    assert_eq!(
        values(&read),
        [["info", "a \"b\" é😀\n", "1"], [MISSING, "http://x/?a=\"b\"", "true"], ["warn", "", MISSING]]
    );
    assert!(read.defects.is_empty());
    assert!(read.rows[2].1[1].1 && !read.rows[2].1[0].1, "quoted is a value, bare may be NULL");
    let text = b"level=info\nother=1\nmsg=\"a\nmsg=\"a\"b\n=1\nm\"=1\nn=1\n";
    let read = read_all(&logfmt(UnknownKeys::Reject), text, 3);
    assert_eq!(values(&read), [["info", MISSING, MISSING], [MISSING, MISSING, "1"]]);
    assert_eq!(
        kinds(&read),
        [DefectKind::ExtraFields, DefectKind::Quote, DefectKind::Quote, DefectKind::Syntax, DefectKind::Syntax]
    );
}

#[test]
fn logfmt_keys_come_in_the_order_of_a_sample() {
    let sample = b"b=1 a=\"x y=2\" c\n\na=1 =broken d=1\ne=2";
    assert_eq!(Logfmt::keys_of(sample, &LineOptions::default()), ["b", "a", "c", "e"]);
}

#[test]
fn logfmt_keys_that_are_none_are_refused() {
    let error = |keys: &[&str]| {
        let keys = keys.iter().map(|key| (*key).to_owned()).collect();
        let options = LogfmtOptions { keys, unknown_keys: UnknownKeys::Drop, lines: LineOptions::default() };
        Logfmt::new(options).unwrap_err().to_string()
    };
    assert_eq!(error(&[]), "logfmt needs columns; name each as its key");
    assert_eq!(
        error(&["a b"]),
        "'a b' cannot be a key of logfmt; choose one without blanks, control characters, '=' and '\"'"
    );
    assert_eq!(error(&["a", "b", "a"]), "the key 'a' stands for two columns; choose different keys");
}

/// The last value of every key of a line: one automaton.
fn logfmt_twin(line: &str) -> Result<Vec<(String, String)>, DefectKind> {
    let mut pairs = Vec::new();
    let mut rest: Vec<char> = line.chars().rev().collect();
    let is_blank = |c: &char| *c <= ' ';
    loop {
        while rest.last().is_some_and(is_blank) {
            rest.pop();
        }
        let Some(_) = rest.last() else { return Ok(pairs) };
        let mut key = String::new();
        while let Some(c) = rest.pop_if(|c| !is_blank(c) && *c != '=' && *c != '"') {
            key.push(c);
        }
        if key.is_empty() || rest.last() == Some(&'"') {
            return Err(DefectKind::Syntax);
        }
        let mut value = String::new();
        if rest.pop_if(|c| *c == '=').is_none() {
            value.push_str("true");
        } else if rest.pop_if(|c| *c == '"').is_some() {
            loop {
                match rest.pop() {
                    None => return Err(DefectKind::Quote),
                    Some('"') => break,
                    Some('\\') => match rest.pop() {
                        None => return Err(DefectKind::Quote),
                        Some('n') => value.push('\n'),
                        Some(c @ ('"' | '\\')) => value.push(c),
                        Some(c) => value.extend(['\\', c]),
                    },
                    Some(c) => value.push(c),
                }
            }
            if rest.last().is_some_and(|c| !is_blank(c)) {
                return Err(DefectKind::Quote);
            }
        } else {
            while let Some(c) = rest.pop_if(|c| !is_blank(c)) {
                value.push(c);
            }
        }
        pairs.push((key, value));
    }
}

#[test]
fn generated_logfmt_is_read_as_the_twin_reads_it() {
    let tokens: [&[u8]; 16] = [
        b"level=",
        b"msg=",
        b"n=",
        b"n",
        b" ",
        b" ",
        b"\"",
        b"\"",
        b"\\",
        b"\\n",
        b"=",
        b"x",
        b"\n",
        b"\n",
        b"\t",
        "é".as_bytes(),
    ];
    let format = logfmt(UnknownKeys::Drop);
    let mut random = Random::new(5);
    for _ in 0..8_000 {
        let text = String::from_utf8(soup(&mut random, &tokens, 30)).unwrap();
        let whole = read_all(&format, text.as_bytes(), 3);
        let (mut rows, mut defects) = (Vec::new(), Vec::new());
        for line in text.lines().filter(|line| !line.trim_matches([' ', '\t']).is_empty()) {
            match logfmt_twin(line) {
                Ok(pairs) => {
                    let value = |key: &str| pairs.iter().rev().find(|pair| pair.0 == key).map(|pair| pair.1.clone());
                    rows.push(["level", "msg", "n"].map(|key| value(key).unwrap_or(MISSING.to_owned())).to_vec());
                }
                Err(kind) => defects.push(kind),
            }
        }
        assert_eq!((values(&whole), kinds(&whole)), (rows, defects), "{text:?}");
        assert_cuts_do_not_matter(&format, text.as_bytes(), 3, &whole);
    }
}

#[test]
fn a_pattern_takes_lines_apart() {
    let format = Pattern::new(r"^(?<n>\d+)(?:,(?<text>.*))? ?(x)?$", LineOptions::default()).unwrap();
    assert_eq!(format.columns().collect::<Vec<_>>(), ["n", "text"]);
    let text = "1,a \"b\"\r\n2\n\nthree\n4,é".as_bytes();
    let read = read_all(&format, text, 2);
    assert_eq!(values(&read), [["1", "a \"b\""], ["2", MISSING], ["4", "é"]]);
    assert_eq!(read.defects, [(2, 12, 17, DefectKind::Syntax)]);
    assert_eq!(read.rows[0].1[1].2, 2, "where the field stands");
    assert_cuts_do_not_matter(&format, text, 2, &read);
    assert_eq!(format.first_record(text, true), None);
}

#[test]
fn lines_may_end_with_a_carriage_return_and_be_comments() {
    let lines = LineOptions {
        line_ends: LineEnds::Any,
        comment: Some("#".to_owned()),
        skip_blank_lines: false,
        record_bytes_max: 4,
    };
    let format = Pattern::new("(?<all>.*)", lines).unwrap();
    let text = b"#x\ra\rb\r\n\n12345\n#";
    let read = read_all(&format, text, 1);
    assert_eq!(values(&read), [["a"], ["b"], [""]]);
    assert_eq!(kinds(&read), [DefectKind::TooLong]);
    assert_cuts_do_not_matter(&format, text, 1, &read);
}

#[test]
fn patterns_that_are_none_are_refused() {
    let error = |pattern| Pattern::new(pattern, LineOptions::default()).unwrap_err().to_string();
    assert_eq!(error("(a)"), "the pattern names no group; write (?<name>...) around what each column holds");
    assert!(error("(").starts_with("the pattern cannot be read: regex parse error"));
}

#[test]
fn presets_take_their_logs_apart() {
    let line = |name: &str, text: &str| {
        let format = Pattern::new(preset(name).unwrap().pattern, LineOptions::default()).unwrap();
        let fields = format.columns().count();
        let read = read_all(&format, text.as_bytes(), fields);
        assert_eq!(read.defects, [], "{name}");
        values(&read).remove(0)
    };
    let common = r#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a_\"b HTTP/1.0" 200 2326"#;
    let time = "10/Oct/2000:13:55:36 -0700";
    let request = r#"GET /a_\"b HTTP/1.0"#;
    assert_eq!(line("common", common), ["127.0.0.1", "-", "frank", time, request, "200", "2326"]);
    let combined = format!("{common} \"-\" \"Mozilla/5.0 (X11)\"");
    let expected = ["127.0.0.1", "-", "frank", time, request, "200", "2326", "-", "Mozilla/5.0 (X11)"];
    assert_eq!(line("Combined", &combined), expected);
    let vhost = line("vhost_combined", &format!("example.org:443 {combined}"));
    assert_eq!(vhost[..3], ["example.org", "443", "127.0.0.1"]);
    assert_eq!(
        line("nginx_error", "2024/01/31 12:00:01 [error] 42#7: *3 open() \"/x\" failed"),
        ["2024/01/31 12:00:01", "error", "42", "7", "3", "open() \"/x\" failed"]
    );
    assert_eq!(
        line("syslog", "<34>Oct  1 22:14:15 host su[12]: failed for x"),
        ["34", "Oct  1 22:14:15", "host", "su", "12", "failed for x"]
    );
    assert_eq!(presets().len(), 5);
    assert_eq!(preset("apache"), None);
}
