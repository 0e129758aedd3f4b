// Prints a host's counters and those of the process tree under test once per interval, in the format of telemetry.sh,
// which starts it and is the fallback:
//   telemetry MARK SECONDS LEASE LOOPS RARELY OFTEN-FILES -- RARE-FILES [-- HELD]
// LEASE is the directory of the lease: it is touched once a second, and its file "job=PID-START-BOOT" names the leader of
// the job under test. LOOPS are the loop devices to read, as loop0|loop1. Every RARELY ticks the RARE-FILES and the
// processes are read, every 2 RARELY ticks the shell command HELD prints what a cloud held back.
// The files of /proc stay open and are read at absolute times of CLOCK_MONOTONIC. No root. Ends when its output is closed.
//
// The tree: every process of the leader's session, every descendant of a member, and every process with the job's
// BENCHWRIGHT_JOB in its environment. Other jobs of the lease's run (BENCHWRIGHT_RUN), such as servers, are counted apart;
// those of another run are other processes. CPU time, page faults and I/O of waited children are counted by the kernel at their
// parent (proc(5)); what a process that was not waited for had used is carried, so that no total decreases. If the job has
// a cgroup of its own (job.sh), its CPU time is that of the cgroup: also of short-lived processes that nobody waited for.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = 1 << 18, OUT = 1 << 20, MOST_KNOWN = 1 << 16, MOST_MEMBERS = 4096, MOST_THREADS = 1024, MOST_FILES = 128 };
enum { MOST_WATCHED = 64, SPARE_FILES = 64, GROWN = 100, BUSY = 5, LINE = 1024 };
// Processes and scans per tick, ticks in which a job's cgroup is looked for, bytes of `out`.
enum { MOST_PRINTED = 1024, MOST_PASSES = 3, MOST_LOOKS = 20, FOR_THE_END = 1 << 16 };
#define SECOND 1000000000LL
#define LOOK_EVERY (SECOND * 45 / 100) // for children of members, for another job, for idle threads
#define SCAN_EVERY (2 * SECOND)         // for processes that left the tree
#define KERNEL_THREAD 0x00200000u // PF_KTHREAD (include/linux/sched.h)

static const char *mark, *lease, *loops;
static char out[OUT], text[TEXT];
static size_t filled;
static int open_files, most_files = 256;

extern char **environ;

static int64_t now(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return at.tv_sec * SECOND + at.tv_nsec;
}

// ---- Output: one write per tick

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    __builtin_va_list rest;
    __builtin_va_start(rest, format);
    int length = vsnprintf(out + filled, OUT - filled, format, rest);
    __builtin_va_end(rest);
    if (length > 0 && (size_t)length < OUT - filled)
        filled += (size_t)length;
}

static void flush(void)
{
    for (size_t sent = 0; sent < filled;) {
        ssize_t some = write(1, out + sent, filled - sent);
        if (some < 0 && errno != EINTR)
            exit(0);
        sent += some > 0 ? (size_t)some : 0;
    }
    filled = 0;
}

// ---- Files

struct file {
    int fd; // -1: not open, is opened for each reading
};

static int open_for_reading(const char *path) { return open(path, O_RDONLY | O_CLOEXEC); }

static void forget(struct file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        open_files--;
    }
    file->fd = -1;
}

// Returns the bytes read into `into`, which end with NUL, or -1 with errno. Keeps the file open if there is room. The
// kernel prints a file of one process as a whole: one read, if `into` is that small.
static ssize_t reads(struct file *file, const char *path, char *into, size_t size)
{
    int fd = file->fd;
    if (fd < 0 && (fd = open_for_reading(path)) < 0)
        return -1;
    size_t got = 0;
    ssize_t some = 0;
    while (got < size - 1 && (some = pread(fd, into + got, size - 1 - got, (off_t)got)) > 0) {
        got += (size_t)some;
        if (size <= LINE)
            break;
    }
    int trouble = errno;
    if (file->fd < 0 && some >= 0 && open_files < most_files) {
        file->fd = fd;
        open_files++;
    } else if (file->fd < 0) {
        close(fd);
    }
    into[got] = 0;
    errno = trouble;
    return some < 0 && !got ? -1 : (ssize_t)got;
}

// Reads a file of the process or thread into `text`.
static ssize_t reads_of(struct file *file, int pid, int tid, const char *name)
{
    char path[96] = "";
    if (file->fd < 0 && tid)
        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    else if (file->fd < 0)
        snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return reads(file, path, text, LINE);
}

