/* shim [--reads | --under-test] COMMAND...: runs COMMAND and makes one of its file-system calls fail.
 *
 * A tracer instead of a preloaded library, because calls that bypass the C library count too. The command arms it by
 * write(-1000 - ACTION, bytes, N): the N-th call from now on is treated as ACTION says. write(-1000, bytes, 0) disarms
 * it and returns the number of calls seen, plus 2^20 if the call that failed was one that removes. Calls of threads and
 * forked children count as well. With --under-test only those count that are about files whose path holds "under-test".
 * With --reads those of them count that open, ask about, map and read, and the actions are the last four.
 * Exit code 99: tracing is not allowed here. 98: not this kind of machine.
 */
#define _GNU_SOURCE
#if defined(__x86_64__) && defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NONE, NO_SPACE, IO_ERROR, QUOTA, INTERRUPT, SHORT_WRITE, KILL, ALWAYS_SHORT, OFTEN_INTERRUPT, STAYS_FULL,
       STALE, STAYS_STALE, NO_MAPS, REMOTE, ACTIONS };
enum { MARKER = -1000, REMOVED = 1 << 20, NFS_MAGIC = 0x6969 };

static const int watched[] = {
    SYS_write,  SYS_writev,    SYS_pwrite64, SYS_pwritev, SYS_fsync,     SYS_fdatasync, SYS_rename,   SYS_renameat,
    SYS_link,   SYS_linkat,    SYS_open,     SYS_openat,  SYS_ftruncate, SYS_creat,     SYS_mkdir,    SYS_mkdirat,
    SYS_fchmod, SYS_renameat2, SYS_unlink,   SYS_unlinkat, SYS_rmdir,    SYS_copy_file_range,
};
static const int watched_reads[] = {
    SYS_write, SYS_open, SYS_openat, SYS_stat, SYS_newfstatat, SYS_statx, SYS_fstat, SYS_fstatfs, SYS_mmap, SYS_pread64,
};
enum { WATCHED = sizeof watched / sizeof *watched, READS = sizeof watched_reads / sizeof *watched_reads };

static int reads, only_under_test;
static int action;
static long wanted, seen, removal;

static int is_write(long call) {
    return call == SYS_write || call == SYS_writev || call == SYS_pwrite64 || call == SYS_pwritev;
}

/* What could need a new block or inode: the calls a full disk refuses. */
static int needs_space(long call, long flags) {
    return is_write(call) || call == SYS_fsync || call == SYS_fdatasync || call == SYS_link || call == SYS_linkat ||
           call == SYS_mkdir || call == SYS_mkdirat || call == SYS_copy_file_range ||
           ((call == SYS_open || call == SYS_openat) && flags & O_CREAT);
}

static void skip(struct user_regs_struct *regs, long result) {
    regs->orig_rax = -1;
    regs->rax = result;
}

/* Which argument of a call is a path: the first, the second (after the descriptor of a directory), or none: 0. */
static int path_argument(long call) {
    switch (call) {
    case SYS_open: case SYS_creat: case SYS_stat: case SYS_rename: case SYS_link: case SYS_mkdir: case SYS_unlink:
    case SYS_rmdir:
        return 1;
    case SYS_openat: case SYS_newfstatat: case SYS_statx: case SYS_renameat: case SYS_renameat2: case SYS_linkat:
    case SYS_mkdirat: case SYS_unlinkat:
        return 2;
    }
    return 0;
}

/* Whether a call is about a file under test. */
static int is_under_test(pid_t pid, struct user_regs_struct *regs) {
    long call = regs->orig_rax;
    char link[64], path[4096] = "";
    int argument = path_argument(call);
    if (argument) {
        unsigned long name = argument == 1 ? regs->rdi : regs->rsi;
        /* Up to the end of a page: what lies behind it may not be there. */
        for (size_t have = 0, part; have < sizeof path - 1 && !memchr(path, 0, have); have += part) {
            part = 4096 - (name + have) % 4096;
            part = part < sizeof path - 1 - have ? part : sizeof path - 1 - have;
            struct iovec to = {path + have, part}, from = {(void *)(name + have), part};
            if (process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)part)
                return 0;
        }
        if (strstr(path, "under-test"))
            return 1;
    }
    if (*path == '/' || argument == 1)
        return 0;
    unsigned long fd = call == SYS_mmap ? regs->r8 : call == SYS_copy_file_range ? regs->rdx : regs->rdi;
    snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, (int)fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    return strstr(path, "under-test") != NULL;
}

