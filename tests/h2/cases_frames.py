# SPDX-License-Identifier: BSD-3-Clause
"""RFC 9113 3, 4, 6 and 7: how a connection begins, and each frame. Windows are in cases_flow.py.

Where the RFC asks for a connection error, GOAWAY with that code and then the end are asked for; for
a stream error RST_STREAM, and that the connection goes on, although a server may be harsher (5.4.1).
Each case that accepts more says why."""
from peer import (
    ACK,
    CANCEL,
    COMPRESSION_ERROR,
    CONNECT_PROTOCOL,
    CONTINUATION,
    DATA,
    ENABLE_PUSH,
    END_HEADERS,
    END_STREAM,
    FLOW_CONTROL_ERROR,
    FRAME,
    FRAME_SIZE_ERROR,
    GOAWAY,
    HEADERS,
    HEADER_TABLE_SIZE,
    INITIAL_WINDOW,
    MAX_FRAME,
    MAX_HEADER_LIST,
    MAX_STREAMS,
    NO_PRIORITIES,
    PADDED,
    PING,
    PREFACE,
    PRIORITIZED,
    PRIORITY,
    PROTOCOL_ERROR,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    case,
    cases,
    conn_dies,
    continuation,
    data,
    dependency,
    frame,
    goaway,
    goes_on,
    headers,
    held,
    literal,
    ping,
    priority,
    rst_stream,
    settings,
    u32,
    window_update,
)

UNKNOWN = 0x4D  # a type of frame that nobody has defined
STRANGE = 0x4D4D  # nor this setting


# ---- 3: how it begins ----


@case("3.4", "http2/3.5/1")
def settings_come_first(target):
    with target.raw() as conn:
        conn.greet()
        assert conn.settings.get(ENABLE_PUSH, 0) == 0, "a server that announces ENABLE_PUSH"


@case("3.4", "generic/1/1")
def a_preface_is_answered(target):
    with target.connect() as conn:
        conn.barrier()


@case("3.4")
def a_preface_may_come_byte_by_byte(target):
    with target.raw() as conn:
        for byte in PREFACE:
            conn.send(bytes([byte]))
        conn.greet_rest()
        conn.still_serves(1)


@case("3.4")
def requests_need_not_wait_for_settings(target):
    with target.raw() as conn:
        conn.send(PREFACE, settings(), headers(1, conn.head()))
        conn.served(1)


@case("3.4", "http2/3.5/2")
def an_invalid_preface_ends_it(target):
    """Treated as PROTOCOL_ERROR; GOAWAY may be left out, as the peer may not speak HTTP/2."""
    for bad in PREFACE.replace(b"SM", b"XX"), b"GET / HTTP/1.1\r\nhost: example.org\r\n\r\n":
        with target.raw() as conn:
            conn.send(bad, settings())
            conn.ends_unspoken()


@case("3.4")
def a_preface_without_settings_is_an_error(target):
    with target.raw() as conn:
        conn.send(PREFACE, ping())
        conn.dies(PROTOCOL_ERROR)


@case("3.4")
def an_ack_is_no_preface(target):
    with target.raw() as conn:
        conn.send(PREFACE, frame(SETTINGS, ACK, 0))
        conn.dies(PROTOCOL_ERROR)


# ---- 4: frames ----

cases(
    "4.1",
    (
        ("a frame of an unknown type is ignored", frame(UNKNOWN, 0, 0, bytes(8)), "http2/4.1/1"),
        ("undefined flags are ignored", ping(flags=0xFE), "http2/4.1/2"),
        (
            "the reserved bit is ignored",
            frame(PING, 0, 1 << 31, bytes(8)) + frame(SETTINGS, 0, 1 << 31),
            "http2/4.1/3",
        ),
    ),
    goes_on,
)


@case("4.1")
def the_reserved_bit_of_a_stream_is_ignored(target):
    with target.connect() as conn:
        conn.send(headers(1 | 1 << 31, conn.head()))
        conn.served(1)


@case("4.1")
def undefined_flags_of_headers_are_ignored(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head(), flags=END_HEADERS | 0xD2))
        conn.served(1)


