/* Which files hold PyTorch problems: modules by their tokens or names, rows by their first line. */
#include "gym/torch/problem/files.h"

#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "gym/torch/problem/module.h"
#include "gym/torch/problem/rows.h"
#include "gym/torch/problem/suite.h"

const char *const kg_tfiles_endings[] = {".py", ".jsonl", NULL};

static bool is_of_rows(const char *path)
{
    size_t n = strlen(path), m = strlen(".jsonl");
    return n > m && strcmp(path + n - m, ".jsonl") == 0;
}

/* "12_Name.py", as KernelBench names its problems. */
static bool is_named_as_problem(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strspn(base, "0123456789");
    return n > 0 && base[n] == '_';
}

/* A package's __init__.py, say, is none of ours. */
static bool is_module(const char *path)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    kg_buf_init(&b, KG_TPROBLEM_MAX_BYTES);
    bool unread = kg_file_read(path, &b, &ignored) != KG_OK;
    bool is = unread || kg_module_is_problem(b.data, b.len);
    kg_buf_deinit(&b);
    return is || is_named_as_problem(path);
}

/* A suite may hold other JSONL files: replies, records. */
static bool is_rows(const char *path)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    json_t *row = NULL;
    kg_buf_init(&b, KG_TROW_MAX_BYTES);
    bool is = kg_trow_read(path, 1, path, &b, &ignored) == KG_OK &&
              kg_json_parse(b.data, b.len, path, &row, &ignored) == KG_OK &&
              json_object_get(row, "python_code") != NULL;
    json_decref(row);
    kg_buf_deinit(&b);
    return is;
}

bool kg_tfiles_holds(const char *path)
{
    return is_of_rows(path) ? is_rows(path) : is_module(path);
}

enum kg_code kg_tfiles_rows(const char *path, long *out, struct kg_err *err)
{
    *out = -1;
    return is_of_rows(path) ? kg_trows_count(path, out, err) : KG_OK;
}

bool kg_tfiles_has_row(const char *path, long line)
{
    struct kg_buf b;
    struct kg_err ignored = KG_ERR_INIT;
    kg_buf_init(&b, KG_TROW_MAX_BYTES);
    bool blank =
        kg_trow_read(path, line, path, &b, &ignored) == KG_OK && strspn(b.data, " \t\r") == b.len;
    kg_buf_deinit(&b);
    return !blank;
}
