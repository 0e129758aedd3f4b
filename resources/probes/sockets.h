/*
 * How the two ends of a network probe find each other, know each other, and talk.
 *
 * Both were given the same nonce. Every connection begins with a message that holds it; one that does not is closed
 * without an answer. Messages are texts of MESSAGE bytes, filled up with zeros: no length can be forged.
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include "probe.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define VERSION 1
#define MAGIC "benchwright-netblocks"
#define MESSAGE 160
#define LONGEST_NONCE 64
#define GREETING_TIME 2.0 /* seconds a stranger may keep the others waiting */
#define CONTROL (-1)      /* in place of a flow's number */

enum { TCP, UDP };

struct end {
    char nonce[LONGEST_NONCE + 1];
    int port, listener, datagrams; /* of the server end: what it listens on */
    int tos;                       /* of every packet of this end: the byte that has the DSCP; 0 leaves it */
};

static int set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value);
}

static void mark(int fd, const struct end *end)
{
    if (end->tos) {
        set(fd, IPPROTO_IP, IP_TOS, end->tos);
        set(fd, IPPROTO_IPV6, IPV6_TCLASS, end->tos);
    }
}

static void set_timeout(int fd, double seconds_to_wait)
{
    struct timeval time = {(time_t)seconds_to_wait, (suseconds_t)(1e6 * (seconds_to_wait - (double)(time_t)seconds_to_wait))};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

/* A control connection whose other end has died without a word ends within some 20 seconds. */
static void watch_over(int fd)
{
    set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 20000);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static int send_all(int fd, const void *from, size_t size)
{
    const char *at = from;
    while (size > 0) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return 0;
        at += sent;
        size -= (size_t)sent;
    }
    return 1;
}

static int receive_all(int fd, void *to, size_t size)
{
    char *at = to;
    while (size > 0) {
        ssize_t got = recv(fd, at, size, MSG_WAITALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        at += got;
        size -= (size_t)got;
    }
    return 1;
}

static void gone(void)
{
    fail(1, "the other end ended, or was lost, before the test did");
}

__attribute__((format(printf, 2, 3))) static void say_to(int control, const char *format, ...)
{
    char message[MESSAGE] = "";
    va_list words;
    va_start(words, format);
    vsnprintf(message, sizeof message, format, words);
    va_end(words);
    if (!send_all(control, message, sizeof message))
        gone();
}

/* Read the next message; 0 where the other end has closed the connection. */
static int hear(int control, char message[MESSAGE])
{
    if (!receive_all(control, message, MESSAGE))
        return 0;
    message[MESSAGE - 1] = 0;
    return 1;
}

/* Sleep until `moment`; whoever is waited for has nothing to say meanwhile, so that anything heard is its end. */
static void wait_until(int control, double moment)
{
    for (double left = moment - now(); left > 0; left = moment - now()) {
        struct pollfd heard = {control, POLLIN, 0};
        if (left < 0.002) {
            sleep_until(moment);
            return;
        }
        if (poll(&heard, 1, (int)(1e3 * left)) > 0)
            gone();
    }
}

static void greet(char message[MESSAGE], const struct end *end, int flow)
{
    memset(message, 0, MESSAGE);
    snprintf(message, MESSAGE, "%s %d %s %d", MAGIC, VERSION, end->nonce, flow);
}

/* Whether a greeting has the nonce and the number that is expected; *version is that of the other end. */
static int is_ours(const char *message, const struct end *end, int flow, int *version)
{
    char magic[32] = "", nonce[LONGEST_NONCE + 1] = "";
    int number = CONTROL - 1, read = sscanf(message, "%31s %d %64s %d", magic, version, nonce, &number);
    return read == 4 && !strcmp(magic, MAGIC) && !strcmp(nonce, end->nonce) && number == flow;
}

static const char *name_of(const struct sockaddr_storage *address, char name[INET6_ADDRSTRLEN])
{
    const void *number = address->ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                                                        : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    if (!inet_ntop(address->ss_family, number, name, INET6_ADDRSTRLEN))
        snprintf(name, INET6_ADDRSTRLEN, "somebody");
    return strncmp(name, "::ffff:", 7) ? name : name + 7;
}

static int bound(int type, int family, int port)
{
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int is_six = family == AF_INET6;
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (type == SOCK_DGRAM)
        set(fd, SOL_SOCKET, SO_REUSEPORT, 1); /* one socket for each flow, at the same port */
    if (is_six)
        set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four, is_six ? sizeof six : sizeof four) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A socket bound to the port, of IPv6 and IPv4 where the kernel has both. */
static int bound_anywhere(int type, int port)
{
    int fd = bound(type, AF_INET6, port);
    if (fd < 0 && errno != EADDRINUSE)
        fd = bound(type, AF_INET, port);
    if (fd < 0)
        fail(1, "port %d cannot be listened on: %s", port, strerror(errno));
    return fd;
}

static void listen_at(struct end *end)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof address;
    end->listener = bound_anywhere(SOCK_STREAM, end->port);
    if (listen(end->listener, 1024) || getsockname(end->listener, (struct sockaddr *)&address, &size))
        fail(1, "port %d cannot be listened on: %s", end->port, strerror(errno));
    end->port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                    : ((struct sockaddr_in *)&address)->sin_port);
    end->datagrams = bound_anywhere(SOCK_DGRAM, end->port);
}

