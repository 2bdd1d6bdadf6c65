/* SPDX-License-Identifier: Apache-2.0 */
/* A Vulkan layer that makes a driver fail on demand: what a test wants of it stands in optima_faults, which it finds by dlsym. Chaining: the loader's
 * interface for layers, version 0 (vk_layer.h). */
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define EXPORT __attribute__((visibility("default")))

/* Calls that still go well before one fails, then the result; a result of 0 is none. */
struct faults { int submits_before; VkResult submit; int allocations_before; VkResult allocate; };
EXPORT struct faults optima_faults;

static PFN_vkGetInstanceProcAddr next_instance;
static PFN_vkGetDeviceProcAddr next_device;
static PFN_vkQueueSubmit next_submit;
static PFN_vkAllocateMemory next_allocate;

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  if (optima_faults.submit && optima_faults.submits_before-- <= 0) {
    VkResult r = optima_faults.submit;
    optima_faults.submit = VK_SUCCESS;
    return r;
  }
  return next_submit(queue, count, submits, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* with, VkDeviceMemory* memory) {
  if (optima_faults.allocate && optima_faults.allocations_before-- <= 0) {
    VkResult r = optima_faults.allocate;
    optima_faults.allocate = VK_SUCCESS;
    return r;
  }
  return next_allocate(device, info, with, memory);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* with, VkInstance* instance) {
  VkLayerInstanceCreateInfo* link = (VkLayerInstanceCreateInfo*)info->pNext;
  while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO)) link = (VkLayerInstanceCreateInfo*)link->pNext;
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  return ((PFN_vkCreateInstance)next_instance(NULL, "vkCreateInstance"))(info, with, instance);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice gpu, const VkDeviceCreateInfo* info, const VkAllocationCallbacks* with, VkDevice* device) {
  VkLayerDeviceCreateInfo* link = (VkLayerDeviceCreateInfo*)info->pNext;
  while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO)) link = (VkLayerDeviceCreateInfo*)link->pNext;
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  next_device = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  VkResult made = ((PFN_vkCreateDevice)instance(NULL, "vkCreateDevice"))(gpu, info, with, device);
  if (made == VK_SUCCESS) {
    next_submit = (PFN_vkQueueSubmit)next_device(*device, "vkQueueSubmit");
    next_allocate = (PFN_vkAllocateMemory)next_device(*device, "vkAllocateMemory");
  }
  return made;
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL optima_faults_device(VkDevice device, const char* name) {
  if (strcmp(name, "vkQueueSubmit") == 0) return (PFN_vkVoidFunction)submit;
  if (strcmp(name, "vkAllocateMemory") == 0) return (PFN_vkVoidFunction)allocate;
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)optima_faults_device;
  return next_device(device, name);
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL optima_faults_instance(VkInstance instance, const char* name) {
  if (strcmp(name, "vkCreateInstance") == 0) return (PFN_vkVoidFunction)create_instance;
  if (strcmp(name, "vkCreateDevice") == 0) return (PFN_vkVoidFunction)create_device;
  if (strcmp(name, "vkGetInstanceProcAddr") == 0) return (PFN_vkVoidFunction)optima_faults_instance;
  if (strcmp(name, "vkQueueSubmit") == 0 || strcmp(name, "vkAllocateMemory") == 0 || strcmp(name, "vkGetDeviceProcAddr") == 0) return optima_faults_device(VK_NULL_HANDLE, name);
  return next_instance ? next_instance(instance, name) : NULL;
}
