//! What statements have of their session. Not here: what they have of their transaction (`Context`).

use std::sync::Arc;

use longshore_load::Control;

use super::{ClientSettings, Cursors, Streams, prepare};
use crate::Database;
use crate::prepared::Shapes;
use crate::transaction::Block;

/// What of a session its statements work with.
pub(crate) struct SessionContext<'a> {
    pub(crate) database: &'a Arc<Database>,
    pub(crate) block: &'a mut Block,
    pub(crate) prepared: &'a mut prepare::Named,
    pub(crate) streams: &'a mut Streams,
    pub(crate) settings: &'a mut ClientSettings,
    pub(crate) shapes: &'a mut Shapes,
    pub(crate) cursors: &'a mut Cursors,
    pub(crate) control: &'a Arc<Control>,
}

impl SessionContext<'_> {
    /// The same, for a part of what is executed.
    pub(super) fn again(&mut self) -> SessionContext<'_> {
        SessionContext {
            database: self.database,
            block: self.block,
            prepared: self.prepared,
            streams: self.streams,
            settings: self.settings,
            shapes: self.shapes,
            cursors: self.cursors,
            control: self.control,
        }
    }
}
