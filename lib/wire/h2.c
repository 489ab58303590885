/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/h2.h"

const char *h2_frame_name(uint8_t type)
{
    switch (type) {
#define X(id, number, name) \
    case number: return name;
        H2_FRAMES(X)
#undef X
    default: return 0;
    }
}

const char *h2_error_name(uint32_t error)
{
    switch (error) {
#define X(id, number, name) \
    case number: return name;
        H2_ERRORS(X)
#undef X
    default: return 0;
    }
}

const char *h2_settings_name(uint16_t id)
{
    switch (id) {
#define X(id, number, name) \
    case number: return name;
        H2_SETTINGS_IDS(X)
#undef X
    default: return 0;
    }
}

static uint8_t *put_u32(uint8_t *b, uint32_t v)
{
    b[0] = (uint8_t)(v >> 24);
    b[1] = (uint8_t)(v >> 16);
    b[2] = (uint8_t)(v >> 8);
    b[3] = (uint8_t)v;
    return b + 4;
}

static uint8_t *begin(uint8_t *out, uint8_t type, uint8_t flags, uint32_t stream, uint32_t length)
{
    struct h2_frame f = {.length = length, .type = type, .flags = flags, .stream = stream};
    return h2_frame_write(out, &f);
}

uint32_t h2_rst_stream_write(uint8_t *out, uint32_t stream, uint32_t error)
{
    put_u32(begin(out, H2_RST_STREAM, 0, stream, 4), error);
    return H2_RST_STREAM_SIZE;
}

uint32_t h2_window_update_write(uint8_t *out, uint32_t stream, uint32_t increment)
{
    put_u32(begin(out, H2_WINDOW_UPDATE, 0, stream, 4), increment);
    return H2_WINDOW_UPDATE_SIZE;
}

uint32_t h2_ping_write(uint8_t *out, bool ack, const uint8_t opaque[8])
{
    uint8_t *b = begin(out, H2_PING, ack ? H2_FLAG_ACK : 0, 0, 8);
    for (unsigned i = 0; i < 8; i++)
        b[i] = opaque[i];
    return H2_PING_SIZE;
}

uint32_t h2_goaway_write(uint8_t *out, uint32_t last, uint32_t error)
{
    put_u32(put_u32(begin(out, H2_GOAWAY, 0, 0, 8), last), error);
    return H2_GOAWAY_SIZE;
}

uint32_t h2_settings_ack_write(uint8_t *out)
{
    begin(out, H2_SETTINGS, H2_FLAG_ACK, 0, 0);
    return H2_FRAME_HEADER;
}

uint32_t h2_setting_write(uint8_t *out, uint16_t id, uint32_t value)
{
    out[0] = (uint8_t)(id >> 8);
    out[1] = (uint8_t)id;
    put_u32(out + 2, value);
    return H2_SETTINGS_ENTRY;
}
