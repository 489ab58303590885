#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The tests' own CONNECT client, against a proxy whose every frame a case has in its hand (python3-h2, on
loopback): test_mux.py MUX. What connect_mux says of a proxy is worth as much as connect_mux is."""
import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MUX = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "smoke"))
import machine  # noqa: E402
import tap  # noqa: E402

with contextlib.suppress(ImportError):
    import h2.config
    import h2.connection
    import h2.errors
    import h2.events
    import h2.settings

LOOPBACK = "127.0.0.1"
PATIENCE = 10
WINDOW = 65536
SOCKET = 16384
PIECE = random.Random(1).randbytes(1 << 20)
TARGET = "target.test:99"
OK = [(":status", "200")]


class Proxy:
    """connect_mux with its session, of which this is the other end."""

    def __init__(self, *options, settings=None):
        if "h2.connection" not in sys.modules:
            raise tap.Missing("python3-h2 is not installed")
        self.stack = contextlib.ExitStack()
        self.directory = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.report_file = f"{self.directory}/report.json"
        listener = self.stack.enter_context(socket.create_server((LOOPBACK, 0)))
        listener.settimeout(PATIENCE)
        self.mux = self.stack.enter_context(
            subprocess.Popen(
                [MUX, "--clear", "--proxy", f"{LOOPBACK}:{listener.getsockname()[1]}"]
                + ["--target", TARGET, "--report", self.report_file]
                + ["--window", str(WINDOW), "--buffer", str(SOCKET), *options],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=machine.die_with_parent,
            )
        )
        self.stack.callback(machine.end, self.mux)
        self.sock = self.stack.enter_context(listener.accept()[0])
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(
                client_side=False, validate_inbound_headers=False, header_encoding="utf-8"
            )
        )
        self.h2.local_settings.update(settings or {})
        self.h2.initiate_connection()
        self.flush()
        self.port = int(self.mux.stdout.readline().removeprefix("ready "))
        self.seen = []
        self.content = {}
        self.credit = True  # what comes is acknowledged at once

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    # The client's side.

    def client(self):
        """Its kernel holds little, so that what is not taken is soon felt."""
        made = self.stack.enter_context(socket.socket())
        made.settimeout(PATIENCE)
        for buffer in socket.SO_SNDBUF, socket.SO_RCVBUF:
            made.setsockopt(socket.SOL_SOCKET, buffer, SOCKET)
        made.connect((LOOPBACK, self.port))
        return made

    # The proxy's side.

    def flush(self):
        with contextlib.suppress(OSError):  # it may have gone
            self.sock.sendall(self.h2.data_to_send())

    def take(self, seconds):
        """What has come, for so long as nothing has. Is the connection still there?"""
        self.sock.settimeout(seconds)
        try:
            data = self.sock.recv(1 << 16)
        except TimeoutError:
            return True
        except OSError:
            return False
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                self.content.setdefault(event.stream_id, bytearray()).extend(event.data)
                if self.credit:
                    self.acknowledge(event.stream_id, event.flow_controlled_length)
            self.seen.append(event)
        self.flush()
        return bool(data)

    def acknowledge(self, stream, n):
        with contextlib.suppress(h2.exceptions.StreamClosedError):
            self.h2.acknowledge_received_data(n, stream)
        self.flush()

    def event(self, kind, stream=None):
        """The next one that is so."""
        until = time.monotonic() + PATIENCE
        while True:
            for event in self.seen:
                if isinstance(event, kind) and (stream is None or event.stream_id == stream):
                    self.seen.remove(event)
                    return event
            assert time.monotonic() < until, f"no {kind.__name__} on {stream}"
            assert self.take(0.05), f"the connection has ended without {kind.__name__}"

    def received(self, stream, n):
        until = time.monotonic() + PATIENCE
        while len(self.content.get(stream, b"")) < n:
            assert time.monotonic() < until, f"not {n} bytes on {stream}"
            assert self.take(0.05), f"the connection has ended without {n} bytes"
        return bytes(self.content[stream])

    def connect(self):
        """A client, its stream, and the request's fields; not answered."""
        client = self.client()
        event = self.event(h2.events.RequestReceived)
        return client, event.stream_id, dict(event.headers)

    def tunnel(self):
        client, stream, _ = self.connect()
        self.h2.send_headers(stream, OK)
        self.flush()
        return client, stream

    def push(self, stream, data):
        """So many bytes go before the window is shut, and nothing opens it."""
        gone = 0
        while gone < len(data):
            room = min(self.h2.local_flow_control_window(stream), 16384, len(data) - gone)
            if room == 0 and not self.window_opens(stream):
                break
            self.h2.send_data(stream, data[gone : gone + room])
            self.flush()
            gone += room
        return gone

    def window_opens(self, stream):
        """Within half a second: after that it is taken to be shut."""
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            if self.h2.local_flow_control_window(stream) > 0:
                return True
            assert self.take(0.05)
        return False

    # The end.

    def ended(self, number=signal.SIGTERM, status=0):
        """The report."""
        if number:
            self.mux.send_signal(number)
        self.mux.wait(PATIENCE)
        assert self.mux.returncode == status, (self.mux.returncode, self.mux.stderr.read())
        with open(self.report_file, encoding="ascii") as file:
            return json.load(file)


