/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/eal.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_pdump.h>

#include "app/log.h"
#include "app/plan.h"

#define ARGS_MAX       128
#define ARG_BYTES      1024
#define LOG_LINES      20 /* of DPDK in a second */
#define HUGEPAGES_ROOT "/sys/kernel/mm/hugepages"

const char *eal_memory_name(enum eal_memory m)
{
    static const char *const names[] = {
        [EAL_HUGEPAGES] = "hugepages",
        [EAL_IN_MEMORY] = "hugepages without a mount",
        [EAL_NO_HUGE] = "no hugepages",
    };
    return names[m];
}

/* ---- DPDK's log ---- */

static enum config_log_level level_of(int rte_level)
{
    if (rte_level <= (int)RTE_LOG_ERR)
        return CONFIG_LOG_ERROR;
    if (rte_level == (int)RTE_LOG_WARNING)
        return CONFIG_LOG_WARNING;
    if (rte_level == (int)RTE_LOG_NOTICE)
        return CONFIG_LOG_NOTICE;
    return rte_level == (int)RTE_LOG_INFO ? CONFIG_LOG_INFO : CONFIG_LOG_DEBUG;
}

/* Drivers may complain at packet rate. The stream's lock makes this one thread's at a time. */
static ssize_t log_cookie_write(void *cookie, const char *text, size_t n)
{
    static struct log_limit limit;
    struct timespec now;
    (void)cookie;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (log_enabled(CONFIG_LOG_DEBUG) ||
        log_allow(&limit, LOG_LINES, (tick_t)now.tv_sec * TICK_SEC + (tick_t)now.tv_nsec))
        log_line(level_of(rte_log_cur_msg_loglevel()), "%.*s", (int)n, text);
    return (ssize_t)n;
}

void eal_log(enum config_log_level level)
{
    static const uint32_t levels[] = {
        [CONFIG_LOG_ERROR] = RTE_LOG_ERR,      [CONFIG_LOG_WARNING] = RTE_LOG_WARNING,
        [CONFIG_LOG_NOTICE] = RTE_LOG_WARNING, [CONFIG_LOG_INFO] = RTE_LOG_NOTICE,
        [CONFIG_LOG_DEBUG] = RTE_LOG_INFO,
    };
    rte_log_set_global_level(levels[level]);
}

/*
 * libxdp and libbpf, which the AF_XDP driver brings along, write to standard error by themselves.
 * We do not link them, so their switch is looked up where they are loaded.
 */
enum { XDP_WARN, XDP_INFO, XDP_DEBUG };

__attribute__((format(printf, 2, 0))) static int xdp_print(int level, const char *format,
                                                           va_list args)
{
    char text[512];
    if (level != XDP_DEBUG && log_enabled(CONFIG_LOG_DEBUG)) {
        vsnprintf(text, sizeof(text), format, args);
        log_debug("%s", text);
    }
    return 0;
}

static void xdp_log_attach(void)
{
    static const struct {
        const char *library;
        const char *function;
    } switches[] = {{"libbpf.so.1", "libbpf_set_print"},
                    {"libbpf.so.0", "libbpf_set_print"},
                    {"libxdp.so.1", "libxdp_set_print"}};
    for (unsigned i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        void *library = dlopen(switches[i].library, RTLD_LAZY | RTLD_NOLOAD);
        void *found = library ? dlsym(library, switches[i].function) : NULL;
        void *(*set_print)(int (*)(int, const char *, va_list));
        if (!found)
            continue;
        memcpy(&set_print, &found, sizeof(set_print)); /* POSIX dlsym: an object's pointer */
        set_print(xdp_print);
    }
}

/* DPDK keeps the stream for the life of the process: it logs as late as in its destructors. */
static void log_attach(enum config_log_level level)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = log_cookie_write});
    if (!f)
        return;
    setvbuf(f, NULL, _IOLBF, BUFSIZ);
    rte_openlog_stream(f);
    eal_log(level);
}

/* ---- hugepages ---- */

static uint64_t read_number(const char *path)
{
    FILE *f = fopen(path, "re");
    unsigned long long n = 0;
    if (f) {
        if (fscanf(f, "%llu", &n) != 1)
            n = 0;
        fclose(f);
    }
    return n;
}

