/* The functions of libcurl that are used. The library is loaded when a policy first needs it:
 * linking it would load thirty libraries into each worker of the gym. Types and constants are those
 * of its header. $KGYM_LIBCURL names another library (tests). The library stays loaded. Not thread
 * safe. */
#ifndef KG_TRIAL_POLICY_CURL_API_H
#define KG_TRIAL_POLICY_CURL_API_H

#include <curl/curl.h>

#include "base/err.h"

/* F(field, symbol) */
#define TR_CURL_FUNCTIONS(F)                                                                       \
    F(global_init, curl_global_init)                                                               \
    F(easy_init, curl_easy_init)                                                                   \
    F(easy_setopt, curl_easy_setopt)                                                               \
    F(easy_getinfo, curl_easy_getinfo)                                                             \
    F(easy_perform, curl_easy_perform)                                                             \
    F(easy_strerror, curl_easy_strerror)                                                           \
    F(easy_reset, curl_easy_reset)                                                                 \
    F(easy_cleanup, curl_easy_cleanup)                                                             \
    F(slist_append, curl_slist_append)                                                             \
    F(slist_free_all, curl_slist_free_all)                                                         \
    F(getdate, curl_getdate)                                                                       \
    F(multi_init, curl_multi_init)                                                                 \
    F(multi_setopt, curl_multi_setopt)                                                             \
    F(multi_add_handle, curl_multi_add_handle)                                                     \
    F(multi_remove_handle, curl_multi_remove_handle)                                               \
    F(multi_perform, curl_multi_perform)                                                           \
    F(multi_poll, curl_multi_poll)                                                                 \
    F(multi_info_read, curl_multi_info_read)                                                       \
    F(multi_strerror, curl_multi_strerror)                                                         \
    F(multi_cleanup, curl_multi_cleanup)

/* The header's macros of these names check types of direct calls only. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct tr_curl {
#define TR_CURL_FIELD(field, symbol) __typeof__(&(symbol)) field; /* NOLINT: a name */
    TR_CURL_FUNCTIONS(TR_CURL_FIELD)
#undef TR_CURL_FIELD
};

/* The table, loaded at the first call. KG_E_HOST: the message says what to install. */
enum kg_code tr_curl_load(const struct tr_curl **out, struct kg_err *err) KG_MUST_USE;

#endif
