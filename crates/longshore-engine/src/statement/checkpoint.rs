//! CHECKPOINT. Not here: what it does (`database::Durable`).

use std::sync::Arc;

use crate::statement::Context;
use crate::{Error, Outcome, Report, blocking};

/// Makes a checkpoint: what was committed before need not be done again when the database is opened.
pub(crate) async fn checkpoint(context: &Context<'_>) -> Result<Outcome, Error> {
    let Some(durable) = context.database.durable().map(Arc::clone) else {
        let notice = "the database is not written to a directory, so there is nothing to do".to_owned();
        return Ok(Outcome::Done { tag: "CHECKPOINT".to_owned(), report: Report::default(), notice: Some(notice) });
    };
    blocking::run(context.control, move |_| durable.checkpoint()).await?;
    Ok(Outcome::done("CHECKPOINT"))
}
