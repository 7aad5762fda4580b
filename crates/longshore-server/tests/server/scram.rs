//! Sign-in by SCRAM, the client's side.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};
use tokio::io::{AsyncRead, AsyncWrite};

use super::client::{Answer, Client, message, startup};

const NAME: &str = "n=,r=clientnonce";

/// Signs in, bound to the server's certificate if its hash is given; the last answer.
pub(crate) async fn sign_in<S: AsyncRead + AsyncWrite + Unpin>(
    client: &mut Client<S>,
    user: &str,
    password: &str,
    certificate: Option<&[u8]>,
) -> Answer {
    let (mechanism, header) = match certificate {
        Some(_) => ("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,"),
        None => ("SCRAM-SHA-256", "n,,"),
    };
    client.send(&startup(user, "longshore")).await;
    let (kind, body) = client.answer().await.unwrap();
    let offered = String::from_utf8_lossy(&body[4..]).into_owned();
    assert!(kind == 'R' && offered.split('\0').any(|offered| offered == mechanism), "{offered:?}");
    let mut initial = format!("{mechanism}\0").into_bytes();
    initial.extend(((header.len() + NAME.len()) as u32).to_be_bytes());
    initial.extend(format!("{header}{NAME}").as_bytes());
    client.send(&message(b'p', &initial)).await;
    let (_, body) = client.answer().await.unwrap();
    let challenge = String::from_utf8(body[4..].to_vec()).unwrap();
    let part = |name: &str| challenge.split(',').find_map(|part| part.strip_prefix(name)).unwrap().to_owned();
    let (nonce, salt, iterations) = (part("r="), BASE64.decode(part("s=")).unwrap(), part("i=").parse().unwrap());
    let mut salted = [0; 32];
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, &salt, password.as_bytes(), &mut salted);
    let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref().to_vec();
    let client_key = sign(&salted, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, &client_key);
    let binding = [header.as_bytes(), certificate.unwrap_or_default()].concat();
    let without_proof = format!("c={},r={nonce}", BASE64.encode(binding));
    let signature = sign(stored_key.as_ref(), format!("{NAME},{challenge},{without_proof}").as_bytes());
    let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(key, sign)| key ^ sign).collect();
    client.send(&message(b'p', format!("{without_proof},p={}", BASE64.encode(proof)).as_bytes())).await;
    let mut last = client.answer().await.unwrap();
    if last.0 == 'R' {
        // The server's proof, and that all is well.
        last = client.answer().await.unwrap();
    }
    last
}
