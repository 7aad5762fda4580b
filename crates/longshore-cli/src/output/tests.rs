//! Golden texts: one result in every format.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, ListArray,
    StringViewArray, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};

use super::*;

fn sample() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from(vec![Some(1), Some(-20), None]))),
        ("name", Arc::new(StringViewArray::from(vec![Some("a,\"b\""), Some(""), None]))),
        (
            "price",
            Arc::new(
                Decimal128Array::from(vec![Some(150), Some(-5), None])
                    .with_precision_and_scale(15, 2)
                    .expect("a precision"),
            ),
        ),
        ("ok", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("a batch")
}

fn printed(format: Format, expanded: Expanded, batches: &[RecordBatch]) -> String {
    printed_as(&Look { format, expanded, ..Look::default() }, batches)
}

fn printed_as(look: &Look, batches: &[RecordBatch]) -> String {
    let mut out = Vec::new();
    let screen = Screen { width: 80, height: 24, is_styled: false };
    let mut printer = Printer::new(look, screen, batches[0].schema());
    for batch in batches {
        printer.batch(batch, &mut out).expect("memory");
    }
    printer.finish(&mut out).expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

fn batch_of(name: &str, array: ArrayRef) -> RecordBatch {
    let schema = Schema::new(vec![Field::new(name, array.data_type().clone(), true)]);
    RecordBatch::try_new(Arc::new(schema), vec![array]).expect("a batch")
}

#[test]
fn table() {
    assert_eq!(
        printed(Format::Table, Expanded::Off, &[sample()]),
        concat!(
            "  id  | name  | price |  ok\n",
            "------+-------+-------+-------\n",
            "    1 | a,\"b\" |  1.50 | true\n",
            "  -20 |       | -0.05 | false\n",
            " NULL | NULL  |  NULL | NULL\n",
            "(3 rows)\n\n",
        )
    );
}

#[test]
fn csv() {
    assert_eq!(
        printed(Format::Csv, Expanded::Off, &[sample(), sample().slice(0, 1)]),
        "id,name,price,ok\n1,\"a,\"\"b\"\"\",1.50,true\n-20,\"\",-0.05,false\n,,,\n1,\"a,\"\"b\"\"\",1.50,true\n"
    );
}

#[test]
fn json() {
    assert_eq!(
        printed(Format::Json, Expanded::Off, &[sample()]),
        concat!(
            "[{\"id\":1,\"name\":\"a,\\\"b\\\"\",\"price\":1.50,\"ok\":true},\n",
            " {\"id\":-20,\"name\":\"\",\"price\":-0.05,\"ok\":false},\n",
            " {\"id\":null,\"name\":null,\"price\":null,\"ok\":null}]\n",
        )
    );
    assert_eq!(printed(Format::Json, Expanded::Off, &[sample().slice(0, 0)]), "[]\n");
}

#[test]
fn json_has_each_key_once() {
    let field = || Field::new("?column?", DataType::Int32, false);
    let column = |value| -> ArrayRef { Arc::new(Int32Array::from(vec![value])) };
    let schema = Arc::new(Schema::new(vec![field(), field()]));
    let batch = RecordBatch::try_new(schema, vec![column(1), column(2)]).expect("a batch");
    assert_eq!(printed(Format::Json, Expanded::Off, &[batch]), "[{\"?column?\":1,\"?column?_1\":2}]\n");
}

#[test]
fn json_of_nested_values_and_odd_floats() {
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None]);
    let text = printed(Format::Json, Expanded::Off, &[batch_of("l", Arc::new(list))]);
    assert_eq!(text, "[{\"l\":[1,null]},\n {\"l\":null}]\n");
    let member: ArrayRef = Arc::new(StringViewArray::from(vec!["x\ty"]));
    let field = Arc::new(Field::new("m", DataType::Utf8View, true));
    let nested = StructArray::from(vec![(field, member)]);
    let text = printed(Format::Json, Expanded::Off, &[batch_of("s", Arc::new(nested))]);
    assert_eq!(text, "[{\"s\":{\"m\":\"x\\ty\"}}]\n");
    let floats = Float64Array::from(vec![f64::NAN, f64::INFINITY, 1e20]);
    let text = printed(Format::Json, Expanded::Off, &[batch_of("f", Arc::new(floats))]);
    assert_eq!(text, "[{\"f\":\"NaN\"},\n {\"f\":\"Infinity\"},\n {\"f\":1e+20}]\n");
}

#[test]
fn markdown() {
    let array = StringViewArray::from(vec!["a|b", "c\nd"]);
    assert_eq!(
        printed(Format::Markdown, Expanded::Off, &[batch_of("t", Arc::new(array))]),
        "| t      |\n| ------ |\n| a\\|b   |\n| c<br>d |\n"
    );
    assert_eq!(
        printed(Format::Markdown, Expanded::Off, &[sample().slice(0, 1)]),
        "|  id | name  | price | ok   |\n| --: | ----- | ----: | ---- |\n|   1 | a,\"b\" |  1.50 | true |\n"
    );
}

