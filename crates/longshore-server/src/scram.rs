//! SCRAM-SHA-256, the server's side (RFC 5802, RFC 7677; PostgreSQL's manual, "SASL Authentication").
//!
//! The server knows a verifier only, from which no password can be computed. Not here: the messages (`protocol`), where verifiers
//! are kept (roles, in the engine).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac};

/// The mechanism, and the same bound to the TLS connection that it runs over.
pub(crate) const MECHANISM: &str = "SCRAM-SHA-256";
pub(crate) const MECHANISM_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// The channel binding that there is: a hash of the server's certificate (RFC 5929).
const BINDING: &str = "tls-server-end-point";
const NONCE_BYTES: usize = 18;
const KEY_BYTES: usize = 32;
/// Iterations that a role which does not exist seems to have: as many as those have that do.
const ITERATIONS: u32 = 4096;

/// What is known of a password.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Verifier {
    iterations: u32,
    salt: Vec<u8>,
    stored_key: Vec<u8>,
    server_key: Vec<u8>,
}

impl Verifier {
    /// Reads `SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`, as PostgreSQL writes it.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("SCRAM-SHA-256$")?;
        let (cost, keys) = rest.split_once('$')?;
        let (iterations, salt) = cost.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let key = |text: &str| BASE64.decode(text).ok().filter(|key| key.len() == KEY_BYTES);
        Some(Self {
            iterations: iterations.parse().ok().filter(|iterations| *iterations > 0)?,
            salt: BASE64.decode(salt).ok()?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        })
    }

    /// One that no password fits: for a role that does not exist, or has none, so that a stranger does not learn which.
    pub(crate) fn of_nobody(role: &str, secret: &[u8]) -> Self {
        let salt = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), role.as_bytes());
        let salt = salt.as_ref()[..16].to_vec();
        Self { iterations: ITERATIONS, salt, stored_key: vec![0; KEY_BYTES], server_key: vec![0; KEY_BYTES] }
    }
}

/// Why an exchange failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A message that breaks the protocol.
    Malformed(&'static str),
    /// The password is another one.
    WrongPassword,
}

/// An exchange whose first message was answered.
pub(crate) struct Exchange {
    verifier: Verifier,
    /// What the client must say of the channel.
    binding: Vec<u8>,
    nonce: String,
    /// The client's first message without its header, and the server's.
    messages: String,
}

/// Answers the first message of a client that chose `mechanism`; `certificate` is the hash of the server's, over TLS.
pub(crate) fn begin(
    mechanism: &str,
    first: &str,
    certificate: Option<&[u8]>,
    verifier: Verifier,
) -> Result<(Exchange, String), Refused> {
    let mut nonce = [0; NONCE_BYTES];
    let filled = SystemRandom::new().fill(&mut nonce);
    filled.map_err(|_| Refused::Malformed("the system gives no random numbers"))?;
    begin_with(mechanism, first, certificate, verifier, &BASE64.encode(nonce))
}

fn begin_with(
    mechanism: &str,
    first: &str,
    certificate: Option<&[u8]>,
    verifier: Verifier,
    own_nonce: &str,
) -> Result<(Exchange, String), Refused> {
    const MALFORMED: Refused = Refused::Malformed("malformed SCRAM message");
    let (flag, rest) = first.split_once(',').ok_or(MALFORMED)?;
    let (identity, bare) = rest.split_once(',').ok_or(MALFORMED)?;
    if !identity.is_empty() {
        return Err(Refused::Malformed("client uses authorization identity, but it is not supported"));
    }
    let binding = match (flag, mechanism, certificate) {
        // The second could bind the channel, and thinks that the server cannot.
        ("n", MECHANISM, _) | ("y", MECHANISM, None) => Vec::new(),
        ("y", MECHANISM, Some(_)) => {
            return Err(Refused::Malformed("SCRAM channel binding negotiation error: the server supports it"));
        }
        (flag, MECHANISM_PLUS, Some(certificate)) if flag.strip_prefix("p=") == Some(BINDING) => certificate.to_vec(),
        _ => return Err(Refused::Malformed("unsupported SCRAM channel-binding type")),
    };
    let header = &first[..first.len() - bare.len()];
    let binding = [header.as_bytes(), &binding].concat();
    let mut attributes = bare.split(',');
    // The name is that of the startup message, as in PostgreSQL.
    attributes.next().filter(|name| name.starts_with("n=")).ok_or(MALFORMED)?;
    let client_nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r=")).ok_or(MALFORMED)?;
    let is_printable = |byte: u8| (0x21..=0x7E).contains(&byte);
    if client_nonce.is_empty() || !client_nonce.bytes().all(is_printable) {
        return Err(MALFORMED);
    }
    let nonce = format!("{client_nonce}{own_nonce}");
    let answer = format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.iterations);
    let messages = format!("{bare},{answer}");
    Ok((Exchange { verifier, binding, nonce, messages }, answer))
}

