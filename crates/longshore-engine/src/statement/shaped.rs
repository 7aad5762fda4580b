//! Statements whose shape needs no planner. Not here: how they are known (`prepared/shapes`).

use std::ops::ControlFlow;

use super::{Context, SessionContext, end_of_transaction, execute_with_actions, foreign, resolve, rights};
use crate::prepared::{Done, Shaped};
use crate::sql;
use crate::transaction::{Nature, Rerun, Run};
use crate::{Error, Outcome, Report, RowStream};

/// Executes `sql`, which is of this shape, in the session's transaction block or in a transaction of its own.
pub(super) async fn execute(session: SessionContext<'_>, shaped: Shaped<'_>, sql: &str) -> Result<Outcome, Error> {
    let SessionContext { database, block, streams, control, .. } = session;
    block.refuse_if_failed()?;
    rights::check_prepared(database, block, &shaped.prepared).inspect_err(|_| block.fail())?;
    let nature = if shaped.prepared.changes_rows() { Nature::Writes } else { Nature::Reads };
    let path = block.numbers().path();
    let mut run = Run::new(nature, Rerun::Allowed, control);
    let outcome = loop {
        let transaction = run.begin(block)?;
        let done = async {
            let context = Context { database, control, transaction, parameters: None, with: None, named: &[] };
            let done = shaped.run(context.surroundings(), control)?;
            if let Some(outcome) = point_query_outcome(&context, done)? {
                return Ok(outcome);
            }
            database.queries.check_values(sql)?;
            let mut parsed = sql::parse(sql)?;
            resolve::resolve(&mut parsed, sql, &database.catalog, &path)?;
            execute_with_actions(&context, streams, parsed, nature).await
        };
        let done = done.await;
        if let ControlFlow::Break(outcome) = run.end(block, done).await {
            break outcome;
        }
    };
    end_of_transaction(database, block)?;
    outcome
}

/// What became of a statement that needs no planner, with what follows from its changes; `None` if it needs one.
pub(super) fn point_query_outcome(context: &Context<'_>, done: Done) -> Result<Option<Outcome>, Error> {
    match done {
        Done::Rows(batch, types) => Ok(Some(Outcome::Rows(RowStream::from_batch(batch).with_types(types)))),
        Done::Changed(verb, rows) => {
            foreign::run_actions(context)?;
            let report = Report { rows, ..Report::default() };
            Ok(Some(Outcome::Done { tag: tag(verb, rows), report, notice: None }))
        }
        Done::Returned(verb, batch, types) => {
            foreign::run_actions(context)?;
            Ok(Some(Outcome::Rows(RowStream::from_batch(batch).with_types(types).of_command(verb))))
        }
        Done::Planner => Ok(None),
    }
}

/// `UPDATE 1`.
fn tag(verb: &str, rows: u64) -> String {
    let mut tag = String::with_capacity(verb.len() + " 18446744073709551615".len());
    tag.push_str(verb);
    tag.push(' ');
    match u8::try_from(rows) {
        Ok(digit @ 0..=9) => tag.push(char::from(b'0' + digit)),
        _ => tag.push_str(&rows.to_string()),
    }
    tag
}