static bool starts(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

static bool many_cpus;

static bool is_stat(const char *line)
{
    return (line[0] == 'c' && starts(line, many_cpus ? "cpu  " : "cpu")) || starts(line, "procs_");
}

static bool is_meminfo(const char *line)
{
    return starts(line, "MemAvailable:") || starts(line, "Cached:") || starts(line, "Dirty:");
}

static bool is_vmstat(const char *line)
{
    return (line[0] == 'p' && (starts(line, "pswpin ") || starts(line, "pswpout ") || starts(line, "pgmajfault "))) ||
           starts(line, "oom_kill ");
}

static bool is_some(const char *line) { return starts(line, "some "); }
static bool is_any(const char *line) { return *line != 0; }
static bool is_interface(const char *line) { return !strchr(line, '|'); }
static bool is_protocol(const char *line) { return starts(line, "Tcp: ") || starts(line, "Udp: "); }

static bool is_disk(const char *line)
{
    char *end;
    unsigned long major = strtoul(line, &end, 10);
    strtoul(end, &end, 10);
    const char *name = end + strspn(end, " ");
    if ((*name != 'l' && *name != 'r') || starts(name, "rbd"))
        return *name != 0;
    size_t length = strcspn(name, " ");
    if (major != 7)
        return false;
    for (const char *one = loops; *one; one += strcspn(one, "|"), one += *one == '|')
        if (strcspn(one, "|") == length && !strncmp(one, name, length))
            return true;
    return false;
}

static bool is_group_time(const char *line) // cpu.stat, and the single number of cpuacct.usage
{
    return starts(line, "usage_usec ") || (*line >= '0' && *line <= '9') || starts(line, "nr_periods ") ||
           starts(line, "nr_throttled ") || starts(line, "throttled_time ") || starts(line, "throttled_usec ");
}

struct source {
    const char *path;
    bool (*wanted)(const char *line);
    struct file file;
};

static struct source sources[MOST_FILES] = {
    {"/proc/stat", is_stat, {-1}},
    {"/proc/meminfo", is_meminfo, {-1}},
    {"/proc/vmstat", is_vmstat, {-1}},
    {"/proc/pressure/cpu", is_some, {-1}},
    {"/proc/pressure/memory", is_some, {-1}},
    {"/proc/pressure/io", is_some, {-1}},
    {"/proc/loadavg", is_any, {-1}},
    {"/proc/net/dev", is_interface, {-1}},
    {"/proc/net/snmp", is_protocol, {-1}},
    {"/proc/diskstats", is_disk, {-1}},
};
static int often = 10;
static struct source rare[MOST_FILES];
static int rare_files;
static char last_process[32]; // the PID made last (/proc/loadavg): if unchanged, there is no new process

static void print_file(struct source *source)
{
    if (reads(&source->file, source->path, text, TEXT) < 0)
        return;
    if (source->wanted == is_any && starts(source->path, "/proc/loadavg")) {
        const char *last = strrchr(text, ' ');
        snprintf(last_process, sizeof last_process, "%s", last ? last + 1 : "");
    }
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        size_t path = strlen(source->path), length = (size_t)(end - line);
        if (!source->wanted(line) || filled + path + length + 2 >= OUT - FOR_THE_END)
            continue;
        memcpy(out + filled, source->path, path);
        out[filled + path] = ':';
        memcpy(out + filled + path + 1, line, length);
        out[filled + path + 1 + length] = '\n';
        filled += path + length + 2;
    }
}

// ---- Processes

enum counter { USER, SYSTEM, MINOR, MAJOR, READ, WRITTEN, READS, WRITES, COUNTERS };
enum kind { OTHER, MEMBER, OURS, KERNEL }; // OURS: of another job of the same run

struct stat_line {
    char state;
    int parent, session;
    unsigned flags;
    uint64_t own, started, children_minor, counters[4];
    long threads, pages;
};

struct known {
    int pid, parent;
    enum kind kind;
    bool judged_twice; // a process seen between fork and exec has the environment of another program
    uint64_t started, ticks;
};

struct thread {
    int tid;
    struct file file;
    uint64_t run, wait, slices;
    bool fresh;
};

struct process {
    int pid;
    bool gone, read_again; // since this tick began
    struct file stat, io;
    struct stat_line now;
    uint64_t counters[COUNTERS], transferred; // minor faults of waited children that are not yet accounted to a process
    uint64_t ended_wait, ended_slices;
    struct thread *threads;
    int thread_count;
    int64_t listed, threads_read;
    bool idle; // used no CPU tick since the previous tick
};

