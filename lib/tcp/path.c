/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How large a segment may be: what the peer takes, what the path carries, and what is found out the
 * hard way where routers drop large packets in silence.
 */
#include "tcp/internal.h"

#include "wire/addr.h"

/* Timeouts in a row after which size is suspected (RFC 4821 7.7.2). */
#define SUSPECT_BACKOFF 2
/* After so long the full size is tried again (RFC 4821 7.6.2 asks for 10 minutes). */
#define RAISE_AFTER (600 * TICK_SEC)

/* MTUs that nearly every path carries, as payload beside IP and TCP headers without options: those
 * of IPv6's minimum, of RFC 4821's eff_pmtu, of IPv4's minimum. */
static const uint16_t steps4[] = {1240, 984, 536};
static const uint16_t steps6[] = {1220};

static bool is_v4(const struct tcp_conn *c)
{
    return ip_is_v4(&c->key->remote);
}

static uint32_t headers(const struct tcp_conn *c)
{
    return (is_v4(c) ? TCP_IP_LEN4 : TCP_IP_LEN6) + TCP_LEN;
}

uint16_t conn_mss_announced(const struct tcp_conn *c)
{
    return (uint16_t)(c->path.iface_mtu - headers(c));
}

uint32_t conn_mss(const struct tcp_conn *c)
{
    uint32_t mss = c->path.mtu - headers(c);
    if (c->mss < mss)
        mss = c->mss;
    if (c->mss_limit && c->mss_limit < mss)
        mss = c->mss_limit;
    if (mss < TCP_MSS_MIN + TCP_TIMESTAMPS_LEN)
        mss = TCP_MSS_MIN + TCP_TIMESTAMPS_LEN;
    /* RFC 6691 2: the MSS counts no options, a packet does. */
    return conn_has(c, TCP_CONN_TIMESTAMPS) ? mss - TCP_TIMESTAMPS_LEN : mss;
}

static void apply(struct tcp_conn *c)
{
    uint32_t mss = conn_mss(c);
    if (mss != c->sender.mss)
        sender_set_mss(&c->sender, mss, mss < c->sender.mss);
}

void tcp_path_changed(struct tcp_conn *c, const struct tcp_path *path, tick_t now)
{
    c->path = *path;
    if (c->state >= TCP_SYN_RECEIVED) /* before, nothing is agreed yet */
        apply(c);
    conn_arm(c, now);
}

void conn_suspect_path(struct tcp_conn *c, tick_t now)
{
    const struct tcp_seg *lost = sender_resend(&c->sender);
    if (c->sender.backoff < SUSPECT_BACKOFF || !lost || c->snd_wnd == 0)
        return;
    const uint16_t *step = is_v4(c) ? steps4 : steps6;
    unsigned n = is_v4(c) ? sizeof(steps4) / sizeof(steps4[0]) : 1;
    uint32_t options = conn_has(c, TCP_CONN_TIMESTAMPS) ? TCP_TIMESTAMPS_LEN : 0;
    for (unsigned i = 0; i < n; i++) {
        if (lost->len + options <= step[i])
            continue;
        c->mss_limit = step[i];
        c->path_raise_at = now + RAISE_AFTER;
        conn_count(c, COUNTER_TCP_BLACK_HOLES, 1);
        apply(c);
        return;
    }
}

void conn_raise_path(struct tcp_conn *c)
{
    c->path_raise_at = TICK_NEVER;
    c->mss_limit = 0;
    apply(c);
}
