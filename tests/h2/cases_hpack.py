# SPDX-License-Identifier: BSD-3-Clause
"""RFC 7541: header compression, as the server decodes and encodes it."""
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH

from peer import (
    COMPRESSION_ERROR,
    HEADER_TABLE_SIZE,
    case,
    cases,
    continuation,
    headers,
    integer,
    literal,
    text,
)

CODER = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)
USER_AGENT = 58  # in the static table (RFC 7541 A)
FIRST = 62  # of the dynamic table
TABLE = 4096


def huffman(value):
    """A string in Huffman's code (RFC 7541 5.2)."""
    code = CODER.encode(value)
    return integer(len(code), 7, 0x80) + code


def indexed(index):
    return integer(index, 7, 0x80)


def named(index, value, first, bits, coded=text):
    """A literal with the name of an entry."""
    return integer(index, bits, first) + coded(value)


def size_update(size):
    return integer(size, 5, 0x20)


def taken(fields, target):
    """A request with these fields behind its own is served."""
    with target.connect() as conn:
        conn.send(headers(1, conn.head() + fields))
        conn.served(1)


def rejected(fields, target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head() + fields))
        conn.dies(COMPRESSION_ERROR)


# ---- 6: representations ----

KINDS = (
    ("a literal with indexing", "6.2.1", 0x40, 6, 2),
    ("a literal without indexing", "6.2.2", 0x00, 4, 6),
    ("a literal never to be indexed", "6.2.3", 0x10, 4, 10),
)

for kind, clause, first, bits, number in KINDS:
    cases(
        f"7541 {clause}",
        (
            (
                f"{kind}, name in a table",
                named(USER_AGENT, b"conformance", first, bits),
                f"generic/5/{number}",
            ),
            (
                f"{kind}, name in a table, Huffman",
                named(USER_AGENT, b"conformance", first, bits, huffman),
                f"generic/5/{number + 1}",
            ),
            (
                f"{kind}, new name",
                bytes([first]) + text("x-test") + text("conformance"),
                f"generic/5/{number + 2}",
            ),
            (
                f"{kind}, new name, Huffman",
                bytes([first]) + huffman(b"x-test") + huffman(b"conformance"),
                f"generic/5/{number + 3}",
            ),
            (f"{kind}, no value", bytes([first]) + text("x-test") + text("")),
        ),
        taken,
    )


@case("7541 6.1", "generic/5/1")
def fields_of_the_static_table(target):
    """:method GET, :scheme http or https, the names of :path and :authority, user-agent without a
    value."""
    with target.connect() as conn:
        head = indexed(2) + indexed(7 if target.tls else 6)
        head += named(4, target.path, 0x00, 4) + named(1, "example.org", 0x00, 4)
        conn.send(headers(1, head + indexed(USER_AGENT)))
        conn.served(1)


@case("7541 6.1", "hpack/6.1/1")
def index_0(target):
    rejected(indexed(0), target)


@case("7541 2.3.3", "hpack/2.3.3/1")
def an_index_of_nothing(target):
    rejected(indexed(FIRST), target)


@case("7541 2.3.3", "hpack/2.3.3/2")
def a_literal_with_the_name_of_nothing(target):
    rejected(named(FIRST, b"x", 0x40, 6), target)


cases(
    "7541 2.3.3",
    (
        ("an index far beyond the tables", indexed(70_000)),
        ("a name far beyond the tables, without indexing", named(70_000, b"x", 0x00, 4)),
        ("a name far beyond the tables, never indexed", named(70_000, b"x", 0x10, 4)),
    ),
    rejected,
)

# ---- 5: integers and strings ----

LONG = b"\x40" + text("x-test")

cases(
    "7541 5.2",
    (
        ("padding of more than 7 bits", LONG + b"\x82\x1f\xff", "hpack/5.2/1"),  # "a", and 11
        ("padding of zeroes", LONG + b"\x81\x18", "hpack/5.2/2"),  # "a", then 000
        ("a string with EOS", LONG + b"\x84\xff\xff\xff\xff", "hpack/5.2/3"),
        ("a string longer than its block", LONG + b"\x10short"),
        ("a Huffman string longer than its block", LONG + b"\xff\x00\x1f"),
        ("a name without its value", LONG),
        ("a name cut short", b"\x40\x06x-"),
        ("half an integer", b"\xff\x80"),
        ("an integer beyond 32 bits", b"\xff\xff\xff\xff\xff\xff\x7f"),
        ("an integer of zeroes without end", b"\xff" + b"\x80" * 40 + b"\x01"),
        ("a length beyond 32 bits", b"\x40\x7f\xff\xff\xff\xff\xff\x7f"),
    ),
    rejected,
)


@case("7541 5.1")
def integers_in_more_bytes_than_needed(target):
    """200 is 127 and 73, and then a byte of nothing."""
    taken(b"\x00" + text("x-test") + b"\x7f\xc9\x00" + b"v" * 200, target)


@case("7541 5.2")
def every_byte_that_a_value_may_have_in_huffmans_code(target):
    """Each has a code of its own; the longest are 28 bits."""
    value = bytes(b for b in range(256) if b == 9 or (b >= 32 and b != 127))
    with target.connect() as conn:
        conn.send(headers(1, conn.head() + b"\x40" + text("x-test") + huffman(b"a" + value + b"a")))
        conn.served(1)


# ---- 2, 4: the dynamic table ----


