"""The real server: slow, silent and greedy connections, proxies, and what reaches its log."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest
import uvicorn

from medassay.human.web import guard
from medassay.human.web.app import create_app, serve, without_traceback
from medassay.human.web.connections import TimedProtocol


@pytest.fixture
def served(make_study, monkeypatch):
    """A server in a thread, with short deadlines; gives the application and the port."""
    monkeypatch.setattr(TimedProtocol, "request_seconds", 0.4)
    monkeypatch.setattr(TimedProtocol, "max_per_peer", 5)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.4)
    app = create_app(make_study(training=False))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(app, host="127.0.0.1", port=port, http=TimedProtocol, ws="none", log_level="warning")
    config.proxy_headers = False
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    for _ in range(200):
        if server.started:
            break
        time.sleep(0.05)
    yield app, port
    server.should_exit = True
    thread.join(10)
    app.state.context.store.close()


def closed_after(connection: socket.socket, seconds: float) -> bool:
    """Whether the other side closes within that time."""
    connection.settimeout(seconds)
    try:
        while connection.recv(4096):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_silent_connection_and_one_that_dribbles_are_closed(served):
    _, port = served
    silent = socket.create_connection(("127.0.0.1", port))
    dribbling = socket.create_connection(("127.0.0.1", port))
    began = time.monotonic()
    gone = False
    for byte in b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n":
        try:
            dribbling.send(bytes([byte]))
        except OSError:
            gone = True
            break
        time.sleep(0.05)
    assert gone or closed_after(dribbling, 2), "bytes now and then do not set the clock back"
    assert closed_after(silent, 2) and time.monotonic() - began < 5


def test_a_body_that_never_ends_is_refused(served):
    app, port = served
    task = app.state.context.store.tasks("anna")[0].id
    connection = socket.create_connection(("127.0.0.1", port))
    head = f"POST /api/tasks/{task}/changes HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 500\r\n\r\n"
    connection.sendall(head.encode() + b"{")
    connection.settimeout(5)
    reply = connection.recv(4096)
    assert b" 408 " in reply.split(b"\r\n")[0]
    connection.close()


def test_one_address_holds_so_many_connections_and_no_more(served):
    _, port = served
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(5)]
    time.sleep(0.1)
    refused = socket.create_connection(("127.0.0.1", port))
    assert closed_after(refused, 0.2)
    for connection in held:
        connection.close()
    time.sleep(0.2)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
        assert reply.read() == b"ok"
    assert TimedProtocol.peers.total() <= 1


def test_an_idle_page_may_ask_again_on_its_connection(served):
    _, port = served
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(5)
    for _ in range(2):
        connection.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        reply = b""
        while not reply.endswith(b"\r\n\r\nok"):
            part = connection.recv(4096)
            assert part, "the connection was closed"
            reply += part
        time.sleep(0.8)  # longer than a request's head may take: between requests the clock stands still
    connection.close()


def test_a_forwarded_address_is_not_believed(served):
    _, port = served

    def guess(number: int) -> int:
        url = f"http://127.0.0.1:{port}/enter/{'x' * 40}{number:03d}"
        request = urllib.request.Request(url, headers={"x-forwarded-for": f"192.0.2.{number}"})
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    statuses = [guess(number) for number in range(12)]
    assert statuses[:10] == [401] * 10 and statuses[10:] == [429] * 2, "one address, whatever it says"


def test_a_proxy_is_believed_only_where_it_is_named(make_study, monkeypatch):
    asked = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: asked.append(options))
    app = create_app(make_study())
    for proxy in (None, "10.0.0.7"):
        serve(app, "127.0.0.1", 8765, proxy)
    assert [(one["proxy_headers"], one["forwarded_allow_ips"]) for one in asked] == [(False, None), (True, "10.0.0.7")]
    assert not any(one["access_log"] for one in asked)
    assert TimedProtocol.unlimited == {"10.0.0.7"}
    monkeypatch.setattr(TimedProtocol, "unlimited", frozenset())


def test_the_health_page_misses_the_database(served):
    app, port = served
    app.state.context.store.database.path.unlink()
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5)
    assert caught.value.code == 503


def test_a_broken_route_leaves_no_text_in_any_log(served, caplog, monkeypatch, capfd):
    app, port = served
    words = "Mrs Example, born 1 May"

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(app.state.context.access, "enter", broken)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/enter/{'x' * 43}", timeout=5)
    assert caught.value.code == 500 and words not in caught.value.read().decode()
    assert any("RuntimeError" in record.getMessage() for record in caplog.records)
    for record in caplog.records:
        assert record.exc_info is None and "Example" not in record.getMessage() and "xxx" not in record.getMessage()
    shown = capfd.readouterr()
    assert "Example" not in shown.out + shown.err


def test_the_servers_own_log_tells_the_kind_of_an_error_only():
    record = logging.LogRecord("uvicorn.error", logging.ERROR, "x", 1, "Exception in ASGI application\n", (), None)
    try:
        raise ValueError("Mrs Example")
    except ValueError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    assert without_traceback(record)
    assert logging.Formatter().format(record) == "Exception in ASGI application: ValueError"
