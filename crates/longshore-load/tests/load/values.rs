//! Every option about the spelling of values: what it makes of a file on many machines, and its errors.

use std::io::Write as _;

use crate::harness::{Machine, load_on, machines, schema};
use longshore_csv::DateTimeFormat;
use longshore_load::{
    ColumnChoice, ColumnValues, Control, Dialect, FieldTarget, InputFile, Source, TextOptions, Tuning, ValueOptions,
    copy_from,
};
use longshore_storage::{ColumnType, Memory, Relation};
use tempfile::NamedTempFile;

const PRICE: ColumnType = ColumnType::Decimal { precision: 15, scale: 2 };

/// What becomes of `text`, separated by semicolons, on every machine: rows in canonical CSV, or an error.
fn load(types: &[ColumnType], values: &ValueOptions, text: &str) -> Result<String, String> {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("written");
    let dialect = Dialect::new(b';', Some(b'"'), None).expect("a dialect");
    let options = TextOptions { values: values.clone(), ..TextOptions::new(dialect) };
    let machines = machines();
    let run = |machine: &Machine| load_on(machine, file.path(), &schema(types), &options);
    let first = run(&machines[0]);
    for machine in machines.iter().skip(1).step_by(3) {
        assert_eq!(run(machine), first, "{machine:?}");
    }
    first
}

fn set(change: impl FnOnce(&mut ValueOptions)) -> ValueOptions {
    let mut values = ValueOptions::default();
    change(&mut values);
    values
}

macro_rules! loads {
    ($name:ident, $types:expr, |$values:ident| $set:expr, $text:expr => $rows:expr) => {
        #[test]
        fn $name() {
            assert_eq!(load(&$types, &set(|$values| $set), $text), Ok($rows.to_owned()));
        }
    };
}

