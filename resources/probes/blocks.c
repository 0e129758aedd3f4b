/*
 * Memory by blocks: copying, reading and writing blocks of given sizes, in order or at random places, by several
 * threads, and the true latency of memory by the size of what is used (a pointer chase).
 *
 * Bytes are those of the blocks: a copied byte counts once. What one operation takes includes the call that makes it,
 * and processors work at several operations at once; only the chase, where each address is read from memory before
 * the next can be asked for, is the latency of memory itself.
 */
#include "probe.h"

#include <stdatomic.h>

enum { COPY, READ, WRITE, OPERATIONS };
enum { SEQUENTIAL, RANDOM, PATTERNS };

static const char *const OPERATION_NAMES[] = {"copy", "read", "write"};
static const char *const PATTERN_NAMES[] = {"sequential", "random"};

#define MOST_BLOCKS 64
#define BATCH_BYTES (64 * 1024) /* worked on between two looks at the clock's verdict: microseconds */
#define BATCH_MOST 4096
#define LINE 64 /* bytes between two links of the chain: each on a line of its own */
#define SMALLEST_SET 4096
#define HUGE_PAGE (2u << 20)

struct worker {
    unsigned char *source, *target;
    size_t length, block;
    int operation, pattern;
    uint64_t random;
    atomic_ullong operations; /* counted by the worker, read by the main thread at any moment: hence atomic */
    volatile uint64_t sink;   /* what was read is stored here: the compiler cannot leave the reading out */
    char padding[CACHE_LINE]; /* so that counting does not take the line of another worker's counter */
};

static atomic_int stop;
static pthread_barrier_t together;

/* Marsaglia's xorshift64: a handful of instructions, small beside any access to memory. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A random number below `count`: by a multiplication where 32 bits do, because a division would cost as much as a
 * small block. */
static inline size_t random_below(uint64_t *state, size_t count)
{
    uint64_t drawn = next_random(state);
    return count <= UINT32_MAX ? (size_t)(((drawn >> 32) * count) >> 32) : (size_t)(drawn % count);
}

static inline uint64_t sum_of(const unsigned char *from, size_t size)
{
    uint64_t sum = 0, word;
    size_t i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, from + i, sizeof word);
        sum += word;
    }
    for (; i < size; i++)
        sum += from[i];
    return sum;
}

/* Where the next block begins. */
static inline size_t next_place(struct worker *self, size_t place, size_t count)
{
    if (self->pattern == RANDOM)
        return random_below(&self->random, count) * self->block;
    place += self->block;
    return place + self->block <= self->length ? place : 0;
}

static void work_batch(struct worker *self, size_t *from, size_t *to, size_t batch)
{
    size_t size = self->block, count = self->length / size;
    uint64_t sum = 0;
    for (size_t i = 0; i < batch; i++) {
        if (self->operation != WRITE)
            *from = next_place(self, *from, count);
        if (self->operation != READ)
            *to = next_place(self, *to, count);
        if (self->operation == COPY)
            memcpy(self->target + *to, self->source + *from, size);
        else if (self->operation == WRITE)
            memset(self->target + *to, (int)i, size);
        else
            sum += sum_of(self->source + *from, size);
    }
    self->sink = sum;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    size_t from = 0, to = 0, batch = BATCH_BYTES / self->block;
    batch = batch < 1 ? 1 : batch > BATCH_MOST ? BATCH_MOST : batch;
    memset(self->source, 1, self->length); /* the first touch, by the thread that works here: pages on its node */
    memset(self->target, 2, self->length);
    pthread_barrier_wait(&together); /* nobody is timed while others still touch their pages */
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        work_batch(self, &from, &to, batch);
        atomic_fetch_add_explicit(&self->operations, batch, memory_order_relaxed);
    }
    return NULL;
}

static double operations_of(struct worker *workers, int threads)
{
    double sum = 0;
    for (int t = 0; t < threads; t++)
        sum += (double)atomic_load_explicit(&workers[t].operations, memory_order_relaxed);
    return sum;
}

