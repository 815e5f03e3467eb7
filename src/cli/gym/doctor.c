/* kgym doctor: what this host allows and measures, and what each missing piece costs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "cli/gym/config.h"
#include "cli/gym/doctor.h"
#include "gym/card/card.h"
#include "gym/card/pen.h"
#include "gym/eval/context.h"
#include "gym/eval/evaluate.h"
#include "gym/eval/paths.h"
#include "gym/sandbox/sandbox.h"
#include "gym/torch/executor/torch_facts.h"

#define DETAIL   19 /* column where a line's detail begins */
#define UNBROKEN 100000

static const char help_text[] =
    "usage: kgym doctor [--device D] [--quick] [--json]\n"
    "       kgym doctor --store PLACE [--json]\n"
    "\n"
    "What this host allows and measures: compiler, sandbox ladder, and how well it\n"
    "keeps time: the cost of a hand-off (K), and a null test, the reference against\n"
    "itself, whose ratio must be 1; and what PyTorch problems would run on: of a GPU\n"
    "also driver, clocks, CUPTI, MPS, MIG, its own K and null test. Each missing\n"
    "piece comes with what it costs and what to do.\n"
    "\n"
    "  --device D        where PyTorch problems would run: cpu, cuda:0, auto\n"
    "  --quick           leave out the measurements and PyTorch\n"
    "  --store PLACE     examine this store of the service and nothing else: its\n"
    "                    folder, or redis://...; each record is read\n"
    "  --json            one JSON object\n"
    "  --set KEY=VALUE   any configuration key, such as compiler (`kgym options`\n"
    "                    lists them)\n"
    "\n"
    "exit status: 0 all well, 1 something is missing or noisy, 2 kgym can't run here\n";

/* What a step gives, what is lost without it, and how to get it. */
static const struct {
    uint32_t step;
    const char *gives, *cost;
} steps[] = {
    {KG_STEP_RLIMIT, "limits on CPU time, files and processes",
     "candidates can exhaust processes, files and CPU time"},
    {KG_STEP_CGROUP, "memory and task limits for a candidate as a whole",
     "memory and task limits hold per process only; run as root or delegate a cgroup"},
    {KG_STEP_USERNS, "a user namespace without rights outside",
     "needs kernel.unprivileged_userns_clone=1; other namespaces depend on it unless root"},
    {KG_STEP_MOUNTNS, "a file system that holds the toolchain and nothing else",
     "the host's file names are visible; Landlock alone confines files"},
    {KG_STEP_PIDNS, "no other process in sight",
     "other processes are visible; leftovers are found through the cgroup only"},
    {KG_STEP_NETNS, "no network", "only seccomp keeps candidates off the network"},
    {KG_STEP_IPCNS, "no shared memory of others",
     "only seccomp keeps candidates off the host's shared memory segments"},
    {KG_STEP_UID, "a user of its own",
     "candidates run under the user of kgym; run as root for a uid of their own"},
    {KG_STEP_LANDLOCK, "files by allow-list",
     "kgym refuses to judge (or runs as L0): a kernel of 5.13 or newer with Landlock is needed"},
    {KG_STEP_NNP, "no new privileges", "kgym refuses to judge"},
    {KG_STEP_SECCOMP, "system calls by allow-list",
     "kgym refuses to judge (or runs as L0): a kernel with seccomp filters is needed"},
    {KG_STEP_TMPFS, "scratch in memory, limited in bytes and files",
     "scratch is a plain folder, so a disk flood is limited per file only"},
    {KG_STEP_ENV, "an environment by allow-list", "the environment of kgym is visible"},
    {KG_STEP_FDS, "no descriptors but its own", "descriptors of kgym are visible"},
    {KG_STEP_SESSION, "a session of its own", "signals may reach the terminal's processes"},
};

static const char *words_on(uint32_t step, bool has)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].step == step) {
            return has ? steps[i].gives : steps[i].cost;
        }
    }
    return "";
}

/* Long details go on below themselves. What is no terminal gets whole lines, which programs read.
 */
