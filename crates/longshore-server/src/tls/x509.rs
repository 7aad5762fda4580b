//! What a sign-in reads of a certificate: the name of its subject, and the hash that its signature uses.
//!
//! Whether a certificate is right, rustls has looked at before. A certificate that is not read to its end is one without a name
//! and without a hash.

use ring::digest;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
/// The version, which certificates of the first one leave out.
const VERSION: u8 = 0xA0;
/// Texts whose bytes are UTF-8: `UTF8String`, `PrintableString`, `IA5String`.
const TEXTS: [u8; 3] = [0x0C, 0x13, 0x16];

/// 2.5.4.3
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
/// 1.2.840.113549.1.1: signatures with RSA, but for the last number.
const RSA: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01];
/// 1.2.840.10045.4: signatures with elliptic curves.
const ECDSA: &[u8] = &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04];

/// Values of DER, one behind the other.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value: its tag and its bytes.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        let (length, rest) = match first {
            0..=0x7F => (usize::from(first), rest),
            // So many bytes of a length follow; certificates are not larger.
            0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
                (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// The next value, which has this tag.
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, value)| value)
    }
}

/// The first common name of the subject; `None` if there is none, or one that is no plain text.
pub(super) fn common_name(certificate: &[u8]) -> Option<String> {
    let mut signed = Der(Der(Der(certificate).expect(SEQUENCE)?).expect(SEQUENCE)?);
    if signed.0.first() == Some(&VERSION) {
        signed.next()?;
    }
    // Its number, the signature's algorithm, its issuer, its dates.
    for _ in 0..4 {
        signed.next()?;
    }
    let mut parts = Der(signed.expect(SEQUENCE)?);
    while let Some(part) = parts.expect(SET) {
        let mut attributes = Der(part);
        while let Some(attribute) = attributes.expect(SEQUENCE) {
            let mut attribute = Der(attribute);
            if attribute.expect(OBJECT_IDENTIFIER)? != COMMON_NAME {
                continue;
            }
            let (tag, text) = attribute.next()?;
            // A zero byte would end the name for some and not for others.
            let is_plain = TEXTS.contains(&tag) && !text.contains(&0);
            return std::str::from_utf8(text).ok().filter(|_| is_plain).map(str::to_owned);
        }
    }
    None
}

/// The hash of a certificate for channel binding (RFC 5929, 4.1): that of its signature, SHA-256 for weaker ones; `None` if
/// the signature has none of its own, or one that is not known.
pub(super) fn signature_hash(certificate: &[u8]) -> Option<&'static digest::Algorithm> {
    let mut parts = Der(Der(certificate).expect(SEQUENCE)?);
    parts.expect(SEQUENCE)?;
    let algorithm = Der(parts.expect(SEQUENCE)?).expect(OBJECT_IDENTIFIER)?;
    match (algorithm.strip_prefix(RSA), algorithm.strip_prefix(ECDSA)) {
        (Some([4 | 5 | 11]), _) | (_, Some([1] | [3, 2])) => Some(&digest::SHA256),
        (Some([12]), _) | (_, Some([3, 3])) => Some(&digest::SHA384),
        (Some([13]), _) | (_, Some([3, 4])) => Some(&digest::SHA512),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use longshore_testing::Random;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    fn certificate(name: impl Into<DnValue>) -> Vec<u8> {
        let mut parameters = CertificateParams::new(vec!["host".to_owned()]).expect("a name");
        parameters.distinguished_name.push(DnType::OrganizationName, "somebody");
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        parameters.self_signed(&key).expect("signed").der().to_vec()
    }

    #[test]
    fn names_are_read() {
        for name in ["anna", "größe", "", &"long".repeat(100)] {
            assert_eq!(common_name(&certificate(name)).as_deref(), Some(name));
        }
        assert_eq!(common_name(&certificate("anna\0.example")), None);
        // Texts of two bytes a character.
        let wide = rcgen::string::BmpString::try_from("anna").expect("plain");
        assert_eq!(common_name(&certificate(DnValue::BmpString(wide))), None);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic() {
        let (whole, mut random) = (certificate("anna"), Random::new(1));
        for length in 0..whole.len() {
            let _ = (common_name(&whole[..length]), signature_hash(&whole[..length]));
        }
        for _ in 0..20_000 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            let _ = (common_name(&bytes), signature_hash(&bytes));
        }
    }
}
