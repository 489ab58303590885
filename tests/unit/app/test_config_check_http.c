/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "app/config_check.h"
#include "document.h"

START_TEST(every_key_of_http2_arrives)
{
    struct config *c = document_valid(
        "http2: {max-streams: 1, stream-window: 2 KiB, connection-window: 2 MiB, max-frame: 32 KiB,\n"
        "  header-table: 5, header-list: 6 KiB, header-fields: 70, connect-protocol: yes,\n"
        "  glitches: 8, glitches-recover: 9, rst-burst: 10, rst-rate: 11, reset-burst: 12,\n"
        "  reset-rate: 13, ping-burst: 14, ping-rate: 15, settings-burst: 16, settings-rate: 17,\n"
        "  settings-entries: 18, continuations: 19, total-streams: 20, memory: 1 MiB,\n"
        "  progress-bytes: 22, progress-timeout-s: 23, preface-timeout-s: 24,\n"
        "  headers-timeout-s: 25, idle-timeout-s: 26, settings-timeout-s: 27,\n"
        "  drain-timeout-s: 28, quantum: 29 KiB,\n"
        "  min-share-per-mille: 30}\n"
        "limits: {streams: 64}\n");
    struct h2_settings expected;
    memset(&expected, 0, sizeof(expected)); /* padding too */
    expected.max_streams = 1;
    expected.stream_window = 2048;
    expected.connection_window = 2 << 20;
    expected.max_frame = 32768;
    expected.header_table = 5;
    expected.header_list = 6144;
    expected.header_fields = 70;
    expected.connect_protocol = true;
    expected.glitches = 8;
    expected.glitches_recover = 9;
    expected.rst_burst = 10;
    expected.rst_rate = 11;
    expected.reset_burst = 12;
    expected.reset_rate = 13;
    expected.ping_burst = 14;
    expected.ping_rate = 15;
    expected.settings_burst = 16;
    expected.settings_rate = 17;
    expected.settings_entries = 18;
    expected.continuations = 19;
    expected.total_streams = 20;
    expected.memory = 1 << 20;
    expected.progress_bytes = 22;
    expected.progress_timeout = 23 * TICK_SEC;
    expected.preface_timeout = 24 * TICK_SEC;
    expected.headers_timeout = 25 * TICK_SEC;
    expected.idle_timeout = 26 * TICK_SEC;
    expected.settings_timeout = 27 * TICK_SEC;
    expected.drain_timeout = 28 * TICK_SEC;
    expected.sched.quantum = 29 << 10;
    expected.sched.min_share = 30;
    ck_assert_mem_eq(&c->http2, &expected, sizeof(expected));
    ck_assert_uint_eq(c->limits.streams, 64);
    config_free(c);
}
END_TEST

/* The library and the registry agree on what is left out. */
START_TEST(the_defaults_of_http2_are_the_librarys)
{
    struct config *c = document_valid("");
    struct h2_settings library = {0};
    ck_assert(h2_settings_fill(&library));
    ck_assert_mem_eq(&c->http2, &library, sizeof(library));
    config_free(c);
}
END_TEST

