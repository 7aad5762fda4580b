-- Chapter 7: queries.

CREATE TABLE table1 (a int, b int, c int);
INSERT INTO table1 VALUES (1, 2, 3), (4, 5, 6), (4, 1, 9);
SELECT * FROM table1;
SELECT a, b + c FROM table1;
SELECT 3 * 4;
SELECT random() < 1;

-- 7.2.1 FROM: joins
CREATE TABLE t1 (num int, name text);
CREATE TABLE t2 (num int, value text);
INSERT INTO t1 VALUES (1, 'a'), (2, 'b'), (3, 'c');
INSERT INTO t2 VALUES (1, 'xxx'), (3, 'yyy'), (5, 'zzz');
SELECT * FROM t1 CROSS JOIN t2;
SELECT * FROM t1, t2;
SELECT * FROM t1 INNER JOIN t2 ON t1.num = t2.num;
SELECT * FROM t1 INNER JOIN t2 USING (num);
SELECT * FROM t1 NATURAL INNER JOIN t2;
SELECT * FROM t1 LEFT JOIN t2 ON t1.num = t2.num;
SELECT * FROM t1 LEFT JOIN t2 USING (num);
SELECT * FROM t1 NATURAL LEFT JOIN t2;
SELECT * FROM t1 RIGHT JOIN t2 ON t1.num = t2.num;
SELECT * FROM t1 FULL JOIN t2 ON t1.num = t2.num;
SELECT * FROM t1 FULL JOIN t2 USING (num);
SELECT * FROM t1 NATURAL FULL JOIN t2;
SELECT * FROM t1 LEFT JOIN t2 ON t1.num = t2.num AND t2.value = 'xxx';
SELECT * FROM t1 LEFT JOIN t2 ON t1.num = t2.num WHERE t2.value = 'xxx';
SELECT * FROM t1 JOIN t2 ON TRUE ORDER BY t1.num, t2.num;
SELECT * FROM t1 LEFT JOIN (t2 JOIN table1 ON t2.num = table1.a) ON t1.num = t2.num;
SELECT x.num, x.value FROM t1 JOIN t2 USING (num) AS x;
SELECT t1.num, t2.num FROM t1 FULL JOIN t2 USING (num) ORDER BY num;
SELECT num FROM t1 JOIN t2 ON t1.num = t2.num;
-- aliases
SELECT * FROM t1 AS m WHERE t1.num > 2;
SELECT * FROM t1 AS m WHERE m.num > 2;
SELECT * FROM t1 AS a CROSS JOIN t1 AS b;
SELECT * FROM (t1 AS a CROSS JOIN t2) AS b WHERE b.value = 'xxx';
SELECT a.* FROM t1 AS a JOIN t2 AS b ON a.num = b.num;
SELECT a.* FROM (t1 AS a JOIN t2 AS b ON a.num = b.num) AS c;
SELECT p.x, p.y FROM t1 AS p(x, y) WHERE x = 2;
SELECT * FROM t1 AS p(x, y, z);
-- subqueries
SELECT * FROM (SELECT * FROM t1 WHERE num > 1) AS alias_name;
SELECT * FROM (SELECT num FROM t1);
SELECT * FROM (VALUES ('anne', 'smith'), ('bob', 'jones'), ('joe', 'blow')) AS names(first, last);
SELECT last FROM (VALUES ('anne', 'smith'), ('bob', 'jones')) AS names(first, last) ORDER BY first DESC;
SELECT column1, column2 FROM (VALUES (1, 'one'), (2, 'two')) AS v;
-- functions
SELECT * FROM generate_series(2, 4) AS g;
SELECT * FROM generate_series(1, 9, 3) AS g(n), unnest(ARRAY['x', 'y']) AS u;
SELECT * FROM unnest(ARRAY[1,2], ARRAY['foo','bar','baz']) AS x(a, b);
SELECT * FROM unnest(ARRAY['a', 'b', 'c']) WITH ORDINALITY AS t(letter, place);
SELECT * FROM ROWS FROM (generate_series(1, 3), unnest(ARRAY['a', 'b'])) AS x(n, t);
SELECT * FROM ROWS FROM (json_to_recordset('[{"a":40,"b":"foo"},{"a":"100","b":"bar"}]') AS (a INTEGER, b TEXT), generate_series(1, 3)) AS x (p, q, s) ORDER BY p;
SELECT * FROM json_to_record('{"a":1,"b":[1,2],"c":"x"}') AS x(a int, b text, d text);
-- LATERAL
CREATE TABLE foo (bar_id int, note text);
CREATE TABLE bar (id int, label text);
INSERT INTO foo VALUES (1, 'f1'), (2, 'f2'), (2, 'f3'), (9, 'f4');
INSERT INTO bar VALUES (1, 'b1'), (2, 'b2'), (3, 'b3');
SELECT * FROM foo, LATERAL (SELECT * FROM bar WHERE bar.id = foo.bar_id) ss;
SELECT * FROM foo, bar WHERE bar.id = foo.bar_id;
SELECT f.note, s.n FROM foo f CROSS JOIN LATERAL generate_series(1, f.bar_id) AS s(n) ORDER BY 1, 2;
SELECT b.label, ss.note FROM bar b LEFT JOIN LATERAL (SELECT note FROM foo WHERE foo.bar_id = b.id ORDER BY note DESC LIMIT 1) ss ON true ORDER BY label;
SELECT b.label FROM bar b LEFT JOIN LATERAL (SELECT note FROM foo WHERE foo.bar_id = b.id) ss ON true WHERE note IS NULL;
SELECT * FROM foo, (SELECT * FROM bar WHERE bar.id = foo.bar_id) ss;
SELECT t.n, v.d FROM (VALUES (1), (2)) AS t(n), LATERAL (VALUES (t.n * 2), (t.n * 3)) AS v(d);

