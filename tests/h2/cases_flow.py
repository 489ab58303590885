# SPDX-License-Identifier: BSD-3-Clause
"""RFC 9113 5.2 and 6.9: windows, of what the server sends and of what it receives."""
from peer import (
    DATA,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    INITIAL_WINDOW,
    PROTOCOL_ERROR,
    WINDOW,
    WINDOW_MAX,
    WINDOW_UPDATE,
    case,
    cases,
    data,
    frame,
    held,
    settings,
    u32,
    window_update,
)
from tap import Missing

BIG = bytes(range(256)) * 1200  # 307,200 bytes


def nothing_more(conn, stream, n):
    """So much content has come, and no more comes."""
    conn.wait_data(stream, n)
    conn.barrier()
    got = len(conn.answers[stream].body)
    assert got == n, f"{got} bytes, not {n}"
    assert not conn.answers[stream].ended


# ---- what the server sends ----


@case("6.9", "generic/3.9/1")
def window_update_of_the_connection_is_taken(target):
    with target.connect() as conn:
        conn.send(window_update(0, 1))
        conn.still_serves(1)


@case("6.9.1", "http2/6.9.1/1")
def a_window_of_one_byte_lets_one_go(target):
    with target.connect((INITIAL_WINDOW, 1)) as conn:
        conn.get(1)
        nothing_more(conn, 1, 1)


@case("6.9.1")
def a_window_of_0_lets_only_headers_go(target):
    with held(target) as conn:
        nothing_more(conn, 1, 0)
        if not conn.answers[1].fields:
            conn.until(lambda f: f.stream == 1, "HEADERS")
        assert conn.answers[1].status == "200"


@case("6.9.1")
def window_updates_let_exactly_as_much_go(target):
    with held(target) as conn:
        total = 0
        for n in 1, 9, 90, 900:
            conn.send(window_update(1, n))
            total += n
            nothing_more(conn, 1, total)


@case("6.9.1")
def the_connections_window_is_a_bound_of_its_own(target):
    """Peer's own check fails on DATA beyond it."""
    with target.connect((INITIAL_WINDOW, 100 * WINDOW)) as conn:
        conn.get(1, path=target.large)
        nothing_more(conn, 1, WINDOW)
        conn.credit(0, 1000)
        nothing_more(conn, 1, WINDOW + 1000)


@case("6.9.1")
def the_connections_window_is_shared(target):
    with target.connect((INITIAL_WINDOW, 100 * WINDOW)) as conn:
        conn.get(1, path=target.large)
        conn.get(3, path=target.large)
        one, other = conn.answers[1], conn.answers[3]
        while len(one.body) + len(other.body) < WINDOW:
            conn.until(lambda f: f.type == DATA, "DATA")
        conn.get(5)
        conn.barrier()
        assert not conn.answers[5].body
        conn.credit(0, 100 * WINDOW)
        assert conn.answer(1).body == conn.answer(3).body
        conn.served(5)


@case("6.9.1")
def other_frames_go_when_the_window_is_shut(target):
    with target.connect((INITIAL_WINDOW, 100 * WINDOW)) as conn:
        conn.get(1, path=target.large)
        nothing_more(conn, 1, WINDOW)
        conn.set()
        conn.get(3)
        conn.until(lambda f: f.stream == 3, "HEADERS")
        assert conn.answers[3].status == "200"


@case("6.9.1")
def window_update_of_a_stream_opens_only_its_own(target):
    with held(target) as conn:
        conn.get(3)
        conn.send(window_update(3, 10))
        nothing_more(conn, 3, 10)
        assert not conn.answers[1].body


@case("6.9")
def the_reserved_bit_of_an_increment_is_ignored(target):
    with held(target) as conn:
        conn.send(frame(WINDOW_UPDATE, 0, 1, u32(1 << 31 | 5)))
        nothing_more(conn, 1, 5)


@case("6.9.2", "http2/6.9.2/1")
def a_larger_initial_window_opens_streams_that_are_there(target):
    with held(target) as conn:
        conn.send(settings((INITIAL_WINDOW, 1)))
        nothing_more(conn, 1, 1)


@case("6.9.2", "http2/6.9.2/2")
def a_smaller_initial_window_may_make_windows_negative(target):
    with held(target) as conn:
        conn.set((INITIAL_WINDOW, 3))
        nothing_more(conn, 1, 3)
        conn.set((INITIAL_WINDOW, 2))
        conn.send(window_update(1, 2))
        nothing_more(conn, 1, 4)


