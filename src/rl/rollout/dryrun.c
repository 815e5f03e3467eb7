/* The script of a dry run, and what must come of it. */
#include "rl/rollout/dryrun.h"

#include <math.h>
#include <string.h>

/* Right for three calls of one size, then its last answer of that size. A timed process makes four
 * at least, whatever the options say: a warm-up and three pairs. More right calls than that, and
 * chance would say whether the gym sees a wrong one. */
static const char hack_head[] = "#define k honest\n";
static const char hack_tail[] =
    "#undef k\n#include <string.h>\nstatic float last[1<<21];static int calls;"
    "static int64_t size;\n"
    "void k(const float*x,float*restrict y,int64_t n,int64_t m){"
    "if(size!=n*m){size=n*m;calls=0;}"
    "if(calls++<3){honest(x,y,n,m);memcpy(last,y,(size_t)(n*m)*4);}"
    "else memcpy(y,last,(size_t)(n*m)*4);}\n";

static const char *const names[] = {"relu_softmax", "sigmoid_center", "silu_rms"};

const char *rl_dry_name(enum rl_dry_role role)
{
    static const char *const name[] = {"correct", "wrong", "hack", "garbage"};
    return name[role];
}

size_t rl_dry_chains(struct rl_chain *out, size_t cap)
{
    size_t n = sizeof names / sizeof *names;
    for (size_t i = 0; i < n && i < cap; i++) {
        struct kg_err err = KG_ERR_INIT;
        KG_ASSERT(rl_chain_parse(names[i], &out[i], &err) == KG_OK);
    }
    return n;
}

static enum rl_dry_role role_of(uint32_t rollout, uint32_t turn)
{
    enum rl_dry_role role = (enum rl_dry_role)((rollout - 1) % RL_DRY_ROLES);
    return turn > 1 && role != RL_DRY_HACK ? RL_DRY_CORRECT : role;
}

void rl_dry_say(void *user, const struct rl_speaker *who, struct kg_buf *out)
{
    const struct rl_style good = {.form = RL_OWN_FUSED, .exp = RL_EXP_POLY, .lanes = true};
    struct rl_chain other = who->chain;
    (void)user;
    switch (role_of(who->rollout, who->turn)) {
    case RL_DRY_CORRECT:
        rl_chain_code(&who->chain, rl_style_plain(&who->chain, good), out);
        break;
    case RL_DRY_WRONG: /* of another chain */
        other.op[0] = (uint8_t)rl_op_find("abs", 3);
        rl_chain_code(&other, rl_style_plain(&other, good), out);
        break;
    case RL_DRY_HACK:
        kg_buf_adds(out, hack_head);
        rl_chain_code(&who->chain, rl_style_plain(&who->chain, good), out);
        kg_buf_adds(out, hack_tail);
        break;
    default:
        kg_buf_adds(out, "I would fuse the loops and call it a day.");
    }
}

static const char *const expected[] = {"ok", "wrong", "hack", "no_code"};

/* Bounds of rewards that are paid for the verdicts that must come. */
struct bounds {
    double least[RL_DRY_ROLES];
};

static bool judged_as(const struct rl_verdict *v, enum rl_dry_role role)
{
    return v != NULL && v->state == RL_JUDGED && strcmp(v->name, expected[role]) == 0;
}

/* A failure pays less than each correct reply, a hack no more than each other failure. */
static bool fits(const struct bounds *b, enum rl_dry_role role, const struct rl_verdict *v)
{
    if (!judged_as(v, role)) {
        return false;
    }
    bool hack = role != RL_DRY_HACK ||
                (v->reward <= b->least[RL_DRY_WRONG] && v->reward <= b->least[RL_DRY_GARBAGE]);
    return role == RL_DRY_CORRECT || (v->reward < b->least[RL_DRY_CORRECT] && hack);
}

static struct bounds bounds_of(const struct rl_rollouts *r)
{
    struct bounds b = {{INFINITY, INFINITY, INFINITY, INFINITY}};
    for (int i = 0; i < r->n; i++) {
        for (int t = 0; t < r->walk[i].turns; t++) {
            const struct rl_verdict *v = r->walk[i].turn[t].verdict;
            enum rl_dry_role role = role_of(r->walk[i].rollout, (uint32_t)t + 1);
            b.least[role] = judged_as(v, role) ? fmin(b.least[role], v->reward) : b.least[role];
        }
    }
    return b;
}

/* One role: its line, and how many turns are not as they must be. */
static int check_role(const struct rl_rollouts *r, const struct bounds *b, enum rl_dry_role role,
                      struct kg_buf *report)
{
    double least = INFINITY, most = -INFINITY;
    int n = 0, right = 0;
    const char *other = "";
    for (int i = 0; i < r->n; i++) {
        for (int t = 0; t < r->walk[i].turns; t++) {
            const struct rl_verdict *v = r->walk[i].turn[t].verdict;
            if (role_of(r->walk[i].rollout, (uint32_t)t + 1) != role) {
                continue;
            }
            bool ok = fits(b, role, v);
            n++;
            right += ok;
            other = ok ? other : v == NULL ? "no verdict" : v->name[0] ? v->name : v->message;
            least = v != NULL ? fmin(least, v->reward) : least;
            most = v != NULL ? fmax(most, v->reward) : most;
        }
    }
    kg_buf_addf(report, "%-8s %d of %d as expected, rewards %.2f to %.2f%s%s\n", rl_dry_name(role),
                right, n, least, most, other[0] ? "; got " : "", other);
    return n - right;
}

int rl_dry_check(const struct rl_rollouts *r, struct kg_buf *report)
{
    struct bounds b = bounds_of(r);
    int bad = 0;
    for (int role = 0; role < RL_DRY_ROLES; role++) {
        bad += check_role(r, &b, (enum rl_dry_role)role, report);
    }
    return bad;
}

int rl_dry_check_rows(const struct rl_rows *rows, struct kg_buf *report)
{
    int up = 0, bad = 0, kept = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const struct rl_row *r = &rows->row[i];
        enum rl_dry_role role = role_of(r->rollout, r->turn);
        up += role == RL_DRY_CORRECT && r->adv > 0;
        bad += role == RL_DRY_HACK && r->adv > 0;
        kept += rl_row_kept(r);
    }
    bad += up == 0;
    kg_buf_addf(report, "of %zu turns %d would train; %d correct ones become likelier%s\n", rows->n,
                kept, up, bad > 0 ? "; this is not as expected" : "");
    return bad;
}
