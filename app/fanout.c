/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DPDK's AF_PACKET driver joins its sockets in a fanout group that asks the kernel to put IPv4
 * fragments together before it chooses a socket. The result is longer than a frame of the ring, so
 * it is cut off: no fragmented datagram ever arrives whole. The driver has no argument against it.
 *
 * So the program defines setsockopt itself, which the dynamic linker then prefers for every library
 * of the process, and takes that one flag out on the way to the kernel. Fragments come one by one;
 * the kernel hashes them by addresses, as steer_owner does. It is no more than the C library's
 * function on 64-bit machines, and the linker is told to export it. There is no gentler way: the
 * driver joins a group for a single queue, too, and the kernel lets no socket leave one or change
 * its flags.
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_packet.h>

#define FANOUT_FLAGS_SHIFT 16 /* packet(7): the mode and flags are the upper half */

_Static_assert(sizeof(time_t) == sizeof(long), "no option of a socket is to be converted");

__attribute__((visibility("default"))) int setsockopt(int fd, int level, int name,
                                                      const void *value, socklen_t length)
{
    unsigned fanout;
    if (level == SOL_PACKET && name == PACKET_FANOUT && length == sizeof(fanout)) {
        fanout = *(const unsigned *)value;
        fanout &= ~((unsigned)PACKET_FANOUT_FLAG_DEFRAG << FANOUT_FLAGS_SHIFT);
        value = &fanout;
    }
    return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}
