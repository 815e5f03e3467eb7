/* A worker that is a test: it claims jobs over HTTP and answers them as it is told. */
#ifndef KG_TESTS_SUPPORT_SVC_STUB_H
#define KG_TESTS_SUPPORT_SVC_STUB_H

#include <jansson.h>

/* A record of that verdict: `full` took 20 ms, `compile` 2 s. */
#define SVC_STUB_RECORD(verdict)                                                                   \
    "{\"schema\": \"kgym.record/1\", \"verdict\": " verdict                                        \
    ", \"error\": null, \"setup_ns\": 1000000, \"stages\": ["                                      \
    "{\"name\": \"extract\", \"status\": \"pass\", \"ns\": 500000}, "                              \
    "{\"name\": \"compile\", \"status\": \"pass\", \"ns\": 2000000000}, "                          \
    "{\"name\": \"full\", \"status\": \"fail\", \"ns\": 20000000}, "                               \
    "{\"name\": \"timing\", \"status\": \"skip\", \"ns\": 7}]}"

/* The next job of this class of devices ("cpu", "torch"). The caller frees it. */
json_t *svc_stub_claim(const char *device);
/* Answers the claim, which it frees, and expects the status. */
void svc_stub_finish(json_t *claimed, const char *record, const char *verdict, int status);
/* The same of an attempt that failed by a fault of the host. */
void svc_stub_fail(json_t *claimed);

#endif
