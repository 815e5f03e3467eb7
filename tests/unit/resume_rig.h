/* What tests of broken runs share: a tiny run whose verdicts a function makes up, in a process of
 * its own that can be killed, and the comparison of what two runs left. Everything is static: each
 * test program has its own. */
#ifndef RESUME_RIG_H
#define RESUME_RIG_H

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "lm/io/checkpoint.h"
#include "rl/run/run_save.h"

enum { RIG_BROKE = 7 }; /* exit status: the run ended with an error, which is in `message` */

/* Shared with the processes of runs. */
struct rig_shared {
    volatile long evaluations; /* that the function made up */
    volatile long moments;
    char where[32]; /* the last of them */
    volatile enum kg_code code;
    char message[1024];
};

static struct rig_shared *shared;
static char rig_folder[4096];

struct rig_options {
    const char *folder;
    const char *journal; /* NULL: none */
    bool resume;
    long die_at;     /* moment of its death; 0: none */
    long file_limit; /* bytes of the largest file of a checkpoint; 0: none */
    rl_script_gym *gym;
    const char *set[8]; /* further keys */
};

static inline int rig_setup(void **state)
{
    (void)state;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(rig_folder, sizeof rig_folder, "/tmp/kgym-resume-XXXXXX");
    return shared != MAP_FAILED && mkdtemp(rig_folder) != NULL && chdir(rig_folder) == 0 ? 0 : -1;
}

static inline int rig_teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return chdir("/") == 0 && kg_file_remove_tree(rig_folder, &err) == KG_OK ? 0 : -1;
}

/* A verdict that depends on problem and reply alone. */
static inline void rig_judge(void *user, const struct rl_chain *chain, const char *text, size_t len,
                             struct rl_verdict *v)
{
    char name[RL_CHAIN_NAME];
    struct kg_sha256 h;
    (void)user;
    *v = (struct rl_verdict){.coverage = (double)NAN};
    rl_chain_name(chain, name);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, name, strlen(name));
    kg_sha256_part(&h, text, len);
    kg_sha256_end(&h, v->record);
    unsigned draw = (unsigned)strtoul((char[7]){v->record[0], v->record[1], v->record[2],
                                                v->record[3], v->record[4], v->record[5]},
                                      NULL, 16);
    v->correct = draw % 3 != 0;
    snprintf(v->name, sizeof v->name, "%s", v->correct ? "ok" : "wrong");
    snprintf(v->feedback, sizeof v->feedback, "Verdict: %s.", v->name);
    if (v->correct) {
        v->coverage = (double)(draw % 101) / 100;
        v->speedup = 0.5 + (double)(draw % 1009) / 404;
        v->speedup_lo = v->speedup * 0.97;
        v->reward = 1 + v->speedup;
    }
    v->term[v->nterms++] = (struct rl_term){"correct", v->correct};
    v->term[v->nterms++] = (struct rl_term){"speed", v->speedup};
    shared->evaluations++;
}

/* Of a replay: nothing may be left to judge. */
static inline void rig_no_judge(void *user, const struct rl_chain *chain, const char *text,
                                size_t len, struct rl_verdict *v)
{
    (void)user, (void)chain, (void)text, (void)len, (void)v;
    snprintf(shared->message, sizeof shared->message, "a replay asked the gym");
    _exit(RIG_BROKE);
}

static long rig_die_at, rig_limit;

static inline void rig_moment(void *user, const char *where)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    (void)user;
    snprintf(shared->where, sizeof shared->where, "%s", where);
    if (rig_limit > 0 && strncmp(where, "save", 4) == 0) {
        limit.rlim_cur = strcmp(where, "save") == 0 ? (rlim_t)rig_limit : RLIM_INFINITY;
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    if (++shared->moments == rig_die_at) {
        raise(SIGKILL);
    }
}