@case("4.2", "http2/4.2/1")
def a_frame_of_16384_bytes_is_taken(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, bytes(FRAME), end=True))
        assert conn.served(1).body == bytes(FRAME)


@case("4.2", "http2/4.2/2")
def a_larger_data_frame_is_refused(target):
    """A stream error would do: DATA alters no state but its stream's and the window."""
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, bytes(conn.max_frame() + 1), end=True))
        conn.resets_or_dies(1, FRAME_SIZE_ERROR)


@case("4.2", "http2/4.2/3")
def a_larger_headers_frame_is_refused(target):
    with target.connect() as conn:
        fill = literal("x-fill", "a" * (conn.max_frame() + 1))
        conn.send(headers(1, conn.head() + fill))
        conn.dies(FRAME_SIZE_ERROR)


@case("4.2")
def a_larger_frame_of_unknown_type_is_refused(target):
    with target.connect() as conn:
        conn.send(frame(UNKNOWN, 0, 0, bytes(conn.max_frame() + 1)))
        conn.dies(FRAME_SIZE_ERROR)


@case("4.2")
def a_length_alone_is_enough_to_refuse_it(target):
    """Of a frame that says 16 MiB only the header has come."""
    with target.connect() as conn:
        conn.send(frame(SETTINGS, 0, 0, length=0xFFFFFF))
        conn.dies(FRAME_SIZE_ERROR)


cases(
    "4.2",
    (
        (
            "HEADERS too short for their priority",
            (frame(HEADERS, PRIORITIZED | END_HEADERS, 1, bytes(4)), FRAME_SIZE_ERROR),
        ),
        (
            "PADDED without the byte that says how much",  # an empty pad length field
            (frame(HEADERS, PADDED | END_HEADERS, 1), FRAME_SIZE_ERROR, PROTOCOL_ERROR),
        ),
        ("GOAWAY too short", (frame(GOAWAY, 0, 0, bytes(7)), FRAME_SIZE_ERROR)),
    ),
    conn_dies,
)


@case("4.2")
def the_server_keeps_to_our_frame_size(target):
    """Peer's check of each frame's length; here content that needs more than one."""
    with target.connect() as conn:
        conn.get(1, path=target.large)
        conn.wait_data(1, 65535)
        sizes = {len(f.payload) for f in conn.frames if f.type == DATA}
        assert max(sizes) <= FRAME


