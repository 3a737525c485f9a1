# Cross-builds for AArch64 with Debian's compiler against the libraries in HOLOGRAM_SYSROOT, and runs
# what it has built under qemu; scripts/check-arm makes that folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(HOLOGRAM_SYSROOT "" CACHE PATH "Debian's libraries for arm64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES HOLOGRAM_SYSROOT)
set(CMAKE_SYSROOT ${HOLOGRAM_SYSROOT})
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;${HOLOGRAM_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${HOLOGRAM_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${HOLOGRAM_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${HOLOGRAM_SYSROOT}/usr/share/pkgconfig)
# The lists of tests are asked for when they are run, not at every link.
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)
