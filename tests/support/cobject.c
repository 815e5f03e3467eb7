#include "cobject.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MOST_OBJECTS 256

static char dir[256];

const char *cobject_dir(void)
{
    if (dir[0] == 0) {
        const char *tmp = getenv("TMPDIR");
        snprintf(dir, sizeof dir, "%s/kgym-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        if (!mkdtemp(dir) || chmod(dir, 0755) != 0) {
            fail_msg("cannot make a folder for objects");
        }
    }
    return dir;
}

const char *cobject_build(const char *name, const char *text, const char *flags)
{
    static char paths[MOST_OBJECTS][PATH_MAX];
    static int used;
    char source[PATH_MAX], command[4 * PATH_MAX];
    char *path = paths[used++ % MOST_OBJECTS];
    snprintf(source, sizeof source, "%s/%s.c", cobject_dir(), name);
    snprintf(path, PATH_MAX, "%s/%s.so", cobject_dir(), name);
    FILE *f = fopen(source, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0) {
        fail_msg("cannot write %s", source);
    }
    snprintf(command, sizeof command,
             "gcc -std=gnu17 -O2 -march=native -fPIC -shared -w %s '%s' -o '%s' -lm", flags, source,
             path);
    if (system(command) != 0) {
        fail_msg("gcc does not build %s", source);
    }
    return path;
}

const char *cobject_built(const char *name)
{
    static struct {
        const char *name;
        char path[PATH_MAX];
    } known[8];
    const char *build = getenv("KGYM_BUILD");
    char relative[PATH_MAX];
    size_t i = 0;
    while (i < 7 && known[i].name && strcmp(known[i].name, name) != 0) {
        i++;
    }
    snprintf(relative, sizeof relative, "%s/%s", build ? build : "build/release", name);
    if (!realpath(relative, known[i].path)) {
        fail_msg("%s is not there: run make first, or set KGYM_BUILD", relative);
    }
    known[i].name = name;
    return known[i].path;
}

void cobject_clean(void)
{
    if (dir[0]) {
        char command[512];
        snprintf(command, sizeof command, "rm -rf '%s'", dir);
        if (system(command) != 0) {
            fail_msg("cannot remove %s", dir);
        }
        dir[0] = 0;
    }
}
