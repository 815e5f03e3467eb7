/* kgym eval: one candidate, or a batch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/term.h"
#include "base/ulid.h"
#include "cli/gym/eval_args.h"
#include "cli/gym/eval_batch.h"
#include "gym/card/card.h"
#include "gym/eval/executor.h"
#include "gym/pool/configured.h"

#define LOOK_EVERY_MS 50 /* whether a signal came */

static const char help_text[] =
    "usage: kgym eval [OPTIONS] PROBLEM REPLY\n"
    "       kgym eval [OPTIONS] --batch IN.jsonl --out OUT.jsonl [--jobs N]\n"
    "\n"
    "Judges a candidate against a problem and prints a verdict card.\n"
    "\n"
    "  PROBLEM           a name of the suites (`kgym problems list`), or a path:\n"
    "                    FILE.c, FILE.py (PyTorch, KernelBench's format),\n"
    "                    FILE.jsonl#LINE (a row of KernelBook)\n"
    "  REPLY             a .c or .py file is the candidate byte for byte; any other\n"
    "                    file, or - for standard input, is a model's reply and goes\n"
    "                    through the extractor\n"
    "\n"
    "  --source          REPLY is the candidate byte for byte, whatever its name\n"
    "  --json            print the record (kgym.record/1) instead of the card\n"
    "  --public          leave out the key `private` (seeds and cases)\n"
    "  --stop-after S    end after stage extract, static, compile, tiny, full or\n"
    "                    timing\n"
    "  --replay REC.json repeat a verdict from the seeds of its record: asks only the\n"
    "                    recorded cases, so it is no evaluation and earns no reward\n"
    "  --rewards A[,B]   reward presets to compute (below); --reward is the same\n"
    "  --batch F --out F a JSONL file of {id, problem,\n"
    "                    reply|reply_file|source|source_file}\n"
    "  --jobs N          worker processes of a batch, one CPU each (default: all\n"
    "                    CPUs; half of them where a GPU is used and timed)\n"
    "  --trace FILE      write where the time goes, for ui.perfetto.dev or\n"
    "                    chrome://tracing\n"
    "  --gym URL         a service judges (`kgym serve`); --jobs is then how many\n"
    "                    lines of a batch are there at once\n"
    "  --token-file F    its token (default: the variables KGYM_TOKEN,\n"
    "                    KGYM_TOKEN_FILE)\n"
    "  --preset NAME     evaluation preset (below)\n"
    "  --device D        where PyTorch problems run: cpu, cuda:0, auto\n"
    "  --config F.yaml   configuration file\n"
    "  --set KEY=VALUE   any configuration key (`kgym options` lists them)\n"
    "  --dump-config     print the resolved configuration as YAML and stop\n"
    "\n"
    "examples:\n"
    "  kgym eval silu answer.c\n"
    "  kgym eval matmul reply.md --json | jq .verdict\n"
    "  kgym eval softmax - --stop-after full < reply.md\n"
    "  kgym eval 04_gelu_tanh answer.py --device cpu\n"
    "  kgym eval rows.jsonl#12 reply.md\n"
    "  kgym eval --batch replies.jsonl --out records.jsonl --rewards dr-kernel,binary\n"
    "  kgym eval --batch replies.jsonl --out records.jsonl --gym http://gpu1:10907\n"
    "\n"
    "exit status: 0 verdict ok, 1 any other verdict, 2 error\n"
    "\n";

/* Printed from the tables, so that it is what there is. */
static void print_presets(void)
{
    puts("evaluation presets:");
    for (const char *const *name = kg_config_presets(); *name; name++) {
        printf("  %-16s  %s\n", *name, kg_config_preset_help(*name));
    }
    puts("\nreward presets:");
    for (const char *const *name = kg_reward_names(); *name; name++) {
        printf("  %-16s  %s\n", *name, kg_reward_formula(*name));
    }
}

static bool is_source(const struct kg_eval_args *a)
{
    return a->source || (a->reply && kg_executor_of_candidate(a->reply));
}

/* Its cases are known to whoever has the record, so a right answer to them earns nothing. */
static enum kg_code check_replay(const struct kg_eval_args *a, char **argv, struct kg_err *err)
{
    const char *asked = a->replay ? kg_cli_config_rewards(&a->config, argv) : NULL;
    return !asked ? KG_OK
                  : kg_fail(err, KG_E_USAGE,
                            "reward `%.100s`, --replay %.200s: a replay asks only the recorded "
                            "cases and is never rewarded; leave out one of them",
                            asked, a->replay);
}

