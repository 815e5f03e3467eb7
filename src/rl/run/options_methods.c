/* From the keys of a run to the options of its methods, and the pairs that are refused. */
#include <string.h>
#include <unistd.h>

#include "rl/run/options.h"
#include "rl/run/sampler.h"
#include "rl/run/verify.h"

#define NO_LEAST (-1e6)

const struct rl_mix *rl_config_mix(const struct rl_config *c)
{
    return c->mix == 0 ? &rl_mix_weak : &rl_mix_rich;
}

struct rl_shape rl_config_shape(const struct rl_config *c)
{
    struct rl_shape s = {.turns = (uint32_t)c->turns, .samples = (uint32_t)c->eval_samples};
    uint32_t groups = (uint32_t)c->groups;
    s.wanted = (uint32_t)(c->trainer == RL_TRAINER_PG ? c->rollouts : c->bestof_n);
    if (!c->feedback) { /* each turn becomes a trajectory */
        s.wanted *= s.turns;
        s.samples *= s.turns;
        s.turns = 1;
    }
    s.rollouts = rl_oversample_count(s.wanted, c->sample_over);
    s.first = rl_oversample_count(groups, c->prompt_over);
    s.groups = s.first + (uint32_t)c->refill_rounds * groups;
    s.live = (int)(s.first * s.rollouts);
    s.live = s.live < (int)s.samples ? (int)s.samples : s.live; /* of one problem, all at once */
    s.walks = (int)(s.groups * s.rollouts);
    return s;
}

void rl_config_curriculum(const struct rl_config *c, struct rl_curriculum_options *o)
{
    *o = (struct rl_curriculum_options){.mode = (enum rl_curriculum_mode)c->curriculum,
                                        .p_fixed = c->triples,
                                        .p_min = c->cur_min,
                                        .delta = c->cur_delta,
                                        .steps = (uint32_t)c->cur_steps,
                                        .window = (uint32_t)c->cur_window,
                                        .theta_pct = (uint32_t)c->cur_theta,
                                        .ge = c->cur_ge,
                                        .lower_bound = c->cur_lower,
                                        .min_evals = (uint32_t)c->cur_evals,
                                        .fall_pct = (uint32_t)c->cur_fall,
                                        .cooldown = (uint32_t)c->cur_cooldown,
                                        .band = c->cur_band};
}

struct lm_config rl_config_model(const struct rl_config *c, int vocab)
{
    return (struct lm_config){.vocab = vocab,
                              .hidden = (int)c->hidden,
                              .inter = (int)c->inter,
                              .layers = (int)c->layers,
                              .heads = (int)c->heads,
                              .kv_heads = (int)c->heads,
                              .head_dim = (int)(c->hidden / c->heads),
                              .max_pos = (int)c->ctx_max,
                              .rope_theta = 1e4f,
                              .rms_eps = 1e-6f,
                              .tied = true,
                              .qk_norm = true};
}

struct rl_corpus_options rl_config_corpus(const struct rl_config *c, struct rl_split *split)
{
    rl_split_init(split, (uint64_t)c->split, (int)c->part);
    return (struct rl_corpus_options){.seed = (uint64_t)c->seed,
                                      .documents = (int)c->documents,
                                      .talks = c->talks,
                                      .triples = c->corpus_triples,
                                      .merges = (int)c->merges,
                                      .feedback = (int)c->fb_max,
                                      .mix = rl_config_mix(c)};
}

int rl_config_threads(const struct rl_config *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return c->threads > 0 ? (int)c->threads : cores > 0 ? (int)cores : 1;
}

void rl_config_bestof(const struct rl_config *c, struct rl_bestof_options *o)
{
    *o = (struct rl_bestof_options){.keep = (uint32_t)c->bestof_k,
                                    .least = c->min_reward > NO_LEAST,
                                    .reward_least = c->min_reward,
                                    .each_one = c->bestof_weight == 1};
}

bool rl_config_profiles(const struct rl_config *c)
{
    bool on = strcmp(c->gym_preset, "train") == 0;
    for (size_t i = 0; i < c->ngym; i++) {
        static const char key[] = "stage.profile=";
        if (strncmp(c->gym[i], key, sizeof key - 1) == 0) {
            const char *v = c->gym[i] + sizeof key - 1;
            on = strchr("yYtT1", v[0]) != NULL || strcmp(v, "on") == 0;
        }
    }
    return on;
}

const char *rl_config_reward(const struct rl_config *c)
{
    return strcmp(c->reward, "correct") == 0 ? "binary" : c->reward;
}

bool rl_config_pays_coverage(const struct rl_config *c)
{
    return strcmp(c->reward, "dr-kernel") == 0 || strcmp(c->reward, "dr-kernel-half") == 0 ||
           strcmp(c->reward, "dr-kernel-lcb") == 0;
}