static struct known *known, *other_known;
static int known_count;
static struct process *members;
static int member_count, thread_total;
static uint64_t carried[COUNTERS], carried_wait, carried_slices, shown[COUNTERS];
static bool no_io, no_threads;
static char group[4096 + 32]; // cpu.stat of the job's cgroup
static struct file group_file = {-1};
static int group_looks;
static int leader;
static uint64_t leader_started;
static const char JOB[] = "BENCHWRIGHT_JOB=", RUN[] = "BENCHWRIGHT_RUN=";
static char job_marker[256]; // BENCHWRIGHT_JOB=... of the leader
static char own_run[256];    // BENCHWRIGHT_RUN=... of the lease; empty if unknown
static struct {
    int pid;
    struct file file;
} watched[MOST_WATCHED];
static int watched_count;
static uint64_t beside[KERNEL + 1]; // CPU ticks since the start of threads of the kernel and of Benchwright's other jobs

// The numbers of `line` up to a word that is none; returns how many were found.
static int numbers(const char *line, int64_t *into, int most)
{
    int count = 0;
    char *end;
    for (; count < most; line = end, count++) {
        into[count] = strtoll(line, &end, 10);
        if (end == line)
            break;
    }
    return count;
}

static bool parse_stat(const char *line, struct stat_line *into)
{
    const char *rest = strrchr(line, ')');
    int64_t field[22]; // from the parent on; the numbers of proc(5) minus 4
    if (!rest || !rest[1] || !rest[2] || numbers(rest + 3, field, 21) < 21)
        return false;
    into->state = rest[2];
    into->parent = (int)field[0];
    into->session = (int)field[2];
    into->flags = (unsigned)field[5];
    into->children_minor = (uint64_t)field[7];
    into->own = (uint64_t)(field[10] + field[11]);
    into->counters[USER] = (uint64_t)(field[10] + field[12]);
    into->counters[SYSTEM] = (uint64_t)(field[11] + field[13]);
    into->counters[MINOR] = (uint64_t)(field[6] + field[7]);
    into->counters[MAJOR] = (uint64_t)(field[8] + field[9]);
    into->threads = (long)field[16];
    into->started = (uint64_t)field[18];
    into->pages = (long)field[20];
    return true;
}

static char process_line[LINE];

// Reads a process once; `process_line` is then its line without the line break.
static bool look_at(int pid, struct stat_line *into)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open_for_reading(path);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, process_line, sizeof process_line - 1);
    close(fd);
    process_line[got > 0 ? got : 0] = 0;
    process_line[strcspn(process_line, "\n")] = 0;
    return got > 0 && parse_stat(process_line, into);
}

// Copies the variable `name` of a process's environment, with its name; an empty text if there is none.
static void read_variable(int pid, const char *name, char *into, size_t size)
{
    char path[64];
    struct file once = {-1};
    *into = 0;
    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    int files = most_files;
    most_files = 0;
    ssize_t got = reads(&once, path, text, TEXT);
    most_files = files;
    for (const char *at = text; got > 0 && at < text + got; at += strlen(at) + 1)
        if (starts(at, name)) {
            snprintf(into, size, "%s", at);
            return;
        }
}

static struct process *member(int pid)
{
    for (int i = 0; i < member_count; i++)
        if (members[i].pid == pid)
            return &members[i];
    return NULL;
}

static void forget_threads(struct process *process)
{
    for (int i = 0; i < process->thread_count; i++)
        forget(&process->threads[i].file);
    thread_total -= process->thread_count;
    free(process->threads);
    process->threads = NULL;
    process->thread_count = 0;
}

static void forget_members(void)
{
    for (int i = 0; i < member_count; i++) {
        forget(&members[i].stat);
        forget(&members[i].io);
        forget_threads(&members[i]);
    }
    member_count = 0;
    memset(carried, 0, sizeof carried);
    memset(shown, 0, sizeof shown);
    carried_wait = carried_slices = 0;
    no_io = no_threads = false;
    *group = 0;
    group_looks = 0;
    forget(&group_file);
}

static bool join(int pid)
{
    if (member(pid))
        return true;
    if (member_count == MOST_MEMBERS)
        return false;
    members[member_count++] = (struct process){.pid = pid, .stat = {-1}, .io = {-1}, .listed = -10 * SECOND};
    return true;
}

