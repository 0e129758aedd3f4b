/*
 * A network by buffers: what two hosts carry between them in buffers of given sizes, by TCP and UDP, over several
 * flows, up and down; and how long a buffer takes there and back, as a distribution.
 *
 * What arrives counts: the receiving end counts bytes over its own window of time, after what is left out at the
 * beginning. A UDP buffer that is larger than a datagram may be is sent as several. A round trip is over when the
 * whole buffer has come back; where a datagram of it is missing after a second, it is lost. Without --connect and
 * --serve, both ends run here, over the loopback.
 */
#include "flows.h"

#include <sys/random.h>

#define MOST_BLOCKS 64
#define LARGEST_BLOCK (64 << 20)
#define MOST_THREADS 256
#define PATIENCE 60.0 /* seconds the server end waits for its client */

struct wanted {
    const char *host, *nonce_file, *blocks, *protocols, *tests, *sweep;
    int serve, threads;
    struct settings like;
};

struct trips {
    unsigned long long counts[BUCKETS], all, lost;
    double longest; /* microseconds; 0 where it is not known */
};

static double began_at; /* when this end began, for the times of what is said live */

/* What is told of the flows every second, and at the end, by the end that counts. */
typedef void (*teller)(const char *word, const struct test *test, int control, const struct totals *part);

static void head_of_line(const char *word, const struct settings *asked)
{
    if (!strcmp(word, "live"))
        printf("live time %.3f", now() - began_at);
    else
        printf("%s", word);
    printf(" test %s protocol %s block %zu threads %d", KIND_NAMES[asked->kind], PROTOCOL_NAMES[asked->protocol],
           asked->block, asked->threads);
}

static void tell_here(const char *word, const struct test *test, int control, const struct totals *part)
{
    (void)control;
    if (!strcmp(word, "end"))
        return;
    head_of_line(word, &test->asked);
    printf(" rate %.0f\n", 8 * (double)part->bytes / part->took);
}

static void tell_client(const char *word, const struct test *test, int control, const struct totals *part)
{
    (void)test;
    say_to(control, "%s %.6f %llu %llu", word, part->took, part->bytes, part->units);
}

/* Count what arrives: every second, and in all, from when what is left out is over. */
static struct totals watch(struct test *test, int control, teller tell)
{
    wait_until(control, now() + test->asked.omit);
    struct totals first = totals_of(test), last = first, whole_time, part;
    double began = now(), before = began;
    while (before - began < test->asked.length - 1e-3) {
        wait_until(control, least(before + 1, began + test->asked.length));
        struct totals all = totals_of(test);
        double moment = now();
        part = (struct totals){moment - before, all.bytes - last.bytes, all.units - last.units};
        tell("live", test, control, &part);
        before = moment;
        last = all;
    }
    whole_time = (struct totals){before - began, last.bytes - first.bytes, last.units - first.units};
    if (test->asked.protocol == TCP)
        atomic_store(&test->stop, 1); /* before the other end hears of it: no end of a flow breaks the test now */
    tell("end", test, control, &whole_time);
    return whole_time;
}

static void gather_trips(struct test *test, struct trips *trips)
{
    memset(trips, 0, sizeof *trips);
    totals_of(test); /* says where a flow is broken */
    for (int i = 0; i < test->asked.threads; i++) {
        struct flow *flow = &test->flows[i];
        trips->lost += atomic_load_explicit(&flow->lost, memory_order_relaxed);
        for (size_t bucket = 0; bucket < BUCKETS; bucket++)
            trips->counts[bucket] += atomic_load_explicit(&flow->counts[bucket], memory_order_relaxed);
    }
}

static void subtract_trips(struct trips *from, const struct trips *earlier)
{
    from->lost -= earlier->lost;
    from->all = 0;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        from->counts[bucket] -= earlier->counts[bucket];
        from->all += from->counts[bucket];
    }
}

/* The microseconds within which a share of the round trips was over: the nearest rank, and no more than the longest. */
static double percentile(const struct trips *trips, double share)
{
    unsigned long long rank = (unsigned long long)(share * (double)trips->all), seen = 0;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        seen += trips->counts[bucket];
        if (seen > rank || (seen == trips->all && seen > 0))
            return trips->longest > 0 ? least(middle_of(bucket), trips->longest) : middle_of(bucket);
    }
    return 0;
}

