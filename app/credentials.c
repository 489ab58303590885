/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/file.h"

struct user {
    const char *name; /* both in the file's bytes */
    const char *hash;
    unsigned line;
};

struct credentials {
    unsigned holders;
    bool exposed;
    uint32_t seed; /* of decoys: nobody can tell which name has which */
    struct file file;
    unsigned n;
    unsigned room;
    struct user *user; /* by name */
};

/* A load in progress. */
struct load {
    struct credentials *to;
    const char *path;
    const struct config_place *place;
    struct config_faults *faults;
    unsigned line;
    bool good;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct load *l, const char *format, ...)
{
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (l->line)
        config_fault(l->faults, l->place, "%s:%u: %s", l->path, l->line, why);
    else
        config_fault(l->faults, l->place, "%s: %s", l->path, why);
    l->good = false;
}

/* ---- a line ---- */

static const struct kind {
    const char *begin;
    size_t digest;
} kinds[] = {
#define X(begin, digest) {begin, digest},
    CREDENTIALS_KINDS(X)
#undef X
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define WORDS "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const struct kind *kind_of(const char *hash)
{
    for (size_t i = 0; i < KINDS; i++)
        if (begins(hash, kinds[i].begin))
            return &kinds[i];
    return NULL;
}

/* What crypt(5) allows in a field of a line. */
static bool printable(const char *text)
{
    for (; *text; text++)
        if (*text <= ' ' || *text > '~' || strchr(":;*!\\", *text))
            return false;
    return true;
}

/* What stands there may be a password in clear: it is not repeated. NULL: it is a hash. */
static const char *hash_fault(const char *hash)
{
    const struct kind *k = kind_of(hash);
    const char *digest = strrchr(hash, '$');
    if (hash[0] == '\0')
        return "has no hash";
    if (begins(hash, "$1$") || begins(hash, "$apr1$"))
        return "has an MD5 hash, which is too easily guessed; make another by "
               "`mkpasswd -m sha-512`";
    if (!k || !printable(hash))
        return "has no hash of a kind that is taken; make one by `mkpasswd -m sha-512`";
    if (digest < hash + strlen(k->begin) || strlen(digest + 1) != k->digest ||
        strspn(digest + 1, WORDS) != k->digest)
        return "has a hash that is not whole";
    return NULL;
}

static const char *name_fault(const char *name, size_t n)
{
    if (n == 0)
        return "no name before the ':'";
    if (n > CREDENTIALS_NAME_MAX)
        return "the name is longer than 63 bytes";
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return "the name has control characters";
    return NULL;
}

static bool make_room(struct credentials *c)
{
    if (c->n < c->room)
        return true;
    unsigned room = c->room ? 2 * c->room : 16;
    struct user *more = reallocarray(c->user, room, sizeof(*more));
    if (!more)
        return false;
    c->user = more;
    c->room = room;
    return true;
}

static void add(struct load *l, const char *name, const char *hash)
{
    struct credentials *c = l->to;
    if (make_room(c))
        c->user[c->n++] = (struct user){name, hash, l->line};
    else
        refuse(l, "out of memory");
}

/* text is of n bytes, and a NUL behind them. */
static void read_line(struct load *l, char *text, size_t n)
{
    char quoted[CONFIG_QUOTE_MAX];
    while (n > 0 && (text[n - 1] == '\r' || text[n - 1] == ' ' || text[n - 1] == '\t'))
        text[--n] = '\0';
    if (n == 0 || text[0] == '#')
        return;
    char *colon = memchr(text, ':', n);
    const char *why = !colon                  ? "no ':' between a name and a hash"
                      : memchr(text, '\0', n) ? "a NUL"
                                              : name_fault(text, (size_t)(colon - text));
    if (why) {
        refuse(l, "%s", why);
        return;
    }
    *colon = '\0';
    why = hash_fault(colon + 1);
    if (why)
        refuse(l, "'%s' %s", config_quote(text, quoted), why);
    else
        add(l, text, colon + 1);
}

/* ---- a file ---- */

static void read_lines(struct load *l)
{
    char *at = l->to->file.bytes;
    char *end = at + l->to->file.n;
    while (at < end && l->faults->n < FAULTS_MAX) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = end;
        *stop = '\0';
        l->line++;
        read_line(l, at, (size_t)(stop - at));
        at = stop + 1;
    }
    l->line = 0;
    if (l->to->n > CREDENTIALS_MAX)
        refuse(l, "more than %u users", CREDENTIALS_MAX);
}

static int by_name(const void *a, const void *b)
{
    const struct user *x = a;
    const struct user *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static void sort(struct load *l)
{
    struct credentials *c = l->to;
    char quoted[CONFIG_QUOTE_MAX];
    if (c->n > 0)
        qsort(c->user, c->n, sizeof(c->user[0]), by_name);
    for (unsigned i = 1; i < c->n; i++) {
        if (strcmp(c->user[i - 1].name, c->user[i].name) != 0)
            continue;
        l->line = c->user[i].line;
        refuse(l, "'%s' is there already, in line %u", config_quote(c->user[i].name, quoted),
               c->user[i - 1].line);
    }
}

static bool read_file(struct load *l)
{
    char why[FILE_WHY_MAX];
    struct stat st;
    int fd = open(l->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        refuse(l, "cannot open: %s", strerror(errno));
        return false;
    }
    l->to->exposed = fstat(fd, &st) == 0 && (st.st_mode & S_IROTH);
    if (!file_load_fd(fd, CREDENTIALS_FILE_MAX, &l->to->file, why))
        refuse(l, "%s", why);
    return l->good;
}

static void destroy(struct credentials *c)
{
    file_free(&c->file);
    free(c->user);
    free(c);
}

static bool make_seed(struct load *l)
{
    uint32_t *seed = &l->to->seed;
    if (getrandom(seed, sizeof(*seed), 0) == sizeof(*seed))
        return true;
    refuse(l, "no random bytes: %s", strerror(errno));
    return false;
}

struct credentials *credentials_load(const char *path, const struct config_place *place,
                                     struct config_faults *f)
{
    struct load l = {calloc(1, sizeof(struct credentials)), path, place, f, 0, true};
    if (!l.to) {
        refuse(&l, "out of memory");
        return NULL;
    }
    l.to->holders = 1;
    if (make_seed(&l) && read_file(&l)) {
        read_lines(&l);
        sort(&l);
    }
    if (l.good)
        return l.to;
    destroy(l.to);
    return NULL;
}

struct credentials *credentials_hold(struct credentials *c)
{
    if (c)
        c->holders++;
    return c;
}

void credentials_release(struct credentials *c)
{
    if (c && --c->holders == 0)
        destroy(c);
}

/* ---- questions ---- */

unsigned credentials_users(const struct credentials *c)
{
    return c->n;
}

bool credentials_exposed(const struct credentials *c)
{
    return c->exposed;
}

static int by_this_name(const void *name, const void *user)
{
    return strcmp(name, ((const struct user *)user)->name);
}

const char *credentials_find(const struct credentials *c, const char *name)
{
    const struct user *u =
        c->n ? bsearch(name, c->user, c->n, sizeof(c->user[0]), by_this_name) : NULL;
    return u ? u->hash : NULL;
}

const char *credentials_decoy(const struct credentials *c, const char *name)
{
    uint32_t at = c->seed;
    for (; *name; name++)
        at = (at ^ (unsigned char)*name) * 16777619u; /* Fowler, Noll and Vo */
    return c->n ? c->user[at % c->n].hash : NULL;
}
