/* SPDX-License-Identifier: BSD-3-Clause */
/* Each malformed frame adds to exactly one drop reason, and to nothing else. */
#include "support/corpus.h"

#include "host.h"

struct progress {
    uint32_t split; /* frames come in two views, the first of so many bytes; 0: in one */
    unsigned cases;
    bool met[DROP_END];
};

/* The peer is there whenever it is asked for. */
static void answer(void)
{
    hear_arp(ARP_REPLY, &US_MAC, &PEER_MAC, &PEER4, &US4);
    hear_advert(&PEER6, &US6, &PEER6, &PEER_MAC, true, true);
}

static void feed(void *ctx, const struct corpus_case *c)
{
    struct progress *p = ctx;
    for (unsigned i = 0; i < c->n_frames; i++) {
        frame_bytes(&host.frame, c->frame[i], c->len[i]);
        if (p->split)
            hear_split(p->split);
        else
            hear();
    }
    for (enum drop d = DROP_NONE + 1; d < DROP_END; d++) {
        uint64_t grown = counter_drops(&host.counters, d) - counter_drops(&host.mark, d);
        ck_assert_msg(grown == (d == c->why ? c->n : 0), "%s: %s grew by %u, and not %s by %u",
                      c->name, drop_name(d), (unsigned)grown, drop_name(c->why), c->n);
    }
    while (stack_pending(host.stack, 0) > 0)
        said(); /* sound, if anything */
    answer();
    mark();
    p->cases++;
    p->met[c->why] = true;
    pass(20 * TICK_MS); /* so that errors are not limited */
}

static struct progress run(uint32_t split)
{
    struct corpus_ends e = {US_MAC, PEER_MAC, US4, PEER4, US6, PEER6};
    struct progress p = {.split = split};
    host_boot();
    meet4();
    meet6();
    corpus_run(&e, feed, &p);
    return p;
}

START_TEST(each_case_has_one_reason)
{
    struct progress p = run(0);
    ck_assert_uint_gt(p.cases, 1500);
    /* Every error that a parser can give is met. */
    for (enum drop d = DROP_NONE + 1; d < (enum drop)WIRE_ERROR_END; d++)
        ck_assert_msg(p.met[d], "%s is never met", drop_name(d));
}
END_TEST

START_TEST(whichever_way_the_frame_is_cut_into_views)
{
    static const uint32_t splits[] = {1, 15, 33, 41, 47, 55, 63};
    for (unsigned i = 0; i < sizeof(splits) / sizeof(splits[0]); i++) {
        run(splits[i]);
        host_destroy();
        host_setup();
    }
}
END_TEST

UNIT_MAIN("corpus", host_setup, host_teardown, each_case_has_one_reason,
          whichever_way_the_frame_is_cut_into_views)
