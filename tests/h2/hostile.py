# SPDX-License-Identifier: BSD-3-Clause
"""Clients that mean harm, one a limit of lib/http2/settings.h and lib/http2/glitch.h.

Each case is called with a victim, which is smoke's TcpPair and has a `target` (peer.Target). It
shows how the connection ends, that the counter of that name rose, and that meanwhile others were
served without delay. LIMITS is the configuration that the numbers below are for."""
import contextlib
import random
import threading
import time

from machine import poll
from peer import (
    ACK,
    CANCEL,
    DATA,
    END_HEADERS,
    ENHANCE_YOUR_CALM,
    FRAME_SIZE_ERROR,
    GOAWAY,
    INITIAL_WINDOW,
    MAX_STREAMS,
    NO_ERROR,
    PADDED,
    PREFACE,
    PRIORITY,
    PROTOCOL_ERROR,
    RST_STREAM,
    SETTINGS,
    SETTINGS_TIMEOUT,
    WINDOW,
    WINDOW_MAX,
    Silence,
    continuation,
    data,
    frame,
    headers,
    literal,
    ping,
    priority,
    rst_stream,
    settings,
    window_update,
)

TIMEOUT = 1  # of each kind, where it is not:
IDLE = 2
DELAY = 2  # seconds that another client waits at most
SPARE = 64  # buffers that are on their way at any time
SLACK = 2  # seconds by which a timer may be late on a busy machine
TOTAL_STREAMS = 2000
LIMITS = {
    "preface-timeout-s": TIMEOUT,
    "headers-timeout-s": TIMEOUT,
    "settings-timeout-s": TIMEOUT,
    "progress-timeout-s": TIMEOUT,
    "drain-timeout-s": TIMEOUT,
    "idle-timeout-s": IDLE,
    "total-streams": TOTAL_STREAMS,
    "memory": "512 KiB",
}
GLITCHES = 1000  # until the end; from three quarters of it a connection is drained
UNKNOWN = 0x4D
MANY = 1200


