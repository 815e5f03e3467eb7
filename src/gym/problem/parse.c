/* Reads a problem file: the fields of its block, then the checks that need all of them. */
#include "gym/problem/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define ARENA_BYTES   (4u << 20)
#define SCRATCH_BYTES (8u << 20)
#define SHOWN_PATH    160 /* longer paths show their end */

static const char *const KEYS[] = {"name",  "level",  "entry", "dims", "args", "desc",
                                   "where", "reduce", "cost",  "laws", NULL};
static const char *const COST_KEYS[] = {"flops", "bytes", NULL};

static enum kg_code copy_text(struct kg_parse *c, const char *text, const char **out)
{
    *out = kg_arena_dup(&c->p->arena, text, strlen(text), c->err);
    return *out == NULL ? c->err->code : KG_OK;
}

/* A required key of the given kind. */
static enum kg_code require(const struct kg_parse *c, const struct kg_yaml *root, const char *key,
                            enum kg_yaml_kind kind, const struct kg_yaml **out)
{
    *out = kg_yaml_get(root, key);
    if (*out == NULL) {
        return kg_parse_fail(c, root->line, key, "is missing (it is required)");
    }
    return kg_parse_kind(c, *out, key, kind);
}

static enum kg_code read_identity(struct kg_parse *c, const struct kg_yaml *root)
{
    const struct kg_yaml *name, *level, *entry, *desc = kg_yaml_get(root, "desc");
    int64_t number = 0;
    enum kg_code code = require(c, root, "name", KG_YAML_SCALAR, &name);
    if (code == KG_OK) {
        code = kg_parse_name(c, name->line, "name", name->text);
    }
    if (code == KG_OK) {
        code = copy_text(c, name->text, &c->p->name);
    }
    if (code == KG_OK) {
        code = require(c, root, "level", KG_YAML_SCALAR, &level);
    }
    if (code == KG_OK) {
        code = kg_parse_count(c, level, "level", 1, 9, &number);
        c->p->level = (int)number;
    }
    if (code == KG_OK) {
        code = require(c, root, "entry", KG_YAML_SCALAR, &entry);
    }
    if (code == KG_OK) {
        code = kg_parse_name(c, entry->line, "entry", entry->text);
    }
    if (code == KG_OK) {
        code = copy_text(c, entry->text, &c->p->entry);
    }
    if (code == KG_OK && desc != NULL) {
        code = kg_parse_kind(c, desc, "desc", KG_YAML_SCALAR);
    }
    return code == KG_OK ? copy_text(c, desc != NULL ? desc->text : "", &c->p->desc) : code;
}

static enum kg_code read_where(struct kg_parse *c, const struct kg_yaml *list)
{
    enum kg_code code = kg_parse_kind(c, list, "where", KG_YAML_LIST);
    for (const struct kg_yaml *e = code == KG_OK ? list->child : NULL; e != NULL; e = e->next) {
        char key[KG_KEY_BYTES];
        int64_t truth;
        if (c->p->nwhere == KG_MAX_WHERE) {
            return kg_parse_fail(c, e->line, "where", "more than %d constraints", KG_MAX_WHERE);
        }
        snprintf(key, sizeof key, "where[%d]", c->p->nwhere);
        code = kg_parse_kind(c, e, key, KG_YAML_SCALAR);
        if (code == KG_OK) {
            code = kg_parse_int(c, e->line, key, e->text, &c->p->where[c->p->nwhere], &truth);
        }
        if (code != KG_OK) {
            return code;
        }
        if (truth == 0) {
            char shown[KG_EXPR_SHOW];
            return kg_parse_fail(c, e->line, key, "'%s' does not hold at the default dims",
                                 kg_expr_show(e->text, strlen(e->text), shown));
        }
        c->p->nwhere++;
    }
    return code;
}

static enum kg_code read_reduce(struct kg_parse *c, const struct kg_yaml *node)
{
    int64_t k;
    enum kg_code code = kg_parse_kind(c, node, "reduce", KG_YAML_SCALAR);
    if (code == KG_OK) {
        code = kg_parse_int(c, node->line, "reduce", node->text, &c->p->reduce, &k);
    }
    if (code == KG_OK && k < 1) {
        return kg_parse_fail(c, node->line, "reduce", "is %lld at the default dims (at least 1)",
                             (long long)k);
    }
    return code;
}

static enum kg_code read_cost(struct kg_parse *c, const struct kg_yaml *map)
{
    const struct kg_expr **out[] = {&c->p->flops, &c->p->bytes};
    enum kg_code code = kg_parse_kind(c, map, "cost", KG_YAML_MAP);
    if (code == KG_OK) {
        code = kg_parse_keys(c, map, "cost.", COST_KEYS);
    }
    for (int k = 0; k < 2 && code == KG_OK; k++) {
        const struct kg_yaml *node = kg_yaml_get(map, COST_KEYS[k]);
        char key[KG_KEY_BYTES];
        double v = 0;
        if (node == NULL) {
            continue;
        }
        snprintf(key, sizeof key, "cost.%s", COST_KEYS[k]);
        code = kg_parse_kind(c, node, key, KG_YAML_SCALAR);
        if (code == KG_OK) {
            code = kg_parse_real(c, node->line, key, node->text, out[k], &v);
        }
        if (code == KG_OK && !(v > 0)) {
            return kg_parse_fail(c, node->line, key, "is %g at the default dims (more than 0)", v);
        }
    }
    return code;
}

