/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/config_fault.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/config_tree.h"

#define FAULT_TEXT_MAX 512
#define WORD_MAX       63 /* longer words are not compared */

char *config_place_format(const struct config_place *place, char *dst, size_t size)
{
    char index[16] = "";
    char item[16] = "";
    if (place->index >= 0)
        snprintf(index, sizeof(index), "[%d]", place->index);
    if (place->item >= 0)
        snprintf(item, sizeof(item), "[%d]", place->item);
    snprintf(dst, size, "%s%s%s%s%s", place->section ? place->section : "", index,
             place->key ? "." : "", place->key ? place->key : "", item);
    return dst;
}

char *config_quote(const char *text, char dst[static CONFIG_QUOTE_MAX])
{
    size_t n = 0;
    for (; text[n] && n < CONFIG_QUOTE_MAX - 4; n++)
        dst[n] = (unsigned char)text[n] < 0x20 || text[n] == 0x7f ? '?' : text[n];
    strcpy(dst + n, text[n] ? "..." : "");
    return dst;
}

/* Two listeners may name one bad certificate. */
static bool known(const struct config_faults *f, unsigned line, const char *text)
{
    for (unsigned i = 0; i < f->n && i < FAULTS_MAX; i++)
        if (f->kept[i].line == line && f->kept[i].text && !strcmp(f->kept[i].text, text))
            return true;
    return false;
}

static void add(struct config_faults *f, unsigned line, const struct config_place *place,
                const char *what)
{
    char where[128];
    char text[sizeof(where) + FAULT_TEXT_MAX];
    config_place_format(place, where, sizeof(where));
    snprintf(text, sizeof(text), "%s%s%s", where, where[0] ? ": " : "", what);
    if (known(f, line, text))
        return;
    unsigned order = f->n++;
    if (order < FAULTS_MAX)
        f->kept[order] = (struct config_fault){.line = line, .order = order, .text = strdup(text)};
}

void config_fault(struct config_faults *f, const struct config_place *place, const char *format,
                  ...)
{
    char what[FAULT_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    add(f, f->tree ? config_tree_line(f->tree, place) : 0, place, what);
}

void config_fault_at(struct config_faults *f, unsigned line, const struct config_place *place,
                     const char *format, ...)
{
    char what[FAULT_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    add(f, line, place, what);
}

static int by_line(const void *a, const void *b)
{
    const struct config_fault *x = a;
    const struct config_fault *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

void config_faults_forget(struct config_faults *f)
{
    for (unsigned i = 0; i < f->n && i < FAULTS_MAX; i++)
        free(f->kept[i].text);
    f->n = 0;
}

unsigned config_faults_flush(struct config_faults *f, FILE *out)
{
    unsigned n = f->n;
    unsigned kept = n < FAULTS_MAX ? n : FAULTS_MAX;
    qsort(f->kept, kept, sizeof(f->kept[0]), by_line);
    for (unsigned i = 0; i < kept; i++) {
        const struct config_fault *k = &f->kept[i];
        const char *text = k->text ? k->text : "a fault, and no memory to say which";
        if (k->line)
            fprintf(out, "%s:%u: %s\n", f->file, k->line, text);
        else
            fprintf(out, "%s: %s\n", f->file, text);
    }
    if (n > kept)
        fprintf(out, "%s: and %u more faults\n", f->file, n - kept);
    config_faults_forget(f);
    return n;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Edits from a to b: insert, delete, replace, swap of neighbours (optimal string alignment). */
static unsigned distance(const char *a, const char *b)
{
    size_t n = strlen(a);
    size_t m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return WORD_MAX;
    unsigned row[3][WORD_MAX + 1]; /* of the matrix: this one and the two before, by i % 3 */
    for (unsigned j = 0; j <= m; j++)
        row[0][j] = j;
    for (unsigned i = 1; i <= n; i++) {
        unsigned *now = row[i % 3];
        const unsigned *up = row[(i - 1) % 3];
        const unsigned *upup = row[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= m; j++) {
            now[j] = least(up[j - 1] + (a[i - 1] != b[j - 1]), least(up[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], upup[j - 2] + 1);
        }
    }
    return row[n % 3][m];
}

const char *config_nearest(const char *text, const char *const *candidate, unsigned n)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    for (unsigned i = 0; i < n; i++) {
        unsigned d = distance(text, candidate[i]);
        /* Two edits of a three-letter word would make it any other. */
        if (d < best_distance && d * 2 <= strlen(candidate[i])) {
            best = candidate[i];
            best_distance = d;
        }
    }
    for (unsigned i = 0; i < n && !best; i++)
        if (strlen(text) >= 2 && !strncmp(text, candidate[i], strlen(text)))
            best = candidate[i];
    return best;
}
