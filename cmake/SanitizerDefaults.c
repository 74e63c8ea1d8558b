// Read by the AddressSanitizer runtime at start-up; see
// NsaccSanitizerDefaults.cmake.
const char *__asan_default_options(void) {
  return "detect_container_overflow=0:allow_user_poisoning=0";
}
