/* From a run of `kgym bench` over KernelBench's problems to that project's result files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/trial/bench_parts.h"
#include "gym/kernelbench/export.h"
#include "trial/bench/turns.h"

enum { MOST_LEVEL = 99, PATH = 1024 };

#define MOST_RECORD ((size_t)64 << 20)

/* A problem of that project: a level, and a name that begins with an id. */
static bool is_theirs(const struct tr_bench_problem *p, int *id)
{
    char file[KG_KB_NAME_MAX];
    return p->level >= 1 && p->level <= MOST_LEVEL &&
           (size_t)snprintf(file, sizeof file, "%s.py", p->name) < sizeof file &&
           kg_kb_id_parse(file, id);
}

/* --- records of the last turn, by that project's ids --- */

struct writer {
    const struct tr_bench *bench;
    FILE *f;
    const char *path;
    size_t others;
};

static enum kg_code write_record(void *user, size_t problem, size_t sample, json_t *record,
                                 struct kg_err *err)
{
    struct writer *w = user;
    const struct tr_bench_problem *p = &w->bench->problem[problem];
    struct kg_kb_kernel k = {.level = p->level, .sample = (int)sample};
    char id[KG_KB_ID_MAX];
    struct kg_buf text;
    if (!is_theirs(p, &k.problem)) {
        w->others++;
        return KG_OK;
    }
    if (p->defect) {
        return KG_OK;
    }
    kg_kb_kernel_id(&k, id);
    json_object_set_new(record, "batch_id", json_string(id));
    kg_buf_init(&text, MOST_RECORD);
    kg_json_dump(record, &text);
    kg_buf_addc(&text, '\n');
    bool good = kg_buf_ok(&text) && fwrite(text.data, 1, text.len, w->f) == text.len;
    kg_buf_deinit(&text);
    return good ? KG_OK : kg_fail(err, KG_E_IO, "%s: cannot write: %s", w->path, strerror(errno));
}

