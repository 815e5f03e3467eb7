/* kgym problems generate: writes problem files that a generator makes. The only one is `chains`. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/learn/problems_generate.h"
#include "rl/chains/chains.h"

#define TRIPLES     300
#define TRIPLES_MAX 100000
#define PATH_BYTES  4096

const char *const kg_cli_generate_flags[] = {"--out",     "--seed", "--part",
                                             "--triples", "--help", NULL};

struct args {
    const char *what, *out;
    uint64_t seed;
    bool seeded, help;
    int64_t part, triples;
};

static enum kg_code set_number(struct args *a, const char *name, const char *text,
                               struct kg_err *err)
{
    uint64_t value = 0;
    bool seed = strcmp(name, "--seed") == 0, part = strcmp(name, "--part") == 0;
    uint64_t hi = seed ? UINT64_MAX : part ? RL_PARTS - 1 : TRIPLES_MAX;
    if (kg_cli_number(name, text, 0, hi, &value, err) != KG_OK) {
        return err->code;
    }
    if (seed) {
        a->seed = value;
        a->seeded = true;
    } else {
        *(part ? &a->part : &a->triples) = (int64_t)value;
    }
    return KG_OK;
}

static enum kg_code word(struct args *a, int argc, char **argv, int at, int *used,
                         struct kg_err *err)
{
    static const char *const numbers[] = {"--seed", "--part", "--triples"};
    const char *value = NULL;
    *used = 0;
    if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
        *used = a->help = true;
        return KG_OK;
    }
    if (kg_cli_value("--out", argc, argv, at, used, &a->out, err) != KG_OK || *used) {
        return err->code;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (kg_cli_value(numbers[i], argc, argv, at, used, &value, err) != KG_OK) {
            return err->code;
        }
        if (*used) {
            return set_number(a, numbers[i], value, err);
        }
    }
    if (argv[at][0] == '-') {
        return kg_cli_unknown("problems generate", argv[at], kg_cli_generate_flags, NULL, err);
    }
    if (a->what) {
        return kg_fail(err, KG_E_USAGE, "generate: one generator at a time, not `%.60s` as well",
                       argv[at]);
    }
    a->what = argv[at];
    *used = 1;
    return KG_OK;
}

static enum kg_code parse(struct args *a, int argc, char **argv, struct kg_err *err)
{
    static const char *const generators[] = {"chains", NULL};
    for (int i = 1, used = 0; i < argc; i += used) {
        if (word(a, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
    }
    if (a->help) {
        return KG_OK;
    }
    if (!a->what) {
        return kg_fail(err, KG_E_USAGE, "generate: name a generator: chains");
    }
    if (strcmp(a->what, "chains") != 0) {
        return kg_cli_unknown("problems generate", a->what, generators, NULL, err);
    }
    return a->out && a->seeded ? KG_OK
                               : kg_fail(err, KG_E_USAGE, "generate: %s is missing",
                                         a->out ? "--seed N" : "--out DIR");
}

/* Files that are there already would be taken for generated ones. */
static enum kg_code make_folder(const char *path, struct kg_err *err)
{
    if (kg_file_mkdirs(path, 0777, err) != KG_OK) {
        return err->code;
    }
    DIR *d = opendir(path);
    if (!d) {
        return kg_fail(err, KG_E_IO, "%.300s: cannot read: %s", path, strerror(errno));
    }
    bool empty = true;
    for (const struct dirent *e = readdir(d); e && empty; e = readdir(d)) {
        empty = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
    }
    closedir(d);
    return empty ? KG_OK
                 : kg_fail(err, KG_E_USAGE, "%.300s: is not empty (name a new folder)", path);
}

static enum kg_code write_one(const char *folder, const struct rl_chain *c, struct kg_err *err)
{
    char name[RL_CHAIN_NAME], path[PATH_BYTES];
    struct kg_buf text;
    rl_chain_name(c, name);
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    kg_buf_init(&text, RL_CHAIN_BYTES);
    rl_chain_problem(c, &text);
    enum kg_code code = kg_file_write_atomic(path, text.data, text.len, err);
    kg_buf_deinit(&text);
    return code;
}

/* Writes the chains of one side, and says how many. */
static enum kg_code write_side(const struct args *a, const struct rl_split *split, bool held,
                               struct kg_err *err)
{
    char folder[PATH_BYTES - RL_CHAIN_NAME - 4];
    size_t count[RL_CHAIN_MAX] = {0};
    snprintf(folder, sizeof folder, "%s/%s", a->out, held ? "held-out" : "train");
    if (kg_file_mkdirs(folder, 0777, err) != KG_OK) {
        return err->code;
    }
    for (int n = 1; n <= RL_CHAIN_MAX; n++) {
        size_t all = rl_split_list(split, n, held, NULL, 0), most = (size_t)a->triples;
        size_t some = n == RL_CHAIN_MAX && all > most ? most : all;
        struct rl_chain *c = calloc(some + 1, sizeof *c);
        KG_ASSERT(c != NULL);
        rl_split_list(split, n, held, c, some);
        for (size_t i = 0; i < some; i++) {
            if (write_one(folder, &c[i], err) != KG_OK) {
                free(c);
                return err->code;
            }
        }
        free(c);
        count[n - 1] = some;
    }
    printf("%s: %zu single operators, %zu pairs, %zu triples\n", folder, count[0], count[1],
           count[2]);
    return KG_OK;
}

int kg_cli_problems_generate(int argc, char **argv, void (*help)(FILE *f))
{
    struct args a = {.triples = TRIPLES};
    struct kg_err err = KG_ERR_INIT;
    struct rl_split split;
    if (parse(&a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    if (a.help || !a.out) {
        help(stdout);
        return KG_STATUS_GOOD;
    }
    if (strlen(a.out) > 3000) {
        kg_fail(&err, KG_E_USAGE, "--out: the path is too long");
        return kg_cli_fail("problems", &err);
    }
    rl_split_init(&split, a.seed, (int)a.part);
    if (make_folder(a.out, &err) != KG_OK || write_side(&a, &split, false, &err) != KG_OK ||
        write_side(&a, &split, true, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    return KG_STATUS_GOOD;
}
