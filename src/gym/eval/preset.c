/* Presets, and what a configuration must satisfy as a whole. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/yaml.h"
#include "gym/eval/config.h"

/* quick: for a first look; wider intervals. calibrated: the protocol that the Beyond TritonRL
 * report publishes. */
static const struct preset {
    const char *name, *help;
    const char *set[17];
} presets[] = {
    {"default", "all stages that gate, five input variants, paired timing", {NULL}},
    {"calibrated",
     "timing by 10 warm-ups, 50 trials and 10 % trimmed means",
     {"timing.method=calibrated", "timing.warmups=10", "timing.trials=50", "timing.trim=0.1",
      NULL}},
    {"single-input", "one set of inputs: no variants, no value laws", {"multi_input=no", NULL}},
    {"unstaged", "every stage runs, whatever failed before", {"staged=no", NULL}},
    {"quick",
     "a first look: fewer pairs, wider interval",
     {"timing.pairs=10", "timing.processes=3", "timing.half_width=0.05", "timing.budget=5", NULL}},
    {"train",
     "rewards in training: few inputs, one short timing; C only",
     {"variants=few", "timing.pairs=8", "timing.processes=1", "timing.min_processes=1",
      "timing.warmups=1", "timing.least_calls=6", "timing.least_life=0", "timing.budget=5",
      "timing.null_calls=4", "timing.waits=6", "timing.fresh_references=no",
      "timing.fresh_candidate=no", "timing.primers=no", "timing.asides=no", "stage.profile=yes",
      NULL}},
    {"cold", "buffers are dropped from the caches before every call", {"timing.cold=yes", NULL}},
    {"kernelbench",
     "KernelBench's trials and times, to compare: never rewarded",
     {"protocol=kernelbench", "stage.tiny=no", "multi_input=no", "laws=0", "hack_checks=no",
      "quarantine=ignore", "timing.warmups=3", "timing.trials=100", NULL}},
};
#define NPRESETS (sizeof presets / sizeof presets[0])

static const char *const unbuilt[] = {"strict"};

static const struct preset *find(const char *name)
{
    for (size_t i = 0; i < NPRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0) {
            return &presets[i];
        }
    }
    return NULL;
}

const char *const *kg_config_presets(void)
{
    static const char *const names[] = {"default",  "calibrated",  "single-input",
                                        "unstaged", "quick",       "train",
                                        "cold",     "kernelbench", NULL};
    _Static_assert(sizeof names / sizeof names[0] == NPRESETS + 1, "one name per preset");
    return names;
}

const char *kg_config_preset_help(const char *name)
{
    const struct preset *preset = find(name);
    KG_ASSERT(preset != NULL);
    return preset->help;
}

static enum kg_code check_preset(const char *name, struct kg_err *err)
{
    static const char built[] =
        "default, calibrated, single-input, unstaged, quick, train, cold, kernelbench";
    if (find(name) != NULL) {
        return KG_OK;
    }
    for (size_t i = 0; i < sizeof unbuilt / sizeof unbuilt[0]; i++) {
        if (strcmp(unbuilt[i], name) == 0) {
            return kg_fail(err, KG_E_USAGE, "preset `%s` is not built yet; there are: %s", name,
                           built);
        }
    }
    const char *near = kg_nearest(name, kg_config_presets(), NPRESETS);
    if (near != NULL) {
        return kg_fail(err, KG_E_USAGE, "unknown preset `%s`, did you mean `%s`?", name, near);
    }
    return kg_fail(err, KG_E_USAGE, "unknown preset `%s`; there are: %s", name, built);
}

enum kg_code kg_config_preset(struct kg_config *c, const char *name, struct kg_err *err)
{
    if (check_preset(name, err) != KG_OK) {
        return err->code;
    }
    const struct preset *preset = find(name);
    for (const char *const *pair = preset->set; *pair != NULL; pair++) {
        if (kg_opts_set_pair(kg_config_options(), c, *pair, "preset", err) != KG_OK) {
            return err->code;
        }
    }
    snprintf(c->preset, sizeof c->preset, "%s", name);
    return KG_OK;
}

static enum kg_code overlay(struct kg_config *c, const char *file, char **environ_list,
                            struct kg_err *err)
{
    if (file != NULL && kg_opts_yaml(kg_config_options(), c, file, err) != KG_OK) {
        return err->code;
    }
    return environ_list == NULL ? KG_OK
                                : kg_opts_environ(kg_config_options(), c, environ_list, err);
}

/* File and environment are read twice: first to learn which preset they name, then over it. */
enum kg_code kg_config_load(struct kg_config *c, const char *preset, const char *file,
                            char **environ_list, struct kg_err *err)
{
    kg_opts_defaults(kg_config_options(), c);
    if (overlay(c, file, environ_list, err) != KG_OK) {
        return err->code;
    }
    char name[sizeof c->preset];
    snprintf(name, sizeof name, "%s", preset != NULL ? preset : c->preset);
    kg_opts_defaults(kg_config_options(), c);
    if (kg_config_preset(c, name, err) != KG_OK || overlay(c, file, environ_list, err) != KG_OK) {
        return err->code;
    }
    snprintf(c->preset, sizeof c->preset, "%s", name);
    return KG_OK;
}

enum kg_code kg_config_check_rewards(const char *list, struct kg_err *err)
{
    char seen[KG_MAX_REWARDS][64];
    int n = 0;
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, ", ");
        size_t len = strcspn(at, ", ");
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)len, at);
        at += len;
        if (len == 0) {
            continue;
        }
        if (kg_reward_check(name, err) != KG_OK) {
            return kg_err_prefix(err, "rewards");
        }
        for (int i = 0; i < n; i++) {
            if (strcmp(seen[i], name) == 0) {
                return kg_fail(err, KG_E_USAGE, "rewards: `%s` is named twice", name);
            }
        }
        if (n == KG_MAX_REWARDS) {
            return kg_fail(err, KG_E_USAGE, "rewards: at most %d in one record", KG_MAX_REWARDS);
        }
        snprintf(seen[n++], sizeof seen[0], "%s", name);
    }
    return KG_OK;
}

