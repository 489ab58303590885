# SPDX-License-Identifier: BSD-3-Clause
"""python3-h2 as the client of a proxy: tunnels of one connection, each byte in the test's hand."""
import base64
import contextlib
import select
import socket
import ssl
import sys
import time

from h2client import DEBIAN, trusting
from tap import Missing
from tcp import RESET, STALL

try:
    sys.path.append(DEBIAN)
    from h2 import config, connection, events, exceptions, settings
    from hyperframe.frame import GoAwayFrame, HeadersFrame
except ImportError:
    connection = None

READ = 1 << 18
CANCEL, CONNECT_ERROR = 8, 10  # RFC 9113 7
CONNECTION_WINDOW = 1 << 30


def basic(user, password):
    """The value of proxy-authorization (RFC 7617 2)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def error_of(field):
    """Of a proxy-status field (RFC 9209 2) with one member."""
    return dict(p.strip().split("=", 1) for p in field.split(";")[1:]).get("error")


class Tunnel:
    def __init__(self, client, stream, authority):
        self.client = client
        self.stream = stream
        self.authority = authority
        self.status = None
        self.head = {}
        self.body = bytearray()
        self.ended = False  # END_STREAM has come
        self.reset = None  # the code of RST_STREAM
        self.owed = 0  # bytes of windows that were used up and not given back

    def over(self):
        return self.ended or self.reset is not None

    def answer(self):
        """The status, as soon as there is one."""
        self.client.until(f"an answer for {self.authority}", lambda: self.status or self.over())
        return self.status

    def opened(self):
        status = self.answer()
        assert status == 200, f"{self.authority}: status {status}, {self.head}"
        return self

    def failed(self):
        """The status and the error of proxy-status; the answer is the stream's end."""
        status = self.answer()
        self.client.until(f"the end of {self.authority}", self.over)
        assert self.ended, f"{self.authority}: RST_STREAM({self.reset})"
        field = self.head.get("proxy-status")
        return status, error_of(field) if field else None

    def offer(self, data):
        """As much of it as its windows take now; how much that was."""
        conn, sent = self.client.conn, 0
        while sent < len(data):
            room = min(conn.local_flow_control_window(self.stream), conn.max_outbound_frame_size)
            n = min(len(data) - sent, room)
            if n <= 0:
                break
            conn.send_data(self.stream, bytes(data[sent : sent + n]))
            sent += n
        self.client.flush()
        return sent

    def send(self, data):
        """All of it."""
        left = memoryview(data)
        while left and not self.over():
            left = left[self.offer(left) :]
            if left:
                self.client.take()
        assert not left, f"{self.authority} ended with {len(left)} of {len(data)} bytes to send"

    def end(self):
        self.client.conn.end_stream(self.stream)
        self.client.flush()

    def cancel(self, code=CANCEL):
        self.client.conn.reset_stream(self.stream, code)
        self.client.flush()

    def receive(self, n):
        """Takes n bytes away, as soon as they are there."""
        what = f"{n} bytes of {self.authority}"
        self.client.until(what, lambda: len(self.body) >= n or self.over())
        assert len(self.body) >= n, f"the end after {len(self.body)} of {what}"
        got = bytes(self.body[:n])
        del self.body[:n]
        return got

    def rest(self):
        """All that comes until END_STREAM."""
        self.client.until(f"the end of {self.authority}", self.over)
        assert (
            self.ended
        ), f"{self.authority}: RST_STREAM({self.reset}) after {len(self.body)} bytes"
        got = bytes(self.body)
        self.body.clear()
        return got

    def ask(self, data):
        """Sends it to a target that echoes; what comes back."""
        self.send(data)
        return self.receive(len(data))

    def stop(self):
        """No window is given back from now on, until `resume`."""
        self.client.stopped.add(self.stream)

    def resume(self):
        self.client.stopped.discard(self.stream)
        self.client.credit(self, self.owed)


