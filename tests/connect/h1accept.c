/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes any server a proxy of HTTP/1.1 that connects to itself: preloaded, accept(2) takes the head
 * of a CONNECT request off the new connection, whatever it asks for, and grants it. nghttpx, which
 * as a proxy of HTTP/2 speaks to another proxy only, so has the target itself behind it, and
 * nothing between that costs.
 */
#define _GNU_SOURCE /* accept4 */

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define HEAD_MAX 4096
#define PATIENCE 5 /* seconds */

/* One byte at a time, to take none that comes behind it. */
static int take_head(int fd)
{
    static const char end[4] = {'\r', '\n', '\r', '\n'};
    char last[4] = {0};
    for (int n = 0; n < HEAD_MAX && memcmp(last, end, 4) != 0; n++) {
        memmove(last, last + 1, 3);
        if (recv(fd, &last[3], 1, 0) != 1)
            return -1;
    }
    return memcmp(last, end, 4) == 0 ? 0 : -1;
}

/* The headers of glibc and of other libraries spell its parameters differently; these are POSIX's.
 */
int accept(int listener, struct sockaddr *address, socklen_t *len)
{
    static const char granted[] = "HTTP/1.1 200 OK\r\n\r\n";
    const ssize_t size = sizeof(granted) - 1;
    const struct timeval patience = {.tv_sec = PATIENCE}, for_ever = {0};
    int fd = accept4(listener, address, len, 0);
    if (fd < 0)
        return fd;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (take_head(fd) != 0 || send(fd, granted, (size_t)size, MSG_NOSIGNAL) != size)
        shutdown(fd, SHUT_RDWR); /* the server will find it ended */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever));
    return fd;
}
