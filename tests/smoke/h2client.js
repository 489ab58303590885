// SPDX-License-Identifier: BSD-3-Clause
// Node's HTTP/2 client: h2client.js CASE ORIGIN ADDRESS. Exits 0 when what the case asks for has
// happened. The address is apart, for in an origin Node leaves the brackets of IPv6 out of :authority.
'use strict';
const assert = require('assert');
const crypto = require('crypto');
const http2 = require('http2');
const net = require('net');
const tls = require('tls');
const { once } = require('events');

const PERIOD = 251; // of what /bytes/N sends
const LIMIT = 50000; // milliseconds that a case may take

let address;

function connect(origin) {
  const { protocol, hostname } = new URL(origin);
  const createConnection = () =>
    protocol === 'http:'
      ? net.connect(80, address)
      : tls.connect(443, address, {
          ALPNProtocols: ['h2'],
          rejectUnauthorized: false,
          servername: hostname,
        });
  return http2.connect(origin, { createConnection });
}

function pattern(n) {
  const b = Buffer.alloc(n);
  for (let i = 0; i < n; i++) b[i] = i % PERIOD;
  return b;
}

function sha256(data) {
  return crypto.createHash('sha256').update(data).digest('hex');
}

async function content(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

// A request without content: its status and the content of its answer.
async function get(session, path, fields = {}) {
  const stream = session.request({ ':path': path, ...fields });
  const [head] = await once(stream, 'response');
  return { status: head[':status'], body: await content(stream) };
}

async function echo(session, data, fields = {}) {
  const stream = session.request({ ':method': 'POST', ':path': '/echo', ...fields });
  stream.end(data);
  return content(stream);
}

async function closed(session) {
  const ended = once(session, 'close');
  session.close();
  await ended;
}

const cases = {
  // More than may be open at once: the session keeps the rest back.
  async streams(origin) {
    const session = connect(origin);
    const n = 20000;
    const expected = sha256(pattern(n));
    const all = Array.from({ length: 500 }, () => get(session, `/bytes/${n}`));
    for (const { status, body } of await Promise.all(all)) {
      assert.strictEqual(status, 200);
      assert.strictEqual(sha256(body), expected);
    }
    await closed(session);
  },

  // The reader takes a pause now and then; the writer waits for `drain`.
  async upload(origin) {
    const session = connect(origin);
    const stream = session.request({ ':method': 'POST', ':path': '/echo' });
    const size = 20 << 20;
    const piece = crypto.randomBytes(64 << 10);
    const sent = crypto.createHash('sha256');
    const got = crypto.createHash('sha256');
    let waits = 0;
    let received = 0;
    const reading = (async () => {
      for await (const part of stream) {
        got.update(part);
        const before = received;
        received += part.length;
        if (before >> 20 !== received >> 20) await new Promise((r) => setTimeout(r, 5));
      }
    })();
    for (let at = 0; at < size; at += piece.length) {
      sent.update(piece);
      if (!stream.write(piece)) {
        waits++;
        await once(stream, 'drain');
      }
    }
    stream.end();
    await reading;
    assert.strictEqual(received, size);
    assert.strictEqual(got.digest('hex'), sent.digest('hex'));
    assert(waits > 0, 'nothing ever held the writer back');
    await closed(session);
  },

  async ping(origin) {
    const session = connect(origin);
    await once(session, 'connect');
    for (let i = 0; i < 20; i++) {
      const sent = crypto.randomBytes(8);
      await new Promise((resolve, reject) => {
        session.ping(sent, (error, milliseconds, payload) => {
          if (error) reject(error);
          else resolve(assert.deepStrictEqual(payload, sent));
        });
      });
    }
    await closed(session);
  },

  // Windows that shrink and grow while content is on its way.
  async settings(origin) {
    const session = connect(origin);
    await once(session, 'connect');
    const all = Array.from({ length: 20 }, () => get(session, '/bytes/100000'));
    for (const initialWindowSize of [1000, 200000, 1, 65535]) {
      await new Promise((resolve, reject) => {
        session.settings({ initialWindowSize }, (error) => (error ? reject(error) : resolve()));
      });
    }
    const expected = sha256(pattern(100000));
    for (const { body } of await Promise.all(all)) assert.strictEqual(sha256(body), expected);
    await closed(session);
  },

  // Trailers of a request are no content.
  async trailers(origin) {
    const session = connect(origin);
    const stream = session.request(
      { ':method': 'POST', ':path': '/echo' },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-checksum': 'abc' }));
    stream.end('content');
    assert.strictEqual((await content(stream)).toString(), 'content');
    assert.strictEqual((await echo(session, 'again')).toString(), 'again');
    await closed(session);
  },

  // Half of the streams are given up in mid-content; the others do not notice.
  async cancel(origin) {
    const session = connect(origin);
    const kept = [];
    for (let i = 0; i < 50; i++) {
      kept.push(get(session, '/bytes/100000'));
      const given = session.request({ ':path': '/bytes/104857600' });
      given.on('error', () => {});
      given.once('data', () => given.close(http2.constants.NGHTTP2_CANCEL));
    }
    const expected = sha256(pattern(100000));
    for (const { body } of await Promise.all(kept)) assert.strictEqual(sha256(body), expected);
    assert.strictEqual((await get(session, '/bytes/1')).body.length, 1);
    await closed(session);
  },

  // The session is told to end while streams are open: they come to their end first.
  async close(origin) {
    const session = connect(origin);
    const all = Array.from({ length: 50 }, () => get(session, '/bytes/100000'));
    await once(session, 'remoteSettings');
    await closed(session);
    for (const { body } of await Promise.all(all)) assert.strictEqual(body.length, 100000);
  },

  // Our GOAWAY: what is under way is served to its end.
  async goaway(origin) {
    const session = connect(origin);
    const all = Array.from({ length: 20 }, () => get(session, '/bytes/100000'));
    await once(session, 'remoteSettings');
    session.goaway(http2.constants.NGHTTP2_NO_ERROR);
    for (const { body } of await Promise.all(all)) assert.strictEqual(body.length, 100000);
    await closed(session);
  },

  // For a test that stops the server when told that content has begun to come.
  async drained(origin) {
    const session = connect(origin);
    const size = 100 << 20;
    const stream = session.request({ ':path': `/bytes/${size}` });
    let goaways = 0;
    session.on('goaway', (code) => {
      assert.strictEqual(code, http2.constants.NGHTTP2_NO_ERROR);
      goaways++;
    });
    const ended = once(session, 'close');
    let received = 0;
    for await (const part of stream) {
      if (received === 0) {
        console.log('begun');
        await new Promise((r) => setTimeout(r, 500));
      }
      received += part.length;
    }
    assert.strictEqual(received, size);
    await ended;
    assert(goaways > 0, 'no GOAWAY');
  },
};

async function main([name, origin, to]) {
  address = to;
  setTimeout(() => {
    console.error(`${name}: not within ${LIMIT} ms`);
    process.exit(2);
  }, LIMIT).unref();
  await cases[name](origin);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
