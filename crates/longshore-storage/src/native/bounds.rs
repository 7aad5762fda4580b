//! Whether bounds that a directory claims are bounds of the values that its block has: queries skip chunks by them, and
//! answer from them.

use super::wire::Malformed;
use crate::statistics::bounds::Bounds;
use crate::statistics::{ColumnStatistics, Value};
use crate::types::Physical;

/// Bytes of a text that its bounds are made of.
const PREFIX_BYTES: usize = 4;

/// Checks what is claimed of a column by the bounds of its values.
pub(super) fn check(claimed: &ColumnStatistics, found: &Bounds, physical: Physical) -> Result<(), Malformed> {
    let holds = if let Bounds::Prefix { min, max } = *found {
        !claimed.exact
            && claimed.min.as_ref().is_none_or(|claimed| is_below(bytes_of(claimed), min))
            && claimed.max.as_ref().is_none_or(|claimed| prefix(bytes_of(claimed)) > max)
    } else if claimed.min.is_none() && claimed.max.is_none() {
        !claimed.exact
    } else {
        let claimed_bounds = Bounds::of_statistics(claimed, physical);
        let mut both = claimed_bounds;
        both.merge(found);
        claimed_bounds != Bounds::Off && both == claimed_bounds && (!claimed.exact || *found == claimed_bounds)
    };
    if holds {
        Ok(())
    } else {
        Err(Malformed::new("the values do not lie between the bounds that the directory claims"))
    }
}

fn bytes_of(bound: &Value) -> &[u8] {
    match bound {
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// Whether no text whose first bytes are `min` or more precedes a bound. Zeros stand for bytes that are missing, so a bound
/// that ends in one could not be told from a shorter one.
fn is_below(bound: &[u8], min: u32) -> bool {
    bound.len() <= PREFIX_BYTES && bound.last() != Some(&0) && prefix(bound) <= min
}

/// The first bytes, the first most significant.
fn prefix(bytes: &[u8]) -> u32 {
    let mut first = [0; PREFIX_BYTES];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    u32::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ColumnType;
    use crate::values::Values;
    use arrow_array::builder::make_view;

    fn found(physical: Physical, values: Values<'_>) -> Bounds {
        let mut found = Bounds::new(physical);
        found.add(values, None);
        found
    }

    #[test]
    fn what_is_gathered_is_believed_and_no_narrower_bound() {
        let claimed = |min, max, exact| ColumnStatistics {
            row_count: 3,
            null_count: 0,
            min: Some(Value::Integer(min)),
            max: Some(Value::Integer(max)),
            exact,
        };
        let bounds = found(Physical::I64, Values::I64(&[5, -3, 9]));
        let holds = |claimed: ColumnStatistics| check(&claimed, &bounds, Physical::I64).is_ok();
        assert!(holds(bounds.statistics(ColumnType::BigInt, 3, 0)));
        assert!(holds(claimed(-3, 9, true)) && holds(claimed(-4, 9, false)) && holds(claimed(-4, 10, false)));
        assert!(!holds(claimed(-2, 9, false)) && !holds(claimed(-3, 8, false)) && !holds(claimed(-4, 9, true)));
        assert!(!holds(ColumnStatistics { max: None, ..claimed(-3, 9, false) }));
        assert!(holds(ColumnStatistics { row_count: 3, ..ColumnStatistics::default() }));
        let bounds = found(Physical::F64, Values::F64(&[0.0, f64::NAN]));
        let floats =
            ColumnStatistics { min: Some(Value::Float(0.0)), max: Some(Value::Float(1.0)), ..claimed(0, 0, false) };
        assert!(check(&floats, &bounds, Physical::F64).is_err(), "NaN lies between none");
    }

    #[test]
    fn texts_lie_between_what_their_first_bytes_say() {
        let texts = ["aaa\u{e4}", "abcdef", "b", "zz\u{10FFFF}"];
        let views: Vec<u128> = texts.iter().map(|text| make_view(text.as_bytes(), 0, 0)).collect();
        for from in 0..texts.len() {
            for to in from + 1..=texts.len() {
                let bounds = found(Physical::View, Values::Views(&views[from..to]));
                let gathered = bounds.statistics(ColumnType::Text, 3, 0);
                assert!(check(&gathered, &bounds, Physical::View).is_ok(), "{gathered:?}");
                let wider = found(Physical::View, Values::Views(&views)).statistics(ColumnType::Text, 3, 0);
                assert!(check(&wider, &bounds, Physical::View).is_ok(), "{wider:?}");
                let text = |text: &str| Some(Value::Text(text.to_owned()));
                for wrong in [
                    ColumnStatistics {
                        min: text(texts[to - 1]).filter(|_| to - from > 1),
                        max: text("a"),
                        ..gathered.clone()
                    },
                    ColumnStatistics { min: text("zzzzz"), ..gathered.clone() },
                    ColumnStatistics { min: text("a\0"), ..gathered.clone() },
                    ColumnStatistics { exact: true, ..gathered.clone() },
                ] {
                    assert!(check(&wrong, &bounds, Physical::View).is_err(), "{wrong:?}");
                }
            }
        }
    }
}
