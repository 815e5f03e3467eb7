/* What a problem asks for, in numbers: the description that its own code gives in a confined
 * reference runner (command DESCRIBE). Every field is a claim of that runner: names, counts, ranks
 * and sizes are bounded here, and an error names what is wrong and where. One description per set
 * of constants: the published ones, or others (shapes.h). */
#ifndef KG_GYM_TORCH_PROBLEM_TASK_H
#define KG_GYM_TORCH_PROBLEM_TASK_H

#include "base/json.h"
#include "gym/tensor/tensor_wire.h"

#define KG_TASK_INPUTS    64
#define KG_TASK_STATE     8192 /* most parameters and buffers */
#define KG_TASK_CONSTANTS 64
#define KG_TASK_BYTES     (64ull << 30) /* inputs, or parameters, of one call */
#define KG_TASK_TERMS     ((int64_t)1 << 40)

/* Of the values of a tensor, as drawn or constructed once; NaN where unknown. */
struct kg_tstats {
    double min, max, mean, sd;
    int64_t distinct; /* different values, counted up to a bound; -1 unknown */
    bool fixed;       /* inputs: the same whatever the seed */
    bool whole;       /* all of them whole numbers */
    bool finite;
};

/* What an input is in each draw, and an honest kernel may rely on. */
enum kg_tstructure {
    KG_TX_ZEROS,     /* at the same places: triangular, banded, diagonal, blocks */
    KG_TX_SYMMETRIC, /* equal to its transpose */
    KG_TX_DEFINITE,  /* symmetric, and positive definite */
    KG_TX_SORTED,    /* along an axis */
    KG_TX_SUMS,      /* of all lines along an axis the same: probabilities, one-hot rows */
    KG_TX_NORMS,     /* of all lines along an axis the same */
    KG_TX_EQUAL,     /* to another input */
    KG_TX_DOMINANT,  /* each element of the diagonal is larger than all others */
    KG_TX_SHARED,    /* memory or values with an input of another shape */
    KG_TX_UNSURE,    /* one of these, by a chance of 10^-3 to 10^-9; or what no law keeps */
    KG_TX_DISTINCT,  /* integers: all of a line differ */
    KG_TX_REPEATED,  /* along an axis: all lines across it are the same; of integers, places, too */
    KG_TX_COUNT
};
const char *kg_tstructure_name(enum kg_tstructure x); /* "zeros", ... */

struct kg_task_input {
    struct kg_tleaf leaf; /* dtype, shape, strides and name; bytes: of the memory that they reach */
    struct kg_tstats stats;
    uint32_t structure; /* bits 1 << enum kg_tstructure */
    bool written;       /* a call writes to it */
};

/* What a candidate need not have: harness/kgym_harness/influence.py finds it. A description may
 * claim it falsely, which spares candidates a refusal and no comparison. */
enum kg_task_need {
    KG_TN_NEEDED = 'n',
    KG_TN_IDLE = 'i',     /* no influence on the answer */
    KG_TN_CONSTANT = 'c', /* every construction makes it alike: the judge leaves its values */
    KG_TN_TIED = 't',     /* another name of a tensor */
};

struct kg_task_state { /* a parameter or a buffer */
    struct kg_tleaf leaf;
    struct kg_tstats stats;
    bool buffer;
    bool changed;    /* by a call */
    bool structured; /* its values are not independent: the judge leaves them */
    enum kg_task_need need;
    size_t tied; /* the first tensor with the same memory; its own number where there is none */
};

struct kg_task_output {
    struct kg_tleaf leaf;
    struct kg_tstats stats;
    double fill; /* values as large belong to a fill, such as a mask's -1e9; 0: there is none */
};

struct kg_task_constant {
    char name[64];
    int64_t value;
};

struct kg_task_desc {
    json_t *args, *kwargs; /* what a module is constructed with, for BUILD; owned */
    json_t *template;      /* how forward's arguments are put together from tensors; owned */
    size_t ninputs, nstate, noutputs, nconstants;
    size_t nleft, nwritten; /* of the state (kg_task_left), and of the inputs */
    struct kg_task_input input[KG_TASK_INPUTS];
    struct kg_task_state *state;                   /* [nstate]; owned */
    struct kg_task_output output[KG_TWIRE_LEAVES]; /* of one call */
    struct kg_task_constant constant[KG_TASK_CONSTANTS];
    bool random;        /* the reference draws numbers when it is called */
    bool updates_state; /* a call changes its buffers */
    bool repeats;       /* same inputs, same seed, same answer, bit for bit */
    bool writes_inputs; /* a call changes its inputs */
    bool draws_there;   /* get_inputs() runs with the device as PyTorch's default one */
    int64_t terms;      /* elements of an input that one of the answer depends on, as the reference
                           was seen to answer, 1 to KG_TASK_TERMS; 0: unknown */
    uint64_t elements;  /* of all inputs */
    uint64_t input_bytes, state_bytes, output_bytes;
    uint64_t call_bytes; /* what a call was seen to allocate on a GPU, its answer included; 0:
                            unknown */
};

/* what: the problem, for messages ("PATH: description: inputs[2].shape[0]: ..."). KG_E_PROBLEM. On
 * failure there is nothing to release. */
enum kg_code kg_task_parse(const json_t *reply, const char *what, struct kg_task_desc *out,
                           struct kg_err *err) KG_MUST_USE;
void kg_task_deinit(struct kg_task_desc *d); /* idempotent */

/* Is it compared after calls? Those of the reference change it, and a candidate must have it. */
bool kg_task_left(const struct kg_task_state *s);

/* A new list of the leaf's strides, in elements; one of those of all inputs. */
json_t *kg_task_strides(const struct kg_tleaf *leaf);
json_t *kg_task_layout(const struct kg_task_desc *d);
/* ["zeros", ...]: what the input is in each draw. The caller's. */
json_t *kg_task_structure(const struct kg_task_input *in);
/* "[2048,8191] float32" */
void kg_task_leaf_text(const struct kg_tleaf *leaf, char *out, size_t cap);

#endif
