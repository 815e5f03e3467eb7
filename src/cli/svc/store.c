/* kgym store: backup, restore and check of the service's store. */
#include <string.h>

#include "cli/cli.h"
#include "svc/store_backup.h"

const char *const kg_cli_store_flags[] = {"--to", "--help", NULL};

static const char help_text[] =
    "usage: kgym store backup FOLDER --to COPY\n"
    "       kgym store restore COPY --to FOLDER\n"
    "       kgym store check FOLDER\n"
    "\n"
    "A copy of the service's folder (database, records, tokens), which may be made\n"
    "while the service runs. Each record of it is compared with its checksum, and\n"
    "the copy is there whole or not at all. restore makes a folder to serve of a\n"
    "copy. check reads all of a folder and changes nothing.\n"
    "\n"
    "  --to FOLDER       a folder that is not there, or is empty\n"
    "\n"
    "Example:\n"
    "  kgym store backup runs/serve --to backup/monday\n"
    "\n"
    "exit status: 0 done, 1 records are damaged (check), 2 error\n";

static void say(const char *what, const char *folder, const struct kg_svc_inventory *v)
{
    char line[400];
    snprintf(line, sizeof line, ": schema %d, %lld jobs, %lld records of %lld bytes, %lld damaged",
             v->schema, (long long)v->jobs, (long long)v->records, (long long)v->bytes,
             (long long)v->damaged);
    printf("%s ", what);
    kg_cli_line(stdout, folder, line);
}

static int run(const char *verb, const char *from, const char *to)
{
    struct kg_svc_inventory v;
    struct kg_err err = KG_ERR_INIT;
    bool check = strcmp(verb, "check") == 0;
    enum kg_code code =
        check ? kg_svc_store_check(from, &v, &err) : kg_svc_store_copy(from, to, &v, &err);
    if (code != KG_OK) {
        return kg_cli_fail("store", &err);
    }
    say(check                         ? "checked"
        : strcmp(verb, "backup") == 0 ? "saved"
                                      : "restored",
        check ? from : to, &v);
    return v.damaged == 0 ? KG_STATUS_GOOD : KG_STATUS_BAD;
}

int kg_cmd_store(int argc, char **argv)
{
    static const char *const verbs[] = {"backup", "restore", "check", NULL};
    struct kg_err err = KG_ERR_INIT;
    const char *word[2] = {NULL, NULL}, *to = NULL;
    int n = 0;
    for (int i = 1, used = 0; i < argc; i += used) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return KG_STATUS_GOOD;
        }
        if (kg_cli_value("--to", argc, argv, i, &used, &to, &err) != KG_OK) {
            return kg_cli_fail("store", &err);
        }
        if (used == 0 && (argv[i][0] == '-' || n == 2)) {
            (void)!kg_cli_unknown("store", argv[i], kg_cli_store_flags, NULL, &err);
            return kg_cli_fail("store", &err);
        }
        if (used == 0) {
            word[n++] = argv[i];
            used = 1;
        }
    }
    bool known = false;
    for (size_t i = 0; n > 0 && verbs[i] != NULL; i++) {
        known = known || strcmp(verbs[i], word[0]) == 0;
    }
    if (n > 0 && !known) {
        (void)!kg_cli_unknown("store", word[0], verbs, NULL, &err);
    } else if (n < 2 || (to == NULL) != (strcmp(word[0], "check") == 0)) {
        kg_fail(&err, KG_E_USAGE,
                "usage: kgym store backup|restore FOLDER --to FOLDER, or check "
                "FOLDER");
    }
    return err.code == KG_OK && word[0] != NULL ? run(word[0], word[1], to)
                                                : kg_cli_fail("store", &err);
}
