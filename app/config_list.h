/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_LIST_H
#define MILLRACE_APP_CONFIG_LIST_H

/*
 * Values that are lists of any length, in struct config_list; and those of the resolver, which has
 * room for its own. Readers take one item, and leave base unchanged where they refuse it.
 */

#include "app/config_value.h"

bool config_list_read_user(const struct config_key *k, void *base, const char *text,
                           struct config_why *why);
bool config_list_read_name(const struct config_key *k, void *base, const char *text,
                           struct config_why *why);
bool config_list_read_prefix(const struct config_key *k, void *base, const char *text,
                             struct config_why *why);
bool config_list_read_ports(const struct config_key *k, void *base, const char *text,
                            struct config_why *why);
bool config_list_read_addr(const struct config_key *k, void *base, const char *text,
                           struct config_why *why);
bool config_list_read_host_addr(const struct config_key *k, void *base, const char *text,
                                struct config_why *why);
bool config_list_read_server(const struct config_key *k, void *base, const char *text,
                             struct config_why *why);

void config_list_write_texts(const struct config_key *k, const void *base, struct config_words *w);
void config_list_write_prefixes(const struct config_key *k, const void *base,
                                struct config_words *w);
void config_list_write_ports(const struct config_key *k, const void *base, struct config_words *w);
void config_list_write_addrs(const struct config_key *k, const void *base, struct config_words *w);
void config_list_write_host_addrs(const struct config_key *k, const void *base,
                                  struct config_words *w);
void config_list_write_servers(const struct config_key *k, const void *base,
                               struct config_words *w);

void config_list_free(const struct config_key *k, void *base);
void config_list_free_texts(const struct config_key *k, void *base);

/* What a user can be called; NULL, or why not. */
const char *config_user_unfit(const char *name);
/* The name of a host, in lower case, without a dot at its end, in dst; false: text is none. */
bool config_host_name(const char *text, char dst[static PROXY_NAME_MAX + 1]);

#endif
