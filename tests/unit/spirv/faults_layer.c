/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan layer that makes a driver fail on demand: what a test wants of it stands in optima_faults, which it finds by dlsym. Chaining: the loader's
 * interface for layers, version 0 (vk_layer.h). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vulkan/vk_layer.h>

#include "faults.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct faults optima_faults;

static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
static PFN_vkQueueSubmit next_submit;
static PFN_vkAllocateMemory next_allocate;
static PFN_vkMapMemory next_map;
static PFN_vkGetBufferMemoryRequirements next_requirements;
static PFN_vkGetMemoryHostPointerPropertiesEXT next_host_pointer;
static PFN_vkCmdCopyBuffer next_copy;
static PFN_vkCreateComputePipelines next_pipelines;
static PFN_vkDestroyPipeline next_destroy_pipeline;
static PFN_vkCreateShaderModule next_module;
static PFN_vkCreatePipelineCache next_cache;
static PFN_vkGetPhysicalDeviceProperties next_properties;
static PFN_vkGetPhysicalDeviceProperties2 next_properties2;
static PFN_vkGetPhysicalDeviceMemoryProperties next_memory_properties;
static PFN_vkGetPhysicalDeviceQueueFamilyProperties next_families;
static PFN_vkGetDeviceQueue next_queue;
static PFN_vkQueueWaitIdle next_wait_idle;
static VkShaderModule late_module, well_module;

/* Queues that share the driver's: what the loader writes into a handle, the driver's, and which one it is. */
struct shared_queue { void* loader; VkQueue driver; int number; };
static struct shared_queue shared_queues[MOST_QUEUES];
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER, meeting_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t meeting = PTHREAD_COND_INITIALIZER;

/* Types of memory in a GPU with memory of its own. The driver below has one type, for both. */
enum { OF_GPU = 0, OF_PROCESSOR = 1, MOST_MEMORIES = 256 };
static VkDeviceMemory memories_of_gpu[MOST_MEMORIES];
static int memory_count;

static struct shared_queue* shared_of(VkQueue queue) {
  for (int k = 0; k < MOST_QUEUES; ++k)
    if ((VkQueue)&shared_queues[k] == queue) return &shared_queues[k];
  return NULL;
}

static struct timespec in_half_a_minute(void) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 30;
  return end;
}

static void meet(int number) {
  static int arrived;
  const struct timespec end = in_half_a_minute();
  pthread_mutex_lock(&meeting_lock);
  if (optima_faults.met == 0) arrived = 0;
  if (!(arrived >> number & 1)) arrived |= 1 << number, ++optima_faults.met;
  pthread_cond_broadcast(&meeting);
  while (optima_faults.met < optima_faults.meet && pthread_cond_timedwait(&meeting, &meeting_lock, &end) == 0) continue;
  pthread_mutex_unlock(&meeting_lock);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  if (optima_faults.submit && optima_faults.submits_before-- <= 0) {
    VkResult r = optima_faults.submit;
    optima_faults.submit = VK_SUCCESS;
    return r;
  }
  struct shared_queue* shared = shared_of(queue);
  if (!shared) return next_submit(queue, count, submits, fence);
  if (optima_faults.meet) meet(shared->number);
  pthread_mutex_lock(&driver_lock); /* whoever uses a queue sees to it that nobody else does */
  ++optima_faults.submits_of[shared->number];
  VkResult r = next_submit(shared->driver, count, submits, fence);
  pthread_mutex_unlock(&driver_lock);
  return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
  struct shared_queue* shared = shared_of(queue);
  if (!shared) return next_wait_idle(queue);
  pthread_mutex_lock(&driver_lock);
  VkResult r = next_wait_idle(shared->driver);
  pthread_mutex_unlock(&driver_lock);
  return r;
}

static VKAPI_ATTR void VKAPI_CALL device_queue(VkDevice device, uint32_t family, uint32_t number, VkQueue* queue) {
  if (!optima_faults.queues) {
    next_queue(device, family, number, queue);
    return;
  }
  next_queue(device, family, 0, queue);
  shared_queues[number] = (struct shared_queue){*(void**)*queue, *queue, (int)number};
  *queue = (VkQueue)&shared_queues[number];
}

