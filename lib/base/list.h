/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_LIST_H
#define MILLRACE_BASE_LIST_H

/*
 * Intrusive doubly linked list. A list is a node whose neighbours are its first and last member; a
 * node that stands in no list points at itself, so that list_remove is safe at any time and
 * membership can be asked of the node.
 */

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* The body may remove `it` itself only with list_for_each_safe. */
#define list_for_each(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)
#define list_for_each_safe(it, head)                                          \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head); \
         it = it##_next, it##_next = it->next)

/* An empty list, or a node in none. */
static inline void list_init(struct list *l)
{
    l->next = l;
    l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
    return head->next == head;
}

/* Is this node in some list? */
static inline bool list_linked(const struct list *node)
{
    return node->next != node;
}

static inline struct list *list_first(struct list *head)
{
    return list_empty(head) ? NULL : head->next;
}

static inline struct list *list_last(struct list *head)
{
    return list_empty(head) ? NULL : head->prev;
}

static inline void list_insert_between(struct list *node, struct list *before, struct list *after)
{
    node->prev = before;
    node->next = after;
    before->next = node;
    after->prev = node;
}

/* node must be in no list. */
static inline void list_push_front(struct list *head, struct list *node)
{
    list_insert_between(node, head, head->next);
}

static inline void list_push_back(struct list *head, struct list *node)
{
    list_insert_between(node, head->prev, head);
}

/* Does nothing to a node that is in no list. */
static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Moves all members of from, in order, to the end of to. */
static inline void list_splice_back(struct list *to, struct list *from)
{
    if (list_empty(from))
        return;
    from->next->prev = to->prev;
    from->prev->next = to;
    to->prev->next = from->next;
    to->prev = from->prev;
    list_init(from);
}

#endif
