/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_SIM_LAN_H
#define MILLRACE_SIM_LAN_H

/* A switch: learns behind which side an address is (IEEE 802.1D 7.8), floods what it does not know.
 * Its table is small, and the oldest makes room. */

#include "sim/node.h"
#include "wire/addr.h"

#define LAN_TABLE 64

struct lan {
    struct node node;
    struct lan_entry {
        struct mac_addr mac;
        unsigned side;
        bool used;
    } entry[LAN_TABLE];
    unsigned next; /* to be replaced */
    uint64_t flooded;
};

struct lan *lan_create(struct sim *s);

#endif
