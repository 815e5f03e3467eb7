/* kgym serve: the service, and the two commands that it executes: its api process and its worker.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/svc/serve.h"
#include "svc/api.h"
#include "svc/serve.h"
#include "svc/worker.h"

const char *const kg_cli_serve_flags[] = {"--host",
                                          "--port",
                                          "--folder",
                                          "--work",
                                          "--no-work",
                                          "--jobs",
                                          "--queue-limit",
                                          "--queue-limit-token",
                                          "--free-mb",
                                          "--body-mb",
                                          "--term",
                                          "--store",
                                          "--store-file",
                                          "--store-relaxed",
                                          "--kernelgym-precision",
                                          "--kernelgym-preset",
                                          "--help",
                                          NULL};

static const char *const precisions[] = {"tf32", "fp32", NULL};

#define OPT_STRUCT struct kg_serve_config
#include "base/opt_rows.h"

static const struct kg_opt table[] = {
    TEXT("host", host, "127.0.0.1",
         "Address to serve at. One that is no loopback address needs tokens."),
    INT("port", port, 0, 65535, "10907", "", "Port to serve at; 0: any free one."),
    TEXT("folder", folder, "runs/serve", "Folder of the store and its records."),
    TEXT("store", store, "",
         "A store in Redis that several services share: redis://[user:password@]host:port[/db]. "
         "Their folders are one then, too. Empty: SQLite in the folder."),
    TEXT("store_file", store_file, "",
         "A file that nobody else may read, with what `--store` would have: so the password is on "
         "no "
         "command line."),
    BOOL("store_relaxed", store_relaxed, "no", "Take a Redis that may lose what it has accepted."),
    BOOL("work", work, "yes", "Judge on this host; no: jobs wait."),
    INT("jobs", jobs, 0, 512, "0", "", "Evaluations at once on this host; 0: as a batch has."),
    INT("queue_limit", queue_limit, 0, 100000000, "1000000", "",
        "Jobs that may wait; more are refused with 429. 0: no limit."),
    INT("queue_limit_token", queue_limit_token, 0, 100000000, "500000", "",
        "The same of one token's jobs, or of all requests without a token."),
    INT("free_mb", free_mb, 0, 1000000000, "128", "MB",
        "Space that the disk must have for a job to be accepted; else 503. Records need it."),
    INT("body_mb", body_mb, 1, 1024, "64", "MB", "Largest body of a request."),
    REAL("term", term_s, 1, 3600, "30", "s",
         "A claim that its worker has not renewed for so long is taken back."),
    ENUM("kernelgym.precision", kernelgym_precision, precisions, "tf32",
         "Arithmetic, and so the league, of requests by KernelGYM's protocol."),
    TEXT("kernelgym.preset", kernelgym_preset, "",
         "Preset of these requests; empty: as of others without one. `kernelbench` is refused."),
};

const struct kg_opts *kg_serve_options(void)
{
    static const struct kg_opts opts = {table, sizeof table / sizeof *table, NULL};
    return &opts;
}

static const char help_text[] =
    "usage: kgym serve [--port N] [--folder DIR] [--jobs N] [...]\n"
    "\n"
    "Judges replies that come over HTTP: docs/service.md. What is accepted is kept in\n"
    "the folder, and so is each record: a service that is killed goes on where it was\n"
    "when it is started again.\n"
    "\n"
    "  --host ADDRESS     address to serve at (default 127.0.0.1); beyond\n"
    "                     loopback tokens are needed: `kgym token --help`\n"
    "  --port N           port (default 10907); 0: any free one\n"
    "  --folder DIR       store and records (default runs/serve)\n"
    "  --jobs N           evaluations at once (default: as a batch has)\n"
    "  --no-work          judge nothing: jobs wait\n"
    "  --queue-limit N    jobs that may wait; more are refused with 429 (default\n"
    "                     1000000); 0: no limit\n"
    "  --queue-limit-token N\n"
    "                     the same of one token's jobs (default 500000)\n"
    "  --store URL        a store in Redis: redis://[user:password@]host:port[/db]\n"
    "  --store-file FILE  a file of yours alone that has this URL, so that no\n"
    "                     password is on the command line\n"
    "  --store-relaxed    take a Redis that may lose what it has accepted\n"
    "  --free-mb N        space that the disk must have for a job to be accepted\n"
    "                     (default 128)\n"
    "  --body-mb N        largest body of a request (default 64)\n"
    "  --term S           a claim that its worker has not renewed for so many seconds\n"
    "                     is taken back (default 30)\n"
    "  --kernelgym-precision P\n"
    "                     arithmetic of requests by KernelGYM's protocol: tf32\n"
    "                     (default), fp32\n"
    "  --kernelgym-preset P\n"
    "                     preset of these requests; not `kernelbench`\n"
    "\n"
    "Example:\n"
    "  kgym serve &\n"
    "  curl -s 'http://127.0.0.1:10907/v1/evaluations?wait=60' \\\n"
    "    -d '{\"problem\": \"softmax\", \"source\": \"...\"}'\n"
    "\n"
    "exit status: 0 ended by SIGTERM or Ctrl-C, 2 error\n";

static enum kg_code parse(struct kg_serve_config *c, bool *help, int argc, char **argv,
                          struct kg_err *err)
{
    kg_opts_defaults(kg_serve_options(), c);
    for (int i = 1, used = 0; i < argc; i += used) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            *help = true;
            used = 1;
        } else if (kg_opts_flag(kg_serve_options(), c, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        } else if (used == 0) {
            return kg_cli_unknown("serve", argv[i], kg_cli_serve_flags, NULL, err);
        }
    }
    return c->store_file[0] != '\0' && !*help ? kg_serve_store_file(c, err) : KG_OK;
}

/* Without tokens whoever reaches the port may do everything, so only this host may. */
static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static enum kg_code need_tokens(const struct kg_serve_config *c, struct kg_err *err)
{
    struct kg_svc_token *all;
    size_t n;
    bool there;
    enum kg_code code = kg_svc_tokens_load(c->folder, &all, &n, &there, err);
    free(all);
    return code == KG_OK && n == 0
               ? kg_fail(err, KG_E_USAGE,
                         "--host %s: others can reach that, so tokens are needed: run `kgym token "
                         "add --name NAME --folder %s`",
                         c->host, c->folder)
               : code;
}

