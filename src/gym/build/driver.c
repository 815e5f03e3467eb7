/* Learns the compiler driver's steps from what it prints, and turns them into a script. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gym/build/toolchain.h"

struct steps {
    struct kg_args cc1, as, ld;
};

const char *kg_cc_source_name(enum kg_cc_kind kind)
{
    return kind == KG_CC_CANDIDATE ? "candidate" : "reference";
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The driver's command with these flags: flags, source, kgops, libraries. */
static size_t driver_command(const struct kg_cc *cc, const char *const *flags, const char **argv,
                             struct kg_arena *a, struct kg_err *err)
{
    size_t n = 0;
    argv[n++] = cc->spec.compiler;
    argv[n++] = "-###";
    for (size_t i = 0; flags[i] != NULL && strncmp(flags[i], "-l", 2) != 0; i++) {
        argv[n++] = flags[i];
    }
    argv[n++] = "-o";
    argv[n++] = KG_CC_HERE "/out.so";
    argv[n++] = KG_CC_HERE "/NAME.c";
    if (cc->kgops != NULL) {
        argv[n++] = kg_arena_printf(a, err, "-I%s", cc->kgops);
        argv[n++] = kg_arena_printf(a, err, "-L%s", cc->kgops);
        argv[n++] = kg_arena_printf(a, err, "-Wl,-rpath,%s", cc->kgops);
    }
    for (size_t i = 0; flags[i] != NULL; i++) {
        if (strncmp(flags[i], "-l", 2) == 0) {
            argv[n++] = flags[i];
        }
    }
    argv[n] = NULL;
    return n;
}

static enum kg_code find_steps(struct kg_cc *cc, const struct kg_buf *text, struct steps *out,
                               struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    for (const char *line = text->data; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        struct kg_args words = {.n = 0};
        if (line[0] == ' ' && kg_cc_split(&cc->arena, line, len, &words, err) != KG_OK) {
            return err->code;
        }
        if (words.n > 0) {
            const char *tool = base_name(words.at[0]);
            struct kg_args *to = strcmp(tool, "cc1") == 0  ? &out->cc1
                                 : strcmp(tool, "as") == 0 ? &out->as
                                 : strcmp(tool, "collect2") == 0 || strcmp(tool, "ld") == 0
                                     ? &out->ld
                                     : NULL;
            if (to != NULL) {
                *to = words;
            }
        }
        line += len + (line[len] == '\n');
    }
    if (out->cc1.n == 0 || out->as.n == 0 || out->ld.n == 0) {
        return kg_fail(err, KG_E_HOST,
                       "compiler `%s`: `-###` names no cc1, as and ld steps; kgym needs gcc",
                       cc->spec.compiler);
    }
    return KG_OK;
}

static const char *value_of(const struct kg_args *args, const char *option)
{
    for (size_t i = 0; i + 1 < args->n; i++) {
        if (strcmp(args->at[i], option) == 0) {
            return args->at[i + 1];
        }
    }
    return NULL;
}

static void replace(struct kg_args *args, const char *old, const char *fresh)
{
    for (size_t i = 0; i < args->n; i++) {
        if (strcmp(args->at[i], old) == 0) {
            args->at[i] = fresh;
        }
    }
}

/* Gives temporary files fixed names in scratch. */
static enum kg_code name_temporaries(struct steps *s, struct kg_err *err)
{
    const char *assembly = value_of(&s->cc1, "-o"), *object = value_of(&s->as, "-o");
    if (assembly == NULL || object == NULL) {
        return kg_fail(err, KG_E_HOST, "compiler: a step of `-###` has no output file");
    }
    replace(&s->as, assembly, KG_CC_HERE "/NAME.s");
    replace(&s->cc1, assembly, KG_CC_HERE "/NAME.s");
    replace(&s->ld, object, KG_CC_HERE "/NAME.o");
    replace(&s->as, object, KG_CC_HERE "/NAME.o");
    return KG_OK;
}

/* The real file of a tool, found as the driver finds it. */
static const char *tool_path(struct kg_cc *cc, const char *name, struct kg_err *err)
{
    char found[PATH_MAX], real[PATH_MAX];
    snprintf(found, sizeof found, "%s", name);
    const char *path = getenv("PATH");
    for (const char *p = path; name[0] != '/' && p != NULL && *p != '\0';) {
        int n = (int)strcspn(p, ":");
        snprintf(found, sizeof found, "%.*s/%s", n, p, name);
        if (access(found, X_OK) == 0) {
            break;
        }
        p += n + (p[n] == ':');
    }
    if (realpath(found, real) == NULL || access(real, X_OK) != 0) {
        kg_fail(err, KG_E_HOST, "compiler: its tool `%s` was not found; install gcc and binutils",
                name);
        return NULL;
    }
    kg_cc_show(cc, real);
    return kg_arena_dup(&cc->arena, real, strlen(real), err);
}

