/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A load of ICMP echo from the kernel's side of a link, light enough for one core to overload
 * another that answers.
 *
 *     pinger INTERFACE MAC ADDRESS FROM WINDOW SECONDS
 *
 * MAC and ADDRESS are the host that answers. The requests come from SOURCES addresses, FROM and
 * those after it, all at one station, MAC_OURS. That is not the interface's address, so that the
 * kernel drops the replies as soon as we have seen them; ARP for the addresses is answered here.
 * The interface must have no addresses of its own.
 *
 * Two small BPF programs do the work, and share a page of numbers with this process. `request` is
 * run by the kernel on frames that it makes itself and recycles (BPF_PROG_TEST_RUN with live
 * frames: Linux 5.18): each goes out as long as the window has room. `reply` is the filter of a
 * packet socket: it counts the replies that are right, byte by byte, and lets none of them through.
 *
 * What the first WARM nanoseconds see is not counted. Prints one JSON object. Exits 1 where nothing
 * answered.
 */

#define _GNU_SOURCE /* clock_gettime, syscall */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/tick.h"
#include "wire/addr.h"
#include "wire/arp.h"
#include "wire/ether.h"
#include "wire/icmp.h"
#include "wire/ipv4.h"
#include "wire/proto.h"

#define FRAME_LEN   60u /* 64 with the CRC: the shortest there is */
#define IP_AT       ETHER_LEN
#define ICMP_AT     (ETHER_LEN + IPV4_LEN)
#define ECHO_ID     0x6d72
#define SOURCES     8 /* a power of two */
#define WINDOW_MAX  4096
#define SECONDS_MAX 3600
#define WARM        (300 * TICK_MS)
#define STEP        (2 * TICK_MS)
#define PATIENCE    (20 * TICK_MS) /* without a reply, until what is outstanding counts as lost */

static const struct mac_addr MAC_OURS = {{0x02, 0x6d, 0x72, 0, 0, 1}};

/* The page that the programs and this process share. Each has one writer. */
struct shared {
    _Alignas(64) _Atomic uint64_t sent;    /* request */
    _Alignas(64) _Atomic uint64_t replies; /* reply */
    _Atomic uint64_t wrong;                /* reply: neither a right reply nor ARP */
    _Alignas(64) _Atomic uint64_t lost;    /* this process */
    _Atomic uint64_t window;
};

struct pinger {
    struct shared *shared;
    int map;
    int request;
    int arp; /* the socket whose filter is reply; what it receives is ARP */
    struct mac_addr target_mac;
    uint32_t target;
    uint32_t from;
    tick_t duration;
    unsigned ifindex;
    uint8_t frame[FRAME_LEN]; /* the request of the first source */
    uint64_t replies;         /* when last looked at */
    tick_t heard;             /* when there were new ones */
};

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "pinger: %s: %s\n", what, strerror(errno));
    exit(2);
}

static tick_t clock_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (tick_t)t.tv_sec * TICK_SEC + (tick_t)t.tv_nsec;
}

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* ---- frames ---- */

static void build_frame(uint8_t *frame, const struct mac_addr *dst_mac,
                        const struct mac_addr *src_mac, uint32_t dst, uint32_t src, uint8_t type)
{
    struct ether_hdr eth = {.dst = *dst_mac, .src = *src_mac, .type = ETHER_TYPE_IPV4};
    struct ipv4_hdr ip = {.src = ip_from_v4(src),
                          .dst = ip_from_v4(dst),
                          .total_len = FRAME_LEN - IP_AT,
                          .ttl = 64,
                          .proto = IP_PROTO_ICMP};
    struct icmp_hdr icmp = {.type = type, .id = ECHO_ID, .seq = 1};
    ether_emit(&eth, frame);
    ipv4_emit(&ip, false, frame + IP_AT);
    const uint8_t *body = frame + ICMP_AT + ICMP_LEN;
    for (unsigned i = ICMP_AT + ICMP_LEN; i < FRAME_LEN; i++)
        frame[i] = (uint8_t)i;
    icmp_emit(&icmp, checksum_add(CHECKSUM_EMPTY, body, FRAME_LEN - ICMP_AT - ICMP_LEN),
              frame + ICMP_AT);
}

