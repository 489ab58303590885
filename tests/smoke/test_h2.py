#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""What the origin serves to curl, with TLS and without, over IPv4 and IPv6."""
import functools
import os
from collections import Counter

import tap
from h2lab import (
    HTTP,
    MIB,
    PIECE,
    SMALL,
    UPLOAD_LIMIT,
    V4,
    V6,
    digest,
    digest_of_source,
    origin,
    Served,
    server,
)
from tcp import same

BULK = 100 * MIB
TRANSFERS, AT_ONCE = 1000, 300
WAYS = [(address, tls) for address in (V4, V6) for tls in (True, False)]


def gets(given, path, *words, status=200, address=V4, tls=True, **options):
    """curl's Reply, which has this status."""
    reply = given.curl(*words, origin(address, tls) + path, tls=tls, **options)
    assert reply.status == status, f"{path} {words}: status {reply.status}, not {status}"
    assert reply.version == "2", f"HTTP/{reply.version}"
    return reply


# ---- content ----


def sends_files_byte_for_byte(given):
    for address, tls in WAYS:
        for path in "small.txt", "16k.bin", "1m.bin", "empty.txt":
            reply = gets(given, f"/{path}", address=address, tls=tls)
            same(reply.body(), given.files[path])
            assert int(reply.head["content-length"]) == len(given.files[path]), reply.head


def finds_index_html(given):
    for path in "/", "/?query", "/index.html":
        reply = gets(given, path)
        assert reply.head["content-type"].startswith("text/html"), reply.head
        same(reply.body(), given.files["index.html"])
    same(gets(given, "/sub/").body(), given.files["sub/index.html"])


def sends_to_a_directory_by_its_name(given):
    given.needs_appliance()
    reply = gets(given, "/sub", status=308)
    assert reply.head["location"].endswith("/sub/"), reply.head


def knows_types(given):
    for path, kind in (
        ("style.css", "text/css"),
        ("small.txt", "text/plain"),
        ("images/00.png", "image/png"),
        ("1m.bin", "application/octet-stream"),
    ):
        assert gets(given, f"/{path}").head["content-type"].startswith(kind), path


def undoes_percent_encoding(given):
    same(gets(given, "/with%20space.txt").body(), given.files["with space.txt"])
    same(gets(given, "/%73mall.txt").body(), SMALL)


def answers_head_without_content(given):
    reply = gets(given, "/1m.bin", "-I")
    assert int(reply.head["content-length"]) == MIB and not reply.told["size_download"], reply.told


def sends_generated_content(given):
    for n in 0, 1, 100_000:
        for tls in True, False:
            reply = gets(given, f"/bytes/{n}", tls=tls)
            assert reply.digest() == digest_of_source(n) if n else reply.body() == b""


# ---- conditions and ranges ----


def sends_what_has_changed(given):
    given.needs_appliance()
    tag = gets(given, "/small.txt").head["etag"]
    date = gets(given, "/small.txt").head["last-modified"]
    for field in f"if-none-match: {tag}", f'if-none-match: W/{tag}, "x"', "if-none-match: *":
        reply = gets(given, "/small.txt", "-H", field, status=304)
        assert reply.body() == b"" and reply.head["etag"] == tag, reply.head
    gets(given, "/small.txt", "-H", f"if-modified-since: {date}", status=304)
    for field in 'if-none-match: "another"', "if-modified-since: Thu, 01 Jan 1970 00:00:00 GMT":
        same(gets(given, "/small.txt", "-H", field).body(), SMALL)


def sends_ranges(given):
    given.needs_appliance()
    for text, first, last in (
        ("0-0", 0, 0),
        ("1000-1999", 1000, 1999),
        ("-7", MIB - 7, MIB - 1),
        (f"{MIB - 1}-", MIB - 1, MIB - 1),
        (f"500-{2 * MIB}", 500, MIB - 1),
    ):
        reply = gets(given, "/1m.bin", "-r", text, status=206)
        assert reply.head["content-range"] == f"bytes {first}-{last}/{MIB}", reply.head
        same(reply.body(), PIECE[first : last + 1])
    reply = gets(given, "/1m.bin", "-r", f"{MIB}-", status=416)
    assert reply.head["content-range"] == f"bytes */{MIB}", reply.head


