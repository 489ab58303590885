/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/pcapng.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/unit.h"

static struct pcapng f;
static int fd;

static void setup(void)
{
    fd = memfd_create("pcapng", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    pcapng_start(&f, fd, "millrace");
}

static void teardown(void)
{
    close(fd);
}

static uint32_t word(uint64_t at)
{
    uint32_t v;
    ck_assert_int_eq(pread(fd, &v, sizeof(v), (off_t)at), sizeof(v));
    return v;
}

/* The file is a sequence of blocks that say their length at both ends. Returns how many. */
static unsigned expect_blocks(const uint32_t *types, unsigned n)
{
    uint64_t at = 0, size = (uint64_t)lseek(fd, 0, SEEK_END);
    unsigned k = 0;
    ck_assert_uint_eq(size, f.bytes);
    for (; at < size; k++) {
        uint32_t length = word(at + 4);
        ck_assert_uint_lt(k, n);
        ck_assert_uint_eq(word(at), types[k]);
        ck_assert_uint_eq(length % 4, 0);
        ck_assert_uint_eq(word(at + length - 4), length);
        at += length;
    }
    ck_assert_uint_eq(at, size);
    return k;
}

START_TEST(blocks_follow_one_another)
{
    static const uint32_t types[] = {0x0a0d0d0a, 1, 1, 6, 6, 5};
    pcapng_interface(&f, "mill0", 65535);
    pcapng_interface(&f, "a-longer-name.7", 64);
    uint64_t before = f.bytes;
    pcapng_packet(&f, 0, UINT64_C(0x0123456789abcdef), 1, "abcde", 5, 1500);
    ck_assert_uint_eq(f.bytes - before, pcapng_packet_bytes(5));
    pcapng_packet(&f, 1, 2, 2, "abcd", 4, 4);
    pcapng_statistics(&f, 1, 3, 42);
    ck_assert(pcapng_flush(&f));
    ck_assert_uint_eq(expect_blocks(types, 6), 6);
}
END_TEST

START_TEST(a_packet_is_as_the_format_says)
{
    char text[5];
    pcapng_interface(&f, "mill0", 65535);
    uint64_t at = f.bytes;
    pcapng_packet(&f, 0, UINT64_C(0x0123456789abcdef), 2, "abcde", 5, 1500);
    ck_assert(pcapng_flush(&f));
    ck_assert_uint_eq(word(at + 8), 0);           /* interface */
    ck_assert_uint_eq(word(at + 12), 0x01234567); /* time, upper half first */
    ck_assert_uint_eq(word(at + 16), 0x89abcdef);
    ck_assert_uint_eq(word(at + 20), 5);
    ck_assert_uint_eq(word(at + 24), 1500);
    ck_assert_int_eq(pread(fd, text, 5, (off_t)at + 28), 5);
    ck_assert_mem_eq(text, "abcde", 5);
    ck_assert_uint_eq(word(at + 36), 2u | 4u << 16); /* option 2, four bytes: flags */
    ck_assert_uint_eq(word(at + 40), 2);             /* outbound */
    ck_assert_uint_eq(word(at + 44), 0);             /* end of options */
}
END_TEST

/* More than the buffer, in sizes that do not divide it. */
START_TEST(much_is_written_whole)
{
    static uint8_t bytes[9001];
    uint32_t types[102] = {0x0a0d0d0a, 1};
    memset(bytes, 0x5a, sizeof(bytes));
    pcapng_interface(&f, "mill0", 65535);
    for (unsigned i = 0; i < 100; i++) {
        types[i + 2] = 6;
        pcapng_packet(&f, 0, i, 1, bytes, 8901 + i, 9100);
    }
    ck_assert(pcapng_flush(&f));
    ck_assert_uint_eq(expect_blocks(types, 102), 102);
}
END_TEST

START_TEST(a_failed_write_is_remembered)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(full, 0);
    pcapng_start(&f, full, "millrace");
    ck_assert(!pcapng_flush(&f));
    ck_assert_int_eq(f.error, ENOSPC);
    pcapng_packet(&f, 0, 0, 1, "a", 1, 1);
    ck_assert(!pcapng_flush(&f));
    close(full);
}
END_TEST

/* The disk is full in the middle of a block: what is left ends with a whole one. */
START_TEST(a_failed_write_leaves_whole_blocks)
{
    static const uint32_t types[] = {0x0a0d0d0a, 1, 6};
    static uint8_t bytes[100000];
    struct rlimit was, limit = {.rlim_cur = 50000};
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &was), 0);
    limit.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    pcapng_interface(&f, "mill0", 262144);
    pcapng_packet(&f, 0, 1, 1, "abcde", 5, 1500);
    ck_assert(pcapng_flush(&f));
    uint64_t good = f.bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    pcapng_packet(&f, 0, 2, 1, "abcde", 5, 1500);
    pcapng_packet(&f, 0, 3, 1, bytes, sizeof(bytes), sizeof(bytes));
    pcapng_statistics(&f, 0, 3, 42);
    ck_assert(!pcapng_flush(&f));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &was), 0);
    ck_assert_int_eq(f.error, EFBIG);
    ck_assert_uint_eq(f.bytes, good);
    ck_assert_uint_eq(f.packets, 1);
    ck_assert_uint_eq(expect_blocks(types, 3), 3);
}
END_TEST

UNIT_MAIN("pcapng", setup, teardown, blocks_follow_one_another, a_packet_is_as_the_format_says,
          much_is_written_whole, a_failed_write_is_remembered, a_failed_write_leaves_whole_blocks)
