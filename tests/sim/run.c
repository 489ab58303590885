/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/run.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Tests run in processes of their own, and may die there in any way. So each process says in shared
 * memory which seed it is at, and whoever is left reads it.
 */
#define PLACES 256

struct place {
    bool taken;
    uint64_t seed;
};

struct notes {
    _Atomic unsigned places; /* given out */
    struct place place[PLACES];
};

static struct notes *notes;
static struct place *mine; /* of this process */

void run_begins(uint64_t seed)
{
    if (!mine) {
        unsigned at = atomic_fetch_add(&notes->places, 1);
        ck_assert_uint_lt(at, PLACES);
        mine = &notes->place[at];
    }
    ck_assert_msg(!mine->taken, "one simulation at a time");
    *mine = (struct place){.taken = true, .seed = seed};
}

void run_ends(void)
{
    mine->taken = false;
}

static void print_failed(const char *name)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (notes->place[i].taken)
            printf("# seed %" PRIu64 " failed; again, with a capture: "
                   "make sim T=%s SEED=%" PRIu64 " CAPTURE=/tmp/%s.pcapng\n",
                   notes->place[i].seed, name, notes->place[i].seed, name);
}

/* The number in this variable; false where there is none. */
static bool number(const char *variable, uint64_t *n)
{
    const char *text = getenv(variable);
    if (!text || !*text)
        return false;
    char *end;
    errno = 0;
    *n = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0')
        return true;
    fprintf(stderr, "%s is not a number: %s\n", variable, text);
    exit(EXIT_FAILURE);
}

int run_tests(const char *name, const TTest *const *tests, unsigned n)
{
    notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    /* Keep what is freed: each run takes it anew, and half the time would go to the kernel. */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    uint64_t seeds;
    if (number("SIM_SEEDS", &seeds))
        setenv("CK_TIMEOUT_MULTIPLIER", "100000", 1); /* as long as is asked for */
    else if (SIM_SLOW)
        setenv("CK_TIMEOUT_MULTIPLIER", "4", 0);
    int status = unit_run(name, NULL, NULL, tests, n);
    print_failed(name);
    return status;
}

uint64_t run_seed(uint64_t otherwise)
{
    uint64_t seed;
    return number("SIM_SEED", &seed) ? seed : otherwise;
}

/* Every `step`-th seed. */
static void run_share(uint64_t first, uint64_t count, uint64_t step, void (*each)(uint64_t seed))
{
    for (uint64_t seed = first; seed < count; seed += step)
        each(seed);
}

/* Shares them out among as many processes as there are processors. */
static void run_shared(uint64_t count, void (*each)(uint64_t seed))
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t processes = n < 1 ? 1 : n > PLACES / 4 ? PLACES / 4 : (uint64_t)n;
    for (uint64_t i = 0; i < processes; i++) {
        pid_t pid = check_fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            mine = NULL;
            run_share(i, count, processes, each);
            exit(EXIT_SUCCESS);
        }
    }
    int status;
    bool failed = false;
    while (wait(&status) > 0)
        failed |= status != 0;
    ck_assert_msg(!failed, "some seeds failed");
}

void run_seeds(uint64_t count, void (*each)(uint64_t seed))
{
    uint64_t seed;
    if (number("SIM_SEED", &seed))
        each(seed);
    else if (number("SIM_SEEDS", &count))
        run_shared(count, each);
    else
        run_share(0, count, 1, each);
}

void run_seeds_shared(uint64_t count, void (*each)(uint64_t seed))
{
    uint64_t seed;
    if (number("SIM_SEED", &seed)) {
        each(seed);
        return;
    }
    number("SIM_SEEDS", &count);
    run_shared(count, each);
}

bool run_asked(void)
{
    uint64_t n;
    return number("SIM_SEED", &n) || number("SIM_SEEDS", &n);
}

const char *run_capture(void)
{
    const char *path = getenv("SIM_CAPTURE");
    return path && *path ? path : NULL;
}

static void write_golden(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    ck_assert_msg(f != NULL, "cannot write %s", path);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

/* The next line without its end, or NULL. */
static const char *next_line(const char **text, size_t *len)
{
    const char *line = *text;
    if (!*line)
        return NULL;
    *len = strcspn(line, "\n");
    *text = line + *len + (line[*len] == '\n');
    return line;
}

void run_golden(const char *file, const char *text)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", SIM_GOLDEN_DIR, file);
    const char *update = getenv("SIM_UPDATE");
    if (update && *update) {
        write_golden(path, text);
        return;
    }
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s is missing: make sim UPDATE=1", path);
    char was[65536];
    size_t n = fread(was, 1, sizeof(was) - 1, f);
    fclose(f);
    was[n] = '\0';
    const char *old = was;
    const char *new = text;
    for (;;) {
        size_t a_len = 0, b_len = 0;
        const char *a = next_line(&old, &a_len);
        const char *b = next_line(&new, &b_len);
        if (!a && !b)
            return;
        ck_assert_msg(a && b && a_len == b_len && memcmp(a, b, a_len) == 0,
                      "%s was\n  %.*s\nand is\n  %.*s\n(make sim UPDATE=1 rewrites it)", file,
                      (int)a_len, a ? a : "", (int)b_len, b ? b : "");
    }
}