/* A file whose name says that it is in another language than the problem is a slip, no candidate.
 * Problems that are not found are reported later. */
static enum kg_code check_language(const struct kg_eval_args *a, const struct kg_config *config,
                                   struct kg_err *err)
{
    struct kg_paths paths;
    const struct kg_executor *x;
    struct kg_err ignored = KG_ERR_INIT;
    char path[1024];
    const struct kg_executor *named =
        a->reply && !a->source ? kg_executor_of_candidate(a->reply) : NULL;
    if (!named || kg_paths_find(config->suites, &paths, &ignored) != KG_OK ||
        kg_executor_find(&paths, a->problem, &x, path, sizeof path, &ignored) != KG_OK ||
        strcmp(x->suffix, named->suffix) == 0) {
        return KG_OK;
    }
    return kg_fail(err, KG_E_USAGE, "%s: a candidate for `%.100s` is %s, not %s", a->reply,
                   a->problem, x->title, named->title);
}

/* The file of the problem, without the line of a row; "" where none is found, which is reported
 * later. */
static void problem_file(const struct kg_eval_args *a, const struct kg_config *config, char *out,
                         size_t cap)
{
    struct kg_paths paths;
    const struct kg_executor *x;
    struct kg_err ignored = KG_ERR_INIT;
    out[0] = '\0';
    if (a->problem && kg_paths_find(config->suites, &paths, &ignored) == KG_OK &&
        kg_executor_find(&paths, a->problem, &x, out, cap, &ignored) == KG_OK) {
        char *base = strrchr(out, '/'), *row = x->rows ? strrchr(base ? base : out, '#') : NULL;
        *(row ? row : out + strlen(out)) = '\0';
    }
}

/* A trace is made anew: it takes the place of no file that the command reads or writes. */
static enum kg_code check_trace(const struct kg_eval_args *a, const struct kg_config *config,
                                struct kg_err *err)
{
    char problem[1024];
    if (!a->trace) {
        return KG_OK;
    }
    problem_file(a, config, problem, sizeof problem);
    const char *const inputs[] = {problem, a->reply, a->replay, a->batch, a->config.file, a->out};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        if (kg_cli_spare_input("--trace", a->trace, inputs[i], err) != KG_OK) {
            return err->code;
        }
    }
    if (a->out && strcmp(a->out, a->trace) == 0) {
        return kg_fail(err, KG_E_USAGE, "--trace %s: --out names this file, too", a->trace);
    }
    return kg_cli_spare_json("--trace", a->trace, err);
}

/* A record with its key "private", as text. */
static enum kg_code load_replay(const char *path, struct kg_buf *out, struct kg_err *err)
{
    json_t *record = NULL;
    if (kg_file_read(path, out, err) != KG_OK ||
        kg_json_parse(out->data, out->len, path, &record, err) != KG_OK) {
        return err->code;
    }
    bool good = json_is_object(json_object_get(record, "private"));
    json_decref(record);
    return good ? KG_OK
                : kg_fail(err, KG_E_INPUT,
                          "%s: private: missing (a record written with --public can't be replayed)",
                          path);
}

static enum kg_code show(const struct kg_eval_args *a, const struct kg_record *r,
                         struct kg_err *err)
{
    struct kg_buf out;
    kg_buf_init(&out, 64u << 20);
    if (a->json) {
        json_t *j = kg_record_json(r, a->public_only);
        kg_json_dump(j, &out);
        kg_buf_addc(&out, '\n');
        json_decref(j);
    } else {
        kg_card_render(r, kg_term_colour(stdout), kg_term_width(stdout), &out);
    }
    enum kg_code code = KG_OK;
    if (fwrite(out.data, 1, out.len, stdout) != out.len || fflush(stdout) != 0) {
        code = kg_fail(err, KG_E_IO, "standard output: cannot write: %s", strerror(errno));
        clearerr(stdout); /* it has been said */
    }
    kg_buf_deinit(&out);
    return code;
}

static int status_of(const struct kg_record *r)
{
    if (r->has_error) {
        return KG_STATUS_ERROR;
    }
    return r->verdict == KG_V_OK || r->verdict == KG_V_NONE ? KG_STATUS_GOOD : KG_STATUS_BAD;
}

static void fail_record(struct kg_record *r, const struct kg_err *cause)
{
    struct kg_err ignored = KG_ERR_INIT;
    if (kg_ulid_new(r->id, &ignored) != KG_OK) {
        r->id[0] = 0;
    }
    kg_record_error(r, cause);
}