static struct known *find_known(int pid)
{
    int low = 0, high = known_count - 1;
    while (low <= high) {
        int middle = (low + high) / 2;
        if (known[middle].pid == pid)
            return &known[middle];
        if (known[middle].pid < pid)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return NULL;
}

static void watch(int pid)
{
    for (int i = 0; i < watched_count; i++)
        if (watched[i].pid == pid)
            return;
    if (watched_count < MOST_WATCHED) {
        watched[watched_count].pid = pid;
        watched[watched_count++].file.fd = -1;
    }
}

static enum kind judge(int pid, const struct stat_line *seen)
{
    char marker[256];
    if (seen->flags & KERNEL_THREAD)
        return KERNEL;
    if (leader && (member(pid) || seen->session == leader || member(seen->parent)) && join(pid))
        return MEMBER;
    read_variable(pid, JOB, marker, sizeof marker);
    if (!*marker)
        return OTHER;
    if (leader && *job_marker && !strcmp(marker, job_marker) && join(pid))
        return MEMBER;
    read_variable(pid, RUN, marker, sizeof marker);
    if (*own_run && strcmp(marker, own_run))
        return OTHER;
    watch(pid);
    return OURS;
}

// Looks for new processes, whose parent may have a greater PID: again if one of them is a member.
static void scan(bool all)
{
    bool again = true;
    for (int pass = 0; again && pass < MOST_PASSES; pass++, all = false) {
        DIR *directory = opendir("/proc");
        if (!directory)
            return;
        int count = 0, before = 0, joined = member_count;
        for (struct dirent *entry; (entry = readdir(directory)) && count < MOST_KNOWN;) {
            int pid = atoi(entry->d_name);
            struct stat_line seen;
            if (pid <= 0)
                continue;
            while (before < known_count && known[before].pid < pid)
                before++;
            if (before < known_count && known[before].pid == pid && !all && known[before].kind != OTHER) {
                other_known[count++] = known[before];
            } else if (before < known_count && known[before].pid == pid && !all && !member(known[before].parent)) {
                other_known[count++] = known[before];
            } else if (look_at(pid, &seen)) {
                enum kind kind = judge(pid, &seen);
                other_known[count++] =
                    (struct known){.pid = pid, .parent = seen.parent, .kind = kind, .started = seen.started,
                                   .ticks = seen.own};
            }
        }
        closedir(directory);
        struct known *swap = known;
        known = other_known;
        other_known = swap;
        known_count = count;
        again = member_count > joined;
    }
}

// Makes the children of members members; returns false if the kernel does not list them. Those of other threads than the
// first one, and those whose parent has ended, are found by scan().
static bool adopt_children(void)
{
    char path[96];
    for (int i = 0; i < member_count; i++) {
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", members[i].pid, members[i].pid);
        int fd = open_for_reading(path);
        if (fd < 0 && members[i].pid == leader)
            return false;
        ssize_t got = fd < 0 ? 0 : read(fd, text, TEXT - 1);
        if (fd >= 0)
            close(fd);
        text[got > 0 ? got : 0] = 0;
        char *at = text;
        for (int child; (child = (int)strtol(at, &at, 10)) > 0;)
            join(child);
    }
    return true;
}

// ---- The tree under test

static bool read_io(struct process *process)
{
    if (reads_of(&process->io, process->pid, 0, "io") < 0)
        return errno == ESRCH;
    static const char *const names[] = {"\nsyscr: ", "\nsyscw: ", "\nread_bytes: ", "\nwrite_bytes: ",
                                        "\ncancelled_write_bytes: "};
    uint64_t found[5] = {0};
    for (int i = 0; i < 5; i++) {
        const char *at = strstr(text, names[i]);
        if (!at)
            return false;
        found[i] = strtoull(at + strlen(names[i]), NULL, 10);
    }
    process->counters[READS] = found[0];
    process->counters[WRITES] = found[1];
    process->counters[READ] = found[2];
    process->counters[WRITTEN] = found[3] > found[4] ? found[3] - found[4] : 0;
    return true;
}

static int by_tid(const void *one, const void *other)
{
    return ((const struct thread *)one)->tid - ((const struct thread *)other)->tid;
}

// Reads which threads a process has; what ended ones waited is kept.
static void list_threads(struct process *process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    DIR *directory = opendir(path);
    if (!directory)
        return;
    struct thread *found = NULL;
    int count = 0, room = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        int tid = atoi(entry->d_name);
        if (tid <= 0)
            continue;
        if (thread_total - process->thread_count + count >= MOST_THREADS) {
            no_threads = true;
            break;
        }
        if (count == room) {
            struct thread *more = realloc(found, (size_t)(room = room ? 2 * room : 4) * sizeof *found);
            if (!more)
                exit(1);
            found = more;
        }
        struct thread wanted = {.tid = tid, .file = {-1}, .fresh = true};
        struct thread *old = process->thread_count ? bsearch(&wanted, process->threads, (size_t)process->thread_count,
                                                             sizeof wanted, by_tid)
                                                   : NULL;
        found[count++] = old ? *old : wanted;
        if (old)
            old->file.fd = -1;
    }
    closedir(directory);
    if (count)
        qsort(found, (size_t)count, sizeof *found, by_tid);
    for (int i = 0; i < process->thread_count; i++) {
        struct thread *ended = &process->threads[i];
        if (!count || !bsearch(ended, found, (size_t)count, sizeof *found, by_tid)) {
            process->ended_wait += ended->wait;
            process->ended_slices += ended->slices;
            forget(&ended->file);
        }
    }
    thread_total += count - process->thread_count;
    free(process->threads);
    process->threads = found;
    process->thread_count = count;
}

