# SPDX-License-Identifier: BSD-3-Clause
"""A client of HTTP/2 that does as it is told, right or wrong: frames out as bytes, frames in as
they come. Nothing here sleeps: one waits for a frame, for the end, or for the answer to a PING
behind which nothing of what was sent before can be outstanding."""
import collections
import contextlib
import os
import socket
import ssl
import struct
import sys
import time
from functools import partial

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, whichever Python this is
try:
    import hpack  # pylint: disable=wrong-import-position
except ImportError:
    print("1..0 # SKIP python3-hpack is not installed")
    sys.exit(1 if os.environ.get("CI") else 0)

PATIENCE = 5  # seconds for what has to come, on a busy machine, too
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW = 65535
WINDOW_MAX = 2**31 - 1
FRAME = 16384  # the largest payload until SETTINGS say otherwise

# RFC 9113 6, RFC 9218 7.1.
TYPES = (
    "DATA HEADERS PRIORITY RST_STREAM SETTINGS PUSH_PROMISE PING GOAWAY WINDOW_UPDATE "
    "CONTINUATION"
).split()
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY = range(8)
WINDOW_UPDATE, CONTINUATION, PRIORITY_UPDATE = 8, 9, 16
ACK, END_STREAM, END_HEADERS, PADDED, PRIORITIZED = 1, 1, 4, 8, 0x20

# RFC 9113 7.
ERRORS = (
    "NO_ERROR PROTOCOL_ERROR INTERNAL_ERROR FLOW_CONTROL_ERROR SETTINGS_TIMEOUT STREAM_CLOSED "
    "FRAME_SIZE_ERROR REFUSED_STREAM CANCEL COMPRESSION_ERROR CONNECT_ERROR ENHANCE_YOUR_CALM "
    "INADEQUATE_SECURITY HTTP_1_1_REQUIRED"
).split()
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, SETTINGS_TIMEOUT = range(5)
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL, COMPRESSION_ERROR = range(5, 10)
CONNECT_ERROR, ENHANCE_YOUR_CALM = 10, 11

# RFC 9113 6.5.2, RFC 8441 3, RFC 9218 2.1.
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW, MAX_FRAME, MAX_HEADER_LIST = range(
    1, 7
)
CONNECT_PROTOCOL, NO_PRIORITIES = 8, 9


def name_of(names, number):
    return names[number] if number < len(names) else f"{number:#x}"


def u32(number):
    return struct.pack("!I", number)


class Closed(Exception):
    """The server has closed the connection."""


class Silence(Exception):
    """Nothing within PATIENCE."""


class Frame(collections.namedtuple("Frame", "type flags stream payload fields")):
    """fields: of HEADERS, those of the whole block, decoded; CONTINUATION frames are a part of it."""

    @property
    def code(self):
        at = {RST_STREAM: 0, GOAWAY: 4}[self.type]
        return struct.unpack_from("!I", self.payload, at)[0]

    @property
    def number(self):
        """The increment of WINDOW_UPDATE, the last stream of GOAWAY."""
        return struct.unpack_from("!I", self.payload)[0] & WINDOW_MAX

    @property
    def ends(self):
        return self.type in (DATA, HEADERS) and bool(self.flags & END_STREAM)

    def is_ack(self, kind):
        return self.type == kind and bool(self.flags & ACK)

    def __str__(self):
        text = f"{name_of(TYPES, self.type)}({self.stream}, flags {self.flags:#x}"
        if self.type in (RST_STREAM, GOAWAY):
            return f"{text}, {name_of(ERRORS, self.code)})"
        return f"{text}, {len(self.payload)} bytes)"


# ---- bytes ----


def frame(kind, flags, stream, payload=b"", length=None):
    """length: as the header is to say, where that is not the truth."""
    n = len(payload) if length is None else length
    return struct.pack("!BHBBI", n >> 16, n & 0xFFFF, kind, flags, stream) + payload


def settings(*pairs):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack("!HI", *pair) for pair in pairs))


def ping(opaque=b"12345678", flags=0):
    return frame(PING, flags, 0, opaque)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, u32(increment))


