/*
 * Memory bandwidth after John McCalpin's rules for STREAM (the source of its version 5.10): four kernels over arrays
 * that no cache holds, each timed several times; the first time does not count, the best of the others is the
 * figure; the arrays are checked at the end. Bytes are those that the source code names: 16 an element for copy and
 * scale, 24 for add and triad. MB is 10^6 bytes.
 *
 * Unlike STREAM it sweeps over thread counts in one run, with new arrays for each count.
 */
#include "probe.h"

#include <float.h>

enum { COPY, SCALE, ADD, TRIAD, KERNELS };

static const char *const NAMES[KERNELS] = {"copy", "scale", "add", "triad"};
static const double BYTES[KERNELS] = {16, 16, 24, 24};

#define SCALAR 3.0
#define TOLERANCE 1e-13 /* STREAM's, for 8 bytes an element */
#define MOST_TIMES 100  /* the values grow by 15 each time, and must stay finite */

/* One element's bytes: the arrays are of doubles. */
typedef double element;

static element *a, *b, *c;
static size_t elements;
static int times;
static pthread_barrier_t together;

/* A thread's part of the arrays, and when it began and ended each kernel. Padded, so that no two share a line. */
struct part {
    size_t from, to;
    double began[KERNELS], ended[KERNELS];
    double error[3];
    char padding[CACHE_LINE];
};

/* Not inlined: the compiler must neither merge two kernels nor see that one's work is overwritten by the next. */
#define KERNEL __attribute__((noinline)) static void

/* Nor may it take copy for memcpy, which writes past the caches on some hosts and not on others. */
#if defined(__clang__)
#define LOOP __attribute__((no_builtin("memcpy")))
#elif defined(__GNUC__)
#define LOOP __attribute__((optimize("no-tree-loop-distribute-patterns")))
#endif

LOOP KERNEL copy(element *restrict to, const element *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i];
}

KERNEL scale(element *restrict to, const element *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = SCALAR * from[i];
}

KERNEL add(element *restrict to, const element *restrict one, const element *restrict two, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = one[i] + two[i];
}

KERNEL triad(element *restrict to, const element *restrict one, const element *restrict two, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = one[i] + SCALAR * two[i];
}

static void run(int kernel, size_t from, size_t count)
{
    switch (kernel) {
    case COPY: copy(c + from, a + from, count); break;
    case SCALE: scale(b + from, c + from, count); break;
    case ADD: add(c + from, a + from, b + from, count); break;
    default: triad(a + from, b + from, c + from, count); break;
    }
}

/* The first touch: by the thread that will work here, so that the pages lie on its node. */
static void fill(const struct part *part)
{
    for (size_t i = part->from; i < part->to; i++) {
        a[i] = 2.0 * 1.0; /* STREAM doubles the ones once, to time its clock */
        b[i] = 2.0;
        c[i] = 0.0;
    }
}

/* The sums of how far each array is from what the kernels should have made of it, as STREAM's checks sum them. */
static void check(struct part *part)
{
    double x = 2.0, y = 2.0, z = 0.0;
    for (int k = 0; k < times; k++) {
        z = x;
        y = SCALAR * z;
        z = x + y;
        x = y + SCALAR * z;
    }
    for (size_t i = part->from; i < part->to; i++) {
        part->error[0] += magnitude(a[i] - x) / magnitude(x);
        part->error[1] += magnitude(b[i] - y) / magnitude(y);
        part->error[2] += magnitude(c[i] - z) / magnitude(z);
    }
}

static void *work(void *argument)
{
    struct part *part = argument;
    fill(part);
    for (int k = 0; k < times; k++) {
        for (int kernel = 0; kernel < KERNELS; kernel++) {
            /* Nobody begins before all are here: two kernels under way at once would time each other. */
            pthread_barrier_wait(&together);
            part->began[kernel] = now();
            run(kernel, part->from, part->to - part->from);
            part->ended[kernel] = now();
        }
        pthread_barrier_wait(&together); /* all have written their times: main() may read them */
        pthread_barrier_wait(&together); /* main() has read them: they may be written again */
    }
    check(part);
    return NULL;
}

/* A kernel's time is from the first thread's beginning to the last one's end. */
static double elapsed(const struct part *parts, int threads, int kernel)
{
    double first = DBL_MAX, last = 0;
    for (int t = 0; t < threads; t++) {
        first = least(first, parts[t].began[kernel]);
        last = largest(last, parts[t].ended[kernel]);
    }
    return largest(last - first, 1e-9);
}

struct tally {
    double best, worst, sum;
};