// Adds up run-queue wait and timeslices; raises `busiest` to the most a thread ran since the previous tick.
static void read_threads(struct process *process, int64_t clock, uint64_t *wait, uint64_t *slices, uint64_t *busiest)
{
    bool skip = process->idle && clock - process->threads_read < LOOK_EVERY;
    if (!skip && (process->now.threads != process->thread_count || clock - process->listed >= 10 * SECOND)) {
        list_threads(process);
        process->listed = clock;
    }
    *wait += process->ended_wait;
    *slices += process->ended_slices;
    process->threads_read = skip ? process->threads_read : clock;
    for (int i = 0; i < process->thread_count; i++) {
        struct thread *thread = &process->threads[i];
        int64_t field[3];
        if (skip) {
            // what it waited is that of the previous reading
        } else if (reads_of(&thread->file, process->pid, thread->tid, "schedstat") < 0 || numbers(text, field, 3) < 3) {
            if (errno == ESRCH || errno == ENOENT)
                process->listed = clock - 10 * SECOND;
            if (errno == ENOENT && access("/proc/self/schedstat", F_OK))
                no_threads = true;
        } else {
            uint64_t run = (uint64_t)field[0];
            if (!thread->fresh && run > thread->run && run - thread->run > *busiest)
                *busiest = run - thread->run;
            thread->run = run;
            thread->wait = (uint64_t)field[1];
            thread->slices = (uint64_t)field[2];
            thread->fresh = false;
        }
        *wait += thread->wait;
        *slices += thread->slices;
    }
}

static void read_member(struct process *process)
{
    process->read_again = false;
    struct stat_line seen;
    bool first = !process->now.started;
    if (reads_of(&process->stat, process->pid, 0, "stat") <= 0 || !parse_stat(text, &seen) ||
        (!first && seen.started != process->now.started)) {
        process->gone = true;
        return;
    }
    process->transferred = first ? 0 : seen.children_minor - process->now.children_minor;
    process->idle = !first && seen.own == process->now.own;
    process->now = seen;
    memcpy(process->counters, seen.counters, sizeof seen.counters);
    if (!no_io && !read_io(process))
        no_io = true;
}

static struct process *living_parent(struct process *of) // NULL if it is no member
{
    for (int hops = 0; of && of->gone && hops < 64; hops++)
        of = member(of->now.parent);
    return of && !of->gone ? of : NULL;
}

// A child that was waited for after its parent had been read, and before its own turn, would count twice: in what is
// carried, and from the next tick on in the parent.
static void read_parents_again(void)
{
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < member_count; i++) {
            struct process *above = members[i].gone ? living_parent(&members[i]) : NULL;
            if (!above || above->read_again)
                continue;
            uint64_t transferred = above->transferred;
            bool idle = above->idle;
            read_member(above);
            above->read_again = true;
            above->transferred = above->gone ? transferred : above->transferred + transferred;
            above->idle = above->idle && idle;
            more |= above->gone;
        }
    }
}

// The kernel adds the counters of a waited child to those of its parent, which is seen by the parent's page faults: no
// process runs without one. What nobody waited for is carried.
static void account_for_the_gone(void)
{
    for (int i = 0; i < member_count; i++) {
        struct process *gone = &members[i];
        if (!gone->gone)
            continue;
        struct process *above = living_parent(gone);
        if (above && above->transferred >= gone->counters[MINOR]) {
            above->transferred -= gone->counters[MINOR];
        } else {
            for (int at = 0; at < COUNTERS; at++)
                carried[at] += gone->counters[at];
        }
        carried_wait += gone->ended_wait;
        carried_slices += gone->ended_slices;
        for (int at = 0; at < gone->thread_count; at++) {
            carried_wait += gone->threads[at].wait;
            carried_slices += gone->threads[at].slices;
        }
    }
    int count = 0;
    for (int i = 0; i < member_count; i++) {
        if (members[i].gone) {
            forget(&members[i].stat);
            forget(&members[i].io);
            forget_threads(&members[i]);
        } else {
            members[count++] = members[i];
        }
    }
    member_count = count;
}

