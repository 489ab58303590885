/* SPDX-License-Identifier: BSD-3-Clause */
#include "tcp/settings.h"

#include <assert.h>

#define KIB         UINT32_C(1024)
#define MIB         (KIB * KIB)
#define SEGMENT_MIN 536u                    /* RFC 9293 3.7.1: what everybody may send */
#define WINDOW_MAX  (UINT32_C(65535) << 14) /* RFC 7323 2.3 */
#define TIME_MAX    (365 * 86400 * TICK_SEC)
#define BUFFER      (64 * KIB)
#define BUFFER_MAX  (4 * MIB)

/* X(member, default, least, most) */
#define NUMBERS(X)                                                               \
    X(initial_window, 10, 1, 1024)                                               \
    X(receive_buffer, BUFFER, SEGMENT_MIN, WINDOW_MAX)                           \
    X(receive_buffer_max, BUFFER_MAX, SEGMENT_MIN, WINDOW_MAX)                   \
    X(send_buffer, BUFFER, SEGMENT_MIN, WINDOW_MAX)                              \
    X(send_buffer_max, BUFFER_MAX, SEGMENT_MIN, WINDOW_MAX)                      \
    X(promises, 1024, 2, 1024 * KIB)                                             \
    X(challenge_rate, 1000, 1, UINT32_MAX)                                       \
    X(reset_rate, 1000, 1, UINT32_MAX)                                           \
    X(rto_min, 200 * TICK_MS, TICK_MS, 60 * TICK_SEC)                            \
    X(delayed_ack, 40 * TICK_MS, 1, 499 * TICK_MS)        /* RFC 9293 3.8.6.3 */ \
    X(connect_timeout, 180 * TICK_SEC, TICK_MS, TIME_MAX) /* RFC 1122 4.2.3.5 */ \
    X(accept_timeout, 60 * TICK_SEC, TICK_MS, TIME_MAX)                          \
    X(user_timeout, 300 * TICK_SEC, TICK_MS, TIME_MAX)                           \
    X(fin_timeout, 60 * TICK_SEC, TICK_MS, TIME_MAX)                             \
    X(time_wait, 60 * TICK_SEC, TICK_MS, TIME_MAX)                               \
    X(keepalive, TICK_NEVER, TICK_MS, TICK_NEVER) /* RFC 9293 3.8.4 */           \
    X(keepalive_interval, 75 * TICK_SEC, TICK_MS, TIME_MAX)                      \
    X(keepalive_probes, 9, 1, 127)                                               \
    X(port_min, 32768, 1, 65535)                                                 \
    X(port_max, 60999, 1, 65535)

static bool within(uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most;
}

/* A buffer's bound that nobody chose goes as far as the buffer, and a buffer that nobody chose no
 * further than its bound. */
static void fit_buffer(uint32_t *size, uint32_t *max)
{
    if (*max == 0 && *size > BUFFER_MAX)
        *max = *size;
    if (*size == 0 && *max < BUFFER)
        *size = *max;
}

bool tcp_settings_fill(struct tcp_settings *s)
{
    bool ok = s->congestion < TCP_CONGESTION_END && s->ecn <= TCP_ECN_OFF;
    fit_buffer(&s->receive_buffer, &s->receive_buffer_max);
    fit_buffer(&s->send_buffer, &s->send_buffer_max);
#define X(member, preset, least, most) \
    if (s->member == 0)                \
        s->member = preset;            \
    ok = ok && within(s->member, least, most);
    NUMBERS(X)
#undef X
    return ok && s->receive_buffer <= s->receive_buffer_max &&
           s->send_buffer <= s->send_buffer_max && s->port_min <= s->port_max;
}

const char *tcp_congestion_name(enum tcp_congestion c)
{
    static const char *const name[] = {
#define X(id, name, text) [TCP_##id] = name,
        TCP_CONGESTIONS(X)
#undef X
    };
    assert(c < TCP_CONGESTION_END);
    return name[c];
}