/* Who asks for one of our addresses is told. */
static void answer_arp(const struct pinger *b, const uint8_t *at, size_t len)
{
    struct arp_msg m;
    if (arp_parse(at, len, &m) < 0 || m.op != ARP_REQUEST ||
        ip_v4(&m.target_ip) - b->from >= SOURCES)
        return;
    struct arp_msg reply = {.op = ARP_REPLY,
                            .sender_mac = MAC_OURS,
                            .sender_ip = m.target_ip,
                            .target_mac = m.sender_mac,
                            .target_ip = m.sender_ip};
    struct ether_hdr eth = {.dst = m.sender_mac, .src = MAC_OURS, .type = ETHER_TYPE_ARP};
    uint8_t frame[FRAME_LEN] = {0};
    ether_emit(&eth, frame);
    arp_emit(&reply, frame + ETHER_LEN);
    if (send(b->arp, frame, sizeof(frame), 0) < 0)
        die("sending ARP");
}

static void answer_all_arp(const struct pinger *b)
{
    uint8_t frame[2048];
    ssize_t n;
    while ((n = recv(b->arp, frame, sizeof(frame), MSG_DONTWAIT)) > 0)
        if ((size_t)n > ETHER_LEN)
            answer_arp(b, frame + ETHER_LEN, (size_t)n - ETHER_LEN);
}

/* ---- programs ---- */

#define PROGRAM_MAX 256
#define STACK_AT    (-64) /* of a copy of the frame; a multiple of 8 */

struct program {
    struct bpf_insn insn[PROGRAM_MAX];
    unsigned n;
};

static unsigned emit(struct program *p, int code, unsigned dst, unsigned src, int off, int32_t imm)
{
    if (p->n == PROGRAM_MAX)
        abort();
    p->insn[p->n] = (struct bpf_insn){.code = (uint8_t)code,
                                      .dst_reg = dst & 15,
                                      .src_reg = src & 15,
                                      .off = (int16_t)off,
                                      .imm = imm};
    return p->n++;
}

/* Named as in the kernel's documentation of the instruction set. */
#define MOV(dst, src)              emit(p, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOV_IMM(dst, imm)          emit(p, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm)
#define ALU(op, dst, src)          emit(p, BPF_ALU64 | (op) | BPF_X, dst, src, 0, 0)
#define ALU_IMM(op, dst, imm)      emit(p, BPF_ALU64 | (op) | BPF_K, dst, 0, 0, imm)
#define LOAD(size, dst, src, off)  emit(p, BPF_LDX | BPF_MEM | (size), dst, src, off, 0)
#define STORE(size, dst, off, src) emit(p, BPF_STX | BPF_MEM | (size), dst, src, off, 0)
#define CALL(helper)               emit(p, BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define EXIT()                     emit(p, BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Jumps forward to where land() is given what this returns. */
#define JUMP(op, dst, src)     emit(p, BPF_JMP | (op) | BPF_X, dst, src, 0, 0)
#define JUMP_IMM(op, dst, imm) emit(p, BPF_JMP | (op) | BPF_K, dst, 0, 0, imm)
#define AT(field)              ((int)offsetof(struct shared, field))

static void land(struct program *p, unsigned jump)
{
    p->insn[jump].off = (int16_t)(p->n - jump - 1);
}

static void load_shared(struct program *p, unsigned dst, int map)
{
    emit(p, BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_VALUE, 0, map);
    emit(p, 0, 0, 0, 0, 0);
}

