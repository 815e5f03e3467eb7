/* The world of the demo: problems that are chains of one to three operators, and a generator of
 * candidates for them in known styles. Commands write problems with it, the corpus of SFT is made
 * of its candidates, and scripted policies answer with them. It judges nothing: that a text is
 * right, wrong or fast is what the gym says.
 *
 * All is a pure function of its arguments: no files, no clock, no hidden state. Texts are appended
 * to the caller's buffer, which must have room (RL_CHAIN_BYTES). Draws come from the caller's
 * generator. Every function may be called from several threads at once on different objects.
 * docs/chains.md has the operators, the styles and what was measured. */
#ifndef KG_RL_CHAINS_CHAINS_H
#define KG_RL_CHAINS_CHAINS_H

#include "base/buf.h"
#include "base/rng.h"

enum {
    RL_CHAIN_MAX = 3,     /* operators of a chain */
    RL_CHAIN_NAME = 48,   /* bytes of a chain's name, with the NUL */
    RL_CHAIN_BYTES = 8192 /* no text that is written here is longer */
};

/* --- operators and chains --- */

int rl_ops_count(void);
const char *rl_op_name(int op);               /* one lower-case word: "bias". op: 0 .. count - 1 */
const char *rl_op_desc(int op);               /* "plus b[j]" */
int rl_op_find(const char *name, size_t len); /* -1: no operator has this name */

struct rl_chain {
    uint8_t n; /* operators, 1 to RL_CHAIN_MAX */
    uint8_t op[RL_CHAIN_MAX];
};

/* May these operators follow each other? Not where one has no effect, where an input has none, or
 * where values would leave what a float holds well. Every operator alone is valid. */
bool rl_chain_valid(const struct rl_chain *c);
/* All valid chains of n operators, in a fixed order; writes the first cap of them to out.
 * Returns how many there are. */
size_t rl_chains_list(int n, struct rl_chain *out, size_t cap);
/* The problem's name: the operators' names with '_' between them, "bias_softmax". */
void rl_chain_name(const struct rl_chain *c, char out[RL_CHAIN_NAME]);
/* The reverse, also of a path that ends in NAME.c. KG_E_INPUT: no valid chain; the message says
 * which word is none. */
enum kg_code rl_chain_parse(const char *name, struct rl_chain *out, struct kg_err *err) KG_MUST_USE;
bool rl_chain_equal(const struct rl_chain *a, const struct rl_chain *b);

/* --- what a problem is --- */

/* Appends the problem file (docs/problems.md): level 1 for one operator, else 2; entry `k`; the
 * reference calls kgops once for each step of an operator, into fresh temporaries. */
void rl_chain_problem(const struct rl_chain *c, struct kg_buf *out);
/* Appends the first message for a tiny model: the operators' names with a space between them,
 * "bias softmax". A tokenizer may have one token for each name. */
void rl_chain_prompt(const struct rl_chain *c, struct kg_buf *out);
/* Rows and columns of the default shape, so that the reference takes 0.39 ms or more. */
void rl_chain_shape(const struct rl_chain *c, int64_t *rows, int64_t *cols);

/* --- candidates --- */

enum rl_form {
    RL_LIBRARY,      /* the reference's calls */
    RL_LIBRARY_ROWS, /* the same calls on one row after the other */
    RL_OWN,          /* own loops: each operator over the whole array */
    RL_OWN_ROWS,     /* own loops: all operators on one row after the other */
    RL_OWN_FUSED,    /* the same, and maps are part of the loops beside them */
    RL_FORMS
};
enum rl_exp {
    RL_EXP_LIBM,  /* expf */
    RL_EXP_POLY,  /* a polynomial, and 2^n by bits: the compiler vectorises it */
    RL_EXP_ROUGH, /* (1 + x/256)^256, which the gym must refuse: for known bad candidates */
};
struct rl_style {
    enum rl_form form;
    enum rl_exp exp;
    bool lanes; /* sums and maxima in 16 parts instead of one */
    bool order; /* the other way to write products and quotients */
};

/* Clears what makes no difference for the chain: two styles write the same text if and only if they
 * are equal after it. */
struct rl_style rl_style_plain(const struct rl_chain *c, struct rl_style s);
bool rl_style_equal(struct rl_style a, struct rl_style b);
/* All plain styles of a chain but the rough ones; at most RL_STYLES. Returns how many. */
enum { RL_STYLES = 26 };
int rl_styles_list(const struct rl_chain *c, struct rl_style out[RL_STYLES]);
/* "library", "own-fused poly lanes order" ... */
void rl_style_name(struct rl_style s, char out[48]);

