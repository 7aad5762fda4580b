//! What is kept of a password: what it is verified by, as PostgreSQL has it for SCRAM-SHA-256 (RFC 5802, RFC 7677).
//!
//! `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, with Base64 for bytes. Neither the password nor what would
//! sign in without it can be computed of that.

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};
use unicode_normalization::UnicodeNormalization;

use crate::{Error, ErrorKind};

const PREFIX: &str = "SCRAM-SHA-256$";
/// PostgreSQL's.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).expect("it is not 0");
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;

/// What a password is verified by; what has that form is taken as it is.
pub(super) fn verifier(password: &str) -> Result<String, Error> {
    if is_verifier(password) {
        return Ok(password.to_owned());
    }
    let hexadecimal = password.strip_prefix("md5").filter(|rest| rest.len() == 32);
    if hexadecimal.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return Err(Error::unsupported(
            "passwords in the form of md5 are not supported; give the password itself, or its SCRAM-SHA-256 verifier",
        ));
    }
    let mut salt = [0; SALT_BYTES];
    let random = SystemRandom::new().fill(&mut salt);
    random.map_err(|_| Error::new(ErrorKind::Io, "the system gives no random bytes"))?;
    Ok(derived(&prepared(password), ITERATIONS, &salt))
}

fn derived(password: &str, iterations: NonZeroU32, salt: &[u8]) -> String {
    let mut salted = [0; KEY_BYTES];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, password.as_bytes(), &mut salted);
    let key = hmac::Key::new(hmac::HMAC_SHA256, &salted);
    let client_key = hmac::sign(&key, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
    let server_key = hmac::sign(&key, b"Server Key");
    let text = |bytes: &[u8]| STANDARD.encode(bytes);
    format!("{PREFIX}{iterations}:{}${}:{}", text(salt), text(stored_key.as_ref()), text(server_key.as_ref()))
}

fn is_verifier(text: &str) -> bool {
    let parts = || {
        let (first, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = first.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let is_key = |text| STANDARD.decode(text).is_ok_and(|bytes| bytes.len() == KEY_BYTES);
        let is_salt = STANDARD.decode(salt).is_ok_and(|salt| !salt.is_empty());
        Some(iterations.parse::<NonZeroU32>().is_ok() && is_salt && is_key(stored) && is_key(server))
    };
    parts().unwrap_or(false)
}

/// A password as both sides take it (RFC 4013); as PostgreSQL does, one that must not be is taken as it is.
fn prepared(password: &str) -> String {
    if password.is_ascii() {
        return password.to_owned();
    }
    let mapped = password.chars().filter(|char| !is_nothing(*char));
    let mapped = mapped.map(|char| if char != ' ' && char.is_whitespace() && !char.is_control() { ' ' } else { char });
    let normal: String = mapped.nfkc().collect();
    let is_prohibited =
        |char: char| char.is_control() || matches!(char, '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{ffff}');
    if normal.is_empty() || normal.chars().any(is_prohibited) { password.to_owned() } else { normal }
}

/// Characters that are left out.
fn is_nothing(char: char) -> bool {
    matches!(
        char,
        '\u{ad}' | '\u{34f}' | '\u{1806}' | '\u{180b}'..='\u{180d}' | '\u{200b}'..='\u{200d}' | '\u{2060}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_are_those_of_the_standard() {
        // The example of RFC 7677: StoredKey and ServerKey of the password `pencil`.
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        assert_eq!(
            derived("pencil", ITERATIONS, &salt),
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
    }

    #[test]
    fn a_verifier_is_kept_as_it_is() {
        let made = verifier("sesame").unwrap();
        assert_eq!(verifier(&made).unwrap(), made);
        assert_ne!(verifier("sesame").unwrap(), made);
        for other in ["SCRAM-SHA-256$4096:x$y:z", "SCRAM-SHA-256$", "md5"] {
            assert!(is_verifier(&verifier(other).unwrap()), "{other}");
            assert_ne!(verifier(other).unwrap(), other);
        }
        assert!(verifier(&format!("md5{}", "0a".repeat(16))).is_err());
    }

    #[test]
    fn passwords_are_prepared() {
        assert_eq!(prepared("I\u{ad}X"), "IX");
        assert_eq!(prepared("\u{aa}\u{a0}\u{2168}"), "a IX");
        assert_eq!(prepared("\u{7}ä"), "\u{7}ä");
    }
}
