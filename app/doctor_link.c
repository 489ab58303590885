/* SPDX-License-Identifier: BSD-3-Clause */
/* What only rtnetlink tells of an interface. */
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "app/doctor.h"

static int ask(int fd, unsigned index, void *reply, size_t room)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
    } q = {
        .head = {.nlmsg_len = sizeof(q), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
        .link = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index}};
    if (send(fd, &q, sizeof(q), 0) < 0)
        return -1;
    ssize_t n = recv(fd, reply, room, 0);
    return n < 0 ? -1 : (int)n;
}

/* <linux/rtnetlink.h> has macros for these two that mix signs. */
static bool attr_fits(const struct rtattr *a, size_t left)
{
    return left >= sizeof(*a) && a->rta_len >= sizeof(*a) && a->rta_len <= left;
}

static const struct rtattr *attr_next(const struct rtattr *a, size_t *left)
{
    size_t step = RTA_ALIGN(a->rta_len);
    step = step < *left ? step : *left;
    *left -= step;
    return (const struct rtattr *)((const char *)a + step);
}

/* Is a program attached? attr is IFLA_XDP. */
static bool xdp_attached(const struct rtattr *attr)
{
    size_t left = RTA_PAYLOAD(attr);
    for (const struct rtattr *a = RTA_DATA(attr); attr_fits(a, left); a = attr_next(a, &left))
        if (a->rta_type == IFLA_XDP_ATTACHED)
            return *(const uint8_t *)RTA_DATA(a) != XDP_ATTACHED_NONE;
    return false;
}

static void read_link(const struct nlmsghdr *head, struct doctor_netlink *to)
{
    const struct ifinfomsg *link = NLMSG_DATA(head);
    size_t left = IFLA_PAYLOAD(head);
    for (const struct rtattr *a = IFLA_RTA(link); attr_fits(a, left); a = attr_next(a, &left)) {
        if (a->rta_type == IFLA_XDP)
            to->xdp = xdp_attached(a);
        else if (a->rta_type == IFLA_LINK_NETNSID)
            to->peer_elsewhere = true;
    }
}

bool doctor_netlink(const char *interface, struct doctor_netlink *to)
{
    _Alignas(struct nlmsghdr) char reply[32768];
    unsigned index = if_nametoindex(interface);
    int fd = index ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) : -1;
    *to = (struct doctor_netlink){0};
    if (fd < 0)
        return false;
    int n = ask(fd, index, reply, sizeof(reply));
    close(fd);
    const struct nlmsghdr *head = (const struct nlmsghdr *)reply;
    if (n < 0 || !NLMSG_OK(head, (unsigned)n) || head->nlmsg_type != RTM_NEWLINK)
        return false;
    read_link(head, to);
    return true;
}
