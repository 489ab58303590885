# SPDX-License-Identifier: BSD-3-Clause
"""RFC 9113 8: HTTP's messages as fields and content; extended CONNECT (RFC 8441), priorities (RFC
9218).

A malformed request is a stream error of type PROTOCOL_ERROR (8.1.1). A server may answer with a 4xx
status before or instead, which is accepted only where the rule that is broken is one of HTTP rather
than of HTTP/2."""
from peer import (
    CANCEL,
    CONNECT_PROTOCOL,
    FRAME_SIZE_ERROR,
    GOAWAY,
    INITIAL_WINDOW,
    NO_ERROR,
    PRIORITY_UPDATE,
    PROTOCOL_ERROR,
    STREAM_CLOSED,
    block,
    case,
    cases,
    data,
    frame,
    headers,
    literal,
    rst_stream,
    u32,
)

# ---- 8.1: exchanges ----


@case("8.1", "generic/4/2")
def head_is_answered_without_content(target):
    """And with the content-length that GET has."""
    with target.connect() as conn:
        conn.get(1)
        usual = conn.served(1)
        conn.get(3, method="HEAD")
        head = conn.served(3)
        assert not head.body
        length = dict(head.fields).get("content-length")
        assert length in (None, str(len(usual.body))), length


@case("8.1")
def the_answers_length_is_that_of_its_content(target):
    with target.connect() as conn:
        conn.get(1)
        a = conn.served(1)
        assert dict(a.fields).get("content-length", str(len(a.body))) == str(len(a.body))


@case("8.1")
def an_answers_head_is_in_order(target):
    """:status alone of its pseudo-header fields and first; names in lower case; no field of one
    connection (8.2, 8.3.2)."""
    with target.connect() as conn:
        conn.get(1)
        fields = conn.served(1).fields
        names = [name for name, _ in fields]
        assert names[0] == ":status" and not [n for n in names[1:] if n.startswith(":")], names
        assert all(name == name.lower() for name in names), names
        single = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
        assert not single & set(names), names


@case("8.1", "generic/4/3")
def post_is_answered(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, b"what was said", end=True))
        assert conn.served(1).body == b"what was said"


TRAILER = literal("x-trailer", "1")


@case("8.1", "generic/4/4")
def trailers_end_a_request(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, b"content"), headers(1, TRAILER))
        assert conn.served(1).body == b"content"


@case("8.1")
def trailers_without_content(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(headers(1, TRAILER))
        assert conn.served(1).body == b""


@case("8.1")
def trailers_of_no_fields(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, b"content"), headers(1, b""))
        assert conn.served(1).body == b"content"


@case("8.1", "http2/8.1/1")
def trailers_that_are_not_the_end(target):
    with target.connect() as conn:
        conn.post(1)
        conn.send(data(1, b"content"), headers(1, TRAILER, end=False))
        conn.resets(1, PROTOCOL_ERROR)


@case("8.1")
def data_behind_trailers(target):
    """The stream is half-closed then."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.post(1)
        conn.send(data(1, b"content"), headers(1, TRAILER), data(1, b"more", end=True))
        conn.resets(1, STREAM_CLOSED)


cases(
    "8.1",
    (
        (
            "trailers with a pseudo-header field",
            block((":method", "POST")),
            "http2/8.1.2.1/3",
        ),
        ("trailers with :status", block((":status", "200"))),
        ("trailers with a name in upper case", block(("X-Trailer", "1"))),
        ("trailers with a field of the connection", block(("connection", "close"))),
        ("trailers with a line end in a value", block(("x-trailer", "a\r\nb"))),
    ),
    lambda fields, target: bad_trailers(fields, target),
)


def bad_trailers(fields, target):
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.post(1)
        conn.send(data(1, b"content"), headers(1, fields))
        conn.resets(1, PROTOCOL_ERROR)
        conn.get(3, method="HEAD")
        conn.served(3)


@case("8.1")
def an_expectation_is_met_or_passed_over(target):
    """With 100, or with the final answer at once; the content follows in any case."""
    with target.connect() as conn:
        conn.post(1, more=[("expect", "100-continue"), ("content-length", "7")])
        conn.barrier()
        conn.send(data(1, b"content", end=True))
        a = conn.answer(1)
        assert a.status in ("200", "417"), a.status
        assert [dict(i)[":status"] for i in a.informational] in ([], ["100"])


@case("8.1")
def an_early_answer_stops_the_upload_gently(target):
    """One that does not wait for the request's end may be followed by NO_ERROR, and nothing worse."""
    with target.connect() as conn:
        conn.send(headers(1, conn.head("POST", "/none-of-that-name"), end=False))
        conn.send(data(1, bytes(1000)))
        conn.barrier()
        conn.send(data(1, bytes(1000), end=True))
        conn.barrier()
        assert conn.answer(1).reset in (None, NO_ERROR)
        conn.still_serves(3)


