/* Build and run one program under the sanitizers. Two sandboxes: one that may write the folder, and
 * one that may only read and execute it. */
#include "gym/build/sanitized.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "gym/build/toolchain.h"

#define TEXT_BYTES (256u << 10)
#define SLICE_NS   20000000

static const char *const flags[] = {"-std=gnu17",
                                    "-O1",
                                    "-g",
                                    "-fno-omit-frame-pointer",
                                    "-fsanitize=address,undefined",
                                    "-fno-sanitize-recover=all",
                                    "-lkgops",
                                    "-lm",
                                    "-lpthread",
                                    NULL};

/* A program in its sandbox, its input and its output. */
struct run {
    struct kg_cc *cc;
    const struct kg_sanitized_spec *spec;
    struct kg_sanitized *out;
    struct kg_sandbox box;
    int in, from;      /* ends of this side; in is -1 once all is written */
    const char *bytes; /* of the input, not written yet */
    size_t left;
};

static bool cancelled(const struct kg_cc *cc)
{
    return cc->spec.cancelled != NULL && *cc->spec.cancelled != 0;
}

/* argv[0] is what runs; writable: the folder. in, to: the program's ends. */
static enum kg_code spawn(struct run *r, const char *const *argv, bool writable, int in, int to,
                          struct kg_err *err)
{
    struct kg_cc *cc = r->cc;
    struct kg_bind binds[KG_CC_MAX_BINDS + 1];
    memcpy(binds, cc->binds, cc->nbinds * sizeof *binds);
    const char *inside = cc->mounts ? "/scratch" : r->spec->folder;
    binds[cc->nbinds] = (struct kg_bind){r->spec->folder, inside, writable};
    const char *envp[] = {"LC_ALL=C", NULL};
    int fds[] = {in, to, to};
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
        .proc = writable || !cc->mounts ? KG_PROC_NONE : KG_PROC_OWN,
        .address_bytes = writable ? 0 : -1,
    };
    return kg_sandbox_spawn(&spec, &r->box, err);
}

static bool drain(struct run *r)
{
    char chunk[16384];
    for (;;) {
        ssize_t n = read(r->from, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0;
        }
        kg_buf_add(&r->out->text, chunk, (size_t)n);
    }
}

/* As much of the input as fits now; a program that has ended reads no more. */
static void give(struct run *r)
{
    while (r->in >= 0) {
        if (r->left == 0) {
            const void *bytes;
            if (!r->spec->feed(r->spec->self, &bytes, &r->left)) {
                close(r->in);
                r->in = -1;
                return;
            }
            r->bytes = bytes;
        }
        ssize_t n = send(r->in, r->bytes, r->left, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n < 0) {
            close(r->in);
            r->in = -1;
            return;
        }
        r->bytes += n;
        r->left -= (size_t)n;
    }
}

/* Until it has ended; *late: it has not by then. */
static enum kg_code attend(struct run *r, int64_t timeout_ns, bool *late, struct kg_err *err)
{
    int64_t until = kg_clock_ns() + timeout_ns;
    bool open_pipe = true;
    *late = false;
    for (;;) {
        int64_t now = kg_clock_ns(), left = until - now;
        if (cancelled(r->cc)) {
            return kg_fail(err, KG_E_CANCELLED, "the check with sanitizers was interrupted");
        }
        if (left <= 0) {
            *late = true;
            return KG_OK;
        }
        struct pollfd p[3] = {{.fd = r->box.pidfd, .events = POLLIN},
                              {.fd = open_pipe ? r->from : -1, .events = POLLIN},
                              {.fd = r->in, .events = POLLOUT}};
        struct timespec t = {0, left < SLICE_NS ? left : SLICE_NS};
        ppoll(p, 3, &t, NULL);
        until += kg_clock_lost(now, t.tv_nsec);
        open_pipe = open_pipe && drain(r);
        give(r);
        if (kg_sandbox_poll(&r->box)) {
            drain(r);
            return KG_OK;
        }
    }
}

