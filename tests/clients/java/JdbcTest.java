// JDBC: metadata, statements, batches, fetch size, CopyManager, errors, cancelling. Run with pgjdbc on the class path.
import java.io.ByteArrayInputStream;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Array;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.copy.CopyManager;

public class JdbcTest {
    static final String ADDRESS =
        "jdbc:postgresql://127.0.0.1:" + System.getenv("LONGSHORE_PORT") + "/longshore?user=longshore&currentSchema=java";

    interface Test {
        void run(Connection connection) throws Exception;
    }

    interface Failing {
        void run() throws SQLException;
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(ADDRESS)) {
            run(connection, "DROP SCHEMA IF EXISTS java CASCADE");
            run(connection, "CREATE SCHEMA java");
        }
        test("values of every type", JdbcTest::values);
        test("prepared statements beyond the threshold", JdbcTest::prepared);
        test("batches", JdbcTest::batches);
        test("fetch size", JdbcTest::fetchSize);
        test("CopyManager", JdbcTest::copy);
        test("errors", JdbcTest::errors);
        test("transactions", JdbcTest::transactions);
        test("metadata", JdbcTest::metadata);
        test("generated keys", JdbcTest::generatedKeys);
        test("updatable result sets", JdbcTest::updatable);
        test("cancelling", JdbcTest::cancelling);
        test("notifications", JdbcTest::notifications);
    }

    static void test(String name, Test test) throws Exception {
        try (Connection connection = DriverManager.getConnection(ADDRESS)) {
            test.run(connection);
        }
        try (Connection connection = DriverManager.getConnection(ADDRESS + "&preferQueryMode=simple")) {
            test.run(connection);
        }
        System.out.println("passed: " + name);
    }

    static void run(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    static void equal(Object expected, Object found, String what) {
        if (!Objects.deepEquals(expected, found)) {
            throw new AssertionError(what + ": expected " + expected + ", found " + found);
        }
    }

    static SQLException fails(String state, Failing failing) {
        try {
            failing.run();
        } catch (SQLException error) {
            equal(state, error.getSQLState(), error.getMessage());
            return error;
        }
        throw new AssertionError("no error " + state);
    }

    static void values(Connection connection) throws SQLException {
        Object[][] values = {
            {"bool", true},
            {"int4", 1 << 30},
            {"int8", 1L << 60},
            {"float4", 1.5f},
            {"float8", 0.1},
            {"numeric(30,2)", new BigDecimal("12345678901234567890.10")},
            {"text", "naïve 'quoted'"},
            {"varchar(5)", "abc"},
            {"bytea", new byte[] {0, -1, 92}},
            {"date", LocalDate.of(1969, 2, 28)},
            {"timestamp", LocalDateTime.of(2026, 11, 26, 10, 0, 0, 123456000)},
            {"timestamptz", OffsetDateTime.of(2026, 11, 26, 10, 0, 0, 123456000, ZoneOffset.UTC)},
            {"uuid", UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")},
        };
        for (Object[] value : values) {
            String type = (String) value[0];
            run(connection, "DROP TABLE IF EXISTS one");
            run(connection, "CREATE TABLE one (id int, v " + type + ")");
            for (int round = 0; round < 8; round++) {
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO one VALUES (?, ?)")) {
                    insert.setInt(1, round);
                    insert.setObject(2, value[1]);
                    equal(1, insert.executeUpdate(), type);
                }
            }
            run(connection, "INSERT INTO one VALUES (100, NULL)");
            // From the fifth time on the driver prepares it, and asks for binary values.
            try (PreparedStatement select = connection.prepareStatement("SELECT v FROM one ORDER BY id")) {
                for (int round = 0; round < 8; round++) {
                    try (ResultSet rows = select.executeQuery()) {
                        for (int row = 0; row < 8; row++) {
                            rows.next();
                            Object found = type.equals("bytea") ? rows.getBytes(1) : rows.getObject(1, value[1].getClass());
                            equal(value[1], found, type);
                        }
                        rows.next();
                        equal(null, rows.getObject(1), type);
                        equal(true, rows.wasNull(), type);
                    }
                }
            }
        }
        run(connection, "DROP TABLE IF EXISTS lists");
        run(connection, "CREATE TABLE lists (n int[], t text[])");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO lists VALUES (?, ?)")) {
            insert.setArray(1, connection.createArrayOf("int4", new Integer[] {1, null, 3}));
            insert.setArray(2, connection.createArrayOf("text", new String[] {"a,b", "\"", null, ""}));
            insert.executeUpdate();
        }
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT * FROM lists")) {
            rows.next();
            Array numbers = rows.getArray(1);
            equal(new Integer[] {1, null, 3}, numbers.getArray(), "int4[]");
            equal(new String[] {"a,b", "\"", null, ""}, rows.getArray(2).getArray(), "text[]");
        }
    }

    static void prepared(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS keyed");
        run(connection, "CREATE TABLE keyed (id int PRIMARY KEY, note text)");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO keyed VALUES (?, ?)");
                PreparedStatement select = connection.prepareStatement("SELECT note FROM keyed WHERE id = ?")) {
            for (int id = 0; id < 50; id++) {
                insert.setInt(1, id);
                insert.setString(2, "note " + id);
                equal(1, insert.executeUpdate(), "insert");
                select.setInt(1, id);
                try (ResultSet rows = select.executeQuery()) {
                    equal(true, rows.next(), "row " + id);
                    equal("note " + id, rows.getString(1), "row " + id);
                }
            }
            ResultSetMetaData columns = select.getMetaData();
            equal("note", columns.getColumnName(1), "name");
            equal(Types.VARCHAR, columns.getColumnType(1), "type");
            equal(Types.INTEGER, select.getParameterMetaData().getParameterType(1), "parameter");
        }
    }

    static void batches(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS batched");
        run(connection, "CREATE TABLE batched (id int PRIMARY KEY, note text)");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO batched VALUES (?, ?)")) {
            for (int id = 0; id < 1000; id++) {
                insert.setInt(1, id);
                insert.setString(2, "note " + id);
                insert.addBatch();
            }
            equal(1000, insert.executeBatch().length, "batch");
            insert.setInt(1, 2000);
            insert.setString(2, "new");
            insert.addBatch();
            insert.setInt(1, 7);
            insert.setString(2, "there already");
            insert.addBatch();
            connection.setAutoCommit(false);
            SQLException error = fails("23505", insert::executeBatch);
            equal(true, error instanceof BatchUpdateException, "kind of error");
            connection.rollback();
            connection.setAutoCommit(true);
        }
        equal(1000L, number(connection, "SELECT count(*) FROM batched"), "rows");
    }

    static long number(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        }
    }

    static void fetchSize(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(100);
            try (ResultSet rows = statement.executeQuery("SELECT n FROM generate_series(1, 1050) AS n")) {
                long sum = 0;
                while (rows.next()) {
                    sum += rows.getLong(1);
                }
                equal(1050L * 1051 / 2, sum, "sum");
            }
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    static void copy(Connection connection) throws Exception {
        run(connection, "DROP TABLE IF EXISTS copied");
        run(connection, "CREATE TABLE copied (id int, note text)");
        StringBuilder lines = new StringBuilder();
        for (int id = 0; id < 5000; id++) {
            lines.append(id).append(",\"note, ").append(id).append("\"\n");
        }
        CopyManager copies = connection.unwrap(PGConnection.class).getCopyAPI();
        byte[] text = lines.toString().getBytes(StandardCharsets.UTF_8);
        equal(5000L, copies.copyIn("COPY copied FROM STDIN (FORMAT csv)", new ByteArrayInputStream(text)), "rows in");
        StringWriter out = new StringWriter();
        equal(5000L, copies.copyOut("COPY (SELECT * FROM copied ORDER BY id) TO STDOUT (FORMAT csv)", out), "rows out");
        equal(lines.toString(), out.toString(), "text");
        byte[] bad = "1,a\nx,b\n".getBytes(StandardCharsets.UTF_8);
        try {
            copies.copyIn("COPY copied FROM STDIN (FORMAT csv)", new ByteArrayInputStream(bad));
            throw new AssertionError("a bad line was loaded");
        } catch (SQLException error) {
            equal(true, error.getMessage().contains("line 2"), error.getMessage());
        }
        equal(5000L, number(connection, "SELECT count(*) FROM copied"), "rows");
    }

    static void errors(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS checked");
        run(connection, "CREATE TABLE checked (id int PRIMARY KEY, n int NOT NULL CHECK (n < 10))");
        run(connection, "INSERT INTO checked VALUES (1, 1)");
        fails("23505", () -> run(connection, "INSERT INTO checked VALUES (1, 1)"));
        fails("23502", () -> run(connection, "INSERT INTO checked VALUES (2, NULL)"));
        fails("23514", () -> run(connection, "INSERT INTO checked VALUES (2, 10)"));
        fails("42P01", () -> run(connection, "SELECT * FROM missing"));
        fails("42601", () -> run(connection, "SELEC"));
    }

    static void transactions(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS kept");
        run(connection, "CREATE TABLE kept (id int)");
        for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
                Connection.TRANSACTION_SERIALIZABLE}) {
            connection.setTransactionIsolation(level);
            equal(level, connection.getTransactionIsolation(), "isolation");
            connection.setAutoCommit(false);
            run(connection, "INSERT INTO kept VALUES (" + level + ")");
            Savepoint savepoint = connection.setSavepoint("one");
            run(connection, "INSERT INTO kept VALUES (-1)");
            fails("22P02", () -> run(connection, "INSERT INTO kept VALUES ('x')"));
            connection.rollback(savepoint);
            connection.commit();
            connection.setAutoCommit(true);
        }
        equal(3L, number(connection, "SELECT count(*) FROM kept"), "rows");
        connection.setReadOnly(true);
        connection.setAutoCommit(false);
        fails("25006", () -> run(connection, "INSERT INTO kept VALUES (1)"));
        connection.rollback();
        connection.setAutoCommit(true);
        connection.setReadOnly(false);
    }

    static List<String> column(ResultSet rows, String name) throws SQLException {
        List<String> values = new ArrayList<>();
        while (rows.next()) {
            values.add(rows.getString(name));
        }
        rows.close();
        return values;
    }

    static void metadata(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS child CASCADE");
        run(connection, "DROP TABLE IF EXISTS parent CASCADE");
        run(connection, "CREATE TABLE parent (a int, b varchar(10), PRIMARY KEY (a, b))");
        run(connection, "CREATE TABLE child (id serial PRIMARY KEY, a int, b varchar(10), price numeric(10,2) DEFAULT 1,"
            + " at timestamptz NOT NULL, CONSTRAINT of_parent FOREIGN KEY (a, b) REFERENCES parent ON DELETE CASCADE)");
        run(connection, "CREATE UNIQUE INDEX child_price ON child (price, at)");
        run(connection, "CREATE VIEW seen AS SELECT id, price FROM child");
        run(connection, "COMMENT ON COLUMN child.price IS 'in euros'");
        DatabaseMetaData data = connection.getMetaData();
        equal("PostgreSQL", data.getDatabaseProductName(), "product");
        equal(Arrays.asList("child", "parent"), column(data.getTables(null, "java", "%", new String[] {"TABLE"}), "TABLE_NAME")
            .stream().filter(name -> name.equals("child") || name.equals("parent")).toList(), "tables");
        equal(Arrays.asList("seen"), column(data.getTables(null, "java", null, new String[] {"VIEW"}), "TABLE_NAME"), "views");
        equal(Arrays.asList("id", "a", "b", "price", "at"), column(data.getColumns(null, "java", "child", null), "COLUMN_NAME"),
            "columns");
        try (ResultSet rows = data.getColumns(null, "java", "child", "price")) {
            rows.next();
            equal(Types.NUMERIC, rows.getInt("DATA_TYPE"), "type");
            equal(10, rows.getInt("COLUMN_SIZE"), "size");
            equal(2, rows.getInt("DECIMAL_DIGITS"), "digits");
            equal("YES", rows.getString("IS_NULLABLE"), "nullable");
            equal("in euros", rows.getString("REMARKS"), "remarks");
            equal("1", rows.getString("COLUMN_DEF"), "default");
        }
        try (ResultSet rows = data.getColumns(null, "java", "child", "id")) {
            rows.next();
            equal("YES", rows.getString("IS_AUTOINCREMENT"), "serial");
        }
        equal(Arrays.asList("a", "b"), column(data.getPrimaryKeys(null, "java", "parent"), "COLUMN_NAME"), "primary key");
        try (ResultSet rows = data.getImportedKeys(null, "java", "child")) {
            rows.next();
            equal("parent", rows.getString("PKTABLE_NAME"), "imported key");
            equal("a", rows.getString("FKCOLUMN_NAME"), "imported key");
            equal("of_parent", rows.getString("FK_NAME"), "imported key");
            equal(DatabaseMetaData.importedKeyCascade, rows.getInt("DELETE_RULE"), "rule");
        }
        equal(2, column(data.getExportedKeys(null, "java", "parent"), "FKTABLE_NAME").size(), "exported keys");
        equal(true, column(data.getIndexInfo(null, "java", "child", true, false), "INDEX_NAME").contains("child_price"), "index");
        equal(true, column(data.getSchemas(), "TABLE_SCHEM").contains("java"), "schemas");
        equal(true, column(data.getTypeInfo(), "TYPE_NAME").contains("timestamptz"), "types");
        column(data.getTablePrivileges(null, "java", "child"), "GRANTEE");
        column(data.getColumnPrivileges(null, "java", "child", null), "GRANTEE");
        column(data.getFunctions(null, null, "upper"), "FUNCTION_NAME");
        column(data.getProcedures(null, null, "%"), "PROCEDURE_NAME");
        column(data.getBestRowIdentifier(null, "java", "parent", DatabaseMetaData.bestRowSession, false), "COLUMN_NAME");
        column(data.getCatalogs(), "TABLE_CAT");
        column(data.getTableTypes(), "TABLE_TYPE");
    }

    static void generatedKeys(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS made");
        run(connection, "CREATE TABLE made (id serial PRIMARY KEY, note text)");
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO made (note) VALUES (?)", Statement.RETURN_GENERATED_KEYS)) {
            insert.setString(1, "a");
            insert.executeUpdate();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                keys.next();
                equal(1, keys.getInt("id"), "key");
            }
        }
    }

    static void updatable(Connection connection) throws SQLException {
        run(connection, "DROP TABLE IF EXISTS edited");
        run(connection, "CREATE TABLE edited (id int PRIMARY KEY, note text)");
        run(connection, "INSERT INTO edited VALUES (1, 'a'), (2, 'b')");
        try (Statement statement =
                    connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE);
                ResultSet rows = statement.executeQuery("SELECT id, note FROM edited ORDER BY id")) {
            rows.next();
            rows.updateString("note", "changed");
            rows.updateRow();
            rows.next();
            rows.deleteRow();
        }
        equal(1L, number(connection, "SELECT count(*) FROM edited WHERE note = 'changed'"), "changed");
        equal(1L, number(connection, "SELECT count(*) FROM edited"), "left");
    }

    static void cancelling(Connection connection) throws SQLException {
        String endless = "SELECT count(*) FROM generate_series(1, 100000000000)";
        try (Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            fails("57014", () -> statement.execute(endless));
            statement.setQueryTimeout(0);
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    statement.cancel();
                } catch (InterruptedException | SQLException error) {
                    throw new AssertionError(error);
                }
            });
            canceller.start();
            fails("57014", () -> statement.execute(endless));
            statement.execute("SELECT 1");
        }
    }

    static void notifications(Connection connection) throws SQLException {
        run(connection, "LISTEN jobs");
        try (Connection says = DriverManager.getConnection(ADDRESS)) {
            run(says, "NOTIFY jobs, 'from java'");
        }
        PGNotification[] told = connection.unwrap(PGConnection.class).getNotifications(10_000);
        equal(1, told.length, "one notification");
        equal("jobs from java", told[0].getName() + " " + told[0].getParameter(), "what was told");
        run(connection, "UNLISTEN jobs");
    }
}
