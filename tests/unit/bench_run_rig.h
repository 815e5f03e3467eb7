/* Makes the folder of a run of `kgym bench` by hand: run.json, replies.jsonl, records.jsonl and
 * trajectories.jsonl, with records as the gym writes them. Problems are p0, p1, ... */
#ifndef KG_TESTS_UNIT_BENCH_RUN_RIG_H
#define KG_TESTS_UNIT_BENCH_RUN_RIG_H

#include "kb_rig.h"

#include "gym/record/record.h"
#include "trial/bench/tables.h"

struct bench_rig {
    const char *folder; /* in the folder of the test */
    int problems, of, samples, turns;
    const int *level;         /* [problems]; NULL: 1 */
    const char *const *names; /* [problems]; NULL: p0, p1, ... */
    double price_in, price_out;
    const char *aside; /* suite.aside; NULL: none */
    int text;          /* of all problems: another number, another hash */
    struct kg_buf replies, records, trajectories;
};

static inline const char *bench_name(const struct bench_rig *g, int q, char out[64])
{
    if (g->names) {
        return g->names[q];
    }
    snprintf(out, 64, "p%d", q);
    return out;
}

static inline void bench_begin(struct bench_rig *g, const char *folder, int problems, int samples,
                               int turns)
{
    *g = (struct bench_rig){
        .folder = folder, .problems = problems, .of = problems, .samples = samples, .turns = turns};
    kg_buf_init(&g->replies, 1 << 26);
    kg_buf_init(&g->records, 1 << 26);
    kg_buf_init(&g->trajectories, 1 << 26);
}

/* sample and turn from 1, as in keys. */
static inline const char *bench_key(const struct bench_rig *g, int q, int s, int t, char out[96])
{
    char name[64];
    snprintf(out, 96, "%s/s%d/t%d", bench_name(g, q, name), s, t);
    return out;
}

static inline void bench_reply(struct bench_rig *g, int q, int s, int t, int in, int out,
                               const char *finish)
{
    char key[96];
    kg_buf_addf(&g->replies,
                "{\"key\":\"%s\",\"finish\":\"%s\",\"tokens_in\":%d,\"tokens_out\":%d,"
                "\"text\":\"reply\"}\n",
                bench_key(g, q, s, t, key), finish, in, out);
}

static inline void bench_add_record(struct bench_rig *g, struct kg_record *r, int q, int s, int t)
{
    char key[96], name[64];
    r->batch_id = bench_key(g, q, s, t, key);
    r->problem.name = bench_name(g, q, name);
    r->problem.level = g->level ? g->level[q] : 1;
    json_object_set_new(r->environment, "cpu", json_string("Test CPU"));
    json_t *j = kg_record_json(r, true);
    kg_json_dump(j, &g->records);
    kg_buf_addc(&g->records, '\n');
    json_decref(j);
    kg_record_deinit(r);
}

static inline void bench_right(struct kg_record *r, double ratio, double lo)
{
    kg_record_init(r);
    r->candidate.code = "void f(void) {}";
    r->compiled = r->correct = 1;
    kg_record_verdict(r, KG_V_OK, NULL, "right");
    if (ratio > 0) {
        r->timing.status = KG_T_MEASURED;
        r->has_speedup = true;
        r->timing.preset = "paired";
        r->timing.reference_ns = 1000000;
        r->timing.candidate_ns = (int64_t)(1e6 / ratio);
        r->speedup.ratio = ratio;
        r->speedup.lo = lo;
        r->speedup.hi = 2 * ratio - lo;
    }
}

/* A turn with its reply of 10 and 5 tokens; ratio 0: it is wrong. */
static inline void bench_turn(struct bench_rig *g, int q, int s, int t, double ratio)
{
    struct kg_record r;
    bench_reply(g, q, s, t, 10, 5, "stop");
    if (ratio > 0) {
        bench_right(&r, ratio, .9 * ratio);
    } else {
        kg_record_init(&r);
        r.candidate.code = "void f(void) {}";
        r.compiled = 1;
        kg_record_verdict(&r, KG_V_WRONG, "value", "wrong");
    }
    bench_add_record(g, &r, q, s, t);
}

static inline void bench_verdict(struct bench_rig *g, int q, int s, int t, enum kg_verdict v,
                                 const char *reason)
{
    struct kg_record r;
    bench_reply(g, q, s, t, 10, 5, "stop");
    kg_record_init(&r);
    r.compiled = v == KG_V_HACK || v == KG_V_WRONG || v == KG_V_CRASH ? 1 : -1;
    kg_record_verdict(&r, v, reason, "said");
    bench_add_record(g, &r, q, s, t);
}

