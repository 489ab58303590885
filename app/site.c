/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "app/file.h"

#define PATH_BYTES 1024 /* of a request's path */

/* A load in progress. */
struct site {
    struct origin *origin;
    const struct config_origin *config;
    const struct config_place *place; /* of the directory */
    struct config_faults *faults;
    int root;
    unsigned left_out;
    char path[PATH_BYTES]; /* of what is looked at, from the root: "/a/b" */
};

/* ---- what is added ---- */

static struct http_text text_of(const char *p)
{
    return (struct http_text){p, p ? (uint32_t)strlen(p) : 0};
}

/* What may still be read into the origin. */
static size_t room(const struct site *s)
{
    uint64_t used = origin_n_bytes(s->origin);
    uint64_t most = s->config->options.max_bytes;
    uint64_t left = used < most ? most - used : 0;
    return left < UINT32_MAX ? (size_t)left : UINT32_MAX;
}

static const char too_many_bytes[] = "more content than max-bytes allows; raise it";

/* Which bound has been met. */
static const char *limit(const struct site *s)
{
    bool entries = origin_n_entries(s->origin) >= s->config->options.max_entries;
    return entries ? "more paths than max-entries allows; raise it" : too_many_bytes;
}

static bool add(struct site *s, const struct origin_entry *e, const struct config_place *place)
{
    int error = origin_add(s->origin, e);
    const char *why = error == ORIGIN_E_LIMIT    ? limit(s)
                      : error == ORIGIN_E_EXISTS ? "is there already"
                      : error == ORIGIN_E_PATH   ? "is not a path that can be asked for"
                      : error == ORIGIN_E_STATUS ? "an answer with that status has no content"
                                                 : "out of memory";
    if (error == 0)
        return true;
    config_fault(s->faults, place, "%.*s: %s", (int)e->path.n, e->path.p, why);
    return false;
}

/* ---- responses ---- */

/* The ending of the path says it, if there is one; what stands in a configuration is text. */
static struct http_text response_type(const struct config_response *r)
{
    if (r->type || !r->body || strchr(r->path, '.'))
        return text_of(r->type);
    return HTTP_TEXT("text/plain; charset=utf-8");
}

static bool add_response(struct site *s, const struct config_response *r, int index)
{
    const struct config_place *place = CONFIG_PLACE("responses", index, "path", -1);
    struct origin_entry e = {.path = text_of(r->path),
                             .status = r->status,
                             .type = response_type(r),
                             .body = text_of(r->body)};
    struct file file = {0};
    char why[FILE_WHY_MAX];
    if (r->file && !file_load(r->file, room(s), &file, why)) {
        config_fault(s->faults, CONFIG_PLACE("responses", index, "file", -1), "%s: %s", r->file,
                     why);
        return false;
    }
    if (r->file) {
        e.body = (struct http_text){file.bytes, (uint32_t)file.n};
        e.modified = file.modified;
    }
    bool good = add(s, &e, place);
    file_free(&file);
    return good;
}

static bool add_responses(struct site *s, const struct config *c)
{
    bool all = true;
    for (unsigned i = 0; i < c->n_responses; i++)
        if (!strcmp(c->response[i].origin, s->config->name))
            all &= add_response(s, &c->response[i], (int)i);
    return all;
}

static bool is_response(const struct site *s, const struct config *c)
{
    for (unsigned i = 0; i < c->n_responses; i++)
        if (!strcmp(c->response[i].origin, s->config->name) &&
            !strcmp(c->response[i].path, s->path))
            return true;
    return false;
}

/* ---- files ---- */

/* Links are followed as far as they stay within the root. */
static int open_within(const struct site *s)
{
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    const char *path = s->path[0] ? s->path + 1 : ".";
    return (int)syscall(SYS_openat2, s->root, path, &how, sizeof(how));
}

