// All of hologram.
#pragma once

#include "hologram/array.hpp"
#include "hologram/builder.hpp"
#include "hologram/config.hpp"
#include "hologram/device.hpp"
#include "hologram/dtype.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/executor_builder.hpp"
#include "hologram/files.hpp"
#include "hologram/log.hpp"
#include "hologram/memory.hpp"
#include "hologram/memory_estimate.hpp"
#include "hologram/op.hpp"
#include "hologram/profiler.hpp"
#include "hologram/program.hpp"
#include "hologram/shape.hpp"
