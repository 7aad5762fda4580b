//! Transactions of a database whose log is on a disk: what was waited for survives, and a log that has failed fails commits
//! and nothing else.

use std::sync::Arc;

use longshore_simdisk::{Fault, SimDisk};
use longshore_storage::log::{BackgroundWriter, Log, LogOptions, LogReader, Lsn};
use longshore_storage::{
    Isolation, Memory, RedoLog, Relation, Replay, RowId, Transaction, TransactionError, Transactions, key,
};

use crate::log_support::{FOLDER, IDENTITY, create, disk, options};
use crate::redo_support::join;
use crate::support::id_and_text;

/// A relation of a database that logs to a disk.
fn logged(disk: &SimDisk, options: LogOptions) -> (Relation, Arc<Log>) {
    let transactions = Transactions::new();
    let log = Arc::new(create(disk, options).unwrap());
    transactions.log_to(Arc::clone(&log) as Arc<dyn RedoLog>);
    let relation = Relation::in_database(id_and_text(), Memory::new(None), &transactions).with_name("t");
    join(&relation);
    (relation, log)
}

fn begin(relation: &Relation) -> Transaction {
    relation.transactions().begin(Isolation::Serializable)
}

/// The ids of the rows that come back after a crash now.
fn rows_after_a_crash(disk: &SimDisk) -> usize {
    let disk = disk.restart();
    let mut reader = LogReader::open(Arc::new(disk), FOLDER.as_ref(), IDENTITY, Lsn::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let mut records = Vec::new();
    while let Some(frame) = reader.next().unwrap() {
        records.extend(frame.records().map(|record| (record.end, record.bytes.to_vec())));
    }
    let records: Vec<(Lsn, &[u8])> = records.iter().map(|(lsn, bytes)| (*lsn, bytes.as_slice())).collect();
    let mut replay = Replay::new(&Transactions::new(), &Memory::new(None));
    replay.apply(&records, 1, &mut |_, _| {}).unwrap();
    let relations = replay.finish();
    relations.values().map(|relation| relation.snapshot().rows() as usize).sum()
}

#[test]
fn what_was_waited_for_survives() {
    for seed in 0..20 {
        let disk = disk(seed);
        let (relation, log) = logged(&disk, options(4096, 1024, 1));
        let (mut tickets, mut safe) = (Vec::new(), 0);
        for id in 0..40_i64 {
            let mut t = begin(&relation);
            t.insert(&relation, key![id, "a text that is long enough for a heap"]).unwrap();
            let commit = t.commit().unwrap();
            assert_eq!(commit.lsn, Some(log.end()));
            tickets.push(commit);
            if id % 7 == 3 {
                // Later than others, and for several at once.
                relation.transactions().wait_until_safe(tickets[tickets.len() - 2]).unwrap();
                safe = tickets.len() - 1;
            }
            assert!(rows_after_a_crash(&disk) >= safe, "seed {seed}");
        }
        relation.transactions().wait_until_safe(tickets[39]).unwrap();
        assert_eq!(rows_after_a_crash(&disk), 40);
    }
}

#[test]
fn what_nobody_waits_for_is_written_in_the_background() {
    let disk = disk(1);
    let (relation, log) = logged(&disk, options(1 << 16, 1 << 12, 1));
    let writer = BackgroundWriter::start(&log, std::time::Duration::from_hours(1)).unwrap();
    let mut t = begin(&relation);
    t.insert(&relation, key![1_i64, "one"]).unwrap();
    relation.transactions().make_safe_soon(t.commit().unwrap());
    while log.durable() < log.end() {
        std::thread::yield_now();
    }
    assert_eq!(rows_after_a_crash(&disk), 1);
    drop(writer);
}

#[test]
fn a_log_that_has_failed_fails_commits_and_lets_reads_go_on() {
    let disk = disk(2);
    let (relation, _) = logged(&disk, options(1 << 16, 1 << 12, 1));
    let insert = |id: i64| {
        let mut t = begin(&relation);
        t.insert(&relation, key![id, "text"]).unwrap();
        t.commit()
    };
    let first = insert(1).unwrap();
    relation.transactions().wait_until_safe(first).unwrap();
    let second = insert(2).unwrap();
    disk.fail_at(disk.operations(), Fault::Full);
    let error = relation.transactions().wait_until_safe(second).unwrap_err();
    assert!(matches!(error, TransactionError::NotSafe { .. }));
    assert_eq!(
        error.to_string(),
        "the transaction was committed, but a crash may undo it: /log/0000000000000000.log: cannot write to it: No space \
         left on device (os error 28); make room on the disk and open the database again"
    );
    let error = TransactionError::from(insert(3).unwrap_err());
    assert!(matches!(&error, TransactionError::NotLogged { .. }), "{error}");
    // What was safe stays so, who only reads commits, and a transaction that was refused left nothing.
    relation.transactions().wait_until_safe(first).unwrap();
    assert_eq!(begin(&relation).commit().unwrap().lsn, None);
    assert_eq!(relation.snapshot().rows(), 2);
    let mut t = begin(&relation);
    assert!(t.sees(&relation, RowId::new(0, 1)) && !t.sees(&relation, RowId::new(0, 2)));
    t.delete(&relation, RowId::new(0, 0)).unwrap();
    assert!(t.commit().is_err());
    assert!(relation.truncate().is_err());
    assert_eq!(relation.snapshot().rows(), 2);
}

#[test]
fn a_record_that_is_too_long_is_refused_and_others_go_on() {
    let disk = disk(3);
    let (relation, log) = logged(&disk, options(1 << 16, 1 << 12, 1));
    // Longer than the buffer is no matter.
    let mut t = begin(&relation);
    t.insert(&relation, key![1_i64, "x".repeat(100_000).as_str()]).unwrap();
    relation.transactions().wait_until_safe(t.commit().unwrap()).unwrap();
    // Who gives up after his record was made gives the room back.
    for id in 2..200_i64 {
        let (mut one, mut other) = (begin(&relation), begin(&relation));
        let _ = one.snapshot(&relation);
        one.log_scan(&relation, &[], &[]);
        one.insert(&relation, key![-id, "x".repeat(100).as_str()]).unwrap();
        other.insert(&relation, key![id, "y"]).unwrap();
        other.commit().unwrap();
        assert!(one.commit().unwrap_err().is_conflict());
    }
    log.wait(log.end()).unwrap();
    assert_eq!(rows_after_a_crash(&disk), 199);
}