-- 7.2.2 WHERE
CREATE TABLE fdt (c1 int);
INSERT INTO fdt VALUES (1), (6), (11), (NULL);
SELECT * FROM fdt WHERE c1 > 5;
SELECT * FROM fdt WHERE c1 IN (1, 2, 3);
SELECT * FROM fdt WHERE c1 IN (SELECT num FROM t1);
SELECT * FROM fdt WHERE c1 IN (SELECT num FROM t2 WHERE num = fdt.c1 + 0);
SELECT * FROM fdt WHERE c1 BETWEEN (SELECT min(num) FROM t2) AND 100;
SELECT * FROM fdt WHERE EXISTS (SELECT num FROM t2 WHERE num > fdt.c1);
SELECT * FROM fdt WHERE c1 NOT IN (SELECT num FROM t1);
SELECT * FROM fdt WHERE NOT EXISTS (SELECT FROM t1 WHERE num = c1);
SELECT * FROM fdt WHERE c1;

-- 7.2.3 GROUP BY and HAVING
CREATE TABLE test1 (x text, y int);
INSERT INTO test1 VALUES ('a', 3), ('c', 2), ('b', 5), ('a', 1);
SELECT x FROM test1 GROUP BY x;
SELECT * FROM test1 GROUP BY x;
SELECT x, sum(y) FROM test1 GROUP BY x;
SELECT x, sum(y) FROM test1 GROUP BY x HAVING sum(y) > 3;
SELECT x, sum(y) FROM test1 GROUP BY x HAVING x < 'c';
SELECT sum(y) FROM test1 HAVING count(*) > 10;
SELECT 1 FROM test1 HAVING true;
SELECT upper(x) AS u, count(*) FROM test1 GROUP BY u;
SELECT x, y % 2 AS odd, count(*) FROM test1 GROUP BY 1, 2;
CREATE TABLE products (product_id int PRIMARY KEY, name text, price numeric, cost numeric);
CREATE TABLE sales (product_id int, units int, date date);
INSERT INTO products VALUES (1, 'pen', 2, 1.5), (2, 'cup', 5, 3), (3, 'hat', 9, 6);
INSERT INTO sales VALUES (1, 100, '2024-01-05'), (1, 50, '2024-02-05'), (2, 7, '2024-02-09');
SELECT product_id, p.name, (sum(s.units) * p.price) AS sales FROM products p LEFT JOIN sales s USING (product_id)
    GROUP BY product_id, p.name, p.price;
SELECT product_id, p.name, (sum(s.units) * (p.price - p.cost)) AS profit FROM products p LEFT JOIN sales s USING (product_id)
    WHERE s.date > DATE '2024-02-29' - INTERVAL '4 weeks' GROUP BY product_id, p.name, p.price, p.cost
    HAVING sum(p.price * s.units) > 50;
