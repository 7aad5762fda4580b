//! Aggregates (PostgreSQL's chapter 9.21) that `DataFusion` has not, or has otherwise: those over sorted values, those of
//! pairs, texts that are joined, the value beside the least or greatest other one, and the least or greatest array.

mod array_extremes;
mod extremes;
mod joined;
mod ordered;
mod pairs;
mod sliding;
mod sorted;

use datafusion::common::Result;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::AggregateUDF;

pub(in crate::datafusion) use array_extremes::ArrayExtremes;
use extremes::Extreme;
pub(in crate::datafusion) use joined::ComputedDelimiters;
use ordered::{Measure, Ordered};
use pairs::OfPairs;
use sliding::Sliding;

/// What they are called, here or elsewhere too.
const ALIASES: [(&str, &[&str]); 5] = [
    ("first_value", &["first", "arbitrary"]),
    ("last_value", &["last"]),
    ("array_agg", &["list"]),
    ("string_agg", &["group_concat", "listagg"]),
    ("approx_distinct", &["approx_count_distinct"]),
];

/// Registers them.
pub(in crate::datafusion) fn register(state: &mut SessionState) -> Result<()> {
    state.register_udaf(joined::StringAgg::new(false).function().into())?;
    for (name, aliases) in ALIASES {
        let function = state.udaf(name)?.as_ref().clone().with_aliases(aliases.iter().copied());
        state.register_udaf(function.into())?;
    }
    for name in sliding::NAMES {
        let function = state.udaf(name)?.as_ref().clone();
        state.register_udaf(AggregateUDF::new_from_impl(Sliding(function)).into())?;
    }
    for measure in Measure::ALL {
        state.register_udaf(AggregateUDF::new_from_impl(Ordered::new(measure)).into())?;
    }
    for measure in pairs::Measure::ALL {
        state.register_udaf(AggregateUDF::new_from_impl(OfPairs::new(measure)).into())?;
    }
    for is_greatest in [false, true] {
        state.register_udaf(AggregateUDF::new_from_impl(Extreme::new(is_greatest)).into())?;
    }
    Ok(())
}