static void measure(struct part *parts, int threads, double start, struct tally *tally)
{
    for (int k = 0; k < times; k++) {
        for (int kernel = 0; kernel < KERNELS; kernel++)
            pthread_barrier_wait(&together);
        pthread_barrier_wait(&together);
        printf("live time %.6f threads %d iteration %d", now() - start, threads, k);
        for (int kernel = 0; kernel < KERNELS; kernel++) {
            double took = elapsed(parts, threads, kernel);
            printf(" %s %.1f", NAMES[kernel], 1e-6 * BYTES[kernel] * (double)elements / took);
            if (k == 0) /* touches pages and wakes the clock: STREAM's rule is that it does not count */
                continue;
            tally[kernel].best = least(tally[kernel].best, took);
            tally[kernel].worst = largest(tally[kernel].worst, took);
            tally[kernel].sum += took;
        }
        putchar('\n');
        pthread_barrier_wait(&together);
    }
}

static void report(const struct tally *tally, int threads, double tick)
{
    for (int kernel = 0; kernel < KERNELS; kernel++) {
        double megabytes = 1e-6 * BYTES[kernel] * (double)elements, best = tally[kernel].best;
        printf("result threads %d kernel %s best %.1f mean %.1f worst %.1f time %.9f ticks %.0f\n", threads,
               NAMES[kernel], megabytes / best, megabytes * (times - 1) / tally[kernel].sum,
               megabytes / tally[kernel].worst, best, best / tick);
    }
}

/* Whether the arrays are right; where they are not, the rates above are worth nothing. */
static int valid(const struct part *parts, int threads)
{
    double worst = 0;
    for (int array = 0; array < 3; array++) {
        double sum = 0;
        for (int t = 0; t < threads; t++)
            sum += parts[t].error[array];
        if (!(sum / (double)elements <= worst)) /* so that a NaN counts as large */
            worst = sum / (double)elements;
    }
    int right = worst < TOLERANCE;
    printf("%s threads %d error %.3e\n", right ? "valid" : "invalid", threads, worst);
    return right;
}

/* With large pages where the kernel gives them to those who ask: page walks are no bandwidth of the memory. */
static element *array(size_t bytes)
{
    element *memory = fresh_memory(bytes);
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static int sweep_point(int threads, double start, double tick)
{
    size_t bytes = elements * sizeof(element);
    struct part *parts = calloc((size_t)threads, sizeof *parts);
    pthread_t *workers = calloc((size_t)threads, sizeof *workers);
    struct tally tally[KERNELS];
    if (!parts || !workers)
        fail(1, "no memory for %d threads", threads);
    for (int kernel = 0; kernel < KERNELS; kernel++)
        tally[kernel] = (struct tally){DBL_MAX, 0, 0};
    a = array(bytes);
    b = array(bytes);
    c = array(bytes);
    pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++) {
        parts[t].from = elements * (size_t)t / (size_t)threads;
        parts[t].to = elements * (size_t)(t + 1) / (size_t)threads;
        start_thread(&workers[t], work, &parts[t]);
    }
    measure(parts, threads, start, tally);
    for (int t = 0; t < threads; t++)
        pthread_join(workers[t], NULL);
    pthread_barrier_destroy(&together);
    report(tally, threads, tick);
    int right = valid(parts, threads);
    munmap(a, bytes);
    munmap(b, bytes);
    munmap(c, bytes);
    free(parts);
    free(workers);
    return right;
}

int main(int count, char **words)
{
    int most = 0, right = 1;
    const char *sweep = "every";
    elements = 10000000;
    times = 10;
    introduce("stream", 2);
    for (int i = 1; i < count; i += 2) {
        const char *option = words[i], *value = words[i + 1]; /* the last word is followed by NULL */
        if (!strcmp(option, "--elements"))
            elements = (size_t)whole(option, value, 1000, 1LL << 40);
        else if (!strcmp(option, "--times"))
            times = (int)whole(option, value, 2, MOST_TIMES);
        else if (!strcmp(option, "--threads"))
            most = (int)whole(option, value, 0, 65536);
        else if (!strcmp(option, "--sweep"))
            sweep = value ? value : "";
        else
            fail(2, "%s is no option", option);
        if (!value)
            break;
    }
    most = most ? most : usable_cpus();
    printf("# elements %zu\n# bytes %zu\n# times %d\n# cpus %d\n", elements, elements * sizeof(element), times,
           usable_cpus());
    double start = now(), tick = clock_tick();
    for (int threads = next_threads(sweep, 0, most); threads; threads = next_threads(sweep, threads, most))
        right &= sweep_point(threads, start, tick);
    if (!right)
        fail(1, "the arrays are not what the kernels should have made of them");
    puts("done");
    return 0;
}
