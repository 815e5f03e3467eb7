/* For tests of Python runners: the zygote (one per program), a port made of memfds that the test
 * drives itself in the judge's place, and sources as text. Skips the program's tests, with the
 * reason, where python has no torch. */
#ifndef KG_TESTS_UNIT_TORCH_RIG_H
#define KG_TESTS_UNIT_TORCH_RIG_H

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "gym/torch/process/pyrunner.h"

#define SECOND     ((int64_t)1000000000)
#define RIG_REGION (8u << 20)

static struct {
    struct kg_zygote zygote;
    bool up;
    char why[480], folder[64], harness[PATH_MAX], probe[PATH_MAX], python[PATH_MAX];
} rig;

struct port {
    int ctrl, in, out;        /* in: opened read-only */
    unsigned char *to, *from; /* this process's mappings of IN and OUT */
};

static inline const char *rig_tree(void)
{
    const char *tree = getenv("KGYM_TREE");
    return tree != NULL ? tree : ".";
}

static inline void rig_paths(void)
{
    char path[PATH_MAX];
    const char *build = getenv("KGYM_BUILD"), *python = getenv("KGYM_PYTHON");
    snprintf(path, sizeof path, "%s/harness", rig_tree());
    if (realpath(path, rig.harness) == NULL) {
        rig.harness[0] = '\0';
    }
    snprintf(path, sizeof path, "%s/libkgym_probe.so", build != NULL ? build : "build/release");
    if (realpath(path, rig.probe) == NULL) {
        rig.probe[0] = '\0';
    }
    snprintf(path, sizeof path, "%s/.venv/bin/python", rig_tree());
    bool venv = access(path, X_OK) == 0;
    snprintf(rig.python, sizeof rig.python, "%s",
             python != NULL ? python
             : venv         ? path
                            : "python3");
    if (python == NULL && venv && path[0] != '/') {
        char here[PATH_MAX / 2];
        if (getcwd(here, sizeof here) != NULL) {
            snprintf(rig.python, sizeof rig.python, "%s/%s", here, path);
        }
    }
}

static inline struct kg_zygote_spec rig_spec(void)
{
    return (struct kg_zygote_spec){
        .python = rig.python, .harness = rig.harness, .probe = rig.probe, .device = "cpu"};
}

static inline enum kg_code rig_zygote(const struct kg_zygote_spec *spec, struct kg_zygote *out,
                                      struct kg_err *e)
{
    enum kg_code code = kg_zygote_begin(spec, out, e);
    return code != KG_OK ? code : kg_zygote_ready(out, e);
}

/* The folder and the zygote. 0, also where the zygote does not start, or -1. */
static inline int rig_start(const char *device)
{
    struct kg_err err = KG_ERR_INIT;
    snprintf(rig.folder, sizeof rig.folder, "/tmp/kgym-torch-XXXXXX");
    if (mkdtemp(rig.folder) == NULL || chmod(rig.folder, 0755) != 0) {
        return -1;
    }
    rig_paths();
    struct kg_zygote_spec spec = rig_spec();
    spec.device = device;
    spec.cuda = strcmp(device, "cpu") != 0;
    rig.up = rig_zygote(&spec, &rig.zygote, &err) == KG_OK;
    snprintf(rig.why, sizeof rig.why, "%s", err.message);
    return 0;
}

static inline int rig_setup(void **state)
{
    (void)state;
    return rig_start("cpu");
}

static inline int rig_teardown(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    if (rig.up) {
        kg_zygote_stop(&rig.zygote);
    }
    return kg_file_remove_tree(rig.folder, &err) == KG_OK ? 0 : -1;
}

/* At the head of a test. */
static inline void rig_need(void)
{
    if (!rig.up && strstr(rig.why, "make torch") == NULL) {
        fail_msg("the zygote does not start: %s", rig.why);
    }
    if (!rig.up) {
        printf("skip: %s\n", rig.why);
        skip();
    }
}

static inline void port_open(struct port *p)
{
    char path[64];
    p->ctrl = memfd_create("ctrl", MFD_CLOEXEC);
    int in = memfd_create("in", MFD_CLOEXEC);
    p->out = memfd_create("out", MFD_CLOEXEC);
    assert_int_equal(ftruncate(p->ctrl, sizeof(struct kg_twire)), 0);
    assert_int_equal(ftruncate(in, RIG_REGION), 0);
    assert_int_equal(ftruncate(p->out, RIG_REGION), 0);
    p->to = mmap(NULL, RIG_REGION, PROT_READ | PROT_WRITE, MAP_SHARED, in, 0);
    p->from = mmap(NULL, RIG_REGION, PROT_READ | PROT_WRITE, MAP_SHARED, p->out, 0);
    assert_true(p->to != MAP_FAILED && p->from != MAP_FAILED);
    snprintf(path, sizeof path, "/proc/self/fd/%d", in);
    p->in = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(p->in >= 0);
    close(in);
}

