//! Reads a pipe on a thread of its own: reading goes on beside the parsing, and a pipe whose writer is slow keeps
//! nobody from cancelling.

use std::io::{self, Read};

use crate::ordered::Ordered;

/// What `input` gives, read ahead.
pub(crate) fn ahead(mut input: Box<dyn Read + Send>) -> io::Result<Ordered> {
    Ordered::start(1, move |output| {
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
