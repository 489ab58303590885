/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/tree.h"

#include "base/rng.h"
#include "support/sched_tree_model.h"
#include "support/unit.h"

#define FRAME 16384u
#define MANY  256

static struct sched_settings settings;
static struct sched s;
static struct sched_tree_node root, node[MANY];
static uint64_t sent[MANY];

static struct sched_tree_node *const a = &node['a'], *const b = &node['b'], *const c = &node['c'],
                                     *const d = &node['d'], *const e = &node['e'],
                                     *const f = &node['f'], *const x = &node['x'];

static void setup(void)
{
    settings = (struct sched_settings){0};
    sched_settings_fill(&settings);
    sched_init(&s, SCHED_TREE, &settings, 1);
    sched_tree_node_init(&root);
    s.tree = &root;
    memset(sent, 0, sizeof(sent));
}

static void depends(struct sched_tree_node *n, struct sched_tree_node *parent, uint16_t weight)
{
    sched_tree_node_init(n);
    ck_assert(sched_tree_depend(n, parent, weight, false));
}

static void ready(struct sched_tree_node *n)
{
    sched_ready(&s, &n->node);
}

static void stop(struct sched_tree_node *n)
{
    sched_remove(&s, &n->node);
}

static size_t serve_one(uint32_t bytes)
{
    struct sched_node *n = sched_pick(&s);
    ck_assert_ptr_nonnull(n);
    ck_assert_ptr_eq(n, sched_pick(&s)); /* a pick changes nothing */
    size_t i = (size_t)(container_of(n, struct sched_tree_node, node) - node);
    sched_charge(&s, n, bytes, false);
    sent[i] += bytes;
    return i;
}

/* Whose frames go, by name. */
static const char *serve(unsigned turns)
{
    static char names[MANY];
    for (unsigned i = 0; i < turns; i++)
        names[i] = (char)serve_one(FRAME);
    names[turns] = 0;
    return names;
}

/* "a(b c(d))": who depends on whom. */
static char *write_tree(char *at, const struct sched_tree_node *n)
{
    list_for_each (it, &n->children) {
        const struct sched_tree_node *child = container_of(it, struct sched_tree_node, sibling);
        ck_assert_ptr_eq(child->parent, n);
        *at++ = (char)(child - node);
        if (!list_empty(&child->children)) {
            *at++ = '(';
            at = write_tree(at, child);
            *at++ = ')';
        }
        if (it->next != &n->children)
            *at++ = ' ';
    }
    return at;
}

static const char *shape(void)
{
    static char text[4 * MANY];
    *write_tree(text, &root) = 0;
    ck_assert(sched_tree_ok(&root));
    return text;
}

START_TEST(equal_siblings_go_in_turn)
{
    depends(a, &root, 16);
    depends(b, &root, 16);
    depends(c, &root, 16);
    ck_assert_ptr_null(sched_pick(&s));
    ready(c);
    ready(a);
    ready(b);
    ready(a); /* twice is once */
    ck_assert_uint_eq(s.n, 3);
    ck_assert_str_eq(serve(6), "cabcab");
    stop(a);
    stop(a);
    ck_assert_str_eq(serve(4), "cbcb");
}
END_TEST

START_TEST(siblings_share_by_weight)
{
    depends(a, &root, 1);
    depends(b, &root, 2);
    depends(c, &root, 4);
    ready(a);
    ready(b);
    ready(c);
    for (int round = 0; round < 100; round++)
        serve(7);
    ck_assert_uint_eq(sent['a'], 100 * FRAME);
    ck_assert_uint_eq(sent['b'], 200 * FRAME);
    ck_assert_uint_eq(sent['c'], 400 * FRAME);
}
END_TEST

/* RFC 7540 5.3.1 */
START_TEST(a_subtree_is_served_while_what_it_depends_on_is_not_ready)
{
    depends(a, &root, 16);
    depends(b, a, 16);
    depends(c, a, 16);
    depends(d, b, 16);
    ready(d);
    ready(c);
    ck_assert_str_eq(serve(4), "dcdc");
    ready(a);
    ck_assert_str_eq(serve(4), "aaaa");
    stop(a);
    ready(b);
    ck_assert_str_eq(serve(4), "bcbc");
    stop(b);
    ck_assert_str_eq(serve(2), "dc");
    stop(c);
    stop(d);
    ck_assert(sched_empty(&s));
    ck_assert_ptr_null(sched_pick(&s));
}
END_TEST

START_TEST(a_subtree_has_the_share_of_its_top)
{
    depends(a, &root, 30); /* stands for a group: never ready */
    depends(b, &root, 10);
    depends(c, a, 1);
    depends(d, a, 2);
    ready(b);
    ready(c);
    ready(d);
    for (int round = 0; round < 100; round++)
        serve(4);
    ck_assert_uint_eq(sent['b'], 100 * FRAME);
    ck_assert_uint_eq(sent['c'], 100 * FRAME);
    ck_assert_uint_eq(sent['d'], 200 * FRAME);
}
END_TEST

