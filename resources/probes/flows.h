/*
 * The flows of a network test, one thread to each: sending, receiving, echoing, and timing buffers there and back.
 */
#ifndef FLOWS_H
#define FLOWS_H

#include "sockets.h"

enum { UPLOAD, DOWNLOAD, LATENCY, KINDS };

static const char *const PROTOCOL_NAMES[] = {"tcp", "udp"};
static const char *const KIND_NAMES[] = {"upload", "download", "latency"};

#define LARGEST_DATAGRAM 65507
#define READ_AT_ONCE (128u << 10) /* what a TCP receiver asks for, whatever is sent: its calls must not be the limit */
#define BUCKETS (64 * 40) /* 64 to each doubling of nanoseconds, to 2^45: within 0.8 % */
#define LOST_AFTER 1.0    /* seconds */
#define QUIET 0.3         /* seconds without a datagram after which no more are under way */

struct settings {
    int protocol, kind, threads, nodelay;
    size_t block, datagram;
    double length, omit, rate; /* rate: Mbit/s of all flows together; 0 is as fast as it goes */
    double interval;           /* seconds between the beginnings of two round trips; 0 is one right after the other */
};

struct flow {
    struct test *test;
    int fd;
    pthread_t thread;
    unsigned char *buffer;
    atomic_ullong bytes, units, lost, longest; /* units: datagrams, or writes and reads of TCP, or round trips */
    atomic_uint *counts;                       /* of round trips, by how long they took */
    atomic_int broken;
    char padding[CACHE_LINE];
};

struct test {
    struct settings asked;
    struct flow *flows;
    atomic_int stop;
};

struct totals {
    double took;
    unsigned long long bytes, units;
};

static int stopped(struct test *test)
{
    return atomic_load_explicit(&test->stop, memory_order_relaxed);
}

