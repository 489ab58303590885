/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_CAPTURE_H
#define MILLRACE_SIM_CAPTURE_H

/* Shows what passes: to a function, to a pcapng file, to both. It changes nothing. */

#include <stdio.h>

#include "sim/node.h"
#include "support/pcapng.h"

struct capture {
    struct node node;
    /* A frame has come in at that side. NULL: nobody watches. */
    void (*seen)(void *ctx, unsigned side, const struct pkt *p, tick_t now);
    void *ctx;
    struct pcapng file;  /* .file NULL: none */
    uint64_t frames[2];  /* from that side */
    uint32_t longest[2]; /* bytes of a frame; may be set back to 0 */
};

/* path: NULL: no file. */
struct capture *capture_create(struct sim *s, const char *path);

#endif