class Bystander(threading.Thread):
    """Another client, which asks for the page over and over."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.conn = target.connect()
        self.over = threading.Event()
        self.slowest = self.served = 0
        self.error = None

    def run(self):
        try:
            while not self.over.wait(0.01):
                self._ask(2 * self.served + 1)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def _ask(self, stream):
        began = time.monotonic()
        self.conn.get(stream)
        size = len(self.conn.served(stream).body)
        self.conn.credit(0, size)
        self.conn.frames.clear()
        self.slowest = max(self.slowest, time.monotonic() - began)
        self.served += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        self.join()
        self.conn.sock.close()
        if kind is None:
            assert not self.error, f"another client, after {self.served} answers: {self.error}"
            assert self.slowest < DELAY, f"another client waited {self.slowest:.2f} s"


@contextlib.contextmanager
def counted(victim, **counts):
    """These counters rise meanwhile, by as much or more, and others are served."""
    before = victim.app.snapshot()
    with Bystander(victim.target):
        yield
    victim.app.after(before, **counts)


@contextlib.contextmanager
def calmed(victim, *pairs, **counts):
    """A connection for an attack, which ends it with ENHANCE_YOUR_CALM."""
    with counted(victim, h2_calm=1, h2_errors=1, **counts), victim.target.connect(*pairs) as conn:
        yield conn
        conn.dies(ENHANCE_YOUR_CALM)


def odd_numbers(n):
    return range(1, 2 * n, 2)


# ---- resets ----


def rapid_reset(victim):
    """Requests that are taken back at once: 1,000, and 33 a second."""
    with calmed(victim, h2_limit_rst=1, h2_resets_rx=1000) as conn:
        head = conn.head()
        for stream in odd_numbers(MANY):
            conn.send(headers(stream, head), rst_stream(stream))


def made_to_reset(victim, spoil, *pairs):
    """Streams that the server resets for what was done to them: 200, and 7 a second."""
    with calmed(victim, *pairs, h2_limit_reset=1, h2_glitch_stream_error=200) as conn:
        for stream in odd_numbers(260):
            spoil(conn, stream)


def made_to_reset_by_windows_beyond_their_most(victim):
    def spoil(conn, stream):
        conn.post(stream)
        conn.send(window_update(stream, WINDOW_MAX))

    made_to_reset(victim, spoil)


def made_to_reset_by_increments_of_0(victim):
    def spoil(conn, stream):
        conn.post(stream)
        conn.send(window_update(stream, 0))

    made_to_reset(victim, spoil)


def made_to_reset_by_data_on_half_closed_streams(victim):
    def spoil(conn, stream):
        conn.get(stream)
        conn.send(data(stream, b"x"))

    made_to_reset(victim, spoil, (INITIAL_WINDOW, 0))


def made_to_reset_by_headers_on_half_closed_streams(victim):
    def spoil(conn, stream):
        conn.get(stream)
        conn.get(stream)

    made_to_reset(victim, spoil, (INITIAL_WINDOW, 0))


def made_to_reset_by_priority_of_a_wrong_size(victim):
    def spoil(conn, stream):
        conn.post(stream)
        conn.send(frame(PRIORITY, 0, stream, b"?"))

    made_to_reset(victim, spoil)


def made_to_reset_by_content_beyond_its_length(victim):
    def spoil(conn, stream):
        conn.post(stream, more=[("content-length", "1")])
        conn.send(data(stream, b"two"))

    made_to_reset(victim, spoil)


def made_to_reset_by_malformed_requests(victim):
    made_to_reset(victim, lambda conn, stream: conn.get(stream, more=[("te", "gzip")]))


# ---- heads ----


def continuation_without_end(victim):
    with calmed(victim, h2_limit_continuation=1) as conn:
        conn.send(headers(1, conn.head(), flags=0))
        conn.send(*(continuation(1, literal("x", str(i)), flags=0) for i in range(MANY)))


def empty_continuation_without_end(victim):
    with calmed(victim, h2_limit_continuation=1) as conn:
        conn.send(headers(1, b"", flags=0))
        conn.send(*(continuation(1, b"", flags=0) for _ in range(MANY)))


def heads_of_many_continuations(victim):
    """Each within bounds; there are too many of them."""
    with calmed(victim, h2_glitch_continuation=400, h2_drained=1) as conn:
        head = conn.head()
        for stream in odd_numbers(100):
            conn.send(headers(stream, head, flags=0))
            conn.send(*(continuation(stream, b"", flags=0) for _ in range(7)))
            conn.send(continuation(stream, b""))


def too_large_a_head(victim, fields):
    """Answered with 431; the connection goes on."""
    with counted(victim, h2_glitch_header_list=1), victim.target.connect() as conn:
        conn.send(fields(conn))
        conn.served(1, "431")
        conn.still_serves(3)


def a_head_larger_than_allowed(victim):
    def fields(conn):
        fill = b"".join(literal(f"x-{i}", "v" * 15_000) for i in range(5))
        block = conn.head() + fill
        cuts = range(0, len(block), 16_000)
        parts = [block[at : at + 16_000] for at in cuts]
        rest = [continuation(1, p, flags=0) for p in parts[1:-1]]
        return b"".join([headers(1, parts[0], flags=0), *rest, continuation(1, parts[-1])])

    too_large_a_head(victim, fields)


def a_head_of_too_many_fields(victim):
    too_large_a_head(
        victim, lambda conn: headers(1, conn.head(more=[(f"x-{i}", "") for i in range(150)]))
    )


def a_head_of_too_many_crumbs(victim):
    """Which would make one field of cookie."""
    too_large_a_head(victim, lambda conn: headers(1, conn.head(more=[("cookie", "a=1")] * 150)))


def bomb(victim, fill):
    """A head so far beyond the bounds that there is no answer."""
    with calmed(victim, h2_limit_bomb=1) as conn:
        conn.send(headers(1, conn.head() + fill))


def a_bomb_of_indexed_fields(victim):
    """16 KB that stand for 50 MB: each byte is an entry of 4,000."""
    bomb(victim, literal("x", "v" * 4000, 0x40) + b"\xbe" * 12_000)


def a_bomb_of_indexed_crumbs(victim):
    bomb(victim, literal("cookie", "a=1", 0x40) + b"\xbe" * 12_000)


def a_bomb_of_empty_crumbs(victim):
    bomb(victim, literal("cookie", "", 0x40) + b"\xbe" * 15_000)


def heads_too_large_without_end(victim):
    """Each is answered; all together they are too many."""
    with calmed(victim, h2_glitch_header_list=40, h2_drained=1) as conn:
        head = conn.head(more=[("cookie", "a=1")] * 150)
        conn.send(*(headers(stream, head) for stream in odd_numbers(60)))


# ---- frames that cost more than they say ----


def settings_without_end(victim):
    with calmed(victim, h2_limit_settings=1) as conn:
        conn.send(*(settings((MAX_STREAMS, i)) for i in range(100)))


def settings_of_a_thousand_entries(victim):
    with calmed(victim, h2_limit_settings=1) as conn:
        conn.send(settings(*((0x4D4D, i) for i in range(1000))))


def windows_moved_without_end(victim):
    """By SETTINGS, for each of many streams."""
    with calmed(victim, (INITIAL_WINDOW, 0), h2_limit_settings=1) as conn:
        conn.send(*(headers(stream, conn.head()) for stream in odd_numbers(100)))
        conn.barrier()
        conn.send(*(settings(*((INITIAL_WINDOW, i % 2) for i in range(32))) for _ in range(100)))


def ping_without_end(victim):
    with calmed(victim, h2_limit_ping=1) as conn:
        conn.send(ping() * MANY)


def answers_to_no_ping(victim):
    with calmed(victim, h2_glitch_unknown_frame=900) as conn:
        conn.send(ping(flags=ACK) * MANY)


def acks_of_no_settings(victim):
    with calmed(victim, h2_glitch_unknown_frame=900) as conn:
        conn.send(frame(SETTINGS, ACK, 0) * MANY)


def unknown_frames(victim):
    with calmed(victim, h2_glitch_unknown_frame=900, h2_drained=1) as conn:
        conn.send(frame(UNKNOWN, 0, 0) * MANY)


def priority_without_end(victim):
    with calmed(victim, h2_glitch_priority=900) as conn:
        conn.send(*(priority(2 * i + 1, on=2 * i + 3, exclusive=True) for i in range(MANY)))


def priority_updates_without_end(victim):
    with calmed(victim, h2_glitch_priority=900) as conn:
        conn.send(frame(0x10, 0, 0, b"\0\0\0\1u=1") * MANY)


def empty_data(victim):
    with calmed(victim, h2_glitch_empty_data=300) as conn:
        conn.post(1)
        conn.send(data(1) * MANY)


def content_byte_by_byte(victim):
    with calmed(victim, h2_glitch_small_data=900) as conn:
        conn.post(1)
        conn.send(data(1, b"x") * (2 * MANY))


def more_padding_than_content(victim):
    with calmed(victim, h2_glitch_padding=900) as conn:
        conn.post(1)
        conn.send(data(1, b"x" * 16, pad=17) * (2 * MANY))


def padded_heads(victim):
    with calmed(victim, h2_glitch_padding=900) as conn:
        conn.post(1)  # or it could end when it is drained
        padded = bytes([255]) + conn.head("HEAD") + bytes(255)
        for stream in odd_numbers(MANY)[1:]:
            conn.send(headers(stream, padded, flags=END_HEADERS | PADDED))
            if stream % 100 == 99 and not going_away(conn):
                conn.barrier()


def window_updates_of_the_connection(victim):
    with calmed(victim, h2_glitch_window_update=900) as conn:
        conn.send(window_update(0, 1) * MANY)


def window_updates_of_a_stream(victim):
    with calmed(victim, h2_glitch_window_update=900) as conn:
        conn.post(1)
        conn.send(window_update(1, 1) * MANY)


def window_updates_of_closed_streams(victim):
    with calmed(victim, h2_glitch_closed_stream=900) as conn:
        conn.still_serves(1)
        conn.send(window_update(1, 1) * MANY)


def resets_of_closed_streams(victim):
    with calmed(victim, h2_limit_rst=1) as conn:
        conn.still_serves(1)
        conn.send(rst_stream(1) * MANY)


def streams_beyond_the_limit(victim):
    """Refused one by one, and then all."""
    with calmed(victim, (INITIAL_WINDOW, 0), h2_glitch_refused=200) as conn:
        head = conn.head()
        conn.send(*(headers(stream, head) for stream in odd_numbers(500)))


def drained_at_three_quarters(victim):
    """GOAWAY of no error; what is open is served, and then it ends."""
    with counted(victim, h2_drained=1), victim.target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.get(1)
        conn.send(frame(UNKNOWN, 0, 0) * (GLITCHES * 8 // 10))
        first = conn.until(lambda f: f.type == GOAWAY, "GOAWAY")
        assert first.code == NO_ERROR and first.number == WINDOW_MAX, str(first)
        last = conn.until(lambda f: f.type == GOAWAY, "the second GOAWAY")
        assert last.code == NO_ERROR and last.number == 1, str(last)
        conn.send(settings((INITIAL_WINDOW, WINDOW)))
        conn.served(1)
        conn.closes()


# ---- windows that hold up what is to be sent ----


def windows_of_one_byte(victim):
    """On each of many streams one is sent, one is allowed, and so on."""
    streams = odd_numbers(40)

    def over(f):
        return f.type == GOAWAY and f.code != NO_ERROR

    with counted(victim, h2_calm=1, h2_glitch_small_window=400):
        with victim.target.connect((INITIAL_WINDOW, 0)) as conn:
            head = conn.head(path=victim.target.large)
            conn.send(*(headers(stream, head) for stream in streams))
            allowed = 0
            got = None
            while not got or not over(got):
                if sum(len(conn.answers[stream].body) for stream in streams) == allowed:
                    conn.send(*(window_update(stream, 1) for stream in streams))
                    allowed += len(streams)
                got = conn.until(lambda f: f.type == DATA or over(f), "DATA")
            assert allowed < GLITCHES
            conn.dies_with(got, ENHANCE_YOUR_CALM)


def drip(conn, streams, seconds):
    """A byte for each of them now and then, whatever comes in between."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        conn.send(*(window_update(stream, 1) for stream in streams))
        with contextlib.suppress(Silence):
            while True:
                if conn.read(TIMEOUT / 4).type in (RST_STREAM, GOAWAY):
                    return
    raise AssertionError(f"nothing but a drip for {seconds} s")