static struct kg_kernelgym_settings kernelgym_of(const struct kg_serve_config *c)
{
    return (struct kg_kernelgym_settings){
        .preset = c->kernelgym_preset[0] != '\0' ? c->kernelgym_preset : NULL,
        .precision = precisions[c->kernelgym_precision]};
}

/* --- the parent --- */

struct parent {
    const struct kg_serve_config *config;
    char port[16], jobs[16];
    char *argv[8];
};

static char *const *worker_argv(void *ctx, int port)
{
    static char program[] = "kgym", role[] = KG_SERVE_WORKER;
    struct parent *p = ctx;
    if (!p->config->work) {
        return NULL;
    }
    snprintf(p->port, sizeof p->port, "%d", port);
    snprintf(p->jobs, sizeof p->jobs, "%lld", (long long)p->config->jobs);
    char *const words[] = {program, role,    (char *)(uintptr_t)p->config->host,
                           p->port, p->jobs, NULL};
    memcpy(p->argv, words, sizeof words);
    return p->argv;
}

static void ready(void *ctx, int port)
{
    const struct parent *p = ctx;
    bool six = strchr(p->config->host, ':') != NULL;
    printf("kgym serve: http://%s%s%s:%d, %s in %s\n", six ? "[" : "", p->config->host,
           six ? "]" : "", port, p->config->store[0] != '\0' ? "records" : "store",
           p->config->folder);
    fflush(stdout);
}

static enum kg_code serve(const struct kg_serve_config *c, int argc, char **argv,
                          struct kg_err *err)
{
    static char program[] = "kgym", role[] = KG_SERVE_API;
    struct parent p = {.config = c};
    char **api = calloc((size_t)argc + 2, sizeof *api);
    KG_ASSERT(api != NULL);
    api[0] = program;
    api[1] = role;
    memcpy(api + 2, argv + 1, (size_t)(argc - 1) * sizeof *api);
    const struct kg_svc_serve_options o = {.host = c->host,
                                           .port = (int)c->port,
                                           .api = api,
                                           .worker = worker_argv,
                                           .ready = ready,
                                           .ctx = &p};
    kg_log_role("serve");
    enum kg_code code = kg_svc_serve(&o, err);
    free(api);
    return code;
}

