-- Chapter 5: data definition.

CREATE TABLE my_first_table (first_column text, second_column integer);
CREATE TABLE products (product_no integer, name text, price numeric);
DROP TABLE my_first_table;
DROP TABLE products;
DROP TABLE products;
DROP TABLE IF EXISTS products;

-- 5.2 Default values
CREATE TABLE products (product_no integer, name text, price numeric DEFAULT 9.99);
INSERT INTO products (product_no, name) VALUES (1, 'chair');
INSERT INTO products VALUES (2, 'desk', DEFAULT);
SELECT * FROM products ORDER BY product_no;
DROP TABLE products;
CREATE SEQUENCE products_product_no_seq;
CREATE TABLE products (product_no integer DEFAULT nextval('products_product_no_seq'), name text);
INSERT INTO products (name) VALUES ('a'), ('b');
SELECT * FROM products ORDER BY product_no;
DROP TABLE products;
DROP SEQUENCE products_product_no_seq;
CREATE TABLE products (product_no SERIAL, made timestamp DEFAULT CURRENT_TIMESTAMP, name text);
INSERT INTO products (name) VALUES ('a'), ('b'), ('c');
SELECT product_no, name, made <= now() FROM products ORDER BY product_no;
DROP TABLE products;

-- 5.3 Generated columns
CREATE TABLE people (name text, height_cm numeric, height_in numeric GENERATED ALWAYS AS (height_cm / 2.54) STORED);
INSERT INTO people (name, height_cm) VALUES ('Ida', 170.18), ('Per', 180);
SELECT * FROM people ORDER BY name;
INSERT INTO people VALUES ('Ola', 150, 60);
INSERT INTO people VALUES ('Ola', 150, DEFAULT);
UPDATE people SET height_cm = 160 WHERE name = 'Ola';
UPDATE people SET height_in = 1;
SELECT name, round(height_in, 3) FROM people ORDER BY name;
CREATE TABLE wrong (a int, b int GENERATED ALWAYS AS (a + random()) STORED);
CREATE TABLE wrong (a int GENERATED ALWAYS AS (b * 2) STORED, b int GENERATED ALWAYS AS (a * 2) STORED);

