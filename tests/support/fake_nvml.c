/* Answers as libnvidia-ml.so.1 does, from the file that $FAKE_NVML names, read anew at every call:
 *   driver off                              nvmlInit fails, and every call after it
 *   gpu NAME USED TOTAL UTIL TEMP MILLIWATTS    one line for each GPU, in order
 *   lost                                    in place of a gpu line: fell off the bus
 *   stuck                                   in place of a gpu line: asking for it does not return while it says so
 *   process GPU PID USED UTIL               a process on a GPU; USED -1: not told
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
       DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };
enum { MOST = 64 };

typedef struct { char name[96]; long long used, total; unsigned util, temp, power; int lost, stuck; } gpu_t;
typedef struct { unsigned gpu, pid; long long used; unsigned util; } process_t;
typedef struct { unsigned pid; unsigned long long used; unsigned gi, ci; } info_t;
typedef struct { unsigned pid; unsigned long long at; unsigned sm, mem, enc, dec; } sample_t;
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned gpu, memory; } rates_t;

static gpu_t gpus[MOST];
static process_t processes[MOST];
static unsigned gpu_count, process_count;
static unsigned long long calls;
static int open_sessions;

static int load(void) {
  const char *path = getenv("FAKE_NVML");
  FILE *file = path ? fopen(path, "r") : NULL;
  char line[512];
  gpu_count = process_count = 0;
  if (!file) return DRIVER_NOT_LOADED;
  while (fgets(line, sizeof line, file)) {
    gpu_t g = {0};
    process_t p = {0};
    if (!strncmp(line, "driver off", 10)) { fclose(file); return DRIVER_NOT_LOADED; }
    if (sscanf(line, "process %u %u %lld %u", &p.gpu, &p.pid, &p.used, &p.util) == 4) {
      if (process_count < MOST) processes[process_count++] = p;
    } else if (gpu_count < MOST) {
      g.lost = !strncmp(line, "lost", 4);
      g.stuck = !strncmp(line, "stuck", 5);
      if (g.lost || g.stuck || sscanf(line, "gpu %95s %lld %lld %u %u %u", g.name, &g.used, &g.total,
                                      &g.util, &g.temp, &g.power) == 6)
        gpus[gpu_count++] = g;
    }
  }
  fclose(file);
  return SUCCESS;
}

static int find(void *device, gpu_t **found) {
  size_t index = (size_t)device - 1;
  int status = open_sessions ? load() : UNINITIALIZED;
  if (status) return status;
  if (index >= gpu_count) return INVALID_ARGUMENT;
  *found = &gpus[index];
  while (gpus[index].stuck) { usleep(10000); load(); }
  return gpus[index].lost ? GPU_IS_LOST : SUCCESS;
}

#define WITH(device) gpu_t *g; int status = find(device, &g); if (status) return status

int nvmlInitWithFlags(unsigned flags) {
  int status = load();
  (void)flags;
  if (!status) open_sessions++;
  return status;
}
int nvmlShutdown(void) {
  if (!open_sessions) return UNINITIALIZED;
  open_sessions--;
  return SUCCESS;
}
const char *nvmlErrorString(int status) {
  switch (status) {
    case DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case GPU_IS_LOST: return "GPU is lost";
    case UNINITIALIZED: return "Uninitialized";
    default: return "Unknown Error";
  }
}
int nvmlDeviceGetCount_v2(unsigned *count) {
  int status = open_sessions ? load() : UNINITIALIZED;
  if (!status) *count = gpu_count;
  return status;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  gpu_t *g;
  *device = (void *)(size_t)(index + 1);
  return find(*device, &g);
}
int nvmlDeviceGetName(void *d, char *name, unsigned size) { WITH(d); snprintf(name, size, "%s", g->name); return SUCCESS; }
int nvmlDeviceGetUUID(void *d, char *uuid, unsigned size) { WITH(d); snprintf(uuid, size, "GPU-%04zu", (size_t)d); return SUCCESS; }
int nvmlDeviceGetUtilizationRates(void *d, rates_t *rates) { WITH(d); rates->gpu = g->util; rates->memory = 0; return SUCCESS; }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *t) { WITH(d); (void)sensor; *t = g->temp; return SUCCESS; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *power) { WITH(d); *power = g->power; return SUCCESS; }
int nvmlDeviceGetMemoryInfo(void *d, memory_t *memory) {
  WITH(d);
  memory->total = g->total;
  memory->used = g->used;
  memory->free = g->total - g->used;
  return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, info_t *infos) {
  unsigned i, n = 0, room = *count;
  WITH(d);
  for (i = 0; i < process_count; i++)
    if (processes[i].gpu == (size_t)d - 1) {
      if (infos && n < room) infos[n] = (info_t){processes[i].pid, processes[i].used, 0, 0};
      n++;
    }
  *count = n;
  return n > room ? INSUFFICIENT_SIZE : SUCCESS;
}
int nvmlDeviceGetProcessUtilization(void *d, sample_t *samples, unsigned *count, unsigned long long since) {
  unsigned i, n = 0;
  WITH(d);
  for (i = 0; i < process_count; i++)
    if (processes[i].gpu == (size_t)d - 1) {
      if (samples && n < *count) samples[n] = (sample_t){processes[i].pid, since + ++calls, processes[i].util, 0, 0, 0};
      n++;
    }
  if (!n) return NOT_FOUND;
  if (!samples || n > *count) { *count = n; return INSUFFICIENT_SIZE; }
  *count = n;
  return SUCCESS;
}
