/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/http.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "app/api.h"
#include "app/log.h"

#define CONNECTIONS_MAX   32u /* on each of the two sockets */
#define IDLE_TIMEOUT_S    10u
#define REQUEST_TIMEOUT_S 30 /* from its first byte to the reply's last, however it drips */
#define FULL_TIMEOUT_S    2  /* the same, while all connections are taken and others wait */
#define DISCARD_MAX       (16 * API_BODY_MAX)
#define BACKLOG           64
#define LOCK_MS           500

/* One listening socket. Its connections are on a list so that slow ones can be ended. */
struct face {
    struct http *http;
    int fd; /* listens; -1: none, or the daemon's */
    struct MHD_Daemon *daemon;
    struct client *clients;
    unsigned n_clients;
    bool read_only;
};

struct client {
    struct face *face;
    struct client *next, **at;
    int fd;
    time_t since; /* it connected, or its last request was done */
    bool ended;
};

struct http {
    struct runtime *rt;
    int epoll;
    struct face local, tcp;
    char *path; /* of the socket file while it is ours */
    dev_t dev;
    ino_t ino;
};

/* A request while its body comes in. */
struct request {
    char body[API_BODY_MAX + 1];
    size_t len; /* may pass API_BODY_MAX: what is more is not kept */
};

static time_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

/* ---- replies ---- */

static enum MHD_Result reply(struct MHD_Connection *conn, struct api_call *c)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(c->len, c->text, MHD_RESPMEM_MUST_FREE);
    if (!r) {
        free(c->text);
        return MHD_NO;
    }
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, c->type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    if (c->allow)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, c->allow);
    enum MHD_Result queued = MHD_queue_response(conn, c->status, r);
    MHD_destroy_response(r);
    return queued;
}

static enum MHD_Result too_large(struct MHD_Connection *conn)
{
    struct api_call c = {0};
    api_fail(&c, 413, "the body is larger than %u bytes", API_BODY_MAX);
    return reply(conn, &c);
}

/* ---- requests ---- */

static enum MHD_Result add_param(void *ctx, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    struct api_call *c = ctx;
    if (c->n_params < API_PARAMS_MAX)
        c->param[c->n_params] = (struct api_param){name, value ? value : ""};
    c->n_params++;
    return MHD_YES;
}

static int fd_of(struct MHD_Connection *conn)
{
    return MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void name_peer(struct api_call *c, int fd)
{
    struct ucred who;
    socklen_t len = sizeof(who);
    if (c->read_only)
        snprintf(c->peer, sizeof(c->peer), "TCP port");
    else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
        snprintf(c->peer, sizeof(c->peer), "uid %u pid %d", who.uid, who.pid);
}

/*
 * A web page on this machine must not read the TCP port by a name of its own that it lets point to
 * 127.0.0.1: only names of the loopback are served there.
 */
static bool loopback_host(struct MHD_Connection *conn)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    for (size_t i = 0; host && i < sizeof(names) / sizeof(names[0]); i++) {
        size_t n = strlen(names[i]);
        if (strncasecmp(host, names[i], n) == 0 && (host[n] == ':' || host[n] == '\0'))
            return true;
    }
    return !host;
}

static enum MHD_Result serve(const struct face *face, struct MHD_Connection *conn,
                             struct api_call *c)
{
    MHD_get_connection_values(conn, MHD_GET_ARGUMENT_KIND, add_param, c);
    if (face->read_only && !loopback_host(conn))
        api_fail(c, 403, "ask for localhost");
    else if (c->n_params > API_PARAMS_MAX)
        api_fail(c, 400, "more than %d parameters", API_PARAMS_MAX);
    else
        api_answer(c);
    return reply(conn, c);
}

static enum MHD_Result begin(struct MHD_Connection *conn, void **state)
{
    const char *length =
        MHD_lookup_connection_value(conn, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length && strtoull(length, NULL, 10) > API_BODY_MAX)
        return too_large(conn);
    struct request *q = calloc(1, sizeof(*q));
    *state = q;
    return q ? MHD_YES : MHD_NO;
}

/* MHD_NO closes the connection: a client that goes on sending is not worth a reply. */
static enum MHD_Result keep_body(struct request *q, const char *bytes, size_t n)
{
    if (q->len < API_BODY_MAX) {
        size_t room = API_BODY_MAX - q->len;
        memcpy(q->body + q->len, bytes, n < room ? n : room);
    }
    q->len += n;
    return q->len <= DISCARD_MAX ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **state)
{
    (void)version;
    struct face *face = ctx;
    struct request *q = *state;
    if (!q)
        return begin(conn, state);
    if (*upload_size > 0) {
        enum MHD_Result kept = keep_body(q, upload, *upload_size);
        *upload_size = 0;
        return kept;
    }
    if (q->len > API_BODY_MAX)
        return too_large(conn);
    struct api_call c = {.rt = face->http->rt,
                         .method = method,
                         .path = url,
                         .body = q->body,
                         .body_len = q->len,
                         .read_only = face->read_only};
    name_peer(&c, fd_of(conn));
    return serve(face, conn, &c);
}

