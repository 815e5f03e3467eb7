/* The option table of a training run. */
#include "rl/run/options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const mixes[] = {"weak", "rich", NULL};
static const char *const returns[] = {"sum", "final_reward", "max_reward", "delta", NULL};
static const char *const n1s[] = {"zero", "raw", "cross", NULL};
static const char *const sets[] = {"live", "kept", NULL};
static const char *const cvs[] = {"off", "fixed", "fit", NULL};
static const char *const offpolicies[] = {"onpolicy", "decoupled", "bypass", "pure", NULL};
static const char *const forms[] = {"clip", "gspo", NULL};
static const char *const aggs[] = {"seq-mean-token-sum",  "token-mean",
                                   "seq-mean-token-mean", "seq-mean-token-sum-norm",
                                   "seq-sum-no-norm",     NULL};
static const char *const denoms[] = {"nominal", "live", "kept", NULL};
static const char *const mrss[] = {"off",      "token",     "turn",     "turn-geo",
                                   "sequence", "geometric", "turn-abs", NULL};
static const char *const tiss[] = {"off", "token", "row", "trajectory", NULL};
static const char *const prs_modes[] = {"all", "positive", "weight", NULL};
static const char *const zero_vars[] = {"off", "any-turn", "last-turn", NULL};
static const char *const kls[] = {"k2", "k3", "abs", "k1", NULL};
static const char *const overs[] = {"uniform", "balanced", "efficiency", NULL};
static const char *const curricula[] = {"static", "ratchet", "ramp", "prop", "hysteresis", NULL};
static const char *const trainers[] = {"pg", "topk", "sft", NULL};
static const char *const winners[] = {"problem", "row", NULL};
static const char *const fills[] = {"none", "hold", NULL};
static const char *const devices[] = {"cpu", "cuda", NULL};
static const char *const dtypes[] = {"f32", "bf16", NULL};
static const char *const quants[] = {"none", "int8", NULL};
static const char *const worlds[] = {"chains", "pytorch", NULL};

#define OPT_STRUCT struct rl_config
#include "base/opt_rows.h"

