# SPDX-License-Identifier: BSD-3-Clause
"""An appliance between two namespaces: clients of its proxy in one, where tunnels lead in the other.
Names are answered beside the appliance, on loopback."""
import contextlib
import json
import json
import os
import signal

from connect_client import ConnectClient
from dns import Dns
from h2client import trusting
from h2lab import H2Pair
from machine import needs_af_xdp, poll, run
from targets import Targets

V4, V6 = "10.77.0.1", "fd77::1"  # the appliance, for clients
TARGET4, TARGET6 = "10.88.0.2", "fd88::2"
SECOND4 = "10.88.0.3"  # the same machine
NOBODY4, NOBODY6 = "10.88.0.99", "fd88::99"  # on the same wire, and nobody's
OURS4, OURS6 = ("10.88.0.1", "10.88.0.11", "10.88.0.12"), ("fd88::1", "fd88::11")

CLEAR, SECURE, STRICT, RULES, HASTY, EGRESS, BRIEF = 8080, 8443, 8081, 8082, 8083, 8084, 8085
BASIC, CERTIFICATE, EITHER = 8444, 8445, 8446

ALL = {"action": "allow"}
PRIVATE = {"permit": ["private"]}
OPEN_TO_ALL = "open", "strict", "hasty", "brief", "egress", "basic", "certificate", "either"
SECONDS = 1  # of the timeouts of `hasty`

# name: password, of which the file has a hash.
PASSWORDS = {"alice": "open sesame", "bob": "p:a:s:s", "few": "1", "rate": "2", "slow": "3"}

ZONE = {
    "a.test": {"a": [TARGET4]},
    "aaaa.test": {"aaaa": [TARGET6]},
    "both.test": {"a": [TARGET4], "aaaa": [TARGET6]},
    "dead6.test": {"a": [TARGET4], "aaaa": [NOBODY6]},
    "several.test": {"a": [NOBODY4, TARGET4]},
    "fail.test": {"rcode": "servfail"},
    "silent.test": {"silent": True},
    "mute.test": {"silent": True},
    "loopback.test": {"a": ["127.0.0.1"], "aaaa": ["::1"]},
    "mapped.test": {"aaaa": ["::ffff:127.0.0.1", "64:ff9b::7f00:1"]},
    "mixed.test": {"a": ["127.0.0.1", TARGET4]},
    "sub.a.test": {"a": [TARGET4]},
    "bad.a.test": {"a": [TARGET4]},
    "badname.test": {"a": [TARGET4]},
    "sub.both.test": {"a": [TARGET4]},
    "once.test": {"a": [TARGET4]},
    "own.test": {"a": [OURS4[0]], "aaaa": [OURS6[0]]},
    "alias.test": {"cname": "a.test"},
}


