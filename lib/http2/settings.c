/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/settings.h"

#include "wire/h2.h"

#define KIB      UINT32_C(1024)
#define MIB      (KIB * KIB)
#define TIME_MAX (365 * 86400 * TICK_SEC)

/* X(member, default, least, most): the most of what is announced is RFC 9113 6.5.2's, or what there
 * is to be room for. */
#define NUMBERS(X)                                                        \
    X(max_streams, 128, 1, 1024 * KIB)                                    \
    X(stream_window, 256 * KIB, KIB, H2_WINDOW_MAX)                       \
    X(connection_window, MIB, H2_WINDOW_FIRST, H2_WINDOW_MAX)             \
    X(max_frame, H2_FRAME_SIZE_MIN, H2_FRAME_SIZE_MIN, H2_FRAME_SIZE_MAX) \
    X(header_table, H2_HEADER_TABLE_SIZE, 1, 64 * KIB)                    \
    X(header_list, 64 * KIB, KIB, MIB)                                    \
    X(header_fields, 100, 8, 10000)                                       \
    X(glitches, 1000, 1, UINT32_MAX)                                      \
    X(glitches_recover, 1, 1, UINT32_MAX)                                 \
    X(rst_burst, 1000, 1, UINT32_MAX)                                     \
    X(rst_rate, 33, 1, UINT32_MAX)                                        \
    X(reset_burst, 200, 1, UINT32_MAX)                                    \
    X(reset_rate, 7, 1, UINT32_MAX)                                       \
    X(ping_burst, 200, 1, UINT32_MAX)                                     \
    X(ping_rate, 100, 1, UINT32_MAX)                                      \
    X(settings_burst, 20, 1, UINT32_MAX)                                  \
    X(settings_rate, 2, 1, UINT32_MAX)                                    \
    X(settings_entries, 32, 1, H2_FRAME_SIZE_MAX / H2_SETTINGS_ENTRY)     \
    X(continuations, 8, 1, 128)                                           \
    X(total_streams, UINT64_C(1) << 30, 1, H2_STREAM_MAX / 2 + 1)         \
    X(memory, 32 * MIB, 64 * KIB, UINT32_MAX)                             \
    X(progress_bytes, 1024, 1, UINT32_MAX)                                \
    X(preface_timeout, 10 * TICK_SEC, TICK_MS, TIME_MAX)                  \
    X(headers_timeout, 10 * TICK_SEC, TICK_MS, TIME_MAX)                  \
    X(idle_timeout, 300 * TICK_SEC, TICK_MS, TIME_MAX)                    \
    X(progress_timeout, 30 * TICK_SEC, TICK_MS, TIME_MAX)                 \
    X(settings_timeout, 10 * TICK_SEC, TICK_MS, TIME_MAX)                 \
    X(drain_timeout, 30 * TICK_SEC, TICK_MS, TIME_MAX)

static bool within(uint64_t value, uint64_t least, uint64_t most)
{
    return value >= least && value <= most;
}

bool h2_settings_fill(struct h2_settings *s)
{
    bool ok = true;
#define X(member, preset, least, most) \
    if (s->member == 0)                \
        s->member = preset;            \
    ok = ok && within(s->member, least, most);
    NUMBERS(X)
#undef X
    sched_settings_fill(&s->sched);
    return ok;
}
