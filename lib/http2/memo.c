/* SPDX-License-Identifier: BSD-3-Clause */
#include "http2/memo.h"

#include "http2/hpack.h"

void h2_memo_forget(struct h2_memo *m, const struct h2_conn *c)
{
    if (m->from == c)
        m->from = NULL;
    if (m->to == c)
        m->to = NULL;
}

const struct http_head *h2_memo_asked(const struct h2_memo *m, const struct h2_conn *c,
                                      const uint8_t *block, uint32_t len)
{
    bool known = m->from == c && m->n_asked == len && memcmp(m->asked, block, len) == 0;
    return known ? &m->head : NULL;
}

void h2_memo_ask(struct h2_memo *m, const struct h2_conn *c, const uint8_t *block, uint32_t len,
                 const struct http_head *head)
{
    if (len > H2_MEMO_ASKED || !hpack_keeps_table(block, len))
        return;
    m->from = c;
    m->n_asked = len;
    memcpy(m->asked, block, len);
    m->head = *head;
}

uint32_t h2_memo_answered(const struct h2_memo *m, const struct h2_conn *c, uint64_t same,
                          uint8_t *out)
{
    if (same == 0 || m->to != c || m->same != same)
        return 0;
    memcpy(out, m->answered, m->n_answered);
    return m->n_answered;
}

void h2_memo_answer(struct h2_memo *m, const struct h2_conn *c, uint64_t same, const uint8_t *block,
                    uint32_t len)
{
    if (m->to == c)
        m->to = NULL;
    if (same == 0 || len > H2_MEMO_ANSWERED || !hpack_keeps_table(block, len))
        return;
    m->to = c;
    m->same = same;
    m->n_answered = len;
    memcpy(m->answered, block, len);
}