def goes_on_where_a_download_stopped(given):
    given.needs_appliance()
    reply = given.curl("-C", "12345", f"{origin()}/1m.bin")
    assert reply.status == 206, reply.status
    same(reply.body(), PIECE[12345:])


# ---- what it does not serve ----


def does_not_find(given):
    for path in "/nothing", "/small.txt/", "/sub/nothing", "/images/100.png":
        assert gets(given, path, status=404).body() != SMALL


def refuses_ways_out_of_its_directory(given):
    given.needs_appliance()
    for path in (
        "/../../etc/passwd",
        "/sub/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/sub/%2e%2e/small.txt",
        "/..%2f..%2fetc/passwd",
        "/small.txt%00",
    ):
        reply = gets(given, path, "--path-as-is", status=400)
        assert b"root:" not in reply.body()


def refuses_methods(given):
    given.needs_appliance()
    for method in "PUT", "POST", "DELETE", "PATCH":
        reply = gets(given, "/small.txt", "-X", method, status=405)
        assert {"GET", "HEAD"} <= set(reply.head["allow"].split(", ")), reply.head
    assert "POST" in gets(given, "/echo", status=405).head["allow"]
    gets(given, "/small.txt", "-d", "content of a request that wants none", status=405)


def refuses_an_upload_that_is_too_long(given):
    """At once, and lets most of it go (RFC 9113 8.1), but not so hastily that curl, which is still
    sending, forgets the answer."""
    given.needs_appliance()
    big = given.new_path()
    with open(big, "wb") as file:
        os.truncate(file.fileno(), UPLOAD_LIMIT + 1)
    before = given.app.snapshot()
    for path, status in ("/echo", 413), ("/small.txt", 405):
        gets(given, path, "-X", "POST", "-T", big, status=status)
        gets(given, path, "-X", "POST", "-T", big, status=status, tls=False)
    after = given.app.after(before, h2_closed=4)
    assert after.counted(before, "h2_rx_content")["h2_rx_content"] < 4 * MIB


def fields(number, size):
    """curl's words for as many fields, each of so many bytes with its name."""
    return [w for i in range(number) for w in ("-H", f"h{i:03}: {'a' * (size - 4)}")]


def refuses_a_head_that_is_too_large(given):
    """64 KiB and 100 fields, of which curl's own are six."""
    given.needs_appliance()
    same(gets(given, "/small.txt", *fields(90, 660)).body(), SMALL)
    gets(given, "/small.txt", *fields(90, 705), status=431)
    gets(given, "/small.txt", *fields(110, 10), status=431)


# ---- uploads ----


def upload(given, n):
    path = given.new_path()
    with open(path, "wb") as file:
        for at in range(0, n, MIB):
            file.write(PIECE[: min(MIB, n - at)])
    return path


def echoes(given, path, address, tls):
    """What comes back of an upload. Without TLS by nghttp: curl 7.88.1 sends, once in a few hundred
    uploads whose last piece finds its socket full, 64 KiB more than it announced."""
    if tls:
        return gets(given, "/echo", "-T", path, "-X", "POST", address=address).path
    out = given.new_path()
    words = ["sh", "-c", 'nghttp -d "$1" "$2" > "$3"', "sh", path, f"{origin(address, tls)}/echo"]
    given.client(*words, out)
    return out


def echoes_uploads(given):
    for address, tls in WAYS:
        for n in 0, 1, 16_384:
            path = upload(given, n)
            words = ["-H", "content-type: x/y", "--data-binary", f"@{path}"]
            reply = gets(given, "/echo", *words, address=address, tls=tls)
            assert n == 0 or reply.digest() == digest(path), f"{n} bytes"
        path = upload(given, 3 * MIB + 5)
        assert digest(echoes(given, path, address, tls)) == digest(path)


def echoes_content_of_no_known_length(given):
    path, pipe = upload(given, 2 * MIB), given.new_path()
    os.mkfifo(pipe)
    given.peer.spawn("cp", path, pipe)
    reply = gets(given, "/echo", "-T", pipe, "-X", "POST")
    assert reply.digest() == digest(path)


