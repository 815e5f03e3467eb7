/* Tests that need a loadable object: C text compiled with gcc into a temporary folder. */
#ifndef KG_TESTS_SUPPORT_COBJECT_H
#define KG_TESTS_SUPPORT_COBJECT_H

/* A new folder below $TMPDIR or /tmp that runners may enter; static storage. */
const char *cobject_dir(void);
/* Compile text to DIR/name.so and return its path (static storage, one per call up to 256); fails
 * the test when gcc does. flags may be "". */
const char *cobject_build(const char *name, const char *text, const char *flags);
/* Path of something below the build folder ($KGYM_BUILD, else build/release). name: a literal;
 * static storage, up to 8 names. */
const char *cobject_built(const char *name);
/* Remove the folder and all in it. */
void cobject_clean(void);

#endif
