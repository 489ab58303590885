/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/netdev.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <linux/ethtool.h>
#include <linux/sockios.h>

static int request(const char *interface, unsigned long code, struct ifreq *r)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", interface);
    int ret = ioctl(fd, code, r);
    int saved = errno;
    close(fd);
    errno = saved;
    return ret;
}

/* Where the driver does not say: the kernel's own list. */
static unsigned listed_queues(const char *interface)
{
    char path[64 + IF_NAMESIZE];
    unsigned n = 0;
    snprintf(path, sizeof(path), "/sys/class/net/%.*s/queues", IF_NAMESIZE, interface);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strncmp(e->d_name, "rx-", 3) == 0;
    if (d)
        closedir(d);
    return n > 0 ? n : 1;
}

unsigned netdev_queues(const char *interface, unsigned *combined)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ifreq r = {.ifr_data = (void *)&channels};
    *combined = 0;
    if (request(interface, SIOCETHTOOL, &r) != 0)
        return listed_queues(interface);
    *combined = channels.combined_count;
    unsigned n = channels.combined_count + channels.rx_count;
    return n > 0 ? n : 1;
}

/* An abstract name belongs to the network namespace, as the interface does, and goes with its
 * owner however that ends. */
int netdev_claim(const char *interface)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "millrace/%s", interface);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    if (bind(fd, (struct sockaddr *)&a, length) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

bool netdev_up(const char *interface, bool *was_down)
{
    struct ifreq r = {.ifr_flags = 0};
    if (request(interface, SIOCGIFFLAGS, &r) != 0)
        return false;
    *was_down = !(r.ifr_flags & IFF_UP);
    r.ifr_flags |= IFF_UP;
    return !*was_down || request(interface, SIOCSIFFLAGS, &r) == 0;
}

void netdev_down(const char *interface)
{
    struct ifreq r = {.ifr_flags = 0};
    if (request(interface, SIOCGIFFLAGS, &r) != 0)
        return;
    r.ifr_flags = (short)(r.ifr_flags & ~IFF_UP);
    request(interface, SIOCSIFFLAGS, &r);
}

bool netdev_promiscuous(const char *interface)
{
    struct ifreq r = {.ifr_flags = 0};
    return request(interface, SIOCGIFFLAGS, &r) == 0 && r.ifr_flags & IFF_PROMISC;
}

bool netdev_running(const char *interface)
{
    struct ifreq r = {.ifr_flags = 0};
    return request(interface, SIOCGIFFLAGS, &r) == 0 && r.ifr_flags & IFF_RUNNING;
}

unsigned netdev_index(const char *interface)
{
    return if_nametoindex(interface);
}

bool netdev_exists(unsigned index)
{
    char name[IF_NAMESIZE];
    return if_indextoname(index, name);
}

unsigned netdev_mtu(const char *interface)
{
    struct ifreq r = {.ifr_mtu = 0};
    return request(interface, SIOCGIFMTU, &r) == 0 ? (unsigned)r.ifr_mtu : 0;
}

bool netdev_set_mtu(const char *interface, unsigned mtu)
{
    struct ifreq r = {.ifr_mtu = (int)mtu};
    return request(interface, SIOCSIFMTU, &r) == 0;
}