static void on_done(void *ctx, struct MHD_Connection *conn, void **state,
                    enum MHD_RequestTerminationCode why)
{
    (void)ctx;
    (void)why;
    struct client *client =
        MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
    if (client)
        client->since = now_s();
    free(*state);
    *state = NULL;
}

/* ---- clients ---- */

static void client_begin(struct face *face, struct MHD_Connection *conn, void **context)
{
    struct client *k = calloc(1, sizeof(*k));
    *context = k;
    if (!k)
        return;
    k->face = face;
    k->fd = fd_of(conn);
    k->since = now_s();
    face->n_clients++;
    k->next = face->clients;
    k->at = &face->clients;
    if (k->next)
        k->next->at = &k->next;
    face->clients = k;
}

static void client_end(struct client *k)
{
    if (!k)
        return;
    k->face->n_clients--;
    *k->at = k->next;
    if (k->next)
        k->next->at = k->at;
    free(k);
}

static void on_connection(void *ctx, struct MHD_Connection *conn, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        client_begin(ctx, conn, context);
    else
        client_end(*context);
}

static void end_slow_clients(struct face *face)
{
    time_t now = now_s();
    time_t limit = face->n_clients < CONNECTIONS_MAX ? REQUEST_TIMEOUT_S : FULL_TIMEOUT_S;
    for (struct client *k = face->clients; k; k = k->next) {
        if (k->ended || now - k->since < limit)
            continue;
        /* libmicrohttpd sees the end and closes. */
        shutdown(k->fd, SHUT_RDWR);
        k->ended = true;
    }
}

/* ---- the UNIX socket ---- */

/* *pid: whose it is; 0: unknown. */
static bool somebody_listens(const struct sockaddr_un *at, pid_t *pid)
{
    struct ucred who = {.pid = 0};
    socklen_t len = sizeof(who);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    /* EAGAIN: its backlog is full, so there is one. */
    bool listens = connect(fd, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno == EAGAIN;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len);
    close(fd);
    *pid = who.pid > 0 ? who.pid : 0;
    return listens;
}

/* Makes the way free for bind: no file, or the file of a process that is gone. */
static bool clear_path(const struct sockaddr_un *at)
{
    struct stat st;
    pid_t pid;
    if (lstat(at->sun_path, &st) != 0)
        return true;
    if (!S_ISSOCK(st.st_mode)) {
        log_error("control: %s exists and is not a socket; name another control.socket",
                  at->sun_path);
        return false;
    }
    if (somebody_listens(at, &pid)) {
        log_error("control: process %d is already running on %s; stop it, or name another "
                  "control.socket",
                  (int)pid, at->sun_path);
        return false;
    }
    log_notice("control: removing %s, left by a process that is gone", at->sun_path);
    return unlink(at->sun_path) == 0 || errno == ENOENT;
}

/*
 * Makes the socket's directory where there is none, and keeps other appliances from putting a
 * socket there until the descriptor is closed. Whoever may read the directory can hold such a lock,
 * so that it is not waited for any longer than they would take. -1: there is no directory.
 */
static int lock_directory(const char *path)
{
    char *copy = strdup(path);
    const char *name = copy ? dirname(copy) : NULL;
    if (name)
        mkdir(name, 0755);
    int fd = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (int ms = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && ms < LOCK_MS; ms += 10)
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000000}, NULL);
    free(copy);
    return fd;
}

/* Nobody may connect before mode and group are what the configuration says. */
static bool give_away(const struct config *config, const char *path)
{
    const struct group *g = config->control.group ? getgrnam(config->control.group) : NULL;
    if (config->control.group && !g) {
        log_error("control: no group '%s'; make it ('groupadd -r %s') or change control.group",
                  config->control.group, config->control.group);
        return false;
    }
    if (g && chown(path, (uid_t)-1, g->gr_gid) != 0) {
        log_error("control: cannot give %s to group '%s': %s", path, g->gr_name, strerror(errno));
        return false;
    }
    if (chmod(path, config->control.mode) == 0)
        return true;
    log_error("control: cannot set the mode of %s: %s", path, strerror(errno));
    return false;
}

static bool remember_file(struct http *h, const char *path)
{
    struct stat st;
    h->path = strdup(path);
    if (!h->path || lstat(path, &st) != 0)
        return false;
    h->dev = st.st_dev;
    h->ino = st.st_ino;
    return true;
}

