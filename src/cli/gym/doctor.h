/* What the parts of `kgym doctor` share. */
#ifndef KG_CLI_GYM_DOCTOR_H
#define KG_CLI_GYM_DOCTOR_H

#include "base/buf.h"
#include "base/json.h"
#include "gym/native/native_noise.h"

struct kg_doctor {
    bool json, quick, help, colour, bad;
    const char *store; /* the one to examine; NULL: the host */
    json_t *out;
    struct kg_buf text;
};

/* "  ok    WHAT  DETAIL", or "lacks". */
void kg_doctor_line(struct kg_doctor *d, bool good, const char *what, const char *detail);
/* K, T and the null test, and `name` in the JSON. where: " on CPU 3", ""; shortest_ns: T; rule: how
 * T is made of K, " (...)", or ""; not quiet makes d bad. */
void kg_doctor_noise(struct kg_doctor *d, const char *name, const struct kg_noise *n, bool quiet,
                     const char *where, int64_t shortest_ns, const char *rule);

/* --- doctor_gpu.c --- */
/* A GPU of kg_torch_facts: its null test, then what the driver says of it while it is warm; added
 * to facts. */
void kg_doctor_gpu(struct kg_doctor *d, struct kg_worker *w, json_t *facts);
/* The second half alone. */
void kg_doctor_driver(struct kg_doctor *d, json_t *facts);

#endif
