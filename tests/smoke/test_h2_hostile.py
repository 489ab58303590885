#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""Each limit of HTTP/2, and a client that goes beyond it."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "h2"))

import hostile  # noqa: E402  pylint: disable=wrong-import-position
import tap  # noqa: E402  pylint: disable=wrong-import-position
from h2lab import HTTP, HTTPS, H2Pair  # noqa: E402  pylint: disable=wrong-import-position
from peer import Target  # noqa: E402  pylint: disable=wrong-import-position
from tcp import V4  # noqa: E402  pylint: disable=wrong-import-position


class Victim(H2Pair):
    tls = False

    def __init__(self):
        super().__init__(config={"http2": hostile.LIMITS})

    @property
    def target(self):
        port = HTTPS if self.tls else HTTP
        return Target(V4, port, self.tls, self.peer.inside, large="/1m.bin")


class TlsVictim(Victim):
    tls = True


if __name__ == "__main__":
    tap.main(
        tap.Group("h2c", Victim, *hostile.ATTACKS),
        tap.Group("TLS", TlsVictim, *hostile.ATTACKS_ON_TLS),
    )
