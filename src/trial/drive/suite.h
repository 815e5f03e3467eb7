/* The problems of a trial: a suite of kgym, a level or a folder of KernelBench, rows of KernelBook,
 * or one problem by name or path. The program itself says which problems there are (`kgym problems
 * list --json`), so that names mean here what they mean to the gym; no problem's code is executed.
 * The folders of $KGYM_SUITES are searched where it is set. */
#ifndef KG_TRIAL_DRIVE_SUITE_H
#define KG_TRIAL_DRIVE_SUITE_H

#include "base/err.h"
#include "base/hash.h"

/* A file or row that the list puts aside: no problem, or none that can be judged. */
struct tr_aside {
    char *name, *why;
};

struct tr_problem {
    char *name;               /* unique in the suite, such as "softmax", "12_Gemm_Multiply" */
    char *problem;            /* as kgym_task.problem takes it */
    int level;                /* of KernelBench, or of the problem; 0: none */
    int id;                   /* KernelBench's, from 1; else the place in the suite, from 1 */
    char hash[KG_SHA256_HEX]; /* of the problem's text */
};

struct tr_suite {
    char *name;                 /* for headings */
    bool kernelbench;           /* its result files can be written */
    struct tr_problem *problem; /* [n] in a fixed order */
    size_t n, of;               /* of: before a subset was taken */
    struct tr_aside *aside;     /* [naside] */
    size_t naside;
};

/* what: a suite's name ("native", "torch"), NAME of a problem, a file .c, .py, .jsonl (all rows),
 * .jsonl#N, a folder of problem files, a folder level<N> of KernelBench, or the folder of all of
 * them with `:N` behind (".../KernelBench:1"; without: all levels). Rows of one name get their line
 * as well, "Net#12". Errors: KG_E_NOT_FOUND (the list's own words: there is no such problem or
 * folder, with the nearest name), KG_E_INPUT (two of one name, a name of more than 160 bytes, no
 * problem that can be judged), KG_E_HOST (the program cannot be executed), KG_E_IO. */
enum kg_code tr_suite_open(const char *what, struct tr_suite *out, struct kg_err *err) KG_MUST_USE;
void tr_suite_close(struct tr_suite *s);

/* Keeps a part: "N@SEED", N problems drawn by the seed, kept in the suite's order (the same on
 * every machine, and a smaller N is a part of a larger one); or a file with one name a line (#
 * begins a comment). "": all. Errors: KG_E_USAGE, KG_E_NOT_FOUND (a name of the file), KG_E_IO. */
enum kg_code tr_suite_subset(struct tr_suite *s, const char *subset,
                             struct kg_err *err) KG_MUST_USE;

struct kgym_pool;
/* Puts aside the problems of which the gym can make no first message: they are defective, or too
 * long. language: as in kgym_text_options. Errors: those of kgym_prompt that are not the problem's
 * (a host without what its kind needs), KG_E_INPUT (none is left). */
enum kg_code tr_suite_weed(struct tr_suite *s, struct kgym_pool *pool, const char *language,
                           struct kg_err *err) KG_MUST_USE;

#endif