// The job's cgroup of version 2, benchwright-NONCE-JOB (job.sh): that of a member other than the leader. Of a job of
// another account, whose environment cannot be read, the names are not known.
static void find_group(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char name[300] = "/benchwright-", path[64], *line = NULL, *end = NULL;
    const char *nonce = strchr(job_marker, '='), *job = strstr(job_marker, "/.job-");
    if (nonce && job)
        snprintf(name, sizeof name, "/benchwright-%.*s-%s", (int)(job - nonce - 1), nonce + 1, job + strlen("/.job-"));
    for (int i = 0; i < member_count && !end; i++) {
        struct file once = {-1};
        snprintf(path, sizeof path, "/proc/%d/cgroup", members[i].pid);
        ssize_t got = reads(&once, path, text, TEXT);
        forget(&once);
        line = got > 0 ? strstr(text, "0::/") : NULL;
        end = line ? strstr(line, name) : NULL;
    }
    for (int i = 0; i < 2 && end; i++) {
        end[1 + strcspn(end + 1, "/\n")] = 0;
        snprintf(group, sizeof group, "%s%.4000s/cpu.stat", mounts[i], line + strlen("0::"));
        if (!access(group, R_OK))
            return;
    }
    *group = 0;
}

// Returns whether the CPU time of the job's cgroup, in clock ticks, could be read.
static bool read_group(uint64_t *user, uint64_t *system)
{
    if (!*group || reads(&group_file, group, text, TEXT) <= 0)
        return false;
    const char *of_user = strstr(text, "user_usec "), *of_system = strstr(text, "system_usec ");
    if (!of_user || !of_system)
        return false;
    uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    *user = strtoull(of_user + strlen("user_usec "), NULL, 10) * ticks / 1000000;
    *system = strtoull(of_system + strlen("system_usec "), NULL, 10) * ticks / 1000000;
    return true;
}

static void print_tree(int64_t clock)
{
    uint64_t totals[COUNTERS], wait, slices, busiest = 0, threads = 0, pages = 0;
    for (int i = 0; i < member_count; i++)
        read_member(&members[i]);
    read_parents_again();
    struct process *first = member(leader);
    bool ended = !first || first->gone || first->now.started != leader_started || first->now.state == 'Z';
    account_for_the_gone();
    if (ended) {
        leader = 0;
        return;
    }
    memcpy(totals, carried, sizeof totals);
    wait = carried_wait;
    slices = carried_slices;
    for (int i = 0; i < member_count; i++) {
        struct process *process = &members[i];
        for (int at = 0; at < COUNTERS; at++)
            totals[at] += process->counters[at];
        if (process->now.state != 'Z') {
            threads += (uint64_t)process->now.threads;
            pages += (uint64_t)process->now.pages;
        }
        if (!no_threads)
            read_threads(process, clock, &wait, &slices, &busiest);
    }
    if (!*group && member_count > 1 && group_looks++ < MOST_LOOKS)
        find_group();
    uint64_t user, system;
    if (read_group(&user, &system) && user + system >= totals[USER] + totals[SYSTEM]) {
        totals[USER] = user;
        totals[SYSTEM] = system;
    }
    // The source may be another than before, with a different split: the sum is that of one source, and neither decreases.
    uint64_t before = shown[USER] + shown[SYSTEM], spent = totals[USER] + totals[SYSTEM];
    if (spent > before) {
        uint64_t most = spent - shown[SYSTEM];
        shown[USER] = totals[USER] < shown[USER] ? shown[USER] : totals[USER] > most ? most : totals[USER];
        shown[SYSTEM] = spent - shown[USER];
    }
    for (int at = MINOR; at < COUNTERS; at++) // written bytes that are cancelled later
        shown[at] = totals[at] > shown[at] ? totals[at] : shown[at];
    say("@@%s tree %d-%llu user %llu system %llu minor %llu major %llu threads %llu memory %llu processes %d", mark, leader,
        (unsigned long long)leader_started, (unsigned long long)shown[USER], (unsigned long long)shown[SYSTEM],
        (unsigned long long)shown[MINOR], (unsigned long long)shown[MAJOR], (unsigned long long)threads,
        (unsigned long long)pages * (unsigned long long)sysconf(_SC_PAGESIZE), member_count);
    if (!no_io)
        say(" read %llu written %llu reads %llu writes %llu", (unsigned long long)shown[READ],
            (unsigned long long)shown[WRITTEN], (unsigned long long)shown[READS], (unsigned long long)shown[WRITES]);
    if (!no_threads)
        say(" wait %llu slices %llu busiest %llu", (unsigned long long)wait, (unsigned long long)slices,
            (unsigned long long)busiest);
    say("\n");
}

// ---- The lease and the job that it names