def rst_stream(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, u32(code))


def goaway(last, code=NO_ERROR, debug=b""):
    return frame(GOAWAY, 0, 0, u32(last) + u32(code) + debug)


def priority(stream, on=0, weight=16, exclusive=False):
    return frame(PRIORITY, 0, stream, dependency(on, weight, exclusive))


def dependency(on=0, weight=16, exclusive=False):
    return struct.pack("!IB", on | exclusive << 31, weight - 1)


def data(stream, content=b"", end=False, pad=None):
    """pad: bytes of padding; the byte that says so comes on top."""
    flags = END_STREAM if end else 0
    if pad is not None:
        flags |= PADDED
        content = bytes([pad]) + content + bytes(pad)
    return frame(DATA, flags, stream, content)


def integer(number, bits, first=0):
    """RFC 7541 5.1."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([first | number])
    out = bytearray([first | most])
    number -= most
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def text(value):
    """A string without Huffman's code (RFC 7541 5.2)."""
    value = value.encode() if isinstance(value, str) else value
    return integer(len(value), 7) + value


def literal(name, value, first=0x00):
    """A field that is not indexed, with a new name; first: 0x40 puts it in the table."""
    return bytes([first]) + text(name) + text(value)


def block(*fields):
    return b"".join(literal(*field) for field in fields)


def headers(stream, fragment, end=True, flags=END_HEADERS):
    return frame(HEADERS, flags | (END_STREAM if end else 0), stream, fragment)


def continuation(stream, fragment, flags=END_HEADERS):
    return frame(CONTINUATION, flags, stream, fragment)


# ---- a connection ----


class Answer:
    """What has come on a stream."""

    def __init__(self):
        self.informational = []
        self.fields = None
        self.trailers = None
        self.body = bytearray()
        self.ended = False
        self.reset = None  # the code

    @property
    def status(self):
        return dict(self.fields or ()).get(":status")

    def take(self, got):
        # RST_STREAM may follow the end: RFC 9113 8.1, and for what comes late
        assert not self.ended or got.type == RST_STREAM, f"{got} after the end of its stream"
        if got.type == HEADERS:
            if self.fields is not None:
                self.trailers = got.fields
            elif dict(got.fields)[":status"].startswith("1"):
                assert not got.ends, "the end with an informational response (RFC 9113 8.1)"
                self.informational.append(got.fields)
            else:
                self.fields = got.fields
        elif got.type == DATA:
            assert self.fields is not None, "DATA before HEADERS"
            self.body += got.payload
        elif got.type == RST_STREAM:
            self.reset = got.code
        self.ended = self.ended or got.ends or self.reset is not None


def unpadded(kind, flags, payload):
    if kind in (DATA, HEADERS) and flags & PADDED:
        payload = payload[1 : len(payload) - payload[0]]
    if kind == HEADERS and flags & PRIORITIZED:
        payload = payload[5:]
    return payload


