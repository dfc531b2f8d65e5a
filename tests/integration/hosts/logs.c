/* Messages of each level in the log. */
#include "host.h"
#include <stdarg.h>

void aclAppLogWithArgs(aclLogLevel level, const char *function, const char *file, uint32_t line, const char *format, va_list list);

static void with_list(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    aclAppLogWithArgs(ACL_WARNING, __func__, "list.c", 7, format, list);
    va_end(list);
}

int main(void)
{
    for (int level = ACL_DEBUG; level <= ACL_ERROR; level++)
        aclAppLog((aclLogLevel)level, __func__, "logs.c", 3, "level %d of %s", level, "four");
    with_list("%.1f%%", 2.5);
    aclAppLog((aclLogLevel)99, NULL, NULL, 0, "no level");
    aclAppLog(ACL_ERROR, NULL, NULL, 1, NULL);
    return 0;
}