void kg_doctor_line(struct kg_doctor *d, bool good, const char *what, const char *detail)
{
    struct kg_pen p = {.out = &d->text,
                       .colour = d->colour,
                       .ascii = !kg_card_unicode(),
                       .width = kg_term_tty(stdout) ? kg_term_width(stdout) : UNBROKEN};
    kg_pen_to(&p, 2);
    kg_pen_put(&p, good ? KG_GREEN : KG_YELLOW, good ? "ok   " : "lacks");
    kg_pen_to(&p, DETAIL - 11);
    kg_pen_put(&p, KG_PLAIN, what);
    kg_pen_to(&p, DETAIL);
    kg_pen_wrap(&p, KG_PLAIN, DETAIL, detail);
    kg_pen_line(&p);
}

/* compiler NULL: nothing can be judged here, and why says it. */
static void host(struct kg_doctor *d, const char *compiler, const char *why)
{
    json_t *env = kg_context_environment(compiler ? compiler : "", -1);
    kg_term_add(&d->text, d->colour, KG_BOLD, "host\n");
    kg_buf_addf(&d->text, "  %s, %lld cores, Linux %s\n",
                json_string_value(json_object_get(env, "cpu")),
                (long long)json_integer_value(json_object_get(env, "cores")),
                json_string_value(json_object_get(env, "kernel")));
    kg_doctor_line(d, compiler != NULL, compiler ? "compiler" : "judging",
                   compiler ? compiler : why);
    if (!compiler) {
        json_object_set_new(env, "compiler", json_null());
    }
    json_object_set_new(d->out, "host", env);
}

static void ladder(struct kg_doctor *d)
{
    const struct kg_host_caps *caps = kg_sandbox_caps();
    json_t *found = json_object();
    char detail[400];
    kg_term_add(&d->text, d->colour, KG_BOLD, "sandbox\n");
    for (int bit = 0; bit < KG_STEP_COUNT; bit++) {
        bool has = caps->steps & (1u << bit);
        d->bad = d->bad || !has;
        snprintf(detail, sizeof detail, "%s%s%s%s", words_on(1u << bit, has), has ? "" : " (",
                 has ? "" : caps->why[bit], has ? "" : ")");
        kg_doctor_line(d, has, kg_step_name(1 << bit), detail);
        json_object_set_new(found, kg_step_name(1 << bit),
                            has ? json_true() : json_string(caps->why[bit]));
    }
    static const char *const groups[] = {"no control groups", "control groups v1",
                                         "control groups v2"};
    kg_buf_addf(&d->text, "  Landlock ABI %d, %s, %s\n", caps->landlock_abi,
                groups[caps->cgroup_version], caps->root ? "root" : "unprivileged");
    kg_buf_addf(&d->text, "  while it is not called, a candidate is stopped: %s\n",
                caps->freezer ? "with its children" : "its first process only, without a freezer");
    json_object_set_new(d->out, "sandbox", found);
}

void kg_doctor_noise(struct kg_doctor *d, const char *name, const struct kg_noise *n, bool quiet,
                     const char *where, int64_t shortest_ns, const char *rule)
{
    d->bad = d->bad || !quiet;
    kg_buf_addf(&d->text, "  call cost K %.2f us (p10 %.2f, p90 %.2f)%s\n", (double)n->k_ns * 1e-3,
                (double)n->k_p10_ns * 1e-3, (double)n->k_p90_ns * 1e-3, where);
    kg_buf_addf(&d->text, "  shortest time that is rewarded, T: %.0f us%s\n",
                (double)shortest_ns * 1e-3, rule);
    kg_buf_addf(&d->text, "  null test  %.4f [%.4f, %.4f] over %lld pairs of `%s` (%.3f ms)\n",
                n->ratio.ratio, n->ratio.lo, n->ratio.hi, (long long)n->ratio.pairs, n->problem,
                (double)n->reference_ns * 1e-6);
    kg_doctor_line(d, quiet, "quiet",
                   quiet ? "the reference against itself gives 1, closely"
                         : "the host is noisy: stop other work, or expect wide intervals");
    json_object_set_new(d->out, name,
                        json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I, s:s, s:b}",
                                  "overhead_ns", (json_int_t)n->k_ns, "overhead_p10_ns",
                                  (json_int_t)n->k_p10_ns, "overhead_p90_ns",
                                  (json_int_t)n->k_p90_ns, "shortest_ns", (json_int_t)shortest_ns,
                                  "null_ratio", n->ratio.ratio, "null_lo", n->ratio.lo, "null_hi",
                                  n->ratio.hi, "pairs", (json_int_t)n->ratio.pairs, "problem",
                                  n->problem, "quiet", quiet));
}