static const struct kg_opt table[] = {
    INT("seed", seed, 0, 1e15, "1", "", "Of all draws of the run."),
    INT("threads", threads, 0, 256, "0", "", "Of the engine; 0: one for each core."),
    INT("split", split, 0, 1e15, "1", "", "Seed that cuts the pairs into fifths."),
    INT("part", part, 0, RL_PARTS - 1, "0", "", "Which fifth of the pairs is held out."),
    INT("model.hidden", hidden, 8, 4096, "80", "", "Width of the model."),
    INT("model.inter", inter, 8, 16384, "240", "", "Width of its feed-forward block."),
    INT("model.layers", layers, 1, 64, "3", "", "Its blocks."),
    INT("model.heads", heads, 1, 64, "4", "", "Its heads; divides the width."),
    INT("corpus.documents", documents, 1, 1e6, "16000", "", "Conversations of the corpus."),
    INT("corpus.merges", merges, 0, 1e5, "512", "", "Merges of the tokenizer."),
    REAL("corpus.talks", talks, 0, 1, "0", "", "Share with two turns; the gym judges the first."),
    REAL("corpus.triples", corpus_triples, 0, 1, "0.5", "", "Share with three operators."),
    ENUM("corpus.mix", mix, mixes, "rich", "Styles of the candidates."),
    TEXT("verify", verify, "none",
         "Replies of the corpus that are judged first: all, `sample N`, none."),
    INT("sft.steps", sft_steps, 0, 1e7, "100000", "", "Most steps of SFT."),
    REAL("sft.seconds", sft_seconds, 0, 1e6, "65", "s", "Most seconds of SFT; 0: no limit."),
    INT("sft.rows", sft_rows, 64, 1e6, "2048", "", "Tokens of a step of SFT."),
    REAL("sft.lr", sft_rate, 0, 1, "0.006", "", "Highest learning rate of SFT."),
    INT("sft.warmup", sft_warmup, 0, 1e6, "20", "", "Steps until it is reached."),
    INT("rl.steps", steps, 0, 1e7, "100000", "", "Most steps of RL."),
    REAL("rl.seconds", seconds, 0, 1e6, "130", "s", "Most seconds of RL; 0: no limit."),
    INT("rl.groups", groups, 1, 4096, "8", "", "Problems of a step."),
    INT("rl.rollouts", rollouts, 1, 1024, "8", "", "Trajectories of a problem."),
    INT("rl.rows", rows, 64, 1e6, "8192", "", "Tokens of a micro-batch."),
    REAL("rl.lr", rate, 0, 1, "0.0005", "", "Learning rate of RL."),
    REAL("rl.clip", clip, 0, 1e6, "1", "", "Highest norm of the gradient; 0: off."),
    INT("rl.problems", problems, 0, 1e6, "0", "",
        "Most problems of a kind; 0: all. Few keep their references warm."),
    REAL("rl.triples", triples, 0, 1, "0.25", "", "Share of triples with curriculum=static."),
    REAL("rl.decay", decay, 0, 1, "0", "", "Weight decay of RL."),
    REAL("temperature", temperature, 0.05, 10, "1", "", "Of rollouts, and of their scores."),
    TEXT("sampler", sampler, "engine",
         "engine, bf16-weights, stale K, noise SIGMA: weights that rollouts are drawn with."),
    ENUM("trainer", trainer, trainers, "pg",
         "pg: a step of the estimator; topk: best-of-N; sft: rounds on the best of N."),
    INT("bestof_n", bestof_n, 1, 1024, "10", "", "topk, sft: trajectories of a problem."),
    INT("bestof_k", bestof_k, 1, 1024, "3", "", "topk, sft: most winners of a problem."),
    ENUM("bestof_weight", bestof_weight, winners, "problem", "What weighs 1: a problem or a row."),
    INT("bestof_epochs", bestof_epochs, 1, 100, "2", "", "sft: updates of a round."),
    REAL("min_reward", min_reward, -1e6, 1e6, "-1e6", "", "topk, sft: winners have more."),
    INT("lora.r", lora_r, 0, 4096, "0", "", "Rank of the adapter that RL trains; 0: all weights."),
    REAL("lora.alpha", lora_alpha, 0, 1e6, "32", "", "Its scale is alpha / r."),
    REAL("lora.dropout", lora_dropout, 0, 0.9, "0", "", "Of its input, in the gradient."),
    TEXT("lora.targets", lora_targets, "all", "all, or parts such as q,k,v,o,gate,up,down."),
    INT("turns", turns, 1, 8, "1", "", "Turns of a trajectory."),
    BOOL("feedback", feedback, "yes", "no: a later turn is a second sample of the first."),
    REAL("early_stop", early_stop, 0, 1e6, "0", "",
         "A trajectory ends at this lower bound of the speed-up; 0: off."),
    ENUM("fill", fill, fills, "none", "Turns that early_stop leaves out count as the last one."),
    INT("resp_max", resp_max, 1, 1e5, "256", "tokens", "Longest reply."),
    INT("min_resp", min_resp, 1, 1e5, "16", "tokens", "Room that a turn needs to begin."),
    INT("ctx_max", ctx_max, 32, 1e6, "640", "tokens", "Longest trajectory."),
    INT("fb_max", fb_max, 0, 1e5, "24", "tokens", "Longest feedback."),
    TEXT("reward", reward, "dr-kernel", "Reward preset of the gym; correct: 1 for a right one."),
    BOOL("reuse", reuse, "yes", "Equal replies to a problem share the first record."),
    INT("recheck", recheck, 0, 1e6, "32", "",
        "Of so many correct replies of RL, one is judged again by preset default; 0: none."),
    REAL("recheck_seconds", recheck_seconds, 0, 1e6, "15", "s", "Most seconds for it, after RL."),
    ENUM("returns", returns, returns, "sum", "How rewards become returns."),
    BOOL("force_delta", force_delta, "no", "Allows returns=delta."),
    REAL("gamma", gamma, 0, 1, "1", "", "Discount by turn."),
    BOOL("void", void_turns, "no", "A failure after a success does not train."),
    TEXT("adv", adv, "trloo", "Estimator of the advantage."),
    ENUM("n1", n1, n1s, "zero", "Advantage of a row without companions."),
    ENUM("baseline_set", baseline_set, sets, "kept", "Rows that baselines are made of."),
    ENUM("cv", cv, cvs, "off", "Control variate of trloo."),
    REAL("cv_beta", cv_beta, -1e3, 1e3, "0", "", "Its factor, for `fixed`."),
    BOOL("batch_std", batch_std, "no", "Advantages are divided by their deviation."),
    REAL("adv_clip", adv_clip, 0, 1e6, "0", "", "Advantages are held to this size; 0: off."),
    ENUM("offpolicy", offpolicy, offpolicies, "onpolicy", "What the ratio compares."),
    ENUM("loss", form, forms, "clip", "Ratio by token, or by row."),
    ENUM("agg", agg, aggs, "seq-mean-token-sum", "How tokens are added up."),
    ENUM("denom", denom, denoms, "nominal", "Rows that the mean counts."),
    REAL("clip_lo", clip_lo, 0, 1, "0.2", "", "Ratios below 1 - clip_lo have no gradient."),
    REAL("clip_hi", clip_hi, 0, 1e3, "0.28", "", "Ratios above 1 + clip_hi have none."),
    REAL("dual", dual, 0, 1e3, "3", "", "Bound of the loss where A < 0; 0: off."),
    REAL("pure_cap", pure_cap, 1e-6, 1e6, "2", "", "offpolicy=pure: highest weight."),
    REAL("kl_loss", kl_loss, 0, 1e3, "0", "", "Weight of the KL to the start of RL in the loss."),
    ENUM("kl", kl, kls, "k2", "Its form."),
    REAL("kl_reward", kl_reward, 0, 1e3, "0", "", "The same, taken from the reward."),
    REAL("scale", scale, 1e-9, 1e9, "1", "", "The loss is divided by it."),
    REAL("entropy", entropy, 0, 1e3, "0", "", "Weight of the entropy; 0: off."),
    REAL("ent_mask", ent_mask, 0, 1, "0", "", "Tokens above this quantile train; 0: all."),
    REAL("risk_mask", risk_mask, 0, 1, "0", "", "Less likely tokens with A < 0 do not train."),
    ENUM("mrs", mrs, mrss, "off", "Rejection by the mismatch of sampler and learner."),
    REAL("mrs_lo", mrs_lo, 0, 1, "0.999", "", "Least ratio; 0: 1 / mrs_hi."),
    REAL("mrs_hi", mrs_hi, 0, 1e6, "1.001", "", "Highest ratio."),
    REAL("veto", veto, 0, 1, "0", "", "A token below this ratio rejects its row; 0: off."),
    ENUM("tis", tis, tiss, "off", "Importance weights by the mismatch."),
    REAL("tis_cap", tis_cap, 1e-6, 1e6, "2", "", "Highest importance weight."),
    BOOL("prs", prs, "yes", "Rejects correct replies of low coverage."),
    ENUM("prs_mode", prs_mode, prs_modes, "positive", "Which rows the coin decides."),
    REAL("prs_tau", prs_tau, 0, 1, "0.3", "", "Coverage that is never kept."),
    REAL("prs_sigma", prs_sigma, 0, 1, "0.1", "", "Width from never to always."),
    REAL("prs_or_speed", prs_or_speed, 0, 1e6, "0", "", "Keep from this speed-up on; 0: off."),
    ENUM("zero_var", zero_var, zero_vars, "any-turn", "Groups that have nothing to teach."),
    INT("min_group", min_group, -1, 1024, "-1", "",
        "Least trajectories with verdicts in a group; -1: half and one."),
    BOOL("need_success", need_success, "no", "Drops groups without a reward above reward_least."),
    REAL("reward_least", reward_least, -1e6, 1e6, "0", "", "See need_success."),
    BOOL("no_overlong", no_overlong, "no", "Drops groups with a reply that was cut."),
    INT("refill_rounds", refill_rounds, 0, 8, "3", "",
        "Most times that a step samples again for dropped groups."),
    REAL("prompt_over", prompt_over, 1, 4, "1", "", "Groups are sampled so many times."),
    REAL("sample_over", sample_over, 1, 4, "1", "", "Rollouts are sampled so many times."),
    ENUM("over", over, overs, "uniform", "How those that train are chosen."),
    ENUM("curriculum", curriculum, curricula, "static", "How the share of triples moves."),
    REAL("cur_min", cur_min, 0, 1, "0.1", "", "Its start."),
    REAL("cur_delta", cur_delta, 0, 1, "0.05", "", "One move."),
    INT("cur_steps", cur_steps, 0, 1000, "8", "", "Most moves up."),
    INT("cur_window", cur_window, 1, RL_CURRICULUM_WINDOW, "5", "", "Steps of the accuracy."),
    INT("cur_theta", cur_theta, 0, 100, "40", "%", "Accuracy on pairs that moves it up."),
    BOOL("cur_ge", cur_ge, "no", "An accuracy of exactly this does, too."),
    BOOL("cur_lower", cur_lower, "no", "The lower bound of the accuracy decides."),
    INT("cur_evals", cur_evals, 0, 1e6, "0", "", "Least trajectories that decide."),
    INT("cur_fall", cur_fall, 0, 100, "30", "%", "hysteresis: accuracy that moves it down."),
    INT("cur_cooldown", cur_cooldown, 0, 1e6, "1", "steps", "hysteresis: between moves."),
    REAL("cur_band", cur_band, 1e-6, 1, "0.2", "", "prop: accuracies from none to all."),
    INT("eval.pairs", eval_pairs, 0, 1e5, "100", "", "Held-out pairs of an evaluation."),
    INT("eval.triples", eval_triples, 0, 1e5, "30", "", "Held-out triples of an evaluation."),
    INT("eval.samples", eval_samples, 1, 64, "4", "", "Trajectories of each."),
    REAL("eval.top_p", eval_top_p, 0, 1, "1", "", "Mass of the tokens that are drawn."),
    BOOL("dry_run", dry_run, "yes", "Rehearse known good and bad replies before training."),
    ENUM("device", device, devices, "cpu", "Where the model computes."),
    ENUM("dtype", dtype, dtypes, "f32", "What it computes in."),
    ENUM("quant", quant, quants, "none", "Form of frozen weights."),
    ENUM("world", world, worlds, "chains", "Problems to train on."),
    TEXT("base", base, "", "Published model to start from; empty: fresh weights."),
    INT("checkpoint", checkpoint, 1, 1e9, "20", "", "Steps of RL between two checkpoints."),
    REAL("checkpoint_seconds", checkpoint_seconds, 0.01, 1e6, "60", "s",
         "Most seconds between two checkpoints, in SFT too."),
    TEXT("journal", journal, "", "Journal of verdicts to replay; the gym judges what it lacks."),
    TEXT("gym_preset", gym_preset, "train", "Evaluation preset of the gym."),
    TEXT("service", service, "", "Address of a service that judges; empty: this host does."),
    TEXT("token_file", token_file, "",
         "File with the service's token; empty: KGYM_TOKEN, KGYM_TOKEN_FILE, or none."),
};