/* Free hugepages of all sizes, in megabytes. */
static uint64_t hugepages_free_mb(void)
{
    uint64_t kb = 0;
    DIR *d = opendir(HUGEPAGES_ROOT);
    for (struct dirent *e; d && (e = readdir(d));) {
        unsigned long long size;
        char path[sizeof(HUGEPAGES_ROOT) + sizeof(e->d_name) + 32];
        char taken[sizeof(path)];
        if (sscanf(e->d_name, "hugepages-%llukB", &size) != 1)
            continue;
        snprintf(path, sizeof(path), HUGEPAGES_ROOT "/%s/free_hugepages", e->d_name);
        snprintf(taken, sizeof(taken), HUGEPAGES_ROOT "/%s/resv_hugepages", e->d_name);
        uint64_t n = read_number(path);
        uint64_t promised = read_number(taken); /* to mappings that have not touched them yet */
        kb += size * (n > promised ? n - promised : 0);
    }
    if (d)
        closedir(d);
    return kb >> 10;
}

/*
 * DPDK leaves its hugepage files behind, and they hold memory: at its end (ours: we hold a lock on
 * each) as when it is killed (nobody does; but a live process with the same prefix may).
 */
static void remove_files(const char *mount, const char *prefix, bool ours)
{
    char start[128];
    int n = snprintf(start, sizeof(start), "%smap_", prefix);
    DIR *d = n > 0 && (size_t)n < sizeof(start) ? opendir(mount) : NULL;
    if (!d)
        return;
    for (struct dirent *e; (e = readdir(d));) {
        if (strncmp(e->d_name, start, (size_t)n) != 0)
            continue;
        int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (ours || flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
        close(fd);
    }
    closedir(d);
}

/* Whether there is a hugetlbfs that we may write to. Stale files of the prefix in any are removed,
 * and after our own end all of them. */
static bool hugetlbfs_clear(const char *prefix, bool ours)
{
    bool found = false;
    FILE *f = setmntent("/proc/self/mounts", "re");
    if (!f)
        return false;
    for (struct mntent *m; (m = getmntent(f));) {
        if (strcmp(m->mnt_type, "hugetlbfs") != 0 || access(m->mnt_dir, W_OK) != 0)
            continue;
        remove_files(m->mnt_dir, prefix, ours);
        found = true;
    }
    endmntent(f);
    return found;
}

/* What ordinary pages there are, in megabytes. */
static uint64_t memory_available_mb(void)
{
    char line[128];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof(line), f) && sscanf(line, "MemAvailable: %llu kB", &kb) != 1)
        continue;
    if (f)
        fclose(f);
    return f ? kb >> 10 : UINT64_MAX;
}

/* DPDK takes it all at once, and where there is not enough the kernel kills whom it likes. */
static bool choose_ordinary(const char *why, uint32_t megabytes, enum eal_memory *memory)
{
    uint64_t available_mb = memory_available_mb();
    *memory = EAL_NO_HUGE;
    if (megabytes > available_mb) {
        log_error("memory: %u MiB are wanted, and this machine has %llu MiB left; lower "
                  "memory.packets, or the number of workers or queues",
                  megabytes, (unsigned long long)available_mb);
        return false;
    }
    log_notice("memory: %u MiB without hugepages, %s", megabytes, why);
    return true;
}

static void say_hugepages(bool mounted, uint64_t free_mb, uint32_t megabytes)
{
    if (mounted)
        log_notice("memory: hugepages, %llu MiB free of which %u MiB are wanted",
                   (unsigned long long)free_mb, megabytes);
    else
        log_notice("memory: hugepages, without a mount (no hugetlbfs that we may write to, so "
                   "dpdk-dumpcap cannot join; for that: mkdir -p /dev/hugepages && mount -t "
                   "hugetlbfs -o uid=%u none /dev/hugepages)",
                   (unsigned)geteuid());
}

/* Of 2 MiB, others'. */
static uint64_t hugepages_used(void)
{
    return read_number(HUGEPAGES_ROOT "/hugepages-2048kB/nr_hugepages") -
           read_number(HUGEPAGES_ROOT "/hugepages-2048kB/free_hugepages");
}

/* Chooses, and says in one line what and why. False: the configuration wants what is not there. */
static bool memory_choose(const struct config *c, bool no_hugepages, enum eal_memory *memory)
{
    char why[256], fix[PLAN_FIX_MAX];
    uint32_t megabytes = plan_megabytes(c);
    bool mounted = hugetlbfs_clear(c->memory.file_prefix, false);
    uint64_t free_mb = hugepages_free_mb();

    if (no_hugepages)
        return choose_ordinary("as --no-hugepages says", megabytes, memory);
    if (c->memory.hugepages == CONFIG_HUGEPAGES_OFF)
        return choose_ordinary("as memory.hugepages says", megabytes, memory);
    if (free_mb >= megabytes) {
        *memory = mounted ? EAL_HUGEPAGES : EAL_IN_MEMORY;
        say_hugepages(mounted, free_mb, megabytes);
        return true;
    }
    plan_hugepages_fix(c, hugepages_used(), fix);
    if (c->memory.hugepages == CONFIG_HUGEPAGES_ON) {
        log_error("memory.hugepages is on, but %llu MiB are free and %u MiB are wanted; type: %s",
                  (unsigned long long)free_mb, megabytes, fix);
        return false;
    }
    snprintf(why, sizeof(why), "for %llu MiB of those are free; faster with: %s",
             (unsigned long long)free_mb, fix);
    return choose_ordinary(why, megabytes, memory);
}

