//! Columns of UUIDs, which are stored as numbers, give the same rows as columns of their texts.

use longshore_engine::{Config, Database, Datum, Durability, Session, Uuid};
use longshore_testing::{Random, share};

use crate::query_support::{fails, ok, run, session};

/// More than the fewest rows that are packed at once.
const ROWS: usize = 12_007;

/// Makes a table whose columns `u`, of any UUIDs, and `f`, of few, are UUIDs, and `ut` and `ft` their texts.
async fn fill(session: &mut Session, name: &str, storage: &str) {
    let columns = "id INTEGER NOT NULL, u UUID, ut TEXT, f UUID, ft TEXT";
    ok(session, &format!("CREATE TABLE {name} ({columns}) WITH (storage = {storage})")).await;
    let few = "regexp_replace(md5((i % 7)::text), '(.{8})(.{4})(.{4})(.{4})', '\\1-\\2-\\3-\\4-')";
    let many = "regexp_replace(md5(i::text), '(.{8})(.{4})(.{4})(.{4})', '\\1-\\2-\\3-\\4-')";
    let rows = format!(
        "SELECT i, CASE WHEN i % 11 <> 0 THEN {many} END AS u, CASE WHEN i % 5 <> 0 THEN {few} END AS f \
         FROM generate_series(1, {ROWS}) AS g(i)"
    );
    ok(session, &format!("INSERT INTO {name} SELECT i, upper(u)::uuid, u, f::uuid, f FROM ({rows}) AS r")).await;
}

