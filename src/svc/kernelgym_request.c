/* From the members of a request to a job: options of the gym, what the answer must repeat, and
 * whether there is anything to judge. */
#include "svc/kernelgym_request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "svc/kernelgym_members.h"

enum {
    LEAST_WARMUPS = 10,   /* of the gym, whatever a request says (docs/timing.md) */
    PAIRS_OF_A_BLOCK = 4, /* timing.block_pairs */
    LEAST_BLOCKS = 2,     /* timing.min_blocks */
    MOST_BLOCKS = 128,    /* timing.blocks */
    COMPILE_S = 300,      /* torch.deadline_compile */
    ECHO_MOST = 200,      /* bytes of a text that is only repeated */
};

enum kg_code kg_kernelgym_check(const struct kg_kernelgym_settings *s, struct kg_err *err)
{
    if (s->preset && strcmp(s->preset, "kernelbench") == 0) {
        return kg_fail(err, KG_E_USAGE,
                       "preset `kernelbench` earns no reward, so trainers are not served with it: "
                       "choose another preset");
    }
    if (s->precision && strcmp(s->precision, "fp32") != 0 && strcmp(s->precision, "tf32") != 0) {
        return kg_fail(err, KG_E_USAGE, "kernelgym.precision `%.40s`: there are fp32 and tf32",
                       s->precision);
    }
    return KG_OK;
}

/* --- is there anything to judge? --- */

static void fails(struct kg_kernelgym_request *r, const char *code, const char *fault,
                  const char *fmt, ...) KG_PRINTF(4, 5);

static void fails(struct kg_kernelgym_request *r, const char *code, const char *fault,
                  const char *fmt, ...)
{
    va_list args;
    if (r->failure_code) {
        return; /* the first one is told */
    }
    r->failure_code = code;
    r->failure_fault = fault;
    va_start(args, fmt);
    vsnprintf(r->failure, sizeof r->failure, fmt, args);
    va_end(args);
}

static bool in_word(unsigned char c)
{
    return isalnum(c) || c == '_' || c >= 0x80;
}

static bool has_word(const struct kg_kernelgym_text *t, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = t->bytes, *end = t->bytes + t->len; at + n <= end; at++) {
        at = memmem(at, (size_t)(end - at), word, n);
        if (!at) {
            return false;
        }
        bool begins = at == t->bytes || !in_word((unsigned char)at[-1]);
        if (begins && (at + n == end || !in_word((unsigned char)at[n]))) {
            return true;
        }
    }
    return false;
}

/* A module that never says the name may still bind it. The evaluation decides then. */
static bool may_bind(const struct kg_kernelgym_text *t, const char *name)
{
    static const char *const ways[] = {"import *", "exec", "globals", "setattr",
                                       "vars",     "eval", "locals",  "__dict__"};
    bool may = has_word(t, name);
    for (size_t i = 0; !may && i < sizeof ways / sizeof *ways; i++) {
        may = memmem(t->bytes, t->len, ways[i], strlen(ways[i])) != NULL;
    }
    return may;
}

static bool is_class_name(const char *s, size_t n)
{
    bool good = n > 0 && n <= 100 && !isdigit((unsigned char)s[0]);
    for (size_t i = 0; good && i < n; i++) {
        good = isalnum((unsigned char)s[i]) || s[i] == '_';
    }
    return good;
}

static void look_for_classes(struct kg_kernelgym_request *r, size_t entry_len)
{
    char candidate[110];
    if (!is_class_name(r->entry, entry_len)) {
        fails(r, "VALIDATION_ERROR", "reference",
              "Reference code validation failed: entry_point must be the name of a class: at most "
              "100 ASCII letters, digits and _");
        return;
    }
    snprintf(candidate, sizeof candidate, "%sNew", r->entry);
    if (!may_bind(&r->reference, r->entry)) {
        fails(r, "VALIDATION_ERROR", "reference",
              "Reference code validation failed: Code must contain a '%s' class", r->entry);
    }
    if (!may_bind(&r->kernel, candidate)) {
        fails(r, "VALIDATION_ERROR", "candidate",
              "Kernel code validation failed: Code must contain a '%s' class", candidate);
    }
}

/* As Python's int() takes it: a number loses its fraction. */
static bool gpus_of(const json_t *v, double *out)
{
    char *end = NULL;
    const char *s = json_string_value(v);
    *out = json_is_true(v) ? 1 : json_is_number(v) ? json_number_value(v) : 0;
    if (s) {
        *out = (double)strtoll(s, &end, 10);
        end += strspn(end, " \t\n\r");
    }
    return s ? *s && *end == '\0' && strlen(s) == json_string_length(v)
             : json_is_number(v) || json_is_boolean(v);
}

