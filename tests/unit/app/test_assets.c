/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/assets.h"

#include "app/cert.h"
#include "document.h"

#define TEXT                                                                                 \
    "certificates: [{name: a, certificate: a/certificate.pem, key: a/key.pem}]\n"            \
    "origins: [{name: o}, {name: p}]\n"                                                      \
    "listeners:\n"                                                                           \
    "- {name: w, port: 1, protocol: http2, service: origin, origin: p, certificates: [a]}\n" \
    "- {name: e, port: 2, service: echo}\n"                                                  \
    "- {name: c, port: 3, protocol: http2, service: origin, origin: o}\n"                    \
    "- {name: p, port: 4, protocol: http2, service: connect, proxy: q}\n"                    \
    "proxies: [{name: r}, {name: q, authentication: basic, users-file: users}]\n"

static struct config *config;
static struct assets_store store;

static void setup(void)
{
    char why[CERT_WHY_MAX];
    document_setup();
    ck_assert(cert_make(&(struct cert_options){.directory = "a", .days = 1}, why));
    FILE *users = fopen("users", "w");
    fputs("# none\n", users);
    fclose(users);
    config = document_valid(TEXT);
}

static void teardown(void)
{
    ck_assert_ptr_null(store.first);
    config_free(config);
    ck_assert_uint_eq(store.memory.bytes, 0);
    unlink("a/" CERT_FILE);
    unlink("a/" CERT_KEY_FILE);
    rmdir("a");
    unlink("users");
    document_teardown();
}

static struct assets *load_after(const struct assets *before, unsigned faults)
{
    struct config_faults f = {.file = "f", .tree = config->tree};
    struct assets *a = assets_load(&store, config, before, &f);
    ck_assert_uint_eq(f.n, faults);
    FILE *out = fopen("/dev/null", "w");
    config_faults_flush(&f, out);
    fclose(out);
    return a;
}

static struct assets *load(unsigned faults)
{
    return load_after(NULL, faults);
}

START_TEST(listeners_have_what_they_name)
{
    unsigned left_out = 1;
    struct assets *a = load(0);
    ck_assert_ptr_nonnull(assets_tls(a, 0));
    ck_assert_ptr_null(assets_tls(a, 1));
    ck_assert_ptr_null(assets_tls(a, 2));
    ck_assert_str_eq(origin_name(assets_origin(a, 0)), "p");
    ck_assert_ptr_null(assets_origin(a, 1));
    ck_assert_str_eq(origin_name(assets_origin(a, 2)), "o");
    ck_assert_ptr_null(assets_proxy(a, 0));
    ck_assert_ptr_null(assets_origin(a, 3));
    ck_assert_str_eq(proxy_options(assets_proxy(a, 3))->name, "q");
    ck_assert_ptr_nonnull(proxy_options(assets_proxy(a, 3))->credentials);
    ck_assert_ptr_eq(assets_site(a, 1, &left_out), assets_origin(a, 0));
    ck_assert_uint_eq(left_out, 0);
    assets_release(a);
    ck_assert_uint_eq(assets_reap(&store), 0);
}
END_TEST

/* A connection that began under the old configuration. */
START_TEST(what_a_worker_uses_stays)
{
    struct assets *old = load(0);
    struct assets *next = load(0);
    const struct origin *o = assets_origin(old, 0);
    origin_hold(o, 3);
    assets_release(old);
    ck_assert_uint_eq(assets_reap(&store), 1);
    ck_assert_str_eq(origin_name(o), "p");
    assets_release(next);
    ck_assert_uint_eq(assets_reap(&store), 1);
    origin_release(o, 3);
    ck_assert_uint_eq(assets_reap(&store), 0);
}
END_TEST

/* A tunnel that was opened before a reload counts after it, and its limit is the new one. */
START_TEST(accounts_go_to_the_proxy_that_comes_next)
{
    bool rate;
    struct assets *old = load(0);
    const struct proxy *was = assets_proxy(old, 3);
    proxy_hold(was, 5);
    struct proxy_account *tunnel = proxy_open(was, "alice", 0, &rate);
    ck_assert_ptr_nonnull(tunnel);
    config->proxy[1].limits.tunnels = 1;
    struct assets *next = load_after(old, 0);
    const struct proxy *is = assets_proxy(next, 3);
    ck_assert_ptr_ne(is, was);
    proxy_close(proxy_open(is, "alice", 0, &rate)); /* not in force yet */
    assets_enforce(next);
    assets_release(old);
    ck_assert_uint_eq(assets_reap(&store), 1);
    ck_assert_ptr_null(proxy_open(is, "alice", 0, &rate));
    proxy_close(tunnel);
    proxy_release(was, 5);
    ck_assert_uint_eq(assets_reap(&store), 0);
    proxy_close(proxy_open(is, "alice", 0, &rate));
    assets_release(next);
    assets_reap(&store);
}
END_TEST

/* What a question names may be gone when it is answered. */
START_TEST(credentials_are_there_as_long_as_their_proxy)
{
    struct assets *a = load(0);
    const void *credentials = proxy_options(assets_proxy(a, 3))->credentials;
    ck_assert(assets_has_credentials(&store, credentials));
    ck_assert(!assets_has_credentials(&store, &store));
    ck_assert(!assets_has_credentials(&store, NULL)); /* as proxy r has none */
    assets_release(a);
    assets_reap(&store);
    ck_assert(!assets_has_credentials(&store, credentials));
}
END_TEST

/* A letter that no worker has read yet. */
START_TEST(what_is_held_stays)
{
    struct assets *a = load(0);
    ck_assert_ptr_eq(assets_hold(a), a);
    assets_release(a);
    ck_assert_uint_eq(assets_reap(&store), 0);
    ck_assert_ptr_eq(store.first, a);
    assets_release(a);
    assets_reap(&store);
    assets_release(NULL);
    ck_assert_ptr_null(assets_hold(NULL));
}
END_TEST

START_TEST(all_or_nothing)
{
    unlink("users");
    ck_assert_ptr_null(load(1));
    unlink("a/" CERT_FILE);
    ck_assert_ptr_null(load(2));
    ck_assert_ptr_null(store.first);
}
END_TEST

UNIT_MAIN("assets", setup, teardown, listeners_have_what_they_name, what_a_worker_uses_stays,
          accounts_go_to_the_proxy_that_comes_next, credentials_are_there_as_long_as_their_proxy,
          what_is_held_stays, all_or_nothing)
