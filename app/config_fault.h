/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_CONFIG_FAULT_H
#define MILLRACE_APP_CONFIG_FAULT_H

/*
 * Faults found in a configuration, collected and then printed in the order of the file's lines,
 * whichever check found them first.
 */

#include <stdio.h>

#define FAULTS_MAX 64 /* kept; the rest is only counted */

/* A place in the document, for the text before a fault. Unused parts are NULL or -1. */
struct config_place {
    const char *section;
    int index; /* of an entry of a section that is a list */
    const char *key;
    int item; /* of a value that is a list */
};

#define CONFIG_PLACE(section, index, key, item) \
    (&(const struct config_place){(section), (index), (key), (item)})
#define CONFIG_ROOT CONFIG_PLACE(NULL, -1, NULL, -1)

struct config_fault {
    unsigned line; /* 0: none */
    unsigned order;
    char *text;
};

struct config_tree;

struct config_faults {
    const char *file;
    const struct config_tree *tree; /* gives places their lines; NULL: no lines */
    unsigned n;                     /* all of them, also those not kept */
    struct config_fault kept[FAULTS_MAX];
};

/* Adds "place: message", unless it is there. */
__attribute__((format(printf, 3, 4))) void
config_fault(struct config_faults *f, const struct config_place *place, const char *format, ...);
/* The same for a line that no place stands for. */
__attribute__((format(printf, 4, 5))) void config_fault_at(struct config_faults *f, unsigned line,
                                                           const struct config_place *place,
                                                           const char *format, ...);

/* Prints "file:line: …" for each, sorted by line, and forgets them. Returns how many there were. */
unsigned config_faults_flush(struct config_faults *f, FILE *out);
void config_faults_forget(struct config_faults *f);

/* "devices[0].addresses[1]". Returns dst. */
char *config_place_format(const struct config_place *place, char *dst, size_t size);

/* The candidate that text is most likely a misspelling of; NULL where none is near. */
const char *config_nearest(const char *text, const char *const *candidate, unsigned n);

/* A user's text made fit to print: bounded, control characters as '?'. Returns dst. */
#define CONFIG_QUOTE_MAX 72
char *config_quote(const char *text, char dst[static CONFIG_QUOTE_MAX]);

#endif
