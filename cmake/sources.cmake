# Every source, room by room; a room may include only from those listed before it.
set(HOLOGRAM_SOURCES
    src/core/array.cpp
    src/core/dtype.cpp
    src/core/log.cpp
    src/core/mapped_file.cpp
    src/core/messages.cpp
    src/core/output_file.cpp

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

    src/program/builder.cpp
    src/program/op.cpp
    src/program/typing.cpp
)