def a_window_that_stays_shut(victim):
    """The stream is reset, the connection goes on."""
    with counted(victim, h2_timed_out=1, h2_glitch_stalled=1):
        with victim.target.connect((INITIAL_WINDOW, 0)) as conn:
            conn.get(1)
            conn.until(lambda f: f.type == RST_STREAM, "RST_STREAM", TIMEOUT + SLACK)
            conn.resets(1, CANCEL)
            conn.set((INITIAL_WINDOW, WINDOW))
            conn.still_serves(3)


def a_drip_of_window_updates(victim):
    """A byte now and then is no progress."""
    with counted(victim, h2_timed_out=3, h2_glitch_stalled=3):
        with victim.target.connect((INITIAL_WINDOW, 0)) as conn:
            for stream in 1, 3, 5:
                conn.get(stream, path=victim.target.large)
            drip(conn, (1, 3, 5), 2 * TIMEOUT + SLACK)
            for stream in 1, 3, 5:
                conn.resets(stream, CANCEL)


def many_streams_of_shut_windows(victim):
    """More of them than a decent client has."""
    with counted(victim, h2_calm=1, h2_glitch_stalled=10):
        with victim.target.connect((INITIAL_WINDOW, 0)) as conn:
            conn.send(*(headers(stream, conn.head()) for stream in odd_numbers(100)))
            conn.until(lambda f: f.type == RST_STREAM, "RST_STREAM", TIMEOUT + SLACK)
            conn.dies(ENHANCE_YOUR_CALM)


