/* What the tests of the judge of tensors share: a judge on host memory, and runners in C: forked
 * children that map ctrl, IN and OUT and speak the wire. The answer of an honest one is
 * y = 2 x + 1 and pick = i, for inputs x float32 [40, 70] and i int32 [40]. Everything is static:
 * each test program has its own. Includes cmocka and what it needs. */
#ifndef KG_TESTS_DEVICE_RIG_H
#define KG_TESTS_DEVICE_RIG_H

#include "trusted_rig.h"

#include <errno.h>
#include <linux/futex.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "gym/device/device_judge.h"

#define ROWS   40
#define COLS   70
#define REGION (1 << 20)

/* --- the runner's side: runs in a child, so it asserts nothing --- */
struct view {
    struct kg_twire *w;
    const unsigned char *in; /* read-only but on `fake` */
    unsigned char *out;
    int fd[3];
    uint32_t seen;
    uint64_t early_seed; /* of the last command, when it was announced */
    uint32_t nbound;     /* inputs of the calls to come */
    struct kg_tleaf bound[KG_TWIRE_LEAVES];
};

/* Answers the command that is there; true: `done` is set already, or shall not be. */
typedef bool (*behaviour)(struct view *v);

static inline void v_leaf(struct kg_tleaf *l, enum kg_tdtype t, int64_t rows, int64_t cols)
{
    memset(l, 0, sizeof *l);
    l->dtype = t;
    l->rank = cols > 0 ? 2 : 1;
    l->shape[0] = rows;
    l->shape[1] = cols;
    l->copied = 1;
}

static inline void v_done(struct view *v, uint32_t number)
{
    memcpy(v->w->echo, v->w->nonce, sizeof v->w->echo);
    atomic_store(&v->w->done, number);
    syscall(SYS_futex, &v->w->done, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* The right answer in OUT, laid out as the harness does; float32 or, wide, float64. */
static inline void v_answer(struct view *v)
{
    struct kg_twire *w = v->w;
    const float *x = (const void *)(v->in + v->bound[0].offset);
    bool wide = (w->flags & KG_TF_WIDE) != 0;
    v_leaf(&w->out[0], wide ? KG_TD_F64 : KG_TD_F32, ROWS, COLS);
    v_leaf(&w->out[1], KG_TD_I32, ROWS, 0);
    kg_twire_place(w->out, 2);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        if (wide) {
            ((double *)(void *)(v->out + w->out[0].offset))[i] = 2.0 * (double)x[i] + 1;
        } else {
            ((float *)(void *)(v->out + w->out[0].offset))[i] = 2 * x[i] + 1;
        }
    }
    memcpy(v->out + w->out[1].offset, v->in + v->bound[1].offset, w->out[1].bytes);
    w->nreply = 2;
    strcpy(w->structure, "(T,T)");
}

/* get_inputs(): x = seed + index, i = index. */
static inline void v_draw(struct view *v)
{
    struct kg_twire *w = v->w;
    v_leaf(&w->out[0], KG_TD_F32, ROWS, COLS);
    v_leaf(&w->out[1], KG_TD_I32, ROWS, 0);
    kg_twire_place(w->out, 2);
    for (int i = 0; i < ROWS * COLS; i++) {
        ((float *)(void *)(v->out + w->out[0].offset))[i] = (float)w->seed + (float)i;
    }
    for (int i = 0; i < ROWS; i++) {
        ((int32_t *)(void *)(v->out + w->out[1].offset))[i] = i;
    }
    w->nreply = 2;
    strcpy(w->structure, "[T,T]");
}

static inline void v_honest(struct view *v)
{
    v->w->status = KG_TA_OK;
    v->w->nreply = 0;
    if (v->w->command == KG_TC_BIND || (v->w->flags & KG_TF_BIND)) {
        v->nbound = v->w->nrequest;
        memcpy(v->bound, v->w->in, v->nbound * sizeof *v->bound);
    }
    switch (v->w->command) {
    case KG_TC_CALL:
        v_answer(v);
        break;
    case KG_TC_DRAW:
    case KG_TC_SNAPSHOT:
        v_draw(v);
        break;
    default:
        break;
    }
}

static inline bool honest(struct view *v)
{
    v_honest(v);
    return false;
}

static inline bool is_call(const struct view *v)
{
    return v->w->command == KG_TC_CALL;
}

static inline bool never_answers(struct view *v)
{
    v_honest(v);
    return is_call(v);
}

/* A behaviour: honest, but a call's answer is changed (v: the view). */
#define ON_CALL(name, change)                                                                      \
    static bool name(struct view *v)                                                               \
    {                                                                                              \
        v_honest(v);                                                                               \
        if (is_call(v)) {                                                                          \
            change;                                                                                \
        }                                                                                          \
        return false;                                                                              \
    }

/* The first answer, while it is float32. */
static inline float *y_of(struct view *v)
{
    return (void *)(v->out + v->w->out[0].offset);
}

static inline void *v_map(int fd, size_t bytes, int prot)
{
    void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        _exit(3);
    }
    return p;
}