static void count(struct program *p, unsigned shared, int off)
{
    MOV_IMM(1, 1);
    emit(p, BPF_STX | BPF_ATOMIC | BPF_DW, shared, 1, off, BPF_ADD);
}

static int load_program(const struct program *p, enum bpf_prog_type type)
{
    static char log[65536];
    union bpf_attr attr = {.prog_type = type,
                           .insns = (uintptr_t)p->insn,
                           .insn_cnt = p->n,
                           .license = (uintptr_t) "BSD",
                           .log_buf = (uintptr_t)log,
                           .log_size = sizeof(log),
                           .log_level = 1};
    int fd = bpf(BPF_PROG_LOAD, &attr);
    if (fd < 0) {
        fputs(log, stderr);
        die("loading a BPF program");
    }
    return fd;
}

/* As XDP: sends the frame, from the next source, or keeps it back. */
static int load_request(const struct pinger *b)
{
    struct program program = {0}, *p = &program;
    MOV(6, 1);
    load_shared(p, 7, b->map);
    LOAD(BPF_DW, 2, 7, AT(sent));
    MOV(5, 2);
    LOAD(BPF_DW, 3, 7, AT(replies));
    ALU(BPF_SUB, 5, 3);
    LOAD(BPF_DW, 3, 7, AT(lost));
    ALU(BPF_SUB, 5, 3);
    LOAD(BPF_DW, 3, 7, AT(window));
    unsigned full = JUMP(BPF_JSGE, 5, 3); /* below zero where a reply came that was given up */
    LOAD(BPF_W, 8, 6, offsetof(struct xdp_md, data));
    LOAD(BPF_W, 9, 6, offsetof(struct xdp_md, data_end));
    MOV(1, 8);
    ALU_IMM(BPF_ADD, 1, FRAME_LEN);
    unsigned cut = JUMP(BPF_JGT, 1, 9);
    ALU_IMM(BPF_ADD, 2, 1);
    STORE(BPF_DW, 7, AT(sent), 2);
    /* The last byte of the source address, and of the checksum, which falls by as much. */
    ALU_IMM(BPF_AND, 2, SOURCES - 1);
    MOV_IMM(3, b->frame[IP_AT + 15]);
    ALU(BPF_ADD, 3, 2);
    STORE(BPF_B, 8, IP_AT + 15, 3);
    MOV_IMM(3, b->frame[IP_AT + 11]);
    ALU(BPF_SUB, 3, 2);
    STORE(BPF_B, 8, IP_AT + 11, 3);
    MOV_IMM(1, (int32_t)b->ifindex);
    MOV_IMM(2, 0);
    CALL(BPF_FUNC_redirect);
    EXIT();
    land(p, full);
    land(p, cut);
    MOV_IMM(0, XDP_DROP);
    EXIT();
    return load_program(p, BPF_PROG_TYPE_XDP);
}

/* May the answering host choose this word of the frame? */
static bool is_free(unsigned at)
{
    return at == IP_AT + 4      /* identification */
           || at == IP_AT + 6   /* flags */
           || at == IP_AT + 8   /* TTL; the protocol is compared apart */
           || at == IP_AT + 10  /* checksum; the sum is compared */
           || at == IP_AT + 18; /* the source, which is one of several */
}