-- 5.4 Constraints
CREATE TABLE products (product_no integer, name text, price numeric CHECK (price > 0));
INSERT INTO products VALUES (1, 'free', 0);
INSERT INTO products VALUES (1, 'cheap', 0.01), (2, 'unknown', NULL);
DROP TABLE products;
CREATE TABLE products (product_no integer, name text, price numeric CONSTRAINT positive_price CHECK (price > 0));
INSERT INTO products VALUES (1, 'free', -1);
DROP TABLE products;
CREATE TABLE products (
    product_no integer, name text,
    price numeric CHECK (price > 0),
    discounted_price numeric CHECK (discounted_price > 0),
    CHECK (price > discounted_price)
);
INSERT INTO products VALUES (1, 'x', 10, 11);
INSERT INTO products VALUES (1, 'x', 10, 9);
DROP TABLE products;
CREATE TABLE products (
    product_no integer, name text, price numeric, CHECK (price > 0), discounted_price numeric,
    CHECK (discounted_price > 0), CONSTRAINT valid_discount CHECK (price > discounted_price)
);
INSERT INTO products VALUES (1, 'x', 10, 10);
DROP TABLE products;
CREATE TABLE products (
    product_no integer, name text, price numeric CHECK (price > 0), discounted_price numeric,
    CHECK (discounted_price > 0 AND price > discounted_price)
);
DROP TABLE products;
CREATE TABLE products (product_no integer NOT NULL, name text NOT NULL, price numeric NOT NULL CHECK (price > 0));
INSERT INTO products VALUES (1, NULL, 3);
DROP TABLE products;
CREATE TABLE products (product_no integer NULL, name text NULL, price numeric NULL);
DROP TABLE products;
CREATE TABLE products (product_no integer UNIQUE, name text, price numeric);
INSERT INTO products VALUES (1, 'a', 1), (1, 'b', 2);
INSERT INTO products VALUES (NULL, 'a', 1), (NULL, 'b', 2);
DROP TABLE products;
CREATE TABLE products (product_no integer, name text, price numeric, UNIQUE (product_no));
DROP TABLE products;
CREATE TABLE example (a integer, b integer, c integer, UNIQUE (a, c));
INSERT INTO example VALUES (1, 1, 1), (1, 1, 2);
INSERT INTO example VALUES (1, 3, 2);
DROP TABLE example;
CREATE TABLE products (product_no integer CONSTRAINT must_be_different UNIQUE, name text);
INSERT INTO products VALUES (1, 'a');
INSERT INTO products VALUES (1, 'b');
DROP TABLE products;
CREATE TABLE products (product_no integer UNIQUE NULLS NOT DISTINCT, name text, price numeric);
INSERT INTO products VALUES (NULL, 'a', 1);
INSERT INTO products VALUES (NULL, 'b', 1);
DROP TABLE products;
CREATE TABLE products (product_no integer, name text, UNIQUE NULLS NOT DISTINCT (product_no));
DROP TABLE products;
CREATE TABLE products (product_no integer UNIQUE NOT NULL, name text, price numeric);
DROP TABLE products;
CREATE TABLE example (a integer, b integer, c integer, PRIMARY KEY (a, c));
INSERT INTO example VALUES (1, 1, NULL);
DROP TABLE example;
CREATE TABLE products (product_no integer PRIMARY KEY, name text, price numeric);
CREATE TABLE orders (order_id integer PRIMARY KEY, product_no integer REFERENCES products (product_no), quantity integer);
INSERT INTO orders VALUES (1, 1, 1);
INSERT INTO products VALUES (1, 'a', 1), (2, 'b', 2);
INSERT INTO orders VALUES (1, 1, 1);
DELETE FROM products WHERE product_no = 1;
DROP TABLE products;
DROP TABLE orders;
CREATE TABLE orders (order_id integer PRIMARY KEY, product_no integer REFERENCES products, quantity integer);
DROP TABLE orders;
CREATE TABLE other_table (c1 integer, c2 integer, UNIQUE (c1, c2));
CREATE TABLE t1 (a integer PRIMARY KEY, b integer, c integer, FOREIGN KEY (b, c) REFERENCES other_table (c1, c2));
INSERT INTO t1 VALUES (1, NULL, 5), (2, 5, 5);
INSERT INTO t1 VALUES (1, NULL, 5);
CREATE TABLE t2 (a int, b int, FOREIGN KEY (a, b) REFERENCES other_table (c1, c2) MATCH FULL);
INSERT INTO t2 VALUES (1, NULL);
DROP TABLE t1, t2;
CREATE TABLE tree (node_id integer PRIMARY KEY, parent_id integer REFERENCES tree, name text);
INSERT INTO tree VALUES (1, NULL, 'root'), (2, 1, 'child');
DELETE FROM tree WHERE node_id = 1;
DELETE FROM tree;
CREATE TABLE orders (order_id integer PRIMARY KEY, shipping_address text);
CREATE TABLE order_items (
    product_no integer REFERENCES products ON DELETE RESTRICT,
    order_id integer REFERENCES orders ON DELETE CASCADE,
    quantity integer, PRIMARY KEY (product_no, order_id)
);
INSERT INTO orders VALUES (7, 'here');
INSERT INTO order_items VALUES (1, 7, 2), (2, 7, 1);
DELETE FROM products WHERE product_no = 2;
DELETE FROM orders;
SELECT * FROM order_items;
CREATE TABLE tenants (tenant_id integer PRIMARY KEY);
CREATE TABLE users (tenant_id integer REFERENCES tenants ON DELETE CASCADE, user_id integer NOT NULL, PRIMARY KEY (tenant_id, user_id));
CREATE TABLE posts (
    tenant_id integer REFERENCES tenants ON DELETE CASCADE, post_id integer NOT NULL, author_id integer,
    PRIMARY KEY (tenant_id, post_id),
    FOREIGN KEY (tenant_id, author_id) REFERENCES users ON DELETE SET NULL (author_id)
);
INSERT INTO tenants VALUES (1);
INSERT INTO users VALUES (1, 10);
INSERT INTO posts VALUES (1, 100, 10);
DELETE FROM users;
SELECT * FROM posts;
CREATE TABLE target (id int PRIMARY KEY);
CREATE TABLE referrer (id int DEFAULT 0 REFERENCES target ON DELETE SET DEFAULT ON UPDATE CASCADE);
INSERT INTO target VALUES (0), (1), (2);
INSERT INTO referrer VALUES (1), (2);
UPDATE target SET id = 20 WHERE id = 2;
DELETE FROM target WHERE id = 1;
SELECT * FROM referrer ORDER BY id;

