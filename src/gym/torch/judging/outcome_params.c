/* Says which tensors of the reference's state a module has no place for. */
#include <string.h>

#include "gym/torch/judging/outcome.h"

#define PATH_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

#define NAMED 4 /* tensors of each side in the message */

static const char *text_of(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

/* An attribute path: letters that a source has, and no text of a candidate's making. */
static bool is_path(const char *s)
{
    size_t n = s ? strlen(s) : 0;
    return n > 0 && n < 64 && strspn(s, PATH_LETTERS) == n;
}

/* " `fc.weight` [24,32]", or " and 3 more". n: of these so far. */
static void add_tensor(struct kg_buf *b, size_t n, const char *name, const char *shape)
{
    if (n < NAMED) {
        kg_buf_addf(b, "%s `%s` %s", n ? "," : "", name, shape);
    }
}

static void add_rest(struct kg_buf *b, size_t n)
{
    if (n == 0) {
        kg_buf_adds(b, " none");
    } else if (n > NAMED) {
        kg_buf_addf(b, " and %zu more", n - NAMED);
    }
}

static bool has(const json_t *own, const char *name)
{
    for (size_t i = 0; i < json_array_size(own); i++) {
        if (strcmp(text_of(json_array_get(own, i), "name"), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Of the reference's tensors those whose names the module lacks; all, where it lacks none. */
static void add_missing(struct kg_buf *b, const struct kg_task_desc *d, const json_t *own)
{
    char shape[120];
    size_t n = 0;
    for (int all = 0; all < 2 && n == 0; all++) {
        for (size_t i = 0; i < d->nstate; i++) {
            const struct kg_task_state *s = &d->state[i];
            if (s->need == KG_TN_NEEDED && (all || !has(own, s->leaf.name))) {
                kg_task_leaf_text(&s->leaf, shape, sizeof shape);
                add_tensor(b, n++, s->leaf.name, shape);
            }
        }
    }
    add_rest(b, n);
}

/* A claim: anything but a short list of integers has no place in a message. */
static bool add_shape(struct kg_buf *b, const json_t *shape)
{
    bool good = json_is_array(shape) && json_array_size(shape) <= KG_TWIRE_RANK;
    for (size_t i = 0; good && i < json_array_size(shape); i++) {
        good = json_is_integer(json_array_get(shape, i));
    }
    for (size_t i = 0; good && i < json_array_size(shape); i++) {
        kg_buf_addf(b, "%s%lld", i ? "," : "",
                    (long long)json_integer_value(json_array_get(shape, i)));
    }
    return good;
}

static void add_own(struct kg_buf *b, const json_t *own)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(own); i++) {
        const json_t *t = json_array_get(own, i);
        const char *name = text_of(t, "name");
        struct kg_buf shape;
        kg_buf_init(&shape, 200);
        kg_buf_addc(&shape, '[');
        if (is_path(name) && add_shape(&shape, json_object_get(t, "shape"))) {
            kg_buf_addc(&shape, ']');
            add_tensor(b, n++, name, kg_buf_ok(&shape) ? shape.data : "");
        }
        kg_buf_deinit(&shape);
    }
    add_rest(b, n);
}

/* Its names are from when it was constructed, before it was given anything; where it may have left
 * itself something in an earlier process they are not told. */
void kg_toutcome_params(struct kg_evaluation *e)
{
    const struct kg_torch_run *run = kg_torch_run_of(e);
    struct kg_buf b;
    kg_buf_init(&b, 4096);
    kg_buf_adds(&b, "the reference's state does not go into the module: it needs");
    add_missing(&b, &run->instance->desc, run->own_state);
    if (run->own_state && !run->builds_kept) {
        kg_buf_adds(&b, "; the module has");
        add_own(&b, run->own_state);
    }
    kg_record_verdict(e->r, KG_V_WRONG, "params",
                      "%s. Use the same names, or the same order and shapes, or define "
                      "`load_reference_state(self, state)`",
                      b.data);
    kg_buf_deinit(&b);
}
