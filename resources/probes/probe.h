/*
 * What Benchwright's probes share: the clock, their arguments, their threads, and the words they print.
 *
 * Every probe prints lines on standard output. "# word value" tells what runs; "live time S name value ..." is a
 * figure of the moment, "result name value ..." one of the whole, and "done" the end of a run in which all went
 * well. A failure is said as "error words" on standard error, with exit status 1 or, for bad arguments, 2.
 */
#ifndef PROBE_H
#define PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT_S, pthread barriers */
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef LEVEL /* a probe that Benchwright ships compiled: see shipped/ */
#include "shipped/identity.h"
#endif

#ifdef COMPILER /* it says more of itself than its macros do */
#elif defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

#ifndef BUILD /* the options that the compiler was given, for the record */
#define BUILD "not recorded"
#endif

#define CACHE_LINE 128 /* two lines of 64 bytes, which prefetchers fetch in pairs; aarch64 has lines of 128 */

#define UNUSED __attribute__((unused)) /* not every probe needs everything here */

UNUSED __attribute__((noreturn, format(printf, 2, 3))) static void fail(int status, const char *format, ...)
{
    va_list words;
    fflush(stdout);
    va_start(words, format);
    fputs("error ", stderr);
    vfprintf(stderr, format, words);
    fputc('\n', stderr);
    va_end(words);
    exit(status);
}

UNUSED static double least(double one, double two)
{
    return one < two ? one : two;
}

UNUSED static double largest(double one, double two)
{
    return one > two ? one : two;
}

UNUSED static double magnitude(double value)
{
    return value < 0 ? -value : value;
}

/* Seconds of a clock that nobody sets. */
UNUSED static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

/* Sleep until the clock of now() reads `moment`; sleeping for a time instead would drift by what each round takes. */
UNUSED static void sleep_until(double moment)
{
    struct timespec until;
    until.tv_sec = (time_t)moment;
    until.tv_nsec = (long)((moment - (double)until.tv_sec) * 1e9);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* The smallest step of the clock that can be seen, in seconds: the least of 20 differences that are not nothing. */
UNUSED static double clock_tick(void)
{
    double tick = 1.0;
    for (int i = 0; i < 20; i++) {
        double before = now(), after;
        do
            after = now();
        while (after <= before);
        tick = least(tick, after - before);
    }
    return tick;
}

/* How many CPUs this process may run on. */
UNUSED static int usable_cpus(void)
{
    int most = 1024;
    for (; most <= 1 << 20; most *= 2) { /* the kernel refuses a set that is smaller than its own */
        cpu_set_t *set = CPU_ALLOC((size_t)most);
        size_t size = CPU_ALLOC_SIZE((size_t)most);
        int count = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
    fail(1, "the number of CPUs cannot be read: %s", strerror(errno));
}

/* The number after an option; refused unless it lies between `lowest` and `highest`. */
UNUSED static long long whole(const char *option, const char *text, long long lowest, long long highest)
{
    char *end = NULL;
    errno = 0;
    long long value = text ? strtoll(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value < lowest || value > highest)
        fail(2, "%s takes a whole number from %lld to %lld", option, lowest, highest);
    return value;
}

/* The seconds after an option. */
UNUSED static double seconds(const char *option, const char *text)
{
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || *end || !(value >= 0.01 && value <= 1e6))
        fail(2, "%s takes seconds from 0.01 to 1000000", option);
    return value;
}

/* The number of threads to measure after `threads` in a sweep up to `most`; 0 where that was the last. */
UNUSED static int next_threads(const char *sweep, int threads, int most)
{
    int next = most;
    if (!strcmp(sweep, "every"))
        next = threads + 1;
    else if (!strcmp(sweep, "doubling"))
        next = threads ? 2 * threads : 1;
    else if (strcmp(sweep, "single"))
        fail(2, "--sweep takes every, doubling or single");
    if (threads >= most)
        return 0;
    return next < most ? next : most; /* the last one is always measured */
}

/* Memory that nobody has touched yet: its pages come from the node of the thread that touches them first. */
UNUSED static void *fresh_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail(1, "%zu bytes of memory cannot be had: %s", bytes, strerror(errno));
    return memory;
}

UNUSED static void start_thread(pthread_t *thread, void *(*work)(void *), void *argument)
{
    int status = pthread_create(thread, NULL, work, argument);
    if (status)
        fail(1, "a thread cannot be started: %s", strerror(status));
}

UNUSED static void introduce(const char *program, int version)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line leaves at once, also into a pipe */
    printf("# benchwright-%s %d\n# compiler %s\n# options %s\n", program, version, COMPILER, BUILD);
#ifdef LEVEL
    print_identity(LEVEL);
#endif
}

#endif