static inline void bench_error(struct bench_rig *g, int q, int s, int t, enum kg_code code,
                               const char *message)
{
    struct kg_record r;
    struct kg_err err = KG_ERR_INIT;
    bench_reply(g, q, s, t, 10, 5, "stop");
    kg_record_init(&r);
    (void)!kg_fail(&err, code, "%s", message);
    kg_record_error(&r, &err);
    bench_add_record(g, &r, q, s, t);
}

static inline void bench_ended(struct bench_rig *g, int q, int s, const char *end)
{
    char name[64];
    kg_buf_addf(&g->trajectories, "{\"id\":\"%s/s%d\",\"end\":\"%s\"}\n", bench_name(g, q, name), s,
                end);
}

static inline void bench_put(const struct bench_rig *g, const char *file, const struct kg_buf *b)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", g->folder, file);
    WORKS(kg_file_write_atomic(path, b->data, b->len, &err));
}

/* What run.json says; more: members of it, NULL for none. */
static inline void bench_write_run(const struct bench_rig *g, const char *more)
{
    struct kg_buf b;
    char name[64];
    kg_buf_init(&b, 1 << 26);
    kg_buf_addf(&b,
                "{\"schema\":\"kgym.run/1\",\"kind\":\"bench\",\"samples\":%d,\"turns\":%d,"
                "\"prices\":{\"in\":%g,\"out\":%g},%s"
                "\"suite\":{\"name\":\"hand\",\"kernelbench\":true,\"of\":%d,\"subset\":\"%s\","
                "\"problems\":[",
                g->samples, g->turns, g->price_in, g->price_out, more ? more : "", g->of,
                g->of > g->problems ? "some@1" : "");
    for (int q = 0; q < g->problems; q++) {
        kg_buf_addf(&b, "%s{\"name\":\"%s\",\"level\":%d,\"id\":%d,\"hash\":\"%064d\"}",
                    q ? "," : "", bench_name(g, q, name), g->level ? g->level[q] : 1, q + 1,
                    g->text);
    }
    kg_buf_addf(&b, "],\"aside\":%s}}\n", g->aside ? g->aside : "[]");
    bench_put(g, "run.json", &b);
    kg_buf_deinit(&b);
}

/* Writes the folder and frees what g holds. */
static inline void bench_end(struct bench_rig *g, const char *more)
{
    WORKS(kg_file_mkdirs(g->folder, 0755, &err));
    bench_write_run(g, more);
    bench_put(g, "replies.jsonl", &g->replies);
    bench_put(g, "records.jsonl", &g->records);
    bench_put(g, "trajectories.jsonl", &g->trajectories);
    kg_buf_deinit(&g->replies);
    kg_buf_deinit(&g->records);
    kg_buf_deinit(&g->trajectories);
}

/* The run and its tables; seed 42. */
struct bench_read {
    struct tr_bench bench;
    struct tr_tables tables;
};

static inline void bench_open(struct bench_read *x, const char *folder, const double *p, size_t np)
{
    const struct tr_tables_options o = {.p = p, .np = np, .seed = 42};
    WORKS(tr_bench_read(folder, &x->bench, &err));
    WORKS(tr_tables_make(&x->bench, &o, &x->tables, &err));
}

static inline void bench_close(struct bench_read *x)
{
    tr_tables_deinit(&x->tables);
    tr_bench_deinit(&x->bench);
}

/* The row of that name, of a table's view. */
static inline const struct tr_row *bench_row(const struct bench_read *x, size_t table,
                                             const char *view, const char *row)
{
    const struct tr_table *t = &x->tables.table[table];
    assert_true(table < x->tables.n);
    for (size_t v = 0; v < t->views; v++) {
        for (size_t i = 0; i < x->tables.rows && strcmp(t->view[v].name, view) == 0; i++) {
            if (strcmp(t->view[v].row[i].name, row) == 0) {
                return &t->view[v].row[i];
            }
        }
    }
    fail_msg("no row %s of %s", row, view);
    return NULL;
}

static inline double bench_value(const struct bench_read *x, size_t table, const char *view,
                                 const char *row)
{
    return bench_row(x, table, view, row)->x.value;
}

#endif
