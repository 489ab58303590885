# SPDX-License-Identifier: BSD-3-Clause
"""RFC 9113 5: streams, their states and numbers, priorities, errors, extensions."""
from peer import (
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_SIZE_ERROR,
    GOAWAY,
    INITIAL_WINDOW,
    MAX_STREAMS,
    PRIORITIZED,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    RST_STREAM,
    STREAM_CLOSED,
    case,
    cases,
    conn_dies,
    continuation,
    data,
    dependency,
    frame,
    goes_on,
    headers,
    held,
    literal,
    ping,
    priority,
    rst_stream,
    settings,
    window_update,
)

UNKNOWN = 0x4D  # a type of frame that nobody has defined

# ---- 5.1: states ----

cases(
    "5.1",
    (
        ("idle: DATA", (data(1, b"test", end=True), PROTOCOL_ERROR), "http2/5.1/1", "http2/6.1/2"),
        ("idle: RST_STREAM", (rst_stream(1), PROTOCOL_ERROR), "http2/5.1/2", "http2/6.4/2"),
        ("idle: WINDOW_UPDATE", (window_update(1, 100), PROTOCOL_ERROR), "http2/5.1/3"),
        ("idle: CONTINUATION", (continuation(1, b""), PROTOCOL_ERROR), "http2/5.1/4"),
        ("idle, of our own numbers: DATA", (data(2, b"test"), PROTOCOL_ERROR)),
        ("idle, of our own numbers: WINDOW_UPDATE", (window_update(2, 1), PROTOCOL_ERROR)),
        ("idle, of our own numbers: RST_STREAM", (rst_stream(2), PROTOCOL_ERROR)),
    ),
    conn_dies,
)


@case("5.1", "generic/2/1")
def idle_takes_priority(target):
    with target.connect() as conn:
        conn.send(priority(1))
        conn.barrier()
        conn.still_serves(1)


def half_closed(arguments, target):
    """After END_STREAM only WINDOW_UPDATE, PRIORITY and RST_STREAM may come."""
    with held(target) as conn:
        conn.send(arguments)
        conn.resets(1, STREAM_CLOSED)


cases(
    "5.1",
    (
        ("half-closed: DATA", data(1, b"test", end=True), "http2/5.1/5"),
        ("half-closed: empty DATA", data(1, end=True)),
    ),
    half_closed,
)


@case("5.1", "http2/5.1/6")
def half_closed_headers(target):
    """Or a connection error: trailers after the end are also a breach of 8.1."""
    with held(target) as conn:
        conn.send(headers(1, conn.head()))
        conn.resets_or_dies(1, STREAM_CLOSED)


@case("5.1", "http2/5.1/7")
def half_closed_continuation(target):
    """6.10 makes it a connection error: no block is open."""
    with held(target) as conn:
        conn.send(continuation(1, conn.head()))
        conn.dies(PROTOCOL_ERROR)


@case("5.1", "generic/2/2", "generic/3.9/2")
def half_closed_takes_window_update(target):
    with held(target) as conn:
        conn.send(window_update(1, 1))
        conn.wait_data(1, 1)


@case("5.1", "generic/2/3")
def half_closed_takes_priority(target):
    with held(target) as conn:
        conn.send(priority(1, weight=256), window_update(1, 1))
        conn.wait_data(1, 1)


@case("5.1", "generic/2/4", "generic/3.4/1")
def half_closed_takes_reset(target):
    """And sends nothing on that stream from then on."""
    with held(target) as conn:
        conn.barrier()
        conn.send(rst_stream(1))
        conn.barrier()
        conn.send(settings((INITIAL_WINDOW, 65535)))
        assert not [f for f in conn.barrier() if f.type == DATA]
        conn.still_serves(3)


def after_our_reset(arguments, target):
    """The stream is closed, and we know it: STREAM_CLOSED, of the stream or of the connection."""
    with target.connect() as conn:
        conn.post(1)
        conn.send(rst_stream(1), arguments)
        conn.resets_or_dies(1, STREAM_CLOSED)