static void look_at_resources(struct kg_kernelgym_request *r, int most)
{
    const json_t *v = json_object_get(json_object_get(r->body, "resources"), "gpus");
    double gpus;
    if (!v || json_is_null(v)) {
        return;
    }
    if (!gpus_of(v, &gpus)) {
        fails(r, "VALIDATION_ERROR", "system", "resources.gpus must be an integer");
    } else if (gpus < 1) {
        fails(r, "VALIDATION_ERROR", "system", "resources.gpus must be >= 1");
    } else if (gpus >= most + 1.0) {
        fails(r, "RESOURCE_ERROR", "system", "resources.gpus: an evaluation has at most %d here",
              most);
    }
}

/* --- options --- */

static const json_t *member(const struct kg_kernelgym_request *r, const char *name)
{
    return json_object_get(r->body, name);
}

static long number(const struct kg_kernelgym_request *r, const char *name)
{
    return (long)json_integer_value(member(r, name));
}

/* The first of two flags that says something, else the fallback. */
static bool flag(const struct kg_kernelgym_request *r, const char *name, const char *alias,
                 bool fallback)
{
    const json_t *v = member(r, name);
    v = json_is_boolean(v) ? v : alias ? member(r, alias) : NULL;
    return json_is_boolean(v) ? json_is_true(v) : fallback;
}

static void option(json_t *list, const char *fmt, ...) KG_PRINTF(2, 3);

static void option(json_t *list, const char *fmt, ...)
{
    char text[80];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_array_append_new(list, json_string(text));
}

static const char *yes_or_no(bool x)
{
    return x ? "yes" : "no";
}

static void make_options(struct kg_kernelgym_request *r, const struct kg_kernelgym_settings *s)
{
    const char *backend = json_string_value(member(r, "backend"));
    bool decoys =
        flag(r, "run_triton_detection", "enable_triton_detection", strcmp(backend, "triton") == 0);
    bool profile = flag(r, "enable_profiling", NULL, !s->no_profile) || decoys;
    long pairs = number(r, "num_perf_trials"), warmups = number(r, "num_warmup");
    long blocks = (pairs + PAIRS_OF_A_BLOCK - 1) / PAIRS_OF_A_BLOCK;
    blocks = blocks < LEAST_BLOCKS ? LEAST_BLOCKS : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
    r->budget_s = number(r, "timeout");
    r->options = json_array();
    option(r->options, "precision=%s", s->precision ? s->precision : "tf32");
    option(r->options, "stage.full=%s", yes_or_no(flag(r, "run_correctness", NULL, true)));
    option(r->options, "stage.timing=%s",
           yes_or_no(flag(r, "run_performance", "measure_performance", true)));
    option(r->options, "stage.profile=%s", yes_or_no(profile));
    option(r->options, "timing.warmups=%ld", warmups < LEAST_WARMUPS ? LEAST_WARMUPS : warmups);
    option(r->options, "timing.blocks=%ld", blocks);
    option(r->options, "torch.deadline_eval=%ld", (long)r->budget_s);
    option(r->options, "torch.deadline_compile=%ld",
           (long)(r->budget_s < COMPILE_S ? r->budget_s : COMPILE_S));
}

/* --- what is repeated --- */

/* A text that only comes back, cut at a character; null where there is none. */
static json_t *cut(const json_t *v)
{
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    if (!s) {
        return json_null();
    }
    n = n > ECHO_MOST ? ECHO_MOST : n;
    while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) {
        n--;
    }
    return kg_json_text(s, n);
}

static void make_echo(struct kg_kernelgym_request *r, const struct kg_kernelgym_settings *s)
{
    static const char *const same[] = {"task_id",         "backend",    "num_correct_trials",
                                       "num_perf_trials", "num_warmup", "timeout"};
    static const char *const texts[] = {"uuid", "reference_backend", "device_preference"};
    json_t *e = r->echo = json_object();
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        json_object_set(e, same[i], json_object_get(r->body, same[i]));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_object_set_new(e, texts[i], cut(member(r, texts[i])));
    }
    bool cached = json_is_true(member(r, "use_reference_cache"));
    const char *kind = json_is_true(member(r, "is_valid")) ? "validation" : "regular";
    json_object_set_new(e, "cache_type", cached ? json_string(kind) : json_null());
    json_object_set_new(e, "verbose", json_boolean(flag(r, "verbose_errors", NULL, true)));
    json_object_set_new(e, "profiling",
                        json_boolean(flag(r, "enable_profiling", NULL, !s->no_profile)));
    json_object_set_new(e, "correctness", json_boolean(flag(r, "run_correctness", NULL, true)));
    json_object_set_new(e, "content_key", json_string(r->content_key));
}

