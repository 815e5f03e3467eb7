/* A policy behind an OpenAI-compatible endpoint: POST URL/chat/completions, streamed or whole, over
 * libcurl. Many requests are under way at once in one thread.
 *
 * URL: "http://host:port", to which /v1 is added, or with its path ("https://host/api/v1"). A user
 * part, a query and a fragment are refused, because they may hold secrets. Redirects are not
 * followed. Certificates are checked against those of the system, or of $SSL_CERT_FILE.
 *
 * One request asks for one reply: `n` is not sent. A reply is the unit that is stored and paid for;
 * with n, a connection that breaks loses all of them, and servers bill the prompt once for each in
 * any case or share it by their prefix cache.
 *
 * Asked again: 408, 409, 425, 429, 5xx, silence for timeout_s, a connection that breaks or is not
 * made, a stream without an end; after a while that doubles, or as Retry-After says. A stream or a
 * body that goes on but brings nothing of a reply for patience_s counts as silence. An answer that
 * is no chat completion, or is too long (refused at 64 MB; 4 MB a line), is asked for TR_ODD_TRIES
 * times, since it may be paid for. An endpoint that was never reached is given up after
 * TR_FIRST_SECONDS.
 *
 * Where the window is known, the bound of a reply is what the prompt leaves of it by an estimate,
 * at least 256 tokens.
 *
 * A parameter that the endpoint names as unknown is left out from then on if it is `seed` or
 * `stream_options`; `max_tokens` becomes `max_completion_tokens`. The others would change what is
 * measured: KG_E_USAGE.
 *
 * The key ($OPENAI_API_KEY, or the first word of a file) goes into a header and nowhere else. Where
 * an endpoint repeats it, [key] stands in its place. Environment: OPENAI_API_KEY, SSL_CERT_FILE,
 * those of libcurl for proxies, KGYM_LIBCURL. Not thread safe. */
#ifndef KG_TRIAL_POLICY_ENDPOINT_H
#define KG_TRIAL_POLICY_ENDPOINT_H

#include "trial/policy/policy.h"

enum { TR_ODD_TRIES = 3, TR_FIRST_SECONDS = 20 };

/* o->policy is not read. Without a model the endpoint is asked for its list; the request of the
 * list is tried again like others. Errors: those of tr_policy_open. */
enum kg_code tr_endpoint_open(const char *url, const struct tr_policy_options *o,
                              struct tr_policy *out, struct kg_err *err) KG_MUST_USE;

#endif
