/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/doctor.h"

#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const level_names[] = {
#define X(id, name) [DOCTOR_##id] = name,
    DOCTOR_LEVELS(X)
#undef X
};

void doctor_add(struct doctor *d, enum doctor_level level, const char *subject, const char *fix,
                const char *format, ...)
{
    if (d->n == d->room) {
        size_t room = d->room ? 2 * d->room : 32;
        struct doctor_finding *grown = realloc(d->finding, room * sizeof(*grown));
        if (!grown)
            return;
        d->finding = grown;
        d->room = room;
    }
    struct doctor_finding *f = &d->finding[d->n];
    *f = (struct doctor_finding){.level = level, .fix = fix ? strdup(fix) : NULL};
    snprintf(f->subject, sizeof(f->subject), "%s", subject);
    va_list args;
    va_start(args, format);
    int made = vasprintf(&f->text, format, args);
    va_end(args);
    if (made < 0)
        free(f->fix);
    else
        d->n++;
}

void doctor_clear(struct doctor *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->finding[i].text);
        free(d->finding[i].fix);
    }
    free(d->finding);
    d->finding = NULL;
    d->n = d->room = 0;
}

enum doctor_level doctor_worst(const struct doctor *d)
{
    enum doctor_level worst = DOCTOR_OK;
    for (size_t i = 0; i < d->n; i++)
        if (d->finding[i].level > worst)
            worst = d->finding[i].level;
    return worst;
}

void doctor_examine(struct doctor *d)
{
    doctor_cpus(d);
    doctor_clock(d);
    doctor_memory(d);
    doctor_rights(d);
    doctor_plugins(d);
    for (unsigned i = 0; i < d->config->n_devices; i++)
        doctor_device(d, &d->config->device[i]);
}

static void print_json(const struct doctor *d, FILE *out)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < d->n; i++) {
        const struct doctor_finding *f = &d->finding[i];
        json_array_append_new(rows,
                              json_pack("{s:s, s:s, s:s, s:s?}", "level", level_names[f->level],
                                        "subject", f->subject, "text", f->text, "fix", f->fix));
    }
    json_t *all = json_pack("{s:s, s:o}", "worst", level_names[doctor_worst(d)], "findings", rows);
    json_dumpf(all, out, JSON_INDENT(2));
    fputc('\n', out);
    json_decref(all);
}

void doctor_print(const struct doctor *d, bool json, FILE *out)
{
    if (json) {
        print_json(d, out);
        return;
    }
    unsigned count[] = {0, 0, 0};
    for (size_t i = 0; i < d->n; i++) {
        const struct doctor_finding *f = &d->finding[i];
        count[f->level]++;
        fprintf(out, "%-4s  %s: %s\n", level_names[f->level], f->subject, f->text);
        if (f->fix)
            fprintf(out, "      -> %s\n", f->fix);
    }
    fprintf(out, "%u ok, %u warning%s, %u failure%s\n", count[DOCTOR_OK], count[DOCTOR_WARN],
            count[DOCTOR_WARN] == 1 ? "" : "s", count[DOCTOR_FAIL],
            count[DOCTOR_FAIL] == 1 ? "" : "s");
}

static bool path_of(const struct doctor *d, char whole[PATH_MAX], const char *path, va_list args)
    __attribute__((format(printf, 3, 0)));

static bool path_of(const struct doctor *d, char whole[PATH_MAX], const char *path, va_list args)
{
    int root = snprintf(whole, PATH_MAX, "%s", d->root);
    if (root < 0 || root >= PATH_MAX)
        return false;
    int rest = vsnprintf(whole + root, (size_t)(PATH_MAX - root), path, args);
    return rest > 0 && rest < PATH_MAX - root;
}

#define PATH_FROM(whole, d, path)                  \
    va_list args;                                  \
    va_start(args, path);                          \
    bool fits = path_of((d), (whole), path, args); \
    va_end(args)

static bool first_line(const char *path, char *line, size_t room)
{
    FILE *f = fopen(path, "re");
    bool got = f && fgets(line, (int)room, f);
    if (f)
        fclose(f);
    if (got)
        line[strcspn(line, "\n")] = '\0';
    return got;
}

bool doctor_read(const struct doctor *d, char *line, size_t room, const char *path, ...)
{
    char whole[PATH_MAX];
    PATH_FROM(whole, d, path);
    *line = '\0';
    return fits && first_line(whole, line, room);
}

long doctor_read_number(const struct doctor *d, long missing, const char *path, ...)
{
    char whole[PATH_MAX];
    char line[64];
    PATH_FROM(whole, d, path);
    if (!fits || !first_line(whole, line, sizeof(line)))
        return missing;
    char *end;
    long n = strtol(line, &end, 10);
    return end == line ? missing : n;
}

bool doctor_exists(const struct doctor *d, const char *path, ...)
{
    char whole[PATH_MAX];
    PATH_FROM(whole, d, path);
    return fits && access(whole, F_OK) == 0;
}

unsigned doctor_entries(const struct doctor *d, const char *prefix, const char *path, ...)
{
    char whole[PATH_MAX];
    PATH_FROM(whole, d, path);
    DIR *dir = fits ? opendir(whole) : NULL;
    unsigned n = 0;
    if (!dir)
        return 0;
    for (struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.' && strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return n;
}

void doctor_link(const struct doctor *d, char *name, size_t room, const char *path, ...)
{
    char whole[PATH_MAX];
    char target[PATH_MAX];
    PATH_FROM(whole, d, path);
    *name = '\0';
    ssize_t n = fits ? readlink(whole, target, sizeof(target) - 1) : -1;
    if (n < 0)
        return;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    snprintf(name, room, "%s", slash ? slash + 1 : target);
}

bool doctor_in_list(const char *list, unsigned n)
{
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10);
        if (end == list)
            return false;
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (n >= first && n <= last)
            return true;
        list = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end != '\0')
            return false;
    }
    return false;
}
