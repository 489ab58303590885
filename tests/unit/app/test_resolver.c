/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/heap.h"
#include "support/unit.h"
#include "unit/app/dns_message.h"

#define HELD_MAX 600u

/*
 * A name server on the loopback interface, in the same thread. What it says to a name, is in
 * answer_to. As long as it holds, it takes questions and answers none.
 */
static struct server {
    int udp, listener;
    int tcp; /* -1: nobody has called */
    uint16_t port;
    bool hold;
    unsigned asked_udp, asked_tcp;
    unsigned n_held;
    struct held {
        struct sockaddr_in from;
        uint8_t b[512];
        size_t n;
    } held[HELD_MAX];
} server[2];

static struct heap heap;
static struct resolver *r;
static struct resolver_settings settings;
static tick_t now;

/* What has been answered. */
static struct heard {
    unsigned n;
    unsigned worker[1024];
    struct question_answer a[1024];
} heard;

/* ---- the server ---- */

static int bound(int type, uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t n = sizeof(a);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
        close(fd);
        return -1;
    }
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

/* Both protocols at one port, which may be somebody else's on the other. */
static void server_start(struct server *s)
{
    *s = (struct server){.udp = -1, .listener = -1, .tcp = -1};
    for (unsigned tries = 0; s->udp < 0 && tries < 100; tries++) {
        s->port = 0;
        s->listener = bound(SOCK_STREAM, &s->port);
        s->udp = bound(SOCK_DGRAM, &s->port);
        if (s->udp < 0)
            close(s->listener);
    }
    ck_assert_int_ge(s->udp, 0);
    ck_assert_int_eq(listen(s->listener, 8), 0);
}

static void server_stop(struct server *s)
{
    close(s->udp);
    close(s->listener);
    if (s->tcp >= 0)
        close(s->tcp);
}

/* The question's name, as it is written, and its type. */
static enum dns_type question_of(const uint8_t *q, size_t n, char name[256])
{
    size_t at = DNS_HEADER, used = 0;
    while (at < n && q[at]) {
        ck_assert_uint_lt(at + q[at] + 1, n);
        if (used > 0)
            name[used++] = '.';
        memcpy(name + used, q + at + 1, q[at]);
        used += q[at];
        at += 1u + q[at];
    }
    name[used] = '\0';
    return (enum dns_type)load_be16(q + at + 1);
}

static void add_addresses(struct dns_message *m, const char *name, enum dns_type type, uint32_t ttl,
                          unsigned count)
{
    for (unsigned i = 1; i <= count; i++)
        if (type == DNS_A)
            dns_a(m, name, ttl, 0xc0000200 + i);
        else
            dns_aaaa(m, name, ttl, (uint8_t)i);
}

/* The answer section of a name that has one. */
static void add_answer(struct dns_message *m, const char *name, enum dns_type type, bool tcp)
{
    if (strcasecmp(name, "two.example") == 0)
        add_addresses(m, name, type, 60, 2);
    else if (strcasecmp(name, "many.example") == 0)
        add_addresses(m, name, type, 60, 12);
    else if (strcasecmp(name, "zero.example") == 0)
        add_addresses(m, name, type, 0, 1);
    else if (strcasecmp(name, "week.example") == 0)
        add_addresses(m, name, type, 7 * 86400, 1);
    else if (strcasecmp(name, "big.example") == 0 && tcp)
        add_addresses(m, name, type, 60, 100);
    else if (strcasecmp(name, "alias.example") == 0) {
        dns_cname(m, name, 10, "target.example");
        add_addresses(m, "target.example", type, 300, 1);
    } else if (strcasecmp(name, "circle.example") == 0) {
        dns_cname(m, name, 10, "b.example");
        dns_cname(m, "b.example", 10, name);
    } else if (strncasecmp(name, "n", 1) == 0)
        add_addresses(m, name, type, 60, 1); /* n1.example, n2.example, … */
}

static enum dns_rcode rcode_of(const char *name)
{
    if (strncasecmp(name, "missing", 7) == 0)
        return DNS_NXDOMAIN;
    if (strcasecmp(name, "servfail.example") == 0)
        return DNS_SERVFAIL;
    return strcasecmp(name, "refused.example") == 0 ? DNS_REFUSED : DNS_NOERROR;
}

