// SPDX-License-Identifier: BSD-3-Clause
// Node's HTTP/2 client of a proxy: connect_client.js CASE PROXY PORT AUTHORITY. Exits 0 when what the
// case asks for has happened.
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const http2 = require('http2');
const tls = require('tls');
const { once } = require('events');

const LIMIT = 50000; // milliseconds that a case may take
const TUNNELS = 80;
const { NGHTTP2_CANCEL, NGHTTP2_CONNECT_ERROR } = http2.constants;

const [name, address, port, authority] = process.argv.slice(2);

function session() {
  const bracketed = address.includes(':') ? `[${address}]` : address;
  return http2.connect(`https://${bracketed}:${port}`, {
    rejectUnauthorized: false,
    servername: 'first.test',
  });
}

// A tunnel, of which nothing is known yet.
function ask(proxy, to = authority, fields = {}) {
  return proxy.request({ ':method': 'CONNECT', ':authority': to, ...fields });
}

async function open(proxy, to = authority) {
  const tunnel = ask(proxy, to);
  const [head] = await once(tunnel, 'response');
  assert.strictEqual(head[':status'], 200);
  return tunnel;
}

async function content(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

async function closed(proxy) {
  const ended = once(proxy, 'close');
  proxy.close();
  await ended;
}

const cases = {
  // At once, half of them before there is an answer.
  async echo() {
    const proxy = session();
    await Promise.all(
      Array.from({ length: TUNNELS }, async (_, i) => {
        const data = crypto.randomBytes(50000 + 1000 * i);
        const tunnel = i % 2 ? ask(proxy) : await open(proxy);
        tunnel.end(data);
        assert((await content(tunnel)).equals(data), `tunnel ${i}`);
      }),
    );
    await closed(proxy);
  },

  // As fast as the target takes it; it says how much that was.
  async upload() {
    const proxy = session();
    const tunnel = await open(proxy);
    const piece = crypto.randomBytes(64 << 10);
    const sent = crypto.createHash('sha256');
    const n = 320;
    for (let i = 0; i < n; i++) {
      sent.update(piece);
      if (!tunnel.write(piece)) await once(tunnel, 'drain');
    }
    tunnel.end();
    const told = (await content(tunnel)).toString();
    assert.strictEqual(told, `${n * piece.length} ${sent.digest('hex')}\n`);
    await closed(proxy);
  },

  // The rest of the session does not notice.
  async refused() {
    const proxy = session();
    const tunnel = ask(proxy);
    const [head] = await once(tunnel, 'response');
    assert.strictEqual(head[':status'], 502);
    assert.match(head['proxy-status'], /; *error=connection_refused/);
    assert.strictEqual((await content(tunnel)).length, 0);
    tunnel.end();
    await closed(proxy);
  },

  // The target's reset behind its last byte.
  async reset() {
    const proxy = session();
    const tunnel = await open(proxy);
    let n = 0;
    tunnel.on('data', (part) => (n += part.length));
    tunnel.write('!');
    const [error] = await once(tunnel, 'error');
    assert.strictEqual(error.code, 'ERR_HTTP2_STREAM_ERROR');
    assert.strictEqual(tunnel.rstCode, NGHTTP2_CONNECT_ERROR);
    assert.strictEqual(n, 100000);
    await closed(proxy);
  },

  // Some are given up in the midst of it all.
  async cancel() {
    const proxy = session();
    const kept = [];
    for (let i = 0; i < 20; i++) {
      const given = await open(proxy);
      given.on('error', () => {});
      given.write(crypto.randomBytes(30000));
      given.once('data', () => given.close(NGHTTP2_CANCEL));
      const data = crypto.randomBytes(100000);
      const tunnel = await open(proxy);
      tunnel.end(data);
      kept.push(content(tunnel).then((got) => assert(got.equals(data))));
    }
    await Promise.all(kept);
    await closed(proxy);
  },

  // TLS and HTTP/2 once more, in the tunnel: a page as its server has it.
  async page() {
    const proxy = session();
    const tunnel = await open(proxy);
    const inner = http2.connect('https://first.test', {
      createConnection: () =>
        tls.connect({
          socket: tunnel,
          servername: 'first.test',
          ALPNProtocols: ['h2'],
          rejectUnauthorized: false,
        }),
    });
    const paths = ['/', '/1m.bin', ...Array.from({ length: 50 }, () => '/16k.bin')];
    const sizes = await Promise.all(
      paths.map(async (path) => (await content(inner.request({ ':path': path }))).length),
    );
    assert.strictEqual(sizes[1], 1 << 20);
    assert(sizes.slice(2).every((n) => n === 16 << 10));
    await closed(inner);
    await closed(proxy);
  },
};

setTimeout(() => {
  console.error(`${name}: not within ${LIMIT} ms`);
  process.exit(2);
}, LIMIT).unref();
cases[name]().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
