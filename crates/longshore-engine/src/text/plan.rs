//! How texts are read: as the options say, or with AUTO by what their head tells.

use longshore_load::{Control, TextOptions};

use super::column_mapping::ColumnMapping;
use super::detect;
use super::input::TextInput;
use super::sources::TextSources;
use crate::Error;
use crate::sql::options::Options;

impl TextSources {
    /// How to read texts whose fields go to the columns `mapping`.
    pub(crate) fn plan(
        self,
        options: &Options,
        mapping: &ColumnMapping<'_>,
        control: &Control,
    ) -> Result<(Vec<TextInput>, TextOptions), Error> {
        if options.auto {
            detect::plan(self, options, mapping, control)
        } else {
            self.plan_as_said(options, mapping, control)
        }
    }
}