static bool bind_local(struct http *h, const struct config *config, int fd,
                       const struct sockaddr_un *at)
{
    mode_t before = umask(0177);
    int bound = bind(fd, (const struct sockaddr *)at, sizeof(*at));
    umask(before);
    if (bound != 0) {
        log_error("control: cannot make the socket %s: %s", at->sun_path, strerror(errno));
        return false;
    }
    if (!remember_file(h, at->sun_path) || !give_away(config, at->sun_path))
        return false;
    if (listen(fd, BACKLOG) == 0)
        return true;
    log_error("control: cannot listen on %s: %s", at->sun_path, strerror(errno));
    return false;
}

/* A listening descriptor, or -1 and a line in the log. */
static int listen_local(struct http *h, const struct config *config)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    assert(strlen(config->control.socket) < sizeof(at.sun_path) && "config_load checks it");
    strcpy(at.sun_path, config->control.socket);
    int lock = lock_directory(at.sun_path);
    int fd = clear_path(&at) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) : -1;
    if (fd >= 0 && !bind_local(h, config, fd, &at)) {
        close(fd);
        fd = -1;
    }
    if (lock >= 0)
        close(lock);
    return fd;
}

/* ---- the TCP port ---- */

static int listen_tcp(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int yes = 1;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    log_error("control: cannot listen on 127.0.0.1 port %u: %s; change control.port", port,
              strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ---- both ---- */

static void on_log(void *ctx, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static void on_log(void *ctx, const char *format, va_list args)
{
    (void)ctx;
    char line[256];
    vsnprintf(line, sizeof(line), format, args);
    line[strcspn(line, "\n")] = '\0';
    log_debug("control: %s", line);
}

static bool face_start(struct face *face)
{
    face->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, face,
        MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL, MHD_OPTION_LISTEN_SOCKET, face->fd,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_TIMEOUT_S,
        MHD_OPTION_NOTIFY_COMPLETED, on_done, NULL, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        face, MHD_OPTION_END);
    if (!face->daemon) {
        log_error("control: cannot start the HTTP server: %s", strerror(errno));
        return false;
    }
    face->fd = -1;
    struct epoll_event ready = {.events = EPOLLIN};
    int inner = MHD_get_daemon_info(face->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return epoll_ctl(face->http->epoll, EPOLL_CTL_ADD, inner, &ready) == 0;
}

static void face_stop(struct face *face)
{
    if (face->daemon)
        MHD_stop_daemon(face->daemon);
    if (face->fd >= 0)
        close(face->fd);
    assert(!face->clients && "stopping ends every connection");
}

struct http *http_open(const struct config *config)
{
    struct http *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->local = (struct face){.http = h, .fd = -1};
    h->tcp = (struct face){.http = h, .fd = -1, .read_only = true};
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (h->epoll >= 0)
        h->local.fd = listen_local(h, config);
    if (h->local.fd >= 0 && config->control.port)
        h->tcp.fd = listen_tcp(config->control.port);
    if (h->local.fd >= 0 && (h->tcp.fd >= 0 || !config->control.port))
        return h;
    http_stop(h);
    return NULL;
}

bool http_start(struct http *h, struct runtime *rt)
{
    h->rt = rt;
    return face_start(&h->local) && (h->tcp.fd < 0 || face_start(&h->tcp));
}

int http_fd(const struct http *h)
{
    return h->epoll;
}

static void face_run(struct face *face)
{
    unsigned before;
    if (!face->daemon)
        return;
    end_slow_clients(face);
    /* When it was full, libmicrohttpd looks for new connections again only at the next call after
     * one has gone, for which its descriptor gives no sign. */
    do {
        before = face->n_clients;
        MHD_run(face->daemon);
    } while (face->n_clients < before);
}

void http_run(struct http *h)
{
    face_run(&h->local);
    face_run(&h->tcp);
}

static int face_timeout(const struct face *face)
{
    MHD_UNSIGNED_LONG_LONG ms;
    if (!face->daemon || !face->clients)
        return -1;
    if (MHD_get_timeout(face->daemon, &ms) != MHD_YES || ms > 1000)
        return 1000; /* for end_slow_clients */
    return (int)ms;
}

int http_timeout(const struct http *h)
{
    int local = face_timeout(&h->local);
    int tcp = face_timeout(&h->tcp);
    if (local < 0 || tcp < 0)
        return local < 0 ? tcp : local;
    return local < tcp ? local : tcp;
}

/* Not the file of an appliance that took our place. */
static void remove_file(const struct http *h)
{
    struct stat st;
    if (h->path && lstat(h->path, &st) == 0 && st.st_dev == h->dev && st.st_ino == h->ino)
        unlink(h->path);
}

void http_stop(struct http *h)
{
    if (!h)
        return;
    face_stop(&h->tcp);
    face_stop(&h->local);
    remove_file(h);
    if (h->epoll >= 0)
        close(h->epoll);
    free(h->path);
    free(h);
}
