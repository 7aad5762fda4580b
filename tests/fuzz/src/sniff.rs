//! The sniffer finds something in any bytes, in bounded time, and what it finds can be pasted; types that it joins never
//! come back.

use longshore_format::sniff::types::{Reading, TypeSet, classify};
use longshore_format::sniff::{Given, sniff};

/// Bytes of an input at most: the time of a sniff is bounded by that of the largest sample, which is not what is
/// looked for here.
const INPUT_BYTES_MAX: usize = 8 << 10;

/// What must hold for any bytes.
///
/// # Panics
///
/// When it does not.
pub fn check_input(input: &[u8]) {
    let input = &input[..input.len().min(INPUT_BYTES_MAX)];
    for at_end in [true, false] {
        let found = sniff(input, at_end, &Given::default());
        assert!(found.to_string().starts_with("(FORMAT "));
        let names: std::collections::HashSet<_> = found.columns.iter().map(|column| &column.name).collect();
        assert_eq!(names.len(), found.columns.len(), "names occur once");
        // What was found, once given, is found again.
        let delimiter = Some(found.delimiter.value.clone()).filter(|delimiter| !delimiter.is_empty());
        let again = sniff(input, at_end, &Given { delimiter, header: Some(found.header.value), ..Given::default() });
        assert_eq!(again.header.value, found.header.value);
    }
    let reading = Reading::default();
    let mut joined = TypeSet::EVERY;
    for field in input.split(|byte| matches!(byte, b',' | b'\n')) {
        let types = classify(field, false, &reading);
        joined = joined.join(types);
        assert_eq!(joined.join(types), joined);
        let decision = joined.decide(&reading);
        assert!(joined.admits(&decision.value_type), "{decision:?}");
    }
}
