//! The checkers of histories find what they look for: each phenomenon, planted in a history written down by hand.

use crate::history_support::adya::{self, Kind};
use crate::history_support::replay;
use crate::history_support::{End, History, Object, Op, Record, Table, Value};

/// A transaction of a session of its own.
fn record(session: usize, start: u64, end: End, ops: Vec<Op>) -> Record {
    Record { session, start, end, ops }
}

fn committed(session: usize, start: u64, commit: u64, ops: Vec<Op>) -> Record {
    record(session, start, End::Committed(commit), ops)
}

fn read(object: Object, items: &[u32]) -> Op {
    Op::Read(object, Value(items.to_vec()))
}

const A: Object = Object { table: Table::Lists, key: 0 };
const B: Object = Object { table: Table::Lists, key: 1 };
const X: Object = Object { table: Table::Registers, key: 0 };
const Y: Object = Object { table: Table::Registers, key: 1 };

/// What both checkers say: kinds of anomalies, and how many faults under SNAPSHOT and under SERIALIZABLE.
fn check(records: Vec<Record>) -> (Vec<Kind>, usize, usize) {
    let history = History { keys: 3, records };
    let mut kinds: Vec<Kind> = adya::anomalies(&history).into_iter().map(|anomaly| anomaly.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds, replay::faults(&history, false).len(), replay::faults(&history, true).len())
}

#[test]
fn a_serial_history_has_no_fault() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Append(A, 1), read(A, &[1]), Op::Write(X, 2), read(X, &[2])]),
        record(1, 1, End::Aborted, vec![Op::Append(A, 90), read(A, &[1, 90]), Op::Write(X, 91)]),
        committed(1, 1, 2, vec![read(A, &[1]), Op::Append(A, 3), Op::Append(A, 4), read(A, &[1, 3, 4]), Op::Delete(X)]),
        committed(
            2,
            2,
            2,
            vec![
                Op::Range(Table::Lists, 0..=2, vec![(0, Value(vec![1, 3, 4]))]),
                Op::Filter(0..=99, vec![]),
                read(X, &[]),
            ],
        ),
        committed(2, 2, 3, vec![Op::Write(X, 5), Op::Write(X, 6), Op::Filter(6..=9, vec![(0, Value(vec![6]))])]),
    ];
    assert_eq!(check(records), (vec![], 0, 0));
}

#[test]
fn dirty_writes_are_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Append(A, 1), Op::Append(B, 2)]),
        committed(1, 0, 2, vec![Op::Append(A, 3), Op::Append(B, 4)]),
        committed(2, 2, 2, vec![read(A, &[1, 3]), read(B, &[4, 2])]),
    ];
    let (kinds, snapshot, serial) = check(records);
    assert!(kinds.contains(&Kind::G0), "{kinds:?}");
    assert!(snapshot > 0 && serial > 0);
}

#[test]
fn aborted_reads_are_found() {
    let records = vec![record(0, 0, End::Aborted, vec![Op::Append(A, 1)]), committed(1, 0, 0, vec![read(A, &[1])])];
    let (kinds, snapshot, _) = check(records);
    assert_eq!((kinds, snapshot), (vec![Kind::G1a], 1));
    let records = vec![record(0, 0, End::Aborted, vec![Op::Write(X, 1)]), committed(1, 0, 0, vec![read(X, &[1])])];
    assert_eq!(check(records).0, [Kind::G1a]);
}

#[test]
fn intermediate_reads_are_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Append(A, 1), Op::Append(A, 2)]),
        committed(1, 0, 0, vec![read(A, &[1])]),
        committed(2, 1, 1, vec![read(A, &[1, 2])]),
    ];
    let (kinds, snapshot, _) = check(records);
    assert!(kinds.contains(&Kind::G1b) && snapshot == 1, "{kinds:?}");
    let records =
        vec![committed(0, 0, 1, vec![Op::Write(X, 1), Op::Write(X, 2)]), committed(1, 0, 0, vec![read(X, &[1])])];
    assert_eq!(check(records).0, [Kind::G1b]);
}

#[test]
fn circular_information_flow_is_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Append(A, 1), read(B, &[2])]),
        committed(1, 0, 2, vec![Op::Append(B, 2), read(A, &[1])]),
    ];
    let (kinds, snapshot, _) = check(records);
    assert!(kinds.contains(&Kind::G1c) && snapshot == 2, "{kinds:?}");
}

#[test]
fn read_skew_is_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Append(A, 1), Op::Append(B, 2)]),
        committed(1, 0, 0, vec![read(A, &[]), read(B, &[2])]),
        // The order of a list is known as far as somebody has read it.
        committed(2, 1, 1, vec![read(A, &[1]), read(B, &[2])]),
    ];
    assert_eq!(check(records), (vec![Kind::GSingle], 1, 1));
}