/* Chances of a draw. form: weights, of any sum above 0; the others: 0 to 1. */
struct rl_mix {
    double form[RL_FORMS];
    double poly, lanes, order;
};
extern const struct rl_mix rl_mix_weak, rl_mix_rich;
struct rl_style rl_style_draw(const struct rl_chain *c, const struct rl_mix *mix, struct kg_rng *r);

/* Appends the candidate: the whole file. */
void rl_chain_code(const struct rl_chain *c, struct rl_style s, struct kg_buf *out);
/* The plain style that this text is, blanks apart. False: none, so a model wrote it in its own
 * way. */
bool rl_style_find(const struct rl_chain *c, const char *text, size_t len, struct rl_style *out);

/* --- conversations of two turns --- */

enum rl_flaw {
    RL_FLAW_NONE,     /* the first turn is right already */
    RL_FLAW_SLOW,     /* right, in a style that is seldom fast */
    RL_FLAW_SYNTAX,   /* a bracket or a semicolon is missing */
    RL_FLAW_OPERATOR, /* another operator in place of one; RL_FLAW_NONE where none can be */
    RL_FLAW_ARGUMENT, /* a parameter is missing */
    RL_FLAW_BOUND,    /* a loop or a call ends one element or one row early */
    RL_FLAWS
};
const char *rl_flaw_name(enum rl_flaw flaw);
/* The verdict that the gym must give to a first turn with this flaw, as records call it. */
const char *rl_flaw_verdict(enum rl_flaw flaw);

struct rl_split;
/* One conversation: prompt, first turn, the gym's feedback on it, second turn. The feedback is that
 * of a real record, which the corpus writer asks for. */
struct rl_talk {
    struct rl_chain chain;
    enum rl_flaw flaw;
    struct rl_style style[2]; /* of the first turn and of the second */
    uint32_t at;              /* where the flaw is: the writer takes it modulo the places */
    struct rl_chain body;     /* what the first turn computes */
};
struct rl_talk_mix {
    struct rl_mix styles;
    double flaw[RL_FLAWS]; /* weights, of any sum above 0 */
};
extern const struct rl_talk_mix rl_talk_mix_default;
/* Draws a conversation about the chain. The first turn never computes a chain that the split holds
 * out. split NULL: nothing is held out. */
void rl_talk_draw(const struct rl_chain *c, const struct rl_talk_mix *mix,
                  const struct rl_split *split, struct kg_rng *r, struct rl_talk *out);
/* Appends the candidate of turn 0 or 1. */
void rl_talk_code(const struct rl_talk *t, int turn, struct kg_buf *out);
/* Do the records bear the labels out? The first turn has the verdict of its flaw, the second is
 * `ok`; after RL_FLAW_SLOW it is at least 1.2 times as fast. speedup: NaN where it was not timed.
 */
bool rl_talk_holds(const struct rl_talk *t, const char *const verdict[2], const double speedup[2]);

/* --- what is held out --- */

/* The pairs of operators are shuffled by the seed and cut into RL_PARTS equal parts. The pairs of
 * one part are held out, and so is every triple that holds one of them. Different parts of a seed
 * share no pair. Single operators are never held out. */
enum { RL_PARTS = 5, RL_OPS_MAX = 40 };
struct rl_split {
    uint64_t seed;
    int part;
    uint8_t held[RL_OPS_MAX][RL_OPS_MAX]; /* 1: the second after the first is held out */
};
void rl_split_init(struct rl_split *s, uint64_t seed, int part);
bool rl_split_holds_out(const struct rl_split *s, const struct rl_chain *c);
/* Chains of n operators of one side (held: those held out), shuffled by the split's seed; the first
 * cap to out. Returns how many there are. */
size_t rl_split_list(const struct rl_split *s, int n, bool held, struct rl_chain *out, size_t cap);

/* Proves that a corpus holds nothing of what an evaluation asks: by pairs of operators, and by the
 * SHA-256 of texts without their blanks. */
struct rl_audit;
/* held[n]: the chains of the evaluation. Cost: about 1 ms for each. *out: rl_audit_destroy. */
enum kg_code rl_audit_create(const struct rl_split *s, const struct rl_chain *held, size_t n,
                             struct rl_audit **out, struct kg_err *err) KG_MUST_USE;
void rl_audit_destroy(struct rl_audit *a);
/* A chain that is trained on. KG_E_INPUT: it is held out, or its problem is. */
enum kg_code rl_audit_chain(const struct rl_audit *a, const struct rl_chain *c,
                            struct kg_err *err) KG_MUST_USE;
/* A text of the corpus. KG_E_INPUT: it is a candidate, in some style, of a chain of `held`. */
enum kg_code rl_audit_text(const struct rl_audit *a, const char *text, size_t len,
                           struct kg_err *err) KG_MUST_USE;

#endif
