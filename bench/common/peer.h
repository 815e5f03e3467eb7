/* A second process that measures the same work in Python, in turn with the bench. It gets one word
 * a line and answers one line. One thread; a peer that dies ends the bench. */
#ifndef KG_BENCH_PEER_H
#define KG_BENCH_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct kg_bench_peer {
    pid_t pid;
    FILE *in, *out;
    char says[200]; /* its first line: versions */
};

/* Starts bench/peers/SCRIPT with one argument. The interpreter is $KGYM_PEER_PYTHON, else that of
 * build/goldens-venv (make goldens), else that of .venv (make torch). False, with a line on stderr:
 * there is none, or the script did not start. */
bool kg_bench_peer_start(struct kg_bench_peer *p, const char *script, const char *argument);
/* The number that answers the word; below 0: the peer cannot do that. */
double kg_bench_peer_ask(struct kg_bench_peer *p, const char *word);
void kg_bench_peer_end(struct kg_bench_peer *p);

#endif