def literal(address, port):
    """As an authority."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def hashed(password):
    return run("openssl", "passwd", "-6", "-salt", "millrace", password).stdout.strip()


def proxy(name, **more):
    return {"name": name, **PRIVATE, **more}


def listener(name, port, to, certificates=(), **more):
    tls = {"certificates": list(certificates)} if certificates else {}
    return {
        "name": name,
        "port": port,
        "protocol": "http2",
        "service": "connect",
        "proxy": to,
        **tls,
        **more,
    }


class ConnectPair(H2Pair):
    """config: sections in place of those made here."""

    def __init__(self, driver="af_xdp", config=None, **options):
        super().__init__(driver, config=config, log=1, **options)
        self.users_file = None
        self.target = self.targets = self.dns = None
        self.outside = {
            "name": "mill1",
            "driver": driver,
            "interface": "mill1",
            "addresses": [f"{a}/24" for a in OURS4] + [f"{a}/64" for a in OURS6],
        }

    def _build(self):
        if self.driver == "af_xdp":
            needs_af_xdp()
        self._prepare()
        self.config.update(self._sections())
        self.host, self.peer = self.namespace("a"), self.namespace("b")
        self.target = self.namespace("t")
        self._wire("mill0", self.peer, self.peer_if, self.theirs)
        self._wire("mill1", self.target, "target0", [f"{a}/24" for a in (TARGET4, SECOND4)])
        self.target.up("target0", f"{TARGET6}/64")
        self.targets = Targets(self.target)
        self.dns = Dns(self.host, ZONE)
        self.watch(self.target, "target0")
        self.app = self.appliance(self.host, self.config)

    def _wire(self, ours, namespace, theirs, addresses):
        self.veth(self.host, ours, namespace, theirs)
        self.host.sysctl(f"net.ipv6.conf.{ours}.disable_ipv6", 1)
        self.host.up(ours, mtu=self.mtu)
        namespace.up(theirs, *addresses, mtu=self.mtu)
        namespace.connected(theirs)

    def write_users(self, text):
        self.users_file = f"{self.directory}/users"
        with open(self.users_file, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.users_file, 0o600)

    def _make_users(self):
        lines = [f"{name}:{hashed(password)}\n" for name, password in PASSWORDS.items()]
        self.write_users("".join(lines))

    def _sections(self):
        self._make_users()
        names = ["first", "first-rsa"]
        client = {"client-ca": self.pems["ca"].certificate}
        basic = {"authentication": "basic", "users-file": self.users_file, "realm": "the mill"}
        hasty = {"connect-timeout-s": SECONDS, "idle-timeout-s": SECONDS}
        sections = super()._sections()
        sections.update(
            {
                "devices": [self.device, self.outside],
                "listeners": [
                    listener("clear", CLEAR, "open"),
                    listener("secure", SECURE, "open", names),
                    listener("strict", STRICT, "strict"),
                    listener("rules", RULES, "rules"),
                    listener("hasty", HASTY, "hasty"),
                    listener("egress", EGRESS, "egress"),
                    listener("brief", BRIEF, "brief"),
                    listener("basic", BASIC, "basic", names),
                    listener(
                        "certificate",
                        CERTIFICATE,
                        "certificate",
                        names,
                        **{**client, "client-auth": "required"},
                    ),
                    listener(
                        "either", EITHER, "either", names, **{**client, "client-auth": "optional"}
                    ),
                ],
                "proxies": [
                    proxy("open"),
                    {"name": "strict"},
                    proxy("rules"),
                    proxy("hasty", **hasty, **{"half-open-timeout-s": SECONDS}),
                    proxy("brief", **{"lifetime-s": SECONDS}),
                    proxy("egress", egress=[OURS4[1], OURS6[1]]),
                    proxy("basic", **basic),
                    proxy("certificate", authentication="certificate"),
                    proxy("either", **{**basic, "authentication": "any"}),
                ],
                "rules": [{"proxy": name, **ALL} for name in OPEN_TO_ALL],
                "hosts": [{"name": "host.test", "addresses": [TARGET4, TARGET6]}],
                "resolver": {"servers": [self.dns_server()], "timeout-ms": 300, "tries": 2},
            }
        )
        return {**sections, **self.more}

    @staticmethod
    def dns_server():
        return "127.0.0.1"

    def mark(self):
        self.targets.forget()
        return super().mark()

    def reload(self, **sections):
        self.app.configure({**self.app.config, **sections})
        self.app.process.send_signal(signal.SIGHUP)

    # What is told of tunnels.

    def tunnels(self, **filters):
        """Those that there are, page by page."""
        query = "".join(f"&{key}={value}" for key, value in filters.items())
        rows, cursor = [], ""
        while True:
            page = self.app.get(f"/v1/tunnels?limit=20{query}{cursor}")
            rows += page["tunnels"]
            if not page.get("next"):
                return rows
            cursor = f"&cursor={page['next']}"

    def kill_tunnel(self, row):
        self.app.get(f"/v1/tunnels/{row['id']}", "DELETE")

    @staticmethod
    def ended(snapshot, why=""):
        """How many tunnels have, for that reason or for any."""
        rows = [r for r in snapshot.value.items() if r[0][0] == "millrace_tunnels_ended_total"]
        return sum(n for (_, labels), n in rows if f'end="{why}' in labels)

    def _all_are_told(self):
        now = self.app.snapshot()
        ended = self.ended(now)
        still = now.count("h2_streams_opened") - now.count("h2_streams_closed")
        told = now.value["millrace_access_log_written_total", ""]
        return now.count("tunnels") + still == 0 and ended == told

    def forget_log(self):
        """What it holds so far, to be told from what comes."""
        poll("all tunnels are over and told", 10, self._all_are_told)
        with contextlib.suppress(FileNotFoundError):
            os.truncate(self.access_log, 0)

    def tunnels_logged(self, n=0, seconds=10):
        """A row for each that has ended, of which there are n, or 0: any number."""

        def rows():
            with contextlib.suppress(FileNotFoundError), open(
                self.access_log, encoding="utf-8"
            ) as file:
                return [json.loads(line) for line in file.read().split("\n")[:-1]]
            return []

        got = poll(f"{n} lines of tunnels", seconds, lambda: len(r := rows()) >= n and r, step=0.05)
        assert n in (0, len(got)), f"{len(got)} lines, not {n}"
        return got

    # Clients.

    def proxied(self, port=CLEAR, address=V4, tls=None, **options):
        """A connection to the proxy. tls: a context, for a port that has none by itself."""
        if port in (SECURE, BASIC, CERTIFICATE, EITHER):
            tls = tls or trusting()
        return ConnectClient.to(self, port, address, tls, **options)

    def with_certificate(self, name):
        context = trusting()
        context.load_cert_chain(self.pems[name].certificate, self.pems[name].key)
        return context