enum kg_code rl_config_gym(struct rl_config *c, const char *key, size_t i, const char *value,
                           const char *source, bool *taken, struct kg_err *err)
{
    *taken = strncmp(key, "gym.", 4) == 0;
    if (!*taken) {
        return KG_OK;
    }
    if (i > 0) {
        return kg_fail(err, KG_E_USAGE, "%s: `%s` is a list, not a value", source, key);
    }
    if (c->ngym == RL_GYM_KEYS) {
        return kg_fail(err, KG_E_LIMIT, "%s: more than %d keys of the gym", source, RL_GYM_KEYS);
    }
    int n = snprintf(c->gym[c->ngym], RL_GYM_KEY, "%s=%s", key + 4, value);
    if (n >= RL_GYM_KEY) {
        return kg_fail(err, KG_E_LIMIT, "%s: %.60s is too long", source, key);
    }
    c->ngym++;
    return KG_OK;
}

static enum kg_code other(void *config, const char *key, size_t i, const char *value,
                          const char *source, bool *taken, struct kg_err *err)
{
    return rl_config_gym(config, key, i, value, source, taken, err);
}

static const struct kg_opts options = {
    .table = table, .n = sizeof table / sizeof *table, .other = other};

const struct kg_opts *rl_options(void)
{
    return &options;
}

void rl_config_defaults(struct rl_config *c)
{
    memset(c, 0, sizeof *c);
    kg_opts_defaults(&options, c);
}

enum kg_code rl_config_pair(struct rl_config *c, const char *pair, const char *source,
                            struct kg_err *err)
{
    return kg_opts_set_pair(&options, c, pair, source, err);
}

enum kg_code rl_config_file(struct rl_config *c, const char *path, struct kg_err *err)
{
    return kg_opts_yaml(&options, c, path, err);
}

void rl_config_dump_gym(const struct rl_config *c, struct kg_buf *out)
{
    for (size_t i = 0; i < c->ngym; i++) {
        const char *eq = strchr(c->gym[i], '=');
        kg_buf_addf(out, "gym.%.*s: ", (int)(eq - c->gym[i]), c->gym[i]);
        kg_opts_dump_text(eq + 1, out);
        kg_buf_addc(out, '\n');
    }
}

void rl_config_dump(const struct rl_config *c, struct kg_buf *out)
{
    kg_opts_dump(&options, c, false, out);
    rl_config_dump_gym(c, out);
}