@case("4.3", "http2/4.3/1")
def a_block_that_cannot_be_decoded_is_an_error(target):
    with target.connect() as conn:
        conn.send(headers(1, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
        conn.dies(COMPRESSION_ERROR)


def within_block(between, target):
    """A block is open, and something other than its CONTINUATION comes (4.3, 6.2)."""
    with target.connect() as conn:
        conn.send(headers(1, conn.head(), flags=0), between, continuation(1, b""))
        conn.dies(PROTOCOL_ERROR)


cases(
    "4.3",
    (
        ("PRIORITY within a block", priority(1), "http2/4.3/2", "http2/6.2/1"),
        ("HEADERS of another stream within a block", headers(3, b""), "http2/4.3/3", "http2/6.2/2"),
        ("HEADERS of the same stream within a block", headers(1, b"")),
        ("DATA within a block", data(1, b"x"), "http2/6.10/2"),
        ("RST_STREAM within a block", rst_stream(1)),
        ("SETTINGS within a block", settings()),
        ("PING within a block", ping()),
        ("GOAWAY within a block", goaway(0)),
        ("WINDOW_UPDATE within a block", window_update(0, 1)),
        ("CONTINUATION of another stream within a block", continuation(3, b"")),
        ("an unknown frame within a block", frame(UNKNOWN, 0, 0, b"x"), "http2/5.5/2"),
    ),
    within_block,
)


@case("4.3")
def a_block_of_a_refused_request_changes_the_table_all_the_same(target):
    """Malformed, so that its stream is reset; the entry that it made is used by the next."""
    with target.connect() as conn:
        conn.send(headers(1, conn.head(more=[("te", "gzip")]) + literal("x-kept", "1", 0x40)))
        conn.resets(1, PROTOCOL_ERROR)
        conn.send(headers(3, conn.head() + b"\xbe"))  # 62: the first of the dynamic table
        conn.served(3)


# ---- 6: each frame ----

cases(
    "6.1",
    (
        ("DATA of stream 0", (data(0, b"test", end=True), PROTOCOL_ERROR), "http2/6.1/1"),
        ("empty DATA of stream 0", (data(0), PROTOCOL_ERROR)),
    ),
    conn_dies,
)


@case("6.1", "http2/6.1/3")
def more_padding_than_data(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(frame(DATA, PADDED | END_STREAM, 1, b"\x05test"))
        conn.dies(PROTOCOL_ERROR)


@case("6.1")
def as_much_padding_as_data(target):
    """Is one byte too much: the byte that says so counts."""
    with target.connect() as conn:
        conn.post(1)
        conn.send(frame(DATA, PADDED | END_STREAM, 1, b"\x01"))
        conn.dies(PROTOCOL_ERROR)


@case("6.1")
def padded_data_without_a_length_of_padding(target):
    """4.2, or 6.1 where its lack is read as too much padding."""
    with target.connect() as conn:
        conn.post(1)
        conn.send(frame(DATA, PADDED | END_STREAM, 1))
        conn.resets_or_dies(1, FRAME_SIZE_ERROR, PROTOCOL_ERROR)


def echoed(arguments, target):
    """frames on stream 1, and the content they make."""
    frames, content = arguments
    with target.connect() as conn:
        conn.post(1)
        conn.send(frames)
        assert conn.served(1).body == content


cases(
    "6.1",
    (
        ("one DATA frame", (data(1, b"test", end=True), b"test"), "generic/3.1/1"),
        ("two DATA frames", (data(1, b"te") + data(1, b"st", end=True), b"test"), "generic/3.1/2"),
        ("padded DATA", (data(1, b"test", end=True, pad=8), b"test"), "generic/3.1/3"),
        ("padding of none", (data(1, b"test", end=True, pad=0), b"test")),
        ("nothing but padding", (data(1, b"te") + data(1, end=True, pad=255), b"te")),
        ("an empty end", (data(1, b"test") + data(1, end=True), b"test")),
        ("no content", (data(1, end=True), b"")),
    ),
    echoed,
)


@case("6.2", "generic/3.2/1", "generic/4/1")
def a_request_is_answered(target):
    with target.connect() as conn:
        conn.get(1)
        assert conn.served(1).body


def padded_head(conn, pad, flags=0, extra=b""):
    return headers(
        1, bytes([pad]) + extra + conn.head() + bytes(pad), flags=END_HEADERS | PADDED | flags
    )


@case("6.2", "generic/3.2/2")
def padded_headers(target):
    with target.connect() as conn:
        conn.send(padded_head(conn, 100))
        conn.served(1)


@case("6.2", "generic/3.2/3")
def headers_with_priority(target):
    with target.connect() as conn:
        head = dependency(weight=200, exclusive=True) + conn.head()
        conn.send(headers(1, head, flags=END_HEADERS | PRIORITIZED))
        conn.served(1)


@case("6.2")
def padded_headers_with_priority(target):
    with target.connect() as conn:
        conn.send(padded_head(conn, 255, PRIORITIZED, dependency()))
        conn.served(1)


@case("6.2", "http2/6.2/3")
def headers_of_stream_0(target):
    with target.connect() as conn:
        conn.get(0)
        conn.dies(PROTOCOL_ERROR)


@case("6.2", "http2/6.2/4")
def more_padding_than_headers(target):
    with target.connect() as conn:
        head = conn.head()
        conn.send(headers(1, bytes([len(head) + 1]) + head, flags=END_HEADERS | PADDED))
        conn.dies(PROTOCOL_ERROR)


@case("6.2")
def padding_that_takes_of_the_priority(target):
    with target.connect() as conn:
        conn.send(headers(1, b"\x05" + bytes(8), flags=END_HEADERS | PADDED | PRIORITIZED))
        conn.dies(PROTOCOL_ERROR)


cases(
    "6.3",
    (
        ("PRIORITY of stream 0", (priority(0), PROTOCOL_ERROR), "http2/6.3/1"),
        ("RST_STREAM of stream 0", (rst_stream(0), PROTOCOL_ERROR), "http2/6.4/1"),
    ),
    conn_dies,
)


@case("6.3", "http2/6.3/2")
def priority_of_a_wrong_length(target):
    """A stream error; of an idle stream, which cannot be reset, rather a connection error."""
    for size in 4, 6:
        with held(target) as conn:
            conn.send(frame(PRIORITY, 0, 1, bytes(size)))
            conn.resets_or_dies(1, FRAME_SIZE_ERROR)


@case("6.4", "http2/6.4/3")
def rst_stream_of_a_wrong_length(target):
    for size in 0, 3, 5:
        with held(target) as conn:
            conn.send(frame(RST_STREAM, 0, 1, bytes(size)))
            conn.dies(FRAME_SIZE_ERROR)


cases(
    "6.5",
    (
        (
            "an ACK with content",
            (frame(SETTINGS, ACK, 0, bytes(6)), FRAME_SIZE_ERROR),
            "http2/6.5/1",
        ),
        ("SETTINGS of a stream", (frame(SETTINGS, 0, 1), PROTOCOL_ERROR), "http2/6.5/2"),
        ("an ACK of a stream", (frame(SETTINGS, ACK, 1), PROTOCOL_ERROR)),
        (
            "a length that is no multiple of 6",
            (frame(SETTINGS, 0, 0, bytes(3)), FRAME_SIZE_ERROR),
            "http2/6.5/3",
        ),
        ("entries and a rest", (frame(SETTINGS, 0, 0, bytes(13)), FRAME_SIZE_ERROR)),
    ),
    conn_dies,
)

cases(
    "6.5.2",
    (
        (
            "ENABLE_PUSH of 2",
            (settings((ENABLE_PUSH, 2)), PROTOCOL_ERROR),
            "http2/6.5.2/1",
        ),
        (
            "INITIAL_WINDOW_SIZE of 2^31",
            (settings((INITIAL_WINDOW, 1 << 31)), FLOW_CONTROL_ERROR),
            "http2/6.5.2/2",
            "http2/6.9.2/3",
        ),
        (
            "MAX_FRAME_SIZE of 16,383",
            (settings((MAX_FRAME, FRAME - 1)), PROTOCOL_ERROR),
            "http2/6.5.2/3",
        ),
        (
            "MAX_FRAME_SIZE of 2^24",
            (settings((MAX_FRAME, 1 << 24)), PROTOCOL_ERROR),
            "http2/6.5.2/4",
        ),
        (
            "a bad entry behind good ones",
            (settings((MAX_STREAMS, 7), (ENABLE_PUSH, 0), (MAX_FRAME, 0)), PROTOCOL_ERROR),
        ),
    ),
    conn_dies,
)

cases(
    "6.5.2",
    (
        ("unknown settings are ignored", settings((STRANGE, 1), (0, 5)), "http2/6.5.2/5"),
        ("no settings at all", settings(), "generic/3.5/1"),
        (
            "each setting at its bounds",
            settings((MAX_STREAMS, 0), (MAX_STREAMS, 2**32 - 1), (MAX_HEADER_LIST, 2**32 - 1))
            + settings((MAX_FRAME, FRAME), (MAX_FRAME, 2**24 - 1), (MAX_FRAME, FRAME))
            + settings((INITIAL_WINDOW, 2**31 - 1), (INITIAL_WINDOW, 65535))
            + settings((HEADER_TABLE_SIZE, 2**32 - 1), (HEADER_TABLE_SIZE, 4096))
            + settings((ENABLE_PUSH, 1), (ENABLE_PUSH, 0)),
        ),
    ),
    goes_on,
)


@case("9218 2.1")
def no_rfc7540_priorities_of_2(target):
    """By a server that does not know the setting it is ignored."""
    with target.raw() as conn:
        conn.send(PREFACE, settings((NO_PRIORITIES, 2)))
        got = conn.until(lambda f: f.type == GOAWAY or f.is_ack(SETTINGS), "an answer")
        if got.type == GOAWAY or NO_PRIORITIES in conn.settings:
            conn.dies_with(got, PROTOCOL_ERROR)


@case("8441 3")
def enable_connect_protocol_is_0_or_1(target):
    with target.connect((CONNECT_PROTOCOL, 1)) as conn:
        assert conn.settings.get(CONNECT_PROTOCOL, 0) in (0, 1)
        conn.still_serves(1)


@case("6.5.3", "http2/6.5.3/1")
def of_one_setting_twice_the_last_counts(target):
    with target.connect((INITIAL_WINDOW, 100), (INITIAL_WINDOW, 1)) as conn:
        conn.get(1)
        conn.wait_data(1, 1)
        conn.barrier()
        assert len(conn.answers[1].body) == 1


@case("6.5.3", "http2/6.5.3/2")
def each_settings_frame_is_acknowledged(target):
    with target.connect() as conn:
        seen = len(conn.frames)
        conn.send(*(settings((MAX_STREAMS, 100 + i)) for i in range(5)))
        conn.barrier()
        acks = [f for f in conn.frames[seen:] if f.is_ack(SETTINGS)]
        assert len(acks) == 5, f"{len(acks)} ACKs of 5 SETTINGS"
        assert all(not f.payload for f in acks)


@case("6.5.3")
def settings_are_in_force_when_acknowledged(target):
    """A stream that waits for the window of a second SETTINGS sends nothing before that ACK."""
    with held(target) as conn:
        conn.barrier()
        seen = len(conn.frames)
        conn.send(settings((INITIAL_WINDOW, 10)))
        conn.wait_data(1, 10)
        kinds = [f.type for f in conn.frames[seen:] if f.type == DATA or f.is_ack(SETTINGS)]
        assert kinds == [SETTINGS, DATA], "DATA before the ACK of what allows it"


@case("6.5.3")
def an_ack_of_nothing_is_not_answered(target):
    """It may be taken for a protocol error, as it answers nothing."""
    with target.connect() as conn:
        conn.barrier()
        conn.send(frame(SETTINGS, ACK, 0), ping())
        got = conn.until(lambda f: f.type != WINDOW_UPDATE, "an answer to PING")
        if not got.is_ack(PING):
            conn.dies_with(got, PROTOCOL_ERROR)


cases(
    "8.4",
    (
        (
            "a client does not push",
            (frame(PUSH_PROMISE, END_HEADERS, 1, u32(2)), PROTOCOL_ERROR),
            "http2/8.2/1",
        ),
    ),
    conn_dies,
)


@case("8.4")
def a_client_does_not_push_on_an_open_stream(target):
    with held(target) as conn:
        conn.send(frame(PUSH_PROMISE, END_HEADERS, 1, u32(2) + conn.head()))
        conn.dies(PROTOCOL_ERROR)


@case("6.7", "http2/6.7/1", "generic/3.7/1")
def ping_is_answered_with_what_it_said(target):
    with target.connect() as conn:
        conn.send(ping(b"\x00\xffwhat\x80\x01"))
        got = conn.until(lambda f: f.type == PING, "PING")
        assert got.flags == ACK and got.payload == b"\x00\xffwhat\x80\x01" and not got.stream


@case("6.7", "http2/6.7/2")
def an_answer_to_ping_is_not_answered(target):
    with target.connect() as conn:
        conn.send(ping(b"unasked!", ACK))
        assert not [f for f in conn.barrier() if f.type == PING]


cases(
    "6.7",
    (
        ("PING of a stream", (frame(PING, 0, 1, bytes(8)), PROTOCOL_ERROR), "http2/6.7/3"),
        ("a short PING", (ping(bytes(7)), FRAME_SIZE_ERROR), "http2/6.7/4"),
        ("a long PING", (ping(bytes(9)), FRAME_SIZE_ERROR)),
        ("an empty PING", (ping(b""), FRAME_SIZE_ERROR)),
        ("a short answer to PING", (ping(bytes(6), ACK), FRAME_SIZE_ERROR)),
        ("GOAWAY of a stream", (frame(GOAWAY, 0, 1, bytes(8)), PROTOCOL_ERROR), "http2/6.8/1"),
    ),
    conn_dies,
)


@case("6.8", "generic/3.8/1")
def goaway_of_ours_lets_streams_end(target):
    """And then the server has no reason to keep the connection."""
    with held(target) as conn:
        conn.send(goaway(0, debug=b"that is all"))
        conn.set((INITIAL_WINDOW, 65535))
        conn.served(1)


@case("6.8")
def goaway_twice(target):
    with held(target) as conn:
        conn.send(goaway(2**31 - 2), goaway(0), window_update(1, 1))
        conn.wait_data(1, 1)


@case("7", "http2/7/1")
def an_unknown_error_in_goaway(target):
    """No special behaviour: what is open goes on."""
    with held(target) as conn:
        conn.send(goaway(0, code=0xFF), window_update(1, 1))
        conn.wait_data(1, 1)


@case("7", "http2/7/2")
def an_unknown_error_in_rst_stream(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(rst_stream(1, 0xFF))
        conn.barrier()
        conn.still_serves(3)


# ---- 6.10 ----


def in_pieces(conn, sizes):
    """A request whose block is cut after each of these sizes, the rest at the end."""
    head = conn.head()
    cuts = [0, *sizes, len(head)]
    pieces = [head[a:b] for a, b in zip(cuts, cuts[1:])]
    first = headers(1, pieces[0], flags=0)
    middle = [continuation(1, piece, flags=0) for piece in pieces[1:-1]]
    return b"".join([first, *middle, continuation(1, pieces[-1])])


def continued(sizes, target):
    with target.connect() as conn:
        conn.send(in_pieces(conn, sizes))
        conn.served(1)


cases(
    "6.10",
    (
        ("one CONTINUATION", [5], "generic/3.10/1"),
        ("CONTINUATIONs", [1, 2, 20], "generic/3.10/2", "http2/6.10/1"),
        ("an empty block in HEADERS", [0]),
        ("an empty CONTINUATION at the end", [5, 10**6]),
        ("an empty CONTINUATION in between", [5, 5, 9]),
    ),
    continued,
)

cases(
    "6.10",
    (("CONTINUATION of stream 0", (continuation(0, b""), PROTOCOL_ERROR)),),
    conn_dies,
)


@case("6.10", "http2/6.10/3")
def continuation_of_stream_0_within_a_block(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head(), flags=0), continuation(0, b""))
        conn.dies(PROTOCOL_ERROR)


@case("6.10", "http2/6.10/4")
def continuation_after_the_end_of_headers(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head(), end=False), continuation(1, conn.head()))
        conn.dies(PROTOCOL_ERROR)


@case("6.10", "http2/6.10/5")
def continuation_after_the_end_of_continuation(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head(), end=False, flags=0))
        conn.send(continuation(1, b""), continuation(1, b""))
        conn.dies(PROTOCOL_ERROR)


@case("6.10", "http2/6.10/6")
def continuation_after_data(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, b"x"), continuation(1, b""))
        conn.dies(PROTOCOL_ERROR)


