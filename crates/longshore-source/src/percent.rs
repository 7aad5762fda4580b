//! Percent encoding, as in addresses and in the names of folders.
//!
//! Not here: what is so encoded (`location`, `expand/hive`).

/// The bytes of `text` with `%41` as the byte that it stands for; what is not so encoded stays as it is.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.first_chunk::<2>().filter(|_| first == b'%');
        let value = digits.and_then(|[high, low]| {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some(digit(*high)? * 16 + digit(*low)?)
        });
        if let Some(value) = value {
            bytes.push(value as u8);
            rest = &behind[2..];
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    bytes
}
