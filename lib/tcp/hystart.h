/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TCP_HYSTART_H
#define MILLRACE_TCP_HYSTART_H

/*
 * HyStart++ (RFC 9406): the first slow start of a connection watches the least round trip of each
 * round. When it grows, conservative slow start tries for some rounds whether it stays so; if it
 * does, the queue at the bottleneck is filling up, and slow start is over before it overflows.
 */

#include <stdbool.h>

#include "tcp/cc.h"

#define HYSTART_SLOWER 4 /* CSS_GROWTH_DIVISOR */

void hystart_init(struct tcp_hystart *h);
/* True: slow start is over. h->css says whether to grow HYSTART_SLOWER times slower until then. */
bool hystart_acked(struct tcp_hystart *h, const struct tcp_cc_ack *a);

#endif