START_TEST(a_turn_without_bytes_is_a_turn)
{
    depends(a, &root, 256);
    depends(b, &root, 256);
    ready(a);
    ready(b);
    ck_assert_uint_eq(serve_one(0), 'a');
    ck_assert_uint_eq(serve_one(0), 'b');
    ck_assert_uint_eq(serve_one(0), 'a');
}
END_TEST

START_TEST(who_was_away_saves_nothing_and_owes_what_it_owed)
{
    depends(a, &root, 1);
    depends(b, &root, 1);
    ready(a);
    ready(b);
    for (int i = 0; i < 100; i++)
        serve(2);
    stop(a);
    serve(50);
    ready(a); /* nothing of the 50 */
    ck_assert_str_eq(serve(5), "ababa");
    stop(b);
    ready(b); /* and nothing by going and coming back */
    ck_assert_str_eq(serve(4), "abab");
}
END_TEST

/* The fault: a total of weights kept beside the streams was not told. */
START_TEST(reweighting_in_place_changes_shares_from_then_on)
{
    depends(a, &root, 16);
    depends(b, &root, 16);
    ready(a);
    ready(b);
    ck_assert_str_eq(serve(4), "abab");
    struct sched_priority p = sched_priority_default;
    p.weight = 48;
    sched_prioritise(&s, &b->node, &p);
    ck_assert_uint_eq(b->node.p.weight, 48);
    memset(sent, 0, sizeof(sent));
    serve(40);
    ck_assert_uint_eq(sent['a'], 10 * FRAME);
    ck_assert_uint_eq(sent['b'], 30 * FRAME);
    for (uint16_t w = 1; w <= 256; w++) { /* to and fro: nothing is gained or lost by it */
        sched_tree_reweight(b, w);
        sched_tree_reweight(b, 16);
        ck_assert(sched_ok(&s));
    }
    memset(sent, 0, sizeof(sent));
    serve(200);
    ck_assert_uint_ge(sent['a'], 99 * FRAME);
    ck_assert_uint_le(sent['a'], 101 * FRAME);
}
END_TEST

START_TEST(what_is_owed_is_owed_in_bytes_whatever_the_weight)
{
    depends(a, &root, 1);
    depends(b, &root, 256);
    ready(a);
    ready(b);
    ck_assert_str_eq(serve(1), "a"); /* and owes b 256 frames */
    sched_tree_reweight(a, 256);     /* one, now */
    ck_assert_str_eq(serve(4), "baba");
}
END_TEST

START_TEST(a_moved_child_is_served_by_one_parent)
{
    depends(a, &root, 16);
    depends(b, &root, 16);
    depends(c, a, 16);
    ready(c);
    serve(3); /* there is a built order with c below a */
    ck_assert(sched_tree_depend(c, b, 16, false));
    ck_assert_str_eq(shape(), "a b(c)");
    ck_assert_ptr_null(a->active);
    ck_assert_uint_eq(s.n, 1);
    ck_assert_str_eq(serve(3), "ccc");
    stop(c);
    ck_assert_ptr_null(sched_pick(&s));
    ck_assert_ptr_null(root.active);
}
END_TEST

START_TEST(moving_with_a_built_order_moves_all_that_is_below)
{
    depends(a, &root, 16);
    depends(b, &root, 16);
    depends(c, a, 16);
    depends(d, c, 1);
    depends(e, c, 3);
    depends(f, a, 16);
    for (size_t i = 'b'; i <= 'f'; i++)
        ready(&node[i]);
    stop(c);
    serve(50);
    ck_assert(sched_tree_depend(c, b, 16, false));
    ck_assert_str_eq(shape(), "a(f) b(c(d e))");
    memset(sent, 0, sizeof(sent));
    serve(20);
    ck_assert_uint_eq(sent['b'] + sent['f'], 20 * FRAME); /* b is before what is below it */
    stop(b);
    memset(sent, 0, sizeof(sent));
    serve(80);
    ck_assert_uint_eq(sent['f'], 40 * FRAME);
    ck_assert_uint_eq(sent['d'], 10 * FRAME);
    ck_assert_uint_eq(sent['e'], 30 * FRAME);
}
END_TEST

/* RFC 7540 5.3.3, figure 5 */
static void figure_5(void)
{
    depends(x, &root, 16);
    depends(a, x, 8);
    depends(b, a, 16);
    depends(c, a, 16);
    depends(d, c, 24);
    depends(e, c, 16);
    depends(f, d, 16);
    ck_assert_str_eq(shape(), "x(a(b c(d(f) e)))");
}