static inline _Noreturn void v_serve(const int fds[3], behaviour how, bool writes_in)
{
    struct view v = {.fd = {fds[0], fds[1], fds[2]}};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    v.w = v_map(fds[0], sizeof *v.w, PROT_READ | PROT_WRITE);
    v.in = v_map(fds[1], v.w->in_bytes, writes_in ? PROT_READ | PROT_WRITE : PROT_READ);
    v.out = v_map(fds[2], v.w->out_bytes, PROT_READ | PROT_WRITE);
    atomic_store(&v.w->state, KG_TS_READY);
    for (;;) {
        uint32_t go;
        while (atomic_load(&v.w->announced) == v.seen) {
            syscall(SYS_futex, &v.w->announced, FUTEX_WAIT, v.seen, NULL, NULL, 0);
        }
        v.early_seed = v.w->seed;
        atomic_store(&v.w->prepared, v.seen + 1);
        while ((go = atomic_load(&v.w->go)) == v.seen) {
            syscall(SYS_futex, &v.w->go, FUTEX_WAIT, v.seen, NULL, NULL, 0);
        }
        v.seen = go;
        if (!how(&v)) {
            v_done(&v, go);
        }
    }
}

/* --- the trusted side --- */
struct runner {
    int port, pidfd;
    pid_t pid;
};

static inline struct runner start_runner(struct kg_dj *j, behaviour how)
{
    struct runner r;
    int fds[3];
    OK(kg_dj_port_open(j, REGION, REGION, &r.port, fds, &err));
    r.pid = fork();
    if (r.pid == 0) {
        v_serve(fds, how, strcmp(j->spec.device, "fake") == 0);
    }
    assert_true(r.pid > 0);
    r.pidfd = (int)syscall(SYS_pidfd_open, r.pid, 0);
    assert_true(r.pidfd >= 0);
    OK(kg_dj_port_attach(j, r.port, r.pidfd, &err));
    for (int k = 0; k < 3; k++) {
        close(fds[k]);
    }
    return r;
}

static inline void end_runner(struct kg_dj *j, struct runner *r)
{
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
    close(r->pidfd);
    if (j->pid > 0) {
        OK(kg_dj_port_close(j, r->port, &err));
    }
}

static inline struct kg_dj start_judge(const char *device)
{
    struct kg_dj j;
    struct kg_dj_spec spec = {.device = device, .cpu = -1};
    OK(kg_dj_start(&spec, &j, &err));
    return j;
}

static inline void begin_case(struct kg_dj *j, int id)
{
    struct kg_tleaf leaf[2];
    v_leaf(&leaf[0], KG_TD_F32, ROWS, COLS);
    v_leaf(&leaf[1], KG_TD_I32, ROWS, 0);
    OK(kg_dj_case_begin(j, id, leaf, 2, &err));
}

/* x uniform in [-1, 1), i in [0, 70), of this key. */
static inline void refill_case(struct kg_dj *j, int id, uint64_t key)
{
    struct kg_dj_law x = {.kind = KG_DJ_UNIFORM, .key = {{5, key}}, .a = -1, .b = 1};
    struct kg_dj_law i = {.kind = KG_DJ_INTEGER, .key = {{5, key}}, .stream = 1, .a = 0, .b = COLS};
    OK(kg_dj_case_fill(j, id, 0, &x, &err));
    OK(kg_dj_case_fill(j, id, 1, &i, &err));
}

static inline void fill_case(struct kg_dj *j, int id, uint64_t key)
{
    begin_case(j, id);
    refill_case(j, id, key);
}

static inline struct kg_dj_call call_of(const struct runner *r, int id, uint32_t command,
                                        enum kg_dj_side keep)
{
    return (struct kg_dj_call){.port = r->port,
                               .id = id,
                               .command = command,
                               .keep = keep,
                               .seed = 3,
                               .deadline_ns = kg_clock_ns() + 10000000000};
}

static inline struct kg_dj_report run(struct kg_dj *j, const struct runner *r, int id,
                                      uint32_t command, enum kg_dj_side keep)
{
    struct kg_dj_report rep;
    struct kg_dj_call c = call_of(r, id, command, keep);
    c.flags = keep == KG_DJ_ORACLE ? KG_TF_WIDE : 0;
    OK(kg_dj_run(j, &c, &rep, &err));
    return rep;
}

static inline void good(const struct kg_dj_report *r)
{
    assert_int_equal(r->status, KG_DJ_ANSWERED);
    assert_int_equal(r->said, KG_TA_OK);
    assert_false(r->late_write || r->input_modified || r->guard_hit || r->unwritten || r->loud ||
                 r->stale);
}

/* Expected answers of a case, by an honest runner. */
static inline void expect(struct kg_dj *j, const struct runner *ref, int id)
{
    bool applies;
    struct kg_dj_report r = run(j, ref, id, KG_TC_BIND, KG_DJ_NONE);
    good(&r);
    r = run(j, ref, id, KG_TC_CALL, KG_DJ_FLOAT);
    good(&r);
    r = run(j, ref, id, KG_TC_CALL, KG_DJ_ORACLE);
    good(&r);
    OK(kg_dj_self(j, id, &(struct kg_dj_ask){.k = 1}, &applies, &err));
    assert_true(applies);
}

static inline struct kg_dj_judgement compare(struct kg_dj *j, int id)
{
    struct kg_dj_judgement v;
    OK(kg_dj_compare(j, id, false, &v, &err));
    return v;
}

#endif