/* False: it says nothing to that. */
static bool answer_to(const uint8_t *q, size_t n, bool tcp, struct dns_message *m)
{
    char name[256];
    enum dns_type type = question_of(q, n, name);
    if (strcasecmp(name, "silent.example") == 0)
        return false;
    dns_begin(m, load_be16(q), rcode_of(name));
    dns_question(m, name, type);
    if (strcasecmp(name, "missing.example") == 0)
        dns_soa(m, 100, 20);
    else if (strcasecmp(name, "empty.example") == 0)
        dns_soa(m, 8, 20);
    else if (strcasecmp(name, "garbage.example") == 0) {
        dns_count(m, 6);
        dns_put(m, "\377\377\377\377\377", 5);
    } else
        add_answer(m, name, type, tcp);
    if (strcasecmp(name, "big.example") == 0 && !tcp)
        m->b[2] |= 2; /* TC */
    return true;
}

static void say(struct server *s, const struct held *h)
{
    struct dns_message m;
    if (answer_to(h->b, h->n, false, &m))
        sendto(s->udp, m.b, m.n, 0, (const struct sockaddr *)&h->from, sizeof(h->from));
}

static void server_udp(struct server *s)
{
    for (;;) {
        struct held *h = &s->held[s->n_held];
        socklen_t len = sizeof(h->from);
        ssize_t n = recvfrom(s->udp, h->b, sizeof(h->b), 0, (struct sockaddr *)&h->from, &len);
        if (n <= 0)
            return;
        h->n = (size_t)n;
        s->asked_udp++;
        if (!s->hold)
            say(s, h);
        else
            ck_assert_uint_lt(++s->n_held, HELD_MAX);
    }
}

static void server_release(struct server *s)
{
    s->hold = false;
    for (unsigned i = 0; i < s->n_held; i++)
        say(s, &s->held[i]);
    s->n_held = 0;
}

/* One question a connection, in one segment: the loopback interface does not cut it. */
static void server_tcp(struct server *s)
{
    uint8_t q[514];
    struct dns_message m;
    if (s->tcp < 0)
        s->tcp = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    ssize_t n = s->tcp >= 0 ? recv(s->tcp, q, sizeof(q), 0) : -1;
    if (n == 0) {
        close(s->tcp);
        s->tcp = -1;
    }
    if (n <= 2)
        return;
    s->asked_tcp++;
    uint8_t len[2];
    if (!answer_to(q + 2, (size_t)n - 2, true, &m))
        return;
    store_be16(len, (uint16_t)m.n);
    ck_assert_int_eq(send(s->tcp, len, 2, MSG_NOSIGNAL | MSG_MORE), 2);
    ck_assert_int_eq(send(s->tcp, m.b, m.n, MSG_NOSIGNAL), (ssize_t)m.n);
}

/* ---- the resolver's side ---- */

static void on_answer(void *ctx, unsigned worker, const struct question_answer *a)
{
    struct heard *h = ctx;
    ck_assert_uint_lt(h->n, 1024);
    h->worker[h->n] = worker;
    h->a[h->n++] = *a;
}

static void use(struct server *s)
{
    settings.server[0] = (struct resolver_server){ip_from_v4(0x7f000001), s->port};
    settings.n_servers = 1;
}

static void start(const struct resolver_host *host, uint32_t n_hosts)
{
    resolver_destroy(r);
    ck_assert(resolver_settings_fill(&settings));
    r = resolver_create(&heap.mem, &settings, host, n_hosts, on_answer, &heard);
    ck_assert_ptr_nonnull(r);
}

static void setup(void)
{
    heap_init(&heap);
    server_start(&server[0]);
    server_start(&server[1]);
    memset(&settings, 0, sizeof(settings));
    memset(&heard, 0, sizeof(heard));
    settings.timeout_ms = 30000; /* no machine is that slow */
    use(&server[0]);
    now = 5 * TICK_SEC;
    start(NULL, 0);
}

static void teardown(void)
{
    resolver_destroy(r);
    server_stop(&server[0]);
    server_stop(&server[1]);
    ck_assert_uint_eq(heap.blocks, 0);
}

