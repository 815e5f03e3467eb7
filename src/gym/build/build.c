/* One build: write the source into scratch, run the steps in one sandbox, check the object, copy it
 * out and cache it. A hostile build may leave anything in scratch. So files are opened without
 * following links, and read with a bound. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "gym/build/cache.h"
#include "gym/build/diag.h"
#include "gym/build/elf.h"
#include "gym/build/toolchain.h"

#define MESSAGES_MAX_BYTES (256u << 10)
#define SLICE_NS           20000000 /* a cancellation is noticed within this time */

struct build {
    struct kg_cc *cc;
    enum kg_cc_kind kind;
    const char *entry;
    char folder[320]; /* the scratch folder of this build */
    char key[KG_SHA256_HEX];
    struct kg_cc_result *out;
    struct kg_buf raw; /* what the steps printed */
    bool late;
};

static bool cancelled(const struct kg_cc *cc)
{
    return cc->spec.cancelled != NULL && *cc->spec.cancelled != 0;
}

static void make_key(struct build *b, const char *source, size_t len)
{
    struct kg_sha256 h;
    const char *kind = b->kind == KG_CC_CANDIDATE   ? "candidate"
                       : b->kind == KG_CC_REF_FLOAT ? "float"
                                                    : "double";
    kg_sha256_begin(&h);
    kg_sha256_part(&h, b->cc->toolchain_sha, strlen(b->cc->toolchain_sha));
    kg_sha256_part(&h, kind, strlen(kind));
    kg_sha256_part(&h, source, len);
    kg_sha256_end(&h, b->key);
}

static enum kg_code write_source(struct build *b, const char *source, size_t len,
                                 struct kg_err *err)
{
    if (kg_file_remove_tree(b->folder, err) != KG_OK ||
        kg_file_mkdirs(b->folder, 0700, err) != KG_OK) {
        return err->code;
    }
    char path[400];
    snprintf(path, sizeof path, "%s/%s.c", b->folder, kg_cc_source_name(b->kind));
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot create: %s", path, strerror(errno));
    }
    enum kg_code code = kg_file_write_all(fd, source, len, err);
    close(fd);
    return code == KG_OK ? KG_OK : kg_err_prefix(err, "%s", path);
}

static enum kg_code start(struct build *b, int writer, struct kg_sandbox *box, struct kg_err *err)
{
    struct kg_cc *cc = b->cc;
    struct kg_bind binds[KG_CC_MAX_BINDS + 1];
    memcpy(binds, cc->binds, cc->nbinds * sizeof *binds);
    const char *inside = cc->mounts ? "/scratch" : b->folder;
    binds[cc->nbinds] = (struct kg_bind){b->folder, inside, true};
    const char *argv[] = {cc->shell, "-c", cc->script[b->kind], "sh", inside, NULL};
    /* A linker that returns no memory before it ends has a quarter fewer page faults, which saves a
     * fifth of its time. C libraries other than glibc ignore this variable. */
    const char *envp[] = {"LC_ALL=C",
                          "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=4194304:"
                          "glibc.malloc.trim_threshold=67108864:glibc.malloc.top_pad=2097152",
                          NULL};
    int fds[] = {-1, writer, writer};
    struct kg_sandbox_spec spec = {
        .profile = KG_PROFILE_COMPILE,
        .argv = argv,
        .envp = envp,
        .workdir = inside,
        .binds = binds,
        .nbinds = cc->nbinds + 1,
        .fds = fds,
        .nfds = 3,
        .limits = cc->spec.limits,
        .cpu = cc->spec.cpu,
        .without = cc->spec.without,
    };
    return kg_sandbox_spawn(&spec, box, err);
}

/* Reads everything that is there now; what does not fit is dropped. False: end of file. */
static bool drain(int fd, struct kg_buf *raw)
{
    char chunk[16384];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0;
        }
        kg_buf_add(raw, chunk, (size_t)n);
    }
}