def tells_clients_to_go_on(given):
    """100 (Continue), where they wait for it: RFC 9110 10.1.1."""
    words = ["-H", "expect: 100-continue", "--expect100-timeout", "30", "-d", "content"]
    reply = gets(given, "/echo", *words)
    assert reply.body() == b"content" and reply.told["time_total"] < 20, reply.told


def echoes_a_hundred_mebibytes(given, address=V4, tls=True):
    path = upload(given, BULK)
    back = echoes(given, path, address, tls)
    assert digest(back) == digest(path)
    os.unlink(path)
    os.unlink(back)


def echoes_a_hundred_mebibytes_without_tls_over_ipv6(given):
    echoes_a_hundred_mebibytes(given, V6, False)


def sends_a_hundred_mebibytes(given, address=V4, tls=True):
    reply = gets(given, f"/bytes/{BULK}", address=address, tls=tls)
    assert reply.digest() == digest_of_source(BULK)
    reply.drop()


def sends_a_hundred_mebibytes_without_tls_over_ipv6(given):
    sends_a_hundred_mebibytes(given, V6, False)


# ---- many at once ----


def parallel(given, address):
    """A thousand, three hundred of them at a time. With TLS, for curl before 8 cannot do it with
    prior knowledge: on a connection where a request is under way, a second fails."""
    directory = given.new_path()
    os.mkdir(directory)
    done = given.client(
        *("curl", "-sS", "-k", "--http2", "-Z", "--parallel-max", str(AT_ONCE)),
        *("-w", "%{http_code} %{http_version}\n", "-o", f"{directory}/#1"),
        f"{origin(address)}/16k.bin?[1-{TRANSFERS}]",
        check=False,
    )
    told = Counter(done.stdout.split("\n")[:-1])
    assert told == {"200 2": TRANSFERS}, f"{dict(told)}\n{done.stderr[-1000:]}"
    for i in range(1, TRANSFERS + 1):
        with open(f"{directory}/{i}", "rb") as file:
            same(file.read(), given.files["16k.bin"])


def serves_a_thousand_parallel_transfers(given):
    parallel(given, V4)


def serves_a_thousand_parallel_transfers6(given):
    parallel(given, V6)


def refuses_http1_without_tls(given):
    """Nothing but prior knowledge (RFC 9113 3.3): curl gets no reply that it could take for one."""
    given.needs_appliance()
    done = given.client("curl", "-sS", f"http://{server(V4)}:{HTTP}/small.txt", check=False)
    assert done.returncode != 0 and "Hello" not in done.stdout, done.stdout


def leaves_nothing(given):
    given.nothing_is_left()


SHORT = (
    sends_files_byte_for_byte,
    echoes_uploads,
    serves_a_thousand_parallel_transfers,
    leaves_nothing,
)

if __name__ == "__main__":
    tap.main(
        tap.Group(
            "af_xdp",
            Served,
            sends_files_byte_for_byte,
            finds_index_html,
            sends_to_a_directory_by_its_name,
            knows_types,
            undoes_percent_encoding,
            answers_head_without_content,
            sends_generated_content,
            sends_what_has_changed,
            sends_ranges,
            goes_on_where_a_download_stopped,
            does_not_find,
            refuses_ways_out_of_its_directory,
            refuses_methods,
            refuses_an_upload_that_is_too_long,
            refuses_a_head_that_is_too_large,
            echoes_uploads,
            echoes_content_of_no_known_length,
            tells_clients_to_go_on,
            echoes_a_hundred_mebibytes,
            echoes_a_hundred_mebibytes_without_tls_over_ipv6,
            sends_a_hundred_mebibytes,
            sends_a_hundred_mebibytes_without_tls_over_ipv6,
            serves_a_thousand_parallel_transfers,
            serves_a_thousand_parallel_transfers6,
            refuses_http1_without_tls,
            leaves_nothing,
        ),
        *(
            tap.Group(driver, functools.partial(Served, driver), *SHORT)
            for driver in ("af_packet", "tap")
        ),
    )
