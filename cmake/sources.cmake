# Every source, room by room; a room may include only from those listed before it.
set(HOLOGRAM_SOURCES
    src/core/array.cpp
    src/core/dtype.cpp
    src/core/log.cpp
    src/core/mapped_file.cpp
    src/core/messages.cpp
    src/core/nearest.cpp
    src/core/output_file.cpp
    src/core/parallel.cpp

    src/files/exif.cpp
    src/files/formats.cpp
    src/files/jpeg.cpp
    src/files/layout.cpp
    src/files/npy.cpp
    src/files/npz.cpp
    src/files/picture.cpp
    src/files/png.cpp
    src/files/reader.cpp
    src/files/safetensors.cpp
    src/files/writer.cpp
    src/files/zip.cpp

    src/program/bounds.cpp
    src/program/builder.cpp
    src/program/cost.cpp
    src/program/evaluate.cpp
    src/program/expansions/evaluate.cpp
    src/program/hash.cpp
    src/program/needs.cpp
    src/program/op.cpp
    src/program/strip.cpp
    src/program/passes/optimize.cpp
    src/program/program.cpp
    src/program/typing.cpp
    src/program/uniformity.cpp
    src/program/verify.cpp
    src/program/verify_code.cpp
    src/program/verify_declarations.cpp

    src/interp/access.cpp
    src/interp/affine.cpp
    src/interp/checker.cpp
    src/interp/interpreter.cpp
    src/interp/kernels_convert.cpp
    src/interp/kernels_float.cpp
    src/interp/kernels_functions_f32.cpp
    src/interp/kernels_functions_f64.cpp
    src/interp/kernels_integer.cpp
    src/interp/lowering.cpp
    src/interp/machine.cpp
    src/interp/machine_control.cpp
    src/interp/machine_group.cpp
    src/interp/machine_memory.cpp
    src/interp/targets.cpp

    src/backends/cpu/cpu.cpp
    src/backends/null/null.cpp
    src/backends/registry.cpp

    src/runtime/binding.cpp
    src/runtime/config.cpp
    src/runtime/executor.cpp
    src/runtime/selection.cpp
    src/runtime/strips.cpp
)