class Conn:
    def __init__(self, target, sock):
        self.target = target
        self.sock = sock
        self.bytes = bytearray()
        self.frames = []  # all that have come
        self.answers = collections.defaultdict(Answer)
        self.settings = {}
        self.decoder = hpack.Decoder()
        self.block = None  # the HEADERS whose block is open, and what there is of that
        self.pings = 0
        self.acknowledges = True  # SETTINGS
        # What may be sent, and what the server has been allowed to send.
        self.window = WINDOW
        self.windows = {}
        self.room = WINDOW

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    # Out.

    def send(self, *parts):
        """A server that has closed already will be noticed by who reads."""
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.sock.sendall(b"".join(parts))

    def head(self, method="GET", path=None, more=(), authority="example.org"):
        """The block of a request."""
        scheme = "https" if self.target.tls else "http"
        usual = [(":method", method), (":scheme", scheme), (":path", path or self.target.path)]
        if authority is not None:
            usual.insert(2, (":authority", authority))
        return block(*usual, *more)

    def get(self, stream, **options):
        self.send(headers(stream, self.head(**options)))

    def post(self, stream, more=(), **options):
        """Opens a request to the echo; its content is the caller's to send."""
        self.send(headers(stream, self.head("POST", self.target.echo, more, **options), end=False))

    # In.

    def _fill(self, until):
        left = until - time.monotonic()
        if left <= 0:
            raise Silence
        self.sock.settimeout(left)
        try:
            part = self.sock.recv(1 << 16)
        except (TimeoutError, ssl.SSLWantReadError):
            raise Silence from None
        except (ConnectionError, ssl.SSLError) as error:
            raise Closed(str(error)) from None
        if not part:
            raise Closed("the end")
        self.bytes += part

    def _next(self, until):
        while len(self.bytes) < 9 or len(self.bytes) < 9 + int.from_bytes(self.bytes[:3], "big"):
            self._fill(until)
        high, low, kind, flags, stream = struct.unpack_from("!BHBBI", self.bytes)
        end = 9 + (high << 16 | low)
        payload = bytes(self.bytes[9:end])
        del self.bytes[:end]
        assert len(payload) <= self.target.max_frame, f"a frame of {len(payload)} bytes"
        if kind == DATA:
            self.room -= len(payload)
            assert self.room >= 0, "DATA beyond the connection's window (RFC 9113 6.9.1)"
        return kind, flags, stream, unpadded(kind, flags, payload)

    def read(self, patience=PATIENCE):
        """The next frame. Settings and pings are answered."""
        until = time.monotonic() + patience
        while True:
            kind, flags, stream, payload = self._next(until)
            if self.block:
                assert (kind, stream) == (CONTINUATION, self.block[2]), "a block cut in two"
                self.block[3] += payload
            elif kind == HEADERS:
                self.block = [kind, flags, stream, payload]
            if self.block and not flags & END_HEADERS:
                continue
            fields = None
            if self.block:
                kind, first, stream, payload = self.block
                flags |= first
                fields = self.decoder.decode(payload)
                self.block = None
            got = Frame(kind, flags, stream, payload, fields)
            self._take(got)
            return got

    def _take(self, got):
        self.frames.append(got)
        if got.stream and got.type in (DATA, HEADERS, RST_STREAM):
            self.answers[got.stream].take(got)
        elif got.type == SETTINGS and not got.flags & ACK:
            self._settings(got.payload)
            if self.acknowledges:
                self.send(frame(SETTINGS, ACK, 0))
        elif got.type == PING and not got.flags & ACK:
            self.send(ping(got.payload, ACK))
        elif got.type == WINDOW_UPDATE and got.stream:
            self.windows[got.stream] = self.window_of(got.stream) + got.number
        elif got.type == WINDOW_UPDATE:
            self.window += got.number

    def _settings(self, payload):
        for key, value in struct.iter_unpack("!HI", payload):
            if key == INITIAL_WINDOW:
                more = value - self.settings.get(key, WINDOW)
                self.windows = {s: n + more for s, n in self.windows.items()}
            self.settings[key] = value

    def window_of(self, stream):
        return self.windows.get(stream, self.settings.get(INITIAL_WINDOW, WINDOW))

    def until(self, done, what, patience=PATIENCE):
        """The first frame for which done() is true."""
        end = time.monotonic() + patience
        while True:
            try:
                got = self.read(max(end - time.monotonic(), 0.001))
            except Silence:
                raise AssertionError(
                    f"{what}: not within {patience} s, but {self.seen()}"
                ) from None
            except Closed as why:
                raise AssertionError(f"{what}: closed ({why}) after {self.seen()}") from None
            if done(got):
                return got

    def max_frame(self):
        """The largest payload that may be sent."""
        return self.settings.get(MAX_FRAME, FRAME)

    def seen(self):
        return ", ".join(str(f) for f in self.frames[-5:]) or "nothing"

    def greet(self, *pairs):
        """The preface, our SETTINGS, and the server's side of both (RFC 9113 3.4)."""
        self.send(PREFACE)
        self.greet_rest(*pairs)

    def greet_rest(self, *pairs):
        self.send(settings(*pairs))
        first = self.until(lambda f: True, "SETTINGS")
        assert first.type == SETTINGS and not first.flags & ACK, f"began with {first}"
        self.until(lambda f: f.is_ack(SETTINGS), "the ACK of SETTINGS")

    def set(self, *pairs):
        """More SETTINGS, until they are in force."""
        self.send(settings(*pairs))
        self.until(lambda f: f.is_ack(SETTINGS), "the ACK of SETTINGS")

    def barrier(self):
        """All that was sent has been looked at when this returns. The frames that came meanwhile."""
        self.pings += 1
        opaque = struct.pack("!Q", self.pings)
        seen = len(self.frames)
        self.send(ping(opaque))
        self.until(lambda f: f.is_ack(PING) and f.payload == opaque, "the answer to PING")
        return self.frames[seen:-1]

    def credit(self, stream, n):
        """The server may send n bytes more on the connection, and on the stream unless it is 0."""
        self.room += n
        self.send(window_update(0, n), window_update(stream, n) if stream else b"")

    # What is expected.

    def answer(self, stream, patience=PATIENCE):
        """The whole answer."""
        until = time.monotonic() + patience
        a = self.answers[stream]
        while not a.ended:
            left = max(until - time.monotonic(), 0.001)
            self.until(lambda f: f.stream == stream, f"an answer on {stream}", left)
        assert a.reset in (None, NO_ERROR), f"reset with {name_of(ERRORS, a.reset)}"
        return a

    def served(self, stream, status="200", patience=PATIENCE):
        a = self.answer(stream, patience)
        assert a.status == status, f"status {a.status}"
        return a

    def still_serves(self, stream):
        self.get(stream)
        self.served(stream)

    def wait_data(self, stream, n):
        """Until so many bytes of content have come."""
        a = self.answers[stream]
        while len(a.body) < n:
            self.until(lambda f: f.type == DATA and f.stream == stream, f"DATA on {stream}")
        assert len(a.body) == n, f"{len(a.body)} bytes, not {n}"
        return a

    def dies(self, *codes):
        """GOAWAY with one of these codes, then the end (RFC 9113 5.4.1)."""
        got = self.until(lambda f: f.type == GOAWAY and f.code != NO_ERROR, "GOAWAY")
        return self.dies_with(got, *codes)

    def dies_with(self, got, *codes):
        wanted = " or ".join(name_of(ERRORS, c) for c in codes)
        assert got.type == GOAWAY and got.code in codes, f"{got}, not {wanted}"
        self.closes()
        return got

    def ends_unspoken(self):
        """The end, whatever is said before, HTTP/2 or not."""
        until = time.monotonic() + PATIENCE
        try:
            while True:
                self._fill(until)
        except Closed:
            pass
        except Silence:
            raise AssertionError(f"still open after {PATIENCE} s") from None

    def closes(self, patience=PATIENCE):
        """All that may still come is passed over."""
        until = time.monotonic() + patience
        try:
            while True:
                self._next(until)
        except Closed:
            pass
        except Silence:
            raise AssertionError(f"still open {patience} s after {self.seen()}") from None

    def awaits_goaway(self):
        return self.until(lambda f: f.type == GOAWAY, "GOAWAY")

    def ends_gently(self):
        """GOAWAY twice without error (RFC 9113 6.8), then the end."""
        going = [f for f in self.frames if f.type == GOAWAY]
        while len(going) < 2:
            going.append(self.until(lambda f: f.type == GOAWAY, "the second GOAWAY"))
        assert all(f.code == NO_ERROR for f in going), f"{going[0]}, {going[1]}"
        assert going[0].number == WINDOW_MAX >= going[1].number, f"{going[0]}, {going[1]}"
        self.closes()

    def resets(self, stream, *codes):
        """RST_STREAM with one of these codes, and the connection goes on (RFC 9113 5.4.2)."""
        a = self.answers[stream]
        while a.reset is None and not a.ended:
            self.until(lambda f: f.stream == stream, f"RST_STREAM of {stream}")
        if a.reset is None:
            self.barrier()  # it may be just behind the answer
        assert a.reset is not None, f"answered with {a.status}, not reset"
        wanted = " or ".join(name_of(ERRORS, c) for c in codes)
        assert a.reset in codes, f"reset with {name_of(ERRORS, a.reset)}, not {wanted}"
        self.barrier()

    def resets_or_dies(self, stream, *codes):
        """Where the RFC leaves it to the server."""

        def done(f):
            return f.type == GOAWAY or (f.type == RST_STREAM and f.stream == stream)

        got = self.until(done, "RST_STREAM or GOAWAY")
        assert got.code in codes, f"{got}, not {' or '.join(name_of(ERRORS, c) for c in codes)}"
        if got.type == GOAWAY:
            self.closes()

    def refuses(self, stream):
        """A bad request: reset as malformed (RFC 9113 8.1.1), which may be preceded by a 400."""
        a = self.answers[stream]
        while not a.ended:
            self.until(lambda f: f.stream == stream, f"an end of {stream}")
        good = a.reset == PROTOCOL_ERROR or (a.status or "").startswith("4")
        assert good, f"status {a.status}, reset {a.reset}"
        self.barrier()

    # Content out, as the windows allow.

    def upload(self, stream, content, end=True, piece=FRAME, pad=None):
        """Waits for WINDOW_UPDATE where there is no room."""
        over = 0 if pad is None else pad + 1
        self.windows.setdefault(stream, self.window_of(stream))
        at = 0
        while at < len(content):
            n = min(piece, FRAME - over, len(content) - at)
            while min(self.window, self.windows[stream]) < n + over:
                self.until(lambda f: f.type == WINDOW_UPDATE, "WINDOW_UPDATE")
            last = end and at + n == len(content)
            self.send(data(stream, content[at : at + n], last, pad))
            self.window -= n + over
            self.windows[stream] -= n + over
            at += n