static void fill_loss(const struct rl_config *c, struct rl_loss_options *o)
{
    o->form = (enum rl_loss_form)c->form;
    o->offpolicy = (enum rl_offpolicy)c->offpolicy;
    o->clip_lo = c->clip_lo;
    o->clip_hi = c->clip_hi;
    o->dual = c->dual;
    o->pure_cap = c->pure_cap;
    o->entropy = c->entropy;
    o->ent_quantile = c->ent_mask;
    o->risk_prob = c->risk_mask;
    o->kl_loss = c->kl_loss;
    o->kl = (enum rl_kl)c->kl;
    o->aggregate.agg = (enum rl_aggregation)c->agg;
    o->aggregate.denom = (enum rl_denom)c->denom;
    o->aggregate.scale = c->scale;
}

static void fill_filter(const struct rl_config *c, struct rl_filter_options *o)
{
    o->zero_var = (enum rl_zero_var)c->zero_var;
    o->min_group = c->min_group >= 0 ? (uint32_t)c->min_group : o->min_group;
    o->need_success = c->need_success;
    o->reward_least = c->reward_least;
    o->no_overlong = c->no_overlong;
    if (c->trainer != RL_TRAINER_PG) { /* a winner needs no companion */
        o->zero_var = RL_ZERO_VAR_OFF;
        o->min_group = c->min_group >= 0 ? (uint32_t)c->min_group : 0;
    }
}

static void fill_returns(const struct rl_config *c, struct rl_return_options *o)
{
    o->kind = (enum rl_return_kind)c->returns;
    o->gamma = c->gamma;
    o->void_turns = c->void_turns;
    o->hold = c->fill == 1;
    o->early_stop = c->early_stop > 0;
    o->force_delta = c->force_delta;
    o->kl_beta = c->kl_reward;
}

static enum kg_code fill_advantage(const struct rl_config *c, struct rl_adv_options *o,
                                   struct kg_err *err)
{
    const char *name = c->trainer == RL_TRAINER_PG ? c->adv : "topk";
    o->n1 = (enum rl_n1)c->n1;
    o->set = (enum rl_set)c->baseline_set;
    o->cv = (enum rl_cv)c->cv;
    o->cv_beta = c->cv_beta;
    o->batch_std = c->batch_std;
    o->clip = c->adv_clip;
    o->kl_beta = c->kl_reward;
    return rl_estimator_find(name, &o->estimator, err);
}

static void fill_masks(const struct rl_config *c, struct rl_methods *m)
{
    m->mismatch = (struct rl_mismatch_options){.mrs = (enum rl_mrs)c->mrs,
                                               .lo = c->mrs_lo,
                                               .hi = c->mrs_hi,
                                               .veto = c->veto,
                                               .tis = (enum rl_tis)c->tis,
                                               .tis_cap = c->tis_cap};
    m->prs = (struct rl_prs_options){.on = c->prs,
                                     .tau = c->prs_tau,
                                     .sigma = c->prs_sigma,
                                     .mode = (enum rl_prs_mode)c->prs_mode,
                                     .or_speed = c->prs_or_speed > 0,
                                     .speed_least = c->prs_or_speed};
}

/* --- what is refused --- */

static enum kg_code check_gym(const struct rl_config *c, struct kg_err *err)
{
    if (strcmp(c->gym_preset, "kernelbench") == 0) {
        return kg_fail(err, KG_E_USAGE, "gym_preset=kernelbench: its records get no reward");
    }
    if (strcmp(c->reward, "milestones") == 0) {
        return kg_fail(err, KG_E_USAGE,
                       "reward=milestones: needs a compile baseline, and C problems have none");
    }
    if (strcmp(c->reward, "tritonrl-hrd") == 0) {
        return kg_fail(err, KG_E_USAGE,
                       "reward=tritonrl-hrd: needs separate rewards of plan and code tokens");
    }
    if (rl_config_profiles(c)) {
        return KG_OK;
    }
    if (c->prs) {
        return kg_fail(err, KG_E_USAGE,
                       "prs: reads coverage, which needs gym.stage.profile=yes; or set prs=off");
    }
    if (rl_config_pays_coverage(c)) {
        return kg_fail(err, KG_E_USAGE,
                       "reward=%s: pays for coverage, which needs gym.stage.profile=yes; or use "
                       "dr-kernel-nopr",
                       c->reward);
    }
    return KG_OK;
}

