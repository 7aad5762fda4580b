//! Finds a customer, by number or by last name (clauses 2.5.2.2 and 2.6.2.2).

use std::ops::ControlFlow;

use longshore_storage::{Direction, RowId, Transaction, key};

use super::{Stop, there};
use crate::workload::tpcc::input::Who;
use crate::workload::tpcc::schema::Database;
use crate::workload::tpcc::values::LastNames;

/// The customer of a district. Of those of one last name it is the middle one by first name, rounded up.
pub(super) fn find(
    db: &Database,
    t: &mut Transaction,
    names: &LastNames,
    warehouse: i32,
    district: i32,
    customer: Who,
) -> Result<RowId, Stop> {
    let table = &db.customer;
    let name = match customer {
        Who::Id(id) => return there(t.find(&table.relation, &table.key, key!(warehouse, district, id))?, "a customer"),
        Who::LastName(number) => names.of(number),
    };
    let mut rows = Vec::with_capacity(16);
    let of_name = key!(warehouse, district, name);
    t.range(&table.relation, &table.by_name, of_name..=of_name, Direction::Forward, |_, row| {
        rows.push(row);
        Ok(ControlFlow::Continue(()))
    })?;
    there(rows.get(rows.len().saturating_sub(1) / 2).copied(), "a customer of this last name")
}
