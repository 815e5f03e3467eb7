/* Runners of candidates, begun before they are needed. */
#ifndef KG_GYM_TORCH_RUNNER_SPARE_RUNNER_H
#define KG_GYM_TORCH_RUNNER_SPARE_RUNNER_H

#include "gym/torch/runner/torch_runner.h"

/* One that holds this text: the spare, where there is one that fits, else a fresh one. The text is
 * in a file of its own that no other runner is shown. */
enum kg_code kg_tspare_take(struct kg_worker *w, bool interpret, const char *text, size_t len,
                            uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                            struct kg_err *err) KG_MUST_USE;
/* The next one begins to boot, where `torch.spare` has it so, there is none yet, and all that it
 * needs is up. Nothing depends on it: what fails here is told to whoever wants a runner. */
void kg_tspare_begin(struct kg_worker *w, bool interpret, uint64_t in_bytes, uint64_t out_bytes);
/* Ends this one, and where the spare waits for its turn to make its context it does so meanwhile,
 * until followed, which waits for it: neither delays the other, nor what is done in between. Who
 * does something long in between calls look now and then: nobody is timed until the context is
 * known to be made. */
void kg_tspare_follow(struct kg_worker *w, struct kg_trunner *last);
void kg_tspare_look(struct kg_worker *w);
void kg_tspare_followed(struct kg_worker *w);
/* Until it has booted: before a device is measured, and nothing else may be at work there. */
void kg_tspare_settle(struct kg_worker *w);
void kg_tspare_drop(struct kg_worker *w); /* idempotent */
/* Regions for a runner that may serve other problems, too: on a GPU larger than these. answers:
 * false for one that gives none. */
void kg_tspare_regions(const struct kg_worker *w, bool answers, uint64_t *in_bytes,
                       uint64_t *out_bytes);

#endif