static void count(atomic_ullong *counter, unsigned long long more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* What broke a flow before it was told to end. */
static void *broke(struct flow *self)
{
    if (!stopped(self->test))
        atomic_store(&self->broken, errno ? errno : ECONNRESET);
    return NULL;
}

static int passing(int error)
{
    /* ECONNREFUSED: a datagram met a socket that was just closed; ENOBUFS: the interface's queue is full. */
    return error == EINTR || error == EAGAIN || error == ENOBUFS || error == ECONNREFUSED;
}

/* Send one buffer; 0 where the flow is broken. Counted are the datagrams that left. */
static int send_block(struct flow *self)
{
    const struct settings *asked = &self->test->asked;
    if (asked->protocol == TCP) {
        count(&self->units, 1);
        return send_all(self->fd, self->buffer, asked->block);
    }
    for (size_t at = 0; at < asked->block; at += asked->datagram) {
        size_t size = asked->block - at < asked->datagram ? asked->block - at : asked->datagram;
        if (send(self->fd, self->buffer, size, MSG_NOSIGNAL) >= 0)
            count(&self->units, 1);
        else if (!passing(errno))
            return 0;
    }
    return 1;
}

static void *work_send(void *argument)
{
    struct flow *self = argument;
    const struct settings *asked = &self->test->asked;
    double each = asked->rate > 0 ? 8e-6 * (double)asked->block * asked->threads / asked->rate : 0, next = now();
    while (!stopped(self->test)) {
        if (!send_block(self))
            return broke(self);
        next = largest(next + each, now() - 0.01); /* a delay is made up for, but not for ever */
        while (each > 0 && next > now() && !stopped(self->test))
            sleep_until(least(next, now() + 0.1));
    }
    return NULL;
}

static void *work_receive(void *argument)
{
    struct flow *self = argument;
    int datagrams = self->test->asked.protocol == UDP;
    while (!stopped(self->test)) {
        ssize_t got = recv(self->fd, self->buffer, datagrams ? LARGEST_DATAGRAM : READ_AT_ONCE, 0);
        if (got < 0 && passing(errno))
            continue;
        if (got < 0 || (got == 0 && !datagrams)) {
            errno = got < 0 ? errno : 0;
            return broke(self);
        }
        count(&self->bytes, (unsigned long long)got);
        count(&self->units, 1);
    }
    return NULL;
}

static void *work_echo(void *argument)
{
    struct flow *self = argument;
    const struct settings *asked = &self->test->asked;
    while (!stopped(self->test)) {
        if (asked->protocol == TCP) {
            if (!receive_all(self->fd, self->buffer, asked->block) || !send_all(self->fd, self->buffer, asked->block))
                return broke(self);
            continue;
        }
        ssize_t got = recv(self->fd, self->buffer, LARGEST_DATAGRAM, 0);
        if (got >= 0)
            got = send(self->fd, self->buffer, (size_t)got, MSG_NOSIGNAL);
        if (got < 0 && !passing(errno))
            return broke(self);
    }
    return NULL;
}

/* Take what has come back of round trip `number`: how many datagrams, or -1 where none will come. */
static int take_back(struct flow *self, uint64_t number, int flags)
{
    unsigned char datagram[LARGEST_DATAGRAM];
    ssize_t got = recv(self->fd, datagram, sizeof datagram, flags);
    if (got < 0)
        return -1;
    size_t mark = (size_t)got < sizeof number ? (size_t)got : sizeof number;
    return got > 0 && !memcmp(datagram, &number, mark) ? 1 : 0;
}

/* There and back by UDP; 0 where a part was lost. A number at the head of each datagram tells late ones apart. */
static int trip_by_datagrams(struct flow *self, uint64_t number)
{
    const struct settings *asked = &self->test->asked;
    size_t back = 0, parts = (asked->block + asked->datagram - 1) / asked->datagram, at = 0;
    double deadline = now() + LOST_AFTER;
    int got;
    for (size_t part = 0; part < parts; part++, at += asked->datagram) {
        size_t size = asked->block - at < asked->datagram ? asked->block - at : asked->datagram;
        memcpy(self->buffer, &number, size < sizeof number ? size : sizeof number);
        (void)!send(self->fd, self->buffer, size, MSG_NOSIGNAL);
        while (part + 1 < parts && (got = take_back(self, number, MSG_DONTWAIT)) >= 0)
            back += (size_t)got;
    }
    while (back < parts && now() < deadline && !stopped(self->test)) {
        got = take_back(self, number, 0);
        back += got > 0 ? 1 : 0;
    }
    return back >= parts;
}

static size_t bucket_of(uint64_t value)
{
    if (value < 64)
        return (size_t)value;
    int doublings = 63 - __builtin_clzll(value) - 6;
    size_t bucket = (size_t)(doublings + 1) * 64 + (size_t)((value >> doublings) - 64);
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The middle of a bucket, in microseconds. */
static double middle_of(size_t bucket)
{
    if (bucket < 64)
        return 1e-3 * (double)bucket;
    return 1e-3 * ((double)(64 + bucket % 64) + 0.5) * (double)(1ull << (bucket / 64 - 1));
}

static void *work_trips(void *argument)
{
    struct flow *self = argument;
    const struct settings *asked = &self->test->asked;
    for (uint64_t number = 1; !stopped(self->test); number++) {
        double began = now();
        int whole_trip = asked->protocol == TCP ? send_all(self->fd, self->buffer, asked->block) &&
                                                      receive_all(self->fd, self->buffer, asked->block)
                                                : trip_by_datagrams(self, number);
        if (!whole_trip && asked->protocol == TCP)
            return broke(self);
        uint64_t took = (uint64_t)(1e9 * (now() - began));
        if (stopped(self->test))
            break; /* what was under way at the end did not count */
        count(whole_trip ? &self->units : &self->lost, 1);
        if (whole_trip)
            atomic_fetch_add_explicit(&self->counts[bucket_of(took)], 1, memory_order_relaxed);
        if (whole_trip && took > atomic_load_explicit(&self->longest, memory_order_relaxed))
            atomic_store_explicit(&self->longest, took, memory_order_relaxed);
        while (asked->interval > 0 && now() < began + asked->interval && !stopped(self->test))
            sleep_until(least(began + asked->interval, now() + 0.1));
    }
    return NULL;
}

static struct totals totals_of(struct test *test)
{
    struct totals sum = {0, 0, 0};
    for (int i = 0; i < test->asked.threads; i++) {
        struct flow *flow = &test->flows[i];
        int broken = atomic_load(&flow->broken);
        if (broken)
            fail(1, "a %s connection of the test broke: %s", PROTOCOL_NAMES[test->asked.protocol], strerror(broken));
        sum.bytes += atomic_load_explicit(&flow->bytes, memory_order_relaxed);
        sum.units += atomic_load_explicit(&flow->units, memory_order_relaxed);
    }
    return sum;
}

static void open_flows(struct test *test, const struct settings *asked)
{
    test->asked = *asked;
    atomic_store(&test->stop, 0);
    test->flows = calloc((size_t)asked->threads, sizeof *test->flows);
    if (!test->flows)
        fail(1, "no memory for %d flows", asked->threads);
    for (int i = 0; i < asked->threads; i++) {
        test->flows[i].test = test;
        test->flows[i].buffer = calloc(1, asked->block > READ_AT_ONCE ? asked->block : READ_AT_ONCE);
        test->flows[i].counts = calloc(BUCKETS, sizeof *test->flows[i].counts);
        if (!test->flows[i].buffer || !test->flows[i].counts)
            fail(1, "no memory for %d flows", asked->threads);
    }
}

static void start_flows(struct test *test, void *(*work)(void *))
{
    for (int i = 0; i < test->asked.threads; i++) {
        struct flow *flow = &test->flows[i];
        if (test->asked.protocol == TCP)
            set(flow->fd, IPPROTO_TCP, TCP_NODELAY, test->asked.nodelay);
        else
            set_timeout(flow->fd, 0.1); /* so that it is seen when the test is over */
        if (test->asked.protocol == UDP)
            set(flow->fd, SOL_SOCKET, SO_RCVBUF, 4 << 20);
        start_thread(&flow->thread, work, flow);
    }
}

static void stop_flows(struct test *test)
{
    atomic_store(&test->stop, 1);
    for (int i = 0; i < test->asked.threads; i++)
        if (test->asked.protocol == TCP)
            shutdown(test->flows[i].fd, SHUT_RDWR);
    for (int i = 0; i < test->asked.threads; i++)
        pthread_join(test->flows[i].thread, NULL);
}

static void close_flows(struct test *test)
{
    for (int i = 0; i < test->asked.threads; i++) {
        close(test->flows[i].fd);
        free(test->flows[i].buffer);
        free(test->flows[i].counts);
    }
    free(test->flows);
}

/* Let what is under way arrive: as long as datagrams come, but not for ever. */
static void drain(struct test *test)
{
    double deadline = now() + 3;
    unsigned long long before = 0, all = totals_of(test).units;
    do {
        before = all;
        sleep_until(now() + QUIET);
        all = totals_of(test).units;
    } while (test->asked.protocol == UDP && all != before && now() < deadline);
}

#endif
