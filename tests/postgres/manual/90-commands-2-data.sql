-- Part VI: the pages of the statements that read and change rows.

CREATE TABLE films (code char(5) PRIMARY KEY, title text, did int, date_prod date DEFAULT '2000-01-01', kind varchar(10), len int);
INSERT INTO films VALUES ('UA502', 'Bananas', 105, '1971-07-13', 'Comedy', 82);
INSERT INTO films (code, title, did, date_prod, kind) VALUES ('T_601', 'Yojimbo', 106, '1961-06-16', 'Drama');
INSERT INTO films VALUES ('UA503', 'Bananas', 105, DEFAULT, 'Comedy', 82);
INSERT INTO films (code, title, did, date_prod, kind) VALUES ('T_602', 'Yojimbo', 106, DEFAULT, 'Drama');
INSERT INTO films (code, title, did, date_prod, kind) VALUES ('B6717', 'Tampopo', 110, '1985-02-10', 'Comedy'), ('HG120', 'The Dinner Game', 140, DEFAULT, 'Comedy');
INSERT INTO films SELECT code || 'x', title FROM films WHERE did = 105;
INSERT INTO films SELECT 'new' || row_number() OVER (ORDER BY title), title, did FROM films WHERE did > 106 RETURNING code, date_prod;
CREATE TABLE distributors (did int PRIMARY KEY, dname text, is_active bool DEFAULT true);
INSERT INTO distributors (did, dname) VALUES (5, 'Gizmo Transglobal'), (6, 'Associated Computing, Inc') ON CONFLICT (did) DO UPDATE SET dname = EXCLUDED.dname;
INSERT INTO distributors (did, dname) VALUES (5, 'Redline GmbH') ON CONFLICT (did) DO NOTHING;
INSERT INTO distributors AS d (did, dname) VALUES (6, 'Anvil') ON CONFLICT (did) DO UPDATE SET dname = EXCLUDED.dname || ' (formerly ' || d.dname || ')' WHERE d.did <> 21400;
INSERT INTO distributors (did, dname) VALUES (6, 'x') ON CONFLICT ON CONSTRAINT distributors_pkey DO NOTHING RETURNING did;
INSERT INTO distributors (did, dname) VALUES (7, 'a'), (7, 'b') ON CONFLICT (did) DO UPDATE SET dname = EXCLUDED.dname;
INSERT INTO distributors (did, dname) VALUES (10, 'Conrad') ON CONFLICT (did) WHERE is_active DO NOTHING;
SELECT * FROM distributors ORDER BY did;
WITH upd AS (UPDATE distributors SET dname = dname || '.' WHERE did = 5 RETURNING *) INSERT INTO films (code, title) SELECT 'upd', dname FROM upd;

UPDATE films SET kind = 'Dramatic' WHERE kind = 'Drama';
UPDATE films SET (len, kind) = (DEFAULT, 'None') WHERE code = 'T_601' RETURNING code, len, kind;
UPDATE films SET (kind, len) = ROW('Row', 5) WHERE code = 'T_602';
UPDATE films f SET title = d.dname FROM distributors d WHERE f.did = d.did + 100 AND d.is_active;
UPDATE films SET title = (SELECT dname FROM distributors WHERE did = films.did - 100) WHERE did = 106;
UPDATE films SET (title, len) = (SELECT dname, did FROM distributors WHERE did + 99 = films.did) WHERE did = 105;
UPDATE ONLY films SET len = len + 1 WHERE len IS NOT NULL RETURNING *;
UPDATE films SET code = 'UA502';
UPDATE films SET films.len = 5;
SELECT * FROM films ORDER BY code;

DELETE FROM films WHERE kind <> 'Comedy' RETURNING code;
DELETE FROM films USING distributors WHERE films.did = distributors.did + 100 RETURNING films.code, distributors.dname;
DELETE FROM films AS f WHERE f.did IN (SELECT did + 104 FROM distributors);
DELETE FROM films WHERE nothing = 1;
DELETE FROM films;

CREATE TABLE customer_account (customer_id int PRIMARY KEY, balance numeric);
CREATE TABLE recent_transactions (customer_id int, transaction_value numeric);
INSERT INTO customer_account VALUES (1, 10), (2, 20), (3, 0);
INSERT INTO recent_transactions VALUES (1, 5), (2, -20), (7, 7);
MERGE INTO customer_account ca USING recent_transactions t ON t.customer_id = ca.customer_id
    WHEN MATCHED THEN UPDATE SET balance = balance + transaction_value
    WHEN NOT MATCHED THEN INSERT (customer_id, balance) VALUES (t.customer_id, t.transaction_value);
MERGE INTO customer_account ca USING (SELECT customer_id, transaction_value FROM recent_transactions) AS t ON t.customer_id = ca.customer_id
    WHEN MATCHED AND ca.balance = 0 THEN DELETE
    WHEN MATCHED AND t.transaction_value > 5 THEN DO NOTHING
    WHEN MATCHED THEN UPDATE SET balance = DEFAULT
    WHEN NOT MATCHED THEN DO NOTHING;
