/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An authority is a target only where another reading of the same rules, backwards and by the C
 * library, says so, and the other way round; a target written down again is the same target.
 * Addresses: what is one of IPv4 in disguise is of the group of that, too, and is judged so
 * whatever is permitted.
 */
#include <arpa/inet.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/proxy_internal.h"

#define require(ok) ((ok) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- targets ---- */

static bool matches(const char *pattern, const char *text)
{
    regex_t re;
    require(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB) == 0);
    bool ok = regexec(&re, text, 0, NULL, 0) == 0;
    regfree(&re);
    return ok;
}

static bool port_ok(const char *text)
{
    return matches("^[1-9][0-9]{0,4}$", text) && strtoul(text, NULL, 10) <= 65535;
}

static bool name_ok(char *host)
{
    size_t n = strlen(host);
    if (n > 1 && host[n - 1] == '.')
        host[--n] = '\0';
    if (n > 253 || matches("[^.]{64}", host))
        return false;
    if (!matches("^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
                 "(\\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$",
                 host))
        return false;
    return !matches("(^|\\.)([0-9]+|0[xX][0-9a-fA-F]*)$", host);
}

static bool host_ok(char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    size_t n = strlen(host);
    if (host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        return inet_pton(AF_INET6, host + 1, &v6) == 1 && !IN6_IS_ADDR_V4MAPPED(&v6);
    }
    return inet_pton(AF_INET, host, &v4) == 1 || name_ok(host);
}

static bool target_ok(const char *text)
{
    char copy[512];
    snprintf(copy, sizeof(copy), "%s", text);
    char *colon = strrchr(copy, ':');
    if (!colon || colon == copy || !port_ok(colon + 1))
        return false;
    *colon = '\0';
    return host_ok(copy);
}

static void comes_back(const struct proxy_target *t)
{
    char text[300];
    struct proxy_target again;
    bool v6 = t->literal && !ip_is_v4(&t->addr);
    int n = snprintf(text, sizeof(text), v6 ? "[%s]:%u" : "%s:%u", t->name, t->port);
    require(n > 0 && proxy_target_of((struct http_text){text, (uint32_t)n}, &again));
    require(strcmp(again.name, t->name) == 0 && again.port == t->port);
    require(again.literal == t->literal && ip_eq(&again.addr, &t->addr));
    require(t->literal || !strpbrk(t->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ:[]@%/"));
}

static void check_target(const uint8_t *data, size_t size)
{
    struct proxy_target t;
    char *exact = malloc(size + 1); /* so that a read past its end is seen */
    char text[512] = "";
    require(exact);
    memcpy(exact, data, size);
    bool ok = proxy_target_of((struct http_text){exact, (uint32_t)size}, &t);
    memcpy(text, data, size);
    require(ok == (strlen(text) == size && target_ok(text)));
    if (ok)
        comes_back(&t);
    free(exact);
}

/* ---- addresses ---- */

static void check_disguise(const struct ip_addr *a, const struct ip_addr *v4)
{
    struct ip_addr form[PROXY_FORMS_MAX];
    uint32_t inner = proxy_groups(v4, 1);
    uint32_t outer = proxy_groups(form, proxy_forms(a, form));
    require((inner & ~outer) == 0);
    require((proxy_group_of(a) == PROXY_GROUP_NONE) == (outer == 0));
}

static void check_address(const uint8_t *data)
{
    static const uint8_t nat64[12] = {0, 0x64, 0xff, 0x9b};
    struct ip_addr a, v4 = ip_from_v4(0);
    memcpy(v4.b + 12, data, 4);
    memcpy(a.b, data, 16);
    check_disguise(&a, &a);
    memcpy(a.b, nat64, 12);
    memcpy(a.b + 12, data, 4);
    check_disguise(&a, &v4);
    memcpy(a.b, data, 16);
    a.b[0] = 0x20;
    a.b[1] = 2;
    memcpy(a.b + 2, data, 4);
    check_disguise(&a, &v4);
    memcpy(a.b, (const uint8_t[4]){0x20, 1}, 4);
    for (int i = 0; i < 4; i++)
        a.b[12 + i] = data[i] ^ 0xff;
    check_disguise(&a, &v4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 512)
        check_target(data, size);
    if (size >= 16)
        check_address(data);
    return 0;
}