def read_all(sock, n=None):
    parts = bytearray()
    while n is None or len(parts) < n:
        part = sock.recv(1 << 16)
        if not part:
            break
        parts += part
    return bytes(parts)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def is_reset(sock):
    try:
        while sock.recv(1 << 16):
            pass
    except ConnectionResetError:
        return True
    return False


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


@contextlib.contextmanager
def nothing():
    yield None


# ---- cases ----


def a_request_is_as_it_should_be(_):
    with Proxy("--user", "ann:s3cret", "--urgency", "2,5", "--weights", "8,32") as p:
        _, one, fields = p.connect()
        assert fields == {
            ":method": "CONNECT",
            ":authority": TARGET,
            "proxy-authorization": "Basic YW5uOnMzY3JldA==",
            "priority": "u=2, i",
        }, fields
        priority = p.event(h2.events.PriorityUpdated, one)
        assert (priority.weight, priority.depends_on, priority.exclusive) == (8, 0, False)
        _, two, fields = p.connect()
        assert (one, two, fields["priority"]) == (1, 3, "u=5, i")
        assert p.event(h2.events.PriorityUpdated, two).weight == 32


def bytes_go_both_ways_on_many_streams(_):
    with Proxy() as p:
        tunnels = [p.tunnel() for _ in range(8)]
        data = {s: PIECE[s * 1000 :][:300000] for _, s in tunnels}
        senders = [threading.Thread(target=c.sendall, args=(data[s],)) for c, s in tunnels]
        for sender in senders:
            sender.start()
        for client, stream in tunnels:
            assert digest(p.received(stream, 300000)) == digest(data[stream])
        for sender in senders:
            sender.join()
        for client, stream in tunnels:
            got = []
            reader = threading.Thread(target=lambda c=client: got.append(read_all(c, 300000)))
            reader.start()
            assert p.push(stream, data[stream]) == 300000
            reader.join()
            assert digest(got[0]) == digest(data[stream])
        seen = p.ended()
        assert [s["bytes_up"] for s in seen["streams"]] == [300000] * 8
        assert [s["bytes_down"] for s in seen["streams"]] == [300000] * 8
        assert (seen["jain_up"], seen["sum_down"]) == (1, 2400000)


def frames_are_as_small_as_asked_for(_):
    with Proxy("--frame", "100,16384") as p:
        for most in 100, 16384:
            client, stream = p.tunnel()
            client.sendall(PIECE[:16384])
            p.received(stream, 16384)
            sizes = []
            while sum(sizes) < 16384:
                sizes.append(len(p.event(h2.events.DataReceived, stream).data))
            assert max(sizes) <= most and (most > 100 or len(sizes) == 164), sizes


def nothing_is_sent_before_the_answer_unless_asked_for(_):
    for early in False, True:
        with Proxy(*(["--early"] if early else [])) as p:
            client, stream, _ = p.connect()
            client.sendall(b"first")
            p.h2.ping(b"ordering")
            p.flush()
            if early:
                p.received(stream, 5)
            p.event(h2.events.PingAckReceived)
            assert (stream in p.content) == early
            p.h2.send_headers(stream, OK)
            p.flush()
            assert p.received(stream, 5) == b"first"