SELECT * FROM customer_account ORDER BY customer_id;
MERGE INTO customer_account USING (VALUES (1), (1)) AS v (x) ON customer_id = x WHEN MATCHED THEN UPDATE SET balance = 1;
MERGE INTO customer_account USING (VALUES (8), (9)) AS v (x) ON customer_id = x WHEN NOT MATCHED AND x > 8 THEN INSERT VALUES (x, x * 2) WHEN NOT MATCHED THEN INSERT (customer_id) VALUES (x);
SELECT * FROM customer_account ORDER BY customer_id;

CREATE TABLE bigtable (a serial, b int);
INSERT INTO bigtable (b) VALUES (1), (2);
TRUNCATE bigtable, recent_transactions;
INSERT INTO bigtable (b) VALUES (3) RETURNING a;
TRUNCATE TABLE bigtable RESTART IDENTITY;
INSERT INTO bigtable (b) VALUES (3) RETURNING a;
CREATE TABLE othertable (did int REFERENCES distributors);
TRUNCATE distributors;
TRUNCATE distributors CASCADE;
SELECT count(*) FROM distributors;
TRUNCATE nothing;

COPY customer_account TO STDOUT;
COPY customer_account TO STDOUT (DELIMITER '|');
COPY (SELECT * FROM customer_account WHERE balance > 10) TO STDOUT WITH (FORMAT csv, HEADER);
COPY (SELECT 'a"b', NULL, E'x\ny', '') TO STDOUT (FORMAT csv, FORCE_QUOTE *, NULL 'none');
COPY customer_account (balance) TO STDOUT WITH NULL AS 'nil';
COPY customer_account FROM stdin;
20	1.5
21	\N
\.
COPY customer_account FROM stdin (FORMAT csv, HEADER true, NULL 'nil');
customer_id,balance
30,2.5
31,nil
\.
COPY customer_account (balance, customer_id) FROM stdin WITH DELIMITER ',';
4.5,40
\.
COPY customer_account FROM stdin;
50	wrong
\.
COPY customer_account FROM stdin WHERE balance > 5;
60	4
61	6
\.
SELECT * FROM customer_account ORDER BY customer_id;
COPY nothing FROM stdin;
\.
COPY (DELETE FROM customer_account WHERE customer_id > 30 RETURNING *) TO STDOUT;

PREPARE fooplan (int, text, bool, numeric) AS INSERT INTO target VALUES ($1, $2, $3, $4);
CREATE TABLE target (a int, b text, c bool, d numeric);
PREPARE fooplan (int, text, bool, numeric) AS INSERT INTO target VALUES ($1, $2, $3, $4);
EXECUTE fooplan(1, 'Hunter Valley', 't', 200.00);
EXECUTE fooplan(2, NULL, false, 1);
EXECUTE fooplan(3);
PREPARE usrrptplan (int) AS SELECT * FROM target u WHERE u.a = $1 AND u.d < $2;
EXECUTE usrrptplan(1, 300);
PREPARE untyped AS SELECT $1 + 1, $2::text;
EXECUTE untyped(5, 'x');
PREPARE untyped AS SELECT 1;
DEALLOCATE untyped;
EXECUTE untyped(5, 'x');
DEALLOCATE PREPARE ALL;

SELECT f.a, f.b FROM target f WHERE f.c OFFSET 0;
SELECT * FROM target TABLESAMPLE BERNOULLI (100) REPEATABLE (1) ORDER BY a;
TABLE target;
TABLE target ORDER BY a LIMIT 1;
SELECT d.* FROM target AS d (x, y);
SELECT 2 + 2;
SELECT a, sum(d) AS total FROM target GROUP BY a HAVING sum(d) > 5;
SELECT DISTINCT ON (c) c, a, b FROM target ORDER BY c, a DESC;
SELECT WHERE true;
SELECT target.a FROM target ORDER BY target.b NULLS FIRST, 1;
SELECT count(*) FROM ONLY target;
VALUES (1, '2'), (3, NULL);

SHOW server_version_num;
SHOW nothing;
SET datestyle TO postgres, dmy;
SHOW datestyle;
SET datestyle TO DEFAULT;
SET LOCAL datestyle = 'ISO';
SET SESSION timezone TO 'Europe/London';
SET TIME ZONE LOCAL;
SET search_path = public;
SET statement_timeout = '10s';
SHOW statement_timeout;
RESET ALL;
SET nothing = 1;
SET my.variable = 'x';
SHOW my.variable;
DISCARD ALL;
VACUUM target;
VACUUM (ANALYZE, VERBOSE false) target;
ANALYZE target (a, b);
ANALYZE;
CHECKPOINT;
COMMENT ON TABLE target IS 'This is my table.';
COMMENT ON COLUMN target.a IS NULL;
COMMENT ON TABLE nothing IS 'x';
DEALLOCATE nothing;
