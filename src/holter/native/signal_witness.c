/* Writes down signals that may end the process, then lets happen what would have happened without it.
 *
 * A signal arrives at `arrived`, which appends one line to the log of each run with one write(2), and hands the signal
 * on to whoever had it before: a handler with the same arguments, or the kernel's default with the same siginfo.
 * In the handler only system calls and this file's own functions are used: it may run in the middle of anything.
 *
 * A line has fields with a tab between them: SIG number, code, at (ns since 1970), pid, tid, from and uid (who sent it),
 * addr, sp and ip (hexadecimal), then (default or handler), sender (its command), map, above and in (lines of
 * /proc/self/maps: that of addr, the next one above it, that of ip). WITNESS pid stands for a process that has this.
 */

#define _GNU_SOURCE
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))
#define MOST_SIGNALS 65
#define MOST_LOGS 8
#define MOST_LINES 250           /* of one signal; then one a second */
#define MOST_BYTES (1 << 20)     /* of the log, for signals that the program survives */
#define RESERVED_BYTES (8 << 10) /* so that a full disk still takes the last lines */
#define MOST_BELOW 8             /* different dispositions of one signal */
#define STACK_BYTES (128 << 10)
#define GUARD_BYTES (64 << 10) /* below a stack: a page, of whatever size */

struct log {
    _Atomic int fd; /* 0 for none */
    dev_t device;
    ino_t inode;
};

static struct log logs[MOST_LOGS];
/* Who had each signal before us. An entry is never changed once it is in use: another thread may just be reading it. */
static struct sigaction dispositions[MOST_SIGNALS][MOST_BELOW];
static int known[MOST_SIGNALS];
static _Atomic(struct sigaction *) below[MOST_SIGNALS];
static int is_covered[MOST_SIGNALS];
static void (*python_handler)(int);
static _Atomic unsigned seen[MOST_SIGNALS];
static _Atomic long long written_ns[MOST_SIGNALS];
static _Atomic long long arrived_ns[MOST_SIGNALS];

