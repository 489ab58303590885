/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_KEYS_H
#define MILLRACE_APP_CONFIG_KEYS_H

/*
 * The registry of configuration keys. What the loader accepts, its ranges and defaults, what a
 * reload may change, and what `millrace --example` prints all come from these tables, and from
 * nowhere else.
 */

#include "app/config.h"

#define CONFIG_KEYS_MAX 24 /* in one section */

/* What a value looks like; config_value.c has a reader and a writer for each. */
enum config_kind {
    CONFIG_UINT,      /* whole number within min..max */
    CONFIG_SIZE,      /* bytes, with an optional unit: 4096, 64 KiB, 100 MB */
    CONFIG_OCTAL,     /* file mode */
    CONFIG_BOOL,      /* true, false, yes, no, on, off */
    CONFIG_ENUM,      /* one of names */
    CONFIG_CORE,      /* a core's number, or any */
    CONFIG_TEXT,      /* as it is */
    CONFIG_PATH,      /* of at most max bytes */
    CONFIG_WORD,      /* a-z 0-9 _ . - */
    CONFIG_NAME,      /* the same, of a device */
    CONFIG_INTERFACE, /* as the kernel allows it */
    CONFIG_PCI,       /* address of a PCI function */
    CONFIG_MAC,
    CONFIG_CORES,     /* list: 2, or "2-5" */
    CONFIG_ADDRESSES, /* list: address/length */
    CONFIG_GATEWAYS,  /* list: one for each family */
};

struct config_key {
    const char *name;
    enum config_kind kind;
    uint32_t offset; /* in struct config, or in struct config_device */
    uint32_t size;   /* of the member there */
    uint64_t min, max;
    const char *const *names; /* CONFIG_ENUM: max of them, by value */
    const char *preset;       /* the default, as it would be written; NULL: none */
    const char *sample;       /* without a default: what the example shows */
    uint32_t drivers;         /* device keys: bits of the drivers it means something to; 0: all */
    uint32_t needed;          /* bits of the drivers that do not go without it */
    bool live;                /* a reload puts a change in force */
    const char *text;         /* what it is, with its unit */
};

struct config_section {
    const char *name;
    const struct config_key *key;
    unsigned n_keys;
    bool list; /* of mappings: struct config_device */
    const char *text;
};

#define CONFIG_SECTIONS        9
#define CONFIG_SECTION_DEVICES 0
extern const struct config_section config_sections[CONFIG_SECTIONS];

extern const char *const config_driver_names[];
extern const unsigned config_n_drivers;

/* NULL: there is none of that name. */
const struct config_section *config_section_find(const char *name);
const struct config_key *config_key_find(const struct config_section *s, const char *name);

bool config_kind_is_list(enum config_kind kind);

#endif
