/* Servers in Python for tests of a policy behind an endpoint: one that fails as the first segment
 * of a path says (faulty_endpoint.py), and llama.cpp's (llama_server.py). They end with the test's
 * process. */
#ifndef KG_TESTS_FAULTY_ENDPOINT_H
#define KG_TESTS_FAULTY_ENDPOINT_H

#include <stdbool.h>
#include <sys/types.h>

struct faulty_endpoint {
    pid_t pid;
    int in; /* its standard input */
    int port;
    bool tls, llama;
    char folder[64];      /* of certificate and key */
    char certificate[96]; /* its file, signed by itself; "" */
};

/* Fails the test where there is no python3. */
void faulty_endpoint_start(struct faulty_endpoint *f, bool tls);
/* llama.cpp's server with a tiny random model, in the environment that `tools/setup.sh llama`
 * makes. False: there is none. */
bool faulty_endpoint_llama(struct faulty_endpoint *f);
void faulty_endpoint_end(struct faulty_endpoint *f);
/* "endpoint:http://127.0.0.1:PORT/FAULT/v1", of llama.cpp's without the path; in a buffer of four
 * that are used in turn. */
const char *faulty_endpoint_policy(const struct faulty_endpoint *f, const char *fault);

#endif