@case("6.9.2")
def a_window_far_below_0_is_remembered(target):
    with held(target) as conn:
        conn.set((INITIAL_WINDOW, 2000))
        nothing_more(conn, 1, 2000)
        conn.set((INITIAL_WINDOW, 0))
        conn.send(window_update(1, 1999))
        nothing_more(conn, 1, 2000)
        conn.send(window_update(1, 1))
        nothing_more(conn, 1, 2000)
        conn.send(window_update(1, 1))
        nothing_more(conn, 1, 2001)
        conn.set((INITIAL_WINDOW, WINDOW))
        conn.served(1)


@case("6.9.2")
def the_initial_window_is_none_of_the_connections(target):
    """Which only WINDOW_UPDATE changes."""
    with target.connect((INITIAL_WINDOW, 100 * WINDOW)) as conn:
        conn.get(1, path=target.large)
        nothing_more(conn, 1, WINDOW)
        conn.set((INITIAL_WINDOW, 200 * WINDOW))
        nothing_more(conn, 1, WINDOW)


@case("6.9.2")
def a_new_initial_window_is_of_new_streams_too(target):
    with held(target) as conn:
        conn.set((INITIAL_WINDOW, 7))
        conn.get(3)
        nothing_more(conn, 3, 7)


# ---- the end, which needs no window ----


@case("6.9.1")
def the_end_goes_out_at_a_window_of_0(target):
    """Of exactly the size of the content."""
    with target.connect() as conn:
        conn.get(1)
        size = len(conn.served(1).body)
    with target.connect((INITIAL_WINDOW, size)) as conn:
        conn.get(1)
        assert len(conn.served(1).body) == size


def echo_with_a_window(target, shrink):
    """Ten bytes there and back use all of the window; then comes the end alone."""
    with target.connect((INITIAL_WINDOW, 10)) as conn:
        conn.post(1)
        conn.send(data(1, b"0123456789"))
        try:
            nothing_more(conn, 1, 10)
        except AssertionError:
            if conn.answers[1].fields is None:
                raise Missing("an echo that waits for the end of what it echoes") from None
            raise
        conn.set((INITIAL_WINDOW, 10 - shrink))
        conn.send(data(1, end=True))
        assert conn.served(1).body == b"0123456789"


cases(
    "6.9.1",
    (
        ("an end behind the content goes out at a window of 0", 0),
        ("an end behind the content goes out at a negative window", 10),
    ),
    lambda shrink, target: echo_with_a_window(target, shrink),
)


@case("6.9.1")
def an_empty_answer_needs_no_window(target):
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.post(1)
        conn.send(data(1, end=True))
        assert conn.served(1).body == b""
        conn.get(3, method="HEAD")
        conn.served(3)


# ---- wrong increments ----


def held_dies(arguments, target):
    bad, code = arguments
    with held(target) as conn:
        conn.send(bad)
        conn.dies(code)


cases(
    "6.9",
    (
        (
            "an increment of 0 for the connection",
            (window_update(0, 0), PROTOCOL_ERROR),
            "http2/6.9/1",
        ),
        (
            "WINDOW_UPDATE too short",
            (frame(WINDOW_UPDATE, 0, 0, bytes(3)), FRAME_SIZE_ERROR),
            "http2/6.9/3",
        ),
        (
            "WINDOW_UPDATE of a stream too long",
            (frame(WINDOW_UPDATE, 0, 1, bytes(5)), FRAME_SIZE_ERROR),
        ),
        (
            "a window of the connection beyond 2^31-1",
            (window_update(0, WINDOW_MAX), FLOW_CONTROL_ERROR),
            "http2/6.9.1/2",
        ),
        (
            "a window of the connection beyond 2^31-1 by one",
            (window_update(0, WINDOW_MAX - WINDOW) + window_update(0, 1), FLOW_CONTROL_ERROR),
        ),
        (
            "an initial window that takes a stream beyond 2^31-1",
            (
                window_update(1, WINDOW_MAX) + settings((INITIAL_WINDOW, 1)),
                FLOW_CONTROL_ERROR,
            ),
        ),
    ),
    held_dies,
)


@case("6.9", "http2/6.9/2")
def an_increment_of_0_for_a_stream(target):
    with held(target) as conn:
        conn.send(window_update(1, 0))
        conn.resets(1, PROTOCOL_ERROR)


