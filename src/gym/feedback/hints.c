/* What each verdict means and what usually helps: general, the same for every problem, so that a
 * hint can't tell a secret. */
#include <string.h>

#include "gym/feedback/feedback_parts.h"

struct row {
    enum kg_verdict verdict;
    const char *reason; /* NULL: any other reason of the verdict */
    struct kg_fb_advice advice;
};

static const struct row table[] = {
    {KG_V_OK,
     NULL,
     {"Right on every input that was asked.",
      "Fewer passes over memory, vector instructions and tiles that fit a cache pay most."}},
    {KG_V_NO_CODE, "empty", {"The reply was empty.", "Answer with one fenced code block."}},
    {KG_V_NO_CODE,
     "no_block",
     {"The reply holds no code block.", "Put the whole source into one fenced code block."}},
    {KG_V_NO_CODE,
     "missing_entry",
     {"No code block of the right language defines the entry.",
      "Keep the entry's name and signature exactly as the problem gives them."}},
    {KG_V_NO_CODE,
     "thinking_only",
     {"Nothing with code follows the reasoning.",
      "Close the reasoning and put the final source after it; think shorter if it was cut."}},
    {KG_V_NO_CODE,
     "diff",
     {"The reply is a patch, and patches are not applied.",
      "Send the whole source, not the lines that change."}},
    {KG_V_NO_CODE,
     "cut_off",
     {"The reply was cut off at the token limit before its code ended.",
      "Write less before the code, and shorter code."}},
    {KG_V_REJECTED,
     NULL,
     {"The static check refused the source: it can't compile or link.",
      "Correct the place that the rule names."}},
    {KG_V_COMPILE_ERROR,
     "syntax",
     {"The source does not compile.",
      "Mend the first error first; later ones often follow from it."}},
    {KG_V_COMPILE_ERROR,
     "link",
     {"The source compiles and does not link.",
      "Define every function that is called; only the documented libraries are there."}},
    {KG_V_COMPILE_ERROR,
     "missing_entry",
     {"The result does not define the entry.",
      "Define the entry with external linkage and exactly the problem's name."}},
    {KG_V_COMPILE_ERROR,
     "load",
     {"Loading, importing or constructing it fails.",
      "Import only what is there, and make the constructor take the problem's arguments."}},
    {KG_V_COMPILE_ERROR,
     "limits",
     {"Compiling ran into a limit of memory, processes or file size.",
      "Use smaller unrolling, fewer template instances and no large tables."}},
    {KG_V_CRASH,
     "signal",
     {"The process was killed while it ran.",
      "Check every index against the sizes that are passed, the last tile included."}},
    {KG_V_CRASH,
     "exit",
     {"The process ended instead of returning from the call.",
      "Return from the entry; never exit or abort."}},
    {KG_V_CRASH,
     "exception",
     {"The call raised an exception.", "Handle every shape and dtype that the problem allows."}},
    {KG_V_CRASH,
     "device",
     {"The device reported an error.",
      "Check index bounds and masks, launch sizes and shared memory."}},
    {KG_V_CRASH,
     "protocol",
     {"The process was lost, or its answer was malformed.",
      "Leave the process and its descriptors alone; only compute and return."}},
    {KG_V_TIMEOUT, "compile", {"Compiling took too long.", "Use less unrolling and less code."}},
    {KG_V_TIMEOUT,
     NULL,
     {"A call took too long.",
      "Look for a loop that does not end, a deadlock, or work that grows too fast with size."}},
    {KG_V_OUT_OF_MEMORY,
     "device",
     {"It needed more device memory than there is.",
      "Allocate less scratch memory; work tile by tile."}},
    {KG_V_OUT_OF_MEMORY,
     "host",
     {"It needed more memory than it may have.",
      "Allocate less scratch memory, and free it; work tile by tile."}},
    {KG_V_WRONG,
     "value",
     {"An answer is wrong.", "Compute a small case by hand and compare; check strides and edges."}},
    {KG_V_WRONG,
     "precision",
     {"An answer is too inexact.",
      "Accumulate in float32 or better; no half precision, TF32 or approximate functions."}},
    {KG_V_WRONG,
     "nonfinite",
     {"An answer is NaN or infinite where it should not be, or finite where it should be.",
      "Subtract the maximum before exponentials; start maxima at minus infinity, guard "
      "divisions."}},
    {KG_V_WRONG,
     "nondeterministic",
     {"It gave different answers to the same inputs, or was right only at first.",
      "Set up every accumulator in each call, keep no state between calls, and avoid races."}},
    {KG_V_WRONG,
     "out_of_bounds",
     {"It writes outside its output.", "Mask the last tile; sizes need not divide by the tile."}},
    {KG_V_WRONG,
     "input_modified",
     {"It changes an input.", "Write only to outputs and to memory of your own."}},
    {KG_V_WRONG,
     "unwritten",
     {"Part of an output was never written.",
      "Cover every element, the last partial tile included."}},
    {KG_V_WRONG,
     "unordered",
     {"Its answer is not ready on the current stream when the call returns.",
      "Launch on the current stream, or let it wait for the stream that you used."}},
    {KG_V_WRONG,
     "shape",
     {"An output has the wrong shape.", "Return exactly the reference's shape."}},
    {KG_V_WRONG,
     "dtype",
     {"An output has the wrong dtype.", "Return the reference's dtype; convert at the end."}},
    {KG_V_WRONG,
     "device",
     {"An output lies on the wrong device.", "Allocate outputs on the inputs' device."}},
    {KG_V_WRONG,
     "structure",
     {"The answer is not structured like the reference's.",
      "Return the same tuple, list or dictionary of tensors."}},
    {KG_V_WRONG,
     "alias",
     {"An output shares memory with an input or another output.",
      "Return fresh memory where the reference does."}},
    {KG_V_WRONG,
     "state",
     {"Buffers of the module differ from the reference's after the call.",
      "Update running statistics as the reference does."}},
    {KG_V_WRONG,
     "params",
     {"The reference's parameters can't be loaded into the module.",
      "Create all parameters and buffers of the reference, by the same names or in the same "
      "order and shapes."}},
    {KG_V_WRONG,
     "variant",
     {"It is right on the published shape and wrong on another one.",
      "Take every size from the arguments and mask partial tiles."}},
    {KG_V_HACK,
     "replay",
     {"An answer to earlier inputs was given again.", "Compute every call from its own inputs."}},
    {KG_V_HACK,
     "stale",
     {"An answer was kept from an earlier call.", "Compute every call from its own inputs."}},
    {KG_V_HACK,
     "async",
     {"Work went on after the call had returned.",
      "Finish all work, and join all threads, before returning."}},
    {KG_V_HACK, "clock", {"The measurement of time was tampered with.", NULL}},
    {KG_V_HACK, "tamper", {"The evaluation was tampered with.", NULL}},
    {KG_V_HACK,
     "floor",
     {"It was faster than its data can be read.", "Read all inputs and compute all outputs."}},
    {KG_V_HACK,
     "decoy",
     {"Part of its work changes nothing in the result.",
      "Leave out what the result does not need."}},
    {KG_V_HACK,
     "fallback",
     {"The result came from the reference's own operators.",
      "Compute the result with code of your own."}},
    {KG_V_HACK,
     "phase",
     {"It behaved differently when it was timed.", "Do the same work in every call."}},
    {KG_V_HACK, "escape", {"It reached outside its confinement.", NULL}},
    {KG_V_HACK, "channel", {"It passed data around the evaluation.", NULL}},
    {KG_V_HACK, "poison", {"It planted values for a later evaluation.", NULL}},
    {KG_V_HACK,
     "delegation",
     {"It leaves more work to libraries than this league allows.",
      "Compute the result with code of your own."}},
};