@case("8.1")
def many_requests_at_once(target):
    with target.connect() as conn:
        conn.credit(0, 1 << 24)
        conn.send(*(headers(2 * i + 1, conn.head()) for i in range(64)))
        first = conn.served(1).body
        assert all(conn.served(2 * i + 1).body == first for i in range(64))


@case("5.4.2")
def a_reset_of_one_does_not_touch_others(target):
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        for stream in 1, 3, 5:
            conn.get(stream)
        conn.send(rst_stream(3, CANCEL))
        conn.set((INITIAL_WINDOW, 65535))
        assert conn.served(1).body == conn.served(5).body


# ---- 8.1.1: content-length ----


def with_length(arguments, target):
    """A request of these content-lengths, and its content in pieces."""
    lengths, pieces = arguments
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        more = [("content-length", length) for length in lengths]
        conn.send(headers(1, conn.head("POST", target.echo, more), end=not pieces))
        for i, piece in enumerate(pieces):
            conn.send(data(1, piece, end=i + 1 == len(pieces)))
        conn.resets(1, PROTOCOL_ERROR)


cases(
    "8.1.1",
    (
        ("more content than its length", (["1"], [b"test"]), "http2/8.1.2.6/1"),
        ("more content in pieces than its length", (["5"], [b"test", b"ed"]), "http2/8.1.2.6/2"),
        ("less content than its length", (["5"], [b"test"])),
        ("less content, and an empty end", (["5"], [b"test", b""])),
        ("no content with a length", (["5"], [])),
        ("content with a length of 0", (["0"], [b"x"])),
        ("two lengths", (["4", "5"], [b"test"])),
        ("a length that is no number", (["four"], [b"test"])),
        ("a length with a sign", (["+4"], [b"test"])),
        ("a negative length", (["-1"], [b"test"])),
        ("a length of nothing", ([""], [b"test"])),
        ("a length of 2^64 and 4", (["18446744073709551620"], [b"test"])),
    ),
    with_length,
)


@case("8.1.1")
def more_content_than_its_length_before_the_end(target):
    """Is known as soon as it comes."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.post(1, more=[("content-length", "3")])
        conn.send(data(1, b"test"))
        conn.resets(1, PROTOCOL_ERROR)


@case("8.1.1")
def trailers_before_the_length_is_reached(target):
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.post(1, more=[("content-length", "5")])
        conn.send(data(1, b"test"), headers(1, TRAILER))
        conn.resets(1, PROTOCOL_ERROR)


def of_length(arguments, target):
    length, frames, content = arguments
    with target.connect() as conn:
        conn.send(
            headers(1, conn.head("POST", target.echo, [("content-length", length)]), end=False)
        )
        conn.send(frames)
        assert conn.served(1).body == content


cases(
    "8.1.1",
    (
        ("content of its length", ("4", data(1, b"te") + data(1, b"st", end=True), b"test")),
        ("padding is no content", ("4", data(1, b"test", end=True, pad=9), b"test")),
        ("a length of 0 and no content", ("0", data(1, end=True), b"")),
        ("content of its length, and trailers", ("2", data(1, b"te") + headers(1, TRAILER), b"te")),
    ),
    of_length,
)

# ---- 8.2: fields ----


def malformed(more, target):
    """A GET with these fields behind its own."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.get(1, more=more)
        conn.resets(1, PROTOCOL_ERROR)
        conn.get(3, method="HEAD")
        conn.served(3)


def well_formed(more, target):
    with target.connect() as conn:
        conn.get(1, more=more)
        conn.served(1)


