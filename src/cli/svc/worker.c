/* kgym worker: judges for a service on another host, and `kgym worker enable`, which lets a device
 * that was put aside work again. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/svc/serve.h"
#include "gym/eval/config.h"
#include "svc/fetch.h"
#include "svc/tokens.h"
#include "svc/worker.h"

enum { SETTINGS = 64, JOBS_MOST = 512 };

const char *const kg_cli_worker_words[] = {"enable", "--join", "--url",     "--token-file",
                                           "--name", "--jobs", "--devices", "--folder",
                                           "--set",  "--help", NULL};

static const char help_text[] =
    "usage: kgym worker --join URL [--token-file FILE] [--name NAME] [--jobs N]\n"
    "                   [--devices LIST] [--folder DIR] [--set KEY=VALUE]...\n"
    "       kgym worker enable DEVICE [--url URL] [--token-file FILE]\n"
    "\n"
    "Judges on this host for a service on another one: docs/service.md. It may be\n"
    "started and ended at any time; what it holds at SIGTERM is handed back. A\n"
    "service that is gone is asked again until it is back. `enable` lets a device\n"
    "work again that was put aside because a known good candidate failed there twice.\n"
    "\n"
    "  --join URL         http://HOST[:PORT] of the service, or of what stands before\n"
    "                     several of them (default port 10907)\n"
    "  --token-file FILE  a token with scope `worker`; of `enable`: scope `admin`\n"
    "                     (default: the variables KGYM_TOKEN, KGYM_TOKEN_FILE)\n"
    "  --name NAME        name of this host in the list of devices (default: its own)\n"
    "  --jobs N           evaluations at once (default: as a batch has)\n"
    "  --devices LIST     such as cuda:0,cuda:1: each gets its share of evaluations\n"
    "  --folder DIR       compiled objects are kept there (option `cache`)\n"
    "  --set KEY=VALUE    an option of this host (`kgym options`), such as\n"
    "                     python=FILE; none that clients of the service may set\n"
    "  --url URL          the service (default KGYM_URL, else http://127.0.0.1:10907)\n"
    "\n"
    "Example:\n"
    "  kgym worker --join http://10.0.0.5:10907 --token-file worker.token\n"
    "\n"
    "exit status: 0 ended by SIGTERM or Ctrl-C, or done; 1 no such device; 2 error\n";

struct asked {
    const char *join, *url, *token_file, *name, *jobs, *devices, *folder, *enable;
    const char *set[SETTINGS];
    size_t nset;
    bool help, enables;
    char cache[1100]; /* a pair of set */
};

static enum kg_code take_value(struct asked *a, int argc, char **argv, int at, int *used,
                               struct kg_err *err)
{
    const char *pair = NULL;
    const struct {
        const char *flag, **to;
    } flags[] = {{"--join", &a->join},     {"--url", &a->url},   {"--token-file", &a->token_file},
                 {"--name", &a->name},     {"--jobs", &a->jobs}, {"--devices", &a->devices},
                 {"--folder", &a->folder}, {"--set", &pair}};
    *used = 0;
    for (size_t f = 0; f < sizeof flags / sizeof *flags && *used == 0; f++) {
        if (kg_cli_value(flags[f].flag, argc, argv, at, used, flags[f].to, err) != KG_OK) {
            return err->code;
        }
    }
    if (pair != NULL) {
        if (a->nset + 1 >= SETTINGS) {
            return kg_fail(err, KG_E_USAGE, "--set: %d of them at most", SETTINGS - 1);
        }
        a->set[a->nset++] = pair;
    }
    return KG_OK;
}

