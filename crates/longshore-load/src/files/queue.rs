//! The files whose turn has not come: the next few are opened by another thread, since opening may mean to wait for a
//! server or to decompress.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use longshore_source::Source;
use longshore_storage::Memory;

use crate::error::LoadError;
use crate::input::InputFile;

/// Files that are open before their turn, at most.
const FILES_AHEAD_MAX: usize = 4;

/// The files whose turn has not come.
pub(super) enum Queue {
    /// The only one.
    Single(Option<Box<InputFile>>, Arc<Memory>),
    /// Several, opened by another thread.
    Ahead(Receiver<(InputFile, Result<Source, LoadError>)>),
}

impl Queue {
    pub(super) fn new(mut inputs: Vec<InputFile>, memory: &Arc<Memory>) -> Self {
        let memory = Arc::clone(memory);
        if inputs.len() <= 1 {
            return Self::Single(inputs.pop().map(Box::new), memory);
        }
        let (sender, receiver) = sync_channel(FILES_AHEAD_MAX);
        // Ends with its work, or when nobody receives any more.
        std::thread::spawn(move || {
            for input in inputs {
                let source = input.open_counted(&memory);
                let failed = source.is_err();
                if sender.send((input, source)).is_err() || failed {
                    return;
                }
            }
        });
        Self::Ahead(receiver)
    }

    pub(super) fn next(&mut self) -> Option<(InputFile, Result<Source, LoadError>)> {
        match self {
            Self::Single(input, memory) => input.take().map(|input| {
                let source = input.open_counted(memory);
                (*input, source)
            }),
            Self::Ahead(receiver) => receiver.recv().ok(),
        }
    }
}