static enum kg_code write_records(struct tr_bench *b, const char *path, size_t *others,
                                  struct kg_err *err)
{
    struct writer w = {.bench = b, .path = path, .f = fopen(path, "we")};
    if (w.f == NULL) {
        return kg_fail(err, KG_E_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    enum kg_code code = tr_bench_records(b, b->turns, write_record, &w, err);
    if (fclose(w.f) != 0 && code == KG_OK) {
        code = kg_fail(err, KG_E_IO, "%s: cannot write: %s", path, strerror(errno));
    }
    *others = w.others;
    return code;
}

/* --- one level --- */

static int by_id(const void *x, const void *y)
{
    const struct kg_kb_problem *a = x, *b = y;
    return (a->id > b->id) - (a->id < b->id);
}

/* Of a problem, as the run was asked for; "" where a run of an earlier version lacks it. */
static void their_hash(const struct tr_bench *b, const char *name, char out[KG_KB_HASH])
{
    const json_t *all = json_object_get(json_object_get(b->run, "suite"), "kernelbench_hashes");
    const char *hash = json_string_value(json_object_get(all, name));
    snprintf(out, KG_KB_HASH, "%s", hash != NULL ? hash : "");
}

/* The level's problems that count, without paths, which a run does not keep;
 * kg_kb_problems_deinit releases them. */
static enum kg_code list_problems(const struct tr_bench *b, int level, struct kg_kb_problems *out,
                                  struct kg_err *err)
{
    *out = (struct kg_kb_problems){.problem = calloc(b->problems, sizeof *out->problem)};
    if (out->problem == NULL) {
        return kg_fail_memory(err, KG_E_HOST, "no memory for the problems of a level");
    }
    for (size_t q = 0; q < b->problems; q++) {
        const struct tr_bench_problem *p = &b->problem[q];
        struct kg_kb_problem *x = &out->problem[out->n];
        if (p->defect || p->level != level || !is_theirs(p, &x->id)) {
            continue;
        }
        x->level = level;
        snprintf(x->name, sizeof x->name, "%.200s.py", p->name);
        their_hash(b, p->name, x->hash);
        out->n++;
    }
    qsort(out->problem, out->n, sizeof *out->problem, by_id);
    return KG_OK;
}

/* 1, 2, 4 ... and all samples. */
static void choose_k(size_t samples, struct kg_kb_numbers *out)
{
    int all = samples < KG_KB_MAX_NUMBER ? (int)samples : KG_KB_MAX_NUMBER;
    out->n = 0;
    for (int k = 1; k < all; k *= 2) {
        out->range[out->n].lo = out->range[out->n].hi = k;
        out->n++;
    }
    out->range[out->n].lo = out->range[out->n].hi = all;
    out->n++;
}

/* What an earlier export wrote of a problem that has turned out defective since. */
static void leave_out(const struct kg_kb_problems *problems, struct kg_kb_run *all)
{
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (kg_kb_problem_find(problems, all->kernel[i].problem) != NULL) {
            all->kernel[n++] = all->kernel[i];
        }
    }
    all->n = n;
}

static enum kg_code export_level(const struct tr_bench *b, int level, const char *records,
                                 struct kg_cli_exported *out, struct kg_err *err)
{
    static const struct kg_kb_numbers any = {.n = 0};
    struct kg_kb_store store = {.lock = -1};
    struct kg_kb_problems problems = {.n = 0};
    struct kg_kb_run all = {.n = 0};
    struct kg_kb_export done = {.kernels = 0};
    struct kg_kb_summary summary;
    struct kg_kb_numbers k;
    char folder[PATH];
    if ((size_t)snprintf(folder, sizeof folder, "%s/kernelbench/level%d", b->folder, level) >=
        sizeof folder) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", b->folder);
    }
    choose_k(b->samples, &k);
    enum kg_code code = list_problems(b, level, &problems, err);
    code = code == KG_OK ? kg_kb_store_open(folder, &store, err) : code;
    code = code == KG_OK ? kg_kb_export(records, folder, &level, &store, &all, &done, err) : code;
    leave_out(&problems, &all);
    code = code == KG_OK ? kg_kb_store_results(&store, &all, &problems, &any, &k, &summary, err)
                         : code;
    out->levels += code == KG_OK;
    out->kernels += done.kernels;
    out->no_code += done.no_code;
    kg_kb_problems_deinit(&problems);
    kg_kb_run_deinit(&all);
    kg_kb_store_close(&store);
    return code;
}

/* --- all of it --- */

static bool has_level(const struct tr_bench *b, int level)
{
    int id;
    for (size_t q = 0; q < b->problems; q++) {
        const struct tr_bench_problem *p = &b->problem[q];
        bool there = false;
        for (size_t s = 0; s < b->samples && !there; s++) {
            there = tr_bench_turn(b, q, s, b->turns - 1)->facts.state != TR_FACT_NONE;
        }
        if (p->level == level && !p->defect && is_theirs(p, &id) && there) {
            return true;
        }
    }
    return false;
}

static enum kg_code export_all(struct tr_bench *b, struct kg_cli_exported *out, struct kg_err *err)
{
    char folder[PATH], records[PATH + 40];
    if ((size_t)snprintf(folder, sizeof folder, "%s/kernelbench", b->folder) >= sizeof folder) {
        return kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", b->folder);
    }
    snprintf(records, sizeof records, "%s/last_turns.%d.part", folder, (int)getpid());
    enum kg_code code = kg_file_mkdirs(folder, 0777, err);
    code = code == KG_OK ? write_records(b, records, &out->others, err) : code;
    for (int level = 1; level <= MOST_LEVEL && code == KG_OK; level++) {
        code = has_level(b, level) ? export_level(b, level, records, out, err) : KG_OK;
    }
    unlink(records);
    return code;
}

enum kg_code kg_cli_bench_export(const char *run, struct kg_cli_exported *out, struct kg_err *err)
{
    struct tr_bench b;
    *out = (struct kg_cli_exported){.levels = 0};
    if (tr_bench_read(run, &b, err) != KG_OK) {
        return err->code;
    }
    const json_t *theirs = json_object_get(json_object_get(b.run, "suite"), "kernelbench");
    enum kg_code code = json_is_true(theirs) ? export_all(&b, out, err) : KG_OK;
    tr_bench_deinit(&b);
    return code;
}
