/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_PCAPNG_H
#define MILLRACE_TESTS_PCAPNG_H

/* Writes captures of Ethernet frames in pcapng (draft-ietf-opsawg-pcapng) with times in
 * nanoseconds. One section, one interface. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pcapng {
    FILE *file;
};

/* 0, or -1 with errno. */
int pcapng_open(struct pcapng *w, const char *path);
/* time_ns: since 1970, if the time means anything. comment: NULL: none. */
void pcapng_frame(struct pcapng *w, uint64_t time_ns, const void *frame, size_t len,
                  const char *comment);
/* 0, or -1 where something could not be written. */
int pcapng_close(struct pcapng *w);

#endif