/* That procedure is itself or nothing: what it lacks cannot be asked of it. */
static enum kg_code check_protocol(const struct kg_config *c, struct kg_err *err)
{
    const struct {
        bool wrong;
        const char *key, *must;
    } list[] = {
        {!c->staged, "staged", "yes"},
        {c->stage_tiny, "stage.tiny", "no"},
        {c->stage_profile, "stage.profile", "no"},
        {c->multi_input, "multi_input", "no"},
        {c->laws != 0, "laws", "0"},
        {c->hack_checks, "hack_checks", "no"},
        {c->timing_cold, "timing.cold", "no"},
        {c->timing_method != KG_TM_PAIRED, "timing.method", "paired"},
        {c->timing_trials > KG_KERNELBENCH_TIMES, "timing.trials", "5000 at most"},
        {c->torch_shapes != 0, "torch.shapes", "0"},
    };
    if (c->protocol != KG_PROTOCOL_KERNELBENCH) {
        return strcmp(c->preset, "kernelbench") != 0
                   ? KG_OK
                   : kg_fail(err, KG_E_USAGE, "preset `kernelbench` is protocol=kernelbench");
    }
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].wrong) {
            return kg_fail(err, KG_E_USAGE,
                           "%s: the protocol `kernelbench` wants it %s (the preset `kernelbench` "
                           "sets all that it wants)",
                           list[i].key, list[i].must);
        }
    }
    return KG_OK;
}

/* 16-bit problems are judged as they are; to make one of any other is that project's procedure. */
static enum kg_code check_precision(const struct kg_config *c, struct kg_err *err)
{
    const char *p = c->precision;
    bool kernelbench = c->protocol == KG_PROTOCOL_KERNELBENCH, tf32 = strcmp(p, "tf32") == 0;
    bool narrow = strcmp(p, "fp16") == 0 || strcmp(p, "bf16") == 0;
    if (strcmp(p, "fp32") == 0 || (kernelbench ? narrow : tf32)) {
        return KG_OK;
    }
    if (tf32) {
        return kg_fail(err, KG_E_USAGE,
                       "precision: `tf32` is the gym's own league; the protocol `kernelbench` has "
                       "fp32, fp16 and bf16");
    }
    return narrow ? kg_fail(err, KG_E_USAGE,
                            "precision: `%s` belongs to the preset `kernelbench`; otherwise a "
                            "problem is judged in its own, and there are `fp32` and `tf32`",
                            p)
                  : kg_fail(err, KG_E_USAGE,
                            "precision: `%s` is not built yet; there are `fp32` and `tf32`", p);
}

/* What the options' types allow and this version cannot do. Accepting it silently would label a
 * record with a protocol that it was not judged by. */
static enum kg_code check_built(const struct kg_config *c, struct kg_err *err)
{
    if (c->library == KG_LIB_FORBIDDEN && !c->stage_profile) {
        return kg_fail(err, KG_E_USAGE,
                       "library: `forbidden` is decided by launch records: it needs "
                       "stage.profile=yes");
    }
    if (c->torch_shapes_gate && c->torch_shapes == 0) {
        return kg_fail(err, KG_E_USAGE, "torch.shapes_gate: there are none (torch.shapes=0)");
    }
    if (strcmp(c->league, "fp32") != 0) {
        return kg_fail(err, KG_E_USAGE, "league: unknown league `%s`; there is `fp32`", c->league);
    }
    return check_precision(c, err);
}

enum kg_code kg_config_check(const struct kg_config *c, struct kg_err *err)
{
    struct kg_key key;
    if (check_preset(c->preset, err) != KG_OK || check_protocol(c, err) != KG_OK ||
        check_built(c, err) != KG_OK || kg_config_check_rewards(c->rewards, err) != KG_OK) {
        return err->code;
    }
    if (c->seed[0] != '\0' && !kg_key_parse(c->seed, &key)) {
        return kg_fail(err, KG_E_USAGE, "seed: `%s` is not 32 hex digits", c->seed);
    }
    int end = 0;
    if (strcmp(c->device, "auto") != 0 && strcmp(c->device, "cpu") != 0 &&
        (sscanf(c->device, "cuda:%*3[0-9]%n", &end) != 0 || end == 0 || c->device[end] != '\0')) {
        return kg_fail(err, KG_E_USAGE, "device: `%s`: auto, cpu or cuda:N is needed", c->device);
    }
    if (c->compiler[0] == '\0') {
        return kg_fail(err, KG_E_USAGE, "compiler: a name or path is needed, such as `gcc`");
    }
    if (c->timing_min_processes > c->timing_processes) {
        return kg_fail(err, KG_E_USAGE,
                       "timing.min_processes (%lld) is more than timing.processes (%lld)",
                       (long long)c->timing_min_processes, (long long)c->timing_processes);
    }
    if (c->timing_warmups < 1 && c->protocol == KG_PROTOCOL_OWN) {
        return kg_fail(err, KG_E_USAGE,
                       "timing.warmups (%lld): at least 1 is needed; the protocol `kernelbench` "
                       "alone takes fewer",
                       (long long)c->timing_warmups);
    }
    if (c->timing_min_blocks > c->timing_blocks) {
        return kg_fail(err, KG_E_USAGE,
                       "timing.min_blocks (%lld) is more than timing.blocks (%lld)",
                       (long long)c->timing_min_blocks, (long long)c->timing_blocks);
    }
    return KG_OK;
}
