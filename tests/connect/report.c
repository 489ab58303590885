/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In double quotes, as JSON has it. */
static void put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20 || c > 0x7e)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_tunnel(FILE *out, const struct tunnel *t, double now)
{
    double end = t->ended > 0 ? t->ended : now;
    fprintf(out, "{\"id\": %" PRId32 ", \"status\": %d, \"proxy_status\": ", t->id, t->status);
    put_text(out, t->proxy_status);
    fprintf(out, ", \"bytes_up\": %" PRIu64 ", \"bytes_down\": %" PRIu64, t->up, t->down);
    fprintf(out, ", \"held\": %" PRIu32, t->n);
    fprintf(out, ", \"connect_seconds\": %.6f", t->answered > 0 ? t->answered - t->accepted : 0);
    fprintf(out, ", \"seconds\": %.6f", t->answered > 0 ? end - t->answered : 0);
    fprintf(out, ", \"closed_by\": \"%s\", \"code\": %" PRIu32 "}", tunnel_end_text(t->end),
            t->code);
}

/* Jain's index: the square of the sum, by n times the sum of squares; 0 where there is nothing. */
struct shares {
    double sum, squares;
    uint32_t n;
};

static void add(struct shares *s, uint64_t bytes)
{
    s->sum += (double)bytes;
    s->squares += (double)bytes * (double)bytes;
    s->n++;
}

static double jain(const struct shares *s)
{
    return s->squares > 0 ? s->sum * s->sum / (s->n * s->squares) : 0;
}

static void put_sums(FILE *out, const struct session *s)
{
    struct shares up = {0}, down = {0};
    for (uint32_t i = s->options->skip; i < s->n; i++) {
        add(&up, s->tunnels[i]->up);
        add(&down, s->tunnels[i]->down);
    }
    fprintf(out, "\"counted\": %" PRIu32, up.n);
    fprintf(out, ", \"sum_up\": %.0f, \"sum_down\": %.0f", up.sum, down.sum);
    fprintf(out, ", \"jain_up\": %.6f, \"jain_down\": %.6f", jain(&up), jain(&down));
}

static void put_all(FILE *out, const struct session *s)
{
    double now = session_clock();
    fputs("{\"streams\": [", out);
    for (uint32_t i = 0; i < s->n; i++) {
        fputs(i > 0 ? ",\n  " : "\n  ", out);
        put_tunnel(out, s->tunnels[i], now);
    }
    fputs("],\n ", out);
    put_sums(out, s);
    fprintf(out, ",\n \"clock\": %.6f, \"goaway\": %s, \"fault\": ", now,
            s->goaway ? "true" : "false");
    put_text(out, s->fault ? s->fault : "");
    fputs("}\n", out);
}

static void write_file(const struct session *s, const char *path)
{
    char part[4096];
    if (snprintf(part, sizeof(part), "%s.part", path) >= (int)sizeof(part))
        fail(ENAMETOOLONG, "%s", path);
    FILE *out = fopen(part, "w");
    if (!out)
        fail(errno, "%s", part);
    put_all(out, s);
    if (ferror(out) || fclose(out) != 0 || rename(part, path) != 0)
        fail(errno, "%s", path);
}

void report_write(const struct session *s)
{
    const char *path = s->options->report;
    if (path && strcmp(path, "-") == 0)
        put_all(stdout, s);
    else if (path)
        write_file(s, path);
    fflush(stdout);
}