static enum kg_code timing(struct kg_doctor *d, const struct kg_config *config, struct kg_err *err)
{
    struct kg_noise n;
    char where[24];
    int cpu = -1;
    kg_worker_cores(&cpu, 1);
    if (kg_native_noise(config, cpu, &kg_cli_cancelled, &n, err) != KG_OK) {
        return err->code;
    }
    bool quiet = n.ratio.lo <= 1 && n.ratio.hi >= 1 && n.ratio.half_width <= 0.02;
    kg_term_add(&d->text, d->colour, KG_BOLD, "timing\n");
    snprintf(where, sizeof where, " on CPU %d", cpu);
    kg_doctor_noise(d, "timing", &n, quiet, where, n.shortest_ns,
                    " (20 times the least K seen on this core)");
    return KG_OK;
}

static const char *fact(const json_t *facts, const char *key)
{
    const char *s = json_string_value(json_object_get(facts, key));
    return s && *s ? s : "unknown";
}

static void python(struct kg_doctor *d, const json_t *facts)
{
    char detail[600];
    snprintf(detail, sizeof detail, "%s (%s)", fact(facts, "python"), fact(facts, "executable"));
    kg_doctor_line(d, true, "python", detail);
    snprintf(detail, sizeof detail, "%s, built for CUDA %s", fact(facts, "torch"),
             fact(facts, "cuda_built"));
    kg_doctor_line(d, true, "torch", detail);
    bool triton = json_is_string(json_object_get(facts, "triton"));
    kg_doctor_line(d, triton, "triton",
                   triton ? fact(facts, "triton")
                          : "Triton candidates cannot be imported; `make torch`");
}

/* PyTorch is a choice: without it nothing else is worse. A device that was asked for is none. */
static void pytorch(struct kg_doctor *d, struct kg_worker *w, const char *asked)
{
    struct kg_err err = KG_ERR_INIT;
    json_t *facts = NULL;
    char detail[600];
    kg_term_add(&d->text, d->colour, KG_BOLD, "pytorch\n");
    if (kg_torch_facts(w, &facts, &err) != KG_OK) {
        if (facts) {
            python(d, facts);
        }
        snprintf(detail, sizeof detail, "%s: %s", asked, err.message);
        kg_doctor_line(d, false, facts ? "device" : "package", facts ? detail : err.message);
        d->bad = d->bad || (strcmp(asked, "auto") != 0 && strcmp(asked, "cpu") != 0);
        facts = facts ? facts : json_object();
        json_object_set_new(facts, "error", json_string(err.message));
        json_object_set_new(d->out, "pytorch", facts);
        return;
    }
    python(d, facts);
    snprintf(detail, sizeof detail, "%s: %s, %lld MB, exchange %s", fact(facts, "device"),
             fact(facts, "device_name"),
             (long long)json_integer_value(json_object_get(facts, "memory_bytes")) >> 20,
             fact(facts, "exchange"));
    kg_doctor_line(d, true, "device", detail);
    if (json_is_true(json_object_get(facts, "clock"))) {
        kg_doctor_gpu(d, w, facts);
    } else {
        kg_doctor_line(d, false, "gpu",
                       "Triton is interpreted at tiny shapes, and speed is not measured");
    }
    json_object_set_new(d->out, "pytorch", facts);
}

