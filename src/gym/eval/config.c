/* The option table of an evaluation. */
#include "gym/eval/config.h"

static const char *const methods[] = {"paired", "calibrated", NULL};
static const char *const libraries[] = {"allowed", "forbidden", NULL};
static const char *const quarantines[] = {"refuse", "ignore", NULL};
static const char *const variants[] = {"all", "few", NULL};
static const char *const spares[] = {"auto", "yes", "no", NULL};
static const char *const protocols[] = {"kgym", "kernelbench", NULL};

#define OPT_STRUCT struct kg_config
#include "base/opt_rows.h"

static const struct kg_opt table[] = {
    TEXT("preset", preset, "default", "Evaluation preset that the other options start from."),
    ENUM("protocol", protocol, protocols, "kgym",
         "Whose procedure judges. kernelbench: that project's, by its preset; never rewarded."),
    TEXT("rewards", rewards, "dr-kernel", "Reward presets to compute, separated by commas."),
    BOOL_CLIENT("staged", staged, "yes", "Stop at the first stage that fails."),
    BOOL_CLIENT("stage.static", stage_static, "yes",
                "Check the source by rules before compiling it."),
    BOOL_CLIENT("stage.tiny", stage_tiny, "yes", "Run once on tiny inputs before the full run."),
    BOOL_CLIENT("stage.full", stage_full, "yes", "Compare answers on many inputs."),
    BOOL_CLIENT("stage.timing", stage_timing, "yes",
                "Measure the speed-up of a correct candidate."),
    BOOL_CLIENT("stage.profile", stage_profile, "no",
                "Attribute time to the candidate's own code."),
    BOOL_CLIENT(
        "multi_input", multi_input, "yes",
        "Full run on the five variants of the inputs and on several kinds of values (laws)."),
    ENUM_CLIENT(
        "variants", variants, variants, "all",
        "C: inputs of the full run. few: the published shape, an odd one and each law, once."),
    INT_CLIENT(
        "laws", laws, 0, 64, "4", "",
        "Kinds of input values (laws): all; 0: only those that are always asked. PyTorch: so many "
        "of a problem with too many bytes for all."),
    BOOL_CLIENT("hack_checks", hack_checks, "yes",
                "Look for replayed answers, work outside the clock and times below the floor."),
    ENUM_BESIDE(
        "quarantine", quarantine, quarantines, "refuse",
        "Problems that `kgym problems check` has put aside. refuse: an error; ignore: judged."),
    REAL("deadline.compile", deadline_compile, 0.1, 3600, "20", "s", "Time to compile."),
    REAL("deadline.run", deadline_run, 0.1, 3600, "20", "s",
         "Wall time of one run stage, and of a single call in timing."),
    REAL("deadline.eval", deadline_eval, 0.1, 86400, "60", "s", "Time of a whole evaluation."),
    INT("limit.memory_mb", limit_memory_mb, 16, 1 << 20, "2048", "MB", "Memory of a runner."),
    INT("limit.compile_memory_mb", limit_compile_memory_mb, 64, 1 << 20, "2048", "MB",
        "Memory of the compiler."),
    INT("limit.processes", limit_processes, 1, 4096, "64", "",
        "Processes and threads that a candidate may have."),
    INT("limit.file_mb", limit_file_mb, 1, 1 << 16, "64", "MB",
        "Largest file that may be written."),
    INT("limit.scratch_mb", limit_scratch_mb, 8, 1 << 16, "256", "MB",
        "Size of the scratch folder; PyTorch: of a runner's /tmp, which has at least 512."),
    INT("limit.output_kb", limit_output_kb, 1, 1 << 20, "64", "KB",
        "Output kept in the record, head and tail; the rest is counted."),
    ENUM_CLIENT("timing.method", timing_method, methods, "paired",
                "paired: log ratios of random balanced pairs; calibrated: trimmed means."),
    INT_CLIENT("timing.pairs", timing_pairs, 3, 10000, "20", "", "Pairs per process."),
    INT_CLIENT("timing.processes", timing_processes, 1, KG_TIMING_MOST_PROCESSES, "5", "",
               "Fresh process pairs, at most: the interval is taken over them."),
    INT_CLIENT("timing.min_processes", timing_min_processes, 1, KG_TIMING_MOST_PROCESSES, "3", "",
               "Fresh process pairs, at least, before timing may stop early."),
    INT_CLIENT("timing.block_pairs", timing_block_pairs, 4, 10000, "4", "",
               "PyTorch: pairs of a block."),
    INT_CLIENT("timing.blocks", timing_blocks, 1, 128, "12", "",
               "PyTorch: blocks of pairs, at most."),
    INT_CLIENT("timing.min_blocks", timing_min_blocks, 1, 128, "2", "",
               "PyTorch: blocks, at least, before timing may stop early."),
    REAL_CLIENT("timing.block_half_width", timing_block_half_width, 0, 1, "0.02", "",
                "PyTorch: stop early at this relative half-width of the interval; 0: never."),
    REAL_CLIENT("timing.half_width", timing_half_width, 0, 1, "0.015", "",
                "Stop early at this relative half-width of the interval; 0: never."),
    REAL_CLIENT(
        "timing.widest", timing_widest, 0, 1000, "2", "",
        "An interval whose ends differ by more than this factor is not trusted, after more pairs "
        "were asked; 0: any is."),
    INT_CLIENT(
        "timing.warmups", timing_warmups, 0, 1000, "10", "",
        "Warm-up calls per process: 1 or more, for PyTorch problems 10 or more; the protocol "
        "`kernelbench` alone takes fewer."),
    INT("timing.least_calls", timing_least_calls, 1, 10000, "40", "",
        "C: verified calls that a timed process makes at least; a random number more is made."),
    REAL("timing.least_life", timing_least_life, 0, 10, "0.1", "s",
         "C: a timed process lives at least so long, and is verified until then."),
    INT("timing.null_calls", timing_null_calls, 3, 100, "24", "",
        "C: calls of an empty candidate from which a timed process learns the cost of a call."),
    INT("timing.waits", timing_waits, 0, 100, "0", "",
        "C: times that a pair is measured again in which a side had to wait for the core."),
    BOOL("timing.primers", timing_primers, "yes",
         "C: each side of a pair makes an untimed call before its timed one."),
    BOOL(
        "timing.asides", timing_asides, "yes",
        "C: some calls of timing are compared with the oracle, whatever the float reference says."),
    BOOL("timing.fresh_candidate", timing_fresh_candidate, "yes",
         "C: the first timed process is a new one; no: it is that of the stages before."),
    BOOL("timing.fresh_references", timing_fresh_references, "yes",
         "C: reference, oracle and empty candidate run in new processes for each timed process of "
         "the candidate; no: in processes that are kept for a problem."),
    INT_CLIENT("timing.trials", timing_trials, 3, 10000, "50", "",
               "Trials of the method `calibrated`, and of the protocol `kernelbench`."),
    REAL_CLIENT("timing.trim", timing_trim, 0, 0.45, "0.1", "",
                "Share trimmed at each end by the method `calibrated`."),
    REAL("timing.budget", timing_budget, 0.1, 3600, "20", "s",
         "Timing keeps the pairs it has when this is spent."),
    BOOL("timing.exclusive", timing_exclusive, "yes",
         "One evaluation at a time is timed on a core."),
    BOOL_CLIENT("timing.ahead", timing_ahead, "no",
                "PyTorch on a GPU: launch before the inputs come; the device holds it back. What "
                "the host takes to launch is not timed then."),
    BOOL_CLIENT("timing.cold", timing_cold, "no",
                "Drop the buffers from the caches before each call of timing."),
    ENUM_CLIENT("library", library, libraries, "allowed",
                "May candidates call the operator library?"),
    REAL_CLIENT(
        "library.share", library_share, 0, 1, "0.05", "",
        "PyTorch: share of the device's time that a library may have where it is forbidden."),
    TEXT_CLIENT("league", league, "fp32", "League: which arithmetic and which help are allowed."),
    TEXT_CLIENT(
        "precision", precision, "fp32",
        "Arithmetic that answers are held to: fp32, or tf32 for products (PyTorch); protocol "
        "`kernelbench`: fp32, fp16 or bf16."),
    TEXT("compiler", compiler, "gcc", "C compiler for references and candidates."),
    TEXT("device", device, "auto",
         "Where PyTorch problems run: cpu, cuda:N, or auto: a GPU where there is one."),
    INT("device.memory_mb", device_memory_mb, 0, 1 << 24, "0", "MB",
        "PyTorch: memory of the device that all jobs of this user may take together; 0: on a GPU "
        "what is free there, on the CPU no limit."),
    TEXT("python", python, "",
         "Python with PyTorch; empty: the environment that `make torch` makes, else python3."),
    REAL("torch.deadline_compile", torch_deadline_compile, 0.1, 3600, "300", "s",
         "PyTorch: time to import, build and construct a candidate."),
    REAL("torch.deadline_eval", torch_deadline_eval, 0.1, 86400, "600", "s",
         "PyTorch: time of a whole evaluation."),
    REAL("torch.first_call", torch_first_call, 0, 3600, "60", "s",
         "PyTorch: time that the first call at a shape has besides deadline.run (autotuning)."),
    INT("torch.memory_mb", torch_memory_mb, 0, 1 << 22, "0", "MB",
        "PyTorch: memory of a runner on the host; 0: 8 GB, more for large parameters and, on a "
        "CPU, "
        "large inputs, and for a reference what it needs."),
    INT("torch.tiny_elements", torch_tiny_elements, 1, 1 << 30, "16384", "",
        "Elements of all inputs together in the tiny variant that Triton's interpreter runs."),
    INT_CLIENT(
        "torch.shapes", torch_shapes, 0, 8, "0", "",
        "Shape variants of PyTorch problems to try, larger and smaller ones in turn: a grade."),
    BOOL_CLIENT("torch.shapes_gate", torch_shapes_gate, "no",
                "PyTorch: who is wrong at one of `torch.shapes` is wrong."),
    ENUM("torch.spare", torch_spare, spares, "auto",
         "PyTorch: begin the next candidate's runner while the last one is at work; auto: on a "
         "GPU."),
    BOOL("torch.contexts_apart", torch_contexts_apart, "true",
         "PyTorch: a process's context on a GPU is made and ended while nobody is timed there."),
    INT("torch.connections", torch_connections, 0, 32, "1", "",
        "PyTorch: hardware queues of a process's context on a GPU; 0: as many as the driver makes "
        "(8), which takes several times longer for each."),
    INT_BESIDE(
        "torch.builds_mb", torch_builds_mb, 0, 1 << 20, "2048", "MB",
        "PyTorch: size of the cache of extensions and Triton kernels that candidates build; 0: "
        "none."),
    INT("kernelbench.trials", kernelbench_trials, 1, 1000, "5", "",
        "Protocol `kernelbench`: correctness trials."),
    REAL(
        "kernelbench.tolerance", kernelbench_tolerance, 0, 1, "0", "",
        "Protocol `kernelbench`: absolute and relative tolerance; 0: by precision, fp32 1e-4, else "
        "1e-2."),
    TEXT_BESIDE("suites", suites, "",
                "Folders of problem suites, separated by colons; empty: shipped."),
    TEXT_BESIDE(
        "cache", cache, "",
        "Folder of compiled objects and builds; `none`: no cache; empty: in the user's cache "
        "folder."),
    TEXT("seed", seed, "", "32 hex digits to repeat an evaluation; empty: a fresh secret."),
    BOOL("allow_unconfined", allow_unconfined, "no",
         "Run without seccomp or Landlock where the host lacks them (recorded as L0)."),
    REAL("reward.cap", reward_cap, 0.01, 1000, "3", "", "Cap of the speed-up in rewards."),
    REAL("reward.hack_penalty", reward_hack_penalty, -1000, 0, "0", "",
         "Added to the reward of a hack."),
    BOOL("reward.s_deadzone", reward_s_deadzone, "no",
         "Count a speed-up as 1 where its interval holds 1."),
    REAL("reward.step", reward_step, 0, 1e9, "0", "", "Training step, for staged-anneal."),
    REAL("reward.anneal_steps", reward_anneal_steps, 1, 1e9, "50", "",
         "Steps in which staged-anneal's partial credits fade."),
    REAL("reward.kevin_cap", reward_kevin_cap, 0, 1000, "0", "",
         "Cap of the speed-up in kevin; 0: none, as published."),
};

static const struct kg_opts options = {.table = table, .n = sizeof table / sizeof table[0]};

const struct kg_opts *kg_config_options(void)
{
    return &options;
}

void kg_config_reward_params(const struct kg_config *c, struct kg_reward_params *out)
{
    *out = (struct kg_reward_params){
        .cap = c->reward_cap,
        .hack_penalty = c->reward_hack_penalty,
        .s_deadzone = c->reward_s_deadzone,
        .step = c->reward_step,
        .anneal_steps = c->reward_anneal_steps,
        .kevin_cap = c->reward_kevin_cap,
    };
}