static void tell_trips(const char *word, const struct settings *asked, const struct trips *trips, double took)
{
    head_of_line(word, asked);
    printf(" trips %llu rate %.3f lost %llu", trips->all, (double)trips->all / took, trips->lost);
    if (trips->all)
        printf(" p50 %.3f p90 %.3f p99 %.3f p999 %.3f", percentile(trips, 0.5), percentile(trips, 0.9),
               percentile(trips, 0.99), percentile(trips, 0.999));
}

/* Time buffers there and back; the line of the result is left open for what the other end says. */
static void watch_trips(struct test *test, int control)
{
    static struct trips first, last, all, part; /* of some 20 kB each */
    wait_until(control, now() + test->asked.omit);
    for (int i = 0; i < test->asked.threads; i++)
        atomic_store(&test->flows[i].longest, 0);
    gather_trips(test, &first);
    last = first;
    double began = now(), before = began;
    while (before - began < test->asked.length - 1e-3) {
        wait_until(control, least(before + 1, began + test->asked.length));
        double moment = now();
        gather_trips(test, &all);
        part = all;
        subtract_trips(&part, &last);
        tell_trips("live", &test->asked, &part, moment - before);
        putchar('\n');
        before = moment;
        last = all;
    }
    subtract_trips(&all, &first);
    unsigned long long longest = 0, own;
    for (int i = 0; i < test->asked.threads; i++)
        if ((own = atomic_load(&test->flows[i].longest)) > longest)
            longest = own;
    all.longest = 1e-3 * (double)longest;
    tell_trips("result", &test->asked, &all, before - began);
    if (all.all)
        printf(" max %.3f", all.longest);
}

/* The server end */

static void expect(int control, const char *word)
{
    char message[MESSAGE];
    if (!hear(control, message) || strcmp(message, word))
        gone();
}

static void serve_test(struct end *end, int control, const struct settings *asked)
{
    static void *(*const WORK[KINDS])(void *) = {work_receive, work_send, work_echo};
    struct test test;
    open_flows(&test, asked);
    for (int i = 0; i < asked->threads; i++)
        test.flows[i].fd = asked->protocol == UDP ? accept_datagrams(end, i) : accept_ours(end, i, 10);
    say_to(control, "ready");
    expect(control, "go");
    double began = now(), used = processor_time();
    start_flows(&test, WORK[asked->kind]);
    if (asked->kind == UPLOAD)
        watch(&test, control, tell_client);
    expect(control, "stop");
    used = 100 * (processor_time() - used) / (now() - began);
    if (asked->kind == UPLOAD && asked->protocol == UDP)
        drain(&test);
    stop_flows(&test);
    say_to(control, "over %llu %.3f", totals_of(&test).units, used);
    close_flows(&test);
}

/* Whether a message asks for a test that can be made. */
static int is_test(const char *message, struct settings *asked)
{
    int read = sscanf(message, "run %d %d %zu %zu %d %d %lf %lf %lf", &asked->protocol, &asked->kind, &asked->block,
                      &asked->datagram, &asked->threads, &asked->nodelay, &asked->length, &asked->omit, &asked->rate);
    return read == 9 && asked->protocol >= TCP && asked->protocol <= UDP && asked->kind >= UPLOAD &&
           asked->kind < KINDS && asked->block >= 1 && asked->block <= LARGEST_BLOCK && asked->datagram >= 1 &&
           asked->datagram <= LARGEST_DATAGRAM && asked->threads >= 1 && asked->threads <= MOST_THREADS &&
           asked->length > 0 && asked->length <= 1e6 && asked->omit >= 0 && asked->omit <= 1e6 && asked->rate >= 0;
}

/* Serve the one client that has the nonce, for as long as it stays, and nobody after it. */
static void serve(struct end *end)
{
    char message[MESSAGE];
    struct settings asked;
    int control = accept_ours(end, CONTROL, PATIENCE);
    watch_over(control);
    while (hear(control, message) && strcmp(message, "bye")) {
        if (!is_test(message, &asked))
            fail(1, "the client asked for what is no test");
        serve_test(end, control, &asked);
    }
    close(control);
    close(end->listener);
    close(end->datagrams);
    if (strcmp(message, "bye"))
        gone();
}

/* The client */