static VKAPI_ATTR void VKAPI_CALL families(VkPhysicalDevice gpu, uint32_t* count, VkQueueFamilyProperties* out) {
  next_families(gpu, count, out);
  for (uint32_t k = 0; out && optima_faults.queues && k < *count; ++k) out[k].queueCount = (uint32_t)optima_faults.queues;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* with, VkDeviceMemory* memory) {
  if (optima_faults.allocate && optima_faults.allocations_before-- <= 0) {
    VkResult r = optima_faults.allocate;
    optima_faults.allocate = VK_SUCCESS;
    return r;
  }
  ++optima_faults.allocations;
  if (info->allocationSize > optima_faults.largest) optima_faults.largest = info->allocationSize;
  if (!optima_faults.separate) return next_allocate(device, info, with, memory);
  VkMemoryAllocateInfo below = *info;
  below.memoryTypeIndex = 0;
  VkResult made = next_allocate(device, &below, with, memory);
  if (made == VK_SUCCESS)
    for (int k = 0; k < memory_count; ++k)
      if (memories_of_gpu[k] == *memory) memories_of_gpu[k] = VK_NULL_HANDLE; /* a handle of freed memory */
  if (made == VK_SUCCESS && info->memoryTypeIndex == OF_GPU) {
    if (memory_count == MOST_MEMORIES) abort();
    memories_of_gpu[memory_count++] = *memory;
  }
  return made;
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags, void** data) {
  for (int k = 0; optima_faults.separate && k < memory_count; ++k) /* else handles of a GPU that is gone, which the driver gives again */
    if (memories_of_gpu[k] == memory) return VK_ERROR_MEMORY_MAP_FAILED;
  return next_map(device, memory, offset, size, flags, data);
}

static VKAPI_ATTR VkResult VKAPI_CALL host_pointer(VkDevice device, VkExternalMemoryHandleTypeFlagBits type, const void* pointer, VkMemoryHostPointerPropertiesEXT* out) {
  VkResult r = next_host_pointer(device, type, pointer, out);
  if (optima_faults.separate) out->memoryTypeBits = 1u << OF_PROCESSOR;
  return r;
}

static VKAPI_ATTR void VKAPI_CALL requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements* needs) {
  next_requirements(device, buffer, needs);
  if (optima_faults.separate) needs->memoryTypeBits = 1u << OF_GPU | 1u << OF_PROCESSOR;
}

static VKAPI_ATTR void VKAPI_CALL copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count, const VkBufferCopy* pieces) {
  ++optima_faults.copies;
  next_copy(commands, from, to, count, pieces);
}

