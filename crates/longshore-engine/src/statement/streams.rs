//! What COPY reads as STDIN and writes as STDOUT.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

/// The streams of a session.
#[derive(Default)]
pub(crate) struct Streams {
    pub(crate) input: Option<Box<dyn Read + Send>>,
    pub(crate) output: Option<SharedWriter>,
}

/// A writer that each `COPY ... TO STDOUT` borrows in turn.
#[derive(Clone)]
pub(crate) struct SharedWriter(Arc<Mutex<Box<dyn Write + Send>>>);

impl SharedWriter {
    /// A writer to `output`.
    pub(crate) fn new(output: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(output))))
    }

    fn with<R>(&self, act: impl FnOnce(&mut dyn Write) -> R) -> R {
        let mut writer = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        act(&mut **writer)
    }
}

impl Write for SharedWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.with(|writer| writer.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.with(|writer| writer.flush())
    }
}