/// A predicate on `column`.
fn predicate(random: &mut Random, column: &str, constants: &[String]) -> String {
    let mut constant = || format!("'{}'", constants[random.below(constants.len())]);
    let (one, other) = (constant(), constant());
    match random.below(9) {
        0 => format!("{column} IN ({one}, {other}, NULL)"),
        1 => format!("{column} NOT IN ({one}, {other})"),
        2 => format!("{column} BETWEEN {one} AND {other}"),
        3 => format!("({column} > {one} OR {column} IS NULL)"),
        4 => format!("NOT ({column} >= {one} AND {column} < {other})"),
        5 => format!("{column} IS DISTINCT FROM {one}"),
        6 => format!("{column} IS NULL"),
        7 => format!("{one} >= {column}"),
        _ => format!("{column} = {one}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn predicates_on_uuids_keep_the_rows_that_predicates_on_their_texts_keep() {
    let mut session = session(2);
    let mut random = Random::new(16);
    for (name, storage) in [("packed", "packed"), ("plain", "plain")] {
        fill(&mut session, name, storage).await;
        let sql =
            format!("SELECT DISTINCT ut FROM {name} WHERE id < 40 UNION SELECT ft FROM {name} WHERE ft IS NOT NULL");
        let mut constants: Vec<String> = ok(&mut session, &sql).await;
        constants.retain(|constant| constant != "-");
        constants.extend(["00000000", "7fffffff", "80000000", "ffffffff"].map(|first| {
            let digit = if first.ends_with('f') { "f" } else { "0" };
            format!("{first}-{0}-{0}-{0}-{1}", digit.repeat(4), digit.repeat(12))
        }));
        for _ in 0..share(300) {
            let of_uuids = random.pick(&["u", "f"]);
            let part = predicate(&mut random, "COLUMN", &constants);
            let part = if random.once_in(3) {
                format!("{part} AND {}", predicate(&mut random, "COLUMN", &constants))
            } else {
                part
            };
            let rows = |column: &str| {
                let predicate = part.replace("COLUMN", column);
                format!("SELECT count(*), sum(id), min({column}), max({column}) FROM {name} WHERE {predicate}")
            };
            let expected = ok(&mut session, &rows(&format!("{of_uuids}t"))).await;
            assert_eq!(ok(&mut session, &rows(of_uuids)).await, expected, "{}", rows(of_uuids));
        }
        // As texts they are compared as texts.
        let sql = format!("SELECT count(*) FROM {name} WHERE u::text = upper(ut) OR u::text LIKE '%A%'");
        assert_eq!(ok(&mut session, &sql).await, ["0"]);
        let order = |column: &str| format!("SELECT id FROM {name} ORDER BY {column}, id LIMIT 500");
        let expected = ok(&mut session, &order("ut")).await;
        assert_eq!(ok(&mut session, &order("u")).await, expected);
        let sql = format!("SELECT count(*) FROM {name} a JOIN {name} b ON a.u = b.u WHERE a.ut = b.ut");
        assert_eq!(ok(&mut session, &sql).await, [(ROWS - ROWS / 11).to_string()]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn uuids_go_through_every_door() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("db");
    let durable = || Database::open_directory(&path, Config::default(), &Durability::default());
    let uuid = |byte: u8| Uuid([byte; 16]);
    let key = |byte: u8| Datum::Uuid(uuid(byte));
    {
        let database = durable().expect("a new directory");
        let mut session = database.session();
        ok(&mut session, "CREATE TABLE t (id UUID PRIMARY KEY, other UUID REFERENCES t, n INTEGER)").await;
        let insert = session.prepare("INSERT INTO t VALUES ($1, $2, $3)").expect("it is right");
        for byte in [0, 0x7F, 0x80, 0xFF] {
            let values = [key(byte), if byte == 0 { Datum::Null } else { key(0) }, Datum::I32(byte.into())];
            session.execute_prepared(&insert, &values).await.expect("it is new");
        }
        let of_text = "INSERT INTO t VALUES ('{10101010101010101010101010101010}', NULL, 16)";
        ok(&mut session, of_text).await;
        let error = fails(&mut session, of_text).await;
        assert!(error.contains("10101010-1010-1010-1010-101010101010"), "{error}");
        let missing = "UPDATE t SET other = '11111111-1111-1111-1111-111111111111' WHERE n = 16";
        let error = fails(&mut session, missing).await;
        assert!(error.contains("11111111-1111-1111-1111-111111111111"), "{error}");
        let error = fails(&mut session, "INSERT INTO t VALUES ('10101010-1010-1010-1010-1010101010', NULL, 1)").await;
        assert!(error.contains("UUID"), "{error}");
        ok(&mut session, "UPDATE t SET id = 'EEEEEEEE-1010-1010-1010-101010101010' WHERE id = $$10101010-1010-1010-1010-101010101010$$")
            .await;
        ok(&mut session, "DELETE FROM t WHERE id = '7f7f7f7f-7f7f-7f7f-7f7f-7f7f7f7f7f7f'").await;
    }
    let database = durable().expect("it was closed");
    let mut session = database.session();
    let expected = [
        "00000000-0000-0000-0000-000000000000|-|0",
        "80808080-8080-8080-8080-808080808080|00000000-0000-0000-0000-000000000000|128",
        "eeeeeeee-1010-1010-1010-101010101010|-|16",
        "ffffffff-ffff-ffff-ffff-ffffffffffff|00000000-0000-0000-0000-000000000000|255",
    ];
    assert_eq!(ok(&mut session, "SELECT * FROM t ORDER BY id").await, expected);
    // Files of every format.
    for format in ["csv", "text", "binary", "jsonl", "parquet"] {
        let file = directory.path().join(format!("t.{format}"));
        ok(&mut session, &format!("COPY t TO '{}' WITH (FORMAT {format})", file.display())).await;
        ok(&mut session, "CREATE TABLE again (id UUID, other UUID, n INTEGER)").await;
        ok(&mut session, &format!("COPY again FROM '{}' WITH (FORMAT {format})", file.display())).await;
        assert_eq!(ok(&mut session, "SELECT * FROM again ORDER BY id").await, expected, "{format}");
        ok(&mut session, "DROP TABLE again").await;
    }
    let exported = directory.path().join("exported");
    ok(&mut session, &format!("EXPORT DATABASE '{}' (FORMAT native)", exported.display())).await;
    let mut importing = self::session(2);
    ok(&mut importing, &format!("IMPORT DATABASE '{}'", exported.display())).await;
    assert_eq!(ok(&mut importing, "SELECT * FROM t ORDER BY id").await, expected);
    // To texts and back.
    ok(&mut session, "CREATE TABLE changed AS SELECT id, n FROM t").await;
    ok(&mut session, "ALTER TABLE changed ALTER COLUMN id TYPE TEXT").await;
    ok(&mut session, "UPDATE changed SET id = upper(id)").await;
    ok(&mut session, "ALTER TABLE changed ALTER COLUMN id TYPE UUID USING id::uuid").await;
    let both = "SELECT count(*) FROM t JOIN changed USING (id, n)";
    assert_eq!(ok(&mut session, both).await, ["4"]);
    assert!(run(&mut session, "SELECT id + 1 FROM t").await.is_err());
}
