/* Asks two libraries for a function that is not of this API, and falls back, as clients do; then for one that is. */
#include "host.h"

#include <dlfcn.h>

int main(void)
{
    const char *names[] = { "libruntime.so", "libascend_dump.so" };
    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *other = handle == NULL ? NULL : dlsym(handle, "not_of_this_api");
        void *ours = handle == NULL ? NULL : dlsym(handle, "acldumpGetPath");
        printf("%s%s%s%s\n", names[i], handle == NULL ? " absent" : "", other != NULL ? " other" : "",
               ours != NULL ? " ours" : "");
    }
    return 0;
}
