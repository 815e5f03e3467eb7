/* Configuration from the command line, resolved in the order of docs/presets.md. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/term.h"
#include "base/yaml.h"
#include "cli/cli.h"

void kg_cli_line(FILE *f, const char *before, const char *text)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 16);
    kg_buf_adds(&b, before);
    kg_term_add_line(&b, text);
    kg_buf_addc(&b, '\n');
    fwrite(b.data, 1, b.len, f);
    kg_buf_deinit(&b);
}

int kg_cli_fail(const char *command, const struct kg_err *err)
{
    char before[64];
    snprintf(before, sizeof before, "kgym %s: ", command);
    kg_cli_line(stderr, before, err->message);
    return KG_STATUS_ERROR;
}

enum kg_code kg_cli_unknown(const char *command, const char *word, const char *const *known,
                            bool options, struct kg_err *err)
{
    char plain[KG_OPT_KEY_MAX], flag[KG_OPT_KEY_MAX] = "";
    const char *list[32];
    size_t n = 0;
    while (n < sizeof list / sizeof *list - 1 && known[n]) {
        list[n] = known[n];
        n++;
    }
    if (options) {
        kg_opts_nearest_flag(kg_config_options(), word, flag, sizeof flag);
        list[n] = flag;
        n += flag[0] != 0;
    }
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(word, "="), word);
    const char *near = kg_nearest(plain, list, n);
    const char *what = word[0] == '-' ? "option" : "word";
    if (near) {
        return kg_fail(err, KG_E_USAGE, "unknown %s `%.100s`; did you mean `%s`?", what, word,
                       near);
    }
    return kg_fail(err, KG_E_USAGE, "unknown %s `%.100s`; see `kgym %s --help`", what, word,
                   command);
}

enum kg_code kg_cli_value(const char *name, int argc, char **argv, int at, int *used,
                          const char **value, struct kg_err *err)
{
    size_t n = strlen(name);
    *used = 0;
    if (strncmp(argv[at], name, n) != 0) {
        return KG_OK;
    }
    if (argv[at][n] == '=') {
        *value = argv[at] + n + 1;
        *used = 1;
    } else if (argv[at][n] == 0) {
        if (at + 1 >= argc) {
            return kg_fail(err, KG_E_USAGE, "%s: a value is needed", name);
        }
        *value = argv[at + 1];
        *used = 2;
    }
    return KG_OK;
}

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

/* The list that the command line asks for, in whatever words; NULL: none. */
static const char *rewards_asked(const struct kg_cli_config *cc, char **argv)
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
    const char *asked = out->protocol == KG_PROTOCOL_KERNELBENCH ? rewards_asked(cc, argv) : NULL;
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

volatile int kg_cli_cancelled;

static void on_signal(int sig)
{
    if (kg_cli_cancelled) {
        signal(sig, SIG_DFL);
        raise(sig);
    }
    kg_cli_cancelled = 1;
}

void kg_cli_signals(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    signal(SIGPIPE, SIG_IGN);
}
