-- Chapter 3: advanced features.

CREATE TABLE cities (name varchar(80) primary key, country char(2));
CREATE TABLE weather (
    city varchar(80) references cities(name),
    temp_lo int, temp_hi int, prcp real, date date
);
INSERT INTO cities VALUES ('Bergen', 'NO'), ('Lund', 'SE');
INSERT INTO weather VALUES ('Bergen', 6, 11, 12.5, '2021-10-03'), ('Lund', 9, 14, 0, '2021-10-03');
INSERT INTO weather VALUES ('Paris', 10, 19, 0.5, '2021-10-03');

CREATE VIEW myview AS SELECT name, temp_lo, temp_hi, prcp, date, country FROM weather, cities WHERE city = name;
SELECT * FROM myview;
SELECT name, temp_hi - temp_lo AS span FROM myview ORDER BY span DESC, name;

CREATE TABLE accounts (name text PRIMARY KEY, branch_name text, balance numeric(12,2) NOT NULL);
CREATE TABLE branches (name text PRIMARY KEY, balance numeric(12,2));
INSERT INTO branches VALUES ('north', 1000), ('south', 2000);
INSERT INTO accounts VALUES ('Alice', 'north', 500), ('Bob', 'south', 300), ('Wally', 'south', 50);
BEGIN;
UPDATE accounts SET balance = balance - 100.00 WHERE name = 'Alice';
UPDATE branches SET balance = balance - 100.00
    WHERE name = (SELECT branch_name FROM accounts WHERE name = 'Alice');
UPDATE accounts SET balance = balance + 100.00 WHERE name = 'Bob';
UPDATE branches SET balance = balance + 100.00
    WHERE name = (SELECT branch_name FROM accounts WHERE name = 'Bob');
COMMIT;
SELECT * FROM accounts ORDER BY name;
SELECT * FROM branches ORDER BY name;
BEGIN;
UPDATE accounts SET balance = balance - 100.00 WHERE name = 'Alice';
SAVEPOINT my_savepoint;
UPDATE accounts SET balance = balance + 100.00 WHERE name = 'Bob';
ROLLBACK TO my_savepoint;
UPDATE accounts SET balance = balance + 100.00 WHERE name = 'Wally';
COMMIT;
SELECT * FROM accounts ORDER BY name;

CREATE TABLE empsalary (depname text, empno int, salary int, enroll_date date);
INSERT INTO empsalary VALUES ('develop', 11, 5200, '2007-08-01'), ('develop', 7, 4200, '2008-01-01'),
    ('develop', 9, 4500, '2008-01-01'), ('develop', 8, 6000, '2006-10-01'), ('develop', 10, 5200, '2007-08-01'),
    ('personnel', 5, 3500, '2007-12-10'), ('personnel', 2, 3900, '2006-12-23'),
    ('sales', 3, 4800, '2007-08-01'), ('sales', 1, 5000, '2006-10-01'), ('sales', 4, 4800, '2007-08-08');
SELECT depname, empno, salary, avg(salary) OVER (PARTITION BY depname) FROM empsalary;
SELECT depname, empno, salary, rank() OVER (PARTITION BY depname ORDER BY salary DESC) FROM empsalary;
SELECT salary, sum(salary) OVER () FROM empsalary;
SELECT salary, sum(salary) OVER (ORDER BY salary) FROM empsalary;
SELECT depname, empno, salary, enroll_date FROM
  (SELECT depname, empno, salary, enroll_date,
          rank() OVER (PARTITION BY depname ORDER BY salary DESC, empno) AS pos FROM empsalary) AS ss
WHERE pos < 3;
SELECT sum(salary) OVER w, avg(salary) OVER w FROM empsalary WINDOW w AS (PARTITION BY depname ORDER BY salary DESC);
SELECT depname, count(*), sum(count(*)) OVER () FROM empsalary GROUP BY depname ORDER BY depname;
SELECT empno FROM empsalary WHERE rank() OVER (ORDER BY salary) < 3;
DROP TABLE cities;
DROP VIEW myview;