#[test]
fn vertical() {
    let expected = concat!(
        "-[ RECORD 1 ]--------------------------------\n",
        "id    | 1\n",
        "name  | a,\"b\"\n",
        "price | 1.50\n",
        "ok    | true\n",
        "(1 row)\n\n",
    );
    let batch = sample().slice(0, 1);
    assert_eq!(printed(Format::Vertical, Expanded::Off, std::slice::from_ref(&batch)), expected);
    assert_eq!(printed(Format::Table, Expanded::On, &[batch]), expected);
}

#[test]
fn wide_tables_turn_where_asked() {
    let long = "x".repeat(100);
    let batch = batch_of("t", Arc::new(StringViewArray::from(vec![long.as_str(), "y"])));
    let text = printed(Format::Table, Expanded::Auto, std::slice::from_ref(&batch));
    assert!(text.starts_with("-[ RECORD 1 ]"), "{text}");
    assert!(text.contains("-[ RECORD 2 ]"), "{text}");
    let text = printed(Format::Table, Expanded::Auto, &[sample()]);
    assert!(text.starts_with("  id  |"), "{text}");
}

#[test]
fn line_breaks_and_control_characters_stay_in_their_cells() {
    let names: ArrayRef = Arc::new(StringViewArray::from(vec!["a\nb", "\u{1b}[31m"]));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("t", names), ("n", numbers)]).expect("a batch");
    assert_eq!(
        printed(Format::Table, Expanded::Off, &[batch]),
        concat!(
            "     t      | n\n",
            "------------+---\n",
            " a         +| 1\n",
            " b          |\n",
            " \\u{1b}[31m | 2\n",
            "(2 rows)\n\n",
        )
    );
}

#[test]
fn widths_are_those_of_the_first_rows() {
    let first = batch_of("n", Arc::new(Int32Array::from(vec![7; 1000])));
    let later = batch_of("n", Arc::new(Int32Array::from(vec![123_456])));
    let text = printed(Format::Table, Expanded::Off, &[first, later]);
    assert!(text.starts_with(" n\n---\n 7\n"), "{text}");
    assert!(text.ends_with(" 7\n 123456\n(1001 rows)\n\n"), "{text}");
}

#[test]
fn every_type_has_a_text() {
    let cases: Vec<(ArrayRef, &str)> = vec![
        (Arc::new(Date32Array::from(vec![9204])), "1995-03-15"),
        (Arc::new(TimestampMicrosecondArray::from(vec![1_500_000])), "1970-01-01 00:00:01.5"),
        (Arc::new(TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC")), "1970-01-01 00:00:00+00"),
        (Arc::new(BinaryViewArray::from(vec![&b"\x01\xab"[..]])), "\\x01ab"),
        (Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), Some(2)])])), "{1,2}"),
    ];
    for (array, expected) in cases {
        let text = printed(Format::Vertical, Expanded::Off, &[batch_of("v", array)]);
        assert!(text.contains(&format!("v | {expected}\n")), "{text}");
    }
}

#[test]
fn unaligned() {
    assert_eq!(
        printed(Format::Unaligned, Expanded::Off, &[sample()]),
        "id|name|price|ok\n1|a,\"b\"|1.50|true\n-20||-0.05|false\n|||\n(3 rows)\n"
    );
    let look = Look { format: Format::Unaligned, tuples_only: true, null: Some("-".to_owned()), ..Look::default() };
    assert!(printed_as(&look, &[sample()]).ends_with("\n-|-|-|-\n"));
}

#[test]
fn json_lines() {
    let text = printed(Format::Jsonl, Expanded::Off, &[sample()]);
    assert_eq!(text.lines().count(), 3);
    assert!(text.starts_with("{\"id\":1,") && text.ends_with("\"ok\":null}\n"), "{text}");
}

#[test]
fn rows_alone_and_other_nulls() {
    let look = Look { tuples_only: true, null: Some("~".to_owned()), ..Look::default() };
    assert_eq!(
        printed_as(&look, &[sample()]),
        "   1 | a,\"b\" |  1.50 | true\n -20 |       | -0.05 | false\n   ~ | ~     |     ~ | ~\n\n"
    );
}

#[test]
fn long_values_are_cut_for_people() {
    let batch = batch_of("text", Arc::new(StringViewArray::from(vec!["äbcdef", "abcde"])));
    let look = Look { value_width: Some(5), ..Look::default() };
    let text = printed_as(&look, std::slice::from_ref(&batch));
    assert!(text.contains(" äbcde… (6 characters)\n abcde\n"), "{text}");
    assert!(printed_as(&Look { format: Format::Csv, ..look }, &[batch]).contains("äbcdef\n"));
}

#[test]
fn null_is_set_apart_on_a_terminal() {
    let batch = batch_of("text", Arc::new(StringViewArray::from(vec![Some("NULL"), None])));
    let mut out = Vec::new();
    let screen = Screen { width: 80, height: 24, is_styled: true };
    let mut printer = Printer::new(&Look::default(), screen, batch.schema());
    printer.batch(&batch, &mut out).expect("memory");
    printer.finish(&mut out).expect("memory");
    let text = String::from_utf8(out).expect("UTF-8");
    assert!(text.contains("\n NULL\n \u{1b}[2mNULL\u{1b}[0m\n"), "{text:?}");
}