impl Exchange {
    /// Answers the last message of a client, which has the proof that it knows the password.
    pub(crate) fn finish(self, last: &str) -> Result<String, Refused> {
        const MALFORMED: Refused = Refused::Malformed("malformed SCRAM message");
        let (without_proof, proof) = last.rsplit_once(",p=").ok_or(MALFORMED)?;
        let proof = BASE64.decode(proof).ok().filter(|proof| proof.len() == KEY_BYTES).ok_or(MALFORMED)?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|text| text.strip_prefix("c=")).ok_or(MALFORMED)?;
        if BASE64.decode(binding).ok().as_deref() != Some(&self.binding) {
            return Err(Refused::Malformed("SCRAM channel binding check failed"));
        }
        let nonce = attributes.next().and_then(|text| text.strip_prefix("r=")).ok_or(MALFORMED)?;
        if nonce != self.nonce {
            return Err(Refused::Malformed("invalid SCRAM response: nonce does not match"));
        }
        let message = format!("{},{without_proof}", self.messages);
        let sign = |key: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message.as_bytes());
        let signature = sign(&self.verifier.stored_key);
        let client_key: Vec<u8> = proof.iter().zip(signature.as_ref()).map(|(proof, sign)| proof ^ sign).collect();
        let stored = digest::digest(&digest::SHA256, &client_key);
        // In a time that does not tell how much of it is right.
        let differs = stored.as_ref().iter().zip(&self.verifier.stored_key).fold(0, |all, (is, was)| all | (is ^ was));
        if differs != 0 {
            return Err(Refused::WrongPassword);
        }
        Ok(format!("v={}", BASE64.encode(sign(&self.verifier.server_key))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_example_of_the_standard() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
        let mut salted = [0; KEY_BYTES];
        let iterations = std::num::NonZeroU32::new(4096).expect("not zero");
        ring::pbkdf2::derive(ring::pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, b"pencil", &mut salted);
        let key = |name: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &salted), name);
        let stored = digest::digest(&digest::SHA256, key(b"Client Key").as_ref());
        let text = format!(
            "SCRAM-SHA-256$4096:{}${}:{}",
            BASE64.encode(&salt),
            BASE64.encode(stored),
            BASE64.encode(key(b"Server Key"))
        );
        let verifier = Verifier::read(&text).expect("a verifier");
        let own_nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let begun = begin_with(MECHANISM, "n,,n=user,r=rOprNGfwEbeRWgbNEkqO", None, verifier.clone(), own_nonce);
        let (exchange, answer) = begun.unwrap_or_else(|refused| panic!("{refused:?}"));
        assert_eq!(answer, format!("r=rOprNGfwEbeRWgbNEkqO{own_nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"));
        let last = format!("c=biws,r=rOprNGfwEbeRWgbNEkqO{own_nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        assert_eq!(exchange.finish(&last), Ok("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=".to_owned()));
        // Another proof, nonce or binding.
        for (part, other) in [("p=d", "p=e"), ("r=r", "r=s"), ("c=biws", "c=eSws")] {
            let (exchange, _) =
                begin_with(MECHANISM, "n,,n=user,r=rOprNGfwEbeRWgbNEkqO", None, verifier.clone(), own_nonce)
                    .unwrap_or_else(|refused| panic!("{refused:?}"));
            assert!(exchange.finish(&last.replace(part, other)).is_err(), "{other}");
        }
    }

    #[test]
    fn nobody_signs_in_as_nobody() {
        let of_nobody = Verifier::of_nobody("x", b"secret");
        assert!(of_nobody == Verifier::of_nobody("x", b"secret"), "the salt is always the same");
        let (exchange, _) =
            begin(MECHANISM, "n,,n=x,r=abc", None, of_nobody).unwrap_or_else(|refused| panic!("{refused:?}"));
        let last = format!("c=biws,r={},p={}", exchange.nonce, BASE64.encode([0; KEY_BYTES]));
        assert_eq!(exchange.finish(&last), Err(Refused::WrongPassword));
    }

    #[test]
    fn malformed_messages_are_refused() {
        let verifier = || Verifier::of_nobody("x", b"secret");
        for first in ["", "n", "n,,", "n,,n=x", "n,,r=abc", "n,a=y,n=x,r=abc", "p=tls-unique,,n=x,r=abc", "n,,n=x,r="] {
            assert!(begin(MECHANISM, first, None, verifier()).is_err(), "{first:?}");
        }
        assert!(begin(MECHANISM, "y,,n=x,r=abc", Some(b"hash"), verifier()).is_err(), "a downgrade");
        assert!(begin(MECHANISM_PLUS, "n,,n=x,r=abc", Some(b"hash"), verifier()).is_err());
        assert!(Verifier::read("md5abc").is_none());
        assert!(Verifier::read("SCRAM-SHA-256$0:AA==$AA==:AA==").is_none());
    }
}
