/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/table.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define GAP     2  /* spaces between columns */
#define FIT_MIN 10 /* that a column keeps on a narrow terminal */

struct table {
    unsigned columns;
    bool right[TABLE_COLUMNS_MAX];
    char **cell; /* the heads, then row by row */
    size_t n, room;
};

static void append(struct table *t, char *text)
{
    if (t->n == t->room) {
        size_t room = t->room ? 2 * t->room : 64;
        char **grown = realloc(t->cell, room * sizeof(*grown));
        if (!grown) {
            free(text);
            return;
        }
        t->cell = grown;
        t->room = room;
    }
    t->cell[t->n++] = text;
}

struct table *table_new(const char *columns)
{
    struct table *t = calloc(1, sizeof(*t));
    char *names = strdup(columns);
    if (!t || !names) {
        free(t);
        free(names);
        return NULL;
    }
    char *rest = names;
    for (char *name; (name = strsep(&rest, " "));) {
        assert(t->columns < TABLE_COLUMNS_MAX);
        t->right[t->columns] = *name == '>';
        append(t, strdup(name + t->right[t->columns]));
        t->columns++;
    }
    free(names);
    return t;
}

/* What comes over the socket may hold what a terminal would obey. */
static void defuse(char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            *text = '?';
}

void table_cell(struct table *t, const char *format, ...)
{
    if (!t)
        return;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    if (text)
        defuse(text);
    append(t, text);
}

size_t table_rows(const struct table *t)
{
    return t ? t->n / t->columns - 1 : 0;
}

static const char *cell_at(const struct table *t, size_t i)
{
    return i < t->n && t->cell[i] ? t->cell[i] : "";
}

/* Characters, not bytes, of the first n bytes: UTF-8 continuation bytes take no place. */
static int width_of(const char *text, size_t n)
{
    int width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Words in lines of at most room characters, all but the first behind indent spaces. */
static void put_words(const char *text, int indent, int room, FILE *out)
{
    int used = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        int width = width_of(text, n);
        if (used > 0 && used + 1 + width > room) {
            fprintf(out, "\n%*s", indent, "");
            used = 0;
        }
        fprintf(out, "%s%.*s", used > 0 ? " " : "", (int)n, text);
        used += width + (used > 0);
        text += n + strspn(text + n, " ");
    }
}

/* at: where the cell begins. */
static void put_cell(const struct table *t, unsigned c, const char *text, int at, int width,
                     FILE *out)
{
    int pad = width - width_of(text, strlen(text));
    bool last = c + 1 == t->columns;
    if (pad < 0 && last)
        put_words(text, at, width, out);
    else if (pad < 0)
        fprintf(out, "%s\n%*s", text, at + width, "");
    else if (t->right[c])
        fprintf(out, "%*s%s", pad, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : pad, "");
    fprintf(out, "%*s", last ? 0 : GAP, "");
}

static void print_row(const struct table *t, size_t first, const int *width, FILE *out)
{
    int at = 0;
    for (unsigned c = 0; c < t->columns; c++) {
        put_cell(t, c, cell_at(t, first + c), at, width[c], out);
        at += width[c] + GAP;
    }
    fputc('\n', out);
}

/* Takes from one column what all together are too wide by. */
static void fit(const struct table *t, int *width, int room)
{
    unsigned last = t->columns - 1;
    unsigned give = t->right[last] ? 0 : last;
    int all = (int)last * GAP;
    for (unsigned c = 0; c < t->columns; c++)
        all += width[c];
    if (room <= 0 || all <= room)
        return;
    int left = width[give] - (all - room);
    width[give] = left > FIT_MIN ? left : FIT_MIN;
}

void table_print(struct table *t, FILE *out, int room)
{
    if (!t)
        return;
    int width[TABLE_COLUMNS_MAX] = {0};
    for (size_t i = 0; i < t->n; i++) {
        const char *text = cell_at(t, i);
        int w = width_of(text, strlen(text));
        if (w > width[i % t->columns])
            width[i % t->columns] = w;
    }
    fit(t, width, room);
    for (size_t first = 0; out && first < t->n; first += t->columns)
        print_row(t, first, width, out);
    for (size_t i = 0; i < t->n; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t);
}

/* n scaled by base to below what a prefix would round up to; *prefix counts the steps. */
static double scale(double n, double base, double limit, unsigned most, unsigned *prefix)
{
    for (*prefix = 0; n >= limit && *prefix < most; (*prefix)++)
        n /= base;
    return n;
}

const char *table_count(char cell[TABLE_CELL], double n)
{
    static const char prefixes[] = "\0kMGTPE";
    unsigned p;
    double v = scale(n, 1000, 999.5, 6, &p);
    bool fraction = p > 0 ? v < 99.95 : v < 9.95 && v != (double)(int)v;
    snprintf(cell, TABLE_CELL, fraction ? "%.1f%.1s" : "%.0f%.1s", v, &prefixes[p]);
    return cell;
}

const char *table_bytes(char cell[TABLE_CELL], double n)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned p;
    double v = scale(n, 1024, 1023.5, 6, &p);
    snprintf(cell, TABLE_CELL, p > 0 && v < 99.95 ? "%.1f %s" : "%.0f %s", v, units[p]);
    return cell;
}

const char *table_seconds(char cell[TABLE_CELL], double s)
{
    if (s < 0.9995) {
        snprintf(cell, TABLE_CELL, "%.0fms", s < 0 ? 0.0 : s * 1000);
        return cell;
    }
    uint64_t t = (uint64_t)(s + 0.5);
    if (t < 60)
        snprintf(cell, TABLE_CELL, "%us", (unsigned)t);
    else if (t < 3600)
        snprintf(cell, TABLE_CELL, "%um%us", (unsigned)(t / 60), (unsigned)(t % 60));
    else if (t < 86400)
        snprintf(cell, TABLE_CELL, "%uh%um", (unsigned)(t / 3600), (unsigned)(t % 3600 / 60));
    else
        snprintf(cell, TABLE_CELL, "%ud%uh", (unsigned)(t / 86400), (unsigned)(t % 86400 / 3600));
    return cell;
}
