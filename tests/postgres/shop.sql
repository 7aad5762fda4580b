-- A schema with an object of every kind that pg_dump writes and Longshore has, and rows for its tables.

CREATE SCHEMA stock;
COMMENT ON SCHEMA stock IS 'What lies in the warehouse';

CREATE SEQUENCE invoice_number AS integer START WITH 1000 INCREMENT BY 10 MINVALUE 1000 MAXVALUE 100000 CYCLE CACHE 5;

CREATE TABLE country (code char(2) PRIMARY KEY, name varchar(60) NOT NULL UNIQUE);

CREATE TABLE customer (
    id serial PRIMARY KEY,
    name varchar(80) NOT NULL,
    email text,
    country char(2) REFERENCES country ON UPDATE CASCADE ON DELETE SET NULL,
    since date DEFAULT '2020-02-29'::date NOT NULL,
    credit decimal(12, 2) DEFAULT 0 NOT NULL CHECK (credit >= 0),
    active boolean DEFAULT true NOT NULL,
    note text DEFAULT 'none'::character varying,
    photo bytea,
    last_login timestamp with time zone,
    changed timestamp without time zone DEFAULT now(),
    wakes time without time zone,
    CONSTRAINT email_has_at CHECK (email LIKE '%@%'),
    CONSTRAINT name_and_country UNIQUE (name, country)
);
COMMENT ON TABLE customer IS 'Who buys; it''s "quoted"';
COMMENT ON COLUMN customer.credit IS E'In euros;\nnever less than nothing';
COMMENT ON CONSTRAINT email_has_at ON customer IS 'Little is checked';
CREATE INDEX customer_lower_name ON customer (lower(name));
CREATE INDEX customer_since ON customer USING btree (since DESC NULLS LAST, id);
CREATE INDEX customer_active ON customer (name varchar_pattern_ops) WHERE active;
CREATE UNIQUE INDEX customer_email ON customer (email) INCLUDE (name);
COMMENT ON INDEX customer_email IS 'One address, one customer';

CREATE TABLE stock.item (
    id bigint GENERATED ALWAYS AS IDENTITY (START WITH 100 INCREMENT BY 5) PRIMARY KEY,
    "Label" text NOT NULL,
    price numeric(10, 2) NOT NULL,
    pieces integer DEFAULT 0 NOT NULL,
    worth numeric(14, 2) GENERATED ALWAYS AS (price * pieces) STORED,
    weight real,
    size double precision,
    rank smallint,
    "select" integer
);
CREATE INDEX ON stock.item ("Label", (price * 2)) WHERE pieces > 0;

CREATE TABLE invoice (
    number integer DEFAULT nextval('invoice_number') PRIMARY KEY,
    customer integer NOT NULL REFERENCES customer DEFERRABLE INITIALLY DEFERRED,
    placed timestamp DEFAULT '2024-01-01 12:00:00' NOT NULL
) WITH (fillfactor = 70);
CREATE UNLOGGED TABLE basket (id smallserial, what text);

CREATE TABLE line (
    invoice integer REFERENCES invoice ON DELETE CASCADE,
    position smallint,
    item bigint NOT NULL REFERENCES stock.item,
    pieces integer NOT NULL,
    PRIMARY KEY (invoice, position)
);
ALTER TABLE line ADD CONSTRAINT some_pieces CHECK (pieces > 0) NOT VALID;

CREATE VIEW big_invoice AS
    SELECT i.number, c.name, sum(l.pieces * s.price) AS total
    FROM invoice i
    JOIN customer c ON c.id = i.customer
    JOIN line l ON l.invoice = i.number
    JOIN stock.item s ON s.id = l.item
    GROUP BY i.number, c.name
    HAVING sum(l.pieces * s.price) > 10;
CREATE VIEW stock.empty AS SELECT "Label", id AS item FROM stock.item WHERE pieces = 0;
CREATE VIEW names (who, kind) AS
    SELECT name, 'customer'::text FROM customer
    UNION ALL
    SELECT "Label", 'item' FROM stock.item;
COMMENT ON VIEW names IS 'Whatever has a name';
COMMENT ON COLUMN names.who IS 'The name';

INSERT INTO country VALUES ('DE', 'Germany'), ('FR', 'France'), ('NL', 'The Netherlands');
INSERT INTO customer (name, email, country, since, credit, active, note, photo, last_login, changed, wakes) VALUES
    ('Ada', 'ada@example.com', 'DE', '1815-12-10', 100.50, true, E'tab\there, line\nthere, back\\slash', '\xdeadbeef',
     '2024-03-10 01:02:03.456789+02', '0001-01-01 00:00:00', '06:30'),
    ('Bob', NULL, NULL, '2020-02-29', 0, false, '', '', NULL, NULL, NULL),
    ('Çelik "Ç"', 'c@x', 'FR', '9999-12-31', 9999999999.99, true, '\N', NULL, '1970-01-01 00:00:00+00',
     '2024-12-31 23:59:59.999999', '23:59:59.999999');
INSERT INTO customer (name) SELECT 'Customer ' || n FROM generate_series(1, 500) n;
INSERT INTO stock.item ("Label", price, pieces, weight, size, rank, "select") VALUES
    ('Anchor', 99.90, 3, 1.5, 0.1, 1, NULL), ('Rope', 0.05, 0, 'NaN', 'Infinity', -1, 7), ('Sail', 1234.56, 1, NULL, -1e300, NULL, 0);
INSERT INTO invoice (customer, placed) SELECT id, timestamp '2024-01-01' + id * interval '1 hour' FROM customer WHERE id <= 50;
INSERT INTO line SELECT number, p, 100 + 5 * (number / 10 % 3), p FROM invoice, generate_series(1, 3) p;
INSERT INTO basket (what) VALUES ('one'), (NULL);
