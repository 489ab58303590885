/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

/* Written by the control thread only (log_open), read by all. */
static _Atomic int log_fd = STDERR_FILENO;
static _Atomic int log_level = CONFIG_LOG_NOTICE;
static _Atomic bool log_json;

static const char *const level_names[] = {
    [CONFIG_LOG_ERROR] = "error", [CONFIG_LOG_WARNING] = "warning", [CONFIG_LOG_NOTICE] = "notice",
    [CONFIG_LOG_INFO] = "info",   [CONFIG_LOG_DEBUG] = "debug",
};

bool log_open(enum config_log_level level, const char *file, bool json)
{
    int fd = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640)
                  : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (fd < 0)
        return false;
    /* The log keeps its descriptor number, so that a thread about to write never meets a closed
     * one. */
    int old = atomic_load(&log_fd);
    if (old != STDERR_FILENO) {
        dup3(fd, old, O_CLOEXEC);
        close(fd);
    } else {
        atomic_store(&log_fd, fd);
    }
    atomic_store(&log_level, (int)level);
    atomic_store(&log_json, json);
    return true;
}

void log_close(void)
{
    int old = atomic_exchange(&log_fd, STDERR_FILENO);
    if (old != STDERR_FILENO)
        close(old);
}

bool log_enabled(enum config_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* "2024-05-01T12:00:00.123Z" */
static void timestamp(char *to, size_t room)
{
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t n = strftime(to, room, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(to + n, room - n, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Text as the inside of a JSON string; cut where room ends. Returns the length. */
static size_t json_escape(char *to, size_t room, const char *text)
{
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c && n + 7 < room; c++) {
        if (*c == '"' || *c == '\\') {
            to[n++] = '\\';
            to[n++] = (char)*c;
        } else if (*c < 0x20) {
            n += (size_t)snprintf(to + n, 7, "\\u%04x", *c);
        } else {
            to[n++] = (char)*c;
        }
    }
    to[n] = '\0';
    return n;
}

/* A message is one line whatever it holds. */
static void flatten(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    for (char *c = text; *c; c++)
        if (*c == '\n' || *c == '\r')
            *c = ' ';
}

void log_line(enum config_log_level level, const char *format, ...)
{
    if (!log_enabled(level))
        return;
    int saved = errno;
    char text[LINE_MAX_BYTES / 2], stamp[40], line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    flatten(text);
    timestamp(stamp, sizeof(stamp));

    int n;
    if (atomic_load(&log_json)) {
        char escaped[sizeof(line) - 128];
        json_escape(escaped, sizeof(escaped), text);
        n = snprintf(line, sizeof(line), "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"%s\"}\n",
                     stamp, level_names[level], escaped);
    } else {
        n = snprintf(line, sizeof(line), "%s %s: %s\n", stamp, level_names[level], text);
    }
    /* Nowhere is left to say that the log cannot be written. */
    ssize_t ignored = write(atomic_load(&log_fd), line, (size_t)n);
    (void)ignored;
    errno = saved;
}

bool log_allow(struct log_limit *limit, uint32_t burst, tick_t now)
{
    if (limit->lines == 0 || tick_since(now, limit->since) >= TICK_SEC) {
        if (limit->suppressed > 0)
            log_notice("%u more lines of the kind that follows were not written",
                       limit->suppressed);
        *limit = (struct log_limit){.since = now};
    }
    if (limit->lines >= burst) {
        limit->suppressed++;
        return false;
    }
    limit->lines++;
    return true;
}