static void make_key(struct kg_kernelgym_request *r)
{
    static const char *const parts[] = {"backend", "num_correct_trials", "reference_backend"};
    struct kg_sha256 h;
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(r->options, &b);
    kg_sha256_begin(&h);
    kg_sha256_part(&h, r->reference.bytes, r->reference.len);
    kg_sha256_part(&h, r->kernel.bytes, r->kernel.len);
    kg_sha256_part(&h, r->entry, strlen(r->entry));
    kg_sha256_part(&h, b.data, b.len);
    if (r->preset) {
        kg_sha256_part(&h, r->preset, strlen(r->preset));
    }
    if (r->unserved) { /* the same with other resources is another task */
        kg_sha256_part(&h, r->failure_code, strlen(r->failure_code));
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char text[24];
        const json_t *v = member(r, parts[i]);
        snprintf(text, sizeof text, "%lld", (long long)json_integer_value(v));
        kg_sha256_part(&h, json_is_string(v) ? json_string_value(v) : text,
                       json_is_string(v) ? json_string_length(v) : strlen(text));
    }
    kg_sha256_end(&h, r->content_key);
    kg_buf_deinit(&b);
}

/* --- the whole --- */

/* The values that KernelGYM knows and this service has no judge for are refused, not ignored. */
static bool is_served(const json_t *task, const char *where, struct kg_kernelgym_refusal *no)
{
    static const struct {
        const char *name, *only;
    } fixed[] = {{"toolkit", "kernelbench"}, {"backend_adapter", "kernelbench"}};
    const char *workflow = json_string_value(json_object_get(task, "workflow"));
    workflow = workflow ? workflow : "";
    size_t blanks = strspn(workflow, " \t\n\r\f\v"), n = strcspn(workflow + blanks, " \t\n\r\f\v");
    bool ends = workflow[blanks + n + strspn(workflow + blanks + n, " \t\n\r\f\v")] == '\0';
    if (n > 0 && !(ends && n == strlen("kernelbench") &&
                   strncasecmp(workflow + blanks, "kernelbench", n) == 0)) {
        return kg_kernelgym_refuse(no, true, "%sworkflow: `kernelbench` is the one that is served",
                                   where);
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const char *given = json_string_value(json_object_get(task, fixed[i].name));
        if (strcmp(given, fixed[i].only) != 0) {
            return kg_kernelgym_refuse(no, true, "%s%s: `%s` is the one that is served", where,
                                       fixed[i].name, fixed[i].only);
        }
    }
    if (!json_is_string(json_object_get(task, "reference_code"))) {
        return kg_kernelgym_refuse(no, false, "%sreference_code: is missing", where);
    }
    return true;
}

static struct kg_kernelgym_text text_of(const json_t *v)
{
    return (struct kg_kernelgym_text){json_string_value(v), json_string_length(v)};
}

bool kg_kernelgym_request_take(json_t *task, const char *where,
                               const struct kg_kernelgym_settings *s,
                               struct kg_kernelgym_request *out, struct kg_kernelgym_refusal *no)
{
    *out = (struct kg_kernelgym_request){.body = task};
    if (!kg_kernelgym_members(task, where, no) || !is_served(task, where, no)) {
        kg_kernelgym_request_deinit(out);
        return false;
    }
    struct kg_kernelgym_text id = text_of(member(out, "task_id"));
    if (strlen(id.bytes) != id.len) {
        kg_kernelgym_refuse(no, false, "%stask_id: must not hold a NUL", where);
        kg_kernelgym_request_deinit(out);
        return false;
    }
    const char *priority = json_string_value(member(out, "priority"));
    out->task_id = id.bytes;
    out->reference = text_of(member(out, "reference_code"));
    out->kernel = text_of(member(out, "kernel_code"));
    out->entry = json_string_value(member(out, "entry_point"));
    out->priority = *priority == 'l'   ? KG_KERNELGYM_LOW
                    : *priority == 'n' ? KG_KERNELGYM_NORMAL
                                       : KG_KERNELGYM_HIGH;
    out->force_refresh = json_is_true(member(out, "force_refresh"));
    out->preset = s->preset;
    out->polls = member(out, "detect_decoy_kernel") != NULL;
    look_at_resources(out, s->most_gpus > 0 ? s->most_gpus : 1);
    out->unserved = out->failure_code != NULL;
    look_for_classes(out, json_string_length(member(out, "entry_point")));
    make_options(out, s);
    make_key(out);
    make_echo(out, s);
    return true;
}

void kg_kernelgym_request_deinit(struct kg_kernelgym_request *r)
{
    json_decref(r->body);
    json_decref(r->options);
    json_decref(r->echo);
    *r = (struct kg_kernelgym_request){0};
}
