# Every source, room by room; a room may include only from those listed before it.
set(HOLOGRAM_SOURCES
    src/core/array.cpp
    src/core/dtype.cpp
    src/core/log.cpp
    src/core/messages.cpp

    src/program/builder.cpp
    src/program/op.cpp
    src/program/typing.cpp
)
