/* What a compiler said of a candidate that was imported or constructed: the log of an extension's
 * build, or a linker's or loader's word, as its runner told it before it was given any input. The
 * runner may tell what it likes, so the text is bounded and decides between reasons of one verdict
 * only. Pure. */
#ifndef KG_GYM_TORCH_JUDGING_COMPLAINT_H
#define KG_GYM_TORCH_JUDGING_COMPLAINT_H

#include "base/buf.h"

struct kg_tcomplaint {
    const char *reason; /* of compile_error: "syntax", "link", "limits", "load" */
    int line;           /* of the candidate's source that the first error quotes; 0: not found */
    char first[200];    /* the first error, "" none */
};

/* log: at most 64 KB are read; code: the candidate's source. Appends the text with paths reduced to
 * base names to out. */
void kg_tcomplaint_read(const char *log, const char *code, struct kg_buf *text,
                        struct kg_tcomplaint *out);

#endif
