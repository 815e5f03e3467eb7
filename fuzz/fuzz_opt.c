/* The bytes as a configuration file, and line by line as flags, key=value pairs and environment.
 * Whatever was accepted must read back from its own dump. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/opt.h"

struct config {
    bool staged;
    int64_t pairs;
    double half_width;
    char rewards[64];
    int method;
};

static const char *const methods[] = {"paired", "calibrated", NULL};
#define AT(f) offsetof(struct config, f), sizeof((struct config *)0)->f
static const struct kg_opt table[] = {
    {"staged", KG_OPT_BOOL, AT(staged), 0, 0, NULL, "true", "", "Stop early.", false, false},
    {"timing.pairs", KG_OPT_INT, AT(pairs), -10, 1e15, NULL, "20", "", "Pairs.", false, false},
    {"timing.half_width", KG_OPT_REAL, AT(half_width), -1e300, 1e300, NULL, "0.02", "", "Width.",
     false, false},
    {"timing.method", KG_OPT_ENUM, AT(method), 0, 0, methods, "paired", "", "Method.", false,
     false},
    {"rewards", KG_OPT_STRING, AT(rewards), 0, 0, NULL, "", "", "Rewards.", false, false},
};
static const struct kg_opts opts = {.table = table, .n = sizeof table / sizeof *table};

/* A file in memory, by a path that kg_opts_yaml can open. */
static enum kg_code read_yaml(const void *bytes, size_t n, struct config *c, struct kg_err *err)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    KG_ASSERT(fd >= 0 && kg_file_write_all(fd, bytes, n, err) == KG_OK);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum kg_code code = kg_opts_yaml(&opts, c, path, err);
    close(fd);
    return code;
}

static void dump_reads_back(const struct config *c)
{
    struct config back;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf dump;
    kg_opts_defaults(&opts, &back);
    kg_buf_init(&dump, 1 << 16);
    kg_opts_dump(&opts, c, true, &dump);
    KG_ASSERT(read_yaml(dump.data, dump.len, &back, &err) == KG_OK);
    KG_ASSERT(c->staged == back.staged && c->pairs == back.pairs && c->method == back.method);
    KG_ASSERT(c->half_width == back.half_width && strcmp(c->rewards, back.rewards) == 0);
    kg_buf_deinit(&dump);
}

static void apply_line(char *line, struct config *c)
{
    struct kg_err err = KG_ERR_INIT;
    char next[] = "7", nearest[KG_OPT_KEY_MAX + 2];
    char *argv[] = {line, next, NULL}, *env[] = {line, NULL};
    int used;
    enum kg_code code = kg_opts_flag(&opts, c, 2, argv, 0, &used, &err);
    KG_ASSERT(code == KG_OK ? used >= 0 && used <= 2 : err.message[0] != '\0');
    code = kg_opts_set_pair(&opts, c, line, "f", &err);
    KG_ASSERT(code == KG_OK || strncmp(err.message, "f: ", 3) == 0);
    code = kg_opts_environ(&opts, c, env, &err);
    KG_ASSERT(code == KG_OK || strncmp(err.message, "environment KGYM_", 17) == 0);
    kg_opts_nearest_flag(&opts, line, nearest, sizeof nearest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config c;
    struct kg_err err = KG_ERR_INIT;
    kg_opts_defaults(&opts, &c);
    if (read_yaml(data, size, &c, &err) == KG_OK) {
        dump_reads_back(&c);
    }
    char *text = malloc(size + 1), *rest = text;
    KG_ASSERT(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        apply_line(line, &c);
    }
    dump_reads_back(&c);
    free(text);
    return 0;
}
