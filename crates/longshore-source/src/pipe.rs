//! Reads a pipe on a thread of its own: reading goes on beside the parsing, and a pipe whose writer is slow keeps
//! nobody from cancelling.

use std::io::{self, Read};

use crate::budget::Budget;
use crate::parallel_reader::ParallelReader;

/// What a pipe gives, read ahead from the first read on.
pub(crate) enum PipeReader {
    Waiting { input: Option<Box<dyn Read + Send>>, budget: Budget },
    Started(ParallelReader),
}

impl PipeReader {
    pub(crate) fn new(input: Box<dyn Read + Send>, budget: Budget) -> Self {
        Self::Waiting { input: Some(input), budget }
    }
}

impl Read for PipeReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Self::Started(text) => return text.read(into),
                Self::Waiting { input, budget } => {
                    let gone = || io::Error::other("no thread could be started to read it");
                    *self = Self::Started(start(input.take().ok_or_else(gone)?, budget)?);
                }
            }
        }
    }
}

fn start(mut input: Box<dyn Read + Send>, budget: &Budget) -> io::Result<ParallelReader> {
    ParallelReader::start(1, budget, move |output| {
        let mut sink = output.sink();
        loop {
            match input.read(sink.free()?) {
                Ok(0) => break,
                Ok(read) => sink.advance(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    sink.fail(error.into());
                    return Ok(());
                }
            }
        }
        sink.finish();
        Ok(())
    })
}
