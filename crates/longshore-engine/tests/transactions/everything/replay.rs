//! Does again what committed, one transaction after the other, and compares what is answered.

use std::fmt::Write as _;
use std::sync::Arc;

use longshore_engine::Database;

use super::super::run;
use super::actor::{Answerer, Record, read, state};
use super::steps::{Step, TABLES};
use super::typed::Typed;
use super::{Answer, made};

/// What all tables hold.
pub(super) async fn dump(database: &Arc<Database>) -> String {
    let mut session = database.session();
    let mut dump = String::new();
    for (table, columns) in TABLES {
        let rows = run(&mut session, &format!("SELECT {columns} FROM {table} ORDER BY {columns}")).await.unwrap();
        let _ = writeln!(dump, "{table}: {rows}");
    }
    dump
}

/// Does again what committed; says how many steps that were. In the end the tables hold `in_the_end`.
pub(super) async fn replay(name: &str, records: Vec<Record>, in_the_end: &str) -> usize {
    let mut committed: Vec<Record> = records.into_iter().filter(|record| record.committed).collect();
    // Who has changed nothing comes behind the commit that he began with.
    committed.sort_by_key(|record| (record.end, record.end == record.start));
    let database = made().await;
    let mut done = Vec::new();
    let mut steps = 0;
    for record in &committed {
        done.push(format!("session {}, sees {}, is {}:", record.session, record.start, record.end));
        let answers = if record.is_typed { typed(&database, record) } else { sql(&database, record).await };
        for ((step, expected), answer) in record.steps.iter().zip(answers) {
            done.push(format!("    {} -> {expected:?}", step.shown()));
            assert!(
                *expected == answer,
                "{name}:\n{}\nanswers {answer:?} when all is done one after the other",
                done.join("\n")
            );
        }
        steps += record.steps.len();
    }
    let found = dump(&database).await;
    assert!(found == in_the_end, "{name}:\n{}\nleaves\n{in_the_end}instead of\n{found}", done.join("\n"));
    steps
}

/// The answers of a block, up to the first that is another one: what follows it may not even be possible.
async fn sql(database: &Arc<Database>, record: &Record) -> Vec<Answer> {
    let mut answerer = Answerer::new(database);
    if !record.by_itself {
        run(&mut answerer.session, "BEGIN").await.unwrap();
    }
    let mut answers = Vec::new();
    for (step, expected) in &record.steps {
        let answer = match answerer.answer(step).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(rows)) => Ok(read(rows).await.unwrap()),
            Err(error) => Err(state(&error, &step.shown()).expect("nobody is in the way")),
        };
        let differs = answer != *expected;
        answers.push(answer);
        if differs {
            return answers;
        }
    }
    if !record.by_itself {
        let committed = run(&mut answerer.session, "COMMIT").await;
        assert!(committed.is_ok(), "{committed:?}");
    }
    answers
}

fn typed(database: &Arc<Database>, record: &Record) -> Vec<Answer> {
    let mut typed = Typed::new(database);
    let answer = |(step, _): &(Step, Answer)| {
        let Step::Typed(step) = step else { unreachable!("it is one of a typed transaction") };
        typed.answer(step).expect("nobody is in the way")
    };
    let answers = record.steps.iter().map(answer).collect();
    let committed = typed.commit();
    // One that does not commit here has an answer of its own.
    if let Err(error) = committed {
        panic!("session {}: COMMIT: {error}", record.session);
    }
    answers
}
