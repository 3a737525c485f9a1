# cmake --install: the library, the public headers, the command, and what find_package(hologram) and
# pkg-config need. A consumer needs nothing else: no third-party header or library shows.
include(CMakePackageConfigHelpers)

install(TARGETS hologram EXPORT hologram-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/hologram DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(HOLOGRAM_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/hologram)
install(EXPORT hologram-targets NAMESPACE hologram:: FILE hologram-targets.cmake
        DESTINATION ${HOLOGRAM_PACKAGE})
configure_package_config_file(cmake/hologram-config.cmake.in hologram-config.cmake
                              INSTALL_DESTINATION ${HOLOGRAM_PACKAGE})
# Before 1.0 a new minor version may change the API.
write_basic_package_version_file(hologram-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/hologram-config.cmake
              ${PROJECT_BINARY_DIR}/hologram-config-version.cmake
        DESTINATION ${HOLOGRAM_PACKAGE})

configure_file(cmake/hologram.pc.in hologram.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/hologram.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
