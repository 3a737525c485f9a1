// "Did you mean …?", and programs, shapes and sizes in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hologram/program.hpp"

namespace hologram::tool {

// " Did you mean NAME?" for the known name closest to a mistyped one; empty if none is close.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

// "f32[h, w, 3]"
std::string declared(const program::BufferParam& parameter);

// What a user may pass: "src: f32[h, w, c], sigma: f32 = 3". Outputs that need not be given are
// left out.
std::string signature(const program::Program& program);

// The value of a scalar's bits: "3", "-0.5", "true".
std::string number_text(DType type, uint64_t bits);

// "f32 i32 bool"
std::string type_list(const program::DTypeSet& set);

// "1.5 GiB"
std::string byte_text(double bytes);

// The text of a file. IoError if it cannot be read.
std::string read_text(const std::string& path);

}  // namespace hologram::tool
