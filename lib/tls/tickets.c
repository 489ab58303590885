/* SPDX-License-Identifier: BSD-3-Clause */
#include "tls/tickets.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#define PERIOD_MIN (60 * TICK_SEC)

/* What a period's secret gives for a purpose. */
static bool derive(const uint8_t secret[32], const char *purpose, uint8_t out[32])
{
    unsigned len = 32;
    return HMAC(EVP_sha256(), secret, 32, (const uint8_t *)purpose, strlen(purpose), out, &len) &&
           len == 32;
}

static bool derive_key(const uint8_t secret[32], struct tls_ticket_key *key)
{
    uint8_t name[32];
    if (!derive(secret, "name", name) || !derive(secret, "cipher", key->cipher) ||
        !derive(secret, "mac", key->mac))
        return false;
    memcpy(key->name, name, sizeof(key->name));
    return true;
}

/* One period later. */
static bool advance(struct tls_tickets *t)
{
    uint8_t next[32];
    struct tls_ticket_key key;
    bool ok = derive(t->secret, "next", next) && derive_key(next, &key);
    if (ok) {
        t->key[(t->period + 2) % TLS_TICKET_KEPT] = key;
        memcpy(t->secret, next, sizeof(next));
        t->period++;
    }
    OPENSSL_cleanse(next, sizeof(next));
    OPENSSL_cleanse(&key, sizeof(key));
    return ok;
}

static void catch_up(struct tls_tickets *t, tick_t now)
{
    while (t->period < now / t->length && advance(t))
        ;
}

bool tls_tickets_init(struct tls_tickets *t, const uint8_t seed[32], tick_t lifetime, tick_t now)
{
    *t = (struct tls_tickets){.length = lifetime / 4 > PERIOD_MIN ? lifetime / 4 : PERIOD_MIN};
    uint8_t first[32];
    bool ok = derive(seed, "millrace tickets", first) && derive_key(first, &t->key[0]) &&
              derive(first, "next", t->secret) && derive_key(t->secret, &t->key[1]);
    OPENSSL_cleanse(first, sizeof(first));
    if (ok)
        catch_up(t, now);
    return ok;
}

void tls_tickets_fini(struct tls_tickets *t)
{
    OPENSSL_cleanse(t, sizeof(*t));
}

const struct tls_ticket_key *tls_tickets_current(struct tls_tickets *t, tick_t now)
{
    catch_up(t, now);
    return &t->key[t->period % TLS_TICKET_KEPT];
}

const struct tls_ticket_key *tls_tickets_find(struct tls_tickets *t,
                                              const uint8_t name[TLS_TICKET_NAME], tick_t now,
                                              bool *renew)
{
    catch_up(t, now);
    for (uint64_t ago = 0; ago < TLS_TICKET_KEPT && ago <= t->period + 1; ago++) {
        const struct tls_ticket_key *key = &t->key[(t->period + 1 - ago) % TLS_TICKET_KEPT];
        if (memcmp(key->name, name, TLS_TICKET_NAME) == 0) {
            *renew = ago > 1;
            return key;
        }
    }
    return NULL;
}