/* Print what the server end counts, until it is done. */
static struct totals follow(struct test *test, int control)
{
    struct totals part;
    char message[MESSAGE], word[16];
    for (;;) {
        if (!hear(control, message) ||
            sscanf(message, "%15s %lf %llu %llu", word, &part.took, &part.bytes, &part.units) != 4 || part.took <= 0)
            gone();
        if (!strcmp(word, "end"))
            return part;
        tell_here("live", test, control, &part);
    }
}

static void conclude(struct test *test, int control, const struct totals *counted, double used)
{
    const struct settings *asked = &test->asked;
    unsigned long long theirs = 0;
    double remote = 0;
    char message[MESSAGE];
    if (!hear(control, message) || sscanf(message, "over %llu %lf", &theirs, &remote) != 2)
        gone();
    if (asked->kind == DOWNLOAD && asked->protocol == UDP)
        drain(test);
    if (asked->kind != UPLOAD)
        stop_flows(test);
    unsigned long long ours = totals_of(test).units, sent = asked->kind == UPLOAD ? ours : theirs;
    unsigned long long got = asked->kind == UPLOAD ? theirs : ours;
    if (asked->kind != LATENCY) {
        head_of_line("result", asked);
        printf(" rate %.0f took %.3f", 8 * (double)counted->bytes / counted->took, counted->took);
        if (asked->protocol == UDP)
            printf(" sent %llu lost %llu", sent, sent > got ? sent - got : 0);
    }
    printf(" local %.3f remote %.3f\n", used, remote);
}

static void ask_one(const char *host, const struct end *end, int control, const struct settings *asked)
{
    static void *(*const WORK[KINDS])(void *) = {work_send, work_receive, work_trips};
    struct totals counted = {1, 0, 0};
    struct test test;
    say_to(control, "run %d %d %zu %zu %d %d %.6f %.6f %.6f", asked->protocol, asked->kind, asked->block,
           asked->datagram, asked->threads, asked->nodelay, asked->length, asked->omit, asked->rate);
    open_flows(&test, asked);
    for (int i = 0; i < asked->threads; i++)
        test.flows[i].fd = join(host, end, asked->protocol, i);
    expect(control, "ready");
    say_to(control, "go");
    double began = now(), used = processor_time();
    start_flows(&test, WORK[asked->kind]);
    if (asked->kind == UPLOAD)
        counted = follow(&test, control);
    else if (asked->kind == DOWNLOAD)
        counted = watch(&test, control, tell_here);
    else
        watch_trips(&test, control);
    used = 100 * (processor_time() - used) / (now() - began);
    if (asked->kind == UPLOAD)
        stop_flows(&test);
    else if (asked->kind == LATENCY)
        atomic_store(&test.stop, 1);
    say_to(control, "stop");
    conclude(&test, control, &counted, used);
    close_flows(&test);
}

/* Every protocol, test, size and number of threads in turn. */
static void ask_all(const char *host, const struct end *end, const struct wanted *wanted)
{
    char name[INET6_ADDRSTRLEN];
    struct sockaddr_storage address;
    socklen_t size = sizeof address, width = sizeof(int);
    int control = join(host, end, TCP, CONTROL), segment = 0, most = wanted->threads ? wanted->threads : usable_cpus();
    watch_over(control);
    if (getsockopt(control, IPPROTO_TCP, TCP_MAXSEG, &segment, &width) == 0)
        printf("# segment %d\n", segment);
    if (getpeername(control, (struct sockaddr *)&address, &size) == 0)
        printf("# peer %s\n", name_of(&address, name));
    printf("# nodelay %s\n", wanted->like.nodelay ? "on" : "off");
    for (int protocol = TCP; protocol <= UDP; protocol++)
        for (int kind = UPLOAD; kind < KINDS; kind++)
            for (const char *at = wanted->blocks; *at; at += strcspn(at, ","), at += *at == ',')
                for (int threads = 0; (threads = next_threads(wanted->sweep, threads, most)) != 0;) {
                    struct settings asked = wanted->like;
                    asked.protocol = protocol;
                    asked.kind = kind;
                    asked.block = (size_t)strtoull(at, NULL, 10);
                    asked.threads = threads;
                    if ((!strcmp(wanted->protocols, "both") || !strcmp(wanted->protocols, PROTOCOL_NAMES[protocol])) &&
                        (!strcmp(wanted->tests, "all") || strstr(wanted->tests, KIND_NAMES[kind])))
                        ask_one(host, end, control, &asked);
                }
    say_to(control, "bye");
    close(control);
}

static void *serve_here(void *end)
{
    serve(end);
    return NULL;
}