START_TEST(what_http_needs_arrives)
{
    struct config *c = document_valid(
        "certificates:\n"
        "- {name: a, certificate: /a.pem, key: /a.key}\n"
        "- {name: b, certificate: /b.pem, key: /b.key}\n"
        "tls: {min-version: 1.3, ciphers: x, suites: y, groups: z, tickets: 0,\n"
        "  ticket-lifetime-s: 61}\n"
        "origins: [{name: o, directory: /d, bytes: yes, echo: yes, max-entries: 3,\n"
        "  max-bytes: 1 MiB, max-upload: 1 KiB}, {name: none}]\n"
        "responses:\n"
        "- {origin: o, path: /x, status: 418, type: text/plain, body: 'a b'}\n"
        "- {origin: none, path: /x, file: /f}\n"
        "listeners:\n"
        "- {name: w, protocol: http2, service: origin, port: 443, certificates: [b, a],\n"
        "   origin: o, client-ca: /ca, client-auth: required, handshakes: 9,\n"
        "   prefix-handshakes: 8, handshake-timeout-s: 7,\n"
        "   scheduler: urgency}\n"
        "- {name: clear, protocol: http2, service: origin, port: 80, origin: none}\n"
        "access-log: {file: /l, sample: 100}\n");
    ck_assert_uint_eq(c->n_certificates, 2);
    ck_assert_str_eq(c->certificate[1].key, "/b.key");
    ck_assert_int_eq(c->tls.min_version, TLS_VERSION_1_3);
    ck_assert_str_eq(c->tls.groups, "z");
    ck_assert_uint_eq(c->tls.tickets, 0);
    ck_assert_uint_eq(c->tls.ticket_lifetime, 61 * TICK_SEC);
    ck_assert_str_eq(c->origin[0].directory, "/d");
    ck_assert(c->origin[0].options.bytes && c->origin[0].options.echo);
    ck_assert_uint_eq(c->origin[0].options.max_entries, 3);
    ck_assert_uint_eq(c->origin[0].options.max_bytes, 1 << 20);
    ck_assert_uint_eq(c->origin[0].options.max_upload, 1024);
    ck_assert_ptr_null(c->origin[1].directory);
    ck_assert_uint_eq(c->origin[1].options.max_entries, 65536);
    ck_assert_uint_eq(c->response[0].status, 418);
    ck_assert_str_eq(c->response[0].body, "a b");
    ck_assert_uint_eq(c->response[1].status, 200);
    ck_assert_str_eq(c->response[1].file, "/f");
    const struct config_listener *l = c->listener;
    ck_assert_int_eq(l->carrier, STACK_CARRIER_HTTP2);
    ck_assert_uint_eq(l->n_certificates, 2);
    ck_assert_str_eq(l->certificate[0], "b");
    ck_assert_str_eq(l->certificate[1], "a");
    ck_assert_str_eq(l->origin, "o");
    ck_assert_int_eq(l->client_auth, TLS_CLIENT_AUTH_REQUIRED);
    ck_assert_uint_eq(l->handshakes, 9);
    ck_assert_uint_eq(l->prefix_handshakes, 8);
    ck_assert_uint_eq(l->handshake_timeout, 7 * TICK_SEC);
    ck_assert_int_eq(l->scheduler, SCHED_URGENCY);
    ck_assert_uint_eq(c->listener[1].n_certificates, 0);
    ck_assert_int_eq(c->listener[1].scheduler, SCHED_DEFICIT);
    ck_assert_uint_eq(c->access_log.sample, 100);
    config_free(c);
}
END_TEST

#define SITE "origins: [{name: site}]\ncertificates: [{name: mine, certificate: a, key: b}]\n"
#define WEB  "protocol: http2, service: origin, origin: site"