static void say(const char *word, const struct worker *like, int threads, double operations, double took)
{
    printf("%s threads %d operation %s pattern %s block %zu rate %.6f each %.6f\n", word, threads,
           OPERATION_NAMES[like->operation], PATTERN_NAMES[like->pattern], like->block,
           1e-6 * operations * (double)like->block / took,
           operations > 0 ? 1e9 * took * threads / operations : 0.0);
}

/* A figure for every second, and the whole, both from when all threads had touched their memory. */
static void sample(struct worker *workers, int threads, double length, double start)
{
    double began = now(), last = began, done = 0;
    char live[40];
    while (last - began < length - 1e-3) {
        sleep_until(least(last + 1, began + length));
        double moment = now(), all = operations_of(workers, threads);
        snprintf(live, sizeof live, "live time %.3f", moment - start);
        say(live, workers, threads, all - done, moment - last);
        last = moment;
        done = all;
    }
    say("result", workers, threads, done, last - began);
}

static void measure(struct worker like, int threads, size_t memory, double length, double start)
{
    struct worker *workers = calloc((size_t)threads, sizeof *workers);
    pthread_t *handles = calloc((size_t)threads, sizeof *handles);
    size_t part = memory / (size_t)threads;
    if (!workers || !handles)
        fail(1, "no memory for %d threads", threads);
    part = part < like.block ? like.block : part;
    atomic_store(&stop, 0);
    pthread_barrier_init(&together, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++) {
        workers[t].block = like.block;
        workers[t].operation = like.operation;
        workers[t].pattern = like.pattern;
        workers[t].length = part;
        workers[t].random = 0x9e3779b97f4a7c15u + (uint64_t)t * 0x2545f4914f6cdd1du;
        workers[t].source = fresh_memory(part);
        workers[t].target = fresh_memory(part);
        start_thread(&handles[t], work, &workers[t]);
    }
    pthread_barrier_wait(&together);
    sample(workers, threads, length, start);
    atomic_store(&stop, 1);
    for (int t = 0; t < threads; t++) {
        pthread_join(handles[t], NULL);
        munmap(workers[t].source, part);
        munmap(workers[t].target, part);
    }
    pthread_barrier_destroy(&together);
    free(workers);
    free(handles);
}

struct link {
    struct link *next;
    char padding[LINE - sizeof(struct link *)];
};

/* One cycle through all links in random order (Sattolo's algorithm): no prefetcher can tell what comes next. */
static void chain_up(struct link *links, size_t count)
{
    uint64_t random = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < count; i++)
        links[i].next = &links[i];
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = random_below(&random, i);
        struct link *other = links[i].next;
        links[i].next = links[j].next;
        links[j].next = other;
    }
}

static struct link *walk(struct link *at, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        at = at->next;
        __asm__ volatile("" : "+r"(at)); /* each step counts: the compiler may not skip to where the walk ends */
    }
    return at;
}

static void chase_set(struct link *links, size_t size, double length, double start)
{
    size_t count = size / sizeof *links, steps = 0, stride = count < 65536 ? 65536 : count;
    chain_up(links, count);
    struct link *at = walk(links, count); /* fills the caches with as much of the set as they hold */
    double began = now(), took = 0;
    while (took < length) {
        at = walk(at, stride);
        steps += stride;
        took = now() - began;
    }
    printf("chase time %.3f set %zu steps %zu ns %.6f\n", now() - start, size, steps, 1e9 * took / (double)steps);
}

/* Sets of 4, 6, 8, 12, 16 .. KiB, up to the largest: two to each doubling show where a cache ends. */
static void chase(size_t largest, double length, double start)
{
    unsigned char *memory = fresh_memory(largest + HUGE_PAGE);
    unsigned char *aligned = memory + (HUGE_PAGE - (uintptr_t)memory % HUGE_PAGE) % HUGE_PAGE;
    /* With large pages the walks through page tables are few; without, they are part of what is measured. */
    madvise(aligned, largest, MADV_HUGEPAGE);
    for (size_t size = SMALLEST_SET; size <= largest; size *= 2) {
        chase_set((struct link *)(void *)aligned, size, length, start);
        if (size + size / 2 <= largest)
            chase_set((struct link *)(void *)aligned, size + size / 2, length, start);
    }
    munmap(memory, largest + HUGE_PAGE);
}

