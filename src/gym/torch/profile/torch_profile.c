/* Launch records: read, summed up, judged. */
#include "gym/torch/profile/torch_profile.h"

#include <stdlib.h>
#include <string.h>

#include "gym/torch/problem/module.h"

static const char *const owners[KG_TO_COUNT] = {"unknown", "own", "library", "compiler"};

const char *kg_towner_name(enum kg_towner o)
{
    return owners[o];
}

/* --- claims --- */

static bool number(const json_t *o, const char *key, int64_t most, int64_t *out)
{
    const json_t *v = json_object_get(o, key);
    *out = json_integer_value(v);
    return json_is_integer(v) && *out >= 0 && *out <= most;
}

static bool owner_of(const json_t *o, enum kg_towner *out)
{
    const char *s = json_string_value(json_object_get(o, "class"));
    for (int i = 0; s && i < KG_TO_COUNT; i++) {
        if (strcmp(s, owners[i]) == 0) {
            *out = (enum kg_towner)i;
            return true;
        }
    }
    return false;
}

static bool read_kernel(const json_t *o, int64_t window_ns, struct kg_tkernel *k)
{
    const char *name = json_string_value(json_object_get(o, "name"));
    *k = (struct kg_tkernel){.calls = 0};
    if (!name || strlen(name) >= sizeof k->name || !owner_of(o, &k->owner) ||
        !number(o, "calls", INT32_MAX, &k->calls) || k->calls == 0 ||
        !number(o, "ns", window_ns, &k->ns)) {
        return false;
    }
    for (size_t i = 0; name[i]; i++) {
        k->name[i] = name[i] >= ' ' && name[i] < 127 ? name[i] : '?';
    }
    return true;
}

static struct kg_tkernel *row_of(struct kg_tprofile *p, const struct kg_tkernel *like)
{
    for (size_t i = 0; i < p->n; i++) {
        if (p->kernel[i].owner == like->owner && strcmp(p->kernel[i].name, like->name) == 0) {
            return &p->kernel[i];
        }
    }
    if (p->n == KG_TPROFILE_ROWS) {
        return NULL;
    }
    struct kg_tkernel *k = &p->kernel[p->n++];
    *k = *like;
    k->calls = k->ns = 0;
    return k;
}

static const char *add_kernels(struct kg_tprofile *p, const json_t *rows, int64_t window_ns,
                               int64_t *busy)
{
    size_t i;
    json_t *o;
    json_array_foreach(rows, i, o)
    {
        struct kg_tkernel k, *row;
        if (!read_kernel(o, window_ns, &k)) {
            return "a record is malformed";
        }
        if (!(row = row_of(p, &k))) {
            return "more kernels than are kept";
        }
        row->calls += k.calls;
        row->ns += k.ns;
        *busy += k.ns;
        if (*busy > window_ns) {
            return "the records hold more time than the call took";
        }
    }
    return NULL;
}

const char *kg_tprofile_add(struct kg_tprofile *p, const json_t *reply, int64_t window_ns)
{
    int64_t span, dropped, missing, suppressed, graphs, copies, fills, busy = 0;
    const json_t *rows = json_object_get(reply, "kernels");
    if (!json_is_array(rows) || json_array_size(rows) > KG_TPROFILE_ROWS ||
        !number(reply, "span_ns", INT64_MAX, &span) ||
        !number(reply, "dropped", INT64_MAX, &dropped) ||
        !number(reply, "missing", INT64_MAX, &missing) ||
        !number(reply, "suppressed", INT32_MAX, &suppressed) ||
        !number(reply, "graphs", INT32_MAX, &graphs) ||
        !number(reply, "memcpy_ns", INT64_MAX, &copies) ||
        !number(reply, "memset_ns", INT64_MAX, &fills)) {
        return "a record is malformed";
    }
    p->suppressed += suppressed;
    p->graphs += graphs;
    if (dropped > 0 || missing > 0) {
        return "records are missing";
    }
    const char *why = add_kernels(p, rows, window_ns, &busy);
    if (why) {
        return why;
    }
    if (span > window_ns || copies > window_ns || fills > window_ns ||
        busy + copies + fills > window_ns) {
        return "the records hold more time than the call took";
    }
    if (busy + copies + fills > span) {
        return "the records hold more time than they span";
    }
    p->memcpy_ns += copies;
    p->memset_ns += fills;
    p->window_ns += window_ns;
    return NULL;
}

/* --- sums --- */

static int by_time(const void *a, const void *b)
{
    const struct kg_tkernel *x = a, *y = b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : strcmp(x->name, y->name);
}

