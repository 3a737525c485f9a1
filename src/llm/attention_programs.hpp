// The Atlas programs of attention over a cache, attention.hpp.
#pragma once

#include <string_view>

#include "hologram/program.hpp"

namespace hologram::llm {

inline constexpr uint32_t kTurnLanes = 64;  // of a group whose lanes work alone

// Everything that the programs are made for; counts of tokens and places are arguments.
struct AttentionKey {
  uint32_t heads, key_heads, key_length, value_length, rotated;
  uint32_t rope, softcap, window;  // whether there are such
  uint32_t lanes;                  // of a group that attends
  uint32_t part_pages;             // of a sequence that a group attends to, in parts,
  uint32_t parts;                  // of which there are so many
  uint32_t turned;                 // heads that a lane turns, or a divisor of theirs
  DType cache, index;
  DType read;  // what keys and values become that are read out of the cache
};

// How the program that turns shares out a token: heads that a lane takes, and lanes of all of them.
struct TurnedHeads {
  explicit TurnedHeads(const AttentionKey& key);
  int64_t queries, keys, query_lanes, key_lanes, value_lanes;
};

// Parts that are put together at a time, a divisor of their number if that is larger.
inline constexpr int64_t kPartsAtOnce = 16;

enum class AttentionStep : uint8_t {
  Turn,
  ReadKeys,
  ReadValues,
  Attend,
  AttendPart,
  Combine,
  Score,
  Share,
  Weigh
};
std::string_view name_of(AttentionStep step);
Program attention_program(AttentionStep step, const AttentionKey& key);

}  // namespace hologram::llm
