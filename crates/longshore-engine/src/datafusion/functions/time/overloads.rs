//! Which of the functions of one name a call means: as PostgreSQL chooses, the one whose arguments fit best.

use datafusion::arrow::datatypes::DataType;
use longshore_time::error::Result;

use super::kinds::Kind;
use super::session::SessionTime;
use super::values::Value;

/// What computes a value of values, none of which is NULL unless the overload takes NULL.
pub(super) type Compute = for<'a> fn(&[Value<'a>], &SessionTime<'_>) -> Result<Value<'static>>;

/// One of the functions of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overload {
    pub(super) arguments: &'static [Kind],
    pub(super) result: Kind,
    pub(super) compute: Compute,
    /// Whether it is called for NULL, too.
    pub(super) takes_null: bool,
}

/// An overload that gives NULL for NULL.
pub(super) const fn overload(arguments: &'static [Kind], result: Kind, compute: Compute) -> Overload {
    Overload { arguments, result, compute, takes_null: false }
}

/// The overload for arguments of these types; `None` if there is none.
pub(super) fn choose<'a>(overloads: &'a [Overload], types: &[DataType]) -> Option<&'a Overload> {
    let fitting = overloads.iter().filter(|overload| overload.arguments.len() == types.len());
    let costs = fitting.filter_map(|overload| {
        let costs = overload.arguments.iter().zip(types).map(|(wanted, found)| cost(*wanted, found));
        costs.sum::<Option<u32>>().map(|cost| (cost, overload))
    });
    costs.min_by_key(|(cost, _)| *cost).map(|(_, overload)| overload)
}

/// How far a type is from the wanted one; `None` if it cannot become it by itself.
fn cost(wanted: Kind, found: &DataType) -> Option<u32> {
    if *found == DataType::Null {
        return Some(0);
    }
    let kind = Kind::of(found)?;
    Some(match (kind, wanted) {
        (kind, wanted) if kind == wanted => 0,
        (Kind::Int4 | Kind::Int, Kind::Int4 | Kind::Int) => 0,
        (Kind::Int4 | Kind::Int, Kind::Decimal) => 1,
        (Kind::Int4 | Kind::Int | Kind::Decimal, Kind::Float) => 2,
        (Kind::Date, Kind::Timestamp) => 11,
        (Kind::Date | Kind::Timestamp, Kind::TimestampTz) | (Kind::Time, Kind::TimeTz | Kind::Interval) => 10,
        // A literal without a type is of the type `Utf8`, text of columns and casts of another.
        (Kind::Text, wanted)
            if *found == DataType::Utf8 && !matches!(wanted, Kind::Bool | Kind::Int4 | Kind::Decimal) =>
        {
            12
        }
        _ => return None,
    })
}