/* What was found so far is shown even when the rest cannot be looked at. */
static int examine(struct kg_doctor *d, const struct kg_config *config)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_worker *w = NULL;
    int cpu = -1;
    kg_worker_cores(&cpu, 1); /* where a batch would time */
    enum kg_code code = kg_worker_open(config, cpu, &kg_cli_cancelled, &w, &err);
    host(d, code == KG_OK ? kg_worker_compiler(w) : NULL, err.message);
    ladder(d);
    if (code == KG_OK && !d->quick) {
        pytorch(d, w, config->device);
    }
    kg_worker_close(w);
    if (code == KG_OK && !d->quick) {
        code = timing(d, config, &err);
    }
    json_object_set_new(d->out, "error", code == KG_OK ? json_null() : json_string(err.message));
    if (d->json) {
        kg_buf_reset(&d->text);
        kg_json_dump(d->out, &d->text);
        kg_buf_addc(&d->text, '\n');
    }
    fputs(d->text.data, stdout);
    fflush(stdout);
    return code != KG_OK ? kg_cli_fail("doctor", &err) : d->bad ? KG_STATUS_BAD : KG_STATUS_GOOD;
}

/* A password in a place is not repeated: the store's own words name it without. */
static int examine_store(struct kg_doctor *d)
{
    struct kg_err err = KG_ERR_INIT;
    enum kg_code code = kg_cli_look_at_store(d->store, d->out, &err);
    const char *why = json_string_value(json_object_get(d->out, "why")), *name;
    json_t *n;
    if (code != KG_OK) {
        return kg_cli_fail("doctor", &err);
    }
    kg_term_add(&d->text, d->colour, KG_BOLD, "store\n");
    kg_doctor_line(d, why == NULL, json_string_value(json_object_get(d->out, "kind")),
                   why == NULL ? "it is whole, and keeps what it has accepted" : why);
    json_object_foreach(d->out, name, n)
    {
        if (json_is_integer(n)) {
            kg_buf_addf(&d->text, "  %-10s %lld\n", name, (long long)json_integer_value(n));
        }
    }
    if (d->json) {
        kg_buf_reset(&d->text);
        kg_json_dump(d->out, &d->text);
        kg_buf_addc(&d->text, '\n');
    }
    fputs(d->text.data, stdout);
    return why != NULL ? KG_STATUS_BAD : KG_STATUS_GOOD;
}

static enum kg_code parse(struct kg_doctor *d, struct kg_cli_config *cc, int argc, char **argv,
                          struct kg_err *err)
{
    static const char *const flags[] = {"--json",   "--quick", "--store", "--config",
                                        "--preset", "--set",   "--help",  NULL};
    for (int i = 1; i < argc;) {
        int used = 1;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            d->help = true;
        } else if (strcmp(argv[i], "--json") == 0) {
            d->json = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            d->quick = true;
        } else if (kg_cli_value("--store", argc, argv, i, &used, &d->store, err) != KG_OK ||
                   used > 0) {
            if (err->code != KG_OK) {
                return err->code;
            }
        } else if (kg_cli_config_word(cc, argc, argv, i, &used, err) != KG_OK) {
            return err->code;
        }
        if (!used) {
            return kg_cli_unknown("doctor", argv[i], flags, kg_config_options(), err);
        }
        i += used;
    }
    return KG_OK;
}

int kg_cmd_doctor(int argc, char **argv)
{
    struct kg_doctor d = {.colour = kg_term_colour(stdout)};
    struct kg_cli_config cc = {.nset = 0};
    struct kg_config config;
    struct kg_err err = KG_ERR_INIT;
    if (parse(&d, &cc, argc, argv, &err) != KG_OK) {
        return kg_cli_fail("doctor", &err);
    }
    if (d.help) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    if (kg_cli_config_resolve(&cc, argc, argv, &config, &err) != KG_OK) {
        return kg_cli_fail("doctor", &err);
    }
    kg_cli_signals();
    kg_sandbox_sweep();
    kg_buf_init(&d.text, 1 << 18);
    d.out = json_object();
    int status = d.store != NULL ? examine_store(&d) : examine(&d, &config);
    kg_buf_deinit(&d.text);
    json_decref(d.out);
    return status;
}
