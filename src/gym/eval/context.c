/* Writes configuration and host facts into a record. */
#include "gym/eval/context.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static json_t *value_of(const struct kg_opt *o, const void *config)
{
    const char *at = (const char *)config + o->offset;
    switch (o->type) {
    case KG_OPT_BOOL:
        return json_boolean(*(const bool *)at);
    case KG_OPT_INT:
        return json_integer(*(const int64_t *)(const void *)at);
    case KG_OPT_REAL:
        return json_real(*(const double *)(const void *)at);
    case KG_OPT_ENUM:
        return json_string(o->names[*(const int *)(const void *)at]);
    default:
        return kg_json_text(at, strlen(at));
    }
}

static json_t *config_of(const struct kg_config *c, bool beside)
{
    const struct kg_opts *opts = kg_config_options();
    json_t *out = json_object();
    for (size_t i = 0; i < opts->n; i++) {
        const struct kg_opt *o = &opts->table[i];
        bool secret = o->offset == offsetof(struct kg_config, seed); /* it lives under "private" */
        if (!secret && (beside || !o->beside)) {
            json_object_set_new(out, o->key, value_of(o, c));
        }
    }
    return out;
}

json_t *kg_context_config(const struct kg_config *c)
{
    return config_of(c, true);
}

json_t *kg_context_asked(const struct kg_config *c)
{
    return config_of(c, false);
}

static void cpu_model(char *out, size_t cap)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");
    snprintf(out, cap, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, cap, "%s", colon + 2);
            break;
        }
    }
    if (f) {
        fclose(f);
    }
}

json_t *kg_context_environment(const char *compiler, int cpu)
{
    char model[200];
    struct utsname u;
    cpu_model(model, sizeof model);
    if (uname(&u) != 0) {
        snprintf(u.release, sizeof u.release, "unknown");
    }
    return json_pack("{s:s, s:o, s:I, s:o, s:o, s:i}", "kgym", KG_VERSION, "cpu",
                     kg_json_text(model, strlen(model)), "cores",
                     (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "kernel",
                     kg_json_text(u.release, strlen(u.release)), "compiler",
                     kg_json_text(compiler, strlen(compiler)), "pinned_cpu", cpu);
}