static VKAPI_ATTR VkResult VKAPI_CALL pipelines(VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo* infos, const VkAllocationCallbacks* with, VkPipeline* made) {
  static int inside, failures;
  const struct timespec end = in_half_a_minute();
  const VkShaderModule module = infos->stage.module;
  VkResult r = VK_SUCCESS;
  pthread_mutex_lock(&meeting_lock);
  if (optima_faults.pipelines == 0) failures = 0;
  optima_faults.pipelines += (int)count;
  if (++inside > optima_faults.make_most) optima_faults.make_most = inside;
  pthread_cond_broadcast(&meeting);
  while (optima_faults.make_most < optima_faults.make_meet && pthread_cond_timedwait(&meeting, &meeting_lock, &end) == 0) continue;
  if (optima_faults.make && !(optima_faults.well && module == well_module)) r = optima_faults.make;
  while (r && optima_faults.late && module == late_module && failures == 0 && pthread_cond_timedwait(&meeting, &meeting_lock, &end) == 0) continue;
  if (r) ++failures, pthread_cond_broadcast(&meeting);
  pthread_mutex_unlock(&meeting_lock);
  if (!r) r = next_pipelines(device, cache, count, infos, with, made);
  pthread_mutex_lock(&meeting_lock);
  --inside;
  if (!r) ++optima_faults.alive;
  pthread_mutex_unlock(&meeting_lock);
  return r;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pipeline(VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks* with) {
  pthread_mutex_lock(&meeting_lock);
  if (pipeline) --optima_faults.alive;
  pthread_mutex_unlock(&meeting_lock);
  next_destroy_pipeline(device, pipeline, with);
}

static VKAPI_ATTR VkResult VKAPI_CALL shader_module(VkDevice device, const VkShaderModuleCreateInfo* info, const VkAllocationCallbacks* with, VkShaderModule* made) {
  const VkResult r = next_module(device, info, with, made);
  pthread_mutex_lock(&meeting_lock);
  if (info->codeSize == optima_faults.late) late_module = *made;
  if (info->codeSize == optima_faults.well) well_module = *made;
  pthread_mutex_unlock(&meeting_lock);
  return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL pipeline_cache(VkDevice device, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks* with, VkPipelineCache* made) {
  optima_faults.cached = info->initialDataSize;
  return next_cache(device, info, with, made);
}

static void pretend(VkPhysicalDeviceProperties* out) {
  if (optima_faults.separate) out->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  if (optima_faults.vendor) out->vendorID = optima_faults.vendor, out->deviceID = optima_faults.device, out->driverVersion = optima_faults.version;
}

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice gpu, VkPhysicalDeviceProperties* out) {
  next_properties(gpu, out);
  pretend(out);
}

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice gpu, VkPhysicalDeviceProperties2* out) {
  next_properties2(gpu, out);
  pretend(&out->properties);
  for (VkBaseOutStructure* s = out->pNext; s && optima_faults.vendor; s = s->pNext)
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES) ((VkPhysicalDeviceDriverProperties*)s)->driverID = (VkDriverId)optima_faults.driver;
  for (VkBaseOutStructure* s = out->pNext; s && optima_faults.alignment; s = s->pNext)
    if (s->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT) ((VkPhysicalDeviceExternalMemoryHostPropertiesEXT*)s)->minImportedHostPointerAlignment = optima_faults.alignment;
}

static VKAPI_ATTR void VKAPI_CALL memory_properties(VkPhysicalDevice gpu, VkPhysicalDeviceMemoryProperties* out) {
  next_memory_properties(gpu, out);
  if (!optima_faults.separate) return;
  const VkDeviceSize size = out->memoryHeaps[0].size;
  out->memoryTypeCount = out->memoryHeapCount = 2;
  out->memoryHeaps[OF_GPU] = (VkMemoryHeap){size, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
  out->memoryHeaps[OF_PROCESSOR] = (VkMemoryHeap){size, 0};
  out->memoryTypes[OF_GPU] = (VkMemoryType){VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, OF_GPU};
  out->memoryTypes[OF_PROCESSOR] = (VkMemoryType){VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, OF_PROCESSOR};
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* with, VkInstance* instance) {
  VkLayerInstanceCreateInfo* link = (VkLayerInstanceCreateInfo*)info->pNext;
  while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO)) link = (VkLayerInstanceCreateInfo*)link->pNext;
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkResult made = ((PFN_vkCreateInstance)next_instance(NULL, "vkCreateInstance"))(info, with, instance);
  if (made == VK_SUCCESS) { /* later the loader would give this layer's own */
    ++optima_faults.instances;
    next_properties = (PFN_vkGetPhysicalDeviceProperties)next_instance(*instance, "vkGetPhysicalDeviceProperties");
    next_properties2 = (PFN_vkGetPhysicalDeviceProperties2)next_instance(*instance, "vkGetPhysicalDeviceProperties2");
    next_memory_properties = (PFN_vkGetPhysicalDeviceMemoryProperties)next_instance(*instance, "vkGetPhysicalDeviceMemoryProperties");
    next_families = (PFN_vkGetPhysicalDeviceQueueFamilyProperties)next_instance(*instance, "vkGetPhysicalDeviceQueueFamilyProperties");
  }
  return made;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info, const VkAllocationCallbacks* with, VkDevice* device) {
  VkLayerDeviceCreateInfo* link = (VkLayerDeviceCreateInfo*)info->pNext;
  while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO)) link = (VkLayerDeviceCreateInfo*)link->pNext;
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkDeviceQueueCreateInfo one;
  VkDeviceCreateInfo below = *info;
  if (optima_faults.queues) one = *info->pQueueCreateInfos, one.queueCount = 1, below.pQueueCreateInfos = &one;
  VkResult made = ((PFN_vkCreateDevice)instance(NULL, "vkCreateDevice"))(gpu, &below, with, device);
  if (made == VK_SUCCESS) {
    ++optima_faults.devices;
    next_submit = (PFN_vkQueueSubmit)next_device(*device, "vkQueueSubmit");
    next_allocate = (PFN_vkAllocateMemory)next_device(*device, "vkAllocateMemory");
    next_map = (PFN_vkMapMemory)next_device(*device, "vkMapMemory");
    next_requirements = (PFN_vkGetBufferMemoryRequirements)next_device(*device, "vkGetBufferMemoryRequirements");
    next_host_pointer = (PFN_vkGetMemoryHostPointerPropertiesEXT)next_device(*device, "vkGetMemoryHostPointerPropertiesEXT");
    next_copy = (PFN_vkCmdCopyBuffer)next_device(*device, "vkCmdCopyBuffer");
    next_pipelines = (PFN_vkCreateComputePipelines)next_device(*device, "vkCreateComputePipelines");
    next_destroy_pipeline = (PFN_vkDestroyPipeline)next_device(*device, "vkDestroyPipeline");
    next_module = (PFN_vkCreateShaderModule)next_device(*device, "vkCreateShaderModule");
    next_cache = (PFN_vkCreatePipelineCache)next_device(*device, "vkCreatePipelineCache");
    next_queue = (PFN_vkGetDeviceQueue)next_device(*device, "vkGetDeviceQueue");
    next_wait_idle = (PFN_vkQueueWaitIdle)next_device(*device, "vkQueueWaitIdle");
  }
  return made;
}