@case("6.10")
def continuation_keeps_the_end_of_its_headers(target):
    """END_STREAM is of HEADERS; that bit of CONTINUATION means nothing."""
    with target.connect() as conn:
        head = conn.head("POST", target.echo)
        conn.send(headers(1, head[:9], end=False, flags=0))
        conn.send(frame(CONTINUATION, END_HEADERS | 1, 1, head[9:]), data(1, b"x", end=True))
        assert conn.served(1).body == b"x"


@case("6.10")
def padding_is_not_part_of_a_block_in_pieces(target):
    with target.connect() as conn:
        head = conn.head()
        conn.send(headers(1, b"\x07" + head[:9] + bytes(7), flags=PADDED))
        conn.send(continuation(1, head[9:]))
        conn.served(1)


# ---- frames that come slowly ----


@case("4.1")
def frames_may_come_byte_by_byte(target):
    with target.connect() as conn:
        request = headers(1, conn.head("POST", target.echo), end=False)
        for byte in request + data(1, b"slow", end=True, pad=3):
            conn.send(bytes([byte]))
        assert conn.served(1).body == b"slow"


@case("6.4")
def a_reset_makes_room_for_another(target):
    """Streams that we reset do not count as open."""
    with target.connect() as conn:
        most = min(conn.settings.get(MAX_STREAMS, 100), 300)
        for i in range(most + 10):
            conn.post(2 * i + 1)
            conn.send(rst_stream(2 * i + 1, CANCEL))
        conn.barrier()
        conn.still_serves(2 * most + 101)
