// SPDX-License-Identifier: BSD-3-Clause
// Serves the files of a folder over TLS, by HTTP/2 or HTTP/1.1: site_server.js FOLDER CERTIFICATE KEY
// PORT. Prints "ready" when it does.
'use strict';
const fs = require('fs');
const http2 = require('http2');
const path = require('path');

const [folder, certificate, key, port] = process.argv.slice(2);
const TYPES = { '.html': 'text/html', '.css': 'text/css', '.png': 'image/png' };
const options = {
  allowHTTP1: true,
  cert: fs.readFileSync(certificate),
  key: fs.readFileSync(key),
};

http2
  .createSecureServer(options, (request, response) => {
    const wanted = request.url.endsWith('/') ? `${request.url}index.html` : request.url;
    const file = path.join(folder, path.normalize(wanted));
    if (!fs.existsSync(file)) {
      response.writeHead(404);
      response.end();
      return;
    }
    response.writeHead(200, {
      'content-type': TYPES[path.extname(file)] || 'application/octet-stream',
    });
    response.end(fs.readFileSync(file));
  })
  .listen(Number(port), '::', () => console.log('ready'));
