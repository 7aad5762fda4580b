// pgx: statements, types in binary, batches, COPY, errors, cancelling, pools.
package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

func dsn() string {
	return fmt.Sprintf("postgres://longshore@127.0.0.1:%s/longshore?search_path=go", os.Getenv("LONGSHORE_PORT"))
}

var always = context.Background()

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(always, dsn())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close(always) })
	return connection
}

func run(t *testing.T, connection *pgx.Conn, sql string, arguments ...any) pgconn.CommandTag {
	t.Helper()
	tag, err := connection.Exec(always, sql, arguments...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tag
}

func code(err error) string {
	var told *pgconn.PgError
	if errors.As(err, &told) {
		return told.Code
	}
	return fmt.Sprint(err)
}

func TestMain(m *testing.M) {
	connection, err := pgx.Connect(always, dsn())
	if err == nil {
		_, err = connection.Exec(always, "DROP SCHEMA IF EXISTS go CASCADE; CREATE SCHEMA go")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	connection.Close(always)
	os.Exit(status)
}

func TestValuesOfEveryTypeAreReadBack(t *testing.T) {
	connection := connect(t)
	moment := time.Date(2026, 11, 26, 10, 0, 0, 123456000, time.UTC)
	for at, value := range []struct {
		sqlType string
		value   any
	}{
		{"bool", true},
		{"int2", int16(-7)},
		{"int4", int32(1 << 30)},
		{"int8", int64(1 << 60)},
		{"float4", float32(1.5)},
		{"float8", 0.1},
		{"text", "naïve 'quoted'"},
		{"varchar(5)", "abc"},
		{"bytea", []byte{0, 255, 92}},
		{"date", time.Date(1969, 2, 28, 0, 0, 0, 0, time.UTC)},
		{"timestamp", moment},
		{"timestamptz", moment},
		{"uuid", [16]byte{0xa0, 1, 2, 3}},
		{"int4[]", []int32{1, 2, 3}},
		{"int8[]", []int64{1, -2}},
		{"text[]", []string{"a,b", "\"", ""}},
		{"jsonb", map[string]any{"a": []any{1.0, nil, "x"}}},
	} {
		t.Run(value.sqlType, func(t *testing.T) {
			// A table each: pgx keeps statements by their text.
			one := fmt.Sprint("one", at)
			run(t, connection, "CREATE TABLE "+one+" (v "+value.sqlType+")")
			run(t, connection, "INSERT INTO "+one+" VALUES ($1), (NULL)", value.value)
			found := reflect.New(reflect.TypeOf(value.value))
			if err := connection.QueryRow(always, "SELECT v FROM "+one+" WHERE v IS NOT NULL").Scan(found.Interface()); err != nil {
				t.Fatal(err)
			}
			got := found.Elem().Interface()
			if at, is := got.(time.Time); is {
				got = at.UTC()
			}
			if !reflect.DeepEqual(got, value.value) {
				t.Fatalf("%v is no %v", got, value.value)
			}
			var null any
			if err := connection.QueryRow(always, "SELECT v FROM "+one+" WHERE v IS NULL").Scan(&null); err != nil || null != nil {
				t.Fatalf("%v, %v", null, err)
			}
		})
	}
}

func TestEveryWayToRunAStatement(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			connection := connect(t)
			run(t, connection, "DROP TABLE IF EXISTS ways")
			run(t, connection, "CREATE TABLE ways (id int PRIMARY KEY, note text)")
			for id := 0; id < 10; id++ {
				tag := run(t, connection, "INSERT INTO ways VALUES ($1, $2)", mode, id, fmt.Sprint("note ", id))
				if tag.String() != "INSERT 0 1" {
					t.Fatal(tag)
				}
			}
			rows, err := connection.Query(always, "SELECT id, note FROM ways WHERE id >= $1 ORDER BY id", mode, 7)
			if err != nil {
				t.Fatal(err)
			}
			type way struct {
				ID   int32
				Note string
			}
			ways, err := pgx.CollectRows(rows, pgx.RowToStructByPos[way])
			if err != nil || !reflect.DeepEqual(ways, []way{{7, "note 7"}, {8, "note 8"}, {9, "note 9"}}) {
				t.Fatalf("%v, %v", ways, err)
			}
		})
	}
}

func TestBatchesArePipelines(t *testing.T) {
	connection := connect(t)
	run(t, connection, "CREATE TABLE batched (id int PRIMARY KEY)")
	batch := &pgx.Batch{}
	for id := 0; id < 100; id++ {
		batch.Queue("INSERT INTO batched VALUES ($1)", id)
	}
	batch.Queue("SELECT count(*) FROM batched").QueryRow(func(row pgx.Row) error {
		var count int
		if err := row.Scan(&count); err != nil || count != 100 {
			return fmt.Errorf("%d rows: %v", count, err)
		}
		return nil
	})
	if err := connection.SendBatch(always, batch).Close(); err != nil {
		t.Fatal(err)
	}
	// One that fails undoes all of its batch.
	batch = &pgx.Batch{}
	batch.Queue("INSERT INTO batched VALUES (1000)")
	batch.Queue("INSERT INTO batched VALUES (1)")
	if err := connection.SendBatch(always, batch).Close(); code(err) != "23505" {
		t.Fatal(err)
	}
	var count int
	if err := connection.QueryRow(always, "SELECT count(*) FROM batched").Scan(&count); err != nil || count != 100 {
		t.Fatalf("%d, %v", count, err)
	}
}

