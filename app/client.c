/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/client.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_TIMEOUT_S 10
#define READ_STEP       65536

#define REACH_TEXT "cannot reach millrace at "

static int unreachable(const char *socket, int why, char *error)
{
    struct stat st;
    struct group *g = NULL;
    if (why == EACCES && stat(socket, &st) == 0)
        g = getgrgid(st.st_gid);
    if (why == ENOENT || why == ECONNREFUSED)
        snprintf(error, CLIENT_ERROR_TEXT,
                 REACH_TEXT
                 "%s: %s; is millrace running? Start it ('systemctl start millrace'), or "
                 "name its control.socket with -s",
                 socket, why == ENOENT ? "no such socket" : "nobody listens there");
    else if (why == EACCES && g)
        snprintf(error, CLIENT_ERROR_TEXT,
                 REACH_TEXT "%s: permission denied; use sudo, or join the group '%s'", socket,
                 g->gr_name);
    else if (why == EACCES)
        snprintf(error, CLIENT_ERROR_TEXT, REACH_TEXT "%s: permission denied; use sudo", socket);
    else
        snprintf(error, CLIENT_ERROR_TEXT, REACH_TEXT "%s: %s", socket, strerror(why));
    return CLIENT_E_UNREACHABLE;
}

static int dial(const char *socket_path, char *error)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(socket_path) >= sizeof(to.sun_path))
        return unreachable(socket_path, ENAMETOOLONG, error);
    strcpy(to.sun_path, socket_path);

    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return unreachable(socket_path, errno, error);
    struct timeval limit = {.tv_sec = REPLY_TIMEOUT_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    int why = errno;
    close(fd);
    return unreachable(socket_path, why, error);
}

static bool send_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        len -= (size_t)n;
    }
    return true;
}

static bool send_request(int fd, const char *method, const char *target, const char *body)
{
    char *head;
    int n = asprintf(&head,
                     "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                     method, target, body ? strlen(body) : 0);
    if (n < 0)
        return false;
    bool sent = send_all(fd, head, (size_t)n) && (!body || send_all(fd, body, strlen(body)));
    free(head);
    return sent;
}

/* Everything up to the end of the connection, with a NUL behind it. */
static int receive_all(int fd, char **text, size_t *len)
{
    size_t room = 0;
    *text = NULL;
    *len = 0;
    for (;;) {
        if (room - *len < READ_STEP) {
            room = room ? room * 2 : 2 * READ_STEP;
            char *grown = *len > CLIENT_BODY_MAX ? NULL : realloc(*text, room);
            if (!grown)
                return CLIENT_E_MEMORY;
            *text = grown;
        }
        ssize_t n = recv(fd, *text + *len, room - *len - 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        /* A server that refused before it had read all: its answer came before the reset. */
        if (n < 0)
            return errno == ECONNRESET && *len > 0 ? 0 : CLIENT_E_BROKEN;
        *len += (size_t)n;
        (*text)[*len] = '\0';
        if (n == 0)
            return 0;
    }
}

/* -1: the header names no length. -2: it is no number, or the body has a transfer coding. */
static long long body_length(char *headers)
{
    long long length = -1;
    char *rest = headers;
    for (char *line; (line = strsep(&rest, "\r\n"));) {
        if (strncasecmp(line, "Transfer-Encoding:", 18) == 0)
            return -2;
        if (strncasecmp(line, "Content-Length:", 15) != 0)
            continue;
        const char *digits = line + 15 + strspn(line + 15, " \t");
        char *end;
        errno = 0;
        length = strtoll(digits, &end, 10);
        if (end == digits || *end != '\0' || errno != 0 || length < 0)
            return -2;
    }
    return length;
}

int client_parse(char *text, size_t len, struct client_reply *reply)
{
    int status;
    char *headers = strstr(text, "\r\n");
    char *body = strstr(text, "\r\n\r\n");
    if (!body || sscanf(text, "HTTP/1.%*1[01] %3d", &status) != 1 || status < 100)
        return CLIENT_E_BROKEN;
    *body = '\0';
    body += 4;
    size_t rest = len - (size_t)(body - text);
    long long named = headers + 2 < body ? body_length(headers) : -1;
    if (named < -1 || (named >= 0 && (size_t)named > rest))
        return CLIENT_E_BROKEN;

    reply->len = named >= 0 ? (size_t)named : rest;
    reply->status = status;
    reply->body = malloc(reply->len + 1);
    if (!reply->body)
        return CLIENT_E_MEMORY;
    memcpy(reply->body, body, reply->len);
    reply->body[reply->len] = '\0';
    return 0;
}

static void explain(int result, const char *socket, char *error)
{
    if (result == CLIENT_E_BROKEN)
        snprintf(error, CLIENT_ERROR_TEXT,
                 "millrace at %s did not answer within %d s, or not in HTTP; see its log", socket,
                 REPLY_TIMEOUT_S);
    else if (result == CLIENT_E_MEMORY)
        snprintf(error, CLIENT_ERROR_TEXT, "the answer does not fit into memory");
}

int client_call(const char *socket, const char *method, const char *target, const char *body,
                struct client_reply *reply, char error[CLIENT_ERROR_TEXT])
{
    *reply = (struct client_reply){0};
    int fd = dial(socket, error);
    if (fd < 0)
        return fd;
    /* A server that refuses early closes while we still send: its answer is there all the same. */
    (void)send_request(fd, method, target, body);
    char *text;
    size_t len;
    int result = receive_all(fd, &text, &len);
    if (result == 0)
        result = client_parse(text, len, reply);
    free(text);
    close(fd);
    explain(result, socket, error);
    return result;
}

void client_reply_free(struct client_reply *reply)
{
    free(reply->body);
    *reply = (struct client_reply){0};
}
