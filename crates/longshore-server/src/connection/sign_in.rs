//! How a client proves who it is.

use std::time::{Duration, SystemTime};

use super::refusal::{Ended, fatal};
use crate::Shared;
use crate::protocol::backend::{self, Authentication};
use crate::protocol::frontend::Message;
use crate::protocol::sasl;
use crate::scram::{self, MECHANISM, Refused, Verifier};
use crate::stream::Wire;

/// How long an answer to a wrong password takes: nobody tries many.
const WRONG_PASSWORD_PAUSE: Duration = Duration::from_secs(1);

/// Lets a client in as whom it says it is.
pub(super) fn trust(wire: &mut Wire) {
    backend::authentication(&mut wire.out, &Authentication::Ok);
}

/// Lets a client in that proves to know the password of `user`.
pub(super) async fn by_password(wire: &mut Wire, shared: &Shared, user: &str) -> Result<(), Ended> {
    let login = shared.database.login(user).filter(|login| login.is_password_valid_at(SystemTime::now()));
    let verifier = login.and_then(|login| login.verifier).and_then(|text| Verifier::read(&text));
    // As long as for one who is there.
    let verifier = verifier.unwrap_or_else(|| Verifier::of_nobody(user, &shared.secret));
    backend::authentication(&mut wire.out, &Authentication::Sasl(&[MECHANISM]));
    let (mechanism, first) = sasl::initial_response(&response(wire).await?).map_err(malformed)?;
    if mechanism != MECHANISM {
        return Err(malformed("client selected an invalid SASL authentication mechanism"));
    }
    let (exchange, answer) = scram::begin(&mechanism, &first, None, verifier).map_err(refused(user))?;
    backend::authentication(&mut wire.out, &Authentication::SaslContinue(&answer));
    let last = response(wire).await?;
    let last = std::str::from_utf8(&last).map_err(|_| malformed("malformed SCRAM message"))?;
    match exchange.finish(last) {
        Ok(proof) => {
            backend::authentication(&mut wire.out, &Authentication::SaslFinal(&proof));
            backend::authentication(&mut wire.out, &Authentication::Ok);
            Ok(())
        }
        Err(why) => {
            if why == Refused::WrongPassword {
                tokio::time::sleep(WRONG_PASSWORD_PAUSE).await;
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
