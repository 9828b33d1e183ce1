/* A stand-in for libnvidia-ml.so.1: GPU 0 is healthy, GPU 1 is lost, GPU 2 has almost nothing. */

#include <string.h>

enum { OK = 0, NOT_SUPPORTED = 3, GPU_IS_LOST = 15 };

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
} process_t;

static int devices[3] = {0, 1, 2};

int nvmlInitWithFlags(unsigned int flags) { return OK; }
int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return code == GPU_IS_LOST ? "GPU is lost" : "no"; }

int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 3; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, int **device) {
    *device = &devices[index];
    return index == 1 ? GPU_IS_LOST : OK;
}

int nvmlDeviceGetUUID(int *device, char *text, unsigned int length) {
    strncpy(text, *device ? "GPU-two" : "GPU-zero", length);
    return OK;
}

int nvmlDeviceGetName(int *device, char *text, unsigned int length) {
    strncpy(text, "NVIDIA \xe2\x84\xa2 H100, 80GB", length);
    return OK;
}

int nvmlDeviceGetMemoryInfo(int *device, memory_t *memory) {
    if (*device) return NOT_SUPPORTED;
    *memory = (memory_t){85899345920ULL, 85899345000ULL, 920};
    return OK;
}

int nvmlDeviceGetUtilizationRates(int *device, utilization_t *rates) {
    if (*device) return NOT_SUPPORTED;
    *rates = (utilization_t){97, 40};
    return OK;
}

int nvmlDeviceGetTemperature(int *device, int sensor, unsigned int *celsius) {
    if (*device) return NOT_SUPPORTED;
    *celsius = 64;
    return OK;
}

int nvmlDeviceGetPowerUsage(int *device, unsigned int *milliwatts) {
    if (*device) return NOT_SUPPORTED;
    *milliwatts = 612345;
    return OK;
}

/* nvmlDeviceGetEnforcedPowerLimit is missing, as in a driver that is too old for it. */

int nvmlDeviceGetComputeRunningProcesses_v3(int *device, unsigned int *count, process_t *rows) {
    if (*device) return NOT_SUPPORTED;
    if (*count < 1) { *count = 1; return 7; }
    *count = 1;
    rows[0] = (process_t){1, ~0ULL, 0, 0};
    return OK;
}
