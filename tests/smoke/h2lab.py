# SPDX-License-Identifier: BSD-3-Clause
"""A pair of namespaces whose appliance serves a site over HTTP/2, with TLS and without, and clients
beside it. With H2_PEER=nghttpd in the environment nghttpd serves in its place, and cases that need
more than any server has are skipped: it tells a fault of a test from one of the appliance."""
import contextlib
import functools
import hashlib
import json
import os
import random
import re
import struct
import zlib

from lab import Lab
from machine import poll, run
from tap import Missing
from tcp import SLACK, V4, V6, TcpPair, source_bytes

HTTP, HTTPS = 80, 443
OPTIONAL, REQUIRED = 8443, 8444  # client certificates
PEER = os.environ.get("H2_PEER") or None  # who serves in the appliance's place
HANDSHAKE = 3  # seconds that one may take on HTTPS
IMAGES = 100
SMALL = b"Hello World"
MIB = 1 << 20
PIECE = random.Random(4).randbytes(MIB)
UPLOAD_LIMIT = 101 * MIB
FIRST, SECOND = "first.test", "second.test"  # names in certificates
COUNT = re.compile(r"(\d+) (total|started|done|succeeded|failed|errored|timeout|2xx|3xx|4xx|5xx)\b")


def server(address):
    """As in a URL."""
    return f"[{address}]" if ":" in address else address


def origin(address=V4, tls=True):
    return f"{'https' if tls else 'http'}://{server(address)}"


def named(path, tls=True):
    """A URL with the name in the first certificate."""
    return f"{'https' if tls else 'http'}://{FIRST}{path}"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of_source(n):
    """Of /bytes/N."""
    return hashlib.sha256(source_bytes(0, n)).hexdigest()


# ---- the site ----