/* ---- arguments ---- */

/* Pointers into text, which is filled from the front. */
struct args {
    char *arg[ARGS_MAX + 1];
    int n;
    char text[ARGS_MAX * ARG_BYTES / 8];
    size_t used;
    bool full;
};

__attribute__((format(printf, 2, 3))) static void arg_add(struct args *a, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(a->text + a->used, sizeof(a->text) - a->used, format, list);
    va_end(list);
    if (n < 0 || (size_t)n >= sizeof(a->text) - a->used || a->n == ARGS_MAX) {
        a->full = true;
        return;
    }
    a->arg[a->n++] = a->text + a->used;
    a->used += (size_t)n + 1;
}

/* CPUs for the control core, as DPDK writes a set: where we may run, without the workers' where
 * that leaves any. */
static void control_cpus(const struct config *c, char *to, size_t room)
{
    cpu_set_t all, rest;
    if (sched_getaffinity(0, sizeof(all), &all) != 0)
        CPU_ZERO(&all);
    rest = all;
    for (unsigned i = 0; i < c->workers.n; i++)
        CPU_CLR(c->workers.core[i], &rest);
    const cpu_set_t *use = CPU_COUNT(&rest) > 0 ? &rest : &all;
    size_t n = 0;
    to[0] = '\0';
    for (unsigned cpu = 0; cpu < CPU_SETSIZE && n + 8 < room; cpu++)
        if (CPU_ISSET(cpu, use))
            n += (size_t)snprintf(to + n, room - n, "%s%u", n ? "," : "", cpu);
}

static void add_lcores(struct args *a, const struct config *c)
{
    char set[ARG_BYTES * 2];
    char text[ARG_BYTES * 4];
    if (c->control.core >= 0)
        snprintf(set, sizeof(set), "%d", c->control.core);
    else
        control_cpus(c, set, sizeof(set));
    size_t n = (size_t)snprintf(text, sizeof(text), "0@(%s)", set);
    for (unsigned i = 0; i < c->workers.n && n < sizeof(text); i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",%u@%u", i + 1, c->workers.core[i]);
    arg_add(a, "--lcores=%s", text);
    arg_add(a, "--main-lcore=0");
}

static void add_devices(struct args *a, const struct config *c)
{
    bool pci = false;
    for (unsigned i = 0; i < c->n_devices; i++) {
        const struct config_device *d = &c->device[i];
        if (d->driver != CONFIG_DRIVER_PCI)
            continue;
        const char *more = d->args && d->args[0] ? d->args : NULL;
        arg_add(a, "-a%s%s%s", d->pci, more ? "," : "", more ? more : "");
        pci = true;
    }
    if (!pci)
        arg_add(a, "--no-pci");
}

static void add_memory(struct args *a, const struct config *c, enum eal_memory memory)
{
    uint32_t megabytes = plan_megabytes(c);
    arg_add(a, "--file-prefix=%s", c->memory.file_prefix);
    if (memory == EAL_IN_MEMORY)
        arg_add(a, "--in-memory");
    if (memory == EAL_NO_HUGE) {
        arg_add(a, "--no-huge");
        arg_add(a, "-m%u", megabytes);
    } else if (c->memory.megabytes > 0) {
        arg_add(a, "-m%u", megabytes);
    }
}

/* Splits as a shell would: blanks separate, quotes and backslashes protect. */
static void add_split(struct args *a, const char *text)
{
    while (*text) {
        char word[ARG_BYTES];
        size_t n = 0;
        char quote = '\0';
        text += strspn(text, " \t\n");
        if (!*text)
            return;
        for (; *text && (quote || !strchr(" \t\n", *text)); text++) {
            if (*text == quote)
                quote = '\0';
            else if (!quote && (*text == '"' || *text == '\''))
                quote = *text;
            else if (n + 1 < sizeof(word))
                word[n++] = *text == '\\' && quote != '\'' && text[1] ? *++text : *text;
        }
        word[n] = '\0';
        arg_add(a, "%s", word);
    }
}