cases(
    "8.2.1",
    (
        ("a name in upper case", [("X-Test", "1")], "http2/8.1.2/1"),
        ("a name of nothing", [("", "1")]),
        ("a space in a name", [("x test", "1")]),
        ("a space behind a name", [("x-test ", "1")]),
        ("a control character in a name", [("x\x01test", "1")]),
        ("a line end in a name", [("x-test\r\nx-more", "1")]),
        ("NUL in a name", [("x\0test", "1")]),
        ("DEL in a name", [("x\x7ftest", "1")]),
        ("a byte above ASCII in a name", [(b"x\xfftest", "1")]),
        ("a colon in a name", [("x:test", "1")]),
        ("NUL in a value", [("x-test", "a\0b")]),
        ("LF in a value", [("x-test", "a\nb")]),
        ("CR in a value", [("x-test", "a\rb")]),
        ("a line end that makes a field of a value", [("x-test", "a\r\nx-more: b")]),
        ("a space before a value", [("x-test", " a")]),
        ("a space behind a value", [("x-test", "a ")]),
        ("a tab before a value", [("x-test", "\ta")]),
        ("a tab behind a value", [("x-test", "a\t")]),
        ("LF in a cookie", [("cookie", "a=1\nb=2")]),
    ),
    malformed,
)

cases(
    "8.2.1",
    (
        ("every character that a name may have", [("!#$%&'*+-.^_`|~09az", "1")]),
        ("spaces and tabs within a value", [("x-test", "a \t b")]),
        ("bytes above ASCII in a value", [("x-test", b"\x80\xff")]),
        ("no value", [("x-test", "")]),
        ("one name many times", [("x-test", str(i)) for i in range(20)]),
    ),
    well_formed,
)

cases(
    "8.2.2",
    (
        ("connection", [("connection", "keep-alive")], "http2/8.1.2.2/1"),
        ("keep-alive", [("keep-alive", "timeout=5")]),
        ("proxy-connection", [("proxy-connection", "keep-alive")]),
        ("transfer-encoding", [("transfer-encoding", "chunked")]),
        ("upgrade", [("upgrade", "h2c")]),
        ("te other than trailers", [("te", "trailers, deflate;q=0.5")], "http2/8.1.2.2/2"),
        ("te of gzip", [("te", "gzip")]),
    ),
    malformed,
)

cases("8.2.2", (("te of trailers", [("te", "trailers")]),), well_formed)

cases(
    "8.2.3",
    (
        ("cookies in crumbs", [("cookie", f"c{i}={i}") for i in range(20)]),
        ("an empty crumb", [("cookie", "a=1"), ("cookie", ""), ("cookie", "b=2")]),
        ("crumbs apart", [("cookie", "a=1"), ("x-test", "1"), ("cookie", "b=2")]),
    ),
    well_formed,
)

# ---- 8.3: pseudo-header fields ----

METHOD, SCHEME, AUTHORITY = (":method", "GET"), (":scheme", "http"), (":authority", "example.org")
PATH = (":path", "/")


def whole_head(fields, target):
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.send(headers(1, block(*fields)))
        conn.resets(1, PROTOCOL_ERROR)
        conn.get(3, method="HEAD")
        conn.served(3)


cases(
    "8.3",
    (
        (
            "an unknown pseudo-header field",
            [METHOD, SCHEME, AUTHORITY, PATH, (":test", "1")],
            "http2/8.1.2.1/1",
        ),
        (
            "a response's pseudo-header field",
            [METHOD, SCHEME, AUTHORITY, PATH, (":status", "200")],
            "http2/8.1.2.1/2",
        ),
        (
            "a pseudo-header field behind another field",
            [METHOD, SCHEME, AUTHORITY, ("x-test", "1"), PATH],
            "http2/8.1.2.1/4",
        ),
        ("the name of a colon", [METHOD, SCHEME, AUTHORITY, PATH, (":", "1")]),
        ("a pseudo-header field in upper case", [(":Method", "GET"), SCHEME, AUTHORITY, PATH]),
        ("no field at all", []),
        ("no pseudo-header field", [("x-test", "1")]),
    ),
    whole_head,
)