def the_client_ends_first(_):
    with Proxy("--count", "1") as p:
        client, stream = p.tunnel()
        client.sendall(b"question")
        client.shutdown(socket.SHUT_WR)
        p.event(h2.events.StreamEnded, stream)
        assert p.content[stream] == b"question"
        p.push(stream, b"answer")
        p.h2.end_stream(stream)
        p.flush()
        assert read_all(client) == b"answer"
        seen = p.ended(None)["streams"][0]
        assert (seen["closed_by"], seen["code"], seen["status"]) == ("client", 0, 200)


def the_target_ends_first(_):
    with Proxy("--count", "1") as p:
        client, stream = p.tunnel()
        p.h2.send_data(stream, b"banner", end_stream=True)
        p.flush()
        assert read_all(client) == b"banner"
        client.sendall(b"still here")
        client.close()
        p.event(h2.events.StreamEnded, stream)
        assert p.content[stream] == b"still here"
        seen = p.ended(None)["streams"][0]
        assert (seen["closed_by"], seen["bytes_up"], seen["bytes_down"]) == ("target", 10, 6)


def a_reset_of_the_stream_resets_the_client_behind_its_last_byte(_):
    with Proxy() as p:
        client, stream = p.tunnel()
        p.push(stream, b"last words")
        assert read_all(client, 10) == b"last words"
        p.h2.reset_stream(stream, h2.errors.ErrorCodes.CONNECT_ERROR)
        p.flush()
        assert is_reset(client)
        seen = p.ended()["streams"][0]
        assert (seen["closed_by"], seen["code"]) == ("stream reset", 10)


def a_reset_of_the_client_resets_the_stream(_):
    with Proxy() as p:
        client, stream = p.tunnel()
        reset(client)
        event = p.event(h2.events.StreamReset, stream)
        assert event.error_code == h2.errors.ErrorCodes.CANCEL
        assert p.ended()["streams"][0]["closed_by"] == "client reset"


def a_reader_that_stops_shuts_its_window_and_no_other(_):
    with Proxy("--connection-window", str(2 * WINDOW)) as p:
        stopped, one = p.tunnel()
        other, two = p.tunnel()
        gone = p.push(one, PIECE)
        assert WINDOW <= gone < 4 * WINDOW, gone  # and what sockets hold
        got = []
        reader = threading.Thread(target=lambda: got.append(read_all(other, len(PIECE))))
        reader.start()
        assert p.push(two, PIECE) == len(PIECE)
        reader.join()
        assert digest(got[0]) == digest(PIECE)
        reader = threading.Thread(target=lambda: got.append(read_all(stopped, len(PIECE))))
        reader.start()  # and it goes on where it was
        assert p.push(one, PIECE[gone:]) == len(PIECE) - gone
        reader.join()
        assert digest(got[1]) == digest(PIECE)


def a_shut_window_stops_the_client(_):
    with Proxy() as p:
        p.credit = False
        client, stream = p.tunnel()
        client.setblocking(False)
        taken = 0
        while taken < len(PIECE):
            try:
                taken += client.send(PIECE[taken:][:4096])
            except BlockingIOError:
                if len(p.content.get(stream, b"")) == 65535:
                    break
                p.take(0.01)
        assert taken < len(PIECE)
        assert len(p.received(stream, 65535)) == 65535
        p.acknowledge(stream, 65535)
        p.received(stream, 65536)  # and it goes on


def a_refusal_resets_the_client_and_is_told(_):
    with Proxy() as p:
        client, stream, _ = p.connect()
        fields = [(":status", "502"), ("proxy-status", 'here; error="dns_error"')]
        p.h2.send_headers(stream, fields)
        p.h2.send_data(stream, b"no such name", end_stream=True)
        p.flush()
        assert is_reset(client)
        p.event(h2.events.StreamReset, stream)
        seen = p.ended()
        only = seen["streams"][0]
        assert (only["status"], only["closed_by"]) == (502, "refused")
        assert only["proxy_status"] == 'here; error="dns_error"'
        assert (only["bytes_down"], seen["jain_down"]) == (0, 0)


