# Installs BUILD into WORK, then configures, builds and runs the consumer, and a backend from outside
# the tree, against it.
file(REMOVE_RECURSE ${WORK})

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what} failed:\n${output}")
  endif()
endfunction()

run(Installing ${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
# The folder moves: nothing installed may depend on its place.
file(RENAME ${WORK}/prefix "${WORK}/moved prefix")
run(Configuring ${CMAKE_COMMAND} -S ${SOURCE}/consumer -B ${WORK}/build -G Ninja
    -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_PREFIX_PATH=${WORK}/moved prefix")
run(Building ${CMAKE_COMMAND} --build ${WORK}/build)
run("The consumer" ${WORK}/build/consumer)

# A backend from outside the tree sees the installed headers and its own files.
file(COPY ${ROOT}/src/backends/null DESTINATION ${WORK}/null/backends)
run(Configuring ${CMAKE_COMMAND} -S ${SOURCE}/backend -B ${WORK}/backend -G Ninja
    -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_PREFIX_PATH=${WORK}/moved prefix"
    -DNULL_BACKEND=${WORK}/null)
run(Building ${CMAKE_COMMAND} --build ${WORK}/backend)
run("The backend" ${WORK}/backend/backend)

# The same through pkg-config, without CMake.
find_program(PKG_CONFIG pkg-config REQUIRED)
file(CREATE_LINK "${WORK}/moved prefix" ${WORK}/linked SYMBOLIC)
set(ENV{PKG_CONFIG_PATH} ${WORK}/linked/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs hologram OUTPUT_VARIABLE flags
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("Compiling with pkg-config" ${COMPILER} ${SOURCE}/consumer/main.cpp ${flags} -o ${WORK}/by-pkg-config)
file(REMOVE_RECURSE ${WORK})