static inline void port_close(struct port *p)
{
    munmap(p->to, RIG_REGION);
    munmap(p->from, RIG_REGION);
    close(p->ctrl);
    close(p->in);
    close(p->out);
}

static inline const char *rig_source(const char *text)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/candidate.py", rig.folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, 0644), 0);
    return path;
}

static inline struct kg_limits rig_limits(void)
{
    return (struct kg_limits){.memory_bytes = (int64_t)1 << 30,
                              .processes = 64,
                              .file_bytes = 64 << 20,
                              .cpu_s = 60,
                              .descriptors = 256};
}

struct subject {
    struct port port;
    struct kg_pyrunner runner;
};

/* Confined; it has not begun to boot. */
static inline void subject_begin(struct subject *s, const char *text, struct kg_limits limits,
                                 uint32_t without)
{
    struct kg_err err = KG_ERR_INIT;
    port_open(&s->port);
    struct kg_pyrunner_spec spec = {.source = rig_source(text),
                                    .ctrl_fd = s->port.ctrl,
                                    .in_fd = s->port.in,
                                    .out_fd = s->port.out,
                                    .limits = limits,
                                    .without = without,
                                    .cpu = -1};
    if (kg_pyrunner_begin(&rig.zygote, &spec, &s->runner, &err) != KG_OK) {
        fail_msg("runner: %s", err.message);
    }
}

static inline void subject_open_limited(struct subject *s, const char *text,
                                        struct kg_limits limits, uint32_t without)
{
    struct kg_err err = KG_ERR_INIT;
    subject_begin(s, text, limits, without);
    if (kg_pyrunner_ready(&s->runner, &err) != KG_OK) {
        fail_msg("runner: %s", err.message);
    }
}

static inline void subject_open(struct subject *s, const char *text)
{
    subject_open_limited(s, text, rig_limits(), 0);
}

/* Kills what is left. */
static inline void subject_close(struct subject *s)
{
    kg_pyrunner_stop(&s->runner);
    port_close(&s->port);
}

/* request: JSON text or NULL. */
static inline struct kg_pyanswer subject_ask(struct subject *s, enum kg_tcommand command,
                                             const char *request, int64_t ns)
{
    struct kg_pyanswer a;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    if (request != NULL) {
        assert_int_equal(kg_json_parse(request, strlen(request), "test", &j, &err), KG_OK);
    }
    kg_pyrunner_command(&s->runner, command, j, 1234, kg_clock_ns() + ns, &a);
    json_decref(j);
    return a;
}

/* A command whose answer must be OK; the reply as text, static storage. */
static inline const char *subject_ok(struct subject *s, enum kg_tcommand command,
                                     const char *request)
{
    static char text[KG_TWIRE_TEXT];
    struct kg_pyanswer a = subject_ask(s, command, request, 60 * SECOND);
    char *dumped = a.reply != NULL ? json_dumps(a.reply, JSON_COMPACT) : NULL;
    snprintf(text, sizeof text, "%s", dumped != NULL ? dumped : "");
    free(dumped);
    kg_pyanswer_deinit(&a);
    if (a.status != KG_PY_ANSWERED || a.said != KG_TA_OK) {
        kg_pyrunner_stop(&s->runner);
        fail_msg("command %d: status %d, said %d: %s\n%.500s", (int)command, (int)a.status,
                 (int)a.said, text, s->runner.output[1].head);
    }
    return text;
}

/* The judge's part: leaves of IN, then the command. Returns kg_twire_wait's result. */
static inline int subject_release(struct subject *s, enum kg_tcommand command,
                                  const struct kg_tleaf *in, size_t n, uint32_t flags, int64_t ns)
{
    struct kg_twire *w = s->runner.wire;
    const uint64_t nonce[2] = {(uint64_t)kg_clock_ns(), 42};
    for (size_t i = 0; i < n; i++) {
        w->in[i] = in[i];
    }
    w->nrequest = (uint32_t)n;
    w->command = (uint32_t)command;
    w->flags = flags;
    w->request_bytes = 0;
    w->seed = 99;
    kg_twire_release(w, nonce);
    int rc = kg_twire_wait(w, s->runner.sandbox.pidfd, kg_clock_ns() + ns, NULL);
    if (rc == 0) {
        assert_true(w->echo[0] == nonce[0] && w->echo[1] == nonce[1]);
    }
    return rc;
}

static inline struct kg_tleaf leaf_of(enum kg_tdtype dtype, const char *name, uint32_t rank,
                                      int64_t a, int64_t b)
{
    struct kg_tleaf leaf = {.dtype = (uint32_t)dtype, .rank = rank, .shape = {a, b}};
    snprintf(leaf.name, sizeof leaf.name, "%s", name);
    return leaf;
}

#endif
