/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/head.h"

#include <assert.h>
#include <string.h>

#include "http2/text.h"

const char *h2_head_fault_name(enum h2_head_fault f)
{
    static const char *const name[] = {[H2_HEAD_OK] = "",
#define X(id, text) [H2_HEAD_##id] = text,
                                       H2_HEAD_FAULTS(X)
#undef X
    };
    assert(f < H2_HEAD_FAULT_END);
    return name[f];
}

enum pseudo {
    METHOD = 1u << 0,
    SCHEME = 1u << 1,
    AUTHORITY = 1u << 2,
    PATH = 1u << 3,
    PROTOCOL = 1u << 4,
    STATUS = 1u << 5,
};

/* A list being looked at. What stays of it is moved to the front, behind the pseudo-header fields,
 * which come first. */
struct parse {
    struct h2_fields *f;
    struct http_head *head;
    struct http_field *kept; /* where the next one that stays goes */
    struct http_field *cookie;
    struct http_text host;
    uint32_t seen;    /* enum pseudo */
    uint32_t allowed; /* of them */
    bool joining;     /* the cookie's value is at the end of f's text */
    bool has_host;
    bool request;
    bool trailers;
};

/* ---- pseudo-header fields (RFC 9113 8.3) ---- */

static bool is(struct http_text t, const char *literal)
{
    return memcmp(t.p, literal, t.n) == 0;
}

/* 0: there is none of that name. */
static enum pseudo pseudo_of(struct http_text name)
{
    switch (name.n) {
    case 5: return is(name, ":path") ? PATH : 0;
    case 7:
        if (is(name, ":method"))
            return METHOD;
        if (is(name, ":scheme"))
            return SCHEME;
        return is(name, ":status") ? STATUS : 0;
    case 9: return is(name, ":protocol") ? PROTOCOL : 0;
    case 10: return is(name, ":authority") ? AUTHORITY : 0;
    default: return 0;
    }
}

static enum h2_head_fault take_method(struct parse *p, struct http_text value)
{
    p->head->method_name = value;
    p->head->method = http_method_of(value);
    return p->head->method != HTTP_OTHER || h2_text_is_token(value) ? H2_HEAD_OK : H2_HEAD_METHOD;
}

/* Three digits; 101 has no place in HTTP/2 (RFC 9113 8.6). */
static enum h2_head_fault take_status(struct parse *p, struct http_text value)
{
    if (value.n != 3)
        return H2_HEAD_STATUS;
    uint32_t status = 0;
    for (uint32_t i = 0; i < 3; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return H2_HEAD_STATUS;
        status = status * 10 + (uint32_t)(value.p[i] - '0');
    }
    if (status < 100 || status > 599 || status == 101) /* RFC 9110 15 */
        return H2_HEAD_STATUS;
    p->head->status = (uint16_t)status;
    return H2_HEAD_OK;
}

static enum h2_head_fault take_pseudo(struct parse *p, const struct http_field *field)
{
    struct http_text value = field->value;
    enum pseudo which = pseudo_of(field->name);
    if (!(which & p->allowed))
        return H2_HEAD_PSEUDO_UNKNOWN;
    if (p->seen & which)
        return H2_HEAD_PSEUDO_TWICE;
    p->seen |= which;
    switch (which) {
    case METHOD: return take_method(p, value);
    case SCHEME:
        p->head->scheme = value;
        return h2_text_is_scheme(value) ? H2_HEAD_OK : H2_HEAD_SCHEME;
    case AUTHORITY: p->head->authority = value; return H2_HEAD_OK;
    case PATH: p->head->path = value; return H2_HEAD_OK;
    case PROTOCOL:
        p->head->protocol = value;
        return h2_text_is_token(value) ? H2_HEAD_OK : H2_HEAD_PROTOCOL;
    case STATUS: return take_status(p, value);
    }
    return H2_HEAD_PSEUDO_UNKNOWN;
}

/* ---- other fields ---- */

static void keep(struct parse *p, const struct http_field *field)
{
    if (p->kept != field)
        *p->kept = *field;
    p->kept++;
}

static void append(struct h2_fields *f, const char *bytes, uint32_t n)
{
    assert(n <= f->max_text - f->text_used && "there is room to join crumbs: h2_fields.max_text");
    if (n > 0)
        memcpy(f->text + f->text_used, bytes, n);
    f->text_used += n;
}