static void decide_read(pid_t pid, struct user_regs_struct *regs) {
    long call = regs->orig_rax;
    if (action == NONE || call == SYS_write || !is_under_test(pid, regs) || (call == SYS_mmap) != (action >= NO_MAPS)) {
        /* A file system of another machine: what statfs tells begins with its kind. */
        if (action == REMOTE && call == SYS_fstatfs && is_under_test(pid, regs)) {
            struct statfs told = {.f_type = NFS_MAGIC, .f_bsize = 4096};
            struct iovec from = {&told, sizeof told}, to = {(void *)regs->rsi, sizeof told};
            skip(regs, process_vm_writev(pid, &from, 1, &to, 1, 0) == sizeof told ? 0 : -EFAULT);
        }
        return;
    }
    seen++;
    if (action == NO_MAPS)
        skip(regs, -ENODEV);
    else if (action == STALE ? seen == wanted : action == STAYS_STALE && seen >= wanted)
        skip(regs, -ESTALE);
}

static void decide(pid_t pid, struct user_regs_struct *regs) {
    long call = regs->orig_rax;
    int fd = (int)regs->rdi;
    if (call == SYS_write && fd <= MARKER && fd > MARKER - ACTIONS) {
        int next = MARKER - fd;
        skip(regs, next == NONE ? seen + removal : 0);
        action = next, wanted = regs->rdx, seen = removal = 0;
        return;
    }
    if (reads) {
        decide_read(pid, regs);
        return;
    }
    long flags = call == SYS_open ? regs->rsi : call == SYS_openat ? regs->rdx : 0;
    int opens = call == SYS_open || call == SYS_openat;
    /* Opening for reading changes nothing; the standard streams are not files under test. */
    if (action == NONE || (opens && !(flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)))) || (is_write(call) && fd <= 2))
        return;
    if (only_under_test && !is_under_test(pid, regs))
        return;
    seen++;
    int now = seen == wanted;
    static const int errors[] = {[NO_SPACE] = ENOSPC, [IO_ERROR] = EIO, [QUOTA] = EDQUOT, [INTERRUPT] = EINTR};
    if (now && (call == SYS_unlink || call == SYS_unlinkat || call == SYS_rmdir))
        removal = REMOVED;
    if (now && action >= NO_SPACE && action <= INTERRUPT)
        skip(regs, -errors[action]);
    else if (now && action == KILL)
        kill(pid, SIGKILL);
    else if (action == OFTEN_INTERRUPT && seen % 2)
        skip(regs, -EINTR);
    else if (action == STAYS_FULL && seen >= wanted && needs_space(call, flags))
        skip(regs, -ENOSPC);
    else if ((action == ALWAYS_SHORT || (now && action == SHORT_WRITE)) && is_write(call)) {
        /* Of a gathered write, the first slices; of any other, half. */
        if (regs->rdx > 1)
            regs->rdx = call == SYS_writev || call == SYS_pwritev ? 1 : regs->rdx / 2;
    }
}

static void trace_calls(void) {
    const int *calls = reads ? watched_reads : watched;
    int count = reads ? READS : WATCHED;
    struct sock_filter code[WATCHED + READS + 3];
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++)
        code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], count - i, 0);
    code[count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[count + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
    struct sock_fprog program = {.len = count + 3, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(99);
}

int main(int count, char **words) {
    if (count > 1 && strcmp(words[1], "--reads") == 0)
        reads = 1, count--, words++;
    else if (count > 1 && strcmp(words[1], "--under-test") == 0)
        only_under_test = 1, count--, words++;
    if (count < 2)
        return 2;
    pid_t first = fork();
    if (first == 0) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0))
            _exit(99);
        raise(SIGSTOP);
        trace_calls();
        execvp(words[1], words + 1);
        perror(words[1]);
        _exit(127);
    }
    int status;
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (waitpid(first, &status, 0) < 0 || !WIFSTOPPED(status) || ptrace(PTRACE_SETOPTIONS, first, 0, options))
        return 99;
    ptrace(PTRACE_CONT, first, 0, 0);
    for (pid_t pid; (pid = waitpid(-1, &status, __WALL)) > 0;) {
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == first)
                return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        int event = status >> 16, signal = WSTOPSIG(status);
        if (event == PTRACE_EVENT_SECCOMP) {
            struct user_regs_struct regs;
            if (ptrace(PTRACE_GETREGS, pid, 0, &regs) == 0) {
                decide(pid, &regs);
                ptrace(PTRACE_SETREGS, pid, 0, &regs);
            }
        }
        /* A new thread or child begins with a stop of its own, which is not a signal for it. */
        ptrace(PTRACE_CONT, pid, 0, event || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal);
    }
    return 1;
}
#else
int main(void) { return 98; }
#endif
