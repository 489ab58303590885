# SPDX-License-Identifier: BSD-3-Clause
"""python3-h2 as a client, a connection at a time, with its windows in the test's hand."""
import ssl
import sys

from h2lab import HTTP, HTTPS, V4
from tap import Missing
from tcp import STALL

DEBIAN = "/usr/lib/python3/dist-packages"  # where another python3 does not look

try:
    sys.path.append(DEBIAN)
    from h2 import config, connection, events, settings
except ImportError:
    connection = None

READ = 1 << 16


def trusting():
    """Any certificate will do: what it says is another test's matter."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


class H2Client:
    """window: of a stream, in bytes; what content it takes away is given back by `credit` alone.
    context, session: of TLS."""

    def __init__(self, pair, address=V4, tls=True, window=65535, context=None, session=None):
        if not connection:
            raise Missing("python3-h2 is not installed")
        self.sock = pair.connect(HTTPS if tls else HTTP, address)
        self.sock.settimeout(STALL)
        if tls:
            self.sock = (context or trusting()).wrap_socket(self.sock, session=session)
            assert self.sock.selected_alpn_protocol() == "h2"
        self.conn = connection.H2Connection(config.H2Configuration(header_encoding="utf-8"))
        self.conn.local_settings = settings.Settings(
            client=True,
            initial_values={
                settings.SettingCodes.ENABLE_PUSH: 0,
                settings.SettingCodes.INITIAL_WINDOW_SIZE: window,
            },
        )
        self.conn.initiate_connection()
        self.status = {}  # by stream
        self.body = {}
        self.ended = set()
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def flush(self):
        self.sock.sendall(self.conn.data_to_send())

    def request(self, path, method="GET", end=True):
        """The new stream's number."""
        stream = self.conn.get_next_available_stream_id()
        self.body[stream] = bytearray()
        head = {":method": method, ":scheme": "https", ":authority": "first.test", ":path": path}
        self.conn.send_headers(stream, list(head.items()), end_stream=end)
        self.flush()
        return stream

    def send(self, stream, data, pad=0):
        """What its window allows of it, in one frame; how much that was."""
        room = min(self.conn.local_flow_control_window(stream), self.conn.max_outbound_frame_size)
        n = max(0, min(len(data), room - pad - 1))
        if n:
            self.conn.send_data(stream, bytes(data[:n]), pad_length=pad or None)
            self.flush()
        return n

    def end(self, stream):
        self.conn.end_stream(stream)
        self.flush()

    def step(self):
        """Waits for something to come, and takes it: bytes of window used up, by stream."""
        data = self.sock.recv(READ)
        assert data, "the server has closed the connection"
        used = {}
        for event in self.conn.receive_data(data):
            if isinstance(event, events.ResponseReceived):
                self.status[event.stream_id] = int(dict(event.headers)[":status"])
            elif isinstance(event, events.DataReceived):
                self.body[event.stream_id] += event.data
                n = event.flow_controlled_length
                used[event.stream_id] = used.get(event.stream_id, 0) + n
            elif isinstance(event, events.StreamEnded):
                self.ended.add(event.stream_id)
            elif isinstance(event, (events.StreamReset, events.ConnectionTerminated)):
                raise AssertionError(str(event))
        self.flush()
        return used

    def credit(self, n, stream=None):
        """Of the connection's window, or of a stream's while it is open."""
        if stream not in self.ended:
            self.conn.increment_flow_control_window(n, stream)
        self.flush()

    def take(self):
        """Takes what comes; windows are given back by halves."""
        for stream, n in self.step().items():
            self.conn.acknowledge_received_data(n, stream)
        self.flush()

    def finish(self, streams):
        """Until these have ended."""
        while not self.ended.issuperset(streams):
            self.take()