def a_connection_window_that_stays_shut(victim):
    with counted(victim, h2_timed_out=1, h2_glitch_stalled=1):
        with victim.target.connect((INITIAL_WINDOW, WINDOW_MAX)) as conn:
            conn.get(1, path=victim.target.large)
            conn.wait_data(1, WINDOW)
            conn.until(lambda f: f.type == RST_STREAM, "RST_STREAM", 2 * TIMEOUT + SLACK)
            conn.resets(1, CANCEL)


# ---- time ----


def timed_out(victim, *codes, began, greeted=False):
    """began(conn) is all that is ever said."""
    with counted(victim, h2_timed_out=1, h2_errors=1):
        connect = victim.target.connect if greeted else victim.target.raw
        with connect() as conn:
            conn.acknowledges = False
            began(conn)
            got = conn.until(lambda f: f.type == GOAWAY, "GOAWAY", TIMEOUT + SLACK)
            conn.dies_with(got, *codes)


def no_preface(victim):
    timed_out(victim, ENHANCE_YOUR_CALM, began=lambda conn: None)


def half_a_preface(victim):
    timed_out(victim, ENHANCE_YOUR_CALM, began=lambda conn: conn.send(PREFACE[:12]))


def a_preface_without_settings(victim):
    timed_out(victim, ENHANCE_YOUR_CALM, began=lambda conn: conn.send(PREFACE))


