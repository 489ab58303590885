/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/pcapng.h"

#include <string.h>

/*
 * Every block: type, total length, body, total length again; all in the writer's byte order, which
 * the section header's magic number shows, and padded to four bytes.
 */
enum {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 6,
    MAGIC = 0x1a2b3c4d,
    LINKTYPE_ETHERNET = 1,
    OPTION_END = 0,
    OPTION_COMMENT = 1,
    OPTION_TSRESOL = 9,
};

static void put32(struct pcapng *w, uint32_t v)
{
    fwrite(&v, sizeof(v), 1, w->file);
}

static void put16(struct pcapng *w, uint16_t v)
{
    fwrite(&v, sizeof(v), 1, w->file);
}

static uint32_t padded(size_t len)
{
    return (uint32_t)((len + 3) & ~(size_t)3);
}

static void put_padded(struct pcapng *w, const void *bytes, size_t len)
{
    static const uint8_t zero[4];
    fwrite(bytes, 1, len, w->file);
    fwrite(zero, 1, padded(len) - len, w->file);
}

static void put_option(struct pcapng *w, uint16_t code, const void *value, size_t len)
{
    put16(w, code);
    put16(w, (uint16_t)len);
    put_padded(w, value, len);
}

static void put_section(struct pcapng *w)
{
    uint32_t total = 28;
    put32(w, BLOCK_SECTION);
    put32(w, total);
    put32(w, MAGIC);
    put16(w, 1); /* version 1.0 */
    put16(w, 0);
    put32(w, UINT32_MAX); /* the section's length is not given */
    put32(w, UINT32_MAX);
    put32(w, total);
}

static void put_interface(struct pcapng *w)
{
    uint32_t total = 32;
    uint8_t nanoseconds = 9; /* 10^-9 */
    put32(w, BLOCK_INTERFACE);
    put32(w, total);
    put16(w, LINKTYPE_ETHERNET);
    put16(w, 0);
    put32(w, 0); /* frames are never cut */
    put_option(w, OPTION_TSRESOL, &nanoseconds, 1);
    put_option(w, OPTION_END, NULL, 0);
    put32(w, total);
}

int pcapng_open(struct pcapng *w, const char *path)
{
    w->file = fopen(path, "wb");
    if (!w->file)
        return -1;
    put_section(w);
    put_interface(w);
    return 0;
}

void pcapng_frame(struct pcapng *w, uint64_t time_ns, const void *frame, size_t len,
                  const char *comment)
{
    size_t comment_len = comment ? strlen(comment) : 0;
    uint32_t total = 32 + padded(len) + (comment ? 8 + padded(comment_len) : 0);
    put32(w, BLOCK_PACKET);
    put32(w, total);
    put32(w, 0); /* the interface */
    put32(w, (uint32_t)(time_ns >> 32));
    put32(w, (uint32_t)time_ns);
    put32(w, (uint32_t)len);
    put32(w, (uint32_t)len);
    put_padded(w, frame, len);
    if (comment) {
        put_option(w, OPTION_COMMENT, comment, comment_len);
        put_option(w, OPTION_END, NULL, 0);
    }
    put32(w, total);
}

int pcapng_close(struct pcapng *w)
{
    int failed = ferror(w->file);
    return fclose(w->file) == 0 && !failed ? 0 : -1;
}
