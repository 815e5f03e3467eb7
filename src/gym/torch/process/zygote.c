/* Starting and ending a zygote. It is trusted as kgym is: it runs kgym's own Python and torch, with
 * an environment from a list, and no code of anybody's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/build/cache.h"
#include "gym/torch/process/pyrunner.h"

#define IMPORT_NS  60000000000 /* 3 to 7 s from a cold disk */
#define SLICE_MS   100
#define MOST_FACTS (64 << 10)
#define SOCKET_FD  3 /* as zygote.py knows it */
#define MOST_WORDS 24
#define NO_PYTHON  127
#define PATIENCE   10 /* niceness of all that it forks, until it is timed (kg_pyrunner_pin) */

struct environment {
    char text[MOST_WORDS][1200];
    const char *list[MOST_WORDS + 1];
    size_t n;
};

static void add(struct environment *e, const char *name, const char *value)
{
    if (value != NULL && e->n < MOST_WORDS) {
        snprintf(e->text[e->n], sizeof e->text[0], "%s=%s", name, value);
        e->list[e->n] = e->text[e->n];
        e->n++;
    }
}

/* What runners inherit: one thread unless they ask for more, and caches in their own /tmp. */
static void fill(struct environment *e, const struct kg_zygote_spec *spec)
{
    char cache[1000], absolute[1000];
    struct kg_err ignored = KG_ERR_INIT;
    memset(e, 0, sizeof *e);
    add(e, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/cuda/bin");
    add(e, "HOME", "/tmp");
    add(e, "TMPDIR", "/tmp");
    add(e, "USER", "kgym"); /* torch.compile asks for a name; the uid has none */
    add(e, "LANG", "C.UTF-8");
    add(e, "PYTHONPATH", spec->harness);
    add(e, "PYTHONDONTWRITEBYTECODE", "1");
    kg_cache_folder("KGYM_PYTHON_CACHE", "python", cache, sizeof cache);
    bool kept = *cache && kg_file_absolute(cache, absolute, sizeof absolute, &ignored) == KG_OK;
    add(e, "KGYM_PYTHON_CACHE", kept ? absolute : NULL);
    add(e, "KGYM_PROBE", spec->probe);
    add(e, "THP_MEM_ALLOC_ENABLE", "1"); /* large blocks: far fewer page faults */
    add(e, "OMP_NUM_THREADS", "1");
    add(e, "MKL_NUM_THREADS", "1");
    add(e, "OPENBLAS_NUM_THREADS", "1");
    add(e, "TRITON_CACHE_DIR", "/tmp/triton");
    add(e, "TORCHINDUCTOR_CACHE_DIR", "/tmp/inductor");
    /* A precompiled header of torch takes 200 MB of /tmp for each process, and serves it once. */
    add(e, "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "0");
    /* Its processes that compile would start while the candidate is timed. */
    add(e, "TORCHINDUCTOR_COMPILE_THREADS", "1");
    add(e, "TORCH_EXTENSIONS_DIR", "/tmp/extensions");
    add(e, "TRITON_INTERPRET", spec->interpret ? "1" : NULL);
    add(e, "KGYM_CUDA", spec->cuda ? "1" : NULL);
    /* cuda:N must be the device that the judge, which has the whole environment, knows as cuda:N.
     */
    static const char *const of_cuda[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
                                          "CUDA_DEVICE_ORDER"};
    for (size_t i = 0; i < sizeof of_cuda / sizeof *of_cuda; i++) {
        add(e, of_cuda[i], spec->cuda ? getenv(of_cuda[i]) : NULL);
    }
}

/* Nothing here allocates: the worker has other threads. */
_Noreturn static void become(const struct kg_zygote_spec *spec, const struct environment *e,
                             int sock, int errors)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setsid(); /* a terminal's ^C is the broker's to handle */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (spec->cuda) { /* the worker's core is for its own work; runners of a GPU take any */
        sched_setaffinity(0, sizeof spec->cpus, &spec->cpus);
        setpriority(PRIO_PROCESS, 0, PATIENCE);
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high = fcntl(sock, F_DUPFD_CLOEXEC, 16), log = fcntl(errors, F_DUPFD_CLOEXEC, 16);
    if (null < 0 || high < 0 || log < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
        dup2(log, 2) < 0 || dup2(high, SOCKET_FD) < 0 || chdir(spec->harness) != 0) {
        _exit(127);
    }
    syscall(SYS_close_range, SOCKET_FD + 1, ~0u, 0);
    const char *argv[] = {spec->python, "-s", "-m", "kgym_harness.zygote", NULL};
    execvpe(spec->python, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)e->list);
    dprintf(2, "cannot execute %s: %s\n", spec->python, strerrordesc_np(errno));
    _exit(NO_PYTHON);
}

/* The last line that it wrote, for a message. */
static void last_words(int errors, char out[256])
{
    char text[2048];
    off_t size = lseek(errors, 0, SEEK_END);
    off_t from = size > (off_t)sizeof text - 1 ? size - ((off_t)sizeof text - 1) : 0;
    ssize_t n = size > 0 ? pread(errors, text, sizeof text - 1, from) : 0;
    n = n < 0 ? 0 : n;
    while (n > 0 && text[n - 1] == '\n') {
        n--;
    }
    text[n] = '\0';
    const char *line = strrchr(text, '\n');
    snprintf(out, 256, "%s", line != NULL ? line + 1 : text);
}

static enum kg_code no_torch(const char *why, struct kg_err *err)
{
    kg_fail(
        err, KG_E_HOST,
        "torch: %s; `make torch` makes an environment with torch, and KGYM_PYTHON names another "
        "python",
        why);
    err->advised = true;
    return err->code;
}

/* Why there is no first message, once its socket is closed. */
static enum kg_code say_end(const struct kg_zygote *z, struct kg_err *err)
{
    char words[256];
    siginfo_t si = {0};
    while (waitid(P_PID, (id_t)z->pid, &si, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    if (si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED) { /* worth another try */
        return kg_fail(err, KG_E_GYM, "torch: %s was killed by signal %d while it imported torch",
                       z->spec.python, si.si_status);
    }
    last_words(z->errors, words);
    return si.si_status == NO_PYTHON
               ? no_torch(words, err)
               : kg_fail(err, KG_E_HOST, "torch: %s ended before it had imported torch: %s",
                         z->spec.python, words);
}

/* Its first message, or why there is none. */
static enum kg_code hear_facts(struct kg_zygote *z, struct kg_err *err)
{
    char *text = malloc(MOST_FACTS);
    if (text == NULL) {
        return kg_fail(err, KG_E_HOST, "torch: this machine is out of memory");
    }
    int64_t until = kg_clock_ns() + IMPORT_NS;
    ssize_t n = -1;
    int ready = 0;
    while (kg_clock_ns() < until && !(z->spec.cancelled != NULL && *z->spec.cancelled)) {
        struct pollfd p = {.fd = z->sock, .events = POLLIN};
        ready = poll(&p, 1, SLICE_MS);
        if (ready > 0) {
            n = recv(z->sock, text, MOST_FACTS, 0);
            break;
        }
    }
    enum kg_code code = KG_OK;
    if (n > 0) {
        code = kg_json_parse(text, (size_t)n, "zygote", &z->facts, err);
    } else if (ready > 0) {
        code = say_end(z, err);
    } else {
        bool cancelled = z->spec.cancelled != NULL && *z->spec.cancelled;
        code = kg_fail(err, cancelled ? KG_E_CANCELLED : KG_E_HOST,
                       cancelled ? "torch: cancelled" : "torch: %s did not import torch in 60 s",
                       z->spec.python);
    }
    free(text);
    return code;
}

static enum kg_code check_facts(const struct kg_zygote *z, struct kg_err *err)
{
    const char *error = json_string_value(json_object_get(z->facts, "error"));
    if (error != NULL && !json_is_string(json_object_get(z->facts, "missing"))) {
        return kg_fail(err, KG_E_HOST, "torch: %s", error);
    }
    if (error != NULL) {
        return no_torch(error, err);
    }
    if (json_integer_value(json_object_get(z->facts, "threads")) != 1) {
        return kg_fail(err, KG_E_HOST, "torch: importing torch has started threads: cannot fork");
    }
    return KG_OK;
}

static enum kg_code begin(struct kg_zygote *z, struct kg_err *err)
{
    struct environment *e = malloc(sizeof *e);
    int ends[2];
    z->errors = memfd_create("kgym-zygote", MFD_CLOEXEC);
    if (z->errors < 0) {
        free(e);
        return kg_fail(err, KG_E_HOST, "torch: cannot make a file: %s", strerror(errno));
    }
    if (e == NULL || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        free(e);
        return kg_fail(err, KG_E_HOST, "torch: cannot make a socket pair: %s", strerror(errno));
    }
    fill(e, &z->spec);
    z->pid = fork();
    if (z->pid == 0) {
        become(&z->spec, e, ends[1], z->errors);
    }
    int why = errno;
    close(ends[1]);
    free(e);
    z->sock = ends[0];
    return z->pid > 0 ? KG_OK : kg_fail(err, KG_E_HOST, "torch: cannot fork: %s", strerror(why));
}

enum kg_code kg_zygote_begin(const struct kg_zygote_spec *spec, struct kg_zygote *out,
                             struct kg_err *err)
{
    *out = (struct kg_zygote){.pid = -1, .sock = -1, .errors = -1, .spec = *spec};
    enum kg_code code = begin(out, err);
    if (code != KG_OK) {
        kg_zygote_stop(out);
    }
    return code;
}

enum kg_code kg_zygote_ready(struct kg_zygote *z, struct kg_err *err)
{
    if (z->facts != NULL) {
        return KG_OK;
    }
    enum kg_code code = hear_facts(z, err);
    code = code != KG_OK ? code : check_facts(z, err);
    if (code != KG_OK) {
        kg_zygote_stop(z);
    } else {
        close(z->errors);
        z->errors = -1;
    }
    return code;
}

void kg_zygote_kill(struct kg_zygote *z)
{
    if (z->pid > 0) {
        kill(z->pid, SIGKILL);
        while (waitpid(z->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (z->sock > 0) {
        close(z->sock);
    }
    if (z->errors > 0) {
        close(z->errors);
    }
    z->pid = z->sock = z->errors = -1;
}

void kg_zygote_stop(struct kg_zygote *z)
{
    kg_zygote_kill(z);
    json_decref(z->facts);
    z->facts = NULL;
}

bool kg_zygote_alive(struct kg_zygote *z)
{
    siginfo_t si = {0};
    return z->pid > 0 && waitid(P_PID, (id_t)z->pid, &si, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           si.si_pid == 0;
}
