//! How large a database is, by the specification and for tests.

use super::values::LAST_NAMES;

/// Districts of a warehouse.
pub(super) const DISTRICTS: i32 = 10;

/// How large a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) warehouses: i32,
    /// 100,000 by the specification.
    pub(super) items: i32,
    /// Customers of a district, and its orders: 3,000 by the specification.
    pub(super) customers: i32,
}

impl Sizes {
    /// What the specification says from scale 1 on, that share of it below.
    pub(super) fn new(warehouses: i32, scale: f64) -> Sizes {
        let share = |of: i32, least: i32| ((f64::from(of) * scale.min(1.0)) as i32).max(least);
        Sizes { warehouses, items: share(100_000, 200), customers: share(3_000, 30) }
    }

    /// The first order of a district that is not delivered: the last 900 of 3,000 are not.
    pub(super) fn first_new_order(self) -> i32 {
        self.customers - self.customers * 3 / 10 + 1
    }

    /// Last names that are surely there.
    pub(super) fn last_names(self) -> i32 {
        self.customers.min(LAST_NAMES)
    }
}
