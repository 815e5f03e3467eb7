#include "trial/policy/curl_api.h"

#include <dlfcn.h>
#include <stdlib.h>

static void *open_library(void)
{
    const char *named = getenv("KGYM_LIBCURL");
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    void *library = NULL;
    if (named != NULL && *named != '\0') {
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

/* ISO C has no cast from an object pointer to a function pointer; POSIX guarantees it. */
static const char *find_all(void *library, struct tr_curl *out)
{
    const char *missing = NULL;
#define FIND(field, symbol)                                                                        \
    *(void **)&out->field = dlsym(library, #symbol);                                               \
    missing = missing == NULL && out->field == NULL ? #symbol : missing;
    TR_CURL_FUNCTIONS(FIND)
#undef FIND
    return missing;
}

enum kg_code tr_curl_load(const struct tr_curl **out, struct kg_err *err)
{
    static struct tr_curl table;
    static bool ready;
    *out = &table;
    if (ready) {
        return KG_OK;
    }
    void *library = open_library();
    if (library == NULL) {
        return kg_fail(err, KG_E_HOST,
                       "a policy behind an endpoint needs libcurl, which cannot be loaded (%s): "
                       "install it (Debian: apt-get install libcurl4)",
                       dlerror());
    }
    const char *missing = find_all(library, &table);
    if (missing != NULL) {
        dlclose(library);
        return kg_fail(err, KG_E_HOST, "libcurl has no %s: version 7.66 or newer is needed",
                       missing);
    }
    if (table.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        dlclose(library);
        return kg_fail(err, KG_E_HOST, "libcurl cannot be initialised");
    }
    ready = true;
    return KG_OK;
}
