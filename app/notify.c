/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/notify.h"

#ifdef HAVE_SYSTEMD
#include <time.h>

#include <systemd/sd-daemon.h>

#define STOP_TICKS (5 * TICK_SEC) /* what workers take to stop, and some to spare */

void notify_ready(void)
{
    sd_notify(0, "READY=1\nSTATUS=Workers are running.");
}

void notify_reloading(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%lld",
               (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

void notify_draining(uint64_t n)
{
    sd_notifyf(0, "STATUS=HTTP connections that are drained: %llu.", (unsigned long long)n);
}

void notify_stopping(tick_t patience)
{
    sd_notifyf(0, "STOPPING=1\nSTATUS=%s\nEXTEND_TIMEOUT_USEC=%llu",
               patience ? "Stopping when HTTP connections have ended." : "Workers are stopping.",
               (unsigned long long)((patience + STOP_TICKS) / TICK_US));
}

void notify_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}

tick_t notify_interval(void)
{
    uint64_t us;
    if (sd_watchdog_enabled(0, &us) <= 0)
        return TICK_NEVER;
    return us * TICK_US / 2; /* as sd_watchdog_enabled(3) recommends */
}

#else

void notify_ready(void)
{
}

void notify_reloading(void)
{
}

void notify_draining(uint64_t n)
{
    (void)n;
}

void notify_stopping(tick_t patience)
{
    (void)patience;
}

void notify_alive(void)
{
}

tick_t notify_interval(void)
{
    return TICK_NEVER;
}

#endif