static inline void rig_config(const struct rig_options *o, struct rl_config *c)
{
    static const char *const sets[] = {
        "seed=3",         "threads=1",      "model.hidden=16",     "model.inter=32",
        "model.layers=1", "model.heads=2",  "corpus.documents=60", "corpus.merges=64",
        "sft.seconds=0",  "sft.steps=14",   "sft.rows=512",        "rl.seconds=0",
        "rl.steps=9",     "rl.groups=3",    "rl.rollouts=4",       "rl.problems=5",
        "rl.lr=0.01",     "turns=2",        "resp_max=20",         "ctx_max=320",
        "eval.pairs=2",   "eval.triples=1", "eval.samples=2",      "checkpoint=2",
        "prs=on",         "dry_run=no",     "rl.triples=0.5",      "checkpoint_seconds=0.1"};
    struct kg_err err = KG_ERR_INIT;
    rl_config_defaults(c);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        assert_int_equal(rl_config_pair(c, sets[i], "test", &err), KG_OK);
    }
    for (int i = 0; i < 8 && o->set[i] != NULL; i++) {
        assert_int_equal(rl_config_pair(c, o->set[i], "test", &err), KG_OK);
    }
    snprintf(c->journal, sizeof c->journal, "%s", o->journal ? o->journal : "");
}

static inline void rig_child(const struct rig_options *o, const struct rl_config *c)
{
    static struct rl_run run;
    static int cancel;
    const char *idle = NULL;
    struct kg_err err = KG_ERR_INIT;
    FILE *terminal = fopen("/dev/null", "w");
    const struct rl_run_options how = {.folder = o->folder,
                                       .resume = o->resume,
                                       .terminal = terminal,
                                       .cancel = &cancel,
                                       .script = o->gym ? o->gym : rig_judge,
                                       .moment = rig_moment};
    shared->moments = 0;
    rig_die_at = o->die_at;
    rig_limit = o->file_limit;
    signal(SIGXFSZ, SIG_IGN);
    enum kg_code code = rl_run_open(c, &how, &run, &err);
    if (code == KG_OK) {
        code = rl_run_train(&run, &idle, &err);
        rl_run_close(&run);
    }
    fclose(terminal);
    shared->code = code;
    snprintf(shared->message, sizeof shared->message, "%s", err.message);
    _exit(code == KG_OK ? 0 : RIG_BROKE);
}

/* Runs in a process of its own, which is killed after so many microseconds (0: never). True: it
 * ended by itself; *status is its exit status. */
static inline bool rig_run(const struct rig_options *o, useconds_t kill_after, int *status)
{
    struct rl_config c;
    int s;
    rig_config(o, &c);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        rig_child(o, &c);
    }
    if (kill_after > 0) {
        usleep(kill_after);
        kill(pid, SIGKILL);
    }
    assert_int_equal(waitpid(pid, &s, 0), pid);
    *status = WIFEXITED(s) ? WEXITSTATUS(s) : -1;
    return WIFEXITED(s);
}

static inline void rig_good(const struct rig_options *o)
{
    int status;
    shared->message[0] = '\0';
    if (!rig_run(o, 0, &status) || status != 0) {
        fail_msg("%s: status %d: %s", o->folder, status, shared->message);
    }
}

/* The run must end with this code, and say so. */
static inline void rig_bad(const struct rig_options *o, enum kg_code code, const char *says)
{
    int status;
    shared->message[0] = '\0';
    if (!rig_run(o, 0, &status) || status != RIG_BROKE || shared->code != code ||
        strstr(shared->message, says) == NULL) {
        fail_msg("%s: status %d, code %d, not %d with \"%s\": %s", o->folder, status,
                 (int)shared->code, (int)code, says, shared->message);
    }
}

