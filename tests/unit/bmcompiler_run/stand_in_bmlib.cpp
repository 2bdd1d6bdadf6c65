// SPDX-License-Identifier: Apache-2.0
// tests: stands in for libbmlib of SOPHON's driver: two devices, a BM1684X and one that nobody knows.
extern "C" {
int bm_dev_getcount(int* count) { return *count = 2, 0; }
int bm_dev_request(void** handle, int device) {
  static int devices[2];
  if (device > 1) return 4;
  *handle = &devices[device];
  if (device == 1) devices[1] = 1;
  return 0;
}
int bm_get_chipid(void* handle, unsigned* id) { return *id = *static_cast<int*>(handle) ? 0x9999 : 0x1686, 0; }
void bm_dev_free(void*) {}
}
