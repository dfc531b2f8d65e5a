/* Loads the runtime by each of the names given and says whether it is the same library: one set of functions, one
 * mapping, one state. "-" before the names: nothing was preloaded, the first name brings the library. */
#include "host.h"

#include <dlfcn.h>

typedef aclError (*set_device_t)(int32_t);
typedef aclError (*create_t)(aclrtStream *);
typedef aclError (*destroy_t)(aclrtStream);

static void *load(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return handle;
}

/* How many times the file that holds `inside` is mapped from its beginning. */
static int mappings(const void *inside)
{
    char line[4096];
    unsigned long from, to, offset, inode, wanted = 0;
    int count = 0;
    for (int pass = 0; pass < 2; pass++) {
        FILE *maps = fopen("/proc/self/maps", "r");
        if (maps == NULL)
            exit(4);
        while (fgets(line, sizeof line, maps) != NULL) {
            if (sscanf(line, "%lx-%lx %*s %lx %*s %lu", &from, &to, &offset, &inode) != 4)
                continue;
            if (pass == 0 && from <= (unsigned long)inside && (unsigned long)inside < to)
                wanted = inode;
            if (pass == 1 && inode == wanted && offset == 0)
                count++;
        }
        fclose(maps);
    }
    return count;
}

int main(int argc, char **argv)
{
    int preloaded = argc > 1 && strcmp(argv[1], "-") != 0;
    void *known = preloaded ? dlsym(RTLD_DEFAULT, "aclrtSetDevice") : NULL;
    aclrtStream stream = NULL;
    for (int i = preloaded ? 1 : 2; i < argc; i++) {
        void *handle = load(argv[i]);
        set_device_t set_device = (set_device_t)dlsym(handle, "aclrtSetDevice");
        create_t create = (create_t)dlsym(handle, "aclrtCreateStream");
        destroy_t destroy = (destroy_t)dlsym(handle, "aclrtDestroyStream");
        if (set_device == NULL || create == NULL || destroy == NULL)
            return 5;
        if (known == NULL)
            known = (void *)set_device;
        WANT((void *)set_device == known, 1);
        if (stream == NULL)
            WANT(set_device(0), 0);
        else
            WANT(destroy(stream), 0); /* made through another name */
        WANT(create(&stream), 0);
    }
    WANT(mappings(known), 1);
    if (failures == 0)
        puts("one");
    return failures != 0;
}