/* The record of one task, by a pool of one worker. */
static enum kg_code judge(const struct kg_eval_args *a, const struct kg_config *config,
                          const struct kg_buf *text, const struct kg_buf *replay,
                          struct kg_record *r, struct kg_err *err)
{
    const struct kgym_options options = {
        .workers = 1, .trace = a->trace, .gym = a->gym, .token_file = a->token_file};
    const struct kgym_task task = {.size = sizeof task,
                                   .problem = a->problem,
                                   .text = text->data,
                                   .text_len = text->len,
                                   .source = is_source(a),
                                   .stop_after = a->stop_after,
                                   .replay = a->replay ? replay->data : NULL,
                                   .replay_len = replay->len};
    struct kgym_pool *pool = NULL;
    struct kgym_result *result = NULL;
    struct kgym_error e = {.code = KGYM_OK};
    struct kg_record read;
    json_t *j = NULL;
    if (kg_pool_open(config, &options, &pool, err) != KG_OK) {
        return err->code;
    }
    enum kgym_code code = kgym_submit(pool, &task, NULL, &e);
    while (code == KGYM_OK && !result && !kg_cli_cancelled) {
        code = kgym_next(pool, LOOK_EVERY_MS, &result, &e);
    }
    if (kg_cli_cancelled) { /* whatever the signal hit first, it is no verdict */
        kg_fail(err, KG_E_CANCELLED, "interrupted");
    } else if (code != KGYM_OK) {
        (void)!kg_pool_error(&e, err);
    } else if (kg_json_parse(result->record, result->record_len, "record", &j, err) == KG_OK &&
               kg_record_parse(j, &read, err) == KG_OK) {
        kg_record_deinit(r);
        *r = read;
    }
    json_decref(j);
    kgym_result_free(result);
    kgym_close(pool);
    return err->code;
}

static int judge_one(const struct kg_eval_args *a, const struct kg_config *config)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text, replay;
    struct kg_record r;
    kg_buf_init(&text, 64u << 20);
    kg_buf_init(&replay, 64u << 20);
    kg_record_init(&r);
    if (kg_file_read(a->reply, &text, &err) != KG_OK ||
        (a->replay && load_replay(a->replay, &replay, &err) != KG_OK) ||
        judge(a, config, &text, &replay, &r, &err) != KG_OK) {
        fail_record(&r, &err);
    }
    int status = status_of(&r);
    if ((!r.has_error || a->json) && show(a, &r, &err) != KG_OK) {
        status = kg_cli_fail(a->command, &err);
    }
    if (r.has_error) {
        kg_cli_fail(a->command, &r.error);
    }
    kg_record_deinit(&r);
    kg_buf_deinit(&replay);
    kg_buf_deinit(&text);
    return status;
}

int kg_eval_main(struct kg_eval_args *a, const char *help, int argc, char **argv)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_config config;
    if (kg_eval_args_parse(a, argc, argv, &err) != KG_OK) {
        return kg_cli_fail(a->command, &err);
    }
    if (a->help) {
        fputs(help, stdout);
        print_presets();
        return KG_STATUS_GOOD;
    }
    if (kg_eval_args_check(a, &err) != KG_OK ||
        kg_cli_config_resolve(&a->config, argc, argv, &config, &err) != KG_OK) {
        return kg_cli_fail(a->command, &err);
    }
    if (a->dump) {
        struct kg_buf out;
        kg_buf_init(&out, 1 << 20);
        kg_opts_dump(kg_config_options(), &config, true, &out);
        fputs(out.data, stdout);
        kg_buf_deinit(&out);
        return KG_STATUS_GOOD;
    }
    if (check_replay(a, argv, &err) != KG_OK ||
        (!a->batch && check_language(a, &config, &err) != KG_OK) ||
        check_trace(a, &config, &err) != KG_OK) {
        return kg_cli_fail(a->command, &err);
    }
    kg_cli_signals();
    const struct kg_cli_batch_args batch = {.command = a->command,
                                            .in = a->batch,
                                            .out = a->out,
                                            .jobs = a->jobs,
                                            .stop_after = a->stop_after,
                                            .trace = a->trace,
                                            .gym = a->gym,
                                            .token_file = a->token_file,
                                            .places = true,
                                            .public_only = a->public_only};
    return a->batch ? kg_cli_batch(&config, &batch) : judge_one(a, &config);
}

int kg_cmd_eval(int argc, char **argv)
{
    struct kg_eval_args a = {.command = "eval", .gym_flag = "--gym", .flags = kg_cli_eval_flags};
    return kg_eval_main(&a, help_text, argc, argv);
}
