/* kgym problems check: is a problem fit to judge with? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "cli/problems.h"
#include "gym/pipeline/batch.h"
#include "gym/pipeline/onboard.h"
#include "gym/torch/facts.h"
#include "gym/torch/suite.h"

static void print_check(const struct kg_onboard *o, bool json)
{
    if (json) {
        json_t *j = kg_onboard_json(o);
        struct kg_buf b;
        kg_buf_init(&b, 1 << 20);
        kg_json_dump(j, &b);
        puts(b.data);
        kg_buf_deinit(&b);
        json_decref(j);
        return;
    }
    bool colour = kg_term_colour(stdout);
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    kg_term_add(&b, colour, o->pass ? KG_GREEN : KG_RED, o->pass ? "ok      " : "DEFECT  ");
    kg_buf_addf(&b, "%-18s %2d check%s", o->problem, o->n, o->n == 1 ? "" : "s");
    if (o->reference_ns >= 0) {
        kg_buf_addf(&b, "  reference %7.3f ms", (double)o->reference_ns * 1e-6);
    }
    if (o->in_bytes > 0) {
        kg_buf_addf(&b, "  %6.1f KB in, %6.1f KB out", (double)o->in_bytes / 1024,
                    (double)o->out_bytes / 1024);
    }
    kg_buf_addc(&b, '\n');
    for (int i = 0; i < o->n; i++) {
        if (!o->check[i].pass) {
            kg_buf_addf(&b, "        %s: ", o->check[i].name);
            kg_term_add(&b, false, KG_PLAIN, o->check[i].detail);
            kg_buf_addc(&b, '\n');
        }
    }
    fputs(b.data, stdout);
    fflush(stdout);
    kg_buf_deinit(&b);
}

/* Problems that are put aside, each with the checks that it failed. */
struct aside {
    struct kg_buf list;
    int n, of;
};

static void put_aside(struct aside *a, const struct kg_onboard *o)
{
    const char *before = ": ";
    a->of++;
    if (o->pass) {
        return;
    }
    a->n++;
    kg_buf_addf(&a->list, "  %s", o->problem);
    for (int i = 0; i < o->n; i++) {
        if (!o->check[i].pass) {
            kg_buf_addf(&a->list, "%s%s", before, o->check[i].name);
            before = ", ";
        }
    }
    kg_buf_addc(&a->list, '\n');
}

static void print_aside(const struct aside *a)
{
    printf("%d of %d problems are fit to judge with\n", a->of - a->n, a->of);
    if (a->n > 0) {
        printf("put aside:\n%s", a->list.data);
    }
}

static int check_one(struct kg_worker *w, const char *name, bool json, struct aside *aside)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_onboard o;
    if (kg_onboard(w, name, &o, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    print_check(&o, json);
    put_aside(aside, &o);
    bool pass = o.pass;
    kg_onboard_deinit(&o);
    return pass ? KG_EXIT_GOOD : KG_EXIT_BAD;
}

/* Where nobody named them, PyTorch problems are checked only if there is a torch to run them. */
static size_t without_torch(struct kg_worker *w, char **path, size_t n)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *facts = NULL;
    size_t c = 0;
    while (c < n && !kg_tsuite_is_path(path[c])) {
        c++;
    }
    if (c == n || kg_torch_facts(w, &facts, &err) == KG_OK) {
        json_decref(facts);
        return n;
    }
    fprintf(stderr, "kgym problems: %zu PyTorch problems are not checked: %s\n", n - c,
            err.message);
    for (size_t i = c; i < n; i++) {
        free(path[i]);
    }
    return c;
}

int kg_cli_problems_check(const struct kg_config *config, const struct kg_paths *paths,
                          const char *const *name, int nnames, bool json)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_worker *w = NULL;
    int cpu = -1, status = KG_EXIT_GOOD;
    char **path = NULL;
    size_t n = 0;
    kg_cli_signals();
    kg_batch_cpus(&cpu, 1);
    if ((nnames == 0 && kg_cli_problems_all(paths, &path, &n, &err) != KG_OK) ||
        kg_worker_open(config, cpu, &w, &err) != KG_OK) {
        status = kg_cli_fail("problems", &err);
        w = NULL;
    }
    struct aside aside = {.n = 0};
    kg_buf_init(&aside.list, 1 << 20);
    n = w ? without_torch(w, path, n) : n;
    for (int i = 0; w && i < nnames && !kg_cancelled; i++) {
        int s = check_one(w, name[i], json, &aside);
        status = s > status ? s : status;
    }
    for (size_t i = 0; i < n; i++) {
        int s = !w || kg_cancelled ? KG_EXIT_ERROR : check_one(w, path[i], json, &aside);
        status = s > status ? s : status;
    }
    if (!json && aside.of > 1) {
        print_aside(&aside);
    }
    kg_buf_deinit(&aside.list);
    kg_cli_problems_free(path, n);
    kg_worker_close(w);
    return status;
}
