"""psql and pgbench, where they are installed."""

import shutil
import subprocess

import pytest

from conftest import PORT

CONNECTION = ["-h", "127.0.0.1", "-p", str(PORT), "-U", "longshore"]


def psql(script, *options, check=True):
    command = ["psql", *CONNECTION, "-X", "-A", "-t", *options, "longshore"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=120)
    if check:
        assert done.returncode == 0, done.stderr
    return done


needs_psql = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
needs_pgbench = pytest.mark.skipif(shutil.which("pgbench") is None, reason="pgbench is not installed")


@needs_psql
def test_statements_variables_and_gdesc():
    out = psql("\\set n 3\nSELECT :n + 1, :'n' || 'x';\nSELECT 1::int AS a, 'x'::varchar(5) AS b, 2.5::numeric(5,1) AS c \\gdesc\n").stdout
    assert out.splitlines() == ["4|3x", "a|integer", "b|character varying(5)", "c|numeric(5,1)"]


@needs_psql
def test_copy_of_a_client_s_files(tmp_path):
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text('1,"a\nb"\n2,\n')
    psql(
        f"CREATE TEMP TABLE c (k int, v text);\n\\copy c FROM '{source}' (FORMAT csv)\n\\copy c TO '{target}' (FORMAT csv)\n"
    )
    assert target.read_text() == '1,"a\nb"\n2,\n'
    failed = psql("CREATE TEMP TABLE c (k int);\nCOPY c FROM STDIN;\nx\n\\.\nSELECT 1;\n", check=False)
    assert "ERROR:  22" in psql("\\set VERBOSITY verbose\nCREATE TEMP TABLE c (k int);\nCOPY c FROM STDIN;\nx\n\\.\n", check=False).stderr
    assert failed.stdout == "CREATE TABLE\n1\n" or failed.stdout.endswith("1\n")


@needs_psql
def test_a_failed_block_is_told():
    done = psql("BEGIN;\nSELECT 1 / 0;\nSELECT 1;\nROLLBACK;\nSELECT 2;\n", check=False)
    assert done.stdout.splitlines()[-1] == "2"
    assert "division by zero" in done.stderr


@needs_pgbench
@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_pgbench(mode):
    run = lambda *options: subprocess.run(
        ["pgbench", *CONNECTION, *options, "longshore"], capture_output=True, text=True, timeout=300
    )
    made = run("-i", "-s", "1", "-q")
    assert made.returncode == 0, made.stderr
    reads = run("-n", "-S", "-M", mode, "-c", "4", "-t", "100")
    assert reads.returncode == 0 and "400/400" in reads.stdout, reads.stdout + reads.stderr
    psql("ALTER ROLE longshore SET default_transaction_isolation = 'read committed'")
    try:
        writes = run("-n", "-M", mode, "-c", "4", "-t", "50")
        assert writes.returncode == 0 and "200/200" in writes.stdout, writes.stdout + writes.stderr
    finally:
        psql("ALTER ROLE longshore RESET default_transaction_isolation")
    sums = psql(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), "
        "(SELECT sum(tbalance) FROM pgbench_tellers) = (SELECT sum(bbalance) FROM pgbench_branches)"
    ).stdout
    assert sums.strip() == "t|t"


@needs_psql
def test_notifications_are_shown():
    out = psql("LISTEN jobs;\nNOTIFY jobs, 'done';\n").stdout
    assert 'Asynchronous notification "jobs" with payload "done" received from server process with PID' in out