int kg_cmd_serve(int argc, char **argv)
{
    struct kg_serve_config c;
    struct kg_err err = KG_ERR_INIT;
    bool help = false;
    enum kg_code code = parse(&c, &help, argc, argv, &err);
    if (code == KG_OK && help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    const struct kg_kernelgym_settings kernelgym = kernelgym_of(&c);
    code = code != KG_OK || is_loopback(c.host) ? code : need_tokens(&c, &err);
    code = code != KG_OK ? code : kg_kernelgym_check(&kernelgym, &err);
    code = code != KG_OK ? code : serve(&c, argc, argv, &err);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("serve", &err);
}

/* --- what it executes --- */

static const struct kg_svc_store_kind *kind_of(const struct kg_serve_config *c)
{
    return c->store[0] == '\0' ? &kg_svc_store_sqlite
           : c->store_relaxed  ? &kg_svc_store_redis_relaxed
                               : &kg_svc_store_redis;
}

int kg_cmd_serve_api(int argc, char **argv)
{
    struct kg_serve_config c;
    struct kg_svc_gym gym;
    struct kg_err err = KG_ERR_INIT;
    char token[KG_SVC_TOKEN_LEN];
    bool help = false;
    kg_log_role("api");
    if (fcntl(KG_SVC_SERVE_FD, F_GETFD) < 0) {
        fprintf(stderr, "kgym %s: only `kgym serve` starts this\n", argv[0]);
        return KG_STATUS_ERROR;
    }
    enum kg_code code = parse(&c, &help, argc, argv, &err);
    code = code != KG_OK ? code : kg_svc_serve_token(token, &err);
    code = code != KG_OK ? code : kg_serve_gym(&gym, &err);
    if (code == KG_OK && c.kernelgym_preset[0] != '\0') {
        code = gym.settings(gym.ctx, c.kernelgym_preset, NULL, NULL, 0, &err);
    }
    if (code == KG_OK) {
        const struct kg_svc_api_options o = {.fd = KG_SVC_SERVE_FD,
                                             .ready_fd = KG_SVC_READY_FD,
                                             .folder = c.folder,
                                             .queue_limit = c.queue_limit,
                                             .queue_limit_token = c.queue_limit_token,
                                             .free_bytes = c.free_mb << 20,
                                             .body_bytes = c.body_mb << 20,
                                             .term_ms = (int64_t)(c.term_s * 1000),
                                             .worker_token = token,
                                             .needs_tokens = !is_loopback(c.host),
                                             .kind = kind_of(&c),
                                             .place = c.store[0] != '\0' ? c.store : c.folder,
                                             .gym = &gym,
                                             .kernelgym = kernelgym_of(&c)};
        code = kg_svc_api_run(&o, &err);
    }
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("serve", &err);
}

int kg_cmd_serve_worker(int argc, char **argv)
{
    struct kg_err err = KG_ERR_INIT;
    char folder[4000], program[4096], token[KG_SVC_TOKEN_LEN];
    kg_log_role("worker");
    if (argc != 4) {
        fprintf(stderr, "kgym %s: only `kgym serve` starts this\n", argv[0]);
        return KG_STATUS_ERROR;
    }
    enum kg_code code = kg_svc_serve_token(token, &err);
    code = code != KG_OK ? code : kg_file_self_dir(folder, sizeof folder, &err);
    if (code == KG_OK) {
        snprintf(program, sizeof program, "%s/kgym", folder);
        const struct kg_svc_worker_options o = {.host = argv[1],
                                                .port = atoi(argv[2]),
                                                .token = token,
                                                .jobs = atoi(argv[3]),
                                                .program = program,
                                                .facts = KG_SERVE_FACTS};
        code = kg_svc_worker_run(&o, &err);
    }
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("serve", &err);
}