/* One turn of the loop: whatever is ready, or the resolver's deadline. */
static void turn(void)
{
    struct pollfd p[7] = {{resolver_fd(r), POLLIN, 0}};
    for (unsigned i = 0; i < 2; i++) {
        p[3 * i + 1] = (struct pollfd){server[i].udp, POLLIN, 0};
        p[3 * i + 2] = (struct pollfd){server[i].tcp < 0 ? server[i].listener : -1, POLLIN, 0};
        p[3 * i + 3] = (struct pollfd){server[i].tcp, POLLIN, 0};
    }
    tick_t due = resolver_deadline(r, now);
    int wait = due == TICK_NEVER ? 100 : (int)tick_min(tick_since(due, now) / TICK_MS + 1, 100);
    ck_assert_int_ge(poll(p, 7, wait), 0);
    for (unsigned i = 0; i < 2; i++) {
        server_udp(&server[i]);
        server_tcp(&server[i]);
    }
    resolver_run(r, now);
}

/* Until so many have been answered in all. */
static void hear(unsigned n)
{
    for (unsigned turns = 0; heard.n < n && turns < 10000; turns++)
        turn();
    ck_assert_uint_eq(heard.n, n);
}

/* Until a server has been asked so many questions in all. */
static void reach(const struct server *s, unsigned n)
{
    for (unsigned turns = 0; s->asked_udp < n && turns < 10000; turns++)
        turn();
    ck_assert_uint_eq(s->asked_udp, n);
}

static void ask_from(const char *name, bool v6, struct ip_addr client)
{
    static handle_t id;
    struct question q = {.id = ++id, .kind = QUESTION_NAME, .v6 = v6, .client = client};
    snprintf(q.name, sizeof(q.name), "%s", name);
    resolver_ask(r, 3, &q, now);
}

static void ask(const char *name, bool v6)
{
    ask_from(name, v6, ip_from_v4(0xc6336401));
}

/* Asks, waits, and checks what came. */
static const struct connect_answer *look_up(const char *name, bool v6, enum connect_outcome o,
                                            unsigned n)
{
    unsigned before = heard.n;
    ask(name, v6);
    hear(before + 1);
    const struct question_answer *a = &heard.a[before];
    ck_assert_uint_eq(a->kind, QUESTION_NAME);
    ck_assert_uint_eq(heard.worker[before], 3);
    ck_assert_uint_eq(a->answer.outcome, o);
    ck_assert_uint_eq(a->answer.n, n);
    ck_assert(a->answer.v6 == v6);
    return &a->answer;
}

static uint64_t count(enum resolver_counter c)
{
    struct resolver_stats s;
    resolver_stats(r, &s);
    return s.count[c];
}

/* ---- tests ---- */

START_TEST(addresses_of_both_families)
{
    const struct connect_answer *a = look_up("two.example", false, CONNECT_OK, 2);
    ck_assert_uint_eq(ip_v4(&a->addr[0]), 0xc0000201);
    ck_assert_uint_eq(ip_v4(&a->addr[1]), 0xc0000202);
    a = look_up("two.example", true, CONNECT_OK, 2);
    ck_assert(!ip_is_v4(&a->addr[0]));
    ck_assert_uint_eq(a->addr[0].b[15], 1);
    ck_assert_uint_eq(a->addr[1].b[15], 2);
    ck_assert_uint_eq(count(RESOLVER_QUERIES), 2);
    ck_assert_uint_eq(count(RESOLVER_RESOLVED), 2);
    look_up("many.example", false, CONNECT_OK, CONNECT_ADDRS_MAX);
}
END_TEST

START_TEST(a_name_is_kept_as_long_as_its_ttl)
{
    look_up("two.example", false, CONNECT_OK, 2);
    now += 60 * TICK_SEC - 1;
    look_up("two.example", false, CONNECT_OK, 2);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
    ck_assert_uint_eq(server[0].asked_udp, 1);
    now += 1;
    look_up("two.example", false, CONNECT_OK, 2);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
    ck_assert_uint_eq(server[0].asked_udp, 2);
}
END_TEST

START_TEST(case_and_a_last_dot_make_no_difference)
{
    look_up("Two.Example", false, CONNECT_OK, 2);
    look_up("tWO.eXAMPLE.", false, CONNECT_OK, 2);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
}
END_TEST

