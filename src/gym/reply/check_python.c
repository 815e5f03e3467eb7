/* The static check of Python candidates: labels only. What a name means is Python's to decide at
 * run time, so nothing here rejects. */
#include <stdio.h>
#include <string.h>

#include "gym/reply/check.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct kg_check_rule rules[] = {
    {"entry-missing", KG_SEV_WARN, KG_AT_FILE, NULL,
     "the entry is not defined as a class or function at module level", NULL},
    {"patches-torch", KG_SEV_WARN, KG_AT_FILE, NULL, "assigns to a part of torch", NULL},
    {"compiler", KG_SEV_WARN, KG_AT_NAME, NULL, "lets a framework's compiler write the kernel",
     WORDS("compile", "_inductor", "torch_compile")},
    {"frames", KG_SEV_WARN, KG_AT_NAME, NULL, "looks at frames or objects that are not its own",
     WORDS("_getframe", "currentframe", "get_objects", "get_referrers", "inspect")},
    {"raw-memory", KG_SEV_WARN, KG_AT_NAME, NULL, "works on memory by address",
     WORDS("ctypes", "cffi", "memoryview", "from_address", "mmap")},
    {"process", KG_SEV_WARN, KG_AT_NAME, NULL, "starts a process, or ends its own",
     WORDS("subprocess", "multiprocessing", "_exit", "fork", "execv", "posix_spawn", "Popen")},
    {"thread", KG_SEV_NOTE, KG_AT_NAME, NULL, "starts a thread",
     WORDS("threading", "Thread", "ThreadPoolExecutor", "_thread")},
    {"except", KG_SEV_NOTE, KG_AT_NAME, NULL,
     "catches exceptions: something else may answer than what is meant to", WORDS("except")},
    {"stream", KG_SEV_NOTE, KG_AT_NAME, NULL, "uses streams of its own",
     WORDS("Stream", "ExternalStream", "wait_stream", "set_stream")},
    {"graph", KG_SEV_NOTE, KG_AT_NAME, NULL, "records and replays a graph",
     WORDS("CUDAGraph", "make_graphed_callables")},
    {"clock-read", KG_SEV_NOTE, KG_AT_NAME, NULL, "reads a clock",
     WORDS("perf_counter", "perf_counter_ns", "time_ns", "monotonic", "elapsed_time")},
    {"address", KG_SEV_NOTE, KG_AT_NAME, NULL, "asks for the address of a tensor",
     WORDS("data_ptr", "untyped_storage")},
    {"dynamic-code", KG_SEV_NOTE, KG_AT_NAME, NULL, "makes code from text",
     WORDS("exec", "eval", "__import__", "import_module")},
};
#define NRULES (sizeof rules / sizeof *rules)

/* One scan over the tokens. */
struct scan {
    struct kg_lexer lx;
    struct kg_finding *out;
    size_t n, cap;
    bool seen[NRULES]; /* each rule once, at its first place */
    struct kg_tok before;
    bool begins, in_torch; /* of a statement; `torch.a.b` from its beginning so far */
};

static void find(struct scan *s, size_t rule, int line)
{
    if (s->seen[rule] || s->n == s->cap) {
        return;
    }
    s->seen[rule] = true;
    struct kg_finding *f = &s->out[s->n++];
    f->rule = rules[rule].id;
    f->severity = rules[rule].severity;
    f->line = line;
    snprintf(f->message, sizeof f->message, "%s", rules[rule].message);
}

static bool follows(const struct scan *s, const char *what)
{
    return s->before.kind != KG_TOK_END && kg_tok_is(&s->lx, s->before, what);
}

/* `re.compile` is no compiler of kernels; `torch.compile` is. */
static bool means(const struct scan *s, const struct kg_check_rule *r, bool of_torch,
                  const char *word)
{
    if (strcmp(r->id, "compiler") == 0 && strcmp(word, "compile") == 0) {
        return of_torch;
    }
    if (strcmp(r->id, "dynamic-code") == 0) {
        return !follows(s, "."); /* `model.eval()` */
    }
    return true;
}

static void look(struct scan *s, struct kg_tok t, bool of_torch)
{
    for (size_t r = 0; r < NRULES; r++) {
        for (const char *const *w = rules[r].words; w && *w; w++) {
            if (kg_tok_is(&s->lx, t, *w) && means(s, &rules[r], of_torch, *w)) {
                find(s, r, t.line);
            }
        }
    }
}

static bool ends_statement(const struct scan *s, struct kg_tok t)
{
    return t.kind == KG_TOK_NEWLINE || t.kind == KG_TOK_INDENT || t.kind == KG_TOK_DEDENT ||
           kg_tok_is(&s->lx, t, ";");
}

static void step(struct scan *s, struct kg_tok t)
{
    if (ends_statement(s, t)) {
        s->begins = true;
        s->in_torch = false;
        s->before = (struct kg_tok){.kind = KG_TOK_END};
        return;
    }
    if (s->in_torch && kg_tok_is(&s->lx, t, "=")) {
        find(s, 1, t.line);
    }
    bool name = t.kind == KG_TOK_NAME;
    bool chain = s->in_torch && (follows(s, ".") ? name : kg_tok_is(&s->lx, t, "."));
    s->in_torch = chain || (s->begins && name && kg_tok_is(&s->lx, t, "torch"));
    s->begins = false;
    s->before = t;
}

size_t kg_check_python(const char *code, size_t len, const char *entry, struct kg_finding *out,
                       size_t cap)
{
    struct scan s = {.out = out, .cap = cap, .begins = true};
    struct kg_tok two = {.kind = KG_TOK_END}; /* the token before the last one */
    if (kg_lex_defines(KG_LANG_PYTHON, code, len, entry) == KG_DEF_NONE) {
        find(&s, 0, 0);
    }
    kg_lex_init(&s.lx, KG_LANG_PYTHON, code, len);
    for (struct kg_tok t = kg_lex_next(&s.lx); t.kind != KG_TOK_END; t = kg_lex_next(&s.lx)) {
        if (t.kind == KG_TOK_COMMENT) {
            continue;
        }
        if (t.kind == KG_TOK_NAME) {
            bool of_torch =
                follows(&s, ".") && two.kind == KG_TOK_NAME && kg_tok_is(&s.lx, two, "torch");
            look(&s, t, of_torch);
        }
        two = s.before;
        step(&s, t);
    }
    return s.n;
}