static int is_default(const struct sigaction *action) {
    return action == NULL || (!(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL);
}

struct line {
    size_t length, most;
    char *text;
};

static void put_char(struct line *line, char c) {
    if (line->length < line->most) line->text[line->length++] = c;
}

static void put(struct line *line, const char *text) {
    while (*text) put_char(line, *text++);
}

static void put_number(struct line *line, const char *name, unsigned long long value, unsigned base) {
    char digits[24];
    int count = 0;
    put(line, name);
    do digits[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    while (count) put_char(line, digits[--count]);
}

/* Text of others, without what has a meaning in a line. */
static void put_foreign(struct line *line, const char *text, size_t length) {
    while (length && (text[length - 1] == '\0' || text[length - 1] == '\n')) length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        put_char(line, c < ' ' || c == 127 ? ' ' : (char)c);
    }
}

/* Plain system calls: those of the C library may end the thread, should somebody have asked for its cancellation. */
static int open_file(const char *path) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

static ssize_t read_file(int fd, char *text, size_t most) {
    return syscall(SYS_read, fd, text, most);
}

static void close_file(int fd) {
    syscall(SYS_close, fd);
}

static void put_file(struct line *line, const char *before, int pid, const char *name) {
    char text[300], letters[40] = {0};
    struct line path = {0, sizeof letters - 1, letters};
    put_number(&path, "/proc/", (unsigned)pid, 10);
    put(&path, name);
    int fd = open_file(letters);
    if (fd < 0) return;
    ssize_t got = read_file(fd, text, sizeof text);
    close_file(fd);
    if (got <= 0) return;
    put(line, before);
    put_foreign(line, text, (size_t)got);
}

/* What to look for in /proc/self/maps, whose lines are in the order of their addresses. */
struct search {
    unsigned long address, instruction;
    int has_next;
};

/* Takes one line; false once there is nothing left to look for. */
static int put_mapping(struct line *line, struct search *wanted, const char *text, size_t length) {
    unsigned long bounds[2] = {0, 0};
    size_t i = 0;
    for (int which = 0; which < 2; which++, i++)
        for (; i < length && text[i] != '-' && text[i] != ' '; i++)
            bounds[which] = bounds[which] << 4 | (unsigned long)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
    int is_next = bounds[0] > wanted->address && !wanted->has_next;
    wanted->has_next |= is_next;
    const char *names[] = {
        bounds[0] <= wanted->address && wanted->address < bounds[1] ? "\tmap " : NULL,
        is_next ? "\tabove " : NULL,
        bounds[0] <= wanted->instruction && wanted->instruction < bounds[1] ? "\tin " : NULL,
    };
    for (int which = 0; which < 3; which++) {
        if (names[which] == NULL) continue;
        put(line, names[which]);
        put_foreign(line, text, length);
    }
    return !wanted->has_next || bounds[0] <= wanted->instruction;
}

static void put_mappings(struct line *line, unsigned long address, unsigned long instruction) {
    struct search wanted = {address, instruction, 0};
    char text[320], chunk[1024];
    size_t length = 0;
    int is_looking = 1;
    int fd = open_file("/proc/self/maps");
    if (fd < 0) return;
    for (ssize_t got; is_looking && (got = read_file(fd, chunk, sizeof chunk)) > 0;)
        for (ssize_t i = 0; is_looking && i < got; i++)
            if (chunk[i] == '\n') {
                is_looking = put_mapping(line, &wanted, text, length);
                length = 0;
            } else if (length < sizeof text) {
                text[length++] = chunk[i];
            }
    close_file(fd);
}

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int thread_id(void) {
    return (int)syscall(SYS_gettid);
}

/* Whether the kernel raised it because of the instruction that the thread was at. */
static int is_fault(int number, const siginfo_t *info) {
    int can_be = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP;
    return info->si_code > 0 && (can_be || number == SIGSYS);
}

static void describe(struct line *line, int number, const siginfo_t *info, const ucontext_t *context) {
#if defined(__x86_64__)
    unsigned long sp = (unsigned long)context->uc_mcontext.gregs[REG_RSP];
    unsigned long ip = (unsigned long)context->uc_mcontext.gregs[REG_RIP];
#else
    unsigned long sp = context->uc_mcontext.sp, ip = context->uc_mcontext.pc;
#endif
    int is_sent = info->si_code <= 0, code = info->si_code;
    put_number(line, "SIG ", (unsigned)number, 10);
    put_number(line, code < 0 ? "\tcode -" : "\tcode ", (unsigned long long)(code < 0 ? -(long long)code : code), 10);
    put_number(line, "\tat ", (unsigned long long)now_ns(), 10);
    put_number(line, "\tpid ", (unsigned)getpid(), 10);
    put_number(line, "\ttid ", (unsigned)thread_id(), 10);
    put_number(line, "\tfrom ", is_sent ? (unsigned)info->si_pid : 0, 10);
    put_number(line, "\tuid ", is_sent ? info->si_uid : 0, 10);
    put_number(line, "\taddr ", is_fault(number, info) ? (unsigned long)info->si_addr : 0, 16);
    put_number(line, "\tsp ", sp, 16);
    put_number(line, "\tip ", ip, 16);
    put(line, is_default(atomic_load(&below[number])) ? "\tthen default" : "\tthen handler");
    if (is_sent && info->si_pid > 0) {
        put_file(line, "\tsender ", info->si_pid, "/comm");
        put_file(line, ": ", info->si_pid, "/cmdline");
    }
    if (is_fault(number, info)) put_mappings(line, (unsigned long)info->si_addr, ip);
}

/* Somebody may have closed all descriptors and opened others since. */
static int is_ours(const struct log *log, int fd, off_t *size) {
    struct stat found;
    if (fstat(fd, &found) != 0 || found.st_dev != log->device || found.st_ino != log->inode) return 0;
    *size = found.st_size;
    return 1;
}

static void append_to(const struct log *log, const struct line *line, off_t most) {
    int fd = atomic_load(&log->fd);
    off_t size;
    if (fd > 0 && is_ours(log, fd, &size) && size < most) syscall(SYS_write, fd, line->text, line->length);
}

/* Programs that live on signals must not pay much for each, nor fill the disk. */
static int is_worth_a_line(int number, int is_last, long long at_ns) {
    unsigned count = atomic_fetch_add(&seen[number], 1);
    return is_last || count < MOST_LINES || at_ns - atomic_load(&written_ns[number]) >= 1000000000LL;
}

/* Not inlined: what it takes of the stack is given back before the signal is handed on. */
static __attribute__((noinline)) void witness(int number, const siginfo_t *info, const ucontext_t *context) {
    long long at_ns = now_ns();
    int is_last = is_default(atomic_load(&below[number])) && number != SIGCONT;
    atomic_store(&arrived_ns[number], at_ns);
    if (!is_worth_a_line(number, is_last, at_ns)) return;
    atomic_store(&written_ns[number], at_ns);
    char text[1800];
    struct line line = {0, sizeof text - 1, text};
    describe(&line, number, info, context);
    text[line.length++] = '\n';
    for (int i = 0; i < MOST_LOGS; i++) append_to(&logs[i], &line, is_last ? 2 * MOST_BYTES : MOST_BYTES);
}

static void do_default(int number, siginfo_t *info) {
    struct sigaction dies = {.sa_handler = SIG_DFL};
    if (number == SIGCONT || (getpid() == 1 && !is_fault(number, info))) return; /* the kernel spares init, too */
    sigaction(number, &dies, NULL);
    int is_asynchronous = number == SIGTRAP || number == SIGSYS || (number == SIGBUS && info->si_code == BUS_MCEERR_AO);
    if (is_fault(number, info) && !is_asynchronous) return; /* the same instruction faults again, this time for good */
    /* The signal is blocked until this handler returns, and then does its work. */
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_id(), number, info) != 0)
        syscall(SYS_tgkill, getpid(), thread_id(), number);
}