def png(width, height, colour):
    """An image of one colour."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(colour) * width) * height
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def image_size(i):
    """Each of another shape, so that none can stand for another."""
    return 30 + i % 10, 20 + i // 10


def image_colour(i):
    return i % 10 * 25, i // 10 * 25, 128


PAGE = """<!doctype html>
<html><head><meta charset="utf-8"><title>{n} images</title>
<link rel="stylesheet" href="style.css"></head>
<body><h1 id="told">not yet</h1>
<div>
{images}
</div>
<script>
window.addEventListener('load', () => {{
  const right = [...document.images].filter(i => i.complete
    && i.naturalWidth === Number(i.dataset.w) && i.naturalHeight === Number(i.dataset.h));
  const seen = [...performance.getEntriesByType('navigation'),
    ...performance.getEntriesByType('resource')];
  const h2 = seen.filter(e => e.nextHopProtocol === 'h2');
  document.getElementById('told').textContent =
    `${{right.length}} images, ${{h2.length}} of ${{seen.length}} over h2`;
}});
</script></body></html>
"""
STYLE = (
    "body { font: 16px sans-serif; background: #eee } img { margin: 2px } div { width: 480px }\n"
)


def page():
    rows = []
    for i in range(IMAGES):
        w, h = image_size(i)
        rows.append(f'<img src="images/{i:02}.png" alt="{i}" data-w="{w}" data-h="{h}">')
    return PAGE.format(n=IMAGES, images="\n".join(rows)).encode()


def make_site(directory):
    """Its files by path."""
    files = {
        "index.html": page(),
        "style.css": STYLE.encode(),
        "small.txt": SMALL,
        "16k.bin": PIECE[: 16 << 10],
        "1m.bin": PIECE,
        "empty.txt": b"",
        "sub/index.html": b"<!doctype html><title>sub</title>",
        "with space.txt": b"a space in its name\n",
        **{f"images/{i:02}.png": png(*image_size(i), image_colour(i)) for i in range(IMAGES)},
    }
    for path, content in files.items():
        full = f"{directory}/{path}"
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
    return files


# ---- certificates ----


class Pem:
    """A certificate and its key, in files."""

    def __init__(self, directory, name):
        self.name = name
        self.certificate = f"{directory}/{name}.pem"
        self.key = f"{directory}/{name}.key"

    def config(self):
        return {"name": self.name, "certificate": self.certificate, "key": self.key}

    def serial(self):
        return run("openssl", "x509", "-noout", "-serial", "-in", self.certificate).stdout.strip()


KEYS = {"ecdsa": ("ec", "ec_paramgen_curve:P-256"), "rsa": ("rsa", "rsa_keygen_bits:2048")}


def certificate(directory, name, hosts, key="ecdsa", issuer=None):
    """Signed by itself, where it has no issuer. hosts: names and addresses."""
    made = Pem(directory, name)
    kind, option = KEYS[key]
    alt = ",".join(("IP:" if re.match(r"[0-9.]+$|.*:", h) else "DNS:") + h for h in hosts)
    run(
        *("openssl", "req", "-x509", "-days", "30", "-nodes", "-subj", f"/CN={name}"),
        *("-newkey", kind, "-pkeyopt", option, "-keyout", made.key, "-out", made.certificate),
        *(["-addext", f"subjectAltName={alt}"] if alt else []),
        *(["-CA", issuer.certificate, "-CAkey", issuer.key] if issuer else []),
        *(["-addext", "basicConstraints=CA:FALSE"] if issuer else []),
    )
    return made


# ---- the pair ----


def listener(name, port, certificates=(), **more):
    tls = {"certificates": list(certificates)} if certificates else {}
    return {
        "name": name,
        "port": port,
        "protocol": "http2",
        "service": "origin",
        "origin": "site",
        **tls,
        **more,
    }


class H2Pair(TcpPair):
    """config: sections in place of those made here; log: of requests, one in so many; 0: none."""

    def __init__(self, driver="af_xdp", config=None, log=0, **options):
        super().__init__(driver, config=config, **options)
        self.more = config or {}
        self.log = log
        self.files = self.access_log = self.site = self.scratch = None
        self.pems = {}
        self.calls = 0

    # Before the appliance starts, when there is a directory.

    def _build(self):
        self._prepare()
        self.config.update(self._sections())
        super()._build()

    def _prepare(self):
        self.site = f"{self.directory}/site"
        self.scratch = f"{self.directory}/scratch"
        self.access_log = f"{self.directory}/access.log"
        os.mkdir(self.scratch)
        self.files = make_site(self.site)
        self._make_certificates()

    def _make_certificates(self):
        make = functools.partial(certificate, self.directory)
        addresses = [a.split("/")[0] for a in self.device["addresses"]]
        self.pems = {
            "first": make("first", [FIRST, "*." + FIRST, *addresses]),
            "first-rsa": make("first-rsa", [FIRST, "*." + FIRST, *addresses], "rsa"),
            "second": make("second", [SECOND]),
            "ca": make("ca", []),
        }
        self.pems["client"] = make("client", [], issuer=self.pems["ca"])
        self.pems["stranger"] = make("stranger", [])

    def _sections(self):
        names = ["first", "first-rsa", "second"]
        ca = self.pems["ca"].certificate
        sections = {
            "certificates": [self.pems[n].config() for n in names],
            "origins": [
                {
                    "name": "site",
                    "directory": self.site,
                    "bytes": True,
                    "echo": True,
                    "max-upload": UPLOAD_LIMIT,
                }
            ],
            "listeners": [
                listener("http", HTTP),
                listener("https", HTTPS, names, **{"handshake-timeout-s": HANDSHAKE}),
                listener(
                    "optional", OPTIONAL, names, **{"client-ca": ca, "client-auth": "optional"}
                ),
                listener(
                    "required", REQUIRED, names, **{"client-ca": ca, "client-auth": "required"}
                ),
            ],
        }
        if self.log:
            sections["access-log"] = {"file": self.access_log, "sample": self.log}
        return {**sections, **self.more}

    def pem(self, name, *hosts, **options):
        """A new one, in a new file."""
        self.pems[name] = certificate(self.directory, name, hosts, **options)
        return self.pems[name]

    def new_path(self):
        self.calls += 1
        return f"{self.scratch}/{self.calls}"

    def needs_appliance(self):
        """For what no other server does alike."""

    # Clients.

    def client(self, *argv, timeout=60, **options):
        """A program on the peer's side."""
        return self.peer.run(*argv, timeout=timeout, **options)

    def curl(self, *words, tls=True, **options):
        """A Reply of one transfer."""
        body, head = self.new_path(), self.new_path()
        version = ["--http2"] if tls else ["--http2-prior-knowledge"]
        done = self.client(
            *("curl", "-sS", "-k", *version, "-o", body, "-D", head, "-w", "%{json}", *words),
            **options,
        )
        return Reply(done, body, head)

    def h2load(self, path, *words, address=V4, tls=True, timeout=60):
        """By name: before version 1.60 it leaves the brackets of an IPv6 address out of :authority."""
        port = HTTPS if tls else HTTP
        done = self.client(
            *("h2load", f"--connect-to={server(address)}:{port}", *words, named(path, tls)),
            timeout=timeout,
        )
        return Load(done.stdout)

    def openssl(self, *words, port=HTTPS, address=V4, alpn="h2", **options):
        """What s_client tells of a connection that it ends at once."""
        offered = ["-alpn", alpn] if alpn else []
        done = self.client(
            *("openssl", "s_client", "-connect", f"{server(address)}:{port}"),
            *(*offered, *words),
            check=False,
            **options,
        )
        return done.stdout + done.stderr

    # What is left, and what was counted.

    def nothing_is_left(self, seconds=10):
        """But connections that we were the first to end, in TIME-WAIT."""
        poll("all connections end", seconds, lambda: self.open_now() == 0, step=0.02)
        left = [c for c in self.connections() if c["state"] != "time-wait"]
        assert not left, left[0]
        poll("their buffers come back", 10, lambda: self.buffers() <= self.idle + SLACK, step=0.02)
        now = self.app.snapshot()
        for kind in "h2", "h2_streams":
            opened, closed = now.count(f"{kind}_opened"), now.count(f"{kind}_closed")
            assert opened == closed, f"{kind}: {opened} opened, {closed} closed"

    def logged(self, n, seconds=10):
        """The first n lines of the access log, and there are no more."""

        def lines():
            with contextlib.suppress(FileNotFoundError), open(
                self.access_log, encoding="utf-8"
            ) as file:
                return [line for line in file.read().split("\n") if line]
            return []

        poll(f"{n} lines in the access log", seconds, lambda: len(lines()) >= n, step=0.05)
        rows = [json.loads(line) for line in lines()]
        assert len(rows) == n, f"{len(rows)} lines, not {n}"
        return rows