static void shut(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* One program from start to end; feed: it is told something. */
static enum kg_code run_one(struct run *r, const char *const *argv, bool writable, bool feed,
                            int64_t timeout_ns, bool *late, struct kg_err *err)
{
    int out[2] = {-1, -1}, in[2] = {-1, -1};
    r->box.pid = r->box.pidfd = -1;
    r->left = 0;
    enum kg_code code = KG_OK;
    if (pipe2(out, O_CLOEXEC) != 0 || fcntl(out[0], F_SETFL, O_NONBLOCK) != 0 ||
        (feed && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)) {
        code = kg_fail(err, KG_E_HOST, "sanitizers: cannot make a pipe: %s", strerror(errno));
    }
    code = code == KG_OK ? spawn(r, argv, writable, in[1], out[1], err) : code;
    shut(&out[1]);
    shut(&in[1]);
    r->in = in[0];
    r->from = out[0];
    code = code == KG_OK ? attend(r, timeout_ns, late, err) : code;
    kg_sandbox_end(&r->box);
    r->out->exit = r->box.exit;
    shut(&r->in);
    shut(&out[0]);
    return code;
}

static enum kg_code write_source(const struct kg_sanitized_spec *spec, struct kg_err *err)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s.c", spec->folder, kg_cc_source_name(KG_CC_REF_FLOAT));
    if (kg_file_remove_tree(spec->folder, err) != KG_OK ||
        kg_file_mkdirs(spec->folder, 0755, err) != KG_OK) {
        return err->code;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        return kg_fail(err, KG_E_IO, "%s: cannot create: %s", path, strerror(errno));
    }
    enum kg_code code = kg_file_write_all(fd, spec->source, spec->len, err);
    close(fd);
    return code;
}

/* The linker names what it lacks: `cannot find -lasan`, `libasan_preinit.o: No such file`. */
static bool lacks_runtime(const char *text)
{
    bool missing = strstr(text, "cannot find") != NULL || strstr(text, "No such file") != NULL;
    return missing && (strstr(text, "asan") != NULL || strstr(text, "ubsan") != NULL);
}

static enum kg_code build(struct run *r, bool *built, struct kg_err *err)
{
    struct kg_cc *cc = r->cc;
    const char *inside = cc->mounts ? "/scratch" : r->spec->folder;
    const char *argv[] = {cc->shell, "-c", cc->sanitized, "sh", inside, NULL};
    bool late;
    *built = false;
    if (write_source(r->spec, err) != KG_OK ||
        run_one(r, argv, true, false, cc->spec.timeout_ns, &late, err) != KG_OK) {
        return err->code;
    }
    const struct kg_exit *e = &r->out->exit;
    *built = !late && e->kind == KG_EXIT_CODE && e->code == 0;
    if (!*built) {
        r->out->status = lacks_runtime(r->out->text.data ? r->out->text.data : "")
                             ? KG_SANITIZED_NO_RUNTIME
                             : KG_SANITIZED_NO_BUILD;
    }
    return KG_OK;
}

static enum kg_code build_and_run(struct run *r, struct kg_err *err)
{
    char program[400];
    bool built, late;
    enum kg_code code = build(r, &built, err);
    if (code != KG_OK || !built) {
        return code;
    }
    kg_buf_reset(&r->out->text);
    snprintf(program, sizeof program, "%s/out.so", r->cc->mounts ? "/scratch" : r->spec->folder);
    const char *argv[] = {program, NULL};
    if (run_one(r, argv, false, true, r->spec->timeout_ns, &late, err) != KG_OK) {
        return err->code;
    }
    r->out->status = late ? KG_SANITIZED_LATE : KG_SANITIZED_ENDED;
    return KG_OK;
}

enum kg_code kg_cc_run_sanitized(struct kg_cc *cc, const struct kg_sanitized_spec *spec,
                                 struct kg_sanitized *out, struct kg_err *err)
{
    struct run r = {.cc = cc, .spec = spec, .out = out, .in = -1};
    memset(out, 0, sizeof *out);
    if (cc->sanitized == NULL) {
        cc->sanitized = kg_cc_learn_program(cc, flags, err);
    }
    if (cc->sanitized == NULL) {
        return err->code;
    }
    kg_buf_init(&out->text, TEXT_BYTES);
    enum kg_code code = build_and_run(&r, err);
    struct kg_err ignored = KG_ERR_INIT;
    if (kg_file_remove_tree(spec->folder, &ignored) != KG_OK) {
        kg_log(KG_LOG_WARN, "%s", ignored.message);
    }
    if (code != KG_OK) {
        kg_buf_deinit(&out->text);
    }
    return code;
}