cases(
    "8.3.1",
    (
        ("an empty path", [METHOD, SCHEME, AUTHORITY, (":path", "")], "http2/8.1.2.3/1"),
        ("no method", [SCHEME, AUTHORITY, PATH], "http2/8.1.2.3/2"),
        ("no scheme", [METHOD, AUTHORITY, PATH], "http2/8.1.2.3/3"),
        ("no path", [METHOD, SCHEME, AUTHORITY], "http2/8.1.2.3/4"),
        ("two methods", [METHOD, METHOD, SCHEME, AUTHORITY, PATH], "http2/8.1.2.3/5"),
        ("two schemes", [METHOD, SCHEME, SCHEME, AUTHORITY, PATH], "http2/8.1.2.3/6"),
        ("two paths", [METHOD, SCHEME, AUTHORITY, PATH, PATH], "http2/8.1.2.3/7"),
        ("two authorities", [METHOD, SCHEME, AUTHORITY, AUTHORITY, PATH]),
        ("an empty method", [(":method", ""), SCHEME, AUTHORITY, PATH]),
        ("a method that is no token", [(":method", "GE T"), SCHEME, AUTHORITY, PATH]),
        ("a line end in the path", [METHOD, SCHEME, AUTHORITY, (":path", "/ HTTP/1.1\r\nx: y")]),
        ("NUL in the path", [METHOD, SCHEME, AUTHORITY, (":path", "/\0")]),
        ("a line end in the authority", [METHOD, SCHEME, (":authority", "a\r\nb"), PATH]),
    ),
    whole_head,
)


def bad_request(fields, target):
    """Malformed by HTTP: a 4xx status will do."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.send(headers(1, block(*fields)))
        conn.send(frame(8, 0, 1, u32(65535)))
        conn.refuses(1)
        conn.get(3, method="HEAD")
        conn.served(3)


cases(
    "8.3.1",
    (
        ("a path without its slash", [METHOD, SCHEME, AUTHORITY, (":path", "index.html")]),
        ("a path of * for GET", [METHOD, SCHEME, AUTHORITY, (":path", "*")]),
        ("a space in the path", [METHOD, SCHEME, AUTHORITY, (":path", "/a b")]),
        ("a control character in the path", [METHOD, SCHEME, AUTHORITY, (":path", "/\x01")]),
        (
            "user information in the authority",
            [METHOD, SCHEME, (":authority", "u@example.org"), PATH],
        ),
        (
            "an authority that host contradicts",
            [METHOD, SCHEME, AUTHORITY, PATH, ("host", "other.org")],
        ),
    ),
    bad_request,
)


@case("8.3.1")
def host_in_place_of_authority(target):
    with target.connect() as conn:
        conn.get(1, authority=None, more=[("host", "example.org")])
        conn.served(1)


@case("8.3.1")
def host_that_says_the_same_as_authority(target):
    with target.connect() as conn:
        conn.get(1, more=[("host", "example.org")])
        conn.served(1)


@case("8.3.1")
def a_query_in_the_path(target):
    with target.connect() as conn:
        conn.get(1, path=target.path + "?a=1&b=%20")
        conn.served(1)


@case("8.3.1")
def options_of_the_whole_server(target):
    """Answered with whatever status; malformed it is not."""
    with target.connect() as conn:
        conn.get(1, method="OPTIONS", path="*")
        conn.answer(1)
        conn.still_serves(3)


@case("8.3.1")
def pseudo_header_fields_in_any_order(target):
    with target.connect() as conn:
        scheme = (":scheme", "https" if target.tls else "http")
        conn.send(headers(1, block((":path", target.path), AUTHORITY, scheme, METHOD)))
        conn.served(1)


@case("8.3.1")
def an_unknown_method_is_answered(target):
    """With a status of the server's choice (RFC 9110 9.1)."""
    with target.connect() as conn:
        conn.get(1, method="BREW")
        conn.answer(1)
        conn.still_serves(3)


@case("8.3.1")
def an_authority_with_its_port(target):
    with target.connect() as conn:
        conn.get(1, authority="example.org:8443")
        conn.served(1)


# ---- 8.5: CONNECT; RFC 8441: extended CONNECT ----