/* Waits until the sandbox has ended or the deadline has passed. */
static enum kg_code attend(struct build *b, struct kg_sandbox *box, int reader, struct kg_err *err)
{
    int64_t until = kg_clock_ns() + b->cc->spec.timeout_ns;
    bool open_pipe = true;
    for (;;) {
        int64_t now = kg_clock_ns(), left = until - now;
        int64_t slice = left < SLICE_NS ? left : SLICE_NS;
        if (cancelled(b->cc)) {
            return kg_fail(err, KG_E_CANCELLED, "compiling was interrupted");
        }
        if (left <= 0) {
            b->late = true;
            return KG_OK;
        }
        struct pollfd p[2] = {{.fd = box->pidfd, .events = POLLIN},
                              {.fd = open_pipe ? reader : -1, .events = POLLIN}};
        struct timespec t = {0, slice};
        ppoll(p, 2, &t, NULL);
        until += kg_clock_lost(now, slice);
        open_pipe = open_pipe && drain(reader, &b->raw);
        if (kg_sandbox_poll(box)) {
            drain(reader, &b->raw);
            return KG_OK;
        }
    }
}

static enum kg_code run_steps(struct build *b, struct kg_exit *exit, struct kg_err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
        return kg_fail(err, KG_E_HOST, "compiler: cannot make a pipe: %s", strerror(errno));
    }
    struct kg_sandbox box;
    enum kg_code code = start(b, ends[1], &box, err);
    close(ends[1]);
    if (code == KG_OK) {
        b->out->isolation = box.isolation;
        code = attend(b, &box, ends[0], err);
    }
    kg_sandbox_end(&box);
    *exit = box.exit;
    close(ends[0]);
    return code;
}

/* Out of memory in its own group is told apart, and so is its CPU limit (sandbox/reap.c), but not
 * where a step below the shell reached it. */
static bool killed_by_others(const struct build *b, const struct kg_exit *e, int code)
{
    int64_t limit_ns = b->cc->spec.limits.cpu_s * 1000000000;
    bool by_cpu = limit_ns > 0 && e->cpu_ns >= limit_ns / 2;
    return e->kind != KG_EXIT_OOM && code == 128 + SIGKILL && !by_cpu;
}

/* Derives the status from the way the steps ended. */
static enum kg_code judge_exit(struct build *b, const struct kg_exit *e, struct kg_err *err)
{
    const char *text = b->out->text.data;
    int code = e->kind == KG_EXIT_SIGNAL ? 128 + e->code : e->code;
    if (b->late || code == 128 + SIGXCPU) {
        b->out->status = KG_CC_TIMEOUT;
    } else if (e->kind == KG_EXIT_OOM || code > 128) {
        b->out->status = KG_CC_LIMITS;
        b->out->killed = killed_by_others(b, e, code);
    } else if (code == 0) {
        b->out->status = KG_CC_OK;
    } else if (kg_diag_exhausted(text)) {
        b->out->status = KG_CC_LIMITS;
    } else if (code == KG_CC_EXIT_CC1 || code == KG_CC_EXIT_AS) {
        b->out->status = KG_CC_SYNTAX;
    } else if (code == KG_CC_EXIT_LD) {
        b->out->status = KG_CC_LINK;
    } else {
        return kg_fail(err, KG_E_HOST, "compiler: its steps could not be run (status %d): %.300s",
                       code, text);
    }
    return KG_OK;
}

static const char *reason_of(enum kg_cc_status status)
{
    return status == KG_CC_TIMEOUT  ? "the compiler did not end within its deadline"
           : status == KG_CC_LIMITS ? "the compiler reached its memory, process or file limit"
                                    : "the compiler failed without a message";
}

/* Makes sure that a result other than OK has a message. */
static void explain(struct build *b)
{
    struct kg_cc_result *r = b->out;
    char file[32];
    snprintf(file, sizeof file, "%s.c", kg_cc_source_name(b->kind));
    if (r->status == KG_CC_MISSING_ENTRY) {
        snprintf(r->first_error, sizeof r->first_error, "no function `%.100s` is exported",
                 b->entry);
        return;
    }
    if (r->status == KG_CC_SYNTAX || r->status == KG_CC_LINK) {
        kg_diag_first(r->text.data, file, &r->line, r->first_error, sizeof r->first_error);
    }
    if (r->first_error[0] == '\0') {
        snprintf(r->first_error, sizeof r->first_error, "%s", reason_of(r->status));
    }
}

/* Where the object goes: into the cache, or the evaluation's scratch. */
static bool cache_place(const struct build *b, char *path, size_t cap)
{
    const char *dir = b->cc->spec.cache_dir;
    return dir != NULL && dir[0] != '\0' && kg_cache_path(dir, b->key, "so", path, cap);
}