SELECT p.product_id, p.name, p.price, sum(s.units) FROM products p JOIN sales s ON p.product_id = s.product_id GROUP BY p.product_id;
-- 7.2.4 Grouping sets
CREATE TABLE items_sold (brand text, size text, sales int);
INSERT INTO items_sold VALUES ('Foo', 'L', 10), ('Foo', 'M', 20), ('Bar', 'M', 15), ('Bar', 'L', 5);
SELECT * FROM items_sold;
SELECT brand, size, sum(sales) FROM items_sold GROUP BY GROUPING SETS ((brand), (size), ());
SELECT brand, size, sum(sales) FROM items_sold GROUP BY ROLLUP (brand, size);
SELECT brand, size, sum(sales) FROM items_sold GROUP BY CUBE (brand, size);
SELECT brand, size, sum(sales) FROM items_sold GROUP BY ROLLUP ((brand, size));
SELECT brand, size, sum(sales) FROM items_sold GROUP BY brand, ROLLUP (size);
SELECT brand, size, sum(sales) FROM items_sold GROUP BY brand, CUBE (size), GROUPING SETS ((sales), ());
SELECT brand, size, sum(sales) FROM items_sold GROUP BY DISTINCT ROLLUP (brand, size), ROLLUP (brand);
SELECT grouping(brand, size), brand, size, sum(sales) FROM items_sold GROUP BY ROLLUP (brand, size);
SELECT grouping(brand) AS g, count(*) FROM items_sold GROUP BY CUBE (brand) HAVING grouping(brand) = 1;
SELECT brand, sum(sales), rank() OVER (ORDER BY sum(sales) DESC) FROM items_sold GROUP BY brand;
SELECT sum(sales) FROM items_sold GROUP BY ();
SELECT brand, count(*) FROM items_sold GROUP BY GROUPING SETS (GROUPING SETS ((brand), ()), ROLLUP (size), brand);

-- 7.3 Select lists
SELECT a, b, c FROM table1;
SELECT t1.num, t2.num, t1.name FROM t1, t2 WHERE t1.num < t2.num;
SELECT t1.*, t2.value FROM t1 JOIN t2 USING (num);
SELECT a AS value, b + c AS sum FROM table1;
SELECT a "value", b + c AS "Sum" FROM table1;
SELECT a value, b AS from FROM table1;
SELECT a from, b FROM table1;
SELECT DISTINCT a FROM table1;
SELECT ALL a FROM table1;
SELECT DISTINCT ON (a) a, b, c FROM table1 ORDER BY a, b;
SELECT DISTINCT ON (a) a, b FROM table1 ORDER BY b;
SELECT DISTINCT a + b > 6, c FROM table1 ORDER BY c;
SELECT FROM table1;
SELECT count(*), upper('x'), 1 + 1, 'x', 'y'::varchar, CASE WHEN true THEN 1 END, coalesce(1, 2), ARRAY[1], now() IS NULL;

-- 7.4 Combining queries
SELECT num FROM t1 UNION SELECT num FROM t2;
SELECT num FROM t1 UNION ALL SELECT num FROM t2;
SELECT num FROM t1 INTERSECT SELECT num FROM t2;
SELECT num FROM t1 EXCEPT SELECT num FROM t2;
SELECT a FROM table1 EXCEPT ALL SELECT 4;
SELECT a FROM table1 INTERSECT ALL VALUES (4), (4), (4);
SELECT num FROM t1 UNION SELECT num FROM t2 EXCEPT SELECT 3;
(SELECT num FROM t1 UNION SELECT num FROM t2) EXCEPT SELECT 3;
SELECT num FROM t1 UNION (SELECT num FROM t2 EXCEPT SELECT 3);
SELECT 1 UNION SELECT 2 INTERSECT SELECT 3;
SELECT num FROM t1 UNION SELECT num FROM t2 LIMIT 2 OFFSET 10;
(SELECT num FROM t1 ORDER BY num DESC LIMIT 1) UNION ALL (SELECT num FROM t2 ORDER BY num DESC LIMIT 1);
SELECT num FROM t1 LIMIT 1 UNION SELECT num FROM t2;
SELECT num, name FROM t1 UNION SELECT num FROM t2;
SELECT num FROM t1 UNION SELECT name FROM t1;
SELECT 1 AS a UNION SELECT 2.5 ORDER BY a DESC;