/* As a packet socket's filter: counts replies, and only ARP passes. */
static int load_reply(const struct pinger *b)
{
    struct program program = {0}, *p = &program;
    unsigned wrong[FRAME_LEN], n = 0;
    uint8_t right[FRAME_LEN];
    build_frame(right, &MAC_OURS, &b->target_mac, b->from, b->target, ICMP_ECHO_REPLY);

    MOV(6, 1);
    load_shared(p, 7, b->map);
    LOAD(BPF_W, 1, 6, offsetof(struct __sk_buff, protocol));
    unsigned arp = JUMP_IMM(BPF_JEQ, 1, htons(ETH_P_ARP));
    MOV(1, 6);
    MOV_IMM(2, 0);
    MOV(3, 10);
    ALU_IMM(BPF_ADD, 3, STACK_AT);
    MOV_IMM(4, FRAME_LEN);
    CALL(BPF_FUNC_skb_load_bytes);
    wrong[n++] = JUMP_IMM(BPF_JNE, 0, 0);
    for (unsigned at = 0; at < FRAME_LEN; at += 2) {
        uint16_t word;
        memcpy(&word, right + at, sizeof(word));
        if (is_free(at))
            continue;
        LOAD(BPF_H, 1, 10, STACK_AT + (int)at);
        wrong[n++] = JUMP_IMM(BPF_JNE, 1, word);
    }
    LOAD(BPF_B, 1, 10, STACK_AT + (int)IP_AT + 9);
    wrong[n++] = JUMP_IMM(BPF_JNE, 1, IP_PROTO_ICMP);
    LOAD(BPF_B, 1, 10, STACK_AT + (int)IP_AT + 18);
    wrong[n++] = JUMP_IMM(BPF_JNE, 1, right[IP_AT + 18]);
    LOAD(BPF_B, 1, 10, STACK_AT + (int)IP_AT + 19);
    ALU_IMM(BPF_SUB, 1, right[IP_AT + 19]);
    wrong[n++] = JUMP_IMM(BPF_JGT, 1, SOURCES - 1);
    MOV_IMM(2, 0);
    for (unsigned at = IP_AT; at < ICMP_AT; at += 2) {
        LOAD(BPF_H, 1, 10, STACK_AT + (int)at);
        ALU(BPF_ADD, 2, 1);
    }
    MOV(1, 2); /* the sum of ten words folds in one step: its carry does not make another */
    ALU_IMM(BPF_RSH, 1, 16);
    ALU_IMM(BPF_AND, 2, 0xffff);
    ALU(BPF_ADD, 2, 1);
    wrong[n++] = JUMP_IMM(BPF_JNE, 2, 0xffff);
    count(p, 7, AT(replies));
    MOV_IMM(0, 0);
    EXIT();
    while (n > 0)
        land(p, wrong[--n]);
    count(p, 7, AT(wrong));
    MOV_IMM(0, 0);
    EXIT();
    land(p, arp);
    MOV_IMM(0, 2048);
    EXIT();
    return load_program(p, BPF_PROG_TYPE_SOCKET_FILTER);
}

/* ---- running ---- */

static void open_shared(struct pinger *b)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
                           .key_size = 4,
                           .value_size = sizeof(struct shared),
                           .max_entries = 1,
                           .map_flags = BPF_F_MMAPABLE};
    b->map = bpf(BPF_MAP_CREATE, &attr);
    if (b->map < 0)
        die("making a BPF map");
    b->shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, b->map, 0);
    if (b->shared == MAP_FAILED)
        die("mapping it");
}

/* The filter is there before the first frame can be. */
static int open_socket(const struct pinger *b, int filter)
{
    struct sockaddr_ll at = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)b->ifindex};
    int fd = socket(AF_PACKET, SOCK_RAW, 0), yes = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_BPF, &filter, sizeof(filter)) != 0 ||
        setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) != 0 ||
        bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        die("opening a packet socket");
    return fd;
}

/* A thread's life. Starting a run takes the kernel tens of milliseconds, so each is as long as can
 * be; the end of the process ends it. */
static void *send_requests(void *pinger)
{
    const struct pinger *b = pinger;
    union bpf_attr attr = {.test = {.prog_fd = (uint32_t)b->request,
                                    .data_in = (uintptr_t)b->frame,
                                    .data_size_in = FRAME_LEN,
                                    .repeat = UINT32_MAX,
                                    .flags = BPF_F_TEST_XDP_LIVE_FRAMES}};
    for (;;)
        if (bpf(BPF_PROG_TEST_RUN, &attr) < 0 && errno != EINTR)
            die("sending (live frames need Linux 5.18)");
}