class Target:
    """A server. path: answers GET with 200 and a few KB; echo: answers POST with its content; large:
    answers GET with 300,000 bytes or more."""

    max_frame = FRAME

    def __init__(self, host, port, tls=False, inside=contextlib.nullcontext, **paths):
        self.address = host, port
        self.tls = tls
        self.inside = inside  # a context in which sockets are opened
        self.path = paths.get("path", "/")
        self.echo = paths.get("echo", "/echo")
        self.large = paths.get("large", "/bytes/300000")

    def raw(self, protocols=("h2",)):
        """A connection on which nothing has been said."""
        with self.inside():
            sock = socket.create_connection(self.address, PATIENCE)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.set_alpn_protocols(protocols)
            sock = context.wrap_socket(sock, server_hostname="localhost")
            assert sock.selected_alpn_protocol() == "h2", "no h2 by ALPN"
        return Conn(self, sock)

    def connect(self, *pairs):
        conn = self.raw()
        try:
            conn.greet(*pairs)
        except BaseException:
            conn.sock.close()
            raise
        return conn


# ---- cases ----

CASES = []


def case(clause, *alike):
    """Registers a case, called with a Target. clause: of RFC 9113, or "7541 5.2". alike: the numbers
    of h2spec's cases of the same situation."""

    def register(function):
        words = getattr(function, "words", None) or function.__name__.replace("_", " ")
        number = clause if " " in clause else f"9113 {clause}"
        function.title = f"RFC {number}: {words}"
        function.alike = alike
        CASES.append(function)
        return function

    return register


def cases(clause, table, run):
    """One case a row: words, what run() is called with, and the numbers of h2spec."""
    for words, arguments, *alike in table:
        function = partial(run, arguments)
        function.words = words
        case(clause, *alike)(function)


# ---- what cases have in common ----


def conn_dies(arguments, target):
    """bytes to send, codes: a connection error."""
    bad, *codes = arguments
    with target.connect() as conn:
        conn.send(bad)
        conn.dies(*codes)


def goes_on(arguments, target):
    """bytes to send, none of which matters."""
    with target.connect() as conn:
        conn.send(arguments)
        conn.barrier()
        conn.still_serves(1)


def held(target):
    """A connection with stream 1 half-closed (remote): its answer has no window to go out."""
    conn = target.connect((INITIAL_WINDOW, 0))
    conn.get(1)
    return conn