def settings_that_are_not_acknowledged(victim):
    def began(conn):
        conn.send(PREFACE, settings(), headers(1, conn.head()))
        conn.served(1)

    timed_out(victim, SETTINGS_TIMEOUT, began=began)


def half_a_head(victim):
    def began(conn):
        conn.send(headers(1, conn.head(), flags=0))

    timed_out(victim, ENHANCE_YOUR_CALM, began=began, greeted=True)


def half_a_headers_frame(victim):
    """With a stream beside it, so that the connection is not idle."""

    def began(conn):
        conn.post(1)
        conn.send(headers(3, conn.head())[:20])

    timed_out(victim, ENHANCE_YOUR_CALM, began=began, greeted=True)


def a_head_byte_by_byte(victim):
    """Each byte in time, all of them not."""
    with counted(victim, h2_timed_out=1), victim.target.connect() as conn:
        until = time.monotonic() + TIMEOUT + SLACK
        for byte in headers(1, conn.head(more=[("x-fill", "v" * 200)])):
            assert time.monotonic() < until, "still taken"
            conn.send(bytes([byte]))
            with contextlib.suppress(Silence):
                conn.dies_with(conn.read(TIMEOUT / 10), ENHANCE_YOUR_CALM)
                return
        raise AssertionError("all of it was taken")


def going_away(conn):
    return [f for f in conn.frames if f.type == GOAWAY]


def nothing_to_do(victim):
    """An idle connection is ended gently; PING does not keep it."""
    with counted(victim, h2_goaway_tx=1), victim.target.connect() as conn:
        conn.still_serves(1)
        until = time.monotonic() + IDLE + SLACK
        while not going_away(conn):
            assert time.monotonic() < until, "still open"
            conn.send(ping())
            with contextlib.suppress(Silence):
                while not going_away(conn):
                    conn.read(IDLE / 10)
        conn.ends_gently()


def more_streams_than_a_life_has(victim):
    """GOAWAY, and those that were opened are served."""
    with counted(victim, h2_limit_streams=1), victim.target.connect() as conn:
        head = conn.head("HEAD")
        stream = 1
        while not going_away(conn):
            assert stream < 3 * TOTAL_STREAMS, "no GOAWAY"
            some = range(stream, stream + 100, 2)
            conn.send(*(headers(s, head) for s in some))
            for s in some:
                if not going_away(conn):
                    conn.answer(s)
            stream += 100
        assert stream > 2 * TOTAL_STREAMS, "GOAWAY before the last of them"
        conn.ends_gently()


# ---- memory ----


def content_that_nobody_reads(victim):
    """An echo cannot send, so it reads no more than it queues; what waits is bounded."""
    with calmed(victim, (INITIAL_WINDOW, 0), h2_limit_memory=1) as conn:
        for stream in odd_numbers(4):
            conn.post(stream)
            n = min(conn.window, conn.window_of(stream), 240_000)
            conn.upload(stream, bytes(n), end=False)


def content_in_small_pieces_that_nobody_reads(victim):
    """Of 17 bytes, each for another stream: a buffer is not to be held for each."""
    with counted(victim, h2_rx_content=60_000):
        with victim.target.connect((INITIAL_WINDOW, 0)) as conn:
            streams = odd_numbers(30)
            for stream in streams:
                conn.post(stream)
            for _ in range(120):
                for stream in streams:
                    conn.send(data(stream, b"x" * 17))
            conn.barrier()
            conn.set((INITIAL_WINDOW, WINDOW))
            for stream in streams:
                conn.send(data(stream, end=True))
                assert len(conn.served(stream).body) == 120 * 17


def answers_that_nobody_reads(victim):
    """Of many streams with all the room that windows can give, to a socket that is not read."""
    with counted(victim, h2_streams_closed=100):
        conn = victim.target.connect((INITIAL_WINDOW, WINDOW_MAX))
        conn.send(window_update(0, WINDOW_MAX - WINDOW))
        head = conn.head(path=victim.target.large)
        conn.send(*(headers(stream, head) for stream in odd_numbers(100)))
        with victim.target.connect() as other:
            other.barrier()
            other.still_serves(1)
        conn.sock.close()