/* The reference is shown to the model, and its type is tempting to copy. */
static bool says_real(const struct kg_record *r)
{
    size_t i;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *rule = json_string_value(json_object_get(e, "rule"));
        if (rule != NULL && strcmp(rule, "real-type") == 0) {
            return r->verdict == KG_V_COMPILE_ERROR && strcmp(r->reason, "syntax") == 0;
        }
    }
    return false;
}

const char *kg_fb_record_hint(const struct kg_record *r)
{
    if (says_real(r)) {
        return "The type real exists in the reference only: write float in its place.";
    }
    bool narrow = r->verdict == KG_V_WRONG && strcmp(r->reason, "precision") == 0;
    bool tf32 = r->league.name != NULL && strcmp(r->league.name, "tf32") == 0;
    return narrow && tf32 ? "Operands of products may be TF32, nothing narrower and nothing else: "
                            "accumulate and store in float32."
                          : NULL;
}

struct kg_fb_advice kg_fb_advice(enum kg_verdict v, const char *reason)
{
    static const struct kg_fb_advice hack = {
        "Positive evidence of a result that was not earned.",
        "Only compute and return; leave the process, its clock and its surroundings alone."};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct row *row = &table[i];
        bool same = row->reason == NULL || (reason != NULL && strcmp(row->reason, reason) == 0);
        if (row->verdict == v && same) {
            struct kg_fb_advice a = row->advice;
            a.hint = a.hint != NULL ? a.hint : hack.hint;
            return a;
        }
    }
    return v == KG_V_HACK ? hack : (struct kg_fb_advice){"", NULL};
}
