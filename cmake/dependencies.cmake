# Everything comes from the distribution; scripts/packages lists it.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(asmjit REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy libhwy-contrib)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)

set(HOLOGRAM_LIBRARIES
    PkgConfig::HWY
    PkgConfig::XXHASH
    PNG::PNG
    JPEG::JPEG
    ZLIB::ZLIB
    nlohmann_json::nlohmann_json
    asmjit::asmjit
    tomlplusplus::tomlplusplus
    fmt::fmt
    Threads::Threads
    ${CMAKE_DL_LIBS})
