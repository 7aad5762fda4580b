-- Chapter 6: data manipulation.

CREATE TABLE products (product_no integer, name text, price numeric);
INSERT INTO products VALUES (1, 'Cheese', 9.99);
INSERT INTO products (product_no, name, price) VALUES (1, 'Cheese', 9.99);
INSERT INTO products (name, price, product_no) VALUES ('Cheese', 9.99, 1);
INSERT INTO products (product_no, name) VALUES (2, 'Ham');
INSERT INTO products VALUES (3, 'Milk');
INSERT INTO products (product_no, name, price) VALUES (1, 'Cheese', DEFAULT);
INSERT INTO products DEFAULT VALUES;
INSERT INTO products (product_no, name, price) VALUES (1, 'Cheese', 9.99), (2, 'Bread', 1.99), (3, 'Milk', 2.99);
INSERT INTO products VALUES (1, 'too', 2, 'many');
INSERT INTO products (product_no, product_no) VALUES (1, 2);
INSERT INTO products (nothing) VALUES (1);
CREATE TABLE new_products (product_no integer, name text, price numeric, release_date date);
INSERT INTO new_products VALUES (10, 'Jam', 3.5, '2024-01-01'), (11, 'Tea', 4, '2024-02-01');
INSERT INTO products (product_no, name, price) SELECT product_no, name, price FROM new_products WHERE release_date = '2024-01-01';
SELECT * FROM products ORDER BY product_no, name, price;

UPDATE products SET price = 10 WHERE price = 9.99;
UPDATE products SET price = price * 1.10;
SELECT * FROM products ORDER BY product_no, name, price;
CREATE TABLE mytable (a int, b int, c int);
INSERT INTO mytable VALUES (1, 2, 3), (0, 0, 0);
UPDATE mytable SET a = 5, b = 3, c = 1 WHERE a > 0;
UPDATE mytable SET (a, b) = (b, a);
UPDATE mytable SET (b, c) = (SELECT 7, 8) WHERE a = 0;
UPDATE mytable SET a = DEFAULT, b = c + 1 WHERE c = 1;
UPDATE mytable SET nothing = 1;
UPDATE mytable SET a = 1, a = 2;
SELECT * FROM mytable ORDER BY c;
UPDATE products SET price = n.price FROM new_products n WHERE n.product_no = products.product_no;
UPDATE products AS p SET name = upper(p.name) WHERE p.price IS NULL;

DELETE FROM products WHERE price = 11.00;
DELETE FROM products USING new_products n WHERE products.product_no = n.product_no;
SELECT * FROM products ORDER BY product_no, name, price;
DELETE FROM products;

CREATE TABLE users (firstname text, lastname text, id serial primary key);
INSERT INTO users (firstname, lastname) VALUES ('Joe', 'Cool') RETURNING id;
INSERT INTO users (firstname, lastname) VALUES ('Ann', 'Warm'), ('Bo', 'Mild') RETURNING *;
INSERT INTO products VALUES (1, 'x', 90), (2, 'y', 120);
UPDATE products SET price = price * 1.10 WHERE price <= 99.99 RETURNING name, price AS new_price;
DELETE FROM products WHERE price > 100 RETURNING *;
DELETE FROM users WHERE lastname LIKE 'W%' RETURNING upper(firstname) || ' ' || id AS who;
UPDATE users SET firstname = 'Zoe' RETURNING users.*, (SELECT count(*) FROM products);
WITH gone AS (DELETE FROM users WHERE id = 1 RETURNING *) SELECT count(*), max(lastname) FROM gone;
SELECT * FROM users;

INSERT INTO users VALUES ('Max', 'Big', 3) ON CONFLICT DO NOTHING;
INSERT INTO users VALUES ('Max', 'Big', 3) ON CONFLICT (id) DO UPDATE SET lastname = EXCLUDED.lastname || '!' RETURNING *;
INSERT INTO users AS u VALUES ('Max', 'Big', 3) ON CONFLICT (id) DO UPDATE SET lastname = u.lastname || EXCLUDED.firstname WHERE u.id > 1;
INSERT INTO users VALUES ('Max', 'Big', 3) ON CONFLICT ON CONSTRAINT users_pkey DO UPDATE SET (firstname, lastname) = (EXCLUDED.firstname, DEFAULT);
INSERT INTO users VALUES ('Max', 'Big', 3) ON CONFLICT (firstname) DO NOTHING;
SELECT * FROM users ORDER BY id;
TRUNCATE users RESTART IDENTITY;
INSERT INTO users (firstname) VALUES ('again') RETURNING *;
