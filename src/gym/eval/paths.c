/* Finds the parts of kgym in a build folder or in an installation. */
#include "gym/eval/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static enum kg_code split_suites(struct kg_paths *p, struct kg_err *err)
{
    p->nsuites = 0;
    char *rest = NULL;
    for (char *s = strtok_r(p->suite_text, ":", &rest); s; s = strtok_r(NULL, ":", &rest)) {
        if (p->nsuites == KG_MAX_SUITES) {
            return kg_fail(err, KG_E_USAGE, "suites: more than %d folders", KG_MAX_SUITES);
        }
        if (!kg_file_exists(s)) {
            return kg_fail(err, KG_E_NOT_FOUND, "suites: no folder `%s`", s);
        }
        p->suites[p->nsuites++] = s;
    }
    return KG_OK;
}

/* A build tree holds everything in one folder and the problems two above it; an installation has
 * bin/, lib/kgym/ and share/kgym/. */
static enum kg_code find_home(char *lib, char *share, size_t cap, struct kg_err *err)
{
    char dir[256];
    const char *home = getenv("KGYM_HOME");
    bool named = home && *home;
    if ((named ? kg_file_absolute(home, dir, sizeof dir, err)
               : kg_file_self_dir(dir, sizeof dir, err)) != KG_OK) {
        return named ? kg_err_prefix(err, "KGYM_HOME") : err->code;
    }
    static const char *const prefixes[] = {"/..", ""}; /* seen from bin/; KGYM_HOME itself */
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char probe[320];
        snprintf(probe, sizeof probe, "%s%s/lib/kgym/kgym-runner", dir, prefixes[i]);
        if (kg_file_exists(probe)) {
            snprintf(lib, cap, "%s%s/lib/kgym", dir, prefixes[i]);
            snprintf(share, cap, "%s%s/share/kgym", dir, prefixes[i]);
            return KG_OK;
        }
    }
    snprintf(lib, cap, "%s", dir);
    snprintf(share, cap, "%s/../..", dir);
    return KG_OK;
}

/* What only the PyTorch executor asks for is not looked for here: it says itself what is missing.
 */
static void torch_paths(struct kg_paths *p, const char *lib, const char *share)
{
    snprintf(p->harness, sizeof p->harness, "%s/harness", share);
    snprintf(p->probe, sizeof p->probe, "%s/libkgym_probe.so", lib);
    snprintf(p->own_python, sizeof p->own_python, "%s/.venv/bin/python", share);
    if (!kg_file_exists(p->own_python)) {
        p->own_python[0] = 0;
    }
}

static void default_suites(struct kg_paths *p, const char *share)
{
    static const char *const folders[] = {"native", "torch", "kernelbook"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char folder[340];
        snprintf(folder, sizeof folder, "%s/problems/%s", share, folders[i]);
        if ((i == 0 || kg_file_exists(folder)) && n < sizeof p->suite_text) {
            n += (size_t)snprintf(p->suite_text + n, sizeof p->suite_text - n, "%s%s",
                                  i > 0 ? ":" : "", folder);
        }
    }
}

enum kg_code kg_paths_find(const char *suites, struct kg_paths *out, struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    char lib[280], share[280];
    if (find_home(lib, share, sizeof lib, err) != KG_OK) {
        return err->code;
    }
    snprintf(out->runner, sizeof out->runner, "%s/kgym-runner", lib);
    snprintf(out->kgops_dir, sizeof out->kgops_dir, "%s/kgops", lib);
    snprintf(out->kgops_counted, sizeof out->kgops_counted, "%s/kgops-counted", lib);
    snprintf(out->kgops_stub, sizeof out->kgops_stub, "%s/kgops-stub", lib);
    snprintf(out->null_object, sizeof out->null_object, "%s/null.so", lib);
    torch_paths(out, lib, share);
    char so[3][340];
    snprintf(so[0], sizeof so[0], "%s/libkgops.so", out->kgops_dir);
    snprintf(so[1], sizeof so[1], "%s/libkgops.so", out->kgops_counted);
    snprintf(so[2], sizeof so[2], "%s/libkgops.so", out->kgops_stub);
    const char *const need[] = {out->runner, so[0], so[1], so[2], out->null_object};
    for (size_t i = 0; i < sizeof need / sizeof *need; i++) {
        if (!kg_file_exists(need[i])) {
            return kg_fail(err, KG_E_HOST,
                           "%s is missing: build it with `make`, or set KGYM_HOME to a "
                           "build folder or to the prefix of an installation",
                           need[i]);
        }
    }
    if (suites && *suites) {
        snprintf(out->suite_text, sizeof out->suite_text, "%s", suites);
    } else {
        default_suites(out, share);
    }
    return split_suites(out, err);
}