START_TEST(depending_on_ones_own_descendant)
{
    figure_5();
    ready(f);
    ready(b);
    ready(e);
    serve(9);
    ck_assert(sched_tree_depend(a, d, 8, false));
    ck_assert_str_eq(shape(), "x(d(f a(b c(e))))");
    ck_assert_uint_eq(d->node.p.weight, 24); /* it retains its weight */
    memset(sent, 0, sizeof(sent));
    serve(60); /* f 16, a 8; b and e are below a */
    ck_assert_uint_eq(sent['f'], 40 * FRAME);
    ck_assert_uint_eq(sent['b'], 10 * FRAME);
    ck_assert_uint_eq(sent['e'], 10 * FRAME);
}
END_TEST

START_TEST(depending_exclusively_on_ones_own_descendant)
{
    figure_5();
    ready(f);
    ready(b);
    ck_assert(sched_tree_depend(a, d, 8, true));
    ck_assert_str_eq(shape(), "x(d(a(b c(e) f)))");
    ck_assert_uint_eq(d->node.p.weight, 24);
    ck_assert_str_eq(serve(4), "bfbf");
}
END_TEST

/* RFC 7540 5.3.1, figure 4, where the one that comes has children already */
START_TEST(an_exclusive_move_of_a_node_with_children_loses_none)
{
    depends(a, &root, 16);
    depends(b, a, 16);
    depends(c, a, 16);
    depends(d, &root, 16);
    depends(e, d, 16);
    ready(b);
    ready(c);
    ready(e);
    serve(8);
    ck_assert(sched_tree_depend(d, a, 16, true));
    ck_assert_str_eq(shape(), "a(d(e b c))");
    memset(sent, 0, sizeof(sent));
    serve(9);
    ck_assert_uint_eq(sent['b'], 3 * FRAME);
    ck_assert_uint_eq(sent['c'], 3 * FRAME);
    ck_assert_uint_eq(sent['e'], 3 * FRAME);
    ck_assert(sched_tree_depend(d, &root, 16, true)); /* and above its own parent */
    ck_assert_str_eq(shape(), "d(e b c a)");
    ck_assert(sched_tree_depend(b, d, 16, true)); /* where it is already */
    ck_assert_str_eq(shape(), "d(b(e c a))");
    ready(d);
    ck_assert_str_eq(serve(2), "dd");
}
END_TEST

START_TEST(two_hundred_light_streams_beside_a_heavy_one)
{
    struct sched_tree_node *heavy = &node[200];
    depends(heavy, &root, 256);
    ready(heavy);
    for (int i = 0; i < 200; i++) {
        depends(&node[i], &root, 1);
        ready(&node[i]);
    }
    for (int round = 0; round < 10; round++) {
        memset(sent, 0, sizeof(sent));
        for (int turn = 0; turn < 456; turn++)
            serve_one(FRAME);
        ck_assert_uint_eq(sent[200], 256 * FRAME);
        for (int i = 0; i < 200; i++)
            ck_assert_uint_eq(sent[i], FRAME);
    }
}
END_TEST

/* Weights that divide nothing, frames of a byte: what divisions leave would add up. */
START_TEST(shares_stay_exact)
{
    static const uint16_t weights[] = {255, 253, 251, 7, 3};
    uint64_t all = 0;
    for (size_t i = 0; i < 5; i++) {
        depends(&node[i], &root, weights[i]);
        ready(&node[i]);
        all += weights[i];
    }
    for (uint64_t turn = 0; turn < 1000 * all; turn++)
        serve_one(1);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(sent[i], UINT64_C(1000) * weights[i]);
}
END_TEST

/* RFC 7540 5.3.4 */
START_TEST(closing_shares_the_weight_among_those_that_depended)
{
    depends(a, &root, 64);
    depends(b, &root, 64);
    depends(c, a, 1);
    depends(d, a, 3);
    depends(e, d, 5);
    ready(b);
    ready(c);
    ready(d);
    serve(16);
    sched_tree_close(a);
    ck_assert_str_eq(shape(), "b c d(e)");
    ck_assert_uint_eq(c->node.p.weight, 16);
    ck_assert_uint_eq(d->node.p.weight, 48);
    ck_assert_uint_eq(e->node.p.weight, 5);
    memset(sent, 0, sizeof(sent));
    serve(80);
    ck_assert_uint_eq(sent['b'], 40 * FRAME);
    ck_assert_uint_eq(sent['c'], 10 * FRAME);
    ck_assert_uint_eq(sent['d'], 30 * FRAME);
}
END_TEST

START_TEST(a_share_is_never_rounded_to_nothing)
{
    depends(a, &root, 1);
    for (int i = 0; i < 3; i++)
        depends(&node[i], a, i == 0 ? 256 : 1);
    sched_tree_close(a);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(node[i].node.p.weight, 1);
    ck_assert(sched_tree_ok(&root));
}
END_TEST

