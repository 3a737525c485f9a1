// Marks what the shared library exports; everything else is hidden.
#pragma once

#if defined(_WIN32)
#define HOLOGRAM_API
#else
#define HOLOGRAM_API __attribute__((visibility("default")))
#endif
