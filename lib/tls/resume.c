/* SPDX-License-Identifier: BSD-3-Clause */
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <string.h>

#include "tls/internal.h"

static bool use_mac(EVP_MAC_CTX *mac, const struct tls_ticket_key *key)
{
    const OSSL_PARAM of[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)(uintptr_t)key->mac,
                                          sizeof(key->mac)),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)(uintptr_t) "SHA256", 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(mac, of);
}

static int make_ticket(struct tls *t, unsigned char *name, unsigned char *iv,
                       EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    const struct tls_ticket_key *key = tls_tickets_current(&t->tickets, t->now);
    if (RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1 ||
        EVP_EncryptInit_ex(cipher, t->ticket_cipher, NULL, key->cipher, iv) != 1 ||
        !use_mac(mac, key))
        return -1;
    memcpy(name, key->name, sizeof(key->name));
    counter_add(t->counters, COUNTER_TLS_TICKETS, 1);
    return 1;
}

/*
 * 0: unknown; 1: good; 2: good, and a new one is due. In 1.3 it always is, for a client that uses
 * each ticket once, so as not to be followed by it (RFC 8446 C.4).
 */
static int take_ticket(struct tls *t, bool once, const unsigned char *name, const unsigned char *iv,
                       EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac)
{
    bool renew;
    const struct tls_ticket_key *key = tls_tickets_find(&t->tickets, name, t->now, &renew);
    if (!key) {
        counter_add(t->counters, COUNTER_TLS_TICKETS_STALE, 1);
        return 0;
    }
    if (EVP_DecryptInit_ex(cipher, t->ticket_cipher, NULL, key->cipher, iv) != 1 ||
        !use_mac(mac, key))
        return -1;
    return renew || once ? 2 : 1;
}

int tls_ticket_key(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *cipher,
                   EVP_MAC_CTX *mac, int make)
{
    const struct tls_conn *c = SSL_get_app_data(ssl);
    if (make)
        return make_ticket(c->tls, name, iv, cipher, mac);
    return take_ticket(c->tls, SSL_version(ssl) == TLS1_3_VERSION, name, iv, cipher, mac);
}
