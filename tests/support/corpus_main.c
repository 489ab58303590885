/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * corpus US-MAC US-IPV4 US-IPV6 PEER-MAC PEER-IPV4 PEER-IPV6
 *
 * Prints the corpus (support/corpus.h), a case a line: its name, the drop reason as the counters
 * name it, by how much that grows, and each frame in hexadecimal.
 */
#include <stdio.h>

#include "support/corpus.h"

static void print(void *ctx, const struct corpus_case *c)
{
    (void)ctx;
    printf("%s %s %u", c->name, drop_name(c->why), c->n);
    for (unsigned i = 0; i < c->n_frames; i++) {
        putchar(' ');
        for (uint32_t k = 0; k < c->len[i]; k++)
            printf("%02x", c->frame[i][k]);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct corpus_ends e;
    if (argc != 7 || !mac_parse(argv[1], &e.us_mac) || !ip_parse(argv[2], &e.us4) ||
        !ip_parse(argv[3], &e.us6) || !mac_parse(argv[4], &e.peer_mac) ||
        !ip_parse(argv[5], &e.peer4) || !ip_parse(argv[6], &e.peer6)) {
        fprintf(stderr, "usage: %s US-MAC US-IPV4 US-IPV6 PEER-MAC PEER-IPV4 PEER-IPV6\n", argv[0]);
        return 2;
    }
    corpus_run(&e, print, NULL);
    return fflush(stdout) == 0 ? 0 : 1;
}
