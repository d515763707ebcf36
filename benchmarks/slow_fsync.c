/* Makes each fsync and fdatasync of a process a millisecond longer: see many_runs.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int later(const char *name, int file) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, 0);
    return real(file);
}

int fsync(int file) { return later("fsync", file); }

int fdatasync(int file) { return later("fdatasync", file); }