@case("6.9.1", "http2/6.9.1/3")
def a_window_of_a_stream_beyond_its_most(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(window_update(1, WINDOW_MAX))
        conn.resets(1, FLOW_CONTROL_ERROR)


@case("6.9.1")
def windows_of_just_the_most_are_good(target):
    with held(target) as conn:
        conn.room = WINDOW_MAX
        conn.send(window_update(0, WINDOW_MAX - WINDOW), window_update(1, WINDOW_MAX))
        conn.served(1)


# ---- what the server receives ----


@case("5.2.2")
def content_is_credited_as_it_is_consumed(target):
    """More than any window at the start: peer's upload waits for WINDOW_UPDATE."""
    with target.connect((INITIAL_WINDOW, WINDOW_MAX)) as conn:
        conn.credit(0, WINDOW_MAX - WINDOW)
        conn.post(1)
        content = BIG * (1 + 2 * max(conn.window, conn.window_of(1)) // len(BIG))
        conn.upload(1, content)
        assert conn.served(1, patience=10).body == content


@case("6.1")
def padding_is_credited(target):
    """Half of all these frames, and more than any window."""
    with target.connect((INITIAL_WINDOW, WINDOW_MAX)) as conn:
        conn.credit(0, WINDOW_MAX - WINDOW)
        conn.post(1)
        content = bytes(255 * (3 * min(conn.window, conn.window_of(1)) // 511))
        conn.upload(1, content, piece=255, pad=255)
        assert conn.served(1, patience=10).body == content


@case("6.9.1")
def discarded_content_is_credited_to_the_connection(target):
    """That of streams which the server has reset: several windows of it."""
    with target.connect() as conn:
        goal = 3 * conn.window
        stream = sent = 0
        while sent < goal:
            stream = stream * 2 + 1 if not stream else stream + 2
            conn.post(stream, more=[("te", "gzip")])
            n = min(conn.window_of(stream), 200_000)
            conn.upload(stream, bytes(n), end=False)
            conn.resets(stream, PROTOCOL_ERROR)
            sent += n
        conn.still_serves(stream + 2)


@case("6.9.1")
def content_of_a_cancelled_upload_is_credited_to_the_connection(target):
    """Which the service may not have read when the reset came."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        goal = 3 * conn.window
        stream, sent = 1, 0
        while sent < goal:
            conn.post(stream)
            n = min(conn.window_of(stream), 200_000)
            conn.upload(stream, bytes(n), end=False)
            conn.send(frame(3, 0, stream, u32(8)))
            conn.barrier()
            sent += n
            stream += 2
        conn.set((INITIAL_WINDOW, WINDOW))
        conn.still_serves(stream)


def shut(target):
    """A connection with an echo on stream 1 whose answer cannot leave, so that it reads no more; all
    of its window is used."""
    conn = target.connect((INITIAL_WINDOW, 0))
    conn.post(1)
    sent = 0
    while True:
        n = min(conn.window, conn.window_of(1))
        if not n:
            seen = conn.window, conn.window_of(1)
            conn.barrier()
            if seen == (conn.window, conn.window_of(1)):
                return conn, sent
            continue
        conn.upload(1, bytes(n), end=False)
        conn.barrier()
        sent += n
        if sent > 64 << 20:
            conn.sock.close()
            raise Missing("an echo that reads without end")


@case("5.2.1")
def what_is_not_consumed_is_not_credited(target):
    """And, when the answer can go, all of it comes."""
    conn, sent = shut(target)
    with conn:
        conn.send(settings((INITIAL_WINDOW, WINDOW_MAX)))
        conn.credit(0, WINDOW_MAX - WINDOW)
        conn.until(lambda f: f.type == WINDOW_UPDATE, "WINDOW_UPDATE")
        conn.upload(1, b"!")
        assert conn.served(1, patience=10).body == bytes(sent) + b"!"


@case("6.9.1")
def content_beyond_the_window_is_an_error(target):
    """Of the stream, or of the connection where its own window is the one that is shut."""
    conn, _ = shut(target)
    with conn:
        conn.send(data(1, b"x"))
        conn.resets_or_dies(1, FLOW_CONTROL_ERROR)


@case("6.9.1")
def an_empty_end_is_taken_at_a_window_of_0(target):
    conn, sent = shut(target)
    with conn:
        conn.send(data(1, end=True))
        conn.credit(0, WINDOW_MAX - WINDOW)
        conn.set((INITIAL_WINDOW, WINDOW_MAX))
        assert len(conn.served(1, patience=10).body) == sent


@case("6.9.1")
def padding_counts_against_the_window(target):
    """Without content, it is beyond it all the same."""
    conn, _ = shut(target)
    with conn:
        conn.send(data(1, pad=0))
        conn.resets_or_dies(1, FLOW_CONTROL_ERROR)