/* The process that holds DPDK's lock in its directory for a prefix; 0: none. */
static pid_t holder(const char *directory)
{
    char path[PATH_MAX + sizeof("/config")];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(path, sizeof(path), "%s/config", directory);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    pid_t pid = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
    close(fd);
    return pid;
}

/* True, and a line in the log: another process has the prefix. */
static bool taken(const struct config *c, const char *directory)
{
    pid_t other = holder(directory);
    if (other > 0)
        log_error("process %d already runs with memory.file-prefix '%s'; stop it or choose another "
                  "prefix",
                  (int)other, c->memory.file_prefix);
    return other > 0;
}

/* The same before DPDK starts and says where its directory is: a second appliance is to end before
 * it has touched anything. Where this looks in the wrong place, DPDK's own check is left. */
static bool taken_beforehand(const struct config *c)
{
    char path[PATH_MAX];
    const char *parent = getenv("RUNTIME_DIRECTORY"); /* systemd.exec(5) */
    if (!parent)
        parent = getuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
    snprintf(path, sizeof(path), "%s/dpdk/%s", parent ? parent : "/tmp", c->memory.file_prefix);
    return taken(c, path);
}

static void explain_failure(const struct config *c, const struct args *a)
{
    char line[ARG_BYTES];
    size_t n = 0;
    line[0] = '\0';
    for (int i = 1; i < a->n && n < sizeof(line); i++)
        n += (size_t)snprintf(line + n, sizeof(line) - n, " %s", a->arg[i]);
    if (taken(c, rte_eal_get_runtime_dir()))
        return;
    if (rte_errno == EINVAL && c->memory.eal_args)
        log_error("DPDK does not take memory.eal-args: '%s'", c->memory.eal_args);
    else
        log_error("DPDK did not start: %s; its arguments were:%s; millracectl doctor says what "
                  "this machine lacks",
                  rte_errno ? rte_strerror(rte_errno) : "it gives no reason", line);
}

/* Where DPDK does not know an argument it prints pages about all that it does. */
static int init_quietly(struct args *a)
{
    fflush(stdout);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (out >= 0 && null >= 0)
        dup2(null, STDOUT_FILENO);
    opterr = 0;
    int ret = rte_eal_init(a->n, a->arg);
    fflush(stdout);
    if (out >= 0)
        dup2(out, STDOUT_FILENO);
    close(null);
    close(out);
    return ret;
}

bool eal_may_go_without(const struct config *c, enum eal_memory memory)
{
    return memory != EAL_NO_HUGE && c->memory.hugepages == CONFIG_HUGEPAGES_AUTO;
}

enum eal_outcome eal_start(const struct config *c, bool no_hugepages, enum eal_memory *memory)
{
    if (taken_beforehand(c) || !memory_choose(c, no_hugepages, memory))
        return EAL_REFUSED;

    /* DPDK permutes the array and keeps pointers to the text for the process's life. */
    static struct args args;
    struct args *a = &args;
    arg_add(a, "millrace");
    add_lcores(a, c);
    add_devices(a, c);
    add_memory(a, c, *memory);
    /* Otherwise it warns of a socket of an old kind, which nobody misses. */
    arg_add(a, "--log-level=lib.telemetry:error");
    if (c->memory.eal_args)
        add_split(a, c->memory.eal_args);
    if (a->full) {
        log_error("memory.eal-args is too long");
        return EAL_REFUSED;
    }
    log_attach(c->log.level);
    if (init_quietly(a) < 0) {
        /* Taken by another since they were counted: before DPDK looked, or while it mapped them. */
        bool gone = rte_errno == ENOMEM || hugepages_free_mb() < plan_megabytes(c);
        if (gone && eal_may_go_without(c, *memory))
            return EAL_HUGEPAGES_GONE;
        explain_failure(c, a);
        return EAL_REFUSED;
    }
    xdp_log_attach();
    if (*memory == EAL_HUGEPAGES && rte_pdump_init() < 0) /* without files nobody can join */
        log_warning("dpdk-dumpcap cannot capture here: %s", rte_strerror(rte_errno));
    return EAL_UP;
}

void eal_stop(const struct config *c, enum eal_memory memory)
{
    if (memory == EAL_HUGEPAGES)
        rte_pdump_uninit();
    rte_eal_cleanup();
    if (memory == EAL_HUGEPAGES)
        hugetlbfs_clear(c->memory.file_prefix, true);
}
