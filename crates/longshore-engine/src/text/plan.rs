//! How texts are read: as the options say, or with AUTO by what their head tells.

use longshore_load::{Control, TextOptions};

use super::detect;
use super::input::TextInput;
use super::texts::Texts;
use super::wanted::Wanted;
use crate::Error;
use crate::sql::options::Options;

impl Texts {
    /// How to read texts whose fields go to the columns `wanted`.
    pub(crate) fn plan(
        self,
        options: &Options,
        wanted: &Wanted<'_>,
        control: &Control,
    ) -> Result<(Vec<TextInput>, TextOptions), Error> {
        if options.auto {
            detect::plan(self, options, wanted, control)
        } else {
            self.plan_as_said(options, wanted, control)
        }
    }
}