static inline void rig_read(const char *folder, const char *name, struct kg_buf *out)
{
    char path[600];
    struct kg_err err = KG_ERR_INIT;
    kg_buf_init(out, (size_t)64 << 20);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (kg_file_read(path, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

static inline void rig_same_file(const char *a, const char *b, const char *name)
{
    struct kg_buf x, y;
    rig_read(a, name, &x);
    rig_read(b, name, &y);
    if (x.len != y.len || memcmp(x.data, y.data, x.len) != 0) {
        fail_msg("%s: %s and %s differ (%zu and %zu bytes)", name, a, b, x.len, y.len);
    }
    assert_true(x.len > 100);
    kg_buf_deinit(&x);
    kg_buf_deinit(&y);
}

/* Numbers of metrics.jsonl that no clock has made. */
static inline json_t *rig_metrics(const char *folder)
{
    struct kg_buf text;
    struct kg_err err = KG_ERR_INIT;
    json_t *all = json_array(), *line, *x;
    rig_read(folder, "metrics.jsonl", &text);
    for (char *at = strtok(text.data, "\n"); at != NULL; at = strtok(NULL, "\n")) {
        const char *key;
        void *next;
        assert_int_equal(kg_json_parse(at, strlen(at), "metrics", &line, &err), KG_OK);
        json_object_foreach_safe(line, next, key, x)
        {
            size_t n = strlen(key);
            if (strcmp(key, "seconds") == 0 || (n > 2 && strcmp(key + n - 2, "_s") == 0) ||
                strcmp(key, "evaluations") == 0 || strcmp(key, "from_journal") == 0 ||
                (json_is_real(x) &&
                 strcmp(json_string_value(json_object_get(line, "phase")), "end") == 0)) {
                json_object_del(line, key);
            }
        }
        json_array_append_new(all, line);
    }
    kg_buf_deinit(&text);
    return all;
}

/* Weights, optimiser, trajectories and metrics of two runs have the same bits. */
static inline void rig_same_run(const char *a, const char *b)
{
    char adapter[200];
    snprintf(adapter, sizeof adapter, "%s/checkpoint/adapter_model.safetensors", a);
    rig_same_file(a, b,
                  kg_file_exists(adapter) ? "checkpoint/adapter_model.safetensors"
                                          : "checkpoint/model.safetensors");
    rig_same_file(a, b, "checkpoint/optim.safetensors");
    rig_same_file(a, b, "sft/model.safetensors");
    rig_same_file(a, b, "trajectories.jsonl");
    json_t *x = rig_metrics(a), *y = rig_metrics(b);
    size_t n = json_array_size(x);
    assert_int_equal(n, json_array_size(y));
    for (size_t i = 0; i < n; i++) {
        if (!json_equal(json_array_get(x, i), json_array_get(y, i))) {
            fail_msg("metrics.jsonl:%zu differs:\n%s\n%s", i + 1,
                     json_dumps(json_array_get(x, i), JSON_COMPACT),
                     json_dumps(json_array_get(y, i), JSON_COMPACT));
        }
    }
    json_decref(x);
    json_decref(y);
}

/* --- the series of kills --- */

static struct rig_options whole = {.folder = "whole"}, replay = {.folder = "replay"};
static long whole_moments, whole_evaluations;
static useconds_t whole_us;

/* A run without a break, and one that reads its verdicts. */
static inline void rig_unbroken(void)
{
    shared->evaluations = 0;
    rig_good(&whole);
    whole_evaluations = shared->evaluations;
    replay.journal = "whole/verdicts.jsonl";
    replay.gym = rig_no_judge;
    int64_t began = kg_clock_ns();
    rig_good(&replay);
    whole_us = (useconds_t)((kg_clock_ns() - began) / 1000);
    whole_moments = shared->moments;
    rig_same_run("whole", "replay");
}

/* Moments differ from run to run of this program. */
static inline uint64_t rig_draw(void)
{
    static uint64_t x;
    if (x == 0) {
        x = (uint64_t)kg_clock_ns();
        print_message("moments by %llu\n", (unsigned long long)x);
    }
    x += 0x9e3779b97f4a7c15u;
    uint64_t z = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Kills a run `kills` times, by the clock or at a moment, and lets it end. Returns how often it
 * died.
 */
static inline int rig_broken(int number, int kills, bool by_clock)
{
    char folder[40];
    int status, killed = 0;
    snprintf(folder, sizeof folder, "broken%d", number);
    struct rig_options o = replay;
    o.folder = folder;
    for (int tries = 0;; tries++) {
        useconds_t after = 0;
        o.die_at = 0;
        assert_true(tries < 200);
        if (killed < kills && by_clock) {
            after = 1 + (useconds_t)(rig_draw() % whole_us);
        } else if (killed < kills) {
            o.die_at = 1 + (long)(rig_draw() % (uint64_t)whole_moments);
        }
        shared->message[0] = '\0';
        bool ended = rig_run(&o, after, &status);
        if (ended && status != 0) {
            fail_msg("%s after %d kills: %s", folder, killed, shared->message);
        }
        if (ended) {
            break;
        }
        killed++;
        print_message("%s: killed after \"%s\"%s\n", folder, shared->where,
                      by_clock ? ", by the clock" : "");
        char path[80];
        snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
        o.resume = kg_file_exists(path);
    }
    rig_same_run("replay", folder);
    return killed;
}

#endif
