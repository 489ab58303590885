/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_PCAPNG_H
#define MILLRACE_APP_PCAPNG_H

/*
 * Capture files (draft-ietf-opsawg-pcapng): a section header, one interface for each device under
 * its configured name, packets in nanoseconds with their direction, interface statistics at the
 * end.
 *
 * Why not DPDK's librte_pcapng: in 22.11 it writes one interface for each DPDK port, under the
 * port's name, and an AF_XDP device of ours is one such port for each queue.
 */

#include <stdbool.h>
#include <stdint.h>

struct pcapng {
    int fd;
    uint64_t bytes; /* of the file, what waits in buffer included */
    uint64_t packets;
    uint64_t whole; /* bytes as of the last block's end */
    uint64_t safe;  /* the same, as of the last flush */
    uint64_t safe_packets;
    uint32_t used;
    bool failed; /* a write failed; errno said why in error */
    int error;
    uint8_t buffer[65536];
};

/* fd is the caller's, empty and stays open. Writes the section header. */
void pcapng_start(struct pcapng *f, int fd, const char *application);
/* Interfaces are numbered from 0 in the order of these calls, which precede all packets. */
void pcapng_interface(struct pcapng *f, const char *name, uint32_t snaplen);
/* Bytes that a packet of this captured length takes in the file. */
uint32_t pcapng_packet_bytes(uint32_t captured);
/* time: nanoseconds since 1970; direction: 1 in, 2 out. */
void pcapng_packet(struct pcapng *f, uint16_t iface, uint64_t time, uint32_t direction,
                   const void *bytes, uint32_t captured, uint32_t length);
/* lost: packets of this capture that the file lacks. */
void pcapng_statistics(struct pcapng *f, uint16_t iface, uint64_t time, uint64_t lost);
/* False: a write has failed, now or before; f->error. The file was then cut after the last block
 * that an earlier flush had written whole, and bytes and packets are of what is left. */
bool pcapng_flush(struct pcapng *f);

#endif
