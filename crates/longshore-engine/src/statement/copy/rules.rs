//! The rules of a table in a load: what the columns take that no field goes to, and what is checked.
//!
//! A load follows what it can by itself: constants, numbers of sequences, checks. What has to be computed anew for each
//! row (`DEFAULT random()`) makes it one that goes through the planner, as a condition does.

use std::sync::Arc;

use longshore_load::{Conflicts, NumberSource, RowCheck};
use longshore_storage::ColumnType;

use super::target::Target;
use crate::catalog::{Origin, Sequence};
use crate::datafusion::Value;
use crate::statement::Context;
use crate::text::ComputedColumn;
use crate::transaction::StatementTransaction;
use crate::{Error, ErrorKind};

/// What a load follows for each row.
#[derive(Default)]
pub(super) struct LoadRules {
    pub(super) check: Option<Arc<dyn RowCheck>>,
    /// What [`ComputedColumn::Number`] refers to.
    pub(super) numbers: Vec<Arc<dyn NumberSource>>,
    /// What becomes of rows whose key is there already.
    pub(super) conflicts: Conflicts,
}

/// What a load does for a table's rules.
pub(super) struct Followed {
    /// What goes into columns that nothing else goes to.
    pub(super) computed: Vec<(usize, ComputedColumn)>,
    pub(super) rules: LoadRules,
}

impl Target {
    /// How a load can follow the rules of the table; `None` if it cannot.
    pub(super) fn followed(&self, context: &Context<'_>, dry_run: bool) -> Result<Option<Followed>, Error> {
        let queries = &context.database.queries;
        if self.rules.generated().next().is_some() {
            return Ok(None);
        }
        let (mut computed, mut rules) = (Vec::new(), LoadRules::default());
        for (place, column) in self.table.relation.schema().columns().iter().enumerate() {
            let origin = self.rules.origin(place);
            let is_given = self.fields.contains(&place) || self.computed.iter().any(|(filled, _)| *filled == place);
            if is_given || matches!(origin, Origin::Null) {
                continue;
            }
            match queries.value(column, origin, &context.execution())? {
                Value::Null => {}
                Value::Constant(text) => computed.push((place, ComputedColumn::Value(text))),
                Value::Volatile => {
                    let is_number =
                        matches!(column.column_type, ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt);
                    let name = origin.sequence().filter(|_| is_number);
                    let Some(sequence) = name.and_then(|name| context.database.catalog.sequence(&name)) else {
                        return Ok(None);
                    };
                    computed.push((place, ComputedColumn::Number(rules.numbers.len())));
                    let (column_type, transaction) = (column.column_type, Arc::clone(context.transaction));
                    rules.numbers.push(Arc::new(Numbers { sequence, column_type, transaction, dry_run }));
                }
            }
        }
        let checks = queries.checks(&self.table, &self.rules.checks.iter(), &context.execution())?;
        rules.check = checks.map(|checks| Arc::new(checks) as Arc<dyn RowCheck>);
        Ok(Some(Followed { computed, rules }))
    }

    /// Refuses what a statement wants that goes through the planner: to leave out rows that violate a check.
    pub(super) fn check_rejects(&self, on_error_stops: bool) -> Result<(), Error> {
        match self.rules.checks.first() {
            Some(check) if !on_error_stops => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "ON_ERROR leaves out rows that violate a check, as table {} has with {}, only where text goes into the \
                     table as it is, without WHERE and a query; put the condition into it: {}",
                    self.table.name, check.name, check.condition
                ),
            )),
            _ => Ok(()),
        }
    }
}

/// The numbers of a sequence for a column of a load.
struct Numbers {
    sequence: Arc<Sequence>,
    column_type: ColumnType,
    transaction: Arc<StatementTransaction>,
    /// Whether none is to be used up.
    dry_run: bool,
}

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Numbers").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl Numbers {
    fn fits(&self, number: i64) -> bool {
        match self.column_type {
            ColumnType::SmallInt => i16::try_from(number).is_ok(),
            ColumnType::Integer => i32::try_from(number).is_ok(),
            _ => true,
        }
    }
}

impl NumberSource for Numbers {
    fn take(&self, count: u64) -> Result<(i64, i64), String> {
        let last = self.transaction.numbers_to_change("nextval").map_err(|error| error.to_string())?;
        let taken = self.sequence.take(count).map_err(|error| error.to_string())?;
        if taken.count < count || !self.fits(taken.last()) {
            self.sequence.give_back(&taken, 0);
            return Err(format!(
                "nextval: sequence \"{}\" has fewer numbers left, from {} to {}, than there are records to load, or they are \
                 none of {}; ALTER SEQUENCE gives it others",
                self.sequence.name,
                taken.first,
                taken.last(),
                self.column_type
            ));
        }
        if self.dry_run {
            self.sequence.give_back(&taken, 0);
        } else {
            last.taken(&self.sequence, taken.last());
        }
        Ok((taken.first, taken.step))
    }
}
