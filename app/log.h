/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_LOG_H
#define MILLRACE_APP_LOG_H

/*
 * The log: one line for each event, on standard error or in a file, as text or as JSON. For the
 * control thread and DPDK's own threads; a worker's data path counts instead. A line is one write,
 * so that lines of several threads do not mix.
 */

#include <stdbool.h>
#include <stdint.h>

#include "app/config.h"

/*
 * Where and what to log from now on: again after a reload, or to reopen a rotated file. False
 * (errno says why) where the file cannot be opened: then all stays as it was. Before the first
 * call, notices and worse go to standard error as text.
 */
bool log_open(enum config_log_level level, const char *file, bool json);
void log_close(void);

bool log_enabled(enum config_log_level level);
void log_line(enum config_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_line(CONFIG_LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(CONFIG_LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_line(CONFIG_LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_line(CONFIG_LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_line(CONFIG_LOG_DEBUG, __VA_ARGS__)

/* For an event that may come often: at most `burst` lines in each second. Zeroed at first. */
struct log_limit {
    tick_t since;
    uint32_t lines;
    uint32_t suppressed;
};

/* May another line be written? When it may again after some were not, says how many in the log. */
bool log_allow(struct log_limit *limit, uint32_t burst, tick_t now);

#endif