struct entry { const char* name; PFN_vkVoidFunction call; };

static PFN_vkVoidFunction found(const struct entry* all, size_t count, const char* name) {
  for (size_t k = 0; k < count; ++k)
    if (strcmp(all[k].name, name) == 0) return all[k].call;
  return NULL;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL optima_faults_device(VkDevice device, const char* name) {
  const struct entry own[] = {{"vkQueueSubmit", (PFN_vkVoidFunction)submit},
                              {"vkAllocateMemory", (PFN_vkVoidFunction)allocate},
                              {"vkMapMemory", (PFN_vkVoidFunction)map},
                              {"vkGetBufferMemoryRequirements", (PFN_vkVoidFunction)requirements},
                              {"vkGetMemoryHostPointerPropertiesEXT", (PFN_vkVoidFunction)host_pointer},
                              {"vkCmdCopyBuffer", (PFN_vkVoidFunction)copy},
                              {"vkCreateComputePipelines", (PFN_vkVoidFunction)pipelines},
                              {"vkDestroyPipeline", (PFN_vkVoidFunction)destroy_pipeline},
                              {"vkCreateShaderModule", (PFN_vkVoidFunction)shader_module},
                              {"vkCreatePipelineCache", (PFN_vkVoidFunction)pipeline_cache},
                              {"vkGetDeviceQueue", (PFN_vkVoidFunction)device_queue},
                              {"vkQueueWaitIdle", (PFN_vkVoidFunction)wait_idle},
                              {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)optima_faults_device}};
  const PFN_vkVoidFunction mine = found(own, sizeof own / sizeof *own, name);
  return mine || !device ? mine : next_device(device, name);
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL optima_faults_instance(VkInstance instance, const char* name) {
  const struct entry own[] = {{"vkCreateInstance", (PFN_vkVoidFunction)create_instance},
                              {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
                              {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)optima_faults_instance},
                              {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)properties},
                              {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)properties2},
                              {"vkGetPhysicalDeviceMemoryProperties", (PFN_vkVoidFunction)memory_properties},
                              {"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)families}};
  PFN_vkVoidFunction mine = found(own, sizeof own / sizeof *own, name);
  if (!mine) mine = optima_faults_device(VK_NULL_HANDLE, name);
  return mine ? mine : next_instance ? next_instance(instance, name) : NULL;
}