static const char *program_name(struct kg_cc *cc, const char *tool, struct kg_err *err)
{
    char option[64];
    snprintf(option, sizeof option, "-print-prog-name=%s", tool);
    const char *argv[] = {cc->spec.compiler, option, NULL};
    struct kg_buf out;
    kg_buf_init(&out, PATH_MAX);
    const char *path = NULL;
    if (kg_cc_capture(argv, &out, err) == KG_OK) {
        out.data[strcspn(out.data, "\n")] = '\0';
        path = tool_path(cc, out.data, err);
    }
    kg_buf_deinit(&out);
    return path;
}

/* True if the link needs something in this library folder. */
static bool has_libraries(const char *folder)
{
    static const char *const files[] = {"libc.so", "libm.so", "libgcc.a",     "libgcc_s.so.1",
                                        "crti.o",  "libm.a",  "libpthread.a", "libkgops.so"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

static bool below_kgops(const struct kg_cc *cc, const char *path)
{
    return cc->kgops != NULL && strncmp(path, cc->kgops, strlen(cc->kgops)) == 0;
}

/* Cleans ld's arguments: no plug-in for link-time optimisation and no useless folder. Every path
 * becomes canonical, because ".." may lead through folders that a build does not see. */
static enum kg_code tidy_link(struct kg_cc *cc, const struct kg_args *in, struct kg_args *out,
                              struct kg_err *err)
{
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        const char *word = in->at[i];
        char real[PATH_MAX];
        bool folder = strncmp(word, "-L", 2) == 0;
        const char *path = word + (folder ? 2 : 0);
        if (strcmp(word, "-plugin") == 0) {
            i++;
        } else if (strncmp(word, "-plugin-opt", 11) == 0) {
            continue;
        } else if (path[0] != '/' || strncmp(path, KG_CC_HERE, strlen(KG_CC_HERE)) == 0 ||
                   below_kgops(cc, path)) {
            out->at[out->n++] = word;
        } else if (realpath(path, real) != NULL && (!folder || has_libraries(real))) {
            out->at[out->n++] = kg_arena_printf(&cc->arena, err, "%s%s", folder ? "-L" : "", real);
            if (!folder) {
                *strrchr(real, '/') = '\0';
            }
            kg_cc_show(cc, real);
        }
        if (out->n > 0 && out->at[out->n - 1] == NULL) {
            return err->code;
        }
    }
    return KG_OK;
}

/* Shows the folders of system headers, except those under /usr/local, where kgym itself may be
 * installed. */
static enum kg_code show_includes(struct kg_cc *cc, struct kg_err *err)
{
    const char *argv[] = {cc->spec.compiler, "-E", "-v", "-x", "c", "/dev/null", NULL};
    struct kg_buf text;
    kg_buf_init(&text, 1 << 18);
    enum kg_code code = kg_cc_capture(argv, &text, err);
    const char *p = code == KG_OK ? strstr(text.data, "#include <...>") : NULL;
    p = p != NULL ? strchr(p, '\n') : NULL;
    while (p != NULL && p[1] == ' ') {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(p + 2, "\n"), p + 2);
        if (strncmp(path, "/usr/local/", 11) != 0) {
            kg_cc_show(cc, path);
        }
        p = strchr(p + 1, '\n');
    }
    kg_buf_deinit(&text);
    return code;
}

/* Appends text with `name` in place of NAME. */
static void add_named(struct kg_buf *out, const char *text, const char *name)
{
    for (const char *p; (p = strstr(text, "NAME")) != NULL; text = p + 4) {
        kg_buf_add(out, text, (size_t)(p - text));
        kg_buf_adds(out, name);
    }
    kg_buf_adds(out, text);
}

static void add_step(struct kg_buf *out, const struct kg_args *args, const char *defines, int exit)
{
    kg_cc_quote(args, out);
    kg_buf_addf(out, "%s || fail $? %d\n", defines, exit);
}