/* RFC 9113 8.2.3: crumbs are joined, at the place of the first. Empty ones are left out, since what
 * they would leave ends in a blank. */
static void take_cookie(struct parse *p, const struct http_field *field)
{
    if (!p->cookie) {
        p->cookie = p->kept;
        keep(p, field);
        return;
    }
    p->cookie->sensitive |= field->sensitive;
    struct http_text *whole = &p->cookie->value;
    if (field->value.n == 0)
        return;
    if (whole->n == 0) {
        *whole = field->value;
        return;
    }
    if (!p->joining) {
        const char *to = p->f->text + p->f->text_used;
        append(p->f, whole->p, whole->n);
        whole->p = to;
        p->joining = true;
    }
    append(p->f, "; ", 2);
    append(p->f, field->value.p, field->value.n);
    whole->n += 2 + field->value.n;
}

/* RFC 9110 8.6: digits; many that are the same are as one. In trailers it says nothing (RFC 9110
 * 6.5.1) and is dropped. */
static enum h2_head_fault take_length(struct parse *p, struct http_text value)
{
    if (p->trailers)
        return H2_HEAD_OK;
    uint64_t length = 0;
    for (uint32_t i = 0; i < value.n; i++) {
        uint32_t digit = (uint32_t)(uint8_t)value.p[i] - '0';
        if (digit > 9 || length > (HTTP_LENGTH_NONE - 1 - digit) / 10)
            return H2_HEAD_CONTENT_LENGTH;
        length = length * 10 + digit;
    }
    uint64_t *known = &p->head->content_length;
    if (value.n == 0 || (*known != HTTP_LENGTH_NONE && *known != length))
        return H2_HEAD_CONTENT_LENGTH;
    *known = length;
    return H2_HEAD_OK;
}

static enum h2_head_fault take_host(struct parse *p, struct http_text value)
{
    if (p->has_host) /* RFC 9112 3.2 */
        return H2_HEAD_AUTHORITY;
    p->has_host = true;
    p->host = value;
    return H2_HEAD_OK;
}

/* RFC 9113 8.2.2; te is one unless it says no more than "trailers". */
static bool is_connection_field(const struct http_field *field)
{
    struct http_text name = field->name;
    switch (name.n) {
    case 2: return is(name, "te") && !h2_text_eq_nocase(field->value, HTTP_TEXT("trailers"));
    case 7: return is(name, "upgrade");
    case 10: return is(name, "connection") || is(name, "keep-alive");
    case 16: return is(name, "proxy-connection");
    case 17: return is(name, "transfer-encoding");
    default: return false;
    }
}

static enum h2_head_fault take_field(struct parse *p, const struct http_field *field)
{
    struct http_text name = field->name;
    if (!h2_text_is_name(name))
        return H2_HEAD_NAME;
    if (!h2_text_is_value(field->value))
        return H2_HEAD_VALUE;
    if (is_connection_field(field))
        return H2_HEAD_CONNECTION_FIELD;
    if (name.n == 14 && is(name, "content-length"))
        return take_length(p, field->value);
    if (p->request && name.n == 4 && is(name, "host"))
        return take_host(p, field->value);
    if (p->request && name.n == 6 && is(name, "cookie"))
        take_cookie(p, field);
    else
        keep(p, field);
    return H2_HEAD_OK;
}

static enum h2_head_fault take_all(struct parse *p)
{
    struct http_field *at = p->f->field;
    struct http_field *end = at + p->f->n;
    enum h2_head_fault fault = H2_HEAD_OK;
    for (; at < end && !fault && at->name.n > 0 && at->name.p[0] == ':'; at++)
        fault = take_pseudo(p, at);
    p->kept = at;
    p->head->field = at;
    for (; at < end && !fault; at++) {
        if (at->name.n > 0 && at->name.p[0] == ':')
            return H2_HEAD_PSEUDO_ORDER;
        fault = take_field(p, at);
    }
    p->head->n_fields = (uint32_t)(p->kept - p->head->field);
    return fault;
}

/* ---- what a request is made of (RFC 9113 8.3.1, 8.5, RFC 8441 4) ---- */

