/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/capture.h"

#include "sim/run.h"

static void input(struct node *n, unsigned side, struct pkt *p)
{
    struct capture *c = (struct capture *)n;
    c->frames[side]++;
    if (p->total > c->longest[side])
        c->longest[side] = p->total;
    if (c->file.file)
        pcapng_frame(&c->file, n->sim->now, p->data, p->len, NULL);
    if (c->seen)
        c->seen(c->ctx, side, p, n->sim->now);
    node_output(n, node_across(side), p);
}

static void destroy(struct node *n)
{
    struct capture *c = (struct capture *)n;
    if (c->file.file)
        must(pcapng_close(&c->file) == 0);
}

static const struct node_ops ops = {.input = input, .destroy = destroy};

struct capture *capture_create(struct sim *s, const char *path)
{
    struct capture *c = node_create(s, &ops, sizeof(*c), 2);
    if (path)
        must_msg(pcapng_open(&c->file, path) == 0, "cannot write %s", path);
    return c;
}
