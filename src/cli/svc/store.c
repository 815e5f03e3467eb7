/* kgym store: backup, restore, check and trim of the service's store. */
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "svc/store_backup.h"
#include "svc/store_trim.h"

const char *const kg_cli_store_flags[] = {"--to", "--keep-days", "--help", NULL};

enum { DAYS_MOST = 36500 };

enum verb { BACKUP, RESTORE, CHECK, TRIM, VERBS }; /* the first two need --to, the last one days */
static const char *const verbs[] = {"backup", "restore", "check", "trim", NULL};

static const char help_text[] =
    "usage: kgym store backup FOLDER --to COPY\n"
    "       kgym store restore COPY --to FOLDER\n"
    "       kgym store check FOLDER\n"
    "       kgym store trim FOLDER --keep-days N\n"
    "\n"
    "A copy of the service's folder (database, records, tokens), which may be made\n"
    "while the service runs. Each record of it is compared with its checksum, and\n"
    "the copy is there whole or not at all. restore makes a folder to serve of a\n"
    "copy. check reads all of a folder and changes nothing.\n"
    "\n"
    "trim makes room: it drops what ended more than N days ago, while no service uses\n"
    "the folder. The fastest answer of each problem stays, and a batch or a\n"
    "trajectory goes whole or not at all.\n"
    "\n"
    "  --to FOLDER       a folder that is not there, or is empty\n"
    "  --keep-days N     0 to 36500; 0 drops all that has ended\n"
    "\n"
    "Examples:\n"
    "  kgym store backup runs/serve --to backup/monday\n"
    "  kgym store trim runs/serve --keep-days 30\n"
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

static int run(enum verb verb, const char *from, const char *to)
{
    static const char *const done[] = {"saved", "restored", "checked"};
    struct kg_svc_inventory v;
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code =
        verb == CHECK ? kg_svc_store_check(from, &v, &err) : kg_svc_store_copy(from, to, &v, &err);
    if (code != KG_OK) {
        return kg_cli_fail("store", &err);
    }
    say(done[verb], verb == CHECK ? from : to, &v);
    return v.damaged == 0 ? KG_STATUS_GOOD : KG_STATUS_BAD;
}

static int trim(const char *folder, const char *days)
{
    struct kg_svc_trimmed gone;
    struct kg_err err = KG_ERR_INIT;
    char line[400];
    uint64_t n;
    if (kg_cli_number("--keep-days", days, 0, DAYS_MOST, &n, &err) != KG_OK ||
        kg_svc_store_trim(folder, kg_clock_wall_ms() - (int64_t)n * 86400 * 1000, stderr, &gone,
                          &err) != KG_OK) {
        return kg_cli_fail("store", &err);
    }
    snprintf(line, sizeof line,
             ": %lld jobs, %lld trajectories and %lld segments of %lld bytes are gone, %lld jobs "
             "stay",
             (long long)gone.jobs, (long long)gone.trajectories, (long long)gone.segments,
             (long long)gone.bytes, (long long)gone.left);
    fputs("trimmed ", stdout);
    kg_cli_line(stdout, folder, line);
    return KG_STATUS_GOOD;
}

int kg_cmd_store(int argc, char **argv)
{
    struct kg_err err = KG_ERR_INIT;
    const char *word[2] = {NULL, NULL}, *to = NULL, *days = NULL;
    int n = 0;
    for (int i = 1, used = 0; i < argc; i += used) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return KG_STATUS_GOOD;
        }
        if (kg_cli_value("--to", argc, argv, i, &used, &to, &err) != KG_OK ||
            (used == 0 &&
             kg_cli_value("--keep-days", argc, argv, i, &used, &days, &err) != KG_OK)) {
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
    enum verb verb = BACKUP;
    while (word[0] != NULL && verb < VERBS && strcmp(verbs[verb], word[0]) != 0) {
        verb++;
    }
    if (verb == VERBS) {
        (void)!kg_cli_unknown("store", word[0], verbs, NULL, &err);
        return kg_cli_fail("store", &err);
    }
    if (word[1] == NULL || (to != NULL) != (verb <= RESTORE) || (days != NULL) != (verb == TRIM)) {
        kg_fail(&err, KG_E_USAGE,
                "usage: kgym store backup|restore FOLDER --to FOLDER, check FOLDER, or trim FOLDER "
                "--keep-days N");
        return kg_cli_fail("store", &err);
    }
    return days != NULL ? trim(word[1], days) : run(verb, word[1], to);
}