/* What a subtree was served beyond its share does not go with its top. */
START_TEST(closing_forgives_nothing)
{
    depends(a, &root, 1);
    depends(b, &root, 1);
    depends(c, a, 1);
    ready(c);
    ready(b);
    ck_assert_uint_eq(serve_one(10 * FRAME), 'c');
    sched_tree_close(a);
    ck_assert_str_eq(serve(12), "bbbbbbbbbbcb");
}
END_TEST

START_TEST(another_node_takes_the_place_of_one)
{
    depends(a, &root, 48);
    depends(b, &root, 16);
    depends(c, a, 16);
    depends(d, a, 16);
    ready(b);
    ready(c);
    ready(d);
    serve(20);
    sched_tree_node_init(x);
    sched_tree_replace(a, x);
    ck_assert_str_eq(shape(), "x(c d) b");
    ck_assert_uint_eq(x->node.p.weight, 48);
    ck_assert_ptr_null(a->parent);
    ck_assert_ptr_null(a->active);
    memset(sent, 0, sizeof(sent));
    serve(80);
    ck_assert_uint_eq(sent['b'], 20 * FRAME);
    ck_assert_uint_eq(sent['c'], 30 * FRAME);
    ck_assert_uint_eq(sent['d'], 30 * FRAME);
}
END_TEST

START_TEST(ten_thousand_opens_and_closes_leave_nothing)
{
    depends(a, &root, 16);
    for (int i = 0; i < 10000; i++) {
        struct sched_tree_node *n = &node[i % 2];
        depends(n, i % 3 ? a : &root, (uint16_t)(1 + i % 256));
        ready(n);
        if (i % 2)
            serve(1);
        stop(n);
        sched_tree_close(n);
    }
    ck_assert_str_eq(shape(), "a");
    ck_assert_ptr_null(root.active);
    ck_assert_ptr_null(a->active);
    ck_assert_uint_eq(s.n, 0);
}
END_TEST

START_TEST(what_would_be_too_deep_stands_higher)
{
    struct sched_tree_node *parent = &root;
    for (unsigned i = 0; i < SCHED_TREE_DEPTH; parent = &node[i++])
        depends(&node[i], parent, 16);
    sched_tree_node_init(x);
    ck_assert(!sched_tree_depend(x, parent, 16, false));
    ck_assert_ptr_eq(x->parent, parent->parent);
    sched_tree_node_init(d);
    ck_assert(!sched_tree_depend(d, &node[5], 16, true)); /* all below it would sink */
    ck_assert_ptr_eq(d->parent, &node[5]);
    ck_assert_ptr_eq(node[6].parent, &node[5]);
    depends(a, &root, 16);
    depends(b, a, 16);
    ck_assert(!sched_tree_depend(a, parent, 16, false)); /* with what is below it */
    ck_assert_ptr_eq(a->parent, &node[SCHED_TREE_DEPTH - 3]);
    sched_tree_close(&node[0]); /* a level less */
    ck_assert(sched_tree_depend(parent, &root, 16, true));
    ck_assert_ptr_eq(node[1].parent, parent);
    ready(x);
    ck_assert_str_eq(serve(2), "xx");
    ck_assert(sched_ok(&s));
}
END_TEST

START_TEST(random_histories_agree_with_a_table)
{
    static uint8_t bytes[20000];
    uint64_t served = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct rng rng;
        rng_seed(&rng, seed);
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rng_u32(&rng);
        served += tree_model_run(bytes, sizeof(bytes));
    }
    ck_assert_uint_gt(served, 100000);
}
END_TEST

UNIT_MAIN("tree", setup, NULL, equal_siblings_go_in_turn, siblings_share_by_weight,
          a_subtree_is_served_while_what_it_depends_on_is_not_ready,
          a_subtree_has_the_share_of_its_top, a_turn_without_bytes_is_a_turn,
          who_was_away_saves_nothing_and_owes_what_it_owed,
          reweighting_in_place_changes_shares_from_then_on,
          what_is_owed_is_owed_in_bytes_whatever_the_weight, a_moved_child_is_served_by_one_parent,
          moving_with_a_built_order_moves_all_that_is_below, depending_on_ones_own_descendant,
          depending_exclusively_on_ones_own_descendant,
          an_exclusive_move_of_a_node_with_children_loses_none,
          two_hundred_light_streams_beside_a_heavy_one, shares_stay_exact,
          closing_shares_the_weight_among_those_that_depended, a_share_is_never_rounded_to_nothing,
          closing_forgives_nothing, another_node_takes_the_place_of_one,
          ten_thousand_opens_and_closes_leave_nothing, what_would_be_too_deep_stands_higher,
          random_histories_agree_with_a_table)
