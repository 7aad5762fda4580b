-- Chapter 2: the SQL language.

CREATE TABLE weather (
    city      varchar(80),
    temp_lo   int,           -- low temperature
    temp_hi   int,           -- high temperature
    prcp      real,          -- precipitation
    date      date
);
CREATE TABLE harbours (name varchar(80), depth numeric(5,1));
DROP TABLE harbours;
CREATE TABLE cities (name varchar(80), country char(2), people int);

INSERT INTO weather VALUES ('Bergen', 6, 11, 12.5, '2021-10-03');
INSERT INTO cities VALUES ('Bergen', 'NO', 285000);
INSERT INTO weather (city, temp_lo, temp_hi, prcp, date) VALUES ('Bergen', 4, 9, 0.0, '2021-10-04');
INSERT INTO weather (date, city, temp_hi, temp_lo) VALUES ('2021-10-04', 'Tromso', 3, -2);
COPY weather FROM stdin;
Bergen	5	8	3.25	2021-10-05
Tromso	-4	1	\N	2021-10-05
Oslo	2	7	0	2021-10-05
\.

SELECT * FROM weather;
SELECT city, temp_lo, temp_hi, prcp, date FROM weather;
SELECT city, (temp_hi+temp_lo)/2 AS temp_avg, date FROM weather;
SELECT * FROM weather WHERE city = 'Bergen' AND prcp > 0.0;
SELECT * FROM weather ORDER BY city, date;
SELECT * FROM weather ORDER BY city, temp_lo, temp_hi;
SELECT DISTINCT city FROM weather;
SELECT DISTINCT city FROM weather ORDER BY city;

SELECT * FROM weather, cities WHERE city = name;
SELECT * FROM weather JOIN cities ON city = name;
SELECT city, temp_lo, temp_hi, prcp, date, country FROM weather JOIN cities ON city = name ORDER BY date;
SELECT weather.city, weather.temp_lo, cities.country FROM weather JOIN cities ON weather.city = cities.name;
SELECT * FROM weather LEFT OUTER JOIN cities ON weather.city = cities.name ORDER BY date, city;
SELECT * FROM weather RIGHT OUTER JOIN cities ON weather.city = cities.name ORDER BY date;
SELECT * FROM weather FULL OUTER JOIN cities ON weather.city = cities.name ORDER BY date, city;
SELECT w1.city, w1.temp_lo AS low, w1.temp_hi AS high, w2.city, w2.temp_lo AS low, w2.temp_hi AS high
    FROM weather w1 JOIN weather w2 ON w1.temp_lo < w2.temp_lo AND w1.temp_hi > w2.temp_hi;
SELECT * FROM weather w JOIN cities c ON w.city = c.name;

SELECT max(temp_lo) FROM weather;
SELECT city FROM weather WHERE temp_lo = max(temp_lo);
SELECT city FROM weather WHERE temp_lo = (SELECT max(temp_lo) FROM weather);
SELECT city, count(*), max(temp_lo) FROM weather GROUP BY city;
SELECT city, count(*), max(temp_lo) FROM weather GROUP BY city HAVING max(temp_lo) < 5;
SELECT city, count(*), max(temp_lo) FROM weather WHERE city LIKE 'T%' GROUP BY city;
SELECT city, count(*) FILTER (WHERE temp_lo < 5), max(temp_lo) FROM weather GROUP BY city;
SELECT city, temp_hi FROM weather GROUP BY city;

UPDATE weather SET temp_hi = temp_hi - 2, temp_lo = temp_lo - 2 WHERE date > '2021-10-04';
SELECT * FROM weather ORDER BY date, city;
DELETE FROM weather WHERE city = 'Oslo';
SELECT * FROM weather ORDER BY date, city;
DELETE FROM weather;
SELECT count(*) FROM weather;
DROP TABLE weather, cities;