void kg_tprofile_sort(struct kg_tprofile *p)
{
    qsort(p->kernel, p->n, sizeof p->kernel[0], by_time);
}

static int64_t busy_ns(const struct kg_tprofile *p)
{
    int64_t busy = p->memcpy_ns + p->memset_ns;
    for (size_t i = 0; i < p->n; i++) {
        busy += p->kernel[i].ns;
    }
    return busy;
}

struct kg_tshares kg_tprofile_shares(const struct kg_tprofile *p)
{
    struct kg_tshares s = {.busy_ns = busy_ns(p)};
    if (s.busy_ns == 0) {
        return s;
    }
    double all = (double)s.busy_ns;
    for (size_t i = 0; i < p->n; i++) {
        const struct kg_tkernel *k = &p->kernel[i];
        double share = (double)k->ns / all;
        s.own += k->owner == KG_TO_OWN ? share : 0;
        s.coverage += k->owner == KG_TO_OWN && !k->dead && !k->idle ? share : 0;
        s.delegated += k->owner == KG_TO_LIBRARY || k->owner == KG_TO_COMPILER ? share : 0;
        s.compiler += k->owner == KG_TO_COMPILER ? share : 0;
    }
    s.memory = (double)(p->memcpy_ns + p->memset_ns) / all;
    return s;
}

double kg_tprofile_share(const struct kg_tprofile *p, const struct kg_tkernel *k)
{
    int64_t busy = busy_ns(p);
    return busy > 0 ? (double)k->ns / (double)busy : 0;
}

/* --- what follows --- */

const char *kg_tprofile_reason(const struct kg_tprofile_case *c)
{
    if (c->left) {
        return "phase";
    }
    if (c->launched_own && c->right_without) {
        return "decoy";
    }
    if (!c->forbidden || !(c->delegated > c->allowed)) {
        return NULL;
    }
    return c->defines && !c->launched_own ? "fallback" : "delegation";
}

void kg_tprofile_plain_name(const char *name, char *out, size_t cap)
{
    size_t len = 0, i = 2;
    if (strncmp(name, "_Z", 2) == 0) {
        while (name[i] >= '0' && name[i] <= '9' && len < 1000) {
            len = 10 * len + (size_t)(name[i++] - '0');
        }
    }
    bool plain = len > 0 && len <= strlen(name + i);
    snprintf(out, cap, "%.*s", plain ? (int)len : (int)strlen(name), plain ? name + i : name);
}

bool kg_tprofile_defines(const char *code, size_t len)
{
    static const char *const words[] = {"__global__", "cpp_extension", "_compile_kernel"};
    bool found = kg_module_imports(code, len, "triton");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        found = found || memmem(code, len, words[i], strlen(words[i])) != NULL;
    }
    return found;
}

bool kg_tprofile_ran(const json_t *reply, const json_t *names)
{
    size_t i, k;
    json_t *o, *name;
    json_array_foreach(json_object_get(reply, "kernels"), i, o)
    {
        enum kg_towner owner;
        json_array_foreach(names, k, name)
        {
            bool any = strcmp(json_string_value(name), "*") == 0;
            bool same = any || json_equal(name, json_object_get(o, "name"));
            if (same && owner_of(o, &owner) && owner == KG_TO_OWN) {
                return true;
            }
        }
    }
    return false;
}

static bool search(struct kg_tkernel **own, size_t n, bool singly,
                   enum kg_tshown (*ask)(void *user, struct kg_tkernel *const *group, size_t size),
                   void *user)
{
    if (n == 0) {
        return true;
    }
    enum kg_tshown shown = singly && n > 1 ? KG_TSHOWN_LIVE : ask(user, own, n);
    if (shown == KG_TSHOWN_NONE) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        own[i]->dead = own[i]->dead || shown == KG_TSHOWN_DEAD;
        own[i]->idle = own[i]->idle || shown == KG_TSHOWN_IDLE;
    }
    if (shown != KG_TSHOWN_LIVE || n == 1) {
        return true;
    }
    size_t half = singly ? 1 : n / 2;
    return search(own, half, singly, ask, user) && search(own + half, n - half, singly, ask, user);
}

bool kg_tprofile_dead(struct kg_tkernel **own, size_t n,
                      enum kg_tshown (*ask)(void *user, struct kg_tkernel *const *group,
                                            size_t size),
                      void *user)
{
    return search(own, n, n <= KG_TPROFILE_SINGLY, ask, user);
}
