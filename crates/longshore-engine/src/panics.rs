//! A panic within a statement is an error of that statement: the session, the other statements and the tables go on.
//!
//! Panics are for bugs, and a bug shall not cost the only copy of the data. What a statement holds is given back while
//! the panic unwinds: its transaction is rolled back, or its block is left as by any error; locks are not poisoned for
//! those who come later. Not here: what cannot unwind, such as memory that the system does not give.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use crate::Error;

/// The error of a statement that broke off with this panic.
pub(crate) fn error(panic: &(dyn Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned());
    of_text(&text)
}

/// The error of a statement that broke off with a panic that says `text`.
pub(crate) fn of_text(text: &str) -> Error {
    Error::internal(format!(
        "a bug of Longshore broke the statement off: {text}; nothing else is harmed; please report this message and \
         the statement"
    ))
}

/// What `work` gives; a panic in it is an error.
pub(crate) fn caught<R>(work: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    // What the panic left half-done goes with the statement, and locks let others in.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(error(panic.as_ref())))
}

/// What `work` gives; a panic in it is an error. It is pinned where it lies, since moving all that a statement may need
/// takes longer than a prepared one does.
pub(crate) async fn caught_in<R>(mut work: impl Future<Output = Result<R, Error>> + Unpin) -> Result<R, Error> {
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut work).poll(context)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(error(panic.as_ref()))))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[tokio::test]
    async fn a_panic_is_an_error_that_says_what_to_report() {
        let number = 7;
        for error in [
            caught::<()>(|| panic!("no {number}")).expect_err("it panics"),
            caught_in::<()>(std::pin::pin!(async { panic!("no {number}") })).await.expect_err("it panics"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Internal);
            assert!(error.to_string().contains("no 7; nothing else is harmed; please report"), "{error}");
        }
        assert_eq!(caught(|| Ok(1)), Ok(1));
    }
}
