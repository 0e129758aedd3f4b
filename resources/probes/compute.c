/*
 * Arithmetic a second: floating-point and integer operations on vectors as wide as the compiler was told the
 * processor has, in registers alone, by 1 to all threads, with a figure every second.
 *
 * An operation is one addition, multiplication or exclusive-or of one element: a vector of eight doubles that is
 * multiplied and added to (one instruction where the processor has FMA) counts 16 floating-point operations.
 */
#include "probe.h"

#include <stdatomic.h>

/* The widest vectors that the compiler was told of; on processors that have none it makes do with narrower ones. */
#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

typedef double float_vector __attribute__((vector_size(WIDTH)));
typedef uint32_t whole_vector __attribute__((vector_size(WIDTH)));

#define LANES_FLOAT (WIDTH / sizeof(double))
#define LANES_WHOLE (WIDTH / sizeof(uint32_t))

/*
 * Independent chains of operations: enough to keep two units busy that take five cycles for each operation, and few
 * enough to stay in 16 registers together with the two constants.
 */
#define CHAINS 12
#define ROUNDS 20000 /* a block: some 50 microseconds, so that a second holds thousands */

enum { FLOATING, INTEGER };

static const char *const NAMES[] = {"float", "integer"};

/* Operations of a block: each round does two to every element of every chain. */
static const double WORK[] = {
    2.0 * CHAINS * ROUNDS * LANES_FLOAT,
    2.0 * CHAINS * ROUNDS * LANES_WHOLE,
};

/*
 * Read through volatile, the constants could be anything to the compiler: it cannot work out the result beforehand.
 * Written through volatile, every result counts: it cannot leave the work out.
 */
static volatile double multiplier = 0.999999, addend = 0.000001;
static volatile uint32_t step = 0x9e3779b9u, mask = 0x5bd1e995u;

struct worker {
    int kind;
    atomic_ulong blocks; /* counted by the worker, read by the main thread at any moment: hence atomic */
    volatile double result_float;
    volatile uint32_t result_whole;
    char padding[CACHE_LINE]; /* so that counting does not take the line of another worker's counter */
};

static atomic_int stop;
static pthread_barrier_t together;

static void float_block(struct worker *self)
{
    float_vector chain[CHAINS], times = {0}, plus = {0};
    times += multiplier;
    plus += addend;
    for (int i = 0; i < CHAINS; i++)
        chain[i] = plus * (double)(i + 1);
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            chain[i] = chain[i] * times + plus; /* towards 1: never infinite, never denormal */
    double sum = 0;
    for (int i = 0; i < CHAINS; i++)
        for (unsigned lane = 0; lane < LANES_FLOAT; lane++)
            sum += chain[i][lane];
    self->result_float = sum;
}

static void whole_block(struct worker *self)
{
    whole_vector chain[CHAINS], plus = {0}, with = {0};
    plus += step;
    with += mask;
    for (int i = 0; i < CHAINS; i++)
        chain[i] = plus + (uint32_t)i;
    for (int round = 0; round < ROUNDS; round++)
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++)
            chain[i] = (chain[i] + plus) ^ with;
    uint32_t sum = 0;
    for (int i = 0; i < CHAINS; i++)
        for (unsigned lane = 0; lane < LANES_WHOLE; lane++)
            sum += chain[i][lane];
    self->result_whole = sum;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    pthread_barrier_wait(&together); /* nobody computes while others are still being started */
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        if (self->kind == FLOATING)
            float_block(self);
        else
            whole_block(self);
        atomic_fetch_add_explicit(&self->blocks, 1, memory_order_relaxed);
    }
    return NULL;
}

static double blocks_of(struct worker *workers, int threads)
{
    double sum = 0;
    for (int t = 0; t < threads; t++)
        sum += (double)atomic_load_explicit(&workers[t].blocks, memory_order_relaxed);
    return sum;
}

/* Prints a figure for each interval, and the whole: work done by time taken, both since all threads were there. */
static void sample(struct worker *workers, int kind, int threads, double length, double interval, double start)
{
    double began = now(), last = began, done = 0, best = 0, worst = 0, sum = 0, squares = 0;
    int count = 0;
    while (last - began < length - 1e-3) {
        sleep_until(least(began + (count + 1) * interval, began + length));
        double moment = now(), all = blocks_of(workers, threads);
        double rate = 1e-9 * WORK[kind] * (all - done) / (moment - last);
        count++;
        best = count == 1 ? rate : largest(best, rate);
        worst = count == 1 ? rate : least(worst, rate);
        sum += rate;
        squares += rate * rate;
        printf("live time %.3f kind %s threads %d rate %.6f\n", moment - start, NAMES[kind], threads, rate);
        last = moment;
        done = all;
    }
    double mean = sum / count, variance = largest(0, squares / count - mean * mean);
    printf("result kind %s threads %d rate %.6f best %.6f worst %.6f variance %.9f samples %d\n", NAMES[kind], threads,
           1e-9 * WORK[kind] * done / (last - began), best, worst, variance, count);
}

static void sweep_point(int kind, int threads, double length, double interval, double start)
{
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    pthread_t *handles = calloc((size_t)threads, sizeof *handles);
    if (!workers || !handles)
        fail(1, "no memory for %d threads", threads);
    atomic_store(&stop, 0);
    pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++) {
        workers[t].kind = kind;
        start_thread(&handles[t], work, &workers[t]);
    }
    pthread_barrier_wait(&together);
    sample(workers, kind, threads, length, interval, start);
    atomic_store(&stop, 1);
    for (int t = 0; t < threads; t++)
        pthread_join(handles[t], NULL);
    pthread_barrier_destroy(&together);
    free(workers);
    free(handles);
}

int main(int count, char **words)
{
    int most = 0, kinds = 3;
    double length = 10, interval = 1;
    const char *sweep = "doubling", *peak = NULL;
    introduce("compute", 1);
    for (int i = 1; i < count; i += 2) {
        const char *option = words[i], *value = words[i + 1]; /* the last word is followed by NULL */
        if (!strcmp(option, "--time"))
            length = seconds(option, value);
        else if (!strcmp(option, "--interval"))
            interval = seconds(option, value);
        else if (!strcmp(option, "--threads"))
            most = (int)whole(option, value, 0, 65536);
        else if (!strcmp(option, "--sweep"))
            sweep = value ? value : "";
        else if (!strcmp(option, "--kind") && value && (!strcmp(value, "float") || !strcmp(value, "integer")))
            kinds = strcmp(value, "float") ? 2 : 1;
        else if (!strcmp(option, "--peak") && value)
            peak = value; /* the theoretical peak of one core, to stand beside the figures in the output */
        else
            fail(2, "%s %s is no option", option, value ? value : "");
        if (!value)
            break;
    }
    most = most ? most : usable_cpus();
    printf("# vector %d\n# cpus %d\n", WIDTH * 8, usable_cpus());
    if (peak)
        printf("# peak %s\n", peak);
    double start = now();
    for (int kind = FLOATING; kind <= INTEGER; kind++)
        for (int threads = next_threads(sweep, 0, most); threads; threads = next_threads(sweep, threads, most))
            if (kinds & (1 << kind))
                sweep_point(kind, threads, length, interval, start);
    puts("done");
    return 0;
}
