/* What all commands share: messages, words of the command line, signals. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                            const struct kg_opts *options, struct kg_err *err)
{
    char plain[KG_OPT_KEY_MAX], flag[KG_OPT_KEY_MAX] = "";
    const char *list[64];
    size_t n = 0;
    while (n < sizeof list / sizeof *list - 1 && known[n]) {
        list[n] = known[n];
        n++;
    }
    if (options != NULL) {
        kg_opts_nearest_flag(options, word, flag, sizeof flag);
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

enum kg_code kg_cli_number(const char *name, const char *text, uint64_t lo, uint64_t hi,
                           uint64_t *value, struct kg_err *err)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || *value < lo || *value > hi) {
        return kg_fail(err, KG_E_USAGE, "%s: `%.60s` is not a whole number from %llu to %llu", name,
                       text, (unsigned long long)lo, (unsigned long long)hi);
    }
    return KG_OK;
}