-- 7.5 Sorting
SELECT a, b FROM table1 ORDER BY a + b, c;
SELECT a + b AS sum, c FROM table1 ORDER BY sum;
SELECT a, max(b) FROM table1 GROUP BY a ORDER BY 1;
SELECT a + b AS sum, c FROM table1 ORDER BY sum + c;
SELECT c1 FROM fdt ORDER BY c1 NULLS FIRST;
SELECT c1 FROM fdt ORDER BY c1 DESC;
SELECT c1 FROM fdt ORDER BY c1 DESC NULLS LAST;
SELECT a, b FROM table1 ORDER BY a ASC, b DESC;
SELECT a, b FROM table1 ORDER BY b USING >;
SELECT a FROM table1 ORDER BY c;
SELECT DISTINCT a FROM table1 ORDER BY c;
SELECT a FROM table1 ORDER BY 2;

-- 7.6 LIMIT and OFFSET
SELECT num FROM t2 ORDER BY num LIMIT 2;
SELECT num FROM t2 ORDER BY num LIMIT ALL;
SELECT num FROM t2 ORDER BY num LIMIT NULL OFFSET 1;
SELECT num FROM t2 ORDER BY num OFFSET 1 LIMIT 1;
SELECT num FROM t2 ORDER BY num OFFSET 1 ROW FETCH NEXT 1 ROW ONLY;
SELECT num FROM t2 ORDER BY num FETCH FIRST ROW ONLY;
SELECT a, b FROM table1 ORDER BY a DESC FETCH FIRST 1 ROWS WITH TIES;
SELECT num FROM t2 ORDER BY num LIMIT 1 + 1;
SELECT num FROM t2 ORDER BY num LIMIT (SELECT count(*) - 1 FROM t2);
SELECT num FROM t2 LIMIT -1;

-- 7.7 VALUES
VALUES (1, 'one'), (2, 'two'), (3, 'three');
VALUES (1, 'one'), (2, 'two') ORDER BY column1 DESC LIMIT 1;
VALUES (1), (2.5), (NULL);
VALUES (1, 2), (3);
SELECT * FROM (VALUES (1, 'one'), (2, 'two'), (3, 'three')) AS t (num, letter);
VALUES (1) UNION VALUES (2);

