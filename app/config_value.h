/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_VALUE_H
#define MILLRACE_APP_CONFIG_VALUE_H

/*
 * One value of the configuration, from its text and back. base is a struct config, or for the keys
 * of a list an entry of it (struct config_device, struct config_listener).
 */

#include <stdbool.h>

#include "app/config_keys.h"

/* Why a value was refused, as the user reads it. */
struct config_why {
    char text[320];
};

/*
 * Stores text, or for a list appends it. False, with the reason, where it is not a value of this
 * key; base is then unchanged.
 */
bool config_value_read(const struct config_key *k, void *base, const char *text,
                       struct config_why *why);

/* What is in force, as text. Values point into buf or into base. */
#define CONFIG_VALUE_MAX 56 /* an IPv6 prefix */
struct config_words {
    unsigned n;
    const char *value[CONFIG_LIST_MAX];
    char buf[CONFIG_LIST_MAX][CONFIG_VALUE_MAX];
};
void config_value_write(const struct config_key *k, const void *base, struct config_words *w);

/* Releases what the value holds. */
void config_value_free(const struct config_key *k, void *base);

/* "3", "2-5": the first and last of a range of at most max. */
bool config_range_parse(const char *text, uint64_t max, uint64_t *first, uint64_t *last);
/* Whether the bits of p's address after its length are all zero: the network itself. */
bool config_is_network(const struct ip_prefix *p);

/* False, with the reason. */
__attribute__((format(printf, 2, 3))) bool config_refuse(struct config_why *why, const char *format,
                                                         ...);

#endif