@case("7541 2.3.2")
def entries_are_found_again(target):
    with target.connect() as conn:
        conn.send(
            headers(1, conn.head() + literal("x-one", "1", 0x40) + literal("x-two", "2", 0x40))
        )
        conn.served(1)
        again = indexed(FIRST) + indexed(FIRST + 1) + named(FIRST, b"else", 0x00, 4)
        conn.send(headers(3, conn.head() + again))
        conn.served(3)


@case("7541 2.3.2")
def a_request_out_of_the_dynamic_table(target):
    """Also its pseudo-header fields: what they are is known by what the server answers."""
    with target.connect() as conn:
        path = b"\x44" + text("/none-of-that-name")
        rest = conn.head()
        first = rest[: rest.index(b"\x05:path") - 1]
        conn.send(headers(1, first + path))
        conn.served(1, "404")
        conn.send(headers(3, first + indexed(FIRST)))
        conn.served(3, "404")


@case("7541 4.4")
def entries_that_were_evicted_are_no_more(target):
    """Each of 1,000 bytes and more, so that the table has room for three."""
    with target.connect() as conn:
        fill = b"".join(literal(f"x-{i}", "v" * 1000, 0x40) for i in range(5))
        conn.send(headers(1, conn.head() + fill))
        conn.served(1)
        conn.send(headers(3, conn.head() + indexed(FIRST + 2)))
        conn.served(3)
        conn.send(headers(5, conn.head() + indexed(FIRST + 3)))
        conn.dies(COMPRESSION_ERROR)


@case("7541 4.4")
def an_entry_larger_than_the_table_empties_it(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head() + literal("x-one", "1", 0x40)))
        conn.served(1)
        large = literal("x-large", "v" * TABLE, 0x40)
        conn.send(headers(3, conn.head() + large))
        conn.served(3)
        conn.send(headers(5, conn.head() + indexed(FIRST)))
        conn.dies(COMPRESSION_ERROR)


@case("7541 4.4")
def an_entry_may_be_evicted_by_what_uses_its_name(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head() + literal("x-large", "v" * 3900, 0x40)))
        conn.served(1)
        conn.send(headers(3, conn.head() + named(FIRST, b"w" * 3900, 0x40, 6) + indexed(FIRST)))
        conn.served(3)


def sized(updates, target):
    with target.connect() as conn:
        conn.send(headers(1, updates + conn.head()))
        conn.served(1)
        conn.send(headers(3, conn.head()))
        conn.served(3)


cases(
    "7541 6.3",
    (
        ("a table size update", size_update(128), "generic/5/14"),
        ("two table size updates", size_update(0) + size_update(TABLE), "generic/5/15"),
        ("a table of no entries", size_update(0)),
    ),
    sized,
)


@case("7541 6.3", "hpack/6.3/1")
def a_table_larger_than_announced(target):
    with target.connect() as conn:
        size = conn.settings.get(HEADER_TABLE_SIZE, TABLE) + 1
        conn.send(headers(1, size_update(size) + conn.head()))
        conn.dies(COMPRESSION_ERROR)


@case("7541 4.2", "hpack/4.2/1")
def a_table_size_update_at_the_end(target):
    rejected(size_update(128), target)


@case("7541 4.2")
def a_table_size_update_in_the_middle(target):
    rejected(size_update(128) + literal("x-test", "1"), target)


@case("7541 4.3")
def a_smaller_table_loses_its_entries(target):
    with target.connect() as conn:
        conn.send(headers(1, conn.head() + literal("x-one", "1", 0x40)))
        conn.served(1)
        conn.send(headers(3, size_update(0) + size_update(TABLE) + conn.head() + indexed(FIRST)))
        conn.dies(COMPRESSION_ERROR)


@case("7541 2.2")
def representations_may_be_cut_by_frames(target):
    """At each byte of a few."""
    with target.connect() as conn:
        tail = b"\x40" + huffman(b"x-test") + huffman(b"conformance")
        stream = 1
        for cut in range(1, len(tail), 2):
            conn.send(headers(stream, conn.head() + tail[:cut], flags=0))
            conn.send(continuation(stream, tail[cut:]))
            conn.served(stream)
            stream += 2


# ---- what the server encodes ----


@case("7541 4.2")
def the_server_keeps_to_a_table_of_no_entries(target):
    """The first block after its ACK says so; peer's decoder refuses what would need entries."""
    with target.connect() as conn:
        conn.still_serves(1)
        conn.set((HEADER_TABLE_SIZE, 0))
        conn.decoder.max_allowed_table_size = 0
        for stream in 3, 5, 7:
            conn.still_serves(stream)


@case("7541 4.2")
def the_server_takes_a_table_that_grows_again(target):
    """The smallest in between is to be told as well, or entries that we have dropped be used."""
    with target.connect() as conn:
        conn.still_serves(1)
        conn.still_serves(3)
        conn.set((HEADER_TABLE_SIZE, 0), (HEADER_TABLE_SIZE, TABLE))
        conn.decoder.header_table_size = 0
        conn.decoder.header_table_size = TABLE
        for stream in 5, 7, 9:
            conn.still_serves(stream)


@case("7541 2.3")
def the_server_keeps_to_a_small_table(target):
    with target.connect((HEADER_TABLE_SIZE, 100)) as conn:
        conn.decoder.max_allowed_table_size = 100
        conn.credit(0, 1 << 20)
        for stream in range(1, 21, 2):
            conn.still_serves(stream)
