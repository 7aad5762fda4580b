//! How a client proves who it is.

use std::time::SystemTime;

use super::refusal::{Ended, fatal};
use crate::Shared;
use crate::attempts::Source;
use crate::origin::Origin;
use crate::protocol::backend::{self, Authentication};
use crate::protocol::frontend::Message;
use crate::protocol::sasl;
use crate::scram::{self, MECHANISM, MECHANISM_PLUS, Refused, Verifier};
use crate::stream::Wire;

/// Lets a client in as `user`: one of this machine, if such are trusted; one whose certificate names the role; one that proves
/// to know the role's password.
pub(super) async fn sign_in(wire: &mut Wire, shared: &Shared, user: &str, origin: Origin) -> Result<(), Ended> {
    let is_trusted = shared.config.trust && origin.is_local();
    let certified = wire.channel.as_ref().and_then(|channel| channel.client_name.as_deref());
    if !is_trusted && certified != Some(user) {
        by_password(wire, shared, user, origin).await?;
    }
    backend::authentication(&mut wire.out, &Authentication::Ok);
    Ok(())
}

/// Asks a client to prove that it knows the password of `user`.
async fn by_password(wire: &mut Wire, shared: &Shared, user: &str, origin: Origin) -> Result<(), Ended> {
    let login = shared.database.login(user).filter(|login| login.is_password_valid_at(SystemTime::now()));
    let verifier = login.and_then(|login| login.verifier).and_then(|text| Verifier::read(&text));
    // As long as for one who is there.
    let verifier = verifier.unwrap_or_else(|| Verifier::of_nobody(user, &shared.secret));
    let binding = wire.channel.as_ref().and_then(|channel| channel.binding.clone());
    let mechanisms: &[&str] = if binding.is_some() { &[MECHANISM_PLUS, MECHANISM] } else { &[MECHANISM] };
    backend::authentication(&mut wire.out, &Authentication::Sasl(mechanisms));
    let (mechanism, first) = sasl::initial_response(&response(wire).await?).map_err(malformed)?;
    if !mechanisms.contains(&mechanism.as_str()) {
        return Err(malformed("client selected an invalid SASL authentication mechanism"));
    }
    let (exchange, answer) = scram::begin(&mechanism, &first, binding.as_deref(), verifier).map_err(refused(user))?;
    backend::authentication(&mut wire.out, &Authentication::SaslContinue(&answer));
    let last = response(wire).await?;
    let last = std::str::from_utf8(&last).map_err(|_| malformed("malformed SCRAM message"))?;
    let source = Source::new(origin.address(), user);
    let turn = shared.attempts.turn(&source).await;
    match exchange.finish(last) {
        Ok(proof) => {
            shared.attempts.succeeded(&source);
            backend::authentication(&mut wire.out, &Authentication::SaslFinal(&proof));
            Ok(())
        }
        Err(why) => {
            if why == Refused::WrongPassword {
                let attempts = shared.attempts.failed(source, turn);
                tracing::warn!(target: "longshore::connection", user, peer = %origin, attempts, "wrong password");
            }
            Err(refused(user)(why))
        }
    }
}

/// What a client answers to a step of SASL.
async fn response(wire: &mut Wire) -> Result<bytes::Bytes, Ended> {
    match wire.message().await? {
        Message::Password(bytes) => Ok(bytes),
        Message::Terminate => Err(Ended::Gone),
        _ => Err(malformed("expected SASL response")),
    }
}

fn malformed(message: &'static str) -> Ended {
    fatal("08P01", message)
}

fn refused(user: &str) -> impl Fn(Refused) -> Ended {
    move |why| match why {
        Refused::Malformed(message) => malformed(message),
        Refused::WrongPassword => fatal("28P01", format!("password authentication failed for user \"{user}\"")),
    }
}
