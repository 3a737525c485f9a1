// What of the launch a program looks at, and the names that its things have in printed text.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "dialects/dialect.hpp"
#include "dialects/polls.hpp"
#include "program/ir.hpp"

namespace hologram::dialects {

struct Uses {
  Uses(const program::Module& module, Stop stop);
  bool polls(Poll how) const;

  std::vector<bool> lengths;  // by buffer
  std::vector<bool> scalars;
  std::array<bool, 3> group_ids = {}, group_counts = {}, lane_ids = {};
  bool scratch32 = false, scratch64 = false;  // group operations of that size
  bool cooperative = false;                   // lanes of a group talk to each other
  bool writes_late = false;  // what may be stopped does not; they reduce, and write in no loop
  std::vector<Poll> poll;    // by instruction; none where nothing stops loops
};

// Names end in what they are and a number, so that none is a word of any language.
std::string buffer_name(const program::Module& module, uint32_t slot);
std::string length_name(const program::Module& module, uint32_t slot);
std::string offset_name(const program::Module& module, uint32_t slot);
std::string scalar_name(const program::Module& module, uint32_t slot);
std::string shared_name(const program::Module& module, uint32_t slot);
std::string variable_name(const program::Module& module, uint32_t slot);

inline constexpr char kAxes[] = "xyz";

}  // namespace hologram::dialects