-- 7.8 WITH
CREATE TABLE orders (region text, product text, quantity int, amount numeric);
INSERT INTO orders VALUES ('N', 'p1', 5, 100), ('N', 'p2', 2, 30), ('S', 'p1', 1, 5), ('W', 'p2', 9, 400);
WITH regional_sales AS (
    SELECT region, sum(amount) AS total_sales FROM orders GROUP BY region
), top_regions AS (
    SELECT region FROM regional_sales WHERE total_sales > (SELECT sum(total_sales)/10 FROM regional_sales)
)
SELECT region, product, sum(quantity) AS product_units, sum(amount) AS product_sales
FROM orders WHERE region IN (SELECT region FROM top_regions) GROUP BY region, product;
WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n+1 FROM t WHERE n < 100) SELECT sum(n) FROM t;
CREATE TABLE parts (sub_part text, part text, quantity int);
INSERT INTO parts VALUES ('wheel', 'our_product', 4), ('spoke', 'wheel', 30), ('rim', 'wheel', 1), ('bolt', 'rim', 2), ('seat', 'other', 1);
WITH RECURSIVE included_parts(sub_part, part, quantity) AS (
    SELECT sub_part, part, quantity FROM parts WHERE part = 'our_product'
  UNION ALL
    SELECT p.sub_part, p.part, p.quantity * pr.quantity FROM included_parts pr, parts p WHERE p.part = pr.sub_part
)
SELECT sub_part, sum(quantity) AS total_quantity FROM included_parts GROUP BY sub_part;
CREATE TABLE tree (id int, link int, data text);
INSERT INTO tree VALUES (1, NULL, 'root'), (2, 1, 'l'), (3, 1, 'r'), (4, 2, 'll'), (5, 3, 'rl'), (6, 3, 'rr');
WITH RECURSIVE search_tree(id, link, data) AS (
    SELECT t.id, t.link, t.data FROM tree t WHERE link IS NULL
  UNION ALL
    SELECT t.id, t.link, t.data FROM tree t, search_tree st WHERE t.link = st.id
)
SELECT * FROM search_tree;
WITH RECURSIVE search_tree(id, link, data, path) AS (
    SELECT t.id, t.link, t.data, ARRAY[t.id] FROM tree t WHERE link IS NULL
  UNION ALL
    SELECT t.id, t.link, t.data, path || t.id FROM tree t, search_tree st WHERE t.link = st.id
)
SELECT * FROM search_tree ORDER BY path;
WITH RECURSIVE search_tree(id, link, data, path) AS (
    SELECT t.id, t.link, t.data, ARRAY[ROW(t.id, t.data)] FROM tree t WHERE link IS NULL
  UNION ALL
    SELECT t.id, t.link, t.data, path || ROW(t.id, t.data) FROM tree t, search_tree st WHERE t.link = st.id
)
SELECT id FROM search_tree ORDER BY path;
WITH RECURSIVE search_tree(id, link, data, depth) AS (
    SELECT t.id, t.link, t.data, 0 FROM tree t WHERE link IS NULL
  UNION ALL
    SELECT t.id, t.link, t.data, depth + 1 FROM tree t, search_tree st WHERE t.link = st.id
)
SELECT * FROM search_tree ORDER BY depth, id;
WITH RECURSIVE search_tree(id, link, data) AS (
    SELECT t.id, t.link, t.data FROM tree t WHERE link IS NULL
  UNION ALL
    SELECT t.id, t.link, t.data FROM tree t, search_tree st WHERE t.link = st.id
) SEARCH DEPTH FIRST BY id SET ordercol
SELECT * FROM search_tree ORDER BY ordercol;
WITH RECURSIVE search_tree(id, link, data) AS (
    SELECT t.id, t.link, t.data FROM tree t WHERE link IS NULL
  UNION ALL
    SELECT t.id, t.link, t.data FROM tree t, search_tree st WHERE t.link = st.id
) SEARCH BREADTH FIRST BY id SET ordercol
SELECT id, data FROM search_tree ORDER BY ordercol;
CREATE TABLE graph (id int, link int, data text);
INSERT INTO graph VALUES (1, 2, 'a'), (2, 3, 'b'), (3, 1, 'c'), (4, 1, 'd');
WITH RECURSIVE search_graph(id, link, data, depth, is_cycle, path) AS (
    SELECT g.id, g.link, g.data, 0, false, ARRAY[g.id] FROM graph g
  UNION ALL
    SELECT g.id, g.link, g.data, sg.depth + 1, g.id = ANY(path), path || g.id
    FROM graph g, search_graph sg WHERE g.id = sg.link AND NOT is_cycle
)
SELECT * FROM search_graph ORDER BY path;
WITH RECURSIVE search_graph(id, link, data, depth) AS (
    SELECT g.id, g.link, g.data, 1 FROM graph g
  UNION ALL
    SELECT g.id, g.link, g.data, sg.depth + 1 FROM graph g, search_graph sg WHERE g.id = sg.link
) CYCLE id SET is_cycle USING path
SELECT * FROM search_graph ORDER BY path;
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t) SELECT n FROM t LIMIT 5;
WITH RECURSIVE t(n) AS (SELECT 1 UNION SELECT (n * 2) % 11 FROM t) SELECT * FROM t ORDER BY n;
CREATE TABLE big_table (key int, ref int);
INSERT INTO big_table SELECT i, i % 7 FROM generate_series(1, 300) AS g(i);
WITH w AS (SELECT * FROM big_table) SELECT * FROM w WHERE key = 123;
WITH w AS MATERIALIZED (SELECT * FROM big_table) SELECT w1.key FROM w AS w1 JOIN w AS w2 ON w1.key = w2.ref WHERE w2.key = 123;
WITH w AS NOT MATERIALIZED (SELECT * FROM big_table) SELECT count(*) FROM w AS w1 JOIN w AS w2 ON w1.key = w2.ref;
CREATE TABLE log_old AS SELECT * FROM t1 WITH NO DATA;
WITH moved_rows AS (DELETE FROM t1 WHERE num <= 2 RETURNING *) INSERT INTO log_old SELECT * FROM moved_rows;
SELECT * FROM log_old ORDER BY num;
WITH t AS (UPDATE products SET price = price * 1.05 RETURNING *) SELECT product_id, price FROM t ORDER BY 1;
WITH t AS (UPDATE products SET price = 1 RETURNING *) SELECT price FROM products ORDER BY product_id;
WITH t AS (DELETE FROM foo) DELETE FROM bar WHERE id > 2;
SELECT count(*) FROM foo;
WITH RECURSIVE included(sub_part, part) AS (
    SELECT sub_part, part FROM parts WHERE part = 'our_product'
  UNION ALL
    SELECT p.sub_part, p.part FROM included pr, parts p WHERE p.part = pr.sub_part
)
DELETE FROM parts WHERE part IN (SELECT part FROM included);
SELECT * FROM parts;
WITH ins AS (INSERT INTO fdt VALUES (100) RETURNING c1) SELECT fdt.c1, ins.c1 FROM fdt, ins WHERE fdt.c1 > 50;
