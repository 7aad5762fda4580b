// node-postgres: statements, types, errors, prepared statements, cursors, COPY, cancelling, pools.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { after, before, test } from "node:test";
import pg from "pg";
import copy from "pg-copy-streams";
import Cursor from "pg-cursor";

const address = { host: "127.0.0.1", port: Number(process.env.LONGSHORE_PORT), user: "longshore", database: "longshore" };
let client;

before(async () => {
  client = new pg.Client(address);
  await client.connect();
  await client.query("CREATE SCHEMA node; SET search_path = node");
});

after(async () => {
  await client.query("DROP SCHEMA node CASCADE");
  await client.end();
});

test("values of every type are read back", async () => {
  const values = [
    ["bool", true, true],
    ["int2", 7, 7],
    ["int4", -7, -7],
    ["int8", "9007199254740993", "9007199254740993"],
    ["float4", 1.5, 1.5],
    ["float8", 0.1, 0.1],
    ["numeric(30,2)", "12345678901234567890.10", "12345678901234567890.10"],
    ["text", "naïve 'quoted'", "naïve 'quoted'"],
    ["varchar(5)", "abc", "abc"],
    ["char(5)", "abc", "abc  "],
    ["bytea", Buffer.from([0, 255, 92]), Buffer.from([0, 255, 92])],
    ["timestamptz", new Date("2026-11-26T10:00:00.123Z"), new Date("2026-11-26T10:00:00.123Z")],
    ["uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ["jsonb", { a: [1, null, "x"] }, { a: [1, null, "x"] }],
    ["int4[]", [1, null, 3], [1, null, 3]],
    ["text[]", ["a,b", '"', null, ""], ["a,b", '"', null, ""]],
    ["text", null, null],
  ];
  const columns = values.map(([type], at) => `c${at} ${type}`);
  await client.query(`CREATE TABLE types (${columns.join(", ")})`);
  const parameters = values.map((_, at) => `$${at + 1}`);
  await client.query(`INSERT INTO types VALUES (${parameters.join(", ")})`, values.map(([, value]) => value));
  const { rows: [row] } = await client.query("SELECT * FROM types");
  values.forEach(([type, , expected], at) => assert.deepEqual(row[`c${at}`], expected, type));
});

test("named prepared statements are planned once", async () => {
  await client.query("CREATE TABLE keyed (id int PRIMARY KEY, note text)");
  for (let id = 0; id < 20; id++) {
    await client.query({ name: "insert", text: "INSERT INTO keyed VALUES ($1, $2)", values: [id, `note ${id}`] });
  }
  const select = (id) => ({ name: "by key", text: "SELECT note FROM keyed WHERE id = $1", values: [id] });
  assert.equal((await client.query(select(7))).rows[0].note, "note 7");
  assert.equal((await client.query(select(99))).rowCount, 0);
  const updated = await client.query("UPDATE keyed SET note = upper(note) WHERE id < $1 RETURNING id", [5]);
  assert.equal(updated.rowCount, 5);
  assert.equal(updated.command, "UPDATE");
});

test("errors have their code and name what they are about", async () => {
  await client.query("CREATE TABLE checked (id int PRIMARY KEY, n int NOT NULL CONSTRAINT small CHECK (n < 10))");
  await client.query("INSERT INTO checked VALUES (1, 1)");
  const fails = (sql, expected) => assert.rejects(client.query(sql), (error) => {
    for (const [name, value] of Object.entries(expected)) assert.equal(error[name], value, `${sql}: ${name}`);
    return error.severity === "ERROR";
  });
  await fails("INSERT INTO checked VALUES (1, 1)", { code: "23505" });
  await fails("INSERT INTO checked VALUES (2, NULL)", { code: "23502" });
  await fails("INSERT INTO checked VALUES (2, 11)", { code: "23514" });
  await fails("SELECT * FROM missing", { code: "42P01" });
  await fails("SELEC 1", { code: "42601" });
  await fails("SELECT 1/0", { code: "22012" });
  await fails("SELECT 'x'::int", { code: "22P02" });
  assert.equal((await client.query("SELECT count(*)::int AS n FROM checked")).rows[0].n, 1);
});

test("transactions and savepoints", async () => {
  await client.query("CREATE TABLE kept (id int)");
  await client.query("BEGIN");
  await client.query("INSERT INTO kept VALUES (1)");
  await client.query("SAVEPOINT one");
  await assert.rejects(client.query("INSERT INTO kept VALUES ('x')"));
  await assert.rejects(client.query("SELECT 1"), { code: "25P02" });
  await client.query("ROLLBACK TO one");
  await client.query("COMMIT");
  assert.deepEqual((await client.query("SELECT * FROM kept")).rows, [{ id: 1 }]);
});

test("a cursor reads in parts", async () => {
  const cursor = client.query(new Cursor("SELECT * FROM generate_series(1, $1::int) AS n", [250]));
  assert.equal((await cursor.read(100)).length, 100);
  assert.equal((await cursor.read(100))[99].n, 200);
  assert.equal((await cursor.read(100)).length, 50);
  assert.equal((await cursor.read(100)).length, 0);
  await cursor.close();
  assert.equal((await client.query("SELECT 1 AS n")).rows[0].n, 1);
});

test("COPY in and out", async () => {
  await client.query("CREATE TABLE copied (id int, note text)");
  const lines = Array.from({ length: 5000 }, (_, id) => `${id},"note, ${id}"\n`);
  await pipeline(Readable.from(lines), client.query(copy.from("COPY copied FROM STDIN (FORMAT csv)")));
  const { rows: [sum] } = await client.query("SELECT count(*)::int AS n, max(note) AS last FROM copied");
  assert.deepEqual(sum, { n: 5000, last: "note, 999" });
  const out = client.query(copy.to("COPY (SELECT * FROM copied ORDER BY id) TO STDOUT (FORMAT csv)"));
  let text = "";
  for await (const piece of out) text += piece;
  assert.equal(text, lines.join(""));
  const bad = client.query(copy.from("COPY copied FROM STDIN (FORMAT csv)"));
  await assert.rejects(pipeline(Readable.from(["1,a\n", "x,b\n"]), bad), /line 2/);
  assert.equal((await client.query("SELECT count(*)::int AS n FROM copied")).rows[0].n, 5000);
});

test("statements are cancelled and time out", async () => {
  const long = "SELECT count(*) FROM generate_series(1, 100000000000) AS a";
  await client.query("SET statement_timeout = 100");
  await assert.rejects(client.query(long), { code: "57014" });
  await client.query("RESET statement_timeout");
  const cancelled = assert.rejects(client.query(long), { code: "57014" });
  await new Promise((done) => setTimeout(done, 200));
  const other = new pg.Client(address);
  await other.connect();
  const { rows: [{ done }] } = await other.query("SELECT pg_cancel_backend($1) AS done", [client.processID]);
  await other.end();
  assert.equal(done, true);
  await cancelled;
});

test("a pool's clients work side by side", async () => {
  await client.query("CREATE TABLE counted (id int PRIMARY KEY, n int); INSERT INTO counted VALUES (1, 0)");
  const pool = new pg.Pool({ ...address, max: 8, options: "-c default_transaction_isolation=read\\ committed" });
  const add = () => pool.query("UPDATE node.counted SET n = n + 1 WHERE id = $1", [1]);
  await Promise.all(Array.from({ length: 200 }, add));
  await pool.end();
  assert.equal((await client.query("SELECT n FROM counted")).rows[0].n, 200);
});

test("parameters without types are read as what they stand for", async () => {
  const one = async (text, values) => (await client.query({ text, values, rowMode: "array" })).rows.flat();
  assert.deepEqual(await one("SELECT g FROM generate_series(1, $1) AS g ORDER BY g LIMIT $2 OFFSET $3", [9, 2, 1]), [2, 3]);
  assert.deepEqual(await one("SELECT left('abcdef', $1)", [2]), ["ab"]);
  assert.deepEqual(await one("SELECT coalesce(NULL::int, $1)", [7]), [7]);
  assert.deepEqual(await one("SELECT make_date($1, $2, $3)::text", [2020, 2, 29]), ["2020-02-29"]);
  assert.deepEqual(await one("SELECT i FROM (VALUES (1), (2)) AS v (i) WHERE i = $1 OR $1 IS NULL", [2]), [2]);
});

test("notifications", async () => {
  const hears = new pg.Client(address);
  await hears.connect();
  await hears.query("LISTEN jobs");
  const told = new Promise((done) => hears.once("notification", done));
  await client.query("SELECT pg_notify($1, $2)", ["jobs", "from node"]);
  const { channel, payload, processId } = await told;
  assert.deepEqual([channel, payload, processId], ["jobs", "from node", client.processID]);
  await hears.end();
});
