/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_KEYS_H
#define MILLRACE_APP_CONFIG_KEYS_H

/*
 * The registry of configuration keys. What the loader accepts, its ranges and defaults, what a
 * reload may change, and what `millrace --example` prints all come from these tables, and from
 * nowhere else.
 */

#include "app/config.h"

#define CONFIG_KEYS_MAX 32 /* in one section */

#define CONFIG_LIST_MAX  256 /* values of one key that is a list */
#define CONFIG_NAMES_MAX 32  /* of values of one CONFIG_ENUM */

/* What a value looks like; config_value.c has a reader and a writer for each. */
enum config_kind {
    CONFIG_UINT,      /* whole number within min..max */
    CONFIG_SIZE,      /* bytes, with an optional unit: 4096, 64 KiB, 100 MB */
    CONFIG_OCTAL,     /* file mode */
    CONFIG_TIME,      /* whole number of units; where 0 is allowed it means TICK_NEVER */
    CONFIG_BOOL,      /* true, false, yes, no, on, off */
    CONFIG_BOOL_NOT,  /* the same, of a member that says the contrary */
    CONFIG_ENUM,      /* one of names */
    CONFIG_CORE,      /* a core's number, or any */
    CONFIG_TEXT,      /* as it is */
    CONFIG_PATH,      /* of at most max bytes */
    CONFIG_WORD,      /* a-z 0-9 _ . - */
    CONFIG_NAME,      /* the same, kept in place: of an entry of a list */
    CONFIG_USER,      /* a user's name */
    CONFIG_HOST,      /* a host's, kept in place */
    CONFIG_INTERFACE, /* as the kernel allows it */
    CONFIG_PCI,       /* address of a PCI function */
    CONFIG_MAC,
    CONFIG_ADDRESS, /* one of ours without a length, or any */
    /* Lists, from here on. */
    CONFIG_CORES,        /* 2, or "2-5" */
    CONFIG_ADDRESSES,    /* address/length */
    CONFIG_GATEWAYS,     /* one for each family */
    CONFIG_CERTIFICATES, /* names of certificates */
    CONFIG_SET,          /* some of names, as bits */
    CONFIG_SERVERS,      /* addresses, with a port or without, of resolver */
    CONFIG_HOST_ADDRS,   /* addresses, of a struct resolver_host */
    /* Of any length, from here on: a struct config_list. */
    CONFIG_USERS,    /* users' names */
    CONFIG_HOSTS,    /* example.com, or =example.com */
    CONFIG_PREFIXES, /* address/length */
    CONFIG_PORTS,    /* 443, or "8000-8100" */
    CONFIG_ADDRS,    /* addresses */
};

struct config_key {
    const char *name;
    enum config_kind kind;
    uint32_t offset; /* in struct config, or in an entry of the section's list */
    uint32_t size;   /* of the member there */
    uint64_t min, max;
    tick_t unit;              /* CONFIG_TIME: what the key's name ends in */
    const char *const *names; /* ENUM, SET: max of them, by value; NULL: not to be had here */
    const char *preset;       /* the default, as it would be written; NULL: none */
    const char *sample;       /* what the example shows instead of the default */
    uint32_t drivers;         /* device keys: bits of the drivers it means something to; 0: all */
    uint32_t needed;          /* bits of the drivers that do not go without it */
    bool live;                /* a reload puts a change in force */
    const char *text;         /* what it is, with its unit */
};

struct config_section {
    const char *name;
    const struct config_key *key;
    unsigned n_keys;
    const char *noun; /* one entry of a list of mappings; NULL: the section is one mapping */
    uint32_t entry;   /* of a list: bytes of an entry, */
    uint32_t first;   /* where struct config points to the first, */
    uint32_t count;   /* and where it has their number, unsigned, */
    uint32_t max;     /* which is at most this */
    bool live;        /* of a list: entries may come and go at a reload */
    const char *text;
};

#define CONFIG_SECTIONS        22
#define CONFIG_SECTION_DEVICES 0
extern const struct config_section config_sections[CONFIG_SECTIONS];

extern const char *const config_driver_names[];
extern const unsigned config_n_drivers;

/* NULL: there is none of that name. */
const struct config_section *config_section_find(const char *name);
const struct config_key *config_key_find(const struct config_section *s, const char *name);

bool config_kind_is_list(enum config_kind kind);

/* Entries of a section that is a list. */
unsigned config_entries(const struct config_section *s, const struct config *c);
void *config_entry(const struct config_section *s, const struct config *c, unsigned i);
/* Room for n, zeroed, where there are none yet. False: no memory. */
bool config_entries_make(const struct config_section *s, struct config *c, unsigned n);

#endif