/* Whether the handler of faults is Python's writer of stacks, and there because of us. It reads what other threads are
 * just changing, and may fault itself; the program then still ends as it would have without us. */
static _Atomic int has_our_writer;
static _Atomic int writing_thread; /* 0 for none */
static int first_number;
static siginfo_t first_info;

static int is_of_writer(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGABRT;
}

static void begin_writing(int number, const siginfo_t *info) {
    int nobody = 0;
    if (!is_of_writer(number) || !atomic_load(&has_our_writer)) return;
    if (!atomic_compare_exchange_strong(&writing_thread, &nobody, thread_id())) return;
    first_number = number;
    first_info = *info;
}

static int is_in_writer(int number, const siginfo_t *info) {
    int is_here = atomic_load(&writing_thread) == thread_id() && number != first_number;
    return is_here && (number == SIGSEGV || number == SIGBUS) && is_fault(number, info);
}

static void end_by_first(int number) {
    struct sigaction dies = {.sa_handler = SIG_DFL};
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, first_number);
    sigaction(first_number, &dies, NULL);
    sigaction(number, &dies, NULL); /* should the other one be ignored, as init's are */
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_id(), first_number, &first_info) != 0)
        syscall(SYS_tgkill, getpid(), thread_id(), first_number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
}

static void arrived(int number, siginfo_t *info, void *context) {
    int error = errno;
    witness(number, info, context);
    errno = error;
    if (is_in_writer(number, info)) {
        end_by_first(number);
        return;
    }
    struct sigaction *previous = atomic_load(&below[number]);
    if (is_default(previous)) {
        do_default(number, info);
        errno = error;
        return;
    }
    if (previous->sa_flags & SA_RESETHAND) atomic_store(&below[number], NULL);
    if (previous->sa_flags & SA_NODEFER && !sigismember(&previous->sa_mask, number)) {
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, number);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
    }
    begin_writing(number, info);
    if (previous->sa_flags & SA_SIGINFO) previous->sa_sigaction(number, info, context);
    else previous->sa_handler(number);
    int here = thread_id();
    if (first_number == number) atomic_compare_exchange_strong(&writing_thread, &here, 0);
}

/* Say whether faults are handled by Python's writer of stacks because of us. */
EXPORTED void holter_witness_has_writer(int is_ours) {
    atomic_store(&has_our_writer, is_ours);
}

static int is_own(const struct sigaction *action) {
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == arrived;
}

static struct sigaction *remember(int number, const struct sigaction *action) {
    struct sigaction *slots = dispositions[number];
    for (int i = 0; i < known[number]; i++)
        if (memcmp(&slots[i], action, sizeof *action) == 0) return &slots[i];
    if (known[number] == MOST_BELOW) return NULL;
    slots[known[number]] = *action;
    return &slots[known[number]++];
}

/* Put ourselves before whoever has this signal now. True where we are. Of several threads one at a time.
 *
 * An ignored signal stays ignored. Once we have been there, only a default and Python's own handler are covered again:
 * any other handler may have kept us as the one to call next, and we would call each other for ever. */
