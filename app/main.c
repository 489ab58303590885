/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The appliance's command: reads the configuration, starts the engine, and hands the thread to the
 * control loop until it is told to stop.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cert.h"
#include "app/config.h"
#include "app/control.h"
#include "app/engine.h"
#include "app/log.h"
#include "app/notify.h"
#include "app/openssl_memory.h"

#define DEFAULT_CONFIG "/etc/millrace/millrace.yaml"

enum exit_code {
    EXIT_OK = 0,
    EXIT_START = 1,  /* the appliance could not start */
    EXIT_CONFIG = 2, /* the command line or the configuration is wrong */
    EXIT_STUCK = 3,  /* a worker did not stop in time */
};

static const char help[] =
    "millrace: a network appliance on kernel bypass\n"
    "\n"
    "  millrace [--config FILE]          run until SIGTERM; SIGHUP reads FILE again\n"
    "                                    --no-hugepages: whatever memory.hugepages says\n"
    "  millrace --check [FILE]           say whether FILE is valid, and what keeps it from starting "
    "here\n"
    "  millrace cert --out DIR           make a certificate for a first run; cert --help says more\n"
    "  millrace --example                print every key with its default, commented\n"
    "  millrace --version\n"
    "  millrace --help\n"
    "\n"
    "FILE is " DEFAULT_CONFIG " if not given. With --check goes --strict: exit with\n"
    "1 where FILE is valid, but would not start here.\n"
    "\n"
    "Exit codes:\n"
    "  0  stopped when told to; --check: FILE is valid, whatever this machine lacks\n"
    "  1  could not start; the last lines of the log say why; --check --strict: would not\n"
    "  2  wrong command line, or FILE is not valid\n"
    "  3  told to stop, but a worker did not within two seconds\n"
    "\n"
    "millracectl shows and steers a running appliance; millracectl doctor looks at the machine.\n";

struct options {
    const char *file;
    bool check;
    bool strict;
    bool no_hugepages;
};

static struct config *load(const char *file)
{
    struct config *c = config_load(file, stderr);
    if (!c && !strcmp(file, DEFAULT_CONFIG) && access(file, F_OK) < 0)
        fputs("millrace --config names another; millrace --example prints one to start from\n",
              stderr);
    return c;
}

static void print_warnings(const struct config *c, const char *file)
{
    char *text = NULL;
    size_t size = 0;
    FILE *warnings = open_memstream(&text, &size);
    if (!warnings)
        return;
    unsigned n = config_warn(c, file, warnings);
    fclose(warnings);
    if (n > 0)
        printf("%s: allowed, but is it meant?\n%s", file, text);
    free(text);
}

static int check(const char *file, bool strict)
{
    struct config *c = load(file);
    if (!c)
        return EXIT_CONFIG;
    char *text = NULL;
    size_t size = 0;
    FILE *faults = open_memstream(&text, &size);
    unsigned n = faults ? config_probe(c, file, faults) : 0;
    if (faults)
        fclose(faults);
    if (n == 0)
        printf("%s: valid, and this machine has what it names\n", file);
    else
        printf("%s: valid; what stands in its way here:\n%s", file, text);
    free(text);
    print_warnings(c, file);
    config_free(c);
    return strict && n > 0 ? EXIT_START : EXIT_OK;
}

static bool open_log(const struct config *c)
{
    if (log_open(c->log.level, c->log.file, c->log.json))
        return true;
    log_error("log.file %s: %s", c->log.file, strerror(errno));
    return false;
}

/* DPDK cannot start twice in one process. */
static int run_without_hugepages(const char *file)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    log_warning("memory: hugepages were free, but cannot be had; starting again without");
    log_close();
    close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC); /* DPDK has threads that use them */
    if (n > 0) {
        path[n] = '\0';
        execl(path, "millrace", "--no-hugepages", "--config", file, (char *)NULL);
    }
    log_error("%s: %s", n > 0 ? path : "/proc/self/exe", strerror(errno));
    return EXIT_START;
}

static int run(const char *file, bool no_hugepages)
{
    if (!control_block_signals()) /* first, for a reload may be asked for at any time */
        return EXIT_START;
    struct config *c = load(file);
    if (!c)
        return EXIT_CONFIG;
    struct runtime rt = {
        .file = file, .config = c, .no_hugepages = no_hugepages, .access_log.fd = -1};
    struct http *http = NULL;
    int code = EXIT_START;
    /* The socket first: DPDK takes a while, and a second appliance has to notice before that. */
    if (open_log(c) && (http = http_open(c)) && engine_start(&rt) && control_run(&rt, http))
        code = EXIT_OK;
    http_stop(http);
    if (!engine_stop(&rt)) {
        /* What the worker uses cannot be taken from under it. */
        log_close();
        _exit(code == EXIT_OK ? EXIT_STUCK : code);
    }
    if (code == EXIT_OK)
        log_notice("stopped");
    config_free(rt.config);
    if (rt.hugepages_gone)
        return run_without_hugepages(file);
    log_close();
    return code;
}

/* What the command line asks for; -1: run or check with *o. */
static int parse(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"config", required_argument, NULL, 'c'}, {"check", no_argument, NULL, 'k'},
        {"strict", no_argument, NULL, 's'},       {"no-hugepages", no_argument, NULL, 'n'},
        {"example", no_argument, NULL, 'e'},      {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "c:h", table, NULL)) != -1;) {
        switch (option) {
        case 'c': o->file = optarg; break;
        case 'k': o->check = true; break;
        case 's': o->strict = true; break;
        case 'n': o->no_hugepages = true; break;
        case 'e': config_print_example(stdout); return EXIT_OK;
        case 'V': puts("millrace " MILLRACE_VERSION); return EXIT_OK;
        case 'h': fputs(help, stdout); return EXIT_OK;
        default: fputs("millrace --help lists the options\n", stderr); return EXIT_CONFIG;
        }
    }
    if (o->check && optind + 1 == argc)
        o->file = argv[optind++];
    if (o->strict && !o->check) {
        fputs("millrace: --strict goes with --check\n", stderr);
        return EXIT_CONFIG;
    }
    if (optind < argc) {
        fprintf(stderr,
                "millrace: '%s' is not expected; --config names a configuration, and millrace "
                "--help lists the options\n",
                argv[optind]);
        return EXIT_CONFIG;
    }
    return -1;
}

/* Otherwise the first files that are opened get these numbers, and our output. */
static bool have_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    return fd >= 0 && close(fd) == 0;
}

int main(int argc, char **argv)
{
    if (!have_standard_files())
        return EXIT_START;
    if (!openssl_memory_init()) {
        fputs("millrace: something has used OpenSSL already\n", stderr);
        return EXIT_START;
    }
    if (argc > 1 && !strcmp(argv[1], "cert")) {
        char name[] = "millrace cert"; /* what getopt begins its messages with */
        argv[1] = name;
        return cert_main(argc - 1, argv + 1);
    }
    struct options o = {.file = DEFAULT_CONFIG};
    int code = parse(argc, argv, &o);
    if (code >= 0)
        return code;
    return o.check ? check(o.file, o.strict) : run(o.file, o.no_hugepages);
}
