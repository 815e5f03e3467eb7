/* Runners with a port of the judge each. */
#ifndef KG_GYM_TORCH_RUNNER_TORCH_RUNNER_H
#define KG_GYM_TORCH_RUNNER_TORCH_RUNNER_H

#include "gym/torch/torch.h"

/* A fresh runner of the source file on a new port. */
enum kg_code kg_trunner_start(struct kg_worker *w, bool interpret, const char *source,
                              uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                              struct kg_err *err) KG_MUST_USE;
/* Its two halves, for a judge and a zygote that are up: a port, and a runner that has not touched
 * the device; then, while nobody is timed, it makes its context in its turn, and does the rest as a
 * request does, is READY, and the judge watches it. A side that does not get there is stopped. */
enum kg_code kg_trunner_begin(struct kg_worker *w, struct kg_zygote *z, const char *source,
                              uint64_t in_bytes, uint64_t out_bytes, struct kg_trunner *out,
                              struct kg_err *err) KG_MUST_USE;
enum kg_code kg_trunner_ready(struct kg_worker *w, struct kg_trunner *s,
                              struct kg_err *err) KG_MUST_USE;
/* The second half in two: it makes its context from boot on, and the caller may use the device
 * until booted. Where look finds that it is made others may be timed from then on, and the caller
 * waits for them as with any request. */
enum kg_code kg_trunner_boot(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                             struct kg_err *err) KG_MUST_USE;
void kg_trunner_look(struct kg_worker *w, const struct kg_trunner *s, struct kg_tboot *boot);
enum kg_code kg_trunner_booted(struct kg_worker *w, struct kg_trunner *s, struct kg_tboot *boot,
                               struct kg_err *err) KG_MUST_USE;
/* So much of its OUT from now on, until the next time: before it builds a module. */
enum kg_code kg_trunner_use(struct kg_worker *w, const struct kg_trunner *s, uint64_t out_bytes,
                            struct kg_err *err) KG_MUST_USE;
/* LOAD, DESCRIBE or BUILD for a reference. The last two use the device for long, like a boot, so
 * nobody is timed meanwhile. It has `ns` from then on: waiting does not count. Errors are of the
 * wait; without one *a is the caller's to end. */
enum kg_code kg_trunner_set_up(struct kg_worker *w, struct kg_trunner *s, enum kg_tcommand command,
                               const json_t *request, uint64_t seed, int64_t ns,
                               struct kg_pyanswer *a, struct kg_err *err) KG_MUST_USE;
void kg_trunner_stop(struct kg_worker *w, struct kg_trunner *s); /* idempotent */
/* Most memory on the host that a runner may have: of the problem's reference, or a candidate's. */
int64_t kg_trunner_memory_mb(const struct kg_worker *w, bool reference);

#endif
