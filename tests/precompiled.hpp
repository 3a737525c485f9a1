// What most tests include, headers of this project among it. No file includes this one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "core/precompiled.hpp"
#include "hologram/hologram.hpp"
#include "program/ir.hpp"
