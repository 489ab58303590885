/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/pcapng.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/*
 * Every block:
 *
 *     0                   1                   2                   3
 *     0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
 *    +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *    |                          Block Type                           |
 *    |                      Block Total Length                       |
 *    /                          Block Body                           /
 *    |                      Block Total Length                       |
 *    +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
 *
 * in the writer's byte order, everything padded to 32 bits.
 */
enum block_type {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_STATISTICS = 5,
    BLOCK_PACKET = 6,
};

#define BYTE_ORDER_MAGIC  0x1a2b3c4du
#define LINK_ETHERNET     1
#define OPT_END           0
#define OPT_APPLICATION   4 /* of a section */
#define OPT_IF_NAME       2
#define OPT_IF_TSRESOL    9
#define OPT_PACKET_FLAGS  2
#define OPT_STATS_DROPPED 5 /* isb_ifdrop */

static uint32_t padded(uint32_t n)
{
    return (n + 3) & ~3u;
}

static bool write_all(const struct pcapng *f)
{
    for (uint32_t done = 0; done < f->used;) {
        ssize_t n = write(f->fd, f->buffer + done, f->used - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        done += (uint32_t)n;
    }
    return true;
}

/* A reader would take half a block for damage. */
static void fail(struct pcapng *f, int error)
{
    f->failed = true;
    f->error = error;
    f->bytes = f->safe;
    f->packets = f->safe_packets;
    int ignored = ftruncate(f->fd, (off_t)f->safe); /* then it is damaged */
    (void)ignored;
}

bool pcapng_flush(struct pcapng *f)
{
    if (!f->failed && !write_all(f))
        fail(f, errno);
    if (!f->failed) {
        f->safe = f->whole;
        f->safe_packets = f->packets;
    }
    f->used = 0;
    return !f->failed;
}

static void put(struct pcapng *f, const void *bytes, uint32_t n)
{
    const uint8_t *from = bytes;
    if (f->failed)
        return;
    f->bytes += n;
    while (n > 0 && !f->failed) {
        if (f->used == sizeof(f->buffer))
            pcapng_flush(f);
        uint32_t room = (uint32_t)sizeof(f->buffer) - f->used;
        uint32_t part = n < room ? n : room;
        memcpy(f->buffer + f->used, from, part);
        f->used += part;
        from += part;
        n -= part;
    }
}

static void put16(struct pcapng *f, uint16_t v)
{
    put(f, &v, sizeof(v));
}

static void put32(struct pcapng *f, uint32_t v)
{
    put(f, &v, sizeof(v));
}

static void put_padded(struct pcapng *f, const void *bytes, uint32_t n)
{
    static const uint8_t zero[4];
    put(f, bytes, n);
    put(f, zero, padded(n) - n);
}

static uint32_t option_bytes(uint32_t n)
{
    return 4 + padded(n);
}

static void put_option(struct pcapng *f, uint16_t code, const void *value, uint16_t n)
{
    put16(f, code);
    put16(f, n);
    put_padded(f, value, n);
}

/* Returns the block's total length, for block_end. */
static uint32_t block_start(struct pcapng *f, enum block_type type, uint32_t body)
{
    uint32_t total = 12 + body;
    put32(f, (uint32_t)type);
    put32(f, total);
    return total;
}

static void block_end(struct pcapng *f, uint32_t total)
{
    put32(f, total);
    f->whole = f->bytes;
}

void pcapng_start(struct pcapng *f, int fd, const char *application)
{
    f->fd = fd;
    f->bytes = 0;
    f->packets = 0;
    f->whole = 0;
    f->safe = 0;
    f->safe_packets = 0;
    f->used = 0;
    f->failed = false;
    f->error = 0;
    uint16_t n = (uint16_t)strlen(application);
    uint32_t total = block_start(f, BLOCK_SECTION, 16 + option_bytes(n) + 4);
    uint64_t unknown = UINT64_MAX; /* section length: readers find it */
    put32(f, BYTE_ORDER_MAGIC);
    put16(f, 1); /* version 1.0 */
    put16(f, 0);
    put(f, &unknown, sizeof(unknown));
    put_option(f, OPT_APPLICATION, application, n);
    put_option(f, OPT_END, NULL, 0);
    block_end(f, total);
}

void pcapng_interface(struct pcapng *f, const char *name, uint32_t snaplen)
{
    uint16_t n = (uint16_t)strlen(name);
    uint8_t nanoseconds = 9;
    uint32_t total = block_start(f, BLOCK_INTERFACE,
                                 8 + option_bytes(n) + option_bytes(sizeof(nanoseconds)) + 4);
    put16(f, LINK_ETHERNET);
    put16(f, 0);
    put32(f, snaplen);
    put_option(f, OPT_IF_NAME, name, n);
    put_option(f, OPT_IF_TSRESOL, &nanoseconds, sizeof(nanoseconds));
    put_option(f, OPT_END, NULL, 0);
    block_end(f, total);
}

uint32_t pcapng_packet_bytes(uint32_t captured)
{
    return 12 + 20 + padded(captured) + option_bytes(4) + 4;
}

void pcapng_packet(struct pcapng *f, uint16_t iface, uint64_t time, uint32_t direction,
                   const void *bytes, uint32_t captured, uint32_t length)
{
    assert(captured <= length && "no more is captured than there was");
    uint32_t total = block_start(f, BLOCK_PACKET, pcapng_packet_bytes(captured) - 12);
    put32(f, iface);
    put32(f, (uint32_t)(time >> 32));
    put32(f, (uint32_t)time);
    put32(f, captured);
    put32(f, length);
    put_padded(f, bytes, captured);
    put_option(f, OPT_PACKET_FLAGS, &direction, sizeof(direction));
    put_option(f, OPT_END, NULL, 0);
    block_end(f, total);
    f->packets += !f->failed;
}

void pcapng_statistics(struct pcapng *f, uint16_t iface, uint64_t time, uint64_t lost)
{
    uint32_t total = block_start(f, BLOCK_STATISTICS, 12 + option_bytes(sizeof(lost)) + 4);
    put32(f, iface);
    put32(f, (uint32_t)(time >> 32));
    put32(f, (uint32_t)time);
    put_option(f, OPT_STATS_DROPPED, &lost, sizeof(lost));
    put_option(f, OPT_END, NULL, 0);
    block_end(f, total);
}