macro_rules! fails {
    ($name:ident, $types:expr, |$values:ident| $set:expr, $text:expr => $($words:expr),+) => {
        #[test]
        fn $name() {
            let message = load(&$types, &set(|$values| $set), $text).expect_err("an error");
            $(assert!(message.contains($words), "{message}");)+
        }
    };
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn format(patterns: &[&str]) -> DateTimeFormat {
    DateTimeFormat::new(patterns).expect("patterns")
}

loads!(
    several_null_texts, [ColumnType::Integer, ColumnType::Text],
    |values| values.nulls = strings(&["", "NA", "-"]),
    "NA;NA\n-;\"NA\"\n;-\n7;x\n" => ",\n,\"NA\"\n,\n\"7\",\"x\"\n"
);
loads!(
    quoted_nulls, [ColumnType::Integer, ColumnType::Text],
    |values| (values.nulls, values.quoted_nulls) = (strings(&["", "NA"]), ColumnChoice::All),
    "\"NA\";\"\"\n\"7\";\"NA\"\n" => ",\n\"7\",\n"
);
loads!(
    uuids_in_every_spelling, [ColumnType::Uuid, ColumnType::Uuid],
    |_values| (),
    &("a0eebc999c0b4ef8bb6d6bb9bd380a11;\n".repeat(1000) + "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11};a0eebc999c0b4ef8bb6d6bb9bd380a12\n")
        => ("\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\",\n".repeat(1000)
            + "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\",\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12\"\n")
);
loads!(
    trimming, [ColumnType::Text, ColumnType::Text],
    |values| values.trim = true,
    "  a b ;\t\" c \" \n   ;\" \"\n" => "\"a b\",\" c \"\n,\" \"\n"
);
loads!(
    decimal_comma, [PRICE, ColumnType::Double, ColumnType::Integer],
    |values| (values.decimal_separator, values.thousands_separator) = (',', Some('.')),
    "1.234,5;-0,25;1.000\n12;1e3;7\n" => "\"1234.50\",\"-0.25\",\"1000\"\n\"12.00\",\"1000\",\"7\"\n"
);
loads!(
    formats, [ColumnType::Date, ColumnType::Time, ColumnType::Timestamp],
    |values| {
        values.date_format = Some(format(&["us"]));
        values.time_format = Some(format(&["%I:%M %p"]));
        values.timestamp_format = Some(format(&["epoch", "iso"]));
    },
    "3/4/2021;1:05 PM;0\n;;1996-03-13 01:02:03\n" =>
    "\"2021-03-04\",\"13:05:00\",\"1970-01-01 00:00:00\"\n,,\"1996-03-13 01:02:03\"\n"
);
loads!(
    boolean_words, [ColumnType::Boolean],
    |values| (values.true_values, values.false_values) = (Some(strings(&["ja"])), Some(strings(&["nein", "x"]))),
    "JA\nnein\nX\n\"\"\n".trim_end_matches("\"\"\n") => "\"t\"\n\"f\"\n\"f\"\n"
);
loads!(
    columns_that_differ, [PRICE, PRICE, ColumnType::Date],
    |values| {
        values.decimal_separator = ',';
        values.columns.insert("c1".to_owned(), ColumnValues {
            decimal_separator: Some('.'), nulls: Some(strings(&["NULL"])), ..ColumnValues::default()
        });
        values.columns.insert("c2".to_owned(), ColumnValues { format: Some(format(&["eu"])), ..ColumnValues::default() });
    },
    "1,5;1.5;3.4.2021\n;NULL;\n" => "\"1.50\",\"1.50\",\"2021-04-03\"\n,,\n"
);

fails!(
    a_comma_that_was_not_announced, [PRICE], |_values| (), "1\n1,5\n" =>
    "line 2, byte 2, column c0", "found ',' where a digit is expected", "set DECIMAL_SEPARATOR ','"
);
fails!(
    a_date_of_another_order, [ColumnType::Date], |values| values.date_format = Some(format(&["us"])), "1/2/2021\n13/2/2021\n" =>
    "line 2", "not of the format 'us'", "the month is not within 1 to 12", "set DATE_FORMAT '%d/%m/%Y'"
);
fails!(
    a_null_text_that_was_not_announced, [ColumnType::Integer], |_values| (), "1\nN/A\n" =>
    "line 2", "set NULL ('', 'N/A')"
);
fails!(
    digits_in_groups_of_two, [ColumnType::Integer], |values| values.thousands_separator = Some(','), "1,23\n" =>
    "digits are not in groups of three"
);
fails!(
    words_of_neither_list, [ColumnType::Boolean], |values| values.true_values = Some(strings(&["x"])), "true\n" =>
    "not among the words of TRUE_VALUES and FALSE_VALUES"
);
fails!(no_null_text, [PRICE], |values| values.nulls.clear(), "1\n" => "the list of NULL texts is empty");
fails!(
    a_null_text_with_a_delimiter, [PRICE], |values| values.nulls.push("a;b".to_owned()), "1\n" =>
    "the NULL text \"a;b\" contains ';'"
);
fails!(
    blanks_that_would_be_trimmed, [PRICE], |values| (values.trim, values.nulls) = (true, strings(&[" "])), "1\n" =>
    "the NULL text \" \" begins or ends with blanks"
);
fails!(
    one_separator_for_all, [PRICE], |values| values.thousands_separator = Some('.'), "1\n" =>
    "DECIMAL_SEPARATOR and THOUSANDS_SEPARATOR are both '.'"
);
fails!(
    a_separator_of_two_bytes, [PRICE], |values| values.decimal_separator = '\u{66b}', "1\n" =>
    "DECIMAL_SEPARATOR cannot be"
);
fails!(
    a_word_of_both_lists, [ColumnType::Boolean], |values| values.false_values = Some(strings(&["yes"])), "1\n" =>
    "\"yes\" of FALSE_VALUES means the opposite as well"
);
fails!(
    a_format_without_a_date, [ColumnType::Date], |values| values.date_format = Some(format(&["%H:%M"])), "1\n" =>
    "column c0 DATE", "'%H:%M': has no year"
);
fails!(
    a_zone_for_a_type_without, [ColumnType::Timestamp], |values| values.timestamp_format = Some(format(&["%F %T%z"])), "1\n" =>
    "column c0 TIMESTAMP", "use TIMESTAMP WITH TIME ZONE"
);
fails!(
    a_separator_of_one_column, [PRICE],
    |values| {
        let differs = ColumnValues { decimal_separator: Some('7'), ..ColumnValues::default() };
        values.columns.insert("c0".to_owned(), differs);
    },
    "1\n" => "column c0: DECIMAL_SEPARATOR cannot be '7'"
);

#[test]
fn a_default_that_the_file_spells_in_another_way() {
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(b"1,5\n").expect("written");
    let relation = Relation::new(schema(&[PRICE]), Memory::new(None));
    let options = TextOptions {
        values: ValueOptions { decimal_separator: ',', ..ValueOptions::default() },
        ..TextOptions::new(Dialect::new(b';', Some(b'"'), None).expect("a dialect"))
    };
    let load = |default: &str| {
        let mut input = InputFile::opened(Source::open(file.path()).expect("a file"), &[0]);
        input.fields[0] = Some(FieldTarget { default: Some(default.to_owned()), ..FieldTarget::new(0) });
        copy_from(vec![input], &relation, &options, &Tuning::new(1), &Control::new()).map(|report| report.rows)
    };
    let message = load("1.5").expect_err("an error").to_string();
    assert!(message.contains("column c0 DECIMAL(15,2): its default \"1.5\" means something else"), "{message}");
    assert_eq!(load("15").expect("a load"), 1);
}
