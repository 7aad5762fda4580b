//! `lpad` and `rpad`. How large their results may be is watched elsewhere (`execution::sizes`).

use crate::datafusion::functions::calls::Kind::{Int, Text};
use datafusion::logical_expr::ScalarUDF;

use crate::datafusion::functions::calls::udf::Function;
use crate::datafusion::functions::calls::{Overload, of};

pub(super) const OVERLOADS: &[Overload] = &[
    of("lpad", &[Text, Int], Text, |row| Ok(padded(row.text(0), row.int(1), " ", true).into())),
    of("lpad", &[Text, Int, Text], Text, |row| Ok(padded(row.text(0), row.int(1), row.text(2), true).into())),
    of("rpad", &[Text, Int], Text, |row| Ok(padded(row.text(0), row.int(1), " ", false).into())),
    of("rpad", &[Text, Int, Text], Text, |row| Ok(padded(row.text(0), row.int(1), row.text(2), false).into())),
];

/// `rpad`.
pub(in crate::datafusion) fn rpad() -> ScalarUDF {
    let overloads = OVERLOADS.iter().filter(|overload| overload.name == "rpad").copied();
    ScalarUDF::new_from_impl(Function::new("rpad", overloads.collect()))
}

/// `text`, cut or filled up to so many characters.
fn padded(text: &str, length: i32, fill: &str, left: bool) -> String {
    let wanted = usize::try_from(length).unwrap_or_default();
    let own = text.chars().count();
    if own >= wanted || fill.is_empty() {
        return text.chars().take(wanted).collect();
    }
    let filling = fill.chars().cycle().take(wanted - own);
    if left { filling.chain(text.chars()).collect() } else { text.chars().chain(filling).collect() }
}
