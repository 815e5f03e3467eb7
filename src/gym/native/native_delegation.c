/* Notes that a candidate leaves work to the operator library, however it reaches it.
 *
 * Words of the source show a plain call only. So the object's table of imports is read, which a
 * table of function pointers, a pasted name or an alias can't leave. An object that imports the
 * loader's functions may find operators while it runs; then its answer without the library tells,
 * or the library's own count of its calls. An object that imports neither runs beside the library
 * that computes nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/build/elf.h"
#include "gym/native/profile_calls.h"

#define OBJECT_BYTES (64u << 20)
#define RULE         "delegation" /* of the static check */
#define CALLS        2            /* in each process; one that tells is enough */

static void note(struct kg_evaluation *e, const char *message)
{
    if (kg_record_find(e->r, "rule", RULE) == NULL) {
        kg_record_evidence(e->r, "static",
                           json_pack("{s:s, s:s, s:i, s:s}", "rule", RULE, "severity", "note",
                                     "line", 0, "message", message));
    }
}

/* Names of the C library's loader; glibc has some with an underscore in front. */
static bool loads(const struct kg_buf *object)
{
    static const char *const names[] = {"dl", "_dl_", "__libc_dl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (kg_elf_imports(object->data, object->len, names[i], "dl_none_")) {
            return true;
        }
    }
    return false;
}

enum kg_code kg_native_read_imports(struct kg_evaluation *e, struct kg_err *err)
{
    struct kg_native_run *run = kg_native_run_of(e);
    struct kg_buf bytes;
    kg_buf_init(&bytes, OBJECT_BYTES);
    enum kg_code code = kg_file_read(run->object, &bytes, err);
    if (code == KG_E_LIMIT) { /* too large to be read: it may import anything */
        kg_buf_deinit(&bytes);
        *err = (struct kg_err)KG_ERR_INIT;
        run->loads_code = true;
        return KG_OK;
    }
    if (code == KG_OK) { /* kgops_temp computes nothing */
        run->calls_library = kg_elf_imports(bytes.data, bytes.len, "kgops_", "kgops_temp_");
        run->loads_code = !run->calls_library && loads(&bytes);
        run->alone = !run->calls_library && !run->loads_code;
    }
    kg_buf_deinit(&bytes);
    if (code == KG_OK && run->calls_library) {
        note(e, "the object imports operators of the library");
    }
    return code;
}

static bool goes_on(enum kg_profile_step step)
{
    return step == KG_PROFILE_ON || step == KG_PROFILE_VOID;
}

/* One set of inputs: the references answer where that is compared, then the candidate. */
static enum kg_profile_step ask(struct kg_profiling *s, enum kg_profile_side side, uint64_t number,
                                struct kg_err *err)
{
    static const enum kg_side sides[] = {KG_SIDE_FLOAT, KG_SIDE_ORACLE};
    const struct kg_case c = {.shape = s->shape,
                              .law = KG_LAW_OWN,
                              .key = kg_key_derive(s->e->key, "delegation", number)};
    double ns;
    enum kg_profile_step step = KG_PROFILE_ON;
    for (int i = 0; i < 2 && side == KG_PROFILE_STUB && goes_on(step); i++) {
        step = kg_profile_ask_reference(s, &c, sides[i], &ns, err);
    }
    return goes_on(step) ? kg_profile_ask(s, &c, side, KG_COMPARE_ORACLE, &ns, err) : step;
}

/* Calls in a process beside one of the library's other builds. */
static enum kg_profile_step beside(struct kg_profiling *s, enum kg_profile_side side,
                                   struct kg_err *err)
{
    enum kg_profile_step step = kg_profile_start(s, side, err);
    for (uint64_t i = 0; i < CALLS && !s->calls->wrong_without && goes_on(step); i++) {
        step = ask(s, side, i, err);
    }
    if (side == KG_PROFILE_COUNTED && goes_on(step)) {
        s->calls->operators = s->runner[side].wire->library_calls;
    }
    kg_profile_stop(s, side);
    return step;
}

static enum kg_profile_step probe(struct kg_profiling *s, struct kg_err *err)
{
    if (kg_native_check_built(kg_native_run_of(s->e)->object, err) != KG_OK ||
        kg_native_references(s->e->w, err) != KG_OK) {
        return KG_PROFILE_ERROR;
    }
    kg_shape_default(kg_native_of(s->e->w)->problem, &s->shape);
    s->longest_ns = (int64_t)(s->e->w->config.deadline_run * 1e9); /* slow is not dead */
    enum kg_profile_step step = beside(s, KG_PROFILE_STUB, err);
    bool told = s->calls->wrong_without || !goes_on(step);
    return told ? step : beside(s, KG_PROFILE_COUNTED, err);
}

enum kg_code kg_native_note_loaded(struct kg_evaluation *e, struct kg_err *err)
{
    if (!kg_native_run_of(e)->loads_code) {
        return KG_OK;
    }
    struct kg_coverage_calls calls = {.k_ns = 0};
    struct kg_profiling *s = calloc(1, sizeof *s);
    if (!s) {
        return kg_fail(err, KG_E_LIMIT, "no memory for a process");
    }
    int64_t since = kg_clock_ns();
    s->e = e;
    s->calls = &calls;
    enum kg_profile_step step = probe(s, err);
    free(s);
    kg_evaluation_excuse(e, since);
    if (step == KG_PROFILE_ERROR) {
        return err->code;
    }
    if (calls.wrong_without || calls.end == KG_COVERAGE_ENDED || calls.operators > 0) {
        note(e, "it loads code, and reaches operators of the library with it");
    }
    return KG_OK;
}