static bool is_default_port(struct http_text port, struct http_text scheme)
{
    return port.n == 0 ||
           (http_text_eq(port, HTTP_TEXT("443")) &&
            h2_text_eq_nocase(scheme, HTTP_TEXT("https"))) ||
           (http_text_eq(port, HTTP_TEXT("80")) && h2_text_eq_nocase(scheme, HTTP_TEXT("http")));
}

static bool same_place(const struct h2_authority *a, const struct h2_authority *b,
                       struct http_text scheme)
{
    return h2_text_eq_nocase(a->host, b->host) &&
           (http_text_eq(a->port, b->port) ||
            (is_default_port(a->port, scheme) && is_default_port(b->port, scheme)));
}

/* :authority, or host in its place, or both where they name the same. */
static bool check_authority(struct parse *p, struct h2_authority *a)
{
    struct http_head *head = p->head;
    if (!(p->seen & AUTHORITY))
        head->authority = p->host;
    if (!h2_text_is_authority(head->authority, a))
        return false;
    if (!p->has_host || http_text_eq(p->host, head->authority))
        return true;
    struct h2_authority host;
    return h2_text_is_authority(p->host, &host) && same_place(a, &host, head->scheme);
}

/* RFC 9113 8.5: to which host and port, and nothing else. */
static enum h2_head_fault check_connect(struct parse *p)
{
    struct h2_authority a;
    if (p->seen & SCHEME)
        return H2_HEAD_SCHEME;
    if (p->seen & PATH)
        return H2_HEAD_PATH;
    if (!(p->seen & AUTHORITY))
        return H2_HEAD_PSEUDO_MISSING;
    if (!check_authority(p, &a) || a.port.n == 0)
        return H2_HEAD_AUTHORITY;
    /* What its DATA carries is a tunnel's, of no length (RFC 9110 9.3.6). */
    p->head->content_length = HTTP_LENGTH_NONE;
    return H2_HEAD_OK;
}

static enum h2_head_fault check_request(struct parse *p)
{
    const struct http_head *head = p->head;
    struct h2_authority a;
    if (!(p->seen & METHOD))
        return H2_HEAD_PSEUDO_MISSING;
    if ((p->seen & PROTOCOL) && head->method != HTTP_CONNECT)
        return H2_HEAD_PROTOCOL;
    if (head->method == HTTP_CONNECT && !(p->seen & PROTOCOL))
        return check_connect(p);
    /* Where a request goes is said by :authority or host, as RFC 9114 4.3.1 puts it. */
    if (!(p->seen & SCHEME) || !(p->seen & PATH) || !((p->seen & AUTHORITY) || p->has_host))
        return H2_HEAD_PSEUDO_MISSING;
    bool asterisk = head->method == HTTP_OPTIONS && http_text_eq(head->path, HTTP_TEXT("*"));
    if (!asterisk && !h2_text_is_path(head->path))
        return H2_HEAD_PATH;
    return check_authority(p, &a) ? H2_HEAD_OK : H2_HEAD_AUTHORITY;
}

static uint32_t allowed_in(enum h2_block kind, bool extended)
{
    switch (kind) {
    case H2_BLOCK_REQUEST: return METHOD | SCHEME | AUTHORITY | PATH | (extended ? PROTOCOL : 0u);
    case H2_BLOCK_RESPONSE: return STATUS;
    case H2_BLOCK_TRAILERS: break;
    }
    return 0;
}

enum h2_head_fault h2_head_parse(struct h2_fields *f, enum h2_block kind, bool extended,
                                 struct http_head *head)
{
    *head = (struct http_head){.content_length = HTTP_LENGTH_NONE};
    struct parse p = {
        .f = f,
        .head = head,
        .allowed = allowed_in(kind, extended),
        .request = kind == H2_BLOCK_REQUEST,
        .trailers = kind == H2_BLOCK_TRAILERS,
    };
    enum h2_head_fault fault = take_all(&p);
    if (fault)
        return fault;
    if (kind == H2_BLOCK_REQUEST)
        return check_request(&p);
    if (kind == H2_BLOCK_RESPONSE && !(p.seen & STATUS))
        return H2_HEAD_PSEUDO_MISSING;
    return H2_HEAD_OK;
}
