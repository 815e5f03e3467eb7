/* kgym token: who may use a service. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "svc/tokens.h"

const char *const kg_cli_token_words[] = {"add",      "list",     "revoke", "--name",
                                          "--scopes", "--folder", "--help", NULL};

static const char help_text[] =
    "usage: kgym token add --name NAME [--scopes A,B] [--folder DIR]\n"
    "       kgym token list [--folder DIR]\n"
    "       kgym token revoke --name NAME [--folder DIR]\n"
    "\n"
    "Tokens say who may use a service: docs/service.md. `add` prints a new one, once;\n"
    "the folder keeps its hash. A service that runs knows of a change at the next\n"
    "request. Once there is a token, every client needs one, on this host too.\n"
    "\n"
    "  --name NAME      whose token it is\n"
    "  --scopes A,B     what it is for (default submit,read)\n"
    "                     submit  send replies, cancel evaluations, ask for rewards\n"
    "                     read    see evaluations, records, problems and events\n"
    "                     worker  claim jobs and answer them\n"
    "                     admin   put dead jobs back into the queue, let devices that\n"
    "                             were put aside work again\n"
    "  --folder DIR     the service's folder (default runs/serve)\n"
    "\n"
    "Example:\n"
    "  (umask 077; kgym token add --name trainer > trainer.token)\n"
    "  KGYM_TOKEN_FILE=trainer.token kgym top\n"
    "\n"
    "exit status: 0 done, 2 error\n";

struct asked {
    const char *verb, *name, *folder, *scopes;
    bool help;
};

static enum kg_code parse(struct asked *a, int argc, char **argv, struct kg_err *err)
{
    const struct {
        const char *flag, **to;
    } flags[] = {{"--name", &a->name}, {"--scopes", &a->scopes}, {"--folder", &a->folder}};
    for (int i = 1, used = 0; i < argc; i += used) {
        used = 0;
        for (size_t f = 0; f < sizeof flags / sizeof *flags && used == 0; f++) {
            if (kg_cli_value(flags[f].flag, argc, argv, i, &used, flags[f].to, err) != KG_OK) {
                return err->code;
            }
        }
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            a->help = true;
            used = 1;
        } else if (used == 0 && a->verb == NULL && argv[i][0] != '-') {
            a->verb = argv[i];
            used = 1;
        } else if (used == 0) {
            return kg_cli_unknown("token", argv[i], kg_cli_token_words, NULL, err);
        }
    }
    return KG_OK;
}

static enum kg_code add(const struct asked *a, struct kg_err *err)
{
    char token[KG_SVC_TOKEN_LEN];
    unsigned scopes;
    if (kg_svc_scopes_parse(a->scopes, &scopes, err) != KG_OK ||
        kg_svc_tokens_add(a->folder, a->name, scopes, token, err) != KG_OK) {
        return err->code;
    }
    puts(token);
    return KG_OK;
}

static enum kg_code list(const struct asked *a, struct kg_err *err)
{
    struct kg_svc_token *all;
    size_t n;
    bool there;
    if (kg_svc_tokens_load(a->folder, &all, &n, &there, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < n; i++) {
        char scopes[64], day[32] = "";
        time_t made = (time_t)all[i].made_s;
        struct tm tm;
        kg_svc_scopes_text(all[i].scopes, scopes);
        if (gmtime_r(&made, &tm) != NULL) {
            strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%SZ", &tm);
        }
        printf("%-20s  %-26s  %s\n", all[i].name, scopes, day);
    }
    if (n == 0) {
        fprintf(stderr, "kgym token: %s has no tokens%s\n", a->folder,
                there ? ": nobody may use its service" : "");
    }
    free(all);
    return KG_OK;
}

static enum kg_code run(const struct asked *a, struct kg_err *err)
{
    bool lists = a->verb != NULL && strcmp(a->verb, "list") == 0;
    if (a->verb == NULL) {
        return kg_fail(err, KG_E_USAGE, "add, list or revoke? `kgym token --help` explains them");
    }
    if (!lists && strcmp(a->verb, "add") != 0 && strcmp(a->verb, "revoke") != 0) {
        return kg_cli_unknown("token", a->verb, kg_cli_token_words, NULL, err);
    }
    if (!lists && a->name == NULL) {
        return kg_fail(err, KG_E_USAGE, "%s needs --name NAME", a->verb);
    }
    if (lists) {
        return list(a, err);
    }
    return a->verb[0] == 'a' ? add(a, err) : kg_svc_tokens_revoke(a->folder, a->name, err);
}

int kg_cmd_token(int argc, char **argv)
{
    struct asked a = {.folder = "runs/serve", .scopes = "submit,read"};
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = parse(&a, argc, argv, &err);
    if (code == KG_OK && a.help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    code = code != KG_OK ? code : run(&a, &err);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("token", &err);
}
