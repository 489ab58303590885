/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays scripts (README.md), each a case of TAP:
 *
 *     run_conversations [-v] FOLDER|FILE...
 *
 * A folder stands for the scripts in it and below. -v prints what is said, as it is said.
 */
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "play.h"
#include "report.h"
#include "script.h"

#define SCRIPTS_MAX 4096u
#define SECONDS_MAX 120u /* that one script may take */

static char *paths[SCRIPTS_MAX];
static unsigned n_paths;

static int add(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)place;
    size_t n = strlen(path);
    if (type == FTW_F && n > 4 && strcmp(path + n - 4, ".txt") == 0 && n_paths < SCRIPTS_MAX)
        paths[n_paths++] = strdup(path);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Plays the script in a process of its own. Returns how that ended, as wait() says it. */
static int play_apart(const struct script *s, const uint32_t *ours)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(SECONDS_MAX);
        play(s, ours);
        exit(EXIT_SUCCESS);
    }
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        perror("fork");
    return status;
}

static void print_failed(const char *path, int status)
{
    if (WIFSIGNALED(status))
        printf("# %s:%u: ended by signal %d\n", path, report->line, WTERMSIG(status));
    else
        printf("# %s:%u: %s\n", path, report->line,
               report->wrong[0] ? report->wrong : "ended otherwise");
    unsigned first = report->n > REPORT_LINES ? report->n - REPORT_LINES : 0;
    for (unsigned i = first; i < report->n; i++)
        printf("#    %s\n", report->transcript[i % REPORT_LINES]);
}

/* Twice: to learn where our sequence numbers begin, and then from when on they begin where they
 * should. */
static bool play_script(const char *path, bool loud)
{
    struct script s;
    memset(report, 0, sizeof(*report));
    int status = 1 << 8;
    if (script_read(&s, path)) {
        play_apart(&s, NULL);
        uint32_t ours = report->ours;
        bool learnt = report->ours_learnt;
        memset(report, 0, sizeof(*report));
        report->loud = loud;
        status = play_apart(&s, learnt ? &ours : NULL);
    } else {
        report->line = s.line;
        snprintf(report->wrong, sizeof(report->wrong), "%s", s.wrong);
    }
    if (status != 0)
        print_failed(path, status);
    script_free(&s);
    return status == 0;
}

/* "rst/in_window" */
static void print_case(unsigned n, bool passed, const char *path)
{
    const char *name = strrchr(path, '/');
    while (name && name > path && name[-1] != '/')
        name--;
    name = name ? name : path;
    printf("%s %u - %.*s\n", passed ? "ok" : "not ok", n, (int)strlen(name) - 4, name);
}

int main(int argc, char **argv)
{
    bool loud = argc > 1 && strcmp(argv[1], "-v") == 0;
    for (int i = loud ? 2 : 1; i < argc; i++)
        if (nftw(argv[i], add, 16, FTW_PHYS) != 0)
            perror(argv[i]);
    qsort(paths, n_paths, sizeof(paths[0]), by_name);
    report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (report == MAP_FAILED || n_paths == 0) {
        printf("Bail out! no scripts\n");
        return EXIT_FAILURE;
    }
    printf("1..%u\n", n_paths);
    bool passed = true;
    for (unsigned i = 0; i < n_paths; i++) {
        bool this_one = play_script(paths[i], loud);
        print_case(i + 1, this_one, paths[i]);
        passed = passed && this_one;
        free(paths[i]);
    }
    return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