START_TEST(a_ttl_of_zero_is_not_kept)
{
    look_up("zero.example", false, CONNECT_OK, 1);
    look_up("zero.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(server[0].asked_udp, 2);
    struct resolver_stats s;
    resolver_stats(r, &s);
    ck_assert_uint_eq(s.cached, 0);
}
END_TEST

START_TEST(ttls_have_bounds)
{
    settings.min_ttl_s = 5;
    start(NULL, 0);
    look_up("zero.example", false, CONNECT_OK, 1);
    look_up("week.example", false, CONNECT_OK, 1);
    now += 5 * TICK_SEC - 1;
    look_up("zero.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
    now += 1;
    look_up("zero.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
    now += 3595 * TICK_SEC - 1;
    look_up("week.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(count(RESOLVER_HITS), 2);
    now += 1;
    look_up("week.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(count(RESOLVER_HITS), 2);
}
END_TEST

START_TEST(an_alias_is_kept_as_long_as_the_shortest)
{
    look_up("alias.example", false, CONNECT_OK, 1);
    now += 10 * TICK_SEC - 1;
    look_up("alias.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
    now += 1;
    look_up("alias.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
}
END_TEST

/* That nothing is there is believed for `seconds`. */
static void expect_negative(const char *name, unsigned seconds)
{
    look_up(name, false, CONNECT_NO_NAME, 0);
    now += seconds * TICK_SEC - 1;
    look_up(name, false, CONNECT_NO_NAME, 0);
    ck_assert_uint_eq(count(RESOLVER_NEGATIVE_HITS), 1);
    now += 1;
    look_up(name, false, CONNECT_NO_NAME, 0);
    ck_assert_uint_eq(count(RESOLVER_NEGATIVE_HITS), 1);
    ck_assert_uint_eq(count(RESOLVER_NO_NAME), 2);
}

START_TEST(a_name_that_is_not_there_is_missing_as_long_as_the_soa_says)
{
    expect_negative("missing.example", 20);
}
END_TEST

START_TEST(so_is_a_family_that_is_not_there)
{
    expect_negative("empty.example", 8);
}
END_TEST

START_TEST(without_an_soa_the_setting_says)
{
    expect_negative("missing-soa.example", 30);
}
END_TEST

static void expect_failure(const char *name, enum connect_outcome o, enum resolver_counter c)
{
    look_up(name, false, o, 0);
    ck_assert_uint_eq(count(c), 1);
    now += 2 * TICK_SEC - 1;
    look_up(name, false, o, 0);
    ck_assert_uint_eq(count(c), 1);
    ck_assert_uint_eq(count(RESOLVER_NEGATIVE_HITS), 1);
    now += 1;
    look_up(name, false, o, 0);
    ck_assert_uint_eq(count(c), 2);
}

START_TEST(a_server_that_fails_is_an_error)
{
    expect_failure("servfail.example", CONNECT_DNS_ERROR, RESOLVER_ERRORS);
}
END_TEST

START_TEST(a_server_that_refuses_is_an_error)
{
    expect_failure("refused.example", CONNECT_DNS_ERROR, RESOLVER_ERRORS);
}
END_TEST

START_TEST(aliases_in_a_circle_are_an_error)
{
    expect_failure("circle.example", CONNECT_DNS_ERROR, RESOLVER_ERRORS);
}
END_TEST

START_TEST(silence_is_a_timeout)
{
    settings.timeout_ms = 20;
    start(NULL, 0);
    ck_assert_uint_eq(resolver_deadline(r, now), TICK_NEVER);
    expect_failure("silent.example", CONNECT_DNS_TIMEOUT, RESOLVER_TIMEOUTS);
    ck_assert_uint_eq(server[0].asked_udp, 4); /* two tries, twice */
    ck_assert_uint_eq(resolver_deadline(r, now), TICK_NEVER);
}
END_TEST

/* What is said of it, is c-ares' choice: some versions wait for a better answer. */
START_TEST(garbage_is_no_address)
{
    settings.timeout_ms = 20;
    start(NULL, 0);
    ask("garbage.example", false);
    hear(1);
    ck_assert(heard.a[0].answer.outcome == CONNECT_DNS_ERROR ||
              heard.a[0].answer.outcome == CONNECT_DNS_TIMEOUT);
    ck_assert_uint_eq(heard.a[0].answer.n, 0);
}
END_TEST

START_TEST(a_second_server_is_asked_where_the_first_fails)
{
    settings.server[1] = (struct resolver_server){ip_from_v4(0x7f000001), server[1].port};
    settings.n_servers = 2;
    start(NULL, 0);
    close(server[0].udp); /* nobody is there */
    server[0].udp = -1;
    look_up("two.example", false, CONNECT_OK, 2);
    ck_assert_uint_eq(server[1].asked_udp, 1);
}
END_TEST

START_TEST(what_is_cut_off_is_asked_for_over_tcp)
{
    const struct connect_answer *a = look_up("big.example", true, CONNECT_OK, CONNECT_ADDRS_MAX);
    ck_assert_uint_eq(a->addr[7].b[15], 8);
    ck_assert_uint_eq(server[0].asked_udp, 1);
    ck_assert_uint_eq(server[0].asked_tcp, 1);
}
END_TEST

START_TEST(one_query_serves_all_who_ask)
{
    server[0].hold = true;
    for (unsigned i = 0; i < 10; i++)
        ask("two.example", false);
    ask("two.example", true);
    reach(&server[0], 2);
    ck_assert_uint_eq(count(RESOLVER_JOINED), 9);
    ck_assert_uint_eq(heard.n, 0);
    server_release(&server[0]);
    hear(11);
    for (unsigned i = 0; i < 11; i++)
        ck_assert_uint_eq(heard.a[i].answer.n, 2);
    ck_assert_uint_eq(server[0].asked_udp, 2);
}
END_TEST

static void ask_number(unsigned i, struct ip_addr client)
{
    char name[32];
    snprintf(name, sizeof(name), "n%u.example", i);
    ask_from(name, false, client);
}

START_TEST(queries_of_a_client_have_a_bound)
{
    settings.client_queries = 2;
    start(NULL, 0);
    server[0].hold = true;
    for (unsigned i = 0; i < 3; i++)
        ask_number(i, ip_from_v4(0xc6336400 + i));
    ck_assert_uint_eq(heard.n, 1);
    ck_assert_uint_eq(heard.a[0].answer.outcome, CONNECT_BUSY);
    ck_assert_uint_eq(count(RESOLVER_BUSY_CLIENT), 1);
    ask_number(1, ip_from_v4(0xc6336400)); /* which is under way: no query more */
    ask_number(4, ip_from_v4(0xc6336500)); /* somebody else */
    ck_assert_uint_eq(heard.n, 1);
    reach(&server[0], 3);
    server_release(&server[0]);
    hear(5);
    ask_number(5, ip_from_v4(0xc6336400));
    hear(6);
    ck_assert_uint_eq(heard.a[5].answer.outcome, CONNECT_OK);
}
END_TEST

START_TEST(a_client_of_ipv6_is_a_56)
{
    settings.client_queries = 1;
    start(NULL, 0);
    server[0].hold = true;
    struct ip_addr a = {{0x20, 0x01, 0x0d, 0xb8, 0, 0, 1, 0xff}};
    ask_number(0, a);
    a.b[7] = 0;
    ask_number(1, a);
    ck_assert_uint_eq(count(RESOLVER_BUSY_CLIENT), 1);
    a.b[6] = 2;
    ask_number(2, a);
    ck_assert_uint_eq(count(RESOLVER_BUSY_CLIENT), 1);
    server_release(&server[0]);
    hear(3);
}
END_TEST

START_TEST(queries_in_all_have_a_bound)
{
    settings.queries = 3;
    start(NULL, 0);
    server[0].hold = true;
    for (unsigned i = 0; i < 4; i++)
        ask_number(i, ip_from_v4(i << 8));
    ck_assert_uint_eq(heard.n, 1);
    ck_assert_uint_eq(heard.a[0].answer.outcome, CONNECT_BUSY);
    ck_assert_uint_eq(count(RESOLVER_BUSY_QUERIES), 1);
    reach(&server[0], 3);
    server_release(&server[0]);
    hear(4);
    ask_number(3, ip_from_v4(0)); /* that it was refused is not kept */
    hear(5);
    ck_assert_uint_eq(heard.a[4].answer.outcome, CONNECT_OK);
}
END_TEST

/* Silence that one client waits for leaves room for others' questions. */
START_TEST(questions_of_a_client_that_wait_have_a_bound)
{
    server[0].hold = true;
    for (unsigned i = 0; i < RESOLVER_WAITING_MAX + 1; i++)
        ask("two.example", false);
    ck_assert_uint_eq(heard.n, 1);
    ck_assert_uint_eq(heard.a[0].answer.outcome, CONNECT_BUSY);
    ck_assert_uint_eq(count(RESOLVER_BUSY_WAITING), 1);
    ask_from("two.example", false, ip_from_v4(0xc6336501));
    ck_assert_uint_eq(heard.n, 1);
    reach(&server[0], 1);
    server_release(&server[0]);
    hear(RESOLVER_WAITING_MAX + 2);
    struct resolver_stats s;
    resolver_stats(r, &s);
    ck_assert_uint_eq(s.waiting, 0);
    ck_assert_uint_eq(s.under_way, 0);
}
END_TEST

START_TEST(the_cache_forgets_what_was_used_longest_ago)
{
    settings.cache_entries = 3;
    start(NULL, 0);
    struct ip_addr client = ip_from_v4(1);
    for (unsigned i = 0; i < 3; i++) {
        ask_number(i, client);
        hear(i + 1);
    }
    ask_number(0, client);
    ck_assert_uint_eq(count(RESOLVER_HITS), 1);
    ask_number(3, client);
    hear(5);
    ck_assert_uint_eq(count(RESOLVER_EVICTED), 1);
    ask_number(0, client);
    ck_assert_uint_eq(count(RESOLVER_HITS), 2);
    ask_number(1, client);
    ck_assert_uint_eq(count(RESOLVER_HITS), 2);
    hear(7);
    struct resolver_stats s;
    resolver_stats(r, &s);
    ck_assert_uint_eq(s.cached, 3);
}
END_TEST

START_TEST(memory_that_is_out_is_an_answer)
{
    heap.limit = heap.bytes;
    look_up("two.example", false, CONNECT_BUSY, 0);
    ck_assert_uint_eq(count(RESOLVER_BUSY_MEMORY), 1);
    heap.limit = SIZE_MAX;
    look_up("two.example", false, CONNECT_OK, 2);
}
END_TEST

/* hosts: one with both families, one with IPv4 only, a special name. */
static const struct resolver_host HOST[] = {
    {.name = "Both.example.", .n_addrs = 3},
    {.name = "two.example", .n_addrs = 1},
    {.name = "localhost", .n_addrs = 1},
    {.name = "not a name", .n_addrs = 1},
};

static void hosts(struct resolver_host h[4])
{
    memcpy(h, HOST, sizeof(HOST));
    h[0].addr[0] = ip_from_v4(1);
    h[0].addr[1] = (struct ip_addr){{0xfd, [15] = 1}};
    h[0].addr[2] = ip_from_v4(2);
    h[1].addr[0] = ip_from_v4(3);
    h[2].addr[0] = ip_from_v4(4);
}

START_TEST(hosts_win_and_ask_nobody)
{
    struct resolver_host h[4];
    hosts(h);
    start(h, 4);
    const struct connect_answer *a = look_up("both.example", false, CONNECT_OK, 2);
    ck_assert_uint_eq(ip_v4(&a->addr[0]), 1);
    ck_assert_uint_eq(ip_v4(&a->addr[1]), 2);
    a = look_up("BOTH.example", true, CONNECT_OK, 1);
    ck_assert_uint_eq(a->addr[0].b[0], 0xfd);
    look_up("two.example", true, CONNECT_NO_NAME, 0);
    a = look_up("localhost", false, CONNECT_OK, 1);
    ck_assert_uint_eq(ip_v4(&a->addr[0]), 4);
    look_up("not a name", false, CONNECT_NO_NAME, 0);
    look_up("", false, CONNECT_NO_NAME, 0);
    ck_assert_uint_eq(count(RESOLVER_HOSTS), 4);
    ck_assert_uint_eq(count(RESOLVER_QUERIES), 0);
}
END_TEST

START_TEST(special_names_are_not_asked_for)
{
    static const char *const name[] = {"localhost", "LocalHost.", "a.localhost", "x.invalid",
                                       "a.b.onion"};
    for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++)
        look_up(name[i], i % 2, CONNECT_NO_NAME, 0);
    ck_assert_uint_eq(count(RESOLVER_SPECIAL), 5);
    ck_assert_uint_eq(count(RESOLVER_QUERIES), 0);
    look_up("nolocalhost", false, CONNECT_OK, 1);
    look_up("n.localhost.example", false, CONNECT_OK, 1);
}
END_TEST

#define TEN "0123456789"

START_TEST(what_is_no_name_is_not_asked_for)
{
    static const char label_too_long[] = TEN TEN TEN TEN TEN TEN "0123.example";
    static const char *const name[] = {
        "",           ".",   "a..b",        ".a",  "a b.example", "a\\.b",
        "a.example/", "a:1", "caf\xc3\xa9", "a..", label_too_long};
    for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++)
        look_up(name[i], false, CONNECT_NO_NAME, 0);
    ck_assert_uint_eq(count(RESOLVER_QUERIES), 0);
    look_up("n_1-2.example", false, CONNECT_OK, 1);
}
END_TEST

/* What waits is asked again, of the others; what the first have said is forgotten. */
START_TEST(a_reload_asks_the_new_servers)
{
    look_up("two.example", false, CONNECT_OK, 2);
    server[0].hold = true;
    ask("n1.example", false);
    ask("n1.example", false);
    ask("n2.example", false);
    reach(&server[0], 3);
    use(&server[1]);
    ck_assert(resolver_configure(r, &settings, NULL, 0, now));
    hear(4);
    for (unsigned i = 1; i < 4; i++)
        ck_assert_uint_eq(heard.a[i].answer.n, 1);
    ck_assert_uint_eq(server[1].asked_udp, 2);
    server_release(&server[0]); /* into the void */
    look_up("two.example", false, CONNECT_OK, 2);
    ck_assert_uint_eq(server[1].asked_udp, 3);
    ck_assert_uint_eq(heard.n, 5);
}
END_TEST

START_TEST(a_reload_of_the_same_servers_keeps_the_cache)
{
    struct resolver_host h[4];
    look_up("two.example", false, CONNECT_OK, 2);
    look_up("n1.example", false, CONNECT_OK, 1);
    hosts(h);
    ck_assert(resolver_configure(r, &settings, h, 4, now));
    look_up("n1.example", false, CONNECT_OK, 1);
    ck_assert_uint_eq(server[0].asked_udp, 2);
    look_up("two.example", false, CONNECT_OK, 1); /* hosts, from now on */
    ck_assert(resolver_configure(r, &settings, NULL, 0, now));
    look_up("two.example", false, CONNECT_OK, 2);
    settings.cache_entries = 1;
    ck_assert(resolver_configure(r, &settings, NULL, 0, now));
    struct resolver_stats s;
    resolver_stats(r, &s);
    ck_assert_uint_eq(s.cached, 1);
}
END_TEST

START_TEST(a_reload_without_memory_changes_nothing)
{
    struct resolver_host h[4];
    hosts(h);
    heap.limit = heap.bytes;
    ck_assert(!resolver_configure(r, &settings, h, 4, now));
    heap.limit = SIZE_MAX;
    look_up("two.example", false, CONNECT_OK, 2);
}
END_TEST

START_TEST(nothing_is_left_of_what_is_under_way_at_the_end)
{
    server[0].hold = true;
    ask("two.example", false);
    ask("two.example", false);
    ask("n1.example", true);
    reach(&server[0], 2);
}
END_TEST

static struct {
    unsigned n, enough;
    char name[8][32];
    bool asking[8];
    tick_t left[8];
} rows;

static bool on_row(void *ctx, const struct resolver_row *row)
{
    ck_assert_ptr_eq(ctx, &rows);
    snprintf(rows.name[rows.n], sizeof(rows.name[0]), "%s", row->name);
    rows.asking[rows.n] = row->asking;
    rows.left[rows.n] = row->left;
    return ++rows.n < rows.enough;
}

START_TEST(names_are_listed_by_pages)
{
    look_up("two.example", false, CONNECT_OK, 2);
    look_up("alias.example", false, CONNECT_OK, 1);
    look_up("missing.example", false, CONNECT_NO_NAME, 0);
    server[0].hold = true;
    ask("n1.example", false);
    now += 10 * TICK_SEC; /* the alias' time is over */
    uint32_t cursor = 0;
    rows.enough = 2;
    resolver_list(r, &cursor, on_row, &rows, now);
    ck_assert_uint_eq(rows.n, 2);
    ck_assert_str_eq(rows.name[0], "two.example");
    ck_assert_uint_eq(rows.left[0], 50 * TICK_SEC);
    ck_assert_str_eq(rows.name[1], "missing.example");
    ck_assert_uint_eq(rows.left[1], 10 * TICK_SEC);
    rows.enough = 8;
    resolver_list(r, &cursor, on_row, &rows, now);
    ck_assert_uint_eq(rows.n, 3);
    ck_assert_str_eq(rows.name[2], "n1.example");
    ck_assert(rows.asking[2] && !rows.asking[0] && !rows.asking[1]);
    ck_assert_uint_eq(cursor, UINT32_MAX);
}
END_TEST

START_TEST(settings_have_defaults_and_ranges)
{
    struct resolver_settings s = {.n_servers = 0};
    ck_assert(resolver_settings_fill(&s));
    ck_assert_uint_eq(s.timeout_ms, 2000);
    ck_assert_uint_eq(s.tries, 2);
    ck_assert_uint_eq(s.cache_entries, 4096);
    ck_assert_uint_eq(s.min_ttl_s, 0);
    ck_assert_uint_eq(s.max_ttl_s, 3600);
    ck_assert_uint_eq(s.negative_ttl_s, 30);
    ck_assert_uint_eq(s.queries, 512);
    ck_assert_uint_eq(s.client_queries, 64);
    s.min_ttl_s = 3601;
    ck_assert(!resolver_settings_fill(&s));
    s = (struct resolver_settings){.cache_entries = RESOLVER_CACHE_MAX + 1};
    ck_assert(!resolver_settings_fill(&s));
    s = (struct resolver_settings){.n_servers = RESOLVER_SERVERS_MAX + 1};
    ck_assert(!resolver_settings_fill(&s));
}
END_TEST

/* The system's own servers: none is asked here. */
START_TEST(without_servers_the_system_says_which)
{
    settings.n_servers = 0;
    start(NULL, 0);
    look_up("localhost", false, CONNECT_NO_NAME, 0);
}
END_TEST

UNIT_MAIN("resolver", setup, teardown, addresses_of_both_families,
          a_name_is_kept_as_long_as_its_ttl, case_and_a_last_dot_make_no_difference,
          a_ttl_of_zero_is_not_kept, ttls_have_bounds, an_alias_is_kept_as_long_as_the_shortest,
          a_name_that_is_not_there_is_missing_as_long_as_the_soa_says,
          so_is_a_family_that_is_not_there, without_an_soa_the_setting_says,
          a_server_that_fails_is_an_error, a_server_that_refuses_is_an_error,
          aliases_in_a_circle_are_an_error, silence_is_a_timeout, garbage_is_no_address,
          a_second_server_is_asked_where_the_first_fails, what_is_cut_off_is_asked_for_over_tcp,
          one_query_serves_all_who_ask, queries_of_a_client_have_a_bound, a_client_of_ipv6_is_a_56,
          queries_in_all_have_a_bound, questions_of_a_client_that_wait_have_a_bound,
          the_cache_forgets_what_was_used_longest_ago, memory_that_is_out_is_an_answer,
          hosts_win_and_ask_nobody, special_names_are_not_asked_for,
          what_is_no_name_is_not_asked_for, a_reload_asks_the_new_servers,
          a_reload_of_the_same_servers_keeps_the_cache, a_reload_without_memory_changes_nothing,
          nothing_is_left_of_what_is_under_way_at_the_end, names_are_listed_by_pages,
          settings_have_defaults_and_ranges, without_servers_the_system_says_which)
