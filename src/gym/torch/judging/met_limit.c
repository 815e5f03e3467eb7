/* Which option to raise, from the words of the C library for an exhausted resource. */
#include "gym/torch/judging/met_limit.h"

#include <string.h>

/* Source: strerror() of EFBIG, ENOSPC and EAGAIN, and what shells, Python and OpenBLAS say. */
static const struct {
    const char *words, *option;
} table[] = {
    {"File too large", "limit.file_mb"},
    {"File size limit exceeded", "limit.file_mb"},
    {"SIGXFSZ", "limit.file_mb"},
    {"No space left on device", "limit.scratch_mb"},
    {"Disk quota exceeded", "limit.scratch_mb"},
    {"Resource temporarily unavailable", "limit.processes"},
    {"can't start new thread", "limit.processes"},
    {"Cannot fork", "limit.processes"},
};

const char *kg_tmet_option(const char *text)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strstr(text, table[i].words) != NULL) {
            return table[i].option;
        }
    }
    return NULL;
}

void kg_tmet_note(struct kg_evaluation *e, const char *text)
{
    const struct kg_config *c = &e->w->config;
    const char *option = kg_tmet_option(text);
    if (option == NULL) {
        return;
    }
    int64_t value = strcmp(option, "limit.file_mb") == 0 ? c->limit_file_mb
                    : strcmp(option, "limit.scratch_mb") == 0
                        ? kg_pyrunner_tmp_mb(c->limit_scratch_mb)
                        : c->limit_processes;
    const char *unit = strcmp(option, "limit.processes") == 0 ? "" : "MB";
    kg_record_evidence(
        e->r, "met_limit",
        json_pack("{s:s, s:I, s:s}", "option", option, "value", (json_int_t)value, "unit", unit));
}
