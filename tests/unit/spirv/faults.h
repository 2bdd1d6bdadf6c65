/* SPDX-License-Identifier: Apache-2.0 */
/* What a test tells the layer of faults_layer.c: one struct, exported by it as optima_faults. */
#ifndef OPTIMA_FAULTS_H
#define OPTIMA_FAULTS_H

#include <vulkan/vulkan.h>

enum { MOST_QUEUES = 4 };

struct faults {
  int submits_before; /* calls that still go well before one fails */
  VkResult submit;    /* how it then fails; 0 = not at all */
  int allocations_before;
  VkResult allocate;
  VkDeviceSize largest; /* bytes of the largest allocation so far */
  int allocations;      /* so far */
  int separate; /* set before Vulkan is opened: the GPU has memory of its own, which the processor does not see */
  int copies;    /* vkCmdCopyBuffer calls so far */
  int instances; /* that were made through the layer */
  int devices;   /* logical ones that were made so far */
  int pipelines; /* of computing that were asked for so far */
  size_t cached; /* bytes that the last pipeline cache began with */
  int queues;    /* set before Vulkan is opened: so many in place of the driver's one, which they share; 0 = as the driver has it */
  int submits_of[MOST_QUEUES]; /* so far, where `queues` is set */
  int meet;      /* a submit waits until so many queues are in one at once, half a minute at most */
  int met;       /* queues that were in one at once, where `meet` is set */
  int make_meet; /* a pipeline is made when so many are being made at once, half a minute at most */
  int make_most; /* that were being made at once so far */
  int alive;     /* pipelines that were made and not destroyed */
  VkResult make; /* how making a pipeline fails; 0 = not at all */
  size_t late;   /* bytes of a module whose pipeline fails when another has failed, half a minute later at most */
  uint32_t vendor, device, driver, version; /* set before Vulkan is opened: a GPU and a driver (VkDriverId) that this one is taken for; vendor 0 = none */
  VkDeviceSize alignment; /* set before Vulkan is opened: of the processor's memory that the driver takes; 0 = its own */
  size_t well;   /* bytes of a module whose pipeline does not fail */
};

#endif