CONNECT = (":method", "CONNECT")
TUNNEL = (":authority", "example.org:443")

cases(
    "8.5",
    (
        ("CONNECT with a path", [CONNECT, TUNNEL, PATH]),
        ("CONNECT with a scheme", [CONNECT, SCHEME, TUNNEL]),
        ("CONNECT with both", [CONNECT, SCHEME, TUNNEL, PATH]),
        ("CONNECT to nobody", [CONNECT]),
    ),
    whole_head,
)


@case("8.5")
def connect_is_answered_or_reset(target):
    """A server that makes no tunnels says so in its own way; the connection goes on."""
    with target.connect() as conn:
        conn.send(headers(1, block(CONNECT, TUNNEL), end=False))
        a = conn.answers[1]
        while a.fields is None and a.reset is None:
            conn.until(lambda f: f.stream == 1, "an answer to CONNECT")
        assert a.reset is not None or a.status >= "400", f"status {a.status}"
        conn.still_serves(3)


PROTOCOL = (":protocol", "websocket")


@case("8441 4")
def extended_connect_as_announced(target):
    """Malformed where the server has not announced it; else it has an answer of its own."""
    with target.connect() as conn:
        scheme = (":scheme", "https" if target.tls else "http")
        conn.send(headers(1, block(CONNECT, PROTOCOL, scheme, AUTHORITY, PATH), end=False))
        if not conn.settings.get(CONNECT_PROTOCOL):
            conn.resets(1, PROTOCOL_ERROR)
            return
        a = conn.answers[1]
        while a.fields is None and a.reset is None:
            conn.until(lambda f: f.stream == 1, "an answer to CONNECT")
        assert a.reset != PROTOCOL_ERROR, "announced, and then malformed"
        conn.still_serves(3)


cases(
    "8441 4",
    (
        (":protocol without CONNECT", [METHOD, PROTOCOL, SCHEME, AUTHORITY, PATH]),
        ("extended CONNECT without a path", [CONNECT, PROTOCOL, SCHEME, AUTHORITY]),
        ("extended CONNECT without a scheme", [CONNECT, PROTOCOL, AUTHORITY, PATH]),
        (":protocol twice", [CONNECT, PROTOCOL, PROTOCOL, SCHEME, AUTHORITY, PATH]),
    ),
    whole_head,
)

# ---- RFC 9218 7.1: PRIORITY_UPDATE, ignored by servers that do not know it ----


def priority_update(stream, value, on=0):
    return frame(PRIORITY_UPDATE, 0, on, u32(stream) + value)


def told(arguments, target):
    """Before, during and after its stream."""
    with target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.send(arguments)
        conn.get(1)
        conn.send(arguments)
        conn.set((INITIAL_WINDOW, 65535))
        conn.served(1)
        conn.send(arguments)
        conn.barrier()
        conn.still_serves(3)


cases(
    "9218 7.1",
    (
        ("an urgency", priority_update(1, b"u=0, i")),
        ("no parameters", priority_update(1, b"")),
        ("what cannot be parsed is as good as nothing", priority_update(1, b"\xff=?;;")),
    ),
    told,
)


def mistold(arguments, target):
    """The error that is asked for, or the silence of a server that does not know the frame."""
    bad, code = arguments
    with target.connect() as conn:
        conn.still_serves(1)
        conn.send(bad, frame(6, 0, 0, b"\0barrier"))
        got = conn.until(lambda f: f.type == GOAWAY or f.payload == b"\0barrier", "an answer")
        if got.type == GOAWAY:
            conn.dies_with(got, code)


cases(
    "9218 7.1",
    (
        ("PRIORITY_UPDATE of a stream", (priority_update(1, b"u=1", on=1), PROTOCOL_ERROR)),
        ("PRIORITY_UPDATE for stream 0", (priority_update(0, b"u=1"), PROTOCOL_ERROR)),
        ("PRIORITY_UPDATE too short", (frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0"), FRAME_SIZE_ERROR)),
    ),
    mistold,
)

cases(
    "9218 5",
    (
        ("the priority field", [("priority", "u=5, i")]),
        ("a priority field that cannot be parsed", [("priority", "?!")]),
    ),
    well_formed,
)
