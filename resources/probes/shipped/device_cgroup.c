// Keeps the processes of a control group (v2) from opening block devices for writing.
//   device_cgroup DIRECTORY [MAJOR:MINOR]...
// attaches a program of type BPF_PROG_TYPE_CGROUP_DEVICE to the group at DIRECTORY, which the kernel then asks at every
// open(2) of a device by a process in it. Writing to block devices is denied, but for those that are named; reading
// and mknod(2) are not. What other programs of the groups above deny stays denied. The program goes with the group.
// Ends with 0 where it is attached, else with 1 and nothing changed.
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONTEXT(field) offsetof(struct bpf_cgroup_dev_ctx, field)

static int bpf(int command, union bpf_attr *attr) { return (int)syscall(SYS_bpf, command, attr, sizeof *attr); }

static struct bpf_insn insn(int code, unsigned to, unsigned from, size_t offset, uint32_t value) {
    return (struct bpf_insn){
        .code = (uint8_t)code, .dst_reg = to & 15u, .src_reg = from & 15u, .off = (int16_t)offset, .imm = (int32_t)value};
}

enum { MOST = 16, HEAD = 8 };

// Returns the file descriptor of the program, or -1.
static int load(const unsigned (*numbers)[2], int count) {
    const int read = BPF_LDX | BPF_W | BPF_MEM, and = BPF_ALU | BPF_AND | BPF_K, set = BPF_ALU64 | BPF_MOV | BPF_K;
    const int differs = BPF_JMP | BPF_JNE | BPF_K, is = BPF_JMP | BPF_JEQ | BPF_K;
    const unsigned allow = HEAD + 2 * (unsigned)count + 2; // the instruction that allows; jumps count from the next one
    struct bpf_insn code[HEAD + 2 * MOST + 4] = {
        insn(read, 2, 1, CONTEXT(access_type), 0), // access << 16 | type
        insn(BPF_ALU64 | BPF_MOV | BPF_X, 3, 2, 0, 0),
        insn(and, 3, 0, 0, 0xffff),
        insn(differs, 3, 0, allow - 4, BPF_DEVCG_DEV_BLOCK),
        insn(and, 2, 0, 0, (uint32_t)BPF_DEVCG_ACC_WRITE << 16),
        insn(is, 2, 0, allow - 6, 0),
        insn(read, 4, 1, CONTEXT(major), 0),
        insn(read, 5, 1, CONTEXT(minor), 0),
    };
    struct bpf_insn *at = code + HEAD;
    for (int each = 0; each < count; each++) {
        *at++ = insn(differs, 4, 0, 1, numbers[each][0]);
        *at = insn(is, 5, 0, allow - (unsigned)(at - code) - 1, numbers[each][1]);
        at++;
    }
    for (unsigned answer = 0; answer < 2; answer++) {
        *at++ = insn(set, 0, 0, 0, answer);
        *at++ = insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    }
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.insns = (uintptr_t)code;
    attr.insn_cnt = (uint32_t)(at - code);
    attr.license = (uintptr_t) "";
    return bpf(BPF_PROG_LOAD, &attr);
}

// Returns how many programs decide about the group, those of groups above it included, or -1.
static int deciding(int group) {
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.query.target_fd = (uint32_t)group;
    attr.query.attach_type = BPF_CGROUP_DEVICE;
    attr.query.query_flags = BPF_F_QUERY_EFFECTIVE;
    return bpf(BPF_PROG_QUERY, &attr) < 0 ? -1 : (int)attr.query.prog_cnt;
}

static int change(int command, int group, int program) {
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.target_fd = (uint32_t)group;
    attr.attach_bpf_fd = (uint32_t)program;
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = command == BPF_PROG_ATTACH ? BPF_F_ALLOW_MULTI : 0;
    return bpf(command, &attr);
}

int main(int count, char **words) {
    unsigned numbers[MOST][2];
    char after;
    int read = count < 2 || count > 2 + MOST ? -1 : 0;
    while (read >= 0 && read < count - 2)
        read = sscanf(words[2 + read], "%7u:%7u%c", &numbers[read][0], &numbers[read][1], &after) == 2 ? read + 1 : -1;
    if (read < 0) {
        fputs("usage: device_cgroup DIRECTORY [MAJOR:MINOR]...\n", stderr);
        return 2;
    }
    int group = open(words[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int before = group < 0 ? -1 : deciding(group);
    int program = before < 0 ? -1 : load((const unsigned(*)[2])numbers, read);
    if (program < 0 || change(BPF_PROG_ATTACH, group, program) < 0) {
        perror("device_cgroup");
        return 1;
    }
    // A group above may allow that its program is replaced instead: then what it denies would be lost.
    if (deciding(group) != before + 1) {
        change(BPF_PROG_DETACH, group, program);
        fputs("device_cgroup: a group above has a program that this one would replace\n", stderr);
        return 1;
    }
    return 0;
}