static int open_lease(void)
{
    struct stat found;
    int directory = *lease ? open(lease, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (directory >= 0 && (fstat(directory, &found) || found.st_uid != geteuid())) {
        close(directory);
        directory = -1;
    }
    return directory;
}

static void touch(int directory)
{
    int file = openat(directory, "touched", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file >= 0)
        close(file);
}

// Returns whether the leader named by the lease, the one that started last, is another than before. The directory is read
// only if it has changed.
static bool find_leader(int directory)
{
    static struct timespec changed;
    struct stat_line seen;
    struct stat found;
    if (directory < 0 || fstat(directory, &found) ||
        (changed.tv_sec == found.st_mtim.tv_sec && changed.tv_nsec == found.st_mtim.tv_nsec))
        return false;
    int other = dup(directory), best = 0;
    DIR *listing = other < 0 ? NULL : fdopendir(other);
    if (!listing)
        return false;
    rewinddir(listing);
    uint64_t best_started = 0;
    for (struct dirent *entry; (entry = readdir(listing));) {
        unsigned long long started;
        int pid;
        if (sscanf(entry->d_name, "job=%9d-%20llu-", &pid, &started) == 2 && pid > 0 && look_at(pid, &seen) &&
            seen.started == started && seen.state != 'Z' && started >= best_started) {
            best = pid;
            best_started = started;
        } else if (!*own_run && starts(entry->d_name, "run=")) {
            snprintf(own_run, sizeof own_run, "%s%s", RUN, entry->d_name + strlen("run="));
        }
    }
    closedir(listing);
    changed = found.st_mtim;
    if (now(CLOCK_REALTIME) - (changed.tv_sec * SECOND + changed.tv_nsec) < SECOND / 20)
        changed.tv_sec = 0; // a further file of the same tick of the kernel's clock would not change it
    if (best == leader && best_started == leader_started)
        return false;
    leader = best;
    leader_started = best_started;
    *job_marker = 0;
    if (leader)
        read_variable(leader, JOB, job_marker, sizeof job_marker);
    return leader != 0;
}

// ---- What is read rarely

static void count_beside(struct known *process, const struct stat_line *seen)
{
    if (seen->own > process->ticks)
        beside[process->kind] += seen->own - process->ticks;
    process->ticks = seen->own;
}

// Busy kernel threads and other jobs are read every tick; all kernel threads are read rarely.
static void print_beside(void)
{
    int count = 0;
    for (int i = 0; i < watched_count; i++) {
        struct known *process = find_known(watched[i].pid);
        struct stat_line seen;
        if (!process || (process->kind != KERNEL && process->kind != OURS) ||
            reads_of(&watched[i].file, watched[i].pid, 0, "stat") <= 0 || !parse_stat(text, &seen)) {
            forget(&watched[i].file);
        } else {
            count_beside(process, &seen);
            watched[count++] = watched[i];
        }
    }
    watched_count = count;
    say("@@%s beside kernel %llu jobs %llu\n", mark, (unsigned long long)beside[KERNEL], (unsigned long long)beside[OURS]);
}

// Prints the processes with 1 s of CPU time or more that are not Benchwright's.
static void print_processes(void)
{
    say("@@%s ours \n", mark);
    for (int i = 0, printed = 0; i < known_count; i++) {
        struct known *process = &known[i];
        struct stat_line seen;
        if (process->kind == MEMBER || process->kind == OURS || !look_at(process->pid, &seen))
            continue;
        bool reused = seen.started != process->started;
        if (reused || (process->kind == OTHER && seen.own >= GROWN && !process->judged_twice)) {
            process->kind = judge(process->pid, &seen);
            process->judged_twice = !reused;
            process->started = seen.started;
            process->ticks = seen.own;
        }
        if (process->kind == KERNEL && seen.own > process->ticks) {
            if (seen.own >= process->ticks + BUSY)
                watch(process->pid);
            count_beside(process, &seen);
        } else if (process->kind == OTHER && seen.own >= GROWN && printed++ < MOST_PRINTED &&
                   filled < OUT - FOR_THE_END) {
            say("/proc/%d/stat:%s\n", process->pid, process_line);
        }
    }
}

static void print_held_back(const char *command)
{
    pid_t child;
    char *words[] = {"sh", "-c", (char *)command, "sh", (char *)mark, NULL};
    flush();
    if (!posix_spawnp(&child, "sh", NULL, NULL, words, environ))
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
}

static void print_used(int who)
{
    struct rusage used;
    getrusage(who, &used);
    say("0m%lld.%06lds 0m%lld.%06lds\n", (long long)used.ru_utime.tv_sec, (long)used.ru_utime.tv_usec,
        (long long)used.ru_stime.tv_sec, (long)used.ru_stime.tv_usec);
}

// ---- Main

// Returns the difference of /proc/uptime, which a container may replace, and the clock; 0 if there is none.
static int64_t uptime_offset(void)
{
    struct file once = {-1};
    double uptime = 0;
    if (reads(&once, "/proc/uptime", text, 256) > 0)
        uptime = strtod(text, NULL);
    forget(&once);
    int64_t offset = (int64_t)(uptime * 1e9) - now(CLOCK_BOOTTIME);
    return uptime > 0 && (offset > SECOND / 20 || offset < -SECOND / 20) ? offset : 0;
}

static void wait_until(int64_t at)
{
    for (int64_t left; (left = at - now(CLOCK_MONOTONIC)) > 0;) {
        struct timespec pause = {left / SECOND, left % SECOND};
        struct pollfd output = {1, 0, 0};
        if (ppoll(&output, 1, &pause, NULL) > 0 && output.revents & (POLLERR | POLLHUP | POLLNVAL))
            exit(0);
    }
}

// Nothing remains on the host, however this program ends.
static void remove_itself(char *path)
{
    char *name = strrchr(path, '/');
    unlink(path);
    if (!name)
        return;
    *name = 0;
    if (strcmp(path, lease))
        rmdir(path); // made by telemetry.sh
    *name = '/';
}

int main(int count, char **words)
{
    if (count == 2 && !strcmp(words[1], "check")) {
        puts("telemetry");
        return 0;
    }
    int64_t interval = count > 5 ? (int64_t)(strtod(words[2], NULL) * 1e9) : 0;
    int rarely = count > 5 ? atoi(words[5]) : 0;
    if (interval <= 0 || rarely <= 0) {
        fputs("usage: telemetry MARK SECONDS LEASE LOOPS RARELY FILE... -- FILE... [-- COMMAND]\n", stderr);
        return 2;
    }
    mark = words[1], lease = words[3], loops = words[4];
    remove_itself(words[0]);
    const char *held = NULL;
    for (int i = 6, part = 0; i < count; i++) {
        if (!strcmp(words[i], "--"))
            part++;
        else if (part == 0 && often < MOST_FILES)
            sources[often++] = (struct source){words[i], is_group_time, {-1}};
        else if (part == 1 && rare_files < MOST_FILES)
            rare[rare_files++] = (struct source){words[i], is_any, {-1}};
        else if (part == 2)
            held = words[i];
    }
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
        setrlimit(RLIMIT_NOFILE, &files);
        most_files = (int)files.rlim_cur - SPARE_FILES;
    }
    signal(SIGPIPE, SIG_DFL);
    many_cpus = !access("/sys/devices/system/cpu/cpu128", F_OK);
    known = calloc(MOST_KNOWN, sizeof *known);
    other_known = calloc(MOST_KNOWN, sizeof *other_known);
    members = calloc(MOST_MEMBERS, sizeof *members);
    if (!known || !other_known || !members)
        return 1;
    int64_t offset = uptime_offset(), next = now(CLOCK_MONOTONIC);
    int64_t scanned = 0, looked = 0, touched = 0;
    bool made = false; // processes since the last scan
    long rare_at = 0, number = 0;
    say("@@%s program\n", mark);
    for (;; number++) {
        int64_t clock = now(CLOCK_MONOTONIC), uptime = now(CLOCK_BOOTTIME) + offset, epoch = now(CLOCK_REALTIME);
        say("@@%s tick %ld %lld.%06lld %lld.%09lld\n", mark, number, (long long)(uptime / SECOND),
            (long long)(uptime % SECOND / 1000), (long long)(epoch / SECOND), (long long)(epoch % SECOND));
        bool look = clock - looked >= LOOK_EVERY || !number;
        int directory = look ? open_lease() : -1;
        char before[sizeof last_process];
        snprintf(before, sizeof before, "%s", last_process);
        for (int i = 0; i < often; i++)
            print_file(&sources[i]);
        looked = look ? clock : looked;
        made = made || strcmp(before, last_process);
        bool another = find_leader(directory);
        if (another || !leader)
            forget_members();
        if (another)
            join(leader);
        bool listed = !look || !made || adopt_children();
        if (another || number >= rare_at || (made && look && (!listed || clock - scanned >= SCAN_EVERY))) {
            scan(another || !number);
            scanned = clock;
            made = false;
        }
        if (leader)
            print_tree(clock);
        if (number >= rare_at) {
            print_processes();
            rare_at = number + rarely + known_count / 50;
        }
        print_beside();
        if (number % rarely == 0)
            for (int i = 0; i < rare_files; i++)
                print_file(&rare[i]);
        if (held && number % (2 * rarely) == 0)
            print_held_back(held);
        print_used(RUSAGE_SELF);
        print_used(RUSAGE_CHILDREN);
        say("@@%s end\n", mark);
        flush();
        if (directory >= 0) {
            if (!touched || clock - touched >= SECOND * 9 / 10) {
                touch(directory);
                touched = clock;
            }
            close(directory);
        }
        next += interval;
        if (next < now(CLOCK_MONOTONIC)) // it fell behind
            next = now(CLOCK_MONOTONIC) + interval;
        wait_until(next);
    }
}