EXPORTED int holter_witness_cover(int number, int is_python) {
    struct sigaction now, ours;
    memset(&now, 0, sizeof now); /* for `memcmp`: also between the fields */
    if (number <= 0 || number >= MOST_SIGNALS || sigaction(number, NULL, &now) != 0) return 0;
    if (is_own(&now)) return 1;
    int has_handler = now.sa_flags & SA_SIGINFO || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    if (!has_handler && now.sa_handler == SIG_IGN) return 0;
    if (has_handler && is_python) python_handler = now.sa_handler;
    if (has_handler && is_covered[number] && now.sa_handler != python_handler) return 0;
    struct sigaction *previous = remember(number, &now);
    if (previous == NULL) return 0;
    ours = now;
    ours.sa_sigaction = arrived;
    ours.sa_flags = has_handler ? (now.sa_flags & ~(int)(SA_RESETHAND | SA_NODEFER)) : SA_ONSTACK | SA_RESTART;
    ours.sa_flags |= SA_SIGINFO;
    atomic_store(&below[number], previous);
    is_covered[number] = 1;
    return sigaction(number, &ours, NULL) == 0;
}

/* Put back who was there before us. True where we were there; else somebody may still call us, and we hand on. */
EXPORTED int holter_witness_uncover(int number) {
    struct sigaction now, dies = {.sa_handler = SIG_DFL};
    if (number <= 0 || number >= MOST_SIGNALS || sigaction(number, NULL, &now) != 0 || !is_own(&now)) return 0;
    struct sigaction *previous = atomic_load(&below[number]);
    is_covered[number] = 0;
    return sigaction(number, previous == NULL ? &dies : previous, NULL) == 0;
}

/* When this signal last arrived, in ns since 1970; 0 for never. */
EXPORTED long long holter_witness_arrived(int number) {
    return number > 0 && number < MOST_SIGNALS ? atomic_load(&arrived_ns[number]) : 0;
}

/* Say that this process has a witness: after `open`, and in a forked child. */
EXPORTED void holter_witness_sign(void) {
    char text[80];
    struct line line = {0, sizeof text, text};
    put_number(&line, "WITNESS ", (unsigned)getpid(), 10);
    put_number(&line, "\tat ", (unsigned long long)now_ns(), 10);
    put(&line, "\n");
    for (int i = 0; i < MOST_LOGS; i++) append_to(&logs[i], &line, MOST_BYTES);
}

/* Write to this file, too. Its number, or -1 where there is no more room for one or it can't be opened. */
EXPORTED int holter_witness_open(const char *path) {
    int which = 0;
    while (which < MOST_LOGS && logs[which].fd) which++;
    if (which == MOST_LOGS) return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    /* High, where nobody expects one: programs close and count on low numbers. Yet below 64, the size of a new process's
     * table: to let it grow beside threads, the kernel waits for all processors, 13 ms of init(). */
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 64 - 2 * MOST_LOGS);
    if (high >= 0) {
        close(fd);
        fd = high;
    }
    struct stat found;
    if (fstat(fd, &found) != 0) memset(&found, 0, sizeof found);
    (void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, found.st_size, RESERVED_BYTES);
    logs[which].device = found.st_dev;
    logs[which].inode = found.st_ino;
    atomic_store(&logs[which].fd, fd);
    return which;
}

/* Write no more to this file. */
EXPORTED void holter_witness_close(int which) {
    int fd = which >= 0 && which < MOST_LOGS ? atomic_exchange(&logs[which].fd, 0) : 0;
    if (fd > 0 && is_ours(&logs[which], fd, &(off_t){0})) close(fd);
}

/* Give this thread a stack for its handlers, so that the overflow of its own can be told. NULL where it has one. */
EXPORTED void *holter_stack_begin(void) {
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return NULL;
    char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    stack_t own = {.ss_sp = memory + GUARD_BYTES, .ss_size = STACK_BYTES};
    if (mprotect(own.ss_sp, STACK_BYTES, PROT_READ | PROT_WRITE) == 0 && sigaltstack(&own, NULL) == 0) return own.ss_sp;
    munmap(memory, GUARD_BYTES + STACK_BYTES);
    return NULL;
}

/* Take it back, in the same thread; NULL is nothing. */
EXPORTED void holter_stack_end(void *stack) {
    stack_t now, none = {.ss_flags = SS_DISABLE};
    if (stack == NULL || sigaltstack(NULL, &now) != 0) return;
    if (now.ss_sp == stack && sigaltstack(&none, NULL) != 0) return; /* in use at this moment */
    munmap((char *)stack - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
}

#endif
