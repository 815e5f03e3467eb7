/* Decides whose kernel a launch is, by the object that the launch comes from. */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <string.h>

#include "probe/profile.h"

#define DEEP 48 /* frames to look at; CUPTI's and the driver's own are about 10 */

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

bool kg_prof_between(const char *object)
{
    static const char *const names[] = {"libkgym_probe.so", "libcupti.so",   "libcuda.so",
                                        "libcudart.so",     "libc.so",       "libpthread.so",
                                        "libfakecupti.so",  "libfakecuda.so"};
    const char *base = base_of(object);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (begins(base, names[i])) {
            return true;
        }
    }
    return false;
}

/* True if the path is below one of the folders, which ':' separates. */
static bool below(const char *path, const char *folders)
{
    while (*folders) {
        size_t n = strcspn(folders, ":");
        if (n > 0 && strncmp(path, folders, n) == 0 && (path[n] == '/' || folders[n - 1] == '/')) {
            return true;
        }
        folders += n + (folders[n] == ':');
    }
    return false;
}

/* Inductor's C++ wrappers are objects in its own folder, which may be torch's default one. */
static bool is_compiled(const char *object, const char *compiled)
{
    return strstr(object, "/torchinductor_") != NULL || below(object, compiled);
}

enum kg_prof_class kg_prof_class_of(const char *object, const char *library, const char *compiled,
                                    int label)
{
    const char *base = base_of(object);
    bool static_launcher = begins(base, "libtorch_python"); /* Inductor launches through it */
    bool launcher = static_launcher || begins(base, "__triton_launcher") ||
                    begins(base, "cuda_utils") || strstr(object, "/triton/") != NULL;
    if (launcher && label != KG_PROF_UNKNOWN && label < KG_PROF_CLASSES) {
        return (enum kg_prof_class)label;
    }
    if (static_launcher || is_compiled(object, compiled)) {
        return KG_PROF_COMPILER;
    }
    if (label == KG_PROF_JITTED && begins(base, "libtorch_cuda")) {
        return KG_PROF_OWN;
    }
    /* Python calls the driver by name through these; code compiled so is the candidate's text. */
    if (begins(base, "libffi") || begins(base, "_ctypes")) {
        return KG_PROF_OWN;
    }
    /* A program that was found through PATH has no path of its own. */
    bool program = *object != '\0' && strchr(object, '/') == NULL;
    return program || below(object, library) ? KG_PROF_LIBRARY : KG_PROF_OWN;
}

enum kg_prof_class kg_prof_caller(const char *library, const char *compiled, int label,
                                  char by[KG_PROF_BASE])
{
    void *frame[DEEP];
    int n = backtrace(frame, DEEP);
    bool driver = false;
    if (by != NULL) {
        by[0] = '\0';
    }
    for (int i = 0; i < n; i++) {
        Dl_info at;
        const char *object = dladdr(frame[i], &at) && at.dli_fname ? at.dli_fname : "";
        if (kg_prof_between(object)) {
            driver = driver || !begins(base_of(object), "libkgym_probe");
        } else if (driver) {
            if (by != NULL) {
                snprintf(by, KG_PROF_BASE, "%s", base_of(object));
            }
            return kg_prof_class_of(object, library, compiled, label);
        }
    }
    /* the stack could not be followed: Triton's label decides, if it is a launch of Triton's */
    return label == KG_PROF_JITTED ? KG_PROF_OWN : (enum kg_prof_class)label;
}