static void alone(struct end *end, const struct wanted *wanted)
{
    pthread_t server;
    unsigned char random[16];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        fail(1, "no random numbers can be had: %s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(end->nonce + 2 * i, 3, "%02x", random[i]);
    listen_at(end);
    struct end copy = *end; /* the server end goes on to other sockets */
    start_thread(&server, serve_here, end);
    ask_all("127.0.0.1", &copy, wanted);
    pthread_join(server, NULL);
}

/* Refuse a list that is none; it is read again where it is used. */
static const char *list(const char *text)
{
    char copy[1024], *rest = NULL;
    int count_of_blocks = 0;
    if (!text || strlen(text) >= sizeof copy)
        fail(2, "--blocks takes sizes in bytes, separated by commas");
    strcpy(copy, text);
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest), count_of_blocks++)
        whole("--blocks", word, 1, LARGEST_BLOCK);
    if (count_of_blocks < 1 || count_of_blocks > MOST_BLOCKS)
        fail(2, "--blocks takes 1 to %d sizes", MOST_BLOCKS);
    return text;
}

static void read_words(int number, char **words, struct wanted *wanted, struct end *end)
{
    *wanted = (struct wanted){.blocks = "1,1024,65536,1048576", .protocols = "both", .tests = "all", .sweep = "single"};
    wanted->threads = 1;
    wanted->like = (struct settings){.datagram = 1472, .length = 1, .nodelay = 1};
    for (int i = 1; i < number; i++) {
        const char *word = words[i], *value = i + 1 < number ? words[i + 1] : NULL;
        if (!strcmp(word, "--serve")) {
            wanted->serve = 1;
            continue;
        }
        if (!strcmp(word, "--connect"))
            wanted->host = value;
        else if (!strcmp(word, "--nonce-file"))
            wanted->nonce_file = value;
        else if (!strcmp(word, "--port"))
            end->port = (int)whole(word, value, 1, 65535);
        else if (!strcmp(word, "--tos"))
            end->tos = (int)whole(word, value, 0, 255);
        else if (!strcmp(word, "--blocks"))
            wanted->blocks = list(value);
        else if (!strcmp(word, "--protocols"))
            wanted->protocols = value;
        else if (!strcmp(word, "--tests"))
            wanted->tests = value;
        else if (!strcmp(word, "--sweep"))
            wanted->sweep = value;
        else if (!strcmp(word, "--threads"))
            wanted->threads = (int)whole(word, value, 0, MOST_THREADS);
        else if (!strcmp(word, "--datagram"))
            wanted->like.datagram = (size_t)whole(word, value, 1, LARGEST_DATAGRAM);
        else if (!strcmp(word, "--nodelay"))
            wanted->like.nodelay = (int)whole(word, value, 0, 1);
        else if (!strcmp(word, "--time"))
            wanted->like.length = seconds(word, value);
        else if (!strcmp(word, "--omit"))
            wanted->like.omit = value && !strcmp(value, "0") ? 0 : seconds(word, value);
        else if (!strcmp(word, "--rate"))
            wanted->like.rate = (double)whole(word, value, 0, 10000000);
        else if (!strcmp(word, "--interval"))
            wanted->like.interval = seconds(word, value);
        else
            fail(2, "%s is no option of this probe", word);
        if (!value)
            fail(2, "%s takes a value", word);
        i++;
    }
    next_threads(wanted->sweep, 0, 1);
    if (strcmp(wanted->protocols, "both") && strcmp(wanted->protocols, "tcp") && strcmp(wanted->protocols, "udp"))
        fail(2, "--protocols takes both, tcp or udp");
    if (wanted->serve || wanted->host) {
        if (!wanted->nonce_file || !end->port)
            fail(2, "--serve and --connect take a --port and a --nonce-file");
        read_nonce(end, wanted->nonce_file);
    }
}

int main(int number, char **words)
{
    struct wanted wanted;
    struct end end = {.port = 0};
    read_words(number, words, &wanted, &end);
    began_at = now();
    if (wanted.serve)
        listen_at(&end); /* before a word is said: the first one tells that the client may come */
    introduce("netblocks", VERSION);
    if (wanted.serve) {
        printf("listening on port %d\n", end.port);
        serve(&end);
    } else if (wanted.host)
        ask_all(wanted.host, &end, &wanted);
    else
        alone(&end, &wanted);
    printf("done\n");
    return 0;
}
