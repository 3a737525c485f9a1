// How often a program has asked for memory: the operators new count themselves.
#pragma once

#include <cstdint>

uint64_t times_asked();
