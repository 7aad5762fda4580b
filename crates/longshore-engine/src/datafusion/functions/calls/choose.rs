//! Which overload of a function a call means.
//!
//! As in PostgreSQL, an overload takes values of its own types, of types that widen to them, and texts, since a literal is a
//! text until it is known what it is to be. The overload that has to convert least is taken.

use datafusion::arrow::datatypes::DataType;

use super::{Kind, Overload};
use crate::datafusion::functions::numeric::is_exact;

/// What a call costs that reads a literal as another type.
const LITERAL: u32 = 20;

/// The overload that takes arguments of these types best.
pub(super) fn chosen<'a>(overloads: &'a [Overload], types: &[DataType]) -> Option<&'a Overload> {
    let costs = overloads.iter().filter_map(|overload| Some((cost(overload, types)?, overload)));
    costs.min_by_key(|(cost, _)| *cost).map(|(_, overload)| overload)
}

fn cost(overload: &Overload, types: &[DataType]) -> Option<u32> {
    if types.len() < overload.takes.len() || (types.len() > overload.takes.len() && overload.rest.is_none()) {
        return None;
    }
    let each = types.iter().enumerate().map(|(at, data_type)| of_argument(overload.kind(at)?, data_type));
    each.sum::<Option<u32>>().map(|cost| cost * 2 + u32::from(overload.rest.is_some()))
}

/// What it costs to make a value of this type one of this kind; `None` if it cannot be.
fn of_argument(kind: Kind, data_type: &DataType) -> Option<u32> {
    let is_text = data_type.is_string();
    let is_decimal = is_exact(data_type);
    Some(match (kind, data_type) {
        (Kind::Any | Kind::Presence, _) => 5,
        (_, DataType::Null) => u32::from(kind != Kind::Text),
        (Kind::Text, _) if is_text => 0,
        (Kind::AnyList, DataType::List(_))
        | (Kind::Bool, DataType::Boolean)
        | (Kind::Int, DataType::Int32)
        | (Kind::BigInt, DataType::Int64)
        | (Kind::Double, DataType::Float64) => 0,
        (Kind::Bytes, data_type) if data_type.is_binary() => 0,
        (Kind::Int, DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16)
        | (Kind::Double, DataType::Float32) => 1,
        (Kind::BigInt, data_type) if data_type.is_integer() && *data_type != DataType::UInt64 => 2,
        (Kind::Double, data_type) if data_type.is_integer() || is_decimal => 4,
        (Kind::Texts, data_type) => of_list(Kind::Text, data_type).or_else(|| of_list(Kind::Any, data_type))?,
        (Kind::BigInts, data_type) => of_list(Kind::BigInt, data_type)?,
        (Kind::Doubles, data_type) => of_list(Kind::Double, data_type)?,
        (Kind::Bool | Kind::Int | Kind::BigInt | Kind::Double | Kind::Bytes, _) if is_text => {
            // PostgreSQL takes a literal for the preferred type of its category.
            LITERAL + u32::from(kind != Kind::Double)
        }
        _ => return None,
    })
}

fn of_list(item: Kind, data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => of_argument(item, field.data_type()),
        _ => None,
    }
}
