/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/list.h"

#include "support/unit.h"

struct member {
    int name;
    struct list node;
};

static struct member m[6];
static struct list a, b;

static void setup(void)
{
    list_init(&a);
    list_init(&b);
    for (int i = 0; i < 6; i++) {
        m[i].name = i;
        list_init(&m[i].node);
    }
}

/* The members' names as decimal digits, read in both directions, which must agree. */
static long names(struct list *head)
{
    long forward = 0, backward = 0, digit = 1;
    list_for_each (node, head)
        forward = 10 * forward + container_of(node, struct member, node)->name;
    for (struct list *node = head->prev; node != head; node = node->prev, digit *= 10)
        backward += digit * container_of(node, struct member, node)->name;
    ck_assert_int_eq(forward, backward);
    return forward;
}

START_TEST(empty)
{
    ck_assert(list_empty(&a));
    ck_assert_ptr_null(list_first(&a));
    ck_assert_ptr_null(list_last(&a));
    ck_assert_int_eq(names(&a), 0);
    ck_assert(!list_linked(&m[0].node));
}
END_TEST

START_TEST(pushes_at_both_ends)
{
    list_push_back(&a, &m[2].node);
    list_push_back(&a, &m[3].node);
    list_push_front(&a, &m[1].node);
    ck_assert_int_eq(names(&a), 123);
    ck_assert_ptr_eq(list_first(&a), &m[1].node);
    ck_assert_ptr_eq(list_last(&a), &m[3].node);
    ck_assert(list_linked(&m[2].node));
}
END_TEST

START_TEST(removal_is_safe_at_any_time)
{
    for (int i = 1; i < 4; i++)
        list_push_back(&a, &m[i].node);
    list_remove(&m[2].node);
    ck_assert_int_eq(names(&a), 13);
    ck_assert(!list_linked(&m[2].node));
    list_remove(&m[2].node); /* in no list */
    ck_assert_int_eq(names(&a), 13);
    list_remove(&m[1].node);
    list_remove(&m[3].node);
    ck_assert(list_empty(&a));
    list_push_back(&b, &m[2].node);
    ck_assert_int_eq(names(&b), 2);
}
END_TEST

START_TEST(the_safe_loop_lets_go_of_what_it_stands_on)
{
    for (int i = 1; i < 6; i++)
        list_push_back(&a, &m[i].node);
    list_for_each_safe (node, &a) {
        if (container_of(node, struct member, node)->name % 2) {
            list_remove(node);
            list_push_back(&b, node);
        }
    }
    ck_assert_int_eq(names(&a), 24);
    ck_assert_int_eq(names(&b), 135);
}
END_TEST

START_TEST(splice_moves_all_and_keeps_order)
{
    list_splice_back(&a, &b); /* nothing to nothing */
    ck_assert(list_empty(&a));
    list_push_back(&b, &m[3].node);
    list_push_back(&b, &m[4].node);
    list_splice_back(&a, &b); /* some to nothing */
    ck_assert_int_eq(names(&a), 34);
    ck_assert(list_empty(&b));
    list_push_back(&b, &m[5].node);
    list_splice_back(&a, &b);
    ck_assert_int_eq(names(&a), 345);
    list_splice_back(&a, &b); /* nothing to some */
    ck_assert_int_eq(names(&a), 345);
    ck_assert(list_empty(&b));
}
END_TEST

UNIT_MAIN("list", setup, NULL, empty, pushes_at_both_ends, removal_is_safe_at_any_time,
          the_safe_loop_lets_go_of_what_it_stands_on, splice_moves_all_and_keeps_order)
