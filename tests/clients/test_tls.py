"""TLS by psycopg and psql: certificates of the server and of clients, channel binding, TLS from the first byte, cancellation."""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import psycopg
import pytest
from psycopg import errors

BINARY = os.environ["LONGSHORE"]
PASSWORD = "right"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


def _openssl(directory, *arguments):
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def _sign(directory, name, common_name, extensions):
    (directory / f"{name}.ext").write_text(extensions)
    _openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={common_name}", "-keyout", f"{name}.key",
             "-out", f"{name}.csr")
    _openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
             "-days", "30", "-extfile", f"{name}.ext", "-out", f"{name}.crt")
    (directory / f"{name}.key").chmod(0o600)


def _serve(directory, *options):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shop = directory / "shop"
    subprocess.run([BINARY, shop, "-c", f"ALTER ROLE longshore PASSWORD '{PASSWORD}'"], check=True)
    process = subprocess.Popen([BINARY, "serve", shop, "--listen", f"127.0.0.1:{port}", *options])
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.1)
    return process, port


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("self_signed")
    process, port = _serve(directory, "--tls-self-signed", "--require-tls")
    yield f"host=localhost port={port} user=longshore dbname=longshore", directory / "shop" / "server.crt"
    process.terminate()
    assert process.wait(timeout=60) == 0


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    directory = tmp_path_factory.mktemp("signed")
    _openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=authority", "-days", "30", "-keyout",
             "ca.key", "-out", "ca.crt")
    _sign(directory, "server", "server", "subjectAltName=DNS:localhost\n")
    _sign(directory, "client", "longshore", "extendedKeyUsage=clientAuth\n")
    process, port = _serve(directory, "--tls-cert", directory / "server.crt", "--tls-key", directory / "server.key",
                           "--tls-client-ca", directory / "ca.crt")
    yield f"host=localhost port={port} user=longshore dbname=longshore sslrootcert={directory}/ca.crt", directory, process
    process.terminate()
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("binding", ["require", "prefer", "disable"])
def test_passwords_are_bound_to_the_certificate(self_signed, binding):
    dsn, certificate = self_signed
    options = f"sslmode=verify-full sslrootcert={certificate} channel_binding={binding}"
    with psycopg.connect(f"{dsn} {options}", password=PASSWORD) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("longshore",)
        assert connection.pgconn.ssl_in_use


def test_a_connection_without_tls_is_refused(self_signed):
    dsn, _ = self_signed
    with pytest.raises(psycopg.OperationalError, match="connections without TLS are refused.*no encryption"):
        psycopg.connect(f"{dsn} sslmode=disable", password=PASSWORD)
    # One that would rather have none comes back with it.
    with psycopg.connect(f"{dsn} sslmode=allow", password=PASSWORD) as connection:
        assert connection.pgconn.ssl_in_use


def test_tls_from_the_first_byte(self_signed):
    dsn, _ = self_signed
    if psycopg.pq.version() < 170000:
        pytest.skip("libpq cannot yet")
    with psycopg.connect(f"{dsn} sslmode=require sslnegotiation=direct", password=PASSWORD) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_statements_are_cancelled(self_signed):
    dsn, _ = self_signed
    with psycopg.connect(f"{dsn} sslmode=require", password=PASSWORD) as connection:
        threading.Timer(0.5, connection.cancel_safe).start()
        with pytest.raises(errors.QueryCanceled):
            connection.execute("SELECT count(*) FROM generate_series(1, 1000000) a(i), generate_series(1, 1000000) b(j)"
                               " WHERE i + j = 3")


def test_rows_and_copy_over_tls(self_signed):
    dsn, _ = self_signed
    with psycopg.connect(f"{dsn} sslmode=require", password=PASSWORD) as connection:
        connection.execute("CREATE TEMP TABLE t (k int, v text)")
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            for key in range(100_000):
                copy.write_row((key, "x" * (key % 50)))
        assert connection.execute("SELECT count(*), sum(length(v)) FROM t").fetchone() == (100_000, 2_450_000)
        assert len(connection.execute("SELECT * FROM t").fetchall()) == 100_000
        with connection.cursor().copy("COPY t TO STDOUT") as copy:
            assert sum(1 for _ in copy.rows()) == 100_000


def test_a_certificate_signs_in(signed):
    dsn, directory, _ = signed
    options = f"sslmode=verify-full sslcert={directory}/client.crt sslkey={directory}/client.key"
    with psycopg.connect(f"{dsn} {options}") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("longshore",)
    # Without one, and for another role, it takes the password.
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(f"{dsn} sslmode=verify-full sslcert= sslkey=")
    with psycopg.connect(f"{dsn} sslmode=verify-full channel_binding=require", password=PASSWORD) as connection:
        connection.execute("DROP ROLE IF EXISTS other")
        connection.execute("CREATE ROLE other LOGIN PASSWORD 'other'")
    other = dsn.replace("user=longshore", "user=other")
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(f"{other} {options}")
    with psycopg.connect(f"{other} {options}", password="other") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("other",)


@pytest.mark.skipif(shutil.which("psql") is None, reason="there is no psql")
def test_psql(self_signed):
    dsn, certificate = self_signed
    conninfo = f"{dsn} sslmode=verify-full sslrootcert={certificate} channel_binding=require password={PASSWORD}"
    run = subprocess.run(["psql", "-X", "-At", conninfo, "-c", "SELECT 6 * 7", "-c", "\\conninfo"], capture_output=True,
                         text=True)
    assert run.stdout.startswith("42\n") and "TLSv1.3" in run.stdout, run


def test_certificates_are_read_again(signed):
    dsn, directory, process = signed
    _sign(directory, "server", "renewed", "subjectAltName=DNS:elsewhere\n")
    process.send_signal(signal.SIGHUP)
    for _ in range(100):
        try:
            psycopg.connect(f"{dsn} sslmode=verify-full channel_binding=require", password=PASSWORD).close()
        except psycopg.OperationalError as error:
            assert "does not match host name" in str(error)
            return
        time.sleep(0.1)
    pytest.fail("the certificate is the old one")
