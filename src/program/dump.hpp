// What really runs, for those who want to read it: HOLOGRAM_DUMP names a folder, which gets for
// each program that is compiled its Atlas (.atlas), the text that the device's compiler was given
// (.cu, .hip, .cl, .wgsl, .metal) and machine code where there is some (.bin), and in launches.txt
// a line for each launch.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "hologram/program.hpp"

namespace hologram::program {

// Whether the variable is set; the others do nothing unless it is.
bool is_dumped();

// Once for each program and suffix. A file that cannot be written is a warning, once.
void dump(const Program& program, std::string_view suffix, std::string_view contents);
void dump(const Program& program, std::string_view suffix, std::span<const std::byte> contents);
// A line: its number, the device, the program's files, the workgroups and the scalars' bits.
void dump_launch(const Program& program, std::string_view device,
                 const std::array<uint64_t, 3>& grid, std::span<const uint64_t> scalars);

}  // namespace hologram::program
