/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_NETDEV_H
#define MILLRACE_APP_NETDEV_H

/* What the kernel says of an interface in our network namespace, for drivers that borrow one. */

#include <stdbool.h>

/* Receive queues in use; at least 1. *combined: as many of them as are channels of both directions.
 */
unsigned netdev_queues(const char *interface, unsigned *combined);

/* Keeps other appliances in this network namespace off the interface, for as long as the descriptor
 * is open. -1: errno is EADDRINUSE where one has it. */
int netdev_claim(const char *interface);

/* Sets it up if it is down. False: errno says why. */
bool netdev_up(const char *interface, bool *was_down);
void netdev_down(const char *interface);

/* Whether it is up and has a carrier. */
bool netdev_running(const char *interface);

/* Which one it is, whatever it is called; 0: there is none. */
unsigned netdev_index(const char *interface);
/* Whether that one is still here. Another may have got its name. */
bool netdev_exists(unsigned index);

/* 0: unknown. */
unsigned netdev_mtu(const char *interface);
/* False: errno says why. */
bool netdev_set_mtu(const char *interface, unsigned mtu);

/* Whether it takes every frame already. */
bool netdev_promiscuous(const char *interface);

#endif