cases(
    "5.1",
    (("closed by our reset: DATA", data(1, b"test", end=True), "http2/5.1/8"),),
    after_our_reset,
)


@case("5.1", "http2/5.1/9")
def closed_by_our_reset_headers(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(rst_stream(1), headers(1, conn.head()))
        conn.resets_or_dies(1, STREAM_CLOSED)


@case("5.1", "http2/5.1/10")
def closed_by_our_reset_continuation(target):
    """6.10: no block is open."""
    with target.connect() as conn:
        conn.post(1)
        conn.send(rst_stream(1), continuation(1, conn.head()))
        conn.dies(PROTOCOL_ERROR)


@case("5.1")
def closed_by_our_reset_takes_the_rest(target):
    """PRIORITY always; WINDOW_UPDATE and RST_STREAM may cross with an end."""
    with target.connect() as conn:
        conn.get(1)
        conn.send(rst_stream(1), priority(1), window_update(1, 1), rst_stream(1))
        conn.barrier()
        conn.still_serves(3)


@case("5.1", "http2/5.1/11")
def closed_in_order_data(target):
    """5.1 lets a server make it a connection error; RST_STREAM is the milder form."""
    with target.connect() as conn:
        conn.still_serves(1)
        conn.send(data(1, b"test", end=True))
        conn.resets_or_dies(1, STREAM_CLOSED)


@case("5.1", "http2/5.1/12")
def closed_in_order_headers(target):
    with target.connect() as conn:
        conn.still_serves(1)
        conn.send(headers(1, conn.head()))
        conn.dies(STREAM_CLOSED)


@case("5.1", "http2/5.1/13")
def closed_in_order_continuation(target):
    """6.10: no block is open."""
    with target.connect() as conn:
        conn.still_serves(1)
        conn.send(continuation(1, conn.head()))
        conn.dies(PROTOCOL_ERROR)


@case("5.1", "generic/2/5")
def closed_in_order_takes_the_rest(target):
    """What may have crossed with the end."""
    with target.connect() as conn:
        conn.still_serves(1)
        conn.send(priority(1), window_update(1, 1), rst_stream(1))
        conn.barrier()
        conn.still_serves(3)


@case("5.1")
def closed_by_the_server_takes_what_was_under_way(target):
    """It must discard DATA, trailers and all else that was sent before its reset arrived."""
    with target.connect() as conn:
        conn.post(1, more=[("te", "gzip")])
        conn.send(data(1, b"x" * 1000), data(1, b"x" * 1000))
        conn.resets(1, PROTOCOL_ERROR)
        conn.send(data(1, b"late"), window_update(1, 1), headers(1, literal("x-late", "1")))
        conn.send(rst_stream(1))
        assert not [f for f in conn.barrier() if f.type == GOAWAY]
        conn.still_serves(3)


# ---- 5.1.1, 5.1.2: numbers ----


@case("5.1.1", "http2/5.1.1/1")
def even_streams_are_not_a_clients(target):
    with target.connect() as conn:
        conn.get(2)
        conn.dies(PROTOCOL_ERROR)


@case("5.1.1", "http2/5.1.1/2")
def numbers_only_rise(target):
    with target.connect() as conn:
        conn.get(5)
        conn.served(5)
        conn.get(3)
        conn.dies(PROTOCOL_ERROR)


@case("5.1.1")
def a_number_passed_over_is_closed(target):
    """DATA on it is a frame for a closed stream, which is not silently taken."""
    with target.connect() as conn:
        conn.get(5)
        conn.served(5)
        conn.send(data(3, b"x"))
        conn.resets_or_dies(3, STREAM_CLOSED, PROTOCOL_ERROR)


@case("5.1.1")
def the_largest_number_is_one(target):
    with target.connect() as conn:
        conn.get(2**31 - 1)
        conn.served(2**31 - 1)


@case("5.1.2", "http2/5.1.2/1")
def streams_beyond_the_limit_are_refused(target):
    """PROTOCOL_ERROR would do as well, but tells the client less. Others are not disturbed, and when
    one has ended there is room."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        most = conn.settings[MAX_STREAMS]
        for i in range(most + 1):
            conn.get(2 * i + 1)
        last = 2 * most + 1
        conn.resets(last, REFUSED_STREAM, PROTOCOL_ERROR)
        conn.send(rst_stream(1))
        conn.credit(0, 1 << 20)
        conn.set((INITIAL_WINDOW, 65535))
        conn.served(last - 2)
        conn.still_serves(last + 2)


@case("5.1.2")
def a_refused_block_changes_the_table_all_the_same(target):
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        most = conn.settings[MAX_STREAMS]
        for i in range(most):
            conn.get(2 * i + 1)
        last = 2 * most + 1
        conn.send(headers(last, conn.head() + literal("x-kept", "1", 0x40)))
        conn.resets(last, REFUSED_STREAM, PROTOCOL_ERROR)
        conn.send(*(rst_stream(2 * i + 1) for i in range(most)))
        conn.set((INITIAL_WINDOW, 65535))
        conn.send(headers(last + 2, conn.head() + b"\xbe"))
        conn.served(last + 2)


# ---- 5.3: priorities, which are deprecated, and still have to be received ----

cases(
    "5.3.1",
    (
        ("the lightest weight", priority(1, weight=1), "generic/3.3/1"),
        ("the heaviest weight", priority(1, weight=256), "generic/3.3/2"),
        ("a dependency", priority(5) + priority(7, on=5), "generic/3.3/3"),
        (
            "an exclusive dependency",
            priority(5) + priority(7, on=5, exclusive=True),
            "generic/3.3/4",
        ),
    ),
    goes_on,
)


@case("5.3.1", "generic/3.3/5")
def priority_of_an_idle_stream_opens_none(target):
    with target.connect() as conn:
        conn.send(priority(9))
        conn.still_serves(3)


@case("7540 5.3.1", "http2/5.3.1/1")
def headers_that_depend_on_themselves(target):
    """RFC 9113 has taken this rule back, and lets one keep it."""
    with target.connect() as conn:
        head = dependency(on=1) + conn.head()
        conn.send(headers(1, head, flags=END_HEADERS | PRIORITIZED))
        conn.resets_or_dies(1, PROTOCOL_ERROR)


@case("7540 5.3.1", "http2/5.3.1/2")
def priority_that_depends_on_itself(target):
    with held(target) as conn:
        conn.send(priority(1, on=1))
        conn.resets_or_dies(1, PROTOCOL_ERROR)


# ---- 5.4, 5.5 ----


@case("5.4.1", "http2/5.4.1/1", "http2/5.4.1/2")
def goaway_says_what_was_processed_and_the_connection_ends(target):
    with target.connect() as conn:
        conn.still_serves(1)
        conn.still_serves(3)
        conn.send(ping(b"short"))
        assert conn.dies(FRAME_SIZE_ERROR).number == 3


@case("5.4.2")
def a_reset_is_not_answered_with_a_reset(target):
    with held(target) as conn:
        conn.barrier()
        conn.send(rst_stream(1, PROTOCOL_ERROR))
        assert not [f for f in conn.barrier() if f.type == RST_STREAM]


cases(
    "5.5",
    (
        (
            "unknown frames are ignored wherever they are for",
            b"".join(frame(UNKNOWN, 0xFF, stream, b"what?") for stream in (0, 1, 2, 99)),
            "http2/5.5/1",
        ),
        ("types of other RFCs are ignored", frame(0xA, 0, 0, b"\0\0x=y") + frame(0xC, 0, 0)),
    ),
    goes_on,
)


@case("5.5")
def unknown_frames_on_an_open_stream_are_ignored(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, b"one "), frame(UNKNOWN, END_STREAM, 1, b"x"), data(1, b"two", end=True))
        assert conn.served(1).body == b"one two"