/* A status above 125 is the shell's: "not executed", or a signal. It is kept. */
static const char *make_script(struct kg_cc *cc, const struct steps *s, enum kg_cc_kind kind,
                               struct kg_err *err)
{
    static const char *const defines[] = {"", " -Dreal=float", " -Dreal=double -DKGOPS_DOUBLE"};
    struct kg_buf plain, named;
    kg_buf_init(&plain, 1 << 16);
    kg_buf_init(&named, 1 << 16);
    kg_buf_adds(&plain, "d=$1\nfail() { [ $1 -gt 125 ] && exit $1; exit $2; }\n");
    add_step(&plain, &s->cc1, defines[kind], KG_CC_EXIT_CC1);
    add_step(&plain, &s->as, "", KG_CC_EXIT_AS);
    add_step(&plain, &s->ld, "", KG_CC_EXIT_LD);
    add_named(&named, plain.data, kg_cc_source_name(kind));
    bool whole = kg_buf_ok(&plain) && kg_buf_ok(&named);
    const char *script = whole ? kg_arena_dup(&cc->arena, named.data, named.len, err) : NULL;
    kg_buf_deinit(&plain);
    kg_buf_deinit(&named);
    if (!whole) {
        kg_fail(err, KG_E_LIMIT, "compiler: its steps are longer than 64 KB");
    }
    return script;
}

static enum kg_code ask(struct kg_cc *cc, const char *const *flags, struct steps *s,
                        struct kg_err *err)
{
    const char *argv[48];
    size_t n = driver_command(cc, flags, argv, &cc->arena, err);
    for (size_t i = 0; i < n; i++) {
        if (argv[i] == NULL) {
            return err->code;
        }
    }
    struct kg_buf text;
    kg_buf_init(&text, 1 << 18);
    enum kg_code code = kg_cc_capture(argv, &text, err);
    if (code == KG_OK) {
        code = find_steps(cc, &text, s, err);
    }
    kg_buf_deinit(&text);
    return code == KG_OK ? name_temporaries(s, err) : code;
}

/* The steps with these flags, in canonical paths that a build sees. */
static enum kg_code learn_steps(struct kg_cc *cc, const char *const *flags, struct steps *tidy,
                                struct kg_err *err)
{
    struct steps *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return kg_fail(err, KG_E_HOST, "compiler: this machine is out of memory");
    }
    enum kg_code code = ask(cc, flags, s, err);
    if (code == KG_OK) {
        *tidy = *s;
        code = tidy_link(cc, &s->ld, &tidy->ld, err);
    }
    if (code == KG_OK) {
        KG_ASSERT(s->cc1.n > 0 && s->cc1.at[0]); /* find_steps has checked it */
        tidy->cc1.at[0] = tool_path(cc, s->cc1.at[0], err);
        tidy->as.at[0] = program_name(cc, "as", err);
        tidy->ld.at[0] = program_name(cc, "ld", err);
        code = tidy->cc1.at[0] && tidy->as.at[0] && tidy->ld.at[0] ? KG_OK : err->code;
    }
    free(s);
    return code;
}

enum kg_code kg_cc_learn(struct kg_cc *cc, struct kg_err *err)
{
    struct steps *tidy = calloc(1, sizeof *tidy);
    if (tidy == NULL) {
        return kg_fail(err, KG_E_HOST, "compiler: this machine is out of memory");
    }
    enum kg_code code = learn_steps(cc, cc->flags, tidy, err);
    code = code == KG_OK ? show_includes(cc, err) : code;
    if (code == KG_OK) {
        cc->shell = tool_path(cc, "/bin/sh", err);
        code = cc->shell ? KG_OK : err->code;
    }
    for (int kind = 0; code == KG_OK && kind < KG_CC_KINDS; kind++) {
        cc->script[kind] = make_script(cc, tidy, (enum kg_cc_kind)kind, err);
        code = cc->script[kind] != NULL ? KG_OK : err->code;
    }
    free(tidy);
    return code;
}

const char *kg_cc_learn_program(struct kg_cc *cc, const char *const *flags, struct kg_err *err)
{
    struct steps *tidy = calloc(1, sizeof *tidy);
    const char *script = NULL;
    if (tidy == NULL) {
        kg_fail(err, KG_E_HOST, "compiler: this machine is out of memory");
    } else if (learn_steps(cc, flags, tidy, err) == KG_OK) {
        script = make_script(cc, tidy, KG_CC_REF_FLOAT, err);
    }
    free(tidy);
    return script;
}
