/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of Vulkan's functions, opened at run time: Debian's libvulkan-volk-dev ships it as source. */
#include <volk.c>
