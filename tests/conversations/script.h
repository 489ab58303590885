/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_CONVERSATIONS_SCRIPT_H
#define MILLRACE_CONVERSATIONS_SCRIPT_H

/* A script, read into settings and events. README.md is the language. */

#include <stdbool.h>
#include <stdint.h>

#include "base/tick.h"
#include "segment.h"
#include "stack/stack.h"

#define WORD_MAX 48u

struct script_settings {
    struct tcp_settings tcp;
    struct stack_limits limits;
    uint32_t mtu;
    uint32_t ip;  /* 4 or 6 */
    uint32_t isn; /* the peer's, and where ours is to lie */
    bool manual;  /* the service consumes when the script says so */
    uint32_t backlog;
    bool no_cookies;
    bool no_listener;
    bool tailroom; /* of received packets */
    tick_t tolerance;
};

enum event_kind {
    EVENT_HEAR,
    EVENT_SAY,
    EVENT_NOTHING,
    EVENT_ICMP,
    EVENT_DO,
    EVENT_TOLD,
    EVENT_ASSERT,
    EVENT_AGAIN,
};

enum verb {
    DO_WRITE,
    DO_READ,
    DO_CLOSE,
    DO_ABORT,
    DO_CONNECT,
    DO_KILL,
    TOLD_OPENED,
    TOLD_DATA,
    TOLD_END,
    TOLD_WRITABLE,
    TOLD_ENDED,
    TOLD_RESET,
};

enum icmp_news {
    NEWS_NET,
    NEWS_HOST,
    NEWS_PROTOCOL,
    NEWS_PORT,
    NEWS_ADMIN,
    NEWS_TOO_BIG,
    NEWS_TIME_EXCEEDED,
};

enum relation { IS, IS_NOT, IS_LESS, IS_MORE, IS_AT_MOST, IS_AT_LEAST };

struct event {
    enum event_kind kind;
    unsigned line;
    tick_t from; /* after the event before, TICK_NEVER: any time */
    tick_t to;
    struct segment segment; /* HEAR, SAY; of ICMP, what is quoted */
    enum verb verb;         /* DO, TOLD */
    unsigned flow;
    uint32_t a, b; /* numbers of the verb, or AGAIN's */
    char content;
    enum icmp_news news;
    uint32_t mtu;
    char name[WORD_MAX];  /* ASSERT: of what; TOLD_RESET: the code, or "" */
    char value[WORD_MAX]; /* ASSERT */
    enum relation relation;
};

struct script {
    char *text;
    struct script_settings settings;
    struct event *event;
    unsigned n;
    unsigned room;
    unsigned line;   /* where reading stands, or stopped */
    char wrong[200]; /* "": nothing is */
};

/* False: s->wrong and s->line say why. In any case script_free. */
bool script_read(struct script *s, const char *path);
void script_free(struct script *s);

#endif