static enum kg_code check_model(const struct rl_config *c, struct kg_err *err)
{
    struct lm_lora_config unused;
    size_t documents;
    if (rl_verify_parse(c->verify, &documents, err) != KG_OK) {
        return err->code;
    }
    if (c->journal[0] != '\0' && (c->seconds > 0 || c->sft_seconds > 0)) {
        return kg_fail(err, KG_E_USAGE,
                       "journal: a replay has the same bits only if steps limit it: set "
                       "sft.seconds=0, rl.seconds=0, and sft.steps and rl.steps");
    }
    if (c->hidden % (2 * c->heads) != 0) {
        return kg_fail(err, KG_E_USAGE, "model.hidden: %lld is no multiple of twice model.heads",
                       (long long)c->hidden);
    }
    if (c->lora_r > 0 && rl_lora_parse(c, &unused, err) != KG_OK) {
        return err->code;
    }
    if (c->rows < c->ctx_max || c->ctx_max < c->min_resp) {
        return kg_fail(err, KG_E_USAGE, "ctx_max: must lie from min_resp to rl.rows");
    }
    return KG_OK;
}

static enum kg_code check_trainer(const struct rl_config *c, struct kg_err *err)
{
    struct rl_sampler_options sampler;
    struct rl_curriculum_options curriculum;
    rl_config_curriculum(c, &curriculum);
    if (c->trainer == RL_TRAINER_PG && strcmp(c->adv, "topk") == 0) {
        return kg_fail(err, KG_E_USAGE, "adv=topk: is set by trainer=topk or trainer=sft");
    }
    if (c->trainer != RL_TRAINER_PG && c->sample_over > 1) {
        return kg_fail(err, KG_E_USAGE, "sample_over: best-of-N chooses among all its samples");
    }
    if (c->trainer != RL_TRAINER_PG && (c->kl_reward > 0 || c->prs_mode == RL_PRS_WEIGHT)) {
        return kg_fail(err, KG_E_USAGE,
                       "kl_reward, prs_mode=weight: act on returns, which best-of-N has not");
    }
    if (c->over != RL_OVER_UNIFORM && !(c->sample_over > 1)) {
        return kg_fail(err, KG_E_USAGE, "over: needs sample_over above 1");
    }
    if (rl_curriculum_check(&curriculum, err) != KG_OK) {
        return err->code;
    }
    return rl_sampler_parse(c->sampler, &sampler, err);
}

enum kg_code rl_config_methods(const struct rl_config *c, struct rl_methods *m, struct kg_err *err)
{
    struct rl_shape s = rl_config_shape(c);
    rl_methods_defaults(m, (uint32_t)c->groups, s.wanted, s.turns, (uint32_t)c->resp_max);
    fill_returns(c, &m->returns);
    fill_filter(c, &m->filter);
    fill_masks(c, m);
    fill_loss(c, &m->loss);
    enum kg_code code = fill_advantage(c, &m->adv, err);
    code = code != KG_OK ? code : check_model(c, err);
    code = code != KG_OK ? code : check_trainer(c, err);
    code = code != KG_OK ? code : check_gym(c, err);
    return code != KG_OK ? code : rl_methods_check(m, err);
}

int rl_config_lacks(const struct rl_config *c, struct kg_buf *out)
{
    const struct {
        bool asked;
        const char *why;
    } need[] = {
        {c->device != 0, "device=cuda: the engine computes on the CPU"},
        {c->dtype != 0, "dtype=bf16: the engine computes in f32"},
        {c->quant != 0, "quant=int8: frozen weights are f32"},
        {c->world != 0, "world=pytorch: training takes generated problems in C"},
        {c->base[0] != '\0',
         "base: training starts from fresh weights, not from a published model"},
    };
    int n = 0;
    for (size_t i = 0; i < sizeof need / sizeof *need; i++) {
        if (need[i].asked) {
            kg_buf_addf(out, "%s\n", need[i].why);
            n++;
        }
    }
    return n;
}

void rl_config_on(const struct rl_config *c, const struct rl_methods *m, bool on[RL_C_N])
{
    memset(on, 0, RL_C_N * sizeof *on);
    rl_methods_on(m, on);
    on[RL_C_REFILL] = c->refill_rounds > 0;
    on[RL_C_CURRICULUM] = c->curriculum != RL_CUR_STATIC;
    on[RL_C_TOPK] = c->trainer != RL_TRAINER_PG;
    on[RL_C_OVER] = c->sample_over > 1;
    on[RL_C_SURPLUS] = c->prompt_over > 1;
    on[RL_C_SAMPLER] = strcmp(c->sampler, "engine") != 0;
    on[RL_C_TURNS] = c->turns > 1 && c->feedback;
    on[RL_C_EARLY_STOP] = c->early_stop > 0;
    on[RL_C_COVERAGE] = rl_config_pays_coverage(c);
    on[RL_C_LORA] = c->lora_r > 0;
    on[RL_C_REUSE] = c->reuse;
}