static bool fault(const struct site *s, const char *why)
{
    char quoted[CONFIG_QUOTE_MAX];
    config_fault(s->faults, s->place, "%s%s: %s", s->config->directory,
                 config_quote(s->path, quoted), why);
    return false;
}

/* fd is taken. size: of its file, as far as is known. */
static bool add_file(struct site *s, const struct config *c, int fd, off_t size)
{
    struct file file;
    char why[FILE_WHY_MAX];
    if (is_response(s, c)) {
        close(fd);
        return true;
    }
    if ((uint64_t)size > room(s)) {
        close(fd);
        return fault(s, too_many_bytes);
    }
    if (!file_load_fd(fd, room(s), &file, why))
        return fault(s, why);
    struct origin_entry e = {.path = text_of(s->path),
                             .body = {file.bytes, (uint32_t)file.n},
                             .modified = file.modified};
    bool good = add(s, &e, s->place);
    file_free(&file);
    return good;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool walk(struct site *s, const struct config *c, unsigned depth);

/* The entry whose path stands in s. link: it is one. */
static bool add_entry(struct site *s, const struct config *c, bool link, unsigned depth)
{
    struct stat st;
    int fd = open_within(s);
    if (fd < 0 && (link || errno == ENXIO)) { /* it leads nowhere, or out; a socket */
        s->left_out++;
        return true;
    }
    if (fd < 0 || fstat(fd, &st) < 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return fault(s, strerror(error));
    }
    if (S_ISREG(st.st_mode))
        return add_file(s, c, fd, st.st_size);
    close(fd);
    if (S_ISDIR(st.st_mode) && !link)
        return walk(s, c, depth + 1);
    s->left_out++;
    return true;
}

/* False: the path would be too long, and the entry is left out. */
static bool step_into(struct site *s, const char *name)
{
    size_t n = strlen(s->path);
    if (n + 1 + strlen(name) < sizeof(s->path)) {
        snprintf(s->path + n, sizeof(s->path) - n, "/%s", name);
        return true;
    }
    s->left_out++;
    return false;
}

static bool is_link(const struct site *s)
{
    struct stat st;
    return fstatat(s->root, s->path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

/* The directory whose path stands in s, in the order of names. */
static bool walk(struct site *s, const struct config *c, unsigned depth)
{
    struct dirent **entry;
    size_t n = strlen(s->path);
    if (depth > SITE_DEPTH_MAX)
        return fault(s, "too many directories in each other");
    int count = scandirat(s->root, n ? s->path + 1 : ".", &entry, visible, by_name);
    if (count < 0)
        return fault(s, strerror(errno));
    bool good = true;
    for (int i = 0; i < count; i++) {
        if (good && step_into(s, entry[i]->d_name))
            good = add_entry(s, c, is_link(s), depth);
        s->path[n] = '\0';
        free(entry[i]);
    }
    free(entry);
    return good;
}

static bool add_directory(struct site *s, const struct config *c)
{
    if (!s->config->directory)
        return true;
    s->root = open(s->config->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->root < 0)
        return fault(s, strerror(errno));
    bool good = walk(s, c, 0);
    close(s->root);
    return good;
}

struct origin *site_load(const struct config *c, unsigned n, struct mem *mem, unsigned *left_out,
                         struct config_faults *f)
{
    struct site s = {
        .config = &c->origin[n],
        .place = CONFIG_PLACE("origins", (int)n, "directory", -1),
        .faults = f,
        .origin = origin_create(mem, c->origin[n].name, &c->origin[n].options),
    };
    bool good = s.origin != NULL;
    if (good) { /* one run finds the faults of both */
        good &= add_responses(&s, c);
        good &= add_directory(&s, c);
    }
    *left_out = s.left_out;
    if (good && origin_seal(s.origin))
        return s.origin;
    if (!s.origin || good)
        config_fault(f, CONFIG_PLACE("origins", (int)n, NULL, -1), "out of memory");
    origin_destroy(s.origin);
    return NULL;
}
