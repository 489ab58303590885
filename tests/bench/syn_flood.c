/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SYNs from addresses that nobody has, as raw frames on a packet socket, at a steady rate.
 *
 *     syn_flood INTERFACE MAC ADDRESS PORT FROM SOURCES RATE SECONDS LENGTH
 *
 * MAC, ADDRESS and PORT are the server's. The SYNs come from SOURCES addresses, FROM and those
 * after it, from any port, with the options that clients send today. Frames are filled up with
 * zeroes behind the packet to LENGTH bytes, so that this makes a load of large frames, too. RATE is
 * a second's, in bursts of a millisecond; where the socket does not take as many, fewer are sent.
 * Prints one JSON object.
 */

#define _GNU_SOURCE /* sendmmsg, clock_gettime */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/tick.h"
#include "wire/addr.h"
#include "wire/ether.h"
#include "wire/ipv4.h"
#include "wire/proto.h"
#include "wire/tcp.h"

#define IP_AT       ETHER_LEN
#define TCP_AT      (ETHER_LEN + IPV4_LEN)
#define LENGTH_MIN  78u /* of all headers, with options */
#define LENGTH_MAX  1514u
#define SOURCES_MAX 65536
#define RATE_MAX    2000000
#define SECONDS_MAX 60
#define BATCH       64
#define STEP        TICK_MS

static const struct mac_addr MAC_OURS = {{0x02, 0x6d, 0x72, 0, 0, 2}};

struct flood {
    int fd;
    struct mac_addr target_mac;
    uint32_t target, from, sources, rate, length;
    uint16_t port;
    tick_t duration;
    struct rng rng;
    uint8_t frame[BATCH][LENGTH_MAX];
    uint64_t sent;
    uint64_t refused;
};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "syn_flood: %s: %s\n", what, strerror(errno));
    exit(1);
}

static tick_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (tick_t)t.tv_sec * TICK_SEC + (tick_t)t.tv_nsec;
}

static void build(struct flood *f, uint8_t *frame)
{
    struct tcp_hdr tcp = {
        .src_port = (uint16_t)(1024 + rng_below(&f->rng, 64000)),
        .dst_port = f->port,
        .seq = seq32(rng_u32(&f->rng)),
        .flags = TCP_SYN,
        .window = 64240,
        .options = {.has_mss = true, .mss = 1460, .has_wscale = true, .wscale = 7},
    };
    tcp.options.sack_permitted = tcp.options.has_timestamps = true;
    tcp.options.ts_value = rng_u32(&f->rng);
    uint32_t len = (uint32_t)tcp_header_len(&tcp.options);
    struct ether_hdr eth = {.dst = f->target_mac, .src = MAC_OURS, .type = ETHER_TYPE_IPV4};
    struct ipv4_hdr ip = {
        .src = ip_from_v4(f->from + (uint32_t)rng_below(&f->rng, f->sources)),
        .dst = ip_from_v4(f->target),
        .total_len = (uint16_t)(IPV4_LEN + len),
        .ttl = 64,
        .proto = IP_PROTO_TCP,
    };
    ether_emit(&eth, frame);
    ipv4_emit(&ip, false, frame + IP_AT);
    tcp_emit(&tcp, checksum_pseudo(&ip.src, &ip.dst, IP_PROTO_TCP, len), frame + TCP_AT);
}

static void send_batch(struct flood *f, unsigned n)
{
    struct iovec bytes[BATCH];
    struct mmsghdr messages[BATCH] = {0};
    for (unsigned i = 0; i < n; i++) {
        build(f, f->frame[i]);
        bytes[i] = (struct iovec){f->frame[i], f->length};
        messages[i].msg_hdr.msg_iov = &bytes[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    int sent = sendmmsg(f->fd, messages, n, MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != ENOBUFS)
        die("sending");
    unsigned went = sent > 0 ? (unsigned)sent : 0;
    f->sent += went;
    f->refused += n - went;
}

/* Returns how long it took. */
static tick_t run(struct flood *f)
{
    tick_t start = clock_now(), now = start;
    uint64_t begun = 0;
    for (; now - start < f->duration; now = clock_now()) {
        uint64_t due = (now - start) * f->rate / TICK_SEC;
        unsigned n = due - begun < BATCH ? (unsigned)(due - begun) : BATCH;
        send_batch(f, n);
        begun += n;
        if (begun == due)
            nanosleep(&(struct timespec){.tv_nsec = STEP}, NULL);
    }
    return now - start;
}

static uint32_t number(const char *text, uint32_t least, uint32_t most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || n < least || n > most) {
        fprintf(stderr, "syn_flood: %s is not a number from %u to %u\n", text, least, most);
        exit(2);
    }
    return (uint32_t)n;
}

static uint32_t address(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a) || !ip_is_v4(&a)) {
        fprintf(stderr, "syn_flood: %s is not an IPv4 address\n", text);
        exit(2);
    }
    return ip_v4(&a);
}

static int open_socket(const char *interface)
{
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_ifindex = (int)if_nametoindex(interface)};
    int fd = socket(AF_PACKET, SOCK_RAW, 0), yes = 1;
    if (fd < 0 || at.sll_ifindex == 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes)) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        die(interface);
    return fd;
}

int main(int argc, char **argv)
{
    static struct flood f;
    if (argc != 10 || !mac_parse(argv[2], &f.target_mac)) {
        fputs("usage: syn_flood INTERFACE MAC ADDRESS PORT FROM SOURCES RATE SECONDS LENGTH\n",
              stderr);
        return 2;
    }
    f.target = address(argv[3]);
    f.port = (uint16_t)number(argv[4], 1, UINT16_MAX);
    f.from = address(argv[5]);
    f.sources = number(argv[6], 1, SOURCES_MAX);
    f.rate = number(argv[7], 1, RATE_MAX);
    f.duration = number(argv[8], 1, SECONDS_MAX) * TICK_SEC;
    f.length = number(argv[9], LENGTH_MIN, LENGTH_MAX);
    rng_seed(&f.rng, 1);
    f.fd = open_socket(argv[1]);
    tick_t wall = run(&f);
    printf("{\"seconds\":%.6f,\"sent\":%" PRIu64 ",\"refused\":%" PRIu64 "}\n",
           (double)wall / (double)TICK_SEC, f.sent, f.refused);
    return f.sent == 0;
}
