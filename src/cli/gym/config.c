/* Configuration from the command line, resolved in the order of docs/presets.md. */
#include <string.h>
#include <unistd.h>

#include "base/yaml.h"
#include "cli/gym/config.h"

static enum kg_code note_set(struct kg_cli_config *cc, const char *pair, struct kg_err *err)
{
    if (cc->nset == (int)(sizeof cc->set / sizeof *cc->set)) {
        return kg_fail(err, KG_E_USAGE, "--set: more than %d of them", cc->nset);
    }
    cc->set[cc->nset++] = pair;
    return KG_OK;
}

enum kg_code kg_cli_config_word(struct kg_cli_config *cc, int argc, char **argv, int at, int *used,
                                struct kg_err *err)
{
    const char *pair = NULL;
    struct kg_config scratch;
    if (kg_cli_value("--config", argc, argv, at, used, &cc->file, err) != KG_OK || *used > 0) {
        return err->code;
    }
    if (kg_cli_value("--preset", argc, argv, at, used, &cc->preset, err) != KG_OK || *used > 0) {
        return err->code;
    }
    if (kg_cli_value("--set", argc, argv, at, used, &pair, err) != KG_OK) {
        return err->code;
    }
    if (*used > 0) {
        return note_set(cc, pair, err);
    }
    kg_opts_defaults(kg_config_options(), &scratch);
    if (kg_opts_flag(kg_config_options(), &scratch, argc, argv, at, used, err) != KG_OK) {
        return err->code;
    }
    if (*used > 0) {
        if (cc->nflags == (int)(sizeof cc->flag_at / sizeof *cc->flag_at)) {
            return kg_fail(err, KG_E_USAGE, "too many flags");
        }
        cc->flag_at[cc->nflags++] = at;
    }
    return KG_OK;
}

/* The preset that --set names, which must be known before anything else is applied. */
static const char *preset_of(const struct kg_cli_config *cc)
{
    const char *preset = cc->preset;
    for (int i = 0; i < cc->nset && !cc->preset; i++) {
        if (strncmp(cc->set[i], "preset=", 7) == 0) {
            preset = cc->set[i] + 7;
        }
    }
    return preset;
}

const char *kg_cli_config_rewards(const struct kg_cli_config *cc, char **argv)
{
    static const char key[] = "rewards=", flag[] = "--rewards";
    const char *asked = cc->reward;
    for (int i = 0; i < cc->nset; i++) {
        asked = strncmp(cc->set[i], key, strlen(key)) == 0 ? cc->set[i] + strlen(key) : asked;
    }
    for (int i = 0; i < cc->nflags; i++) {
        const char *word = argv[cc->flag_at[i]];
        if (strncmp(word, flag, strlen(flag)) == 0) {
            asked = word[strlen(flag)] == '=' ? word + strlen(flag) + 1 : argv[cc->flag_at[i] + 1];
        }
    }
    return asked && *asked ? asked : NULL;
}

static enum kg_code check_rewards(const struct kg_cli_config *cc, char **argv,
                                  const struct kg_config *out, struct kg_err *err)
{
    const char *asked =
        out->protocol == KG_PROTOCOL_KERNELBENCH ? kg_cli_config_rewards(cc, argv) : NULL;
    return !asked ? KG_OK
                  : kg_fail(err, KG_E_USAGE,
                            "reward `%.100s`, preset `%s`: what is judged by KernelBench's own "
                            "procedure is never rewarded; leave out one of them",
                            asked, out->preset);
}

enum kg_code kg_cli_config_resolve(const struct kg_cli_config *cc, int argc, char **argv,
                                   struct kg_config *out, struct kg_err *err)
{
    const struct kg_opts *opts = kg_config_options();
    if (kg_config_load(out, preset_of(cc), cc->file, environ, err) != KG_OK) {
        return err->code;
    }
    for (int i = 0; i < cc->nset; i++) {
        if (kg_opts_set_pair(opts, out, cc->set[i], "--set", err) != KG_OK) {
            return err->code;
        }
    }
    for (int i = 0; i < cc->nflags; i++) {
        int used;
        if (kg_opts_flag(opts, out, argc, argv, cc->flag_at[i], &used, err) != KG_OK) {
            return err->code;
        }
    }
    if (cc->reward && kg_opts_set(opts, out, "rewards", cc->reward, "--reward", err) != KG_OK) {
        return err->code;
    }
    return check_rewards(cc, argv, out, err) == KG_OK ? kg_config_check(out, err) : err->code;
}