class Reply:
    """What curl got."""

    def __init__(self, done, body, head):
        self.told = json.loads(done.stdout)
        self.status = self.told["http_code"]
        self.version = self.told["http_version"]
        self.path = body
        with open(head, encoding="latin-1") as file:
            *_, last = re.split(r"(?m)^(?=HTTP/)", file.read())  # after interim ones
        lines = [line.split(": ", 1) for line in last.splitlines()[1:] if ": " in line]
        self.head = {name.lower(): value for name, value in lines}

    def body(self):
        if not os.path.exists(self.path):  # curl makes none for nothing
            return b""
        with open(self.path, "rb") as file:
            return file.read()

    def digest(self):
        return digest(self.path)

    def drop(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


class Load:
    """A report of h2load's."""

    def __init__(self, text):
        self.text = text
        requests = re.search(r"^requests: (.*)$", text, re.M)
        codes = re.search(r"^status codes: (.*)$", text, re.M)
        assert requests and codes, text
        self.n = {kind: int(n) for n, kind in COUNT.findall(f"{requests[1]}, {codes[1]}")}
        self.data = int(re.search(r"\((\d+)\) data", text)[1])

    def check(self, requests, size):
        """Each succeeded, with a content of that size."""
        wrong = {k: n for k, n in self.n.items() if k in ("failed", "errored", "timeout") and n}
        assert not wrong and self.n["succeeded"] == self.n["2xx"] == requests, self.text
        assert (
            self.data == requests * size
        ), f"{self.data} bytes, not {requests * size}\n{self.text}"


# ---- nghttpd in the appliance's place ----


class NghttpdPair(H2Pair):
    """The same site. Its /bytes are files, and it answers every POST with its content."""

    BYTES = 0, 1, 20_000, 100_000, 100 * MIB

    def __enter__(self):
        Lab.__enter__(self)
        with contextlib.ExitStack() as undo:
            undo.callback(self.__exit__)
            self._build()
            undo.pop_all()
        return self

    def _build(self):
        self._prepare()
        os.mkdir(f"{self.site}/bytes")
        for n in self.BYTES:
            with open(f"{self.site}/bytes/{n}", "wb") as file:
                file.write(source_bytes(0, n))
        self.host, self.peer = self.namespace("a"), self.namespace("b")
        self.veth(self.host, "mill0", self.peer, "peer0")
        self.host.up("mill0", *self.device["addresses"])
        self.peer.up("peer0", *self.theirs)
        self.peer.connected("peer0")
        first = self.pems["first"]
        for words in ("--no-tls", str(HTTP)), (str(HTTPS), first.key, first.certificate):
            self.host.spawn("nghttpd", "--echo-upload", "-d", self.site, *words)
            poll("nghttpd listens", 10, lambda w=words: self._listens(w))

    def needs_appliance(self):
        raise Missing(f"{PEER} serves")

    def nothing_is_left(self, seconds=10):
        self.needs_appliance()

    def _listens(self, words):
        with contextlib.suppress(OSError):
            self.connect(HTTP if "--no-tls" in words else HTTPS).close()
            return True
        return False


assert PEER in (None, "nghttpd"), f"H2_PEER={PEER}"
Served = NghttpdPair if PEER else H2Pair  # what a group's cases share
