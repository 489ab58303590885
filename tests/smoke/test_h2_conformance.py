#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""RFC 9113 and its kin: every case of tests/h2, over TLS and without, and a gentle end."""
import functools
import os
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "h2"))

import hostile  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from conformance import Suite, same_as_h2spec  # noqa: E402  pylint: disable=wrong-import-position
from h2lab import HTTP, HTTPS, Served  # noqa: E402  pylint: disable=wrong-import-position
from peer import (  # noqa: E402  pylint: disable=wrong-import-position
    INITIAL_WINDOW,
    WINDOW,
    Target,
    settings,
)
from tcp import V4  # noqa: E402  pylint: disable=wrong-import-position


class Conformant(Served):
    """With TLS extended CONNECT is announced, without it is not, so that both are tried."""

    def __init__(self, tls):
        super().__init__(config={"http2": {"connect-protocol": tls}})
        self.tls = tls

    @property
    def target(self):
        port = HTTPS if self.tls else HTTP
        return Target(V4, port, self.tls, self.peer.inside, large="/1m.bin")


def has_all_that_h2spec_has(_):
    assert len(same_as_h2spec()) == 147


def ends_gently_when_it_is_told_to_stop(given):
    """GOAWAY in two steps; what is open is answered; then it stops."""
    given.needs_appliance()
    with given.target.connect((INITIAL_WINDOW, 0)) as conn:
        conn.get(1)
        conn.barrier()
        given.app.process.send_signal(signal.SIGTERM)
        conn.awaits_goaway()
        conn.send(settings((INITIAL_WINDOW, WINDOW)))
        conn.served(1)
        conn.ends_gently()
    assert given.app.process.wait(10) == 0


if __name__ == "__main__":
    tap.main(
        *(
            Suite(
                name,
                functools.partial(Conformant, name == "TLS"),
                has_all_that_h2spec_has,
                hostile.nothing_is_left,
                ends_gently_when_it_is_told_to_stop,
            )
            for name in ("h2c", "TLS")
        )
    )