#[test]
fn a_reader_that_misses_what_its_session_wrote_is_found() {
    let records = vec![committed(0, 0, 1, vec![Op::Write(X, 1)]), committed(0, 0, 0, vec![read(X, &[])])];
    // The state at its start it did see: that it started too early shows in the order of the session only.
    assert_eq!(check(records), (vec![Kind::GSingle], 0, 0));
}

#[test]
fn lost_updates_are_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Write(X, 1)]),
        committed(1, 1, 2, vec![read(X, &[1]), Op::Write(X, 2)]),
        committed(2, 1, 3, vec![read(X, &[1]), Op::Write(X, 3)]),
    ];
    let (kinds, snapshot, serial) = check(records);
    assert_eq!((kinds, snapshot), (vec![Kind::GSingle], 1));
    assert!(serial > 1);
}

#[test]
fn write_skew_is_found_and_is_no_fault_of_snapshots() {
    for (a, b) in [(A, B), (X, Y)] {
        let write = |object: Object, item| match object.table {
            Table::Lists => Op::Append(object, item),
            Table::Registers => Op::Write(object, item),
        };
        let records = vec![
            committed(0, 0, 1, vec![read(a, &[]), read(b, &[]), write(a, 1)]),
            committed(1, 0, 2, vec![read(a, &[]), read(b, &[]), write(b, 2)]),
            committed(2, 2, 2, vec![read(a, &[1]), read(b, &[2])]),
        ];
        assert_eq!(check(records), (vec![Kind::G2], 0, 1));
    }
}

#[test]
fn phantoms_are_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Range(Table::Registers, 0..=2, vec![]), Op::Write(X, 1)]),
        committed(1, 0, 2, vec![Op::Range(Table::Registers, 0..=2, vec![]), Op::Write(Y, 2)]),
    ];
    assert_eq!(check(records), (vec![Kind::G2], 0, 1));
    // By a predicate on values: the graph knows nothing of what a filter leaves out, a replay does.
    let records = vec![
        committed(0, 0, 1, vec![Op::Filter(0..=9, vec![]), Op::Write(X, 1)]),
        committed(1, 0, 2, vec![Op::Filter(0..=9, vec![]), Op::Write(Y, 2)]),
    ];
    assert_eq!(check(records), (vec![], 0, 1));
}

#[test]
fn the_anomaly_of_a_read_only_transaction_is_found() {
    // Fekete, O'Neil, O'Neil 2004.
    let records = vec![
        committed(0, 0, 2, vec![read(X, &[]), read(Y, &[]), Op::Write(X, 1)]),
        committed(1, 0, 1, vec![read(Y, &[]), Op::Write(Y, 2)]),
        committed(2, 1, 1, vec![read(X, &[]), read(Y, &[2])]),
    ];
    assert_eq!(check(records), (vec![Kind::G2], 0, 1));
}

#[test]
fn what_comes_and_goes_in_one_transaction_was_not_written() {
    let records = vec![
        committed(0, 0, 1, vec![read(X, &[]), Op::Write(X, 1), Op::Delete(X)]),
        committed(1, 0, 2, vec![read(X, &[]), Op::Write(X, 2)]),
        committed(2, 1, 3, vec![read(X, &[]), Op::Write(Y, 3)]),
    ];
    let (kinds, snapshot, serial) = check(records);
    assert_eq!((kinds, snapshot, serial), (vec![], 0, 1), "only the third has missed the second");
}

#[test]
fn deleted_and_written_again_is_told_apart_by_replay() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Write(X, 1)]),
        committed(0, 1, 2, vec![Op::Delete(X)]),
        committed(0, 2, 3, vec![Op::Write(X, 3)]),
        committed(1, 1, 1, vec![read(X, &[])]),
        committed(1, 2, 4, vec![read(X, &[]), Op::Write(Y, 4)]),
    ];
    let (kinds, snapshot, serial) = check(records);
    assert_eq!((kinds, snapshot, serial), (vec![], 1, 2));
}

#[test]
fn reads_that_no_order_explains_are_found() {
    let records = vec![
        committed(0, 0, 1, vec![Op::Append(A, 1)]),
        committed(1, 1, 2, vec![Op::Append(A, 2)]),
        committed(2, 2, 2, vec![read(A, &[1, 2])]),
        committed(3, 2, 2, vec![read(A, &[2, 1])]),
    ];
    assert!(check(records).0.contains(&Kind::Incoherent));
    let records = vec![committed(0, 0, 1, vec![Op::Append(A, 1), read(A, &[])])];
    assert_eq!(check(records).0, [Kind::Incoherent]);
    let records = vec![committed(0, 0, 0, vec![read(X, &[7])])];
    assert_eq!(check(records).0, [Kind::Incoherent]);
}
