//! Values of parameters whose types a client leaves open: they are read as what they stand for, without and with a description.

use crate::client::{Client, bind, execute, field, kinds, message, parse, values};
use crate::serve;

const TABLE: &str = "CREATE TABLE pt (i int PRIMARY KEY, t text, n numeric, ts timestamp, ai int[], jb jsonb); \
    INSERT INTO pt VALUES (1, 'abc', 2.5, '2020-01-01 10:00', '{1,2}', '{\"a\": 1}'), (2, 'def', 3.5, NULL, '{3}', NULL)";

#[tokio::test(flavor = "multi_thread")]
async fn values_without_types_are_read_as_what_they_stand_for() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.query(TABLE).await;
    for (sql, given, expected) in [
        ("SELECT i FROM pt ORDER BY i LIMIT $1", vec!["1"], vec!["1"]),
        ("SELECT i FROM pt ORDER BY i LIMIT $1 OFFSET $2", vec!["1", "1"], vec!["2"]),
        ("SELECT i FROM pt ORDER BY i OFFSET $1 ROWS FETCH FIRST $2 ROWS ONLY", vec!["1", "5"], vec!["2"]),
        ("SELECT left(t, $1) FROM pt ORDER BY i", vec!["2"], vec!["ab", "de"]),
        ("SELECT substr(t, $1, $2) FROM pt ORDER BY i", vec!["2", "1"], vec!["b", "e"]),
        ("SELECT substring(t FROM $1::int FOR $2) FROM pt WHERE i = $3", vec!["1", "2", "2"], vec!["de"]),
        ("SELECT make_date($1, $2, $3)", vec!["2020", "2", "29"], vec!["2020-02-29"]),
        ("SELECT round(n, $1) FROM pt ORDER BY i", vec!["0"], vec!["3", "4"]),
        ("SELECT sqrt($1)", vec!["9"], vec!["3"]),
        ("SELECT coalesce(i, $1) FROM pt ORDER BY i", vec!["7"], vec!["1", "2"]),
        ("SELECT CASE WHEN $1 THEN i ELSE $2 END FROM pt ORDER BY i", vec!["f", "9"], vec!["9", "9"]),
        ("SELECT i FROM pt WHERE i = ANY ($1) ORDER BY i", vec!["{2,3}"], vec!["2"]),
        ("SELECT array_append(ai, $1) FROM pt ORDER BY i", vec!["7"], vec!["{1,2,7}", "{3,7}"]),
        ("SELECT i FROM pt WHERE i = $1 OR $1 IS NULL", vec!["2"], vec!["2"]),
        ("SELECT ts + $1 FROM pt WHERE i = 1", vec!["1 day"], vec!["2020-01-02 10:00:00"]),
        ("SELECT interval '1 day' * $1", vec!["2"], vec!["2 days"]),
        ("SELECT jb @> $1 FROM pt WHERE i = 1", vec!["{\"a\": 1}"], vec!["t"]),
        ("SELECT jb #>> $1 FROM pt WHERE i = 1", vec!["{a}"], vec!["1"]),
        ("SELECT jsonb_set(jb, $1, $2) FROM pt WHERE i = 1", vec!["{a}", "2"], vec!["{\"a\": 2}"]),
        ("SELECT i FROM pt UNION SELECT $1 ORDER BY 1", vec!["5"], vec!["1", "2", "5"]),
        ("UPDATE pt SET (t, n) = ($1, $2) WHERE i = $3 RETURNING n", vec!["x", "4", "2"], vec!["4"]),
        ("SELECT pg_try_advisory_lock($1)", vec!["42"], vec!["t"]),
    ] {
        for is_described in [false, true] {
            let mut bytes = parse("", sql);
            if is_described {
                bytes.extend(message(b'D', b"S\0"));
            }
            // Twice, since what is kept of a statement counts from the second execution on.
            for _ in 0..2 {
                bytes.extend(bind("", &given));
                bytes.extend(execute(0));
            }
            bytes.extend(message(b'S', b""));
            client.send(&bytes).await;
            let answers = client.until_ready().await;
            assert!(!kinds(&answers).contains('E'), "{sql}: {}", field(&answers[answers.len() - 2], 'M'));
            assert_eq!(values(&answers), expected.repeat(2), "{sql}, described: {is_described}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_number_is_refused_as_such() {
    let server = serve(true).await;
    let mut client = Client::trusted(server.address).await;
    client.query(TABLE).await;
    for (sql, given, code) in [
        ("SELECT i FROM pt LIMIT $1", "many", "22P02"),
        ("SELECT left(t, $1) FROM pt", "2.5", "22P02"),
        ("SELECT i FROM pt LIMIT $1", "-1", "2201W"),
        ("SELECT i FROM pt LIMIT $1", "99999999999999999999", "22003"),
        ("SELECT i FROM pt OFFSET $1", "-1", "2201X"),
    ] {
        let mut bytes = parse("", sql);
        bytes.extend(bind("", &[given]));
        bytes.extend(execute(0));
        bytes.extend(message(b'S', b""));
        client.send(&bytes).await;
        let answers = client.until_ready().await;
        let refusal = answers.iter().find(|(kind, _)| *kind == 'E').expect("it is refused");
        assert_eq!(field(refusal, 'C'), code, "{sql} {given}");
    }
}
