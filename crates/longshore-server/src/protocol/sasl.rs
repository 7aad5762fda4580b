//! The bodies of SASL's messages.

use bytes::Bytes;

/// The mechanism that a client has chosen, and what it says first.
pub(crate) fn initial_response(body: &Bytes) -> Result<(String, String), &'static str> {
    const MALFORMED: &str = "malformed SASL message";
    let end = body.iter().position(|byte| *byte == 0).ok_or(MALFORMED)?;
    let mechanism = std::str::from_utf8(&body[..end]).map_err(|_| MALFORMED)?;
    let (length, first) = body[end + 1..].split_at_checked(4).ok_or(MALFORMED)?;
    let length = i32::from_be_bytes(length.try_into().map_err(|_| MALFORMED)?);
    if usize::try_from(length) != Ok(first.len()) {
        return Err(MALFORMED);
    }
    let first = std::str::from_utf8(first).map_err(|_| MALFORMED)?;
    Ok((mechanism.to_owned(), first.to_owned()))
}
