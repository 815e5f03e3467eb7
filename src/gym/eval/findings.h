/* What `kgym problems check` has found out, by problem: below `cache`, one file for each, by the
 * SHA-256 of the problem. A problem that is put aside there is refused when it is to be judged,
 * unless `--quarantine ignore` (docs/problems.md, "Problems that are put aside"). A problem that
 * was never checked is judged: to find out takes longer than most evaluations. But see
 * first_look.h.
 *
 * What failed on one kind of device only (it builds, repeats itself, its float and its double
 * agree, its reference is right) says nothing about another; that an answer takes no work does. */
#ifndef KG_GYM_EVAL_FINDINGS_H
#define KG_GYM_EVAL_FINDINGS_H

#include "base/hash.h"
#include "base/json.h"
#include "gym/eval/config.h"

#define KG_FINDINGS_EDITION    2            /* of the checks: cards of another one are none */
#define KG_FINDINGS_FIRST_LOOK "first_look" /* key of a check that is a first evaluation's */
#define KG_FINDINGS_BYTES      (256 << 20)

/* A card of this version and edition; NULL: none. The caller's: {device, check}, check as
 * kg_onboard_json gives it. */
json_t *kg_findings_find(const struct kg_config *c, const char *sha256);
/* Was it made on a device of this kind? */
bool kg_findings_made_on(const json_t *card, const char *device);
/* Is it no more than a first evaluation has found? */
bool kg_findings_first_look(const json_t *card);
/* Best effort: without a cache nothing is kept. device: "cpu", "cuda:0". */
void kg_findings_keep(const struct kg_config *c, const char *sha256, const char *device,
                      const json_t *check);
/* Removes the oldest where all together are larger than KG_FINDINGS_BYTES. */
void kg_findings_trim(const struct kg_config *c);
/* KG_E_PROBLEM: it is put aside; the message names the problem and why. device: where it is to be
 * judged. */
enum kg_code kg_findings_admit(const struct kg_config *c, const char *problem, const char *sha256,
                               const char *device, struct kg_err *err) KG_MUST_USE;

#endif