def what_has_ended_makes_room_for_what_waits(_):
    with Proxy("--max", "1", "--count", "2") as p:
        first, one = p.tunnel()
        second = p.client()
        p.h2.ping(b"ordering")
        p.flush()
        p.event(h2.events.PingAckReceived)
        assert not any(isinstance(e, h2.events.RequestReceived) for e in p.seen)
        reset(first)
        p.event(h2.events.StreamReset, one)
        stream = p.event(h2.events.RequestReceived).stream_id
        p.h2.send_headers(stream, OK, end_stream=True)
        p.flush()
        assert read_all(second) == b""
        second.close()
        assert len(p.ended(None)["streams"]) == 2


def behind_goaway_streams_go_on_and_none_begins(_):
    with Proxy() as p:
        client, stream = p.tunnel()
        # By hand: python3-h2 would send nothing behind it.
        p.sock.sendall(b"\0\0\x08\7\0\0\0\0\0" + stream.to_bytes(4, "big") + bytes(4))
        p.push(stream, b"goes on")
        assert read_all(client, 7) == b"goes on"
        machine.poll("nobody listens", PATIENCE, lambda: not listens(p.port))
        p.h2.end_stream(stream)
        p.flush()
        client.close()
        seen = p.ended(None)
        assert seen["goaway"] and not seen["fault"]
        assert seen["streams"][0]["closed_by"] == "target"


def listens(port):
    with contextlib.suppress(OSError):
        socket.create_connection((LOOPBACK, port), 1).close()
        return True
    return False


def a_lost_connection_resets_all_clients(_):
    with Proxy() as p:
        clients = [p.tunnel()[0] for _ in range(3)]
        p.sock.close()
        assert all(is_reset(c) for c in clients)
        seen = p.ended(None, status=3)
        assert [s["closed_by"] for s in seen["streams"]] == ["connection"] * 3
        assert seen["fault"]


def a_report_can_be_had_on_the_way(_):
    with Proxy("--skip", "1") as p:
        p.tunnel()
        client, stream = p.tunnel()
        client.sendall(b"four")
        p.received(stream, 4)
        p.mux.send_signal(signal.SIGUSR1)
        machine.poll("a report", PATIENCE, lambda: os.path.exists(p.report_file))
        with open(p.report_file, encoding="ascii") as file:
            seen = json.load(file)
        assert (seen["counted"], seen["sum_up"], seen["jain_up"]) == (1, 4, 1)
        assert seen["streams"][1]["closed_by"] == "nobody"


def what_is_wrong_on_the_command_line_is_said(_):
    good = ["--proxy", "127.0.0.1:1", "--target", TARGET]
    for words, said in (
        ([], "--proxy and --target"),
        (["--proxy", "127.0.0.1"], "--proxy 127.0.0.1: not ADDRESS:PORT"),
        (["--proxy", "::1:80"], "IPv6 wants"),
        ([*good, "--window", "12"], "--window 12: not a number from 1024"),
        ([*good, "--weights", "1,257"], "not a number from 1 to 256"),
        ([*good, "--frame", "5,,5"], "not a number"),
        ([*good, "--what"], "no option --what"),
        ([*good, "--key", "k"], "belong together"),
        ([*good, "--clear", "-k"], "no use for certificates"),
        ([*good, "--clear"], "connecting to the proxy: Connection refused"),
    ):
        done = machine.run(MUX, *words, check=False)
        assert done.returncode == 1 and said in done.stderr, (words, done.stderr)
    assert "--connection-window" in machine.run(MUX, "--help").stdout


if __name__ == "__main__":
    tap.main(
        tap.Group(
            "connect_mux",
            nothing,
            a_request_is_as_it_should_be,
            bytes_go_both_ways_on_many_streams,
            frames_are_as_small_as_asked_for,
            nothing_is_sent_before_the_answer_unless_asked_for,
            the_client_ends_first,
            the_target_ends_first,
            a_reset_of_the_stream_resets_the_client_behind_its_last_byte,
            a_reset_of_the_client_resets_the_stream,
            a_reader_that_stops_shuts_its_window_and_no_other,
            a_shut_window_stops_the_client,
            a_refusal_resets_the_client_and_is_told,
            what_has_ended_makes_room_for_what_waits,
            behind_goaway_streams_go_on_and_none_begins,
            a_lost_connection_resets_all_clients,
            a_report_can_be_had_on_the_way,
            what_is_wrong_on_the_command_line_is_said,
        )
    )