/* A cache that cannot be written costs time, not verdicts, and every object would say the same. */
static void warn_once(const struct kg_err *err)
{
    kg_log_once(KG_LOG_NO_OBJECTS, KG_LOG_WARN,
                "compiled objects are not kept, so each is compiled again: %s; name a folder that "
                "can be written with --cache DIR, or `--cache none`",
                err->message);
}

static enum kg_code store(struct build *b, const char *bytes, size_t n, struct kg_err *err)
{
    char *path = b->out->object;
    const size_t cap = sizeof b->out->object;
    if (cache_place(b, path, cap)) {
        if (kg_cache_put(path, b->key, bytes, n, err) == KG_OK) {
            return KG_OK;
        }
        warn_once(err);
        *err = (struct kg_err)KG_ERR_INIT;
    }
    int len = snprintf(path, cap, "%s.so", b->folder);
    if (len < 0 || (size_t)len >= cap) {
        return kg_fail(err, KG_E_LIMIT, "%s: the path is too long", b->folder);
    }
    return kg_cache_put(path, b->key, bytes, n, err);
}

static enum kg_code collect(struct build *b, struct kg_err *err)
{
    char path[400];
    snprintf(path, sizeof path, "%s/out.so", b->folder);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    size_t n = 0;
    char *bytes = fd < 0 ? NULL : kg_object_read(fd, &n);
    if (fd >= 0) {
        close(fd);
    }
    if (bytes == NULL) {
        b->out->status = KG_CC_LIMITS;
        snprintf(b->out->first_error, sizeof b->out->first_error,
                 "the linker left no object of at most %u MB", KG_OBJECT_MAX_BYTES >> 20);
        return KG_OK;
    }
    enum kg_code code = KG_OK;
    if (kg_elf_exports(bytes, n, b->entry) == KG_ELF_EXPORTS) {
        code = store(b, bytes, n, err);
    } else {
        b->out->status = KG_CC_MISSING_ENTRY;
    }
    free(bytes);
    return code;
}

static enum kg_code build(struct build *b, const char *source, size_t len, struct kg_err *err)
{
    enum kg_code code = write_source(b, source, len, err);
    struct kg_exit exit = {.kind = KG_EXIT_RUNNING};
    code = code == KG_OK ? run_steps(b, &exit, err) : code;
    if (code != KG_OK) {
        return code;
    }
    kg_diag_clean(b->raw.data, b->raw.len, &b->out->text);
    code = judge_exit(b, &exit, err);
    if (code == KG_OK && b->out->status == KG_CC_OK) {
        code = collect(b, err);
    }
    struct kg_err ignored = KG_ERR_INIT;
    if (kg_file_remove_tree(b->folder, &ignored) != KG_OK) {
        kg_log(KG_LOG_WARN, "%s", ignored.message);
    }
    return code;
}

enum kg_code kg_cc_build(struct kg_cc *cc, enum kg_cc_kind kind, const char *source, size_t len,
                         const char *entry, const char *scratch, struct kg_cc_result *out,
                         struct kg_err *err)
{
    static const char *const names[] = {"cc-candidate", "cc-float", "cc-double"};
    int64_t start_ns = kg_clock_ns();
    *out = (struct kg_cc_result){.status = KG_CC_OK};
    kg_buf_init(&out->text, MESSAGES_MAX_BYTES);
    struct build b = {.cc = cc, .kind = kind, .entry = entry, .out = out};
    snprintf(b.folder, sizeof b.folder, "%.280s/%s", scratch, names[kind]);
    make_key(&b, source, len);
    bool exports = false;
    enum kg_code code = KG_OK;
    if (cache_place(&b, out->object, sizeof out->object) &&
        kg_cache_check(out->object, b.key, entry, &exports)) {
        out->cached = true;
        out->isolation = kg_sandbox_isolation(cc->spec.without);
        out->status = exports ? KG_CC_OK : KG_CC_MISSING_ENTRY;
    } else {
        out->object[0] = '\0';
        kg_buf_init(&b.raw, MESSAGES_MAX_BYTES);
        code = build(&b, source, len, err);
        kg_buf_deinit(&b.raw);
    }
    if (code != KG_OK) {
        kg_buf_deinit(&out->text);
    } else if (out->status != KG_CC_OK) {
        out->object[0] = '\0';
        explain(&b);
    }
    out->ns = kg_clock_ns() - start_ns;
    return code;
}