static enum kg_code read_root(struct kg_parse *c, const struct kg_yaml *root)
{
    static const struct {
        const char *key;
        enum kg_code (*read)(struct kg_parse *c, const struct kg_yaml *node);
    } OPTIONAL[] = {{"where", read_where},
                    {"reduce", read_reduce},
                    {"cost", read_cost},
                    {"laws", kg_parse_laws}};
    const struct kg_yaml *dims = NULL, *args = NULL;
    enum kg_code code = kg_parse_kind(c, root, "file", KG_YAML_MAP);
    if (code == KG_OK) {
        code = kg_parse_keys(c, root, "", KEYS);
    }
    if (code == KG_OK) {
        code = read_identity(c, root);
    }
    if (code == KG_OK) {
        code = require(c, root, "dims", KG_YAML_MAP, &dims);
    }
    if (code == KG_OK) {
        code = kg_parse_dims(c, dims);
    }
    if (code == KG_OK) {
        code = require(c, root, "args", KG_YAML_LIST, &args);
    }
    if (code == KG_OK) {
        code = kg_parse_args(c, args);
    }
    for (size_t k = 0; k < sizeof OPTIONAL / sizeof OPTIONAL[0] && code == KG_OK; k++) {
        const struct kg_yaml *node = kg_yaml_get(root, OPTIONAL[k].key);
        code = node != NULL ? OPTIONAL[k].read(c, node) : KG_OK;
    }
    return code == KG_OK ? kg_parse_whole(c, args->line) : code;
}

/* What libyaml and its reader refuse is the problem's defect too, whatever they call it. */
static enum kg_code as_defect(struct kg_err *err, enum kg_code code)
{
    if (code == KG_E_INPUT || code == KG_E_LIMIT) {
        err->code = KG_E_PROBLEM;
        err->blame = KG_BLAME_PROBLEM;
        return KG_E_PROBLEM;
    }
    return code;
}

static enum kg_code read_block(struct kg_parse *c, const struct kg_block *block)
{
    struct kg_arena scratch;
    struct kg_yaml *root = NULL;
    kg_arena_init(&scratch, "problem block", SCRATCH_BYTES);
    enum kg_code code =
        kg_yaml_parse(block->yaml, block->len, c->file, block->first_line, &scratch, &root, c->err);
    code = code == KG_OK ? read_root(c, root) : as_defect(c->err, code);
    kg_arena_deinit(&scratch);
    return code;
}

static enum kg_code parse_into(struct kg_parse *c, const char *text, size_t len, const char *path)
{
    struct kg_problem *p = c->p;
    struct kg_block block = {NULL, 0, 0};
    enum kg_code code = kg_block_check(c, text, len);
    if (code == KG_OK) {
        code = copy_text(c, path, &p->path);
    }
    if (code == KG_OK) {
        code = kg_problem_suite_of(path, p, c->err);
    }
    if (code == KG_OK) {
        p->source = kg_arena_dup(&p->arena, text, len, c->err);
        code = p->source == NULL ? c->err->code : KG_OK;
    }
    if (code == KG_OK) {
        p->source_len = len;
        kg_sha256_hex(text, len, p->sha256);
        code = kg_block_find(c, p->source, &block);
    }
    return code == KG_OK ? read_block(c, &block) : code;
}

enum kg_code kg_problem_parse(const char *text, size_t len, const char *path,
                              struct kg_problem **out, struct kg_err *err)
{
    *out = NULL;
    struct kg_problem *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return kg_fail(err, KG_E_HOST, "%s: this machine is out of memory", path);
    }
    kg_arena_init(&p->arena, "problem", ARENA_BYTES);
    size_t n = strlen(path);
    struct kg_parse c = {.p = p, .err = err};
    c.file = n > SHOWN_PATH ? path + n - SHOWN_PATH : path;
    enum kg_code code = parse_into(&c, text, len, path);
    if (code != KG_OK) {
        kg_problem_destroy(p);
        return code;
    }
    *out = p;
    return KG_OK;
}

enum kg_code kg_problem_load(const char *path, struct kg_problem **out, struct kg_err *err)
{
    struct kg_buf text;
    *out = NULL;
    kg_buf_init(&text, KG_MAX_SOURCE_BYTES);
    enum kg_code code = kg_file_read(path, &text, err);
    if (code == KG_OK) {
        code = kg_problem_parse(text.data, text.len, path, out, err);
    } else {
        code = as_defect(err, code);
    }
    kg_buf_deinit(&text);
    return code;
}

void kg_problem_destroy(struct kg_problem *p)
{
    if (p != NULL) {
        kg_arena_deinit(&p->arena);
        free(p);
    }
}
