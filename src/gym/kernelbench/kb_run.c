/* Reads a run folder of KernelBench: which kernels it holds, and which of them to judge. */
#include "gym/kernelbench/kb_run.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define MAX_KERNELS 1000000

/* The number after `word` at s, without leading zeros: a kernel has one name. */
static const char *field(const char *s, const char *word, int *out)
{
    size_t n = strlen(word);
    if (!s || strncmp(s, word, n) != 0 || (s[n] == '0' && s[n + 1] >= '0' && s[n + 1] <= '9')) {
        return NULL;
    }
    return kg_kb_number(s + n, out);
}

static const char *parse(const char *s, struct kg_kb_kernel *out)
{
    *out = (struct kg_kb_kernel){0};
    s = field(s, "level_", &out->level);
    s = field(s, "_problem_", &out->problem);
    s = field(s, "_sample_", &out->sample);
    return s && out->level >= 1 && out->problem >= 1 ? s : NULL;
}

bool kg_kb_kernel_parse(const char *file_name, struct kg_kb_kernel *out)
{
    const char *end = parse(file_name, out);
    return end && strcmp(end, "_kernel.py") == 0;
}

bool kg_kb_kernel_id_parse(const char *id, struct kg_kb_kernel *out)
{
    const char *end = parse(id, out);
    return end && *end == '\0';
}

void kg_kb_kernel_id(const struct kg_kb_kernel *k, char out[KG_KB_ID_MAX])
{
    snprintf(out, KG_KB_ID_MAX, "level_%d_problem_%d_sample_%d", k->level, k->problem, k->sample);
}

int kg_kb_kernel_order(const struct kg_kb_kernel *a, const struct kg_kb_kernel *b)
{
    int d = a->level - b->level;
    d = d ? d : a->problem - b->problem;
    return d ? d : a->sample - b->sample;
}

static int by_number(const void *a, const void *b)
{
    return kg_kb_kernel_order(a, b);
}

static enum kg_code add(struct kg_kb_run *run, size_t *cap, const struct kg_kb_kernel *k,
                        struct kg_err *err)
{
    if (run->n == MAX_KERNELS) {
        return kg_fail(err, KG_E_LIMIT, "%.300s: more than %d kernels", run->root, MAX_KERNELS);
    }
    if (run->n == *cap) {
        *cap = *cap ? *cap * 2 : 256;
        struct kg_kb_kernel *grown = realloc(run->kernel, *cap * sizeof *grown);
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "%.300s: no memory for %zu kernels", run->root, *cap);
        }
        run->kernel = grown;
    }
    run->kernel[run->n++] = *k;
    return KG_OK;
}

enum kg_code kg_kb_run_read(const char *folder, struct kg_kb_run *out, struct kg_err *err)
{
    char root[PATH_MAX];
    struct kg_kb_kernel k;
    size_t cap = 0;
    *out = (struct kg_kb_run){.n = 0};
    DIR *dir = realpath(folder, root) ? opendir(root) : NULL;
    if (!dir) {
        return kg_fail(err, errno == ENOENT ? KG_E_NOT_FOUND : KG_E_IO, "%s: cannot open: %s",
                       folder, strerror(errno));
    }
    enum kg_code code = KG_OK;
    if ((size_t)snprintf(out->root, sizeof out->root, "%s", root) >= sizeof out->root) {
        code = kg_fail(err, KG_E_INPUT, "%.200s...: the path is too long", root);
    }
    for (struct dirent *e; code == KG_OK && (e = readdir(dir));) {
        code = kg_kb_kernel_parse(e->d_name, &k) ? add(out, &cap, &k, err) : KG_OK;
    }
    closedir(dir);
    if (code != KG_OK) {
        kg_kb_run_deinit(out);
        return code;
    }
    if (out->n > 0) {
        qsort(out->kernel, out->n, sizeof *out->kernel, by_number);
    }
    return KG_OK;
}

void kg_kb_run_deinit(struct kg_kb_run *run)
{
    free(run->kernel);
    run->kernel = NULL;
    run->n = 0;
}

enum kg_code kg_kb_run_choose(struct kg_kb_run *run, const struct kg_kb_numbers *problems,
                              const struct kg_kb_numbers *samples, int *level, struct kg_err *err)
{
    size_t kept = 0;
    if (run->n == 0) {
        return kg_fail(err, KG_E_NOT_FOUND,
                       "%.300s: no kernel there (level_<L>_problem_<P>_sample_<S>_kernel.py)",
                       run->root);
    }
    if (*level == 0 && run->kernel[0].level != run->kernel[run->n - 1].level) {
        return kg_fail(err, KG_E_USAGE,
                       "%.300s: it holds kernels of levels %d to %d; name one with --level",
                       run->root, run->kernel[0].level, run->kernel[run->n - 1].level);
    }
    *level = *level ? *level : run->kernel[0].level;
    for (size_t i = 0; i < run->n; i++) {
        const struct kg_kb_kernel *k = &run->kernel[i];
        if (k->level == *level && kg_kb_numbers_has(problems, k->problem) &&
            kg_kb_numbers_has(samples, k->sample)) {
            run->kernel[kept++] = *k;
        }
    }
    if (kept == 0) {
        return kg_fail(err, KG_E_NOT_FOUND,
                       "%.300s: none of its %zu kernels is of level %d and of the problems and "
                       "samples asked for",
                       run->root, run->n, *level);
    }
    run->n = kept;
    return KG_OK;
}

static enum kg_code add_line(const struct kg_kb_run *run, const struct kg_kb_kernel *k,
                             const char *problem, struct kg_buf *out, struct kg_err *err)
{
    char id[KG_KB_ID_MAX], path[sizeof run->root + KG_KB_ID_MAX + 16];
    kg_kb_kernel_id(k, id);
    snprintf(path, sizeof path, "%s/%s_kernel.py", run->root, id);
    json_t *j = json_pack("{s:s, s:s, s:s}", "id", id, "problem", problem, "source_file", path);
    if (!j) {
        return kg_fail(err, KG_E_INPUT, "%s: the path is not UTF-8", path);
    }
    kg_json_dump(j, out);
    kg_buf_addc(out, '\n');
    json_decref(j);
    return kg_buf_ok(out) ? KG_OK : kg_fail(err, KG_E_LIMIT, "%s: too many kernels", run->root);
}

enum kg_code kg_kb_run_lines(const struct kg_kb_run *run, const struct kg_kb_problems *problems,
                             struct kg_buf *out, struct kg_err *err)
{
    for (size_t i = 0; i < run->n; i++) {
        const struct kg_kb_kernel *k = &run->kernel[i];
        const struct kg_kb_problem *p = kg_kb_problem_find(problems, k->problem);
        if (!p) {
            return kg_fail(err, KG_E_NOT_FOUND,
                           "level_%d_problem_%d_sample_%d_kernel.py: level %d has no problem %d",
                           k->level, k->problem, k->sample, k->level, k->problem);
        }
        if (add_line(run, k, p->path, out, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}
