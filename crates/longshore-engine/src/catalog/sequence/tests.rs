//! Numbers follow each other as the definition says; what is given back or altered does not get in the way.

use super::*;

fn sequence(options: &SequenceOptions) -> Result<Sequence, Error> {
    Definition::new("s", options, ColumnType::BigInt).map(|definition| Sequence::new("s".into(), definition, None))
}

fn next(sequence: &Sequence) -> Option<i64> {
    sequence.take(1).ok().map(|taken| taken.first)
}

fn all(sequence: &Sequence, count: usize) -> Vec<Option<i64>> {
    (0..count).map(|_| next(sequence)).collect()
}

#[test]
fn numbers_follow_each_other_to_the_bound() {
    let up = sequence(&SequenceOptions { max: Some(Some(3)), ..SequenceOptions::default() }).expect("sound");
    assert_eq!(all(&up, 5), [Some(1), Some(2), Some(3), None, None]);
    let down = SequenceOptions { increment: Some(-2), min: Some(Some(-4)), ..SequenceOptions::default() };
    assert_eq!(all(&sequence(&down).expect("sound"), 3), [Some(-1), Some(-3), None]);
    let around = SequenceOptions {
        min: Some(Some(5)),
        max: Some(Some(8)),
        start: Some(7),
        increment: Some(2),
        cycle: Some(true),
        ..SequenceOptions::default()
    };
    assert_eq!(all(&sequence(&around).expect("sound"), 4), [Some(7), Some(5), Some(7), Some(5)]);
    let last = SequenceOptions { start: Some(i64::MAX), ..SequenceOptions::default() };
    assert_eq!(all(&sequence(&last).expect("sound"), 2), [Some(i64::MAX), None]);
}

#[test]
fn what_is_taken_at_once_is_what_one_by_one_would_give() {
    for increment in [1, 3, -1, -7] {
        for count in [1, 2, 10, 1000] {
            let options = || SequenceOptions {
                increment: Some(increment),
                min: Some(Some(-100)),
                max: Some(Some(100)),
                start: Some(4),
                ..SequenceOptions::default()
            };
            let (one_by_one, at_once) = (sequence(&options()).expect("sound"), sequence(&options()).expect("sound"));
            let expected: Vec<i64> = all(&one_by_one, count).into_iter().flatten().collect();
            let taken = at_once.take(count as u64).expect("one is left");
            let found: Vec<i64> = taken.numbers().collect();
            assert_eq!(found, expected, "{increment}, {count}");
            assert_eq!(at_once.value(), one_by_one.value());
            at_once.give_back(&taken, 1);
            assert_eq!(at_once.value(), (4, true));
            let again = at_once.take(2).expect("one is left");
            at_once.give_back(&again, 0);
            assert_eq!(at_once.value(), (4, true));
        }
    }
}

#[test]
fn nothing_is_given_back_once_others_took_numbers() {
    let sequence = sequence(&SequenceOptions::default()).expect("sound");
    let taken = sequence.take(10).expect("there are many");
    assert_eq!(next(&sequence), Some(11));
    sequence.give_back(&taken, 3);
    assert_eq!(next(&sequence), Some(12));
}

#[test]
fn definitions_that_contradict_themselves_are_refused() {
    for options in [
        SequenceOptions { increment: Some(0), ..SequenceOptions::default() },
        SequenceOptions { min: Some(Some(5)), max: Some(Some(5)), ..SequenceOptions::default() },
        SequenceOptions { start: Some(0), ..SequenceOptions::default() },
        SequenceOptions { cache: Some(0), ..SequenceOptions::default() },
        SequenceOptions {
            column_type: Some(ColumnType::SmallInt),
            max: Some(Some(40_000)),
            ..SequenceOptions::default()
        },
    ] {
        assert!(sequence(&options).is_err(), "{options:?}");
    }
}

#[test]
fn altering_keeps_what_is_not_said() {
    let options = SequenceOptions { max: Some(Some(10)), ..SequenceOptions::default() };
    let sequence = sequence(&options).expect("sound");
    assert_eq!(next(&sequence), Some(1));
    let faster = SequenceOptions { increment: Some(4), ..SequenceOptions::default() };
    sequence.alter(&faster, None).expect("sound");
    assert_eq!(all(&sequence, 3), [Some(5), Some(9), None]);
    let again = SequenceOptions { restart: Some(None), ..SequenceOptions::default() };
    sequence.alter(&again, None).expect("sound");
    assert_eq!(next(&sequence), Some(1));
    assert_eq!(sequence.definition().options(ColumnType::BigInt), "INCREMENT BY 4 MAXVALUE 10");
}