/* The next connection that greets as `flow`; strangers are closed without a word, and told on standard output. */
static int accept_ours(struct end *end, int flow, double patience)
{
    double deadline = now() + patience;
    for (int strangers = 0;;) {
        struct pollfd heard = {end->listener, POLLIN, 0};
        if (now() >= deadline || poll(&heard, 1, (int)(1e3 * (deadline - now()))) <= 0)
            fail(1, "no client came within %.0f s", patience);
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        int version = 0, fd = accept4(end->listener, (struct sockaddr *)&address, &size, SOCK_CLOEXEC);
        char message[MESSAGE], name[INET6_ADDRSTRLEN];
        if (fd < 0)
            continue;
        set_timeout(fd, GREETING_TIME);
        if (hear(fd, message) && is_ours(message, end, flow, &version)) {
            set_timeout(fd, 0);
            mark(fd, end);
            say_to(fd, "%s %d", MAGIC, VERSION);
            if (version != VERSION)
                fail(1, "the client is of version %d, this server end of version %d", version, VERSION);
            return fd;
        }
        close(fd);
        if (strangers++ < 5)
            printf("refused %s\n", name_of(&address, name));
    }
}

/* The next flow of datagrams that greets as `flow`: a socket that hears nobody else. */
static int accept_datagrams(struct end *end, int flow)
{
    double deadline = now() + 10;
    int fd = end->datagrams;
    set_timeout(fd, 0.5);
    for (;;) {
        struct sockaddr_storage address;
        socklen_t size = sizeof address;
        char message[MESSAGE];
        int version = 0;
        ssize_t got = recvfrom(fd, message, sizeof message, 0, (struct sockaddr *)&address, &size);
        if (now() > deadline)
            fail(1, "no datagram of the client arrived; a firewall may drop UDP at port %d", end->port);
        if (got != MESSAGE)
            continue;
        message[MESSAGE - 1] = 0;
        if (!is_ours(message, end, flow, &version) || connect(fd, (struct sockaddr *)&address, size))
            continue;
        end->datagrams = bound_anywhere(SOCK_DGRAM, end->port);
        mark(fd, end);
        say_to(fd, "%s %d", MAGIC, VERSION);
        return fd;
    }
}

/* Whether `host` is an address in numbers, such as 10.0.0.2 or fe80::1%eth0; *found is then that address. */
static int is_number(const char *host, int port, struct sockaddr_storage *found)
{
    char number[INET6_ADDRSTRLEN + 1] = "";
    struct sockaddr_in *four = (struct sockaddr_in *)found;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)found;
    const char *zone = strchr(host, '%');
    memset(found, 0, sizeof *found);
    snprintf(number, sizeof number, "%.*s", (int)(zone ? (size_t)(zone - host) : strlen(host)), host);
    if (inet_pton(AF_INET, number, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        return 1;
    }
    if (inet_pton(AF_INET6, number, &six->sin6_addr) != 1)
        return 0;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    six->sin6_scope_id = zone ? if_nametoindex(zone + 1) : 0;
    return 1;
}

/* The address of a host: its resolver is asked through getent, since a program that is linked statically has none. */
static void resolve(const char *host, int port, struct sockaddr_storage *found)
{
    char line[400], command[300];
    FILE *said = NULL;
    if (is_number(host, port, found))
        return;
    if (*host != '-' && strlen(host) < 254 &&
        !host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")]) {
        snprintf(command, sizeof command, "getent ahosts %s", host);
        said = popen(command, "r");
    }
    int known = said && fgets(line, sizeof line, said);
    if (said)
        pclose(said);
    if (known)
        line[strcspn(line, " \t\n")] = 0;
    if (!known || !is_number(line, port, found))
        fail(1, "the name of the server end is not known here");
}

/* Connect to the server end; fails with what the network says. */
static int reach(const char *host, int port, int type)
{
    struct sockaddr_storage address;
    resolve(host, port, &address);
    socklen_t size = address.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int fd = socket(address.ss_family, type | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, size))
        fail(1, "nothing can be reached at %s port %d: %s", host, port, strerror(errno));
    return fd;
}

/* Connect and greet as `flow`; the server end answers with its version, or not at all. */
static int join(const char *host, const struct end *end, int protocol, int flow)
{
    int fd = reach(host, end->port, protocol == UDP ? SOCK_DGRAM : SOCK_STREAM), version = 0;
    char message[MESSAGE], magic[32];
    mark(fd, end);
    set_timeout(fd, protocol == UDP ? 0.3 : 20);
    for (int tries = 0; tries < (protocol == UDP ? 30 : 1); tries++) {
        greet(message, end, flow);
        if (!send_all(fd, message, sizeof message) || !hear(fd, message))
            continue;
        if (sscanf(message, "%31s %d", magic, &version) != 2 || strcmp(magic, MAGIC))
            break;
        if (version != VERSION)
            fail(1, "the server end is of version %d, this client of version %d", version, VERSION);
        set_timeout(fd, 0);
        return fd;
    }
    if (protocol == UDP)
        fail(1, "no datagram came back from port %d; a firewall may drop UDP", end->port);
    fail(1, "what listens at port %d did not let us in: it serves another test, or is no server end of ours", end->port);
}

static void read_nonce(struct end *end, const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%64s", end->nonce) != 1 || strlen(end->nonce) < 16)
        fail(1, "%s holds no nonce of 16 letters or more", path);
    fclose(file);
}

/* Seconds of processor that this program has used so far. */
static double processor_time(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) + 1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

#endif