-- 5.5 System columns are left out; 5.6 Modifying tables
DROP TABLE order_items, products CASCADE;
CREATE TABLE product_groups (product_group_id int PRIMARY KEY, name text);
CREATE TABLE products (product_no integer, name text, price numeric);
INSERT INTO products VALUES (1, 'a', 1.5), (2, 'b', 2.25);
ALTER TABLE products ADD COLUMN description text;
ALTER TABLE products ADD COLUMN note text CHECK (note <> '');
ALTER TABLE products ADD COLUMN stock int NOT NULL DEFAULT 7;
ALTER TABLE products ADD COLUMN wrong int NOT NULL;
ALTER TABLE products ADD COLUMN IF NOT EXISTS stock int;
SELECT * FROM products ORDER BY product_no;
ALTER TABLE products DROP COLUMN description;
ALTER TABLE products DROP COLUMN note CASCADE;
ALTER TABLE products DROP COLUMN description;
ALTER TABLE products DROP COLUMN IF EXISTS description;
ALTER TABLE products ADD CHECK (name <> '');
ALTER TABLE products ADD CONSTRAINT some_name UNIQUE (product_no);
ALTER TABLE products ADD COLUMN product_group_id int;
ALTER TABLE products ADD FOREIGN KEY (product_group_id) REFERENCES product_groups;
ALTER TABLE products ALTER COLUMN product_no SET NOT NULL;
INSERT INTO products (name) VALUES ('c');
ALTER TABLE products DROP CONSTRAINT some_name;
ALTER TABLE products DROP CONSTRAINT some_name;
ALTER TABLE products DROP CONSTRAINT IF EXISTS some_name;
ALTER TABLE products ALTER COLUMN product_no DROP NOT NULL;
ALTER TABLE products ALTER COLUMN price SET DEFAULT 7.77;
INSERT INTO products (product_no, name) VALUES (3, 'c');
ALTER TABLE products ALTER COLUMN price DROP DEFAULT;
INSERT INTO products (product_no, name) VALUES (4, 'd');
SELECT product_no, name, price FROM products ORDER BY product_no;
ALTER TABLE products ALTER COLUMN price TYPE numeric(10,2);
ALTER TABLE products ALTER COLUMN name TYPE varchar(20), ALTER COLUMN stock TYPE bigint;
ALTER TABLE products ALTER COLUMN stock TYPE text USING stock || ' pieces';
SELECT * FROM products ORDER BY product_no;
ALTER TABLE products ALTER COLUMN name TYPE integer;
ALTER TABLE products RENAME COLUMN product_no TO product_number;
ALTER TABLE products RENAME TO items;
SELECT product_number FROM items ORDER BY 1;
SELECT * FROM products;

-- 5.9 Schemas
CREATE SCHEMA myschema;
CREATE TABLE myschema.mytable (a int);
INSERT INTO myschema.mytable VALUES (1);
SELECT * FROM myschema.mytable;
SELECT myschema.mytable.a FROM myschema.mytable;
DROP SCHEMA myschema;
DROP SCHEMA myschema CASCADE;
CREATE SCHEMA IF NOT EXISTS myschema;
CREATE SCHEMA myschema;
CREATE TABLE public.products (a int);
SHOW search_path;
SET search_path TO myschema, public;
CREATE TABLE only_there (a int);
SELECT current_schema();
SELECT current_schemas(false);
SELECT * FROM myschema.only_there;
DROP TABLE only_there;
SET search_path TO myschema;
SELECT * FROM products;
SET search_path TO public;
SELECT 3 OPERATOR(pg_catalog.+) 4;
SELECT pg_catalog.length('abc');
RESET search_path;
DROP SCHEMA IF EXISTS myschema, otherschema CASCADE;
CREATE SCHEMA pg_mine;

-- 5.13 Other objects; 5.14 dependencies
CREATE VIEW items_view AS SELECT name FROM items;
DROP TABLE items;
DROP TABLE items CASCADE;
SELECT * FROM items_view;
CREATE DOMAIN us_postal_code AS text CHECK (VALUE ~ '^\d{5}$' OR VALUE ~ '^\d{5}-\d{4}$');
CREATE TABLE us_snail (id serial PRIMARY KEY, city text NOT NULL, postal us_postal_code NOT NULL);
INSERT INTO us_snail (city, postal) VALUES ('Reno', '89501'), ('Reno', '89501-1234');
INSERT INTO us_snail (city, postal) VALUES ('Reno', '8950');
DROP DOMAIN us_postal_code;
SELECT * FROM us_snail ORDER BY id;

-- Identity columns
CREATE TABLE ident (id int GENERATED ALWAYS AS IDENTITY, other int GENERATED BY DEFAULT AS IDENTITY (START WITH 10 INCREMENT BY 5), t text);
INSERT INTO ident (t) VALUES ('a'), ('b');
INSERT INTO ident VALUES (5, 5, 'c');
INSERT INTO ident OVERRIDING SYSTEM VALUE VALUES (5, 5, 'c');
INSERT INTO ident (other, t) OVERRIDING USER VALUE VALUES (77, 'd');
SELECT * FROM ident ORDER BY t;
ALTER TABLE ident ALTER COLUMN id RESTART WITH 100;
INSERT INTO ident (t) VALUES ('e') RETURNING id, other;