/* Whether the kernel gives large pages: its own words, such as "always [madvise] never". */
static void print_huge_pages(void)
{
    char words[80] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file && fgets(words, sizeof words, file))
        printf("# huge-pages %s%s", words, strchr(words, '\n') ? "" : "\n");
    if (file)
        fclose(file);
}

/* The place of `name` among `count` names, or -1. */
static int place_of(const char *name, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

/* The bits of all words in the list `text`, such as "copy,read". */
static unsigned chosen(const char *option, const char *text, const char *const *names, int count)
{
    char list[200], *rest = list, *word;
    unsigned bits = 0;
    snprintf(list, sizeof list, "%s", text);
    while ((word = strsep(&rest, ","))) {
        int place = place_of(word, names, count);
        if (place < 0)
            fail(2, "%s does not take %s", option, word);
        bits |= 1u << place;
    }
    return bits;
}

static int block_list(const char *text, size_t *sizes)
{
    char list[MOST_BLOCKS * 16], *rest = list, *word;
    int count = 0;
    snprintf(list, sizeof list, "%s", text);
    while ((word = strsep(&rest, ","))) {
        if (count == MOST_BLOCKS)
            fail(2, "--blocks takes at most %d sizes", MOST_BLOCKS);
        sizes[count++] = (size_t)whole("--blocks", word, 1, 1LL << 32);
    }
    return count;
}

struct task {
    unsigned operations, patterns;
    size_t sizes[MOST_BLOCKS], memory, largest_set;
    int blocks, threads;
    double length;
    const char *sweep;
};

static void run(const struct task *task)
{
    double start = now();
    for (int threads = next_threads(task->sweep, 0, task->threads); threads;
         threads = next_threads(task->sweep, threads, task->threads))
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (int pattern = 0; pattern < PATTERNS; pattern++)
                for (int i = 0; i < task->blocks; i++)
                    if (task->operations & (1u << operation) && task->patterns & (1u << pattern)) {
                        struct worker like = {.operation = operation, .pattern = pattern, .block = task->sizes[i]};
                        measure(like, threads, task->memory, task->length, start);
                    }
    if (task->largest_set)
        chase(task->largest_set, least(task->length, 0.25), start);
}

int main(int count, char **words)
{
    struct task task = {7, 3, {1, 1024, 65536, 1 << 20}, 64 << 20, 0, 4, 1, 1, "single"};
    introduce("blocks", 1);
    for (int i = 1; i < count; i += 2) {
        const char *option = words[i], *value = words[i + 1]; /* the last word is followed by NULL */
        if (!strcmp(option, "--time"))
            task.length = seconds(option, value);
        else if (!strcmp(option, "--threads"))
            task.threads = (int)whole(option, value, 0, 65536);
        else if (!strcmp(option, "--memory"))
            task.memory = (size_t)whole(option, value, 1, 1LL << 44);
        else if (!strcmp(option, "--chase"))
            task.largest_set = (size_t)whole(option, value, 0, 1LL << 40);
        else if (!strcmp(option, "--sweep"))
            task.sweep = value ? value : "";
        else if (!strcmp(option, "--blocks") && value)
            task.blocks = block_list(value, task.sizes);
        else if (!strcmp(option, "--operations") && value)
            task.operations = chosen(option, value, OPERATION_NAMES, OPERATIONS);
        else if (!strcmp(option, "--patterns") && value)
            task.patterns = chosen(option, value, PATTERN_NAMES, PATTERNS);
        else
            fail(2, "%s %s is no option", option, value ? value : "");
        if (!value)
            break;
    }
    task.threads = task.threads ? task.threads : usable_cpus();
    printf("# memory %zu\n# cpus %d\n", task.memory, usable_cpus());
    print_huge_pages();
    run(&task);
    puts("done");
    return 0;
}
