/* Where the time of a command goes: spans of its processes in one file, which Perfetto
 * (ui.perfetto.dev) and chrome://tracing draw, and tools/trace.py sums up. Source: the Trace Event
 * Format, complete events ("ph": "X"), microseconds of the monotonic clock, a line each. */
#ifndef KG_BASE_TRACE_H
#define KG_BASE_TRACE_H

#include "base/err.h"

/* For this process and those that it forks from now on. The file is made anew. */
enum kg_code kg_trace_to(const char *path, struct kg_err *err) KG_MUST_USE;
/* The same for a file that another process has made: spans are added to it. */
enum kg_code kg_trace_join(const char *path, struct kg_err *err) KG_MUST_USE;
/* From begun_ns (kg_clock_ns) until now; kind and name: plain words. Nothing where no file was
 * named; a span that cannot be written is lost. */
void kg_trace_span(int64_t begun_ns, const char *kind, const char *name);
/* The same until ended_ns: for who may write only later. */
void kg_trace_span_of(int64_t begun_ns, int64_t ended_ns, const char *kind, const char *name);

#endif