static uint64_t outstanding(const struct shared *s)
{
    uint64_t done = s->replies + s->lost;
    return s->sent > done ? s->sent - done : 0;
}

/* What has not been answered for long will not be. */
static void give_up(struct pinger *b, tick_t now)
{
    struct shared *s = b->shared;
    uint64_t replies = s->replies;
    if (replies != b->replies) {
        b->replies = replies;
        b->heard = now;
    } else if (tick_since(now, b->heard) > PATIENCE) {
        s->lost += outstanding(s);
        b->heard = now;
    }
}

/* Keeps house for that long, and returns how long it was. */
static tick_t run_for(struct pinger *b, tick_t duration)
{
    tick_t start = clock_now(CLOCK_MONOTONIC);
    tick_t now = start;
    for (; tick_since(now, start) < duration; now = clock_now(CLOCK_MONOTONIC)) {
        answer_all_arp(b);
        give_up(b, now);
        nanosleep(&(struct timespec){.tv_nsec = STEP}, NULL);
    }
    return tick_since(now, start);
}

static void report(const struct shared *from, const struct shared *to, tick_t wall, tick_t cpu)
{
    double seconds = (double)wall / (double)TICK_SEC;
    uint64_t replies = to->replies - from->replies;
    printf("{\"seconds\":%.6f,\"pps\":%.0f,\"sent\":%" PRIu64 ",\"replies\":%" PRIu64
           ",\"wrong\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"cpu\":%.3f}\n",
           seconds, (double)replies / seconds, to->sent - from->sent, replies,
           to->wrong - from->wrong, to->lost - from->lost, (double)cpu / (double)wall);
}

static unsigned number(const char *text, unsigned most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*end || n == 0 || n > most) {
        fprintf(stderr, "pinger: %s is not a number from 1 to %u\n", text, most);
        exit(2);
    }
    return (unsigned)n;
}

static uint32_t address(const char *text)
{
    struct ip_addr a;
    if (!ip_parse(text, &a) || !ip_is_v4(&a)) {
        fprintf(stderr, "pinger: %s is not an IPv4 address\n", text);
        exit(2);
    }
    return ip_v4(&a);
}

static void open_pinger(struct pinger *b, char **argv)
{
    b->ifindex = if_nametoindex(argv[1]);
    if (b->ifindex == 0)
        die(argv[1]);
    if (!mac_parse(argv[2], &b->target_mac)) {
        fprintf(stderr, "pinger: %s is not a MAC address\n", argv[2]);
        exit(2);
    }
    b->target = address(argv[3]);
    b->from = address(argv[4]);
    build_frame(b->frame, &b->target_mac, &MAC_OURS, b->target, b->from, ICMP_ECHO);
    if ((b->from & 255) + SOURCES > 256 || b->frame[IP_AT + 11] < SOURCES) {
        fprintf(stderr, "pinger: %s: the last byte of address or checksum would wrap\n", argv[4]);
        exit(2);
    }
    open_shared(b);
    b->shared->window = number(argv[5], WINDOW_MAX);
    b->duration = number(argv[6], SECONDS_MAX) * TICK_SEC;
    b->arp = open_socket(b, load_reply(b));
    b->request = load_request(b);
}

int main(int argc, char **argv)
{
    struct pinger b = {0};
    pthread_t sender;
    if (argc != 7) {
        fprintf(stderr, "usage: pinger INTERFACE MAC ADDRESS FROM WINDOW SECONDS\n");
        return 2;
    }
    open_pinger(&b, argv);
    if ((errno = pthread_create(&sender, NULL, send_requests, &b)) != 0)
        die("starting a thread");
    run_for(&b, WARM);
    struct shared warm = *b.shared;
    tick_t cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    tick_t wall = run_for(&b, b.duration);
    report(&warm, b.shared, wall, clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    return b.shared->replies == warm.replies;
}