class ConnectClient:
    """window: of a stream. sock: connected to the proxy; tls: a context, or None."""

    def __init__(self, sock, tls=None, window=65535, **fields):
        if not connection:
            raise Missing("python3-h2 is not installed")
        self.sock = sock
        self.sock.settimeout(STALL)
        if tls:
            self.sock = tls.wrap_socket(self.sock)
            assert self.sock.selected_alpn_protocol() == "h2"
        self.fields = fields  # of each request, with _ for -
        self.tunnels = {}  # by stream
        self.stopped = set()  # streams whose reader is
        self.goaways = []  # the last stream and the code of each
        self.closed = False  # by the proxy
        self.pings = self.answered = 0
        self.window = window
        self.conn = self._start(window)
        self.flush()

    @classmethod
    def to(cls, lab, port, address, tls=None, **options):
        return cls(lab.connect(port, address), trusting() if tls is True else tls, **options)

    def _start(self, window):
        # RFC 9113 8.5 leaves out what h2 asks for in every request.
        conn = connection.H2Connection(
            config.H2Configuration(
                header_encoding="utf-8",
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        # For h2 nothing may follow GOAWAY.
        conn._frame_dispatch_table[GoAwayFrame] = self._goaway
        conn.local_settings = settings.Settings(
            client=True,
            initial_values={
                settings.SettingCodes.ENABLE_PUSH: 0,
                settings.SettingCodes.INITIAL_WINDOW_SIZE: window,
            },
        )
        conn.initiate_connection()
        conn.increment_flow_control_window(CONNECTION_WINDOW - 65535)
        return conn

    def _goaway(self, frame):
        self.goaways.append((frame.last_stream_id, frame.error_code))
        return [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def flush(self):
        self.sock.sendall(self.conn.data_to_send())

    # Tunnels.

    def request(self, authority, *fields, head=None, end=False):
        """A tunnel that is asked for. head: in place of what CONNECT has."""
        stream = self.conn.get_next_available_stream_id()
        more = [(name.replace("_", "-"), value) for name, value in self.fields.items()]
        pseudo = head or [(":method", "CONNECT"), (":authority", authority)]
        self.tunnels[stream] = Tunnel(self, stream, authority)
        self.conn.send_headers(stream, [*pseudo, *more, *fields], end_stream=end)
        self.flush()
        return self.tunnels[stream]

    def open(self, authority, *fields):
        return self.request(authority, *fields).opened()

    def head_again(self, tunnel, fields, end):
        """A HEADERS frame on a tunnel, which h2 would not send."""
        frame = HeadersFrame(tunnel.stream, self.conn.encoder.encode(fields))
        frame.flags.add("END_HEADERS")
        if end:
            frame.flags.add("END_STREAM")
        self.sock.sendall(frame.serialize())

    # What comes.

    def step(self):
        """Waits for something to come, and takes it. False: the proxy has closed the connection."""
        data = self.sock.recv(READ)
        if not data:
            self.closed = True
            return False
        for event in self.conn.receive_data(data):
            tunnel = self.tunnels.get(getattr(event, "stream_id", None))
            if tunnel:
                self._hear(tunnel, event)
            elif isinstance(event, events.PingAckReceived):
                self.answered = int.from_bytes(event.ping_data, "big")
        self.flush()
        return True

    def _hear(self, tunnel, event):
        if isinstance(event, events.ResponseReceived):
            tunnel.head = dict(event.headers)
            tunnel.status = int(tunnel.head[":status"])
        elif isinstance(event, events.DataReceived):
            tunnel.body += event.data
            tunnel.owed += event.flow_controlled_length
            if tunnel.stream not in self.stopped and tunnel.owed > self.window // 2:
                self.credit(tunnel, tunnel.owed)
        elif isinstance(event, events.StreamEnded):
            tunnel.ended = True
        elif isinstance(event, events.StreamReset):
            tunnel.reset = event.error_code

    def credit(self, tunnel, n):
        """Gives back n bytes of the tunnel's window."""
        tunnel.owed -= n
        if n:
            self.conn.increment_flow_control_window(n)
            with contextlib.suppress(exceptions.NoSuchStreamError):  # it is over
                self.conn.increment_flow_control_window(n, tunnel.stream)
        self.flush()

    def take(self):
        assert self.step(), "the proxy has closed the connection"

    def until(self, what, done):
        """Takes what comes until done()."""
        limit = time.monotonic() + STALL
        while not done():
            assert time.monotonic() < limit, f"not within {STALL} s: {what}"
            try:
                self.take()
            except TimeoutError as error:
                raise AssertionError(f"not within {STALL} s: {what}") from error

    def hears(self, seconds):
        """Takes what comes; False: nothing did within that time."""
        waits = isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()
        if not waits and not select.select([self.sock], [], [], seconds)[0]:
            return False
        self.take()
        return True

    def barrier(self):
        """All that the proxy had to say before it answers a PING has been heard."""
        self.pings += 1
        self.conn.ping(self.pings.to_bytes(8, "big"))
        self.flush()
        self.until("an answer to PING", lambda: self.answered == self.pings)

    # Its end.

    def close(self):
        self.sock.close()

    def abort(self):
        """RST, whatever is on its way."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.sock.close()