func TestCopyFrom(t *testing.T) {
	connection := connect(t)
	run(t, connection, "CREATE TABLE copied (id int8, note text, at timestamptz, price numeric(10, 2))")
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const rows = 20_000
	source := pgx.CopyFromSlice(rows, func(row int) ([]any, error) {
		return []any{int64(row), fmt.Sprint("note ", row), at, "12.50"}, nil
	})
	columns := []string{"id", "note", "at", "price"}
	copied, err := connection.CopyFrom(always, pgx.Identifier{"copied"}, columns, source)
	if err != nil || copied != rows {
		t.Fatalf("%d, %v", copied, err)
	}
	var count, sum int64
	var price string
	row := connection.QueryRow(always, "SELECT count(*), sum(id)::int8, sum(price)::text FROM copied WHERE at = $1", at)
	if err := row.Scan(&count, &sum, &price); err != nil || count != rows || sum != rows*(rows-1)/2 || price != "250000.00" {
		t.Fatalf("%d %d %s %v", count, sum, price, err)
	}
}

func TestErrorsAndTransactions(t *testing.T) {
	connection := connect(t)
	run(t, connection, "CREATE TABLE checked (id int PRIMARY KEY, n int NOT NULL CHECK (n < 10))")
	for sql, expected := range map[string]string{
		"INSERT INTO checked VALUES (1, NULL)": "23502",
		"INSERT INTO checked VALUES (1, 10)":   "23514",
		"SELECT * FROM missing":                "42P01",
		"SELEC":                                "42601",
	} {
		if _, err := connection.Exec(always, sql); code(err) != expected {
			t.Errorf("%s: %v", sql, err)
		}
	}
	failed := errors.New("on purpose")
	err := pgx.BeginFunc(always, connection, func(outer pgx.Tx) error {
		if _, err := outer.Exec(always, "INSERT INTO checked VALUES (1, 1)"); err != nil {
			return err
		}
		inner := pgx.BeginFunc(always, outer, func(inner pgx.Tx) error {
			if _, err := inner.Exec(always, "INSERT INTO checked VALUES (2, 2)"); err != nil {
				return err
			}
			return failed
		})
		if inner != failed {
			return fmt.Errorf("the savepoint: %w", inner)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var count int
	if err := connection.QueryRow(always, "SELECT count(*) FROM checked").Scan(&count); err != nil || count != 1 {
		t.Fatalf("%d, %v", count, err)
	}
}

func TestAStatementIsCancelled(t *testing.T) {
	config, err := pgx.ParseConfig(dsn())
	if err != nil {
		t.Fatal(err)
	}
	config.BuildContextWatcherHandler = func(connection *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: connection, CancelRequestDelay: 0, DeadlineDelay: 20 * time.Second}
	}
	connection, err := pgx.ConnectConfig(always, config)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close(always)
	soon, stop := context.WithTimeout(always, 200*time.Millisecond)
	defer stop()
	_, err = connection.Exec(soon, "SELECT count(*) FROM generate_series(1, 100000000000)")
	if code(err) != "57014" {
		t.Fatal(err)
	}
	run(t, connection, "SELECT 1")
}

func TestAPoolsConnectionsWorkSideBySide(t *testing.T) {
	connection := connect(t)
	run(t, connection, "CREATE TABLE counted (id int PRIMARY KEY, n int)")
	run(t, connection, "INSERT INTO counted VALUES (1, 0)")
	pool, err := pgxpool.New(always, dsn()+"&pool_max_conns=8&default_transaction_isolation=read%20committed")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	failures := make(chan error)
	for worker := 0; worker < 8; worker++ {
		go func() {
			for add := 0; add < 25; add++ {
				if _, err := pool.Exec(always, "UPDATE counted SET n = n + 1 WHERE id = $1", 1); err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	for worker := 0; worker < 8; worker++ {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	var n int
	if err := connection.QueryRow(always, "SELECT n FROM counted").Scan(&n); err != nil || n != 200 {
		t.Fatalf("%d, %v", n, err)
	}
}

func TestNotifications(t *testing.T) {
	hears, says := connect(t), connect(t)
	run(t, hears, "LISTEN jobs")
	run(t, says, "NOTIFY jobs, 'from go'")
	soon, stop := context.WithTimeout(always, 10*time.Second)
	defer stop()
	told, err := hears.WaitForNotification(soon)
	if err != nil {
		t.Fatal(err)
	}
	if told.Channel != "jobs" || told.Payload != "from go" || told.PID != says.PgConn().PID() {
		t.Fatal(told)
	}
}
