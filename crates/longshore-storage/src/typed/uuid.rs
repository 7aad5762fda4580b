//! Decides what text is a UUID and how it is stored: 36 characters, lower case, hyphens after 8, 12, 16 and 20 digits.

/// Characters of a stored UUID.
pub(crate) const UUID_BYTES: usize = 36;

/// The stored form of a UUID that may be in braces and in upper case; `None` if the text is not one.
pub(crate) fn canonical(text: &[u8]) -> Option<[u8; UUID_BYTES]> {
    let bare = match text {
        [b'{', inner @ .., b'}'] => inner,
        _ => text,
    };
    let mut stored: [u8; UUID_BYTES] = bare.try_into().ok()?;
    for (at, byte) in stored.iter_mut().enumerate() {
        let fits = if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
        if !fits {
            return None;
        }
        byte.make_ascii_lowercase();
    }
    Some(stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: &[u8; UUID_BYTES] = b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";

    #[test]
    fn case_and_braces_do_not_matter() {
        assert_eq!(canonical(STORED).as_ref(), Some(STORED));
        assert_eq!(canonical(b"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11").as_ref(), Some(STORED));
        assert_eq!(canonical(b"{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380A11}").as_ref(), Some(STORED));
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "{}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11 ",
            "a0eebc999-c0b-4ef8-bb6d-6bb9bd380a11",
            "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ] {
            assert_eq!(canonical(text.as_bytes()), None, "{text}");
        }
    }
}
