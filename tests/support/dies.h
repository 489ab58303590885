/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_TESTS_DIES_H
#define MILLRACE_TESTS_DIES_H

/* Does f(arg) end in a failed assertion? It runs in a child whose messages are dropped. */

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool dies(void (*f)(void *), void *arg)
{
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, STDERR_FILENO);
        f(arg);
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

#endif