def connections_that_break_off(victim):
    """In the middle of anything."""
    chance = random.Random(7)
    with counted(victim, h2_opened=60, h2_closed=60):
        for _ in range(60):
            with victim.target.raw() as conn:
                talk = PREFACE + settings() + headers(1, conn.head("POST", victim.target.echo))
                talk += headers(3, conn.head(), flags=0) + continuation(3, b"")
                talk += headers(5, conn.head("POST", victim.target.echo), end=False)
                talk += data(5, bytes(1000), pad=20)
                conn.send(talk[: chance.randrange(len(talk))])


def noise(victim):
    """Behind a good beginning: whatever it is taken for, the connection ends or waits, and ends."""
    chance = random.Random(9)
    with counted(victim, h2_opened=50, h2_closed=50):
        for _ in range(50):
            with victim.target.connect() as conn:
                kinds = bytes(chance.randrange(12) for _ in range(20))
                for kind in kinds:
                    stream = chance.choice((0, 1, 3, 2**31 - 1))
                    length = chance.choice((0, 4, 5, 8, 100))
                    flags = chance.randrange(64)
                    conn.send(frame(kind, flags, stream, chance.randbytes(length)))
                with contextlib.suppress(AssertionError):
                    conn.dies(PROTOCOL_ERROR, FRAME_SIZE_ERROR)


def nothing_is_left(victim):
    """When all these have gone: of those that the server has closed, TIME-WAIT."""

    def settled():
        now = victim.app.snapshot()
        kinds = "h2", "h2_streams"
        return all(now.count(f"{k}_opened") == now.count(f"{k}_closed") for k in kinds)

    poll("all connections and streams end", 5, settled, step=0.05)
    left = [c for c in victim.connections() if c["state"] != "time-wait"]
    assert not left, left[0]
    poll("their buffers come back", 5, lambda: victim.buffers() <= victim.idle + SPARE, step=0.05)


ATTACKS = (
    rapid_reset,
    made_to_reset_by_windows_beyond_their_most,
    made_to_reset_by_increments_of_0,
    made_to_reset_by_data_on_half_closed_streams,
    made_to_reset_by_headers_on_half_closed_streams,
    made_to_reset_by_priority_of_a_wrong_size,
    made_to_reset_by_content_beyond_its_length,
    made_to_reset_by_malformed_requests,
    continuation_without_end,
    empty_continuation_without_end,
    heads_of_many_continuations,
    a_head_larger_than_allowed,
    a_head_of_too_many_fields,
    a_head_of_too_many_crumbs,
    a_bomb_of_indexed_fields,
    a_bomb_of_indexed_crumbs,
    a_bomb_of_empty_crumbs,
    heads_too_large_without_end,
    settings_without_end,
    settings_of_a_thousand_entries,
    windows_moved_without_end,
    ping_without_end,
    answers_to_no_ping,
    acks_of_no_settings,
    unknown_frames,
    priority_without_end,
    priority_updates_without_end,
    empty_data,
    content_byte_by_byte,
    more_padding_than_content,
    padded_heads,
    window_updates_of_the_connection,
    window_updates_of_a_stream,
    window_updates_of_closed_streams,
    resets_of_closed_streams,
    streams_beyond_the_limit,
    drained_at_three_quarters,
    windows_of_one_byte,
    a_window_that_stays_shut,
    a_drip_of_window_updates,
    many_streams_of_shut_windows,
    a_connection_window_that_stays_shut,
    no_preface,
    half_a_preface,
    a_preface_without_settings,
    settings_that_are_not_acknowledged,
    half_a_head,
    half_a_headers_frame,
    a_head_byte_by_byte,
    nothing_to_do,
    more_streams_than_a_life_has,
    content_that_nobody_reads,
    content_in_small_pieces_that_nobody_reads,
    answers_that_nobody_reads,
    connections_that_break_off,
    noise,
    nothing_is_left,
)

# What depends on how TLS hands bytes up, too.
ATTACKS_ON_TLS = (
    rapid_reset,
    ping_without_end,
    content_byte_by_byte,
    windows_of_one_byte,
    no_preface,
    half_a_headers_frame,
    nothing_to_do,
    content_that_nobody_reads,
    content_in_small_pieces_that_nobody_reads,
    answers_that_nobody_reads,
    connections_that_break_off,
    nothing_is_left,
)