START_TEST(refuses_http_that_does_not_fit_together)
{
    static const struct refusal r[] = {
        {"listeners: [{name: a, port: 7, service: origin}]\n",
         "f:1: listeners[0].service: service 'origin' speaks HTTP: it needs 'protocol: http2'\n"},
        {"listeners: [{name: a, port: 7, service: echo, protocol: http2}]\n",
         "f:1: listeners[0].service: protocol 'http2' needs a service that speaks HTTP: "
         "'origin' or 'connect'\n"},
        {"listeners: [{name: a, port: 7, service: origin, protocol: http2}]\n",
         "f:1: listeners[0]: service 'origin' needs an 'origin' to serve\n"},
        {SITE "listeners: [{name: a, port: 7, service: echo}, {name: b, port: 7, " WEB "}]\n",
         "f:3: listeners[1].port: 'a' has port 7 of that address already\n"},
        {SITE "listeners: [{name: a, port: 7, service: echo, origin: site}]\n",
         "f:3: listeners[0].origin: means nothing to service 'echo'\n"},
        {SITE "listeners: [{name: a, port: 7, service: echo, certificates: [mine]}]\n",
         "f:3: listeners[0].certificates: mean nothing to protocol 'tcp'\n"},
        {SITE "listeners: [{name: a, port: 7, service: origin, protocol: http2, origin: sit,\n"
              " certificates: [mine, mind]}]\n",
         "f:3: listeners[0].origin: there is no origin 'sit' (did you mean 'site'?)\n"
         "f:4: listeners[0].certificates[1]: there is no certificate 'mind' (did you mean "
         "'mine'?)\n"},
        {"listeners: [{name: a, port: 7, " WEB ", certificates: [x, x]}]\n",
         "f:1: listeners[0].certificates[1]: 'x' is listed twice\n"},
        {"listeners: [{name: a, port: 7, " WEB "}]\n",
         "f:1: listeners[0].origin: there is no origin 'site' in the section 'origins'\n"},
        {SITE "listeners:\n- {name: a, port: 1, " WEB ", client-auth: optional}\n"
              "- {name: b, port: 2, " WEB ", client-ca: x}\n"
              "- {name: c, port: 3, " WEB ", certificates: [mine], client-ca: x}\n"
              "- {name: d, port: 4, " WEB ", certificates: [mine], client-auth: required}\n"
              "- {name: e, port: 5, " WEB ", handshakes: 9, prefix-handshakes: 10}\n",
         "f:4: listeners[0].client-auth: means nothing without 'certificates'\n"
         "f:5: listeners[1].client-ca: means nothing without 'certificates'\n"
         "f:6: listeners[2].client-ca: means nothing unless 'client-auth' is optional or "
         "required\n"
         "f:7: listeners[3].client-auth: needs 'client-ca'\n"
         "f:8: listeners[4].prefix-handshakes: 10 is more than handshakes, 9\n"},
        {"origins: [{name: a}, {name: a}, {}]\n", "f:1: origins[2]: an origin needs a 'name'\n"},
        {"origins: [{name: a}, {name: a}]\n"
         "certificates: [{name: a, certificate: a, key: b}, {name: a, certificate: a, key: b}]\n",
         "f:1: origins[1].name: the same as that of origins[0]\n"
         "f:2: certificates[1].name: the same as that of certificates[0]\n"},
        {SITE
         "responses:\n- {origin: site, path: x}\n- {origin: site, path: /x, body: a, file: b}\n"
         "- {origin: site, path: /x}\n- {path: /}\n",
         "f:7: responses[3]: a response needs an 'origin'\n"},
        {SITE
         "responses:\n- {origin: site, path: x}\n- {origin: site, path: /x, body: a, file: b}\n"
         "- {origin: site, path: /x}\n- {origin: sitte, path: /}\n",
         "f:4: responses[0].path: has to begin with /\n"
         "f:5: responses[1].file: there is a 'body' already\n"
         "f:6: responses[2].path: the same as that of responses[1]\n"
         "f:7: responses[3].origin: there is no origin 'sitte' (did you mean 'site'?)\n"},
        {"http2: {stream-window: 1 GiB, max-frame: 1}\n",
         "f:1: http2.max-frame: 1 is outside 16384..16777215\n"},
        {"http2: {stream-window: 1 GiB}\n",
         "f:1: http2.stream-window: 1073741824 is more than connection-window, 1048576\n"},
        {"listeners: [{name: a, port: 7, service: echo, scheduler: tree}]\n",
         "f:1: listeners[0].scheduler: means nothing to protocol 'tcp'\n"},
        {"listeners: [{name: a, port: 7, service: echo, scheduler: priority}]\n",
         "f:1: listeners[0].scheduler: unknown value 'priority' (one of deficit, round-robin, "
         "urgency, tree, first-come, random)\n"},
        {"tls: {min-version: 1.1}\n",
         "f:1: tls.min-version: unknown value '1.1' (did you mean '1.2'?)\n"},
    };
    REFUSE_EACH(r);
}
END_TEST

UNIT_MAIN("config_check_http", document_setup, document_teardown, every_key_of_http2_arrives,
          the_defaults_of_http2_are_the_librarys, what_http_needs_arrives,
          refuses_http_that_does_not_fit_together)
