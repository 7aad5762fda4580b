//! The columns that the fields of texts go to.

use longshore_load::{FieldTarget, OtherFields};
use longshore_storage::Column;

use super::files::ComputedColumn;
use crate::sql::options::Options;

/// The columns that the fields of texts go to.
pub(crate) struct ColumnMapping<'a> {
    /// These columns, in the order of the fields where nothing else tells.
    pub(crate) columns: Vec<&'a Column>,
    /// Their places in the table.
    pub(crate) places: &'a [usize],
    /// What goes into other columns of it.
    pub(crate) computed: &'a [(usize, ComputedColumn)],
    /// Whether the user listed them.
    pub(crate) are_listed: bool,
}

impl ColumnMapping<'_> {
    /// What a field is that goes to the column at `index` of these.
    pub(super) fn target(&self, options: &Options, index: usize) -> FieldTarget {
        let default = options.default_of(&self.columns[index].name).map(str::to_owned);
        FieldTarget { column: self.places[index], default }
    }

    /// The same for all of them, with their names.
    pub(super) fn targets(&self, options: &Options) -> Vec<(String, FieldTarget)> {
        (0..self.columns.len()).map(|index| (self.columns[index].name.clone(), self.target(options, index))).collect()
    }

    /// What becomes of fields that are none of these, where that can be told.
    pub(super) fn others(&self) -> OtherFields {
        if self.are_listed { OtherFields::ReadOver } else { OtherFields::Refuse }
    }
}