static enum kg_code parse(struct asked *a, int argc, char **argv, struct kg_err *err)
{
    for (int i = 1, used = 0; i < argc; i += used) {
        if (take_value(a, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
        if (used > 0) {
            continue;
        }
        used = 1;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            a->help = true;
        } else if (!a->enables && strcmp(argv[i], "enable") == 0) {
            a->enables = true;
        } else if (a->enables && a->enable == NULL && argv[i][0] != '-') {
            a->enable = argv[i];
        } else {
            return kg_cli_unknown("worker", argv[i], kg_cli_worker_words, NULL, err);
        }
    }
    return KG_OK;
}

/* --- where the service is --- */

struct place {
    char host[INET6_ADDRSTRLEN + 1];
    int port;
};

static enum kg_code find_host(const char *name, struct place *out, struct kg_err *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *a = NULL;
    if (getaddrinfo(name, NULL, &hints, &a) != 0 || a == NULL) {
        return kg_fail(err, KG_E_HOST, "%.200s: no such host", name);
    }
    int failed = getnameinfo(a->ai_addr, a->ai_addrlen, out->host, sizeof out->host, NULL, 0,
                             NI_NUMERICHOST);
    freeaddrinfo(a);
    return failed ? kg_fail(err, KG_E_HOST, "%.200s: no address", name) : KG_OK;
}

static enum kg_code find_service(const char *url, struct place *out, struct kg_err *err)
{
    struct kg_svc_target t = {.token = NULL};
    if (kg_svc_target_parse(url, &t, err) != KG_OK) {
        return err->code;
    }
    out->port = t.port;
    return find_host(t.host, out, err);
}

/* --- the worker --- */

static bool is_of_clients(const char *pair)
{
    const struct kg_opts *o = kg_config_options();
    size_t n = strcspn(pair, "=");
    for (size_t i = 0; i < o->n; i++) {
        if (strlen(o->table[i].key) == n && memcmp(o->table[i].key, pair, n) == 0) {
            return o->table[i].client;
        }
    }
    return false;
}

static enum kg_code check_devices(struct kg_config *c, const char *list, struct kg_err *err)
{
    char name[sizeof c->device];
    for (const char *at = list; at != NULL && at[0] != '\0'; at += at[0] == ',') {
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        at += n;
        if (kg_opts_set(kg_config_options(), c, "device", name, "--devices", err) != KG_OK ||
            kg_config_check(c, err) != KG_OK) {
            return err->code;
        }
    }
    return KG_OK;
}

/* Options of this host, and none of a job: those come with it. */
static enum kg_code check_set(const struct asked *a, struct kg_err *err)
{
    struct kg_config c;
    if (kg_config_load(&c, NULL, NULL, environ, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < a->nset; i++) {
        if (is_of_clients(a->set[i])) {
            return kg_fail(err, KG_E_USAGE, "--set %s: the clients of the service set that",
                           a->set[i]);
        }
        if (kg_opts_set_pair(kg_config_options(), &c, a->set[i], "--set", err) != KG_OK) {
            return err->code;
        }
    }
    return check_devices(&c, a->devices, err);
}

static bool is_plain(const char *name)
{
    return name[0] != '\0' && strlen(name) <= 60 &&
           name[strspn(
               name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")] == '\0';
}

static enum kg_code read_jobs(const struct asked *a, int *out, struct kg_err *err)
{
    char *end = NULL;
    long n = a->jobs != NULL ? strtol(a->jobs, &end, 10) : 0;
    *out = (int)n;
    return a->jobs == NULL || (*end == '\0' && end != a->jobs && n >= 1 && n <= JOBS_MOST)
               ? KG_OK
               : kg_fail(err, KG_E_USAGE, "--jobs must be a number from 1 to %d", JOBS_MOST);
}

static void tell_joined(void *ctx, const char *host, int slots)
{
    const struct asked *a = ctx;
    printf("kgym worker: joined %s as %s, %d slot%s\n", a->join, host, slots,
           slots == 1 ? "" : "s");
    fflush(stdout);
}

static enum kg_code join(struct asked *a, const char *token, struct kg_err *err)
{
    struct place place = {.port = 0};
    char folder[4000], program[4096];
    int jobs;
    if (a->name != NULL && !is_plain(a->name)) {
        return kg_fail(err, KG_E_USAGE,
                       "--name must be letters, digits, `-`, `.` and `_`, 60 at most");
    }
    if (a->folder != NULL) {
        snprintf(a->cache, sizeof a->cache, "cache=%.1024s", a->folder);
        a->set[a->nset++] = a->cache;
    }
    if (read_jobs(a, &jobs, err) != KG_OK || check_set(a, err) != KG_OK ||
        find_service(a->join, &place, err) != KG_OK ||
        kg_file_self_dir(folder, sizeof folder, err) != KG_OK) {
        return err->code;
    }
    snprintf(program, sizeof program, "%s/kgym", folder);
    const struct kg_svc_worker_options o = {.host = place.host,
                                            .port = place.port,
                                            .token = token,
                                            .name = a->name,
                                            .jobs = jobs,
                                            .devices = a->devices,
                                            .settings = a->set,
                                            .nsettings = a->nset,
                                            .program = program,
                                            .facts = KG_SERVE_FACTS,
                                            .joined = tell_joined,
                                            .ctx = a};
    kg_log_role("worker");
    return kg_svc_worker_run(&o, err);
}

/* --- enable --- */

static enum kg_code enable(const struct asked *a, const char *token, struct kg_err *err)
{
    struct kg_svc_target target;
    struct kg_buf body;
    json_t *answer = NULL;
    int status = 0;
    KG_ASSERT(a->enable != NULL);
    if (kg_svc_target_parse(a->url, &target, err) != KG_OK) {
        return err->code;
    }
    target.token = token;
    kg_buf_init(&body, 1 << 16);
    json_t *wish = json_pack("{s:o}", "device", kg_json_text(a->enable, strlen(a->enable)));
    kg_json_dump(wish, &body);
    enum kg_code code =
        kg_svc_fetch(&target, "POST", "/v1/devices/enable", body.data, &status, &answer, err);
    if (code == KG_OK && status == 404) {
        kg_fail(err, KG_E_NOT_FOUND, "%.100s: no such device is put aside", a->enable);
    } else if (code == KG_OK && status != 200) {
        const char *message = json_string_value(json_object_get(answer, "message"));
        kg_fail(err, KG_E_IO, "%.200s: status %d: %.300s", a->url, status,
                message != NULL ? message : "no answer");
    }
    json_decref(answer);
    json_decref(wish);
    kg_buf_deinit(&body);
    return err->code;
}

int kg_cmd_worker(int argc, char **argv)
{
    const char *url = getenv("KGYM_URL");
    struct asked a = {.url = url != NULL && url[0] != '\0' ? url : "http://127.0.0.1:10907"};
    struct kg_err err = KG_ERR_INIT;
    char text[KG_SVC_TOKEN_LEN];
    enum kg_code code = parse(&a, argc, argv, &err);
    if (code == KG_OK && a.help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    if (code == KG_OK && (a.enables ? a.enable == NULL : a.join == NULL)) {
        code = kg_fail(&err, KG_E_USAGE,
                       a.enables ? "enable needs a DEVICE of GET /v1/devices"
                                 : "--join URL is needed: `kgym worker --help` explains it");
    }
    code = code != KG_OK ? code : kg_svc_token_find(a.token_file, text, &err);
    unsetenv("KGYM_TOKEN"); /* where the sandbox is weak, candidates have this environment */
    const char *token = code == KG_OK && text[0] != '\0' ? text : NULL;
    if (code == KG_OK) {
        code = a.enables ? enable(&a, token, &err) : join(&a, token, &err);
    }
    return code == KG_OK ? KG_STATUS_GOOD
                         : (kg_cli_fail("worker", &err),
                            code == KG_E_NOT_FOUND && a.enables ? KG_STATUS_BAD : KG_STATUS_ERROR);
}
