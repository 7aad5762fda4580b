//! Records that are not whole: which are repaired, and what is noted of them.

use longshore_csv::{Missing, RecordFormat, RepairKind, RowText};
use longshore_format::delimited::{Delimited, DelimitedOptions, LongRecords, ShortRecords, StrayQuotes};

/// The rows of two fields that a text has, the kinds of its defects, and what was repaired.
fn read(text: &[u8], options: DelimitedOptions) -> (usize, Vec<&'static str>, Vec<(usize, RepairKind)>) {
    let format = Delimited::new(options).expect("the options go together");
    let mut rows = RowText::new(vec![Missing::default(); 2], 1 << 16);
    let mut defects = Vec::new();
    format.read(text, &mut rows, &mut defects);
    let kinds = defects.iter().map(|defect| defect.kind.name()).collect();
    (rows.count(), kinds, rows.repairs().to_vec())
}

#[test]
fn fields_too_many_are_dropped_if_they_are_empty() {
    let options = DelimitedOptions { long_records: LongRecords::TruncateEmpty, ..DelimitedOptions::default() };
    let (rows, defects, repairs) = read(b"a,b\nc,d,\ne,f,,,\ng,h,,i\nj,k,\"\"\nl,\"m\",\n", options);
    assert_eq!((rows, defects), (4, vec!["extra fields"; 2]));
    assert_eq!(repairs, [(1, RepairKind::Long), (2, RepairKind::Long), (3, RepairKind::Long)]);
}

#[test]
fn repairs_are_noted() {
    let options = DelimitedOptions {
        short_records: ShortRecords::Pad,
        long_records: LongRecords::TruncateEmpty,
        stray_quotes: StrayQuotes::Literal,
        ..DelimitedOptions::default()
    };
    let text = b"a,b\nc\nd,e,\nf,g,h\ni,5\" pipe\n\"j\n\"k\",l\n\"m\"\"n\",\"o\"\n\"p\"\"\n\"q\" r\"\n";
    let (_, defects, repairs) = read(text, options);
    let (short, long, stray) = (RepairKind::Short, RepairKind::Long, RepairKind::StrayQuote);
    assert_eq!(defects, ["extra fields"]);
    assert_eq!(repairs, [(1, short), (2, long), (3, stray), (4, stray), (6, stray), (6, short)]);
}
