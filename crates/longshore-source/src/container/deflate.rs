//! One deflate stream, wherever it lies: in a gzip member, in a zip archive.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::fault::{Stop, damaged, truncated};
use crate::feed::Feed;
use crate::parallel_reader::Sink;

/// Decompresses the deflate stream at the front of `feed`; its CRC-32 and its length modulo 2^32 come back.
pub(super) fn inflate(format: &'static str, feed: &mut Feed, sink: &mut Sink) -> Result<Crc, Stop> {
    let mut inflate = Decompress::new(false);
    let mut crc = Crc::new();
    loop {
        let offset = feed.offset();
        let input = feed.need(1)?;
        let at_end = input.is_empty();
        let room = sink.free()?;
        let (read_before, written_before) = (inflate.total_in(), inflate.total_out());
        let status = inflate
            .decompress(input, room, FlushDecompress::None)
            .map_err(|error| damaged(format, offset, format!("the deflate data is damaged ({error})")))?;
        let read = (inflate.total_in() - read_before) as usize;
        let written = (inflate.total_out() - written_before) as usize;
        crc.update(&room[..written]);
        sink.advance(written);
        feed.consume(read);
        match status {
            Status::StreamEnd => return Ok(crc),
            Status::Ok | Status::BufError if read == 0 && written == 0 => {
                return Err(if at_end {
                    truncated(format, offset, "the deflate data")
                } else {
                    damaged(format, offset, "the deflate data is damaged")
                });
            }
            Status::Ok | Status::BufError => {}
        }
    }
}
