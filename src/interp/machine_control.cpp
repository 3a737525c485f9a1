// Divergent control flow. Every lane of the block walks through the same steps; a mask says which
// take part. A block that no lane takes part in is jumped over.
#include <bit>

#include "interp/machine.hpp"

namespace hologram::interp {

using program::kNone;
using program::Op;

namespace {
constexpr uint64_t kRoundsBetweenChecks = 128;  // of the clock
}

// Of the lanes of `mask`, those that left by break, continue or return go.
void Machine::remove_gone(Mask& mask, uint32_t loop) const {
  if (any_returned_) mask.remove(returned_, words_);
  if (loop == kNone || !frames_[loop].split) return;
  mask.remove(frames_[loop].other, words_);
  mask.remove(frames_[loop].continued, words_);
}

// Goes back to a mask that was saved, less the lanes that are gone by now.
void Machine::restore(const Frame& frame, const Mask& mask) {
  mask_id_ = mask.equals(frame.saved, words_) ? frame.saved_id : ++next_mask_id_;
  mask_.copy(mask, words_);
}

uint32_t Machine::begin_if(const Step& s, uint32_t pc) {
  Frame& frame = frames_[s.depth];
  const Register& condition = registers_[s.in[0]];
  const bool has_else = code_.steps[s.target].op == Op::Else;
  const uint32_t otherwise = has_else ? s.target + 1 : s.target;
  frame.split = false;
  if (condition.form == Form::Uniform)
    return first_value(condition, DType::Bool) ? pc + 1 : otherwise;

  uint64_t any = 0, left_out = 0;
  Mask then;
  for (uint32_t w = 0; w < words_; w++) {
    uint64_t bits;
    std::memcpy(&bits, condition.data + w * sizeof bits, sizeof bits);
    then.words[w] = mask_.words[w] & bits;
    frame.other.words[w] = mask_.words[w] & ~bits;
    any |= then.words[w];
    left_out |= frame.other.words[w];
  }
  if (any == 0) return otherwise;
  if (left_out == 0 || shorten(s, then)) return pc + 1;
  frame.split = true;
  frame.saved.copy(mask_, words_);
  frame.saved_id = mask_id_;
  mask_.copy(then, words_);
  mask_id_ = ++next_mask_id_;
  return pc + 1;
}

// The first lanes go into a block with which the program ends: the others have nothing left to do,
// and leave. So the guard of a grid's last workgroup costs no masks.
bool Machine::shorten(const Step& s, const Mask& then) {
  if (s.depth != 0 || s.target + 1 != code_.steps.size() || code_.steps[s.target].op != Op::End ||
      state_->checker != nullptr)
    return false;
  uint32_t w = 0;
  while (w < words_ && then.words[w] == ~uint64_t{0}) w++;
  uint32_t count = w * 64;
  if (w < words_) {
    const uint64_t some = then.words[w++];
    if ((some & (some + 1)) != 0) return false;
    count += static_cast<uint32_t>(std::countr_one(some));
  }
  for (; w < words_; w++)
    if (then.words[w] != 0) return false;
  lanes_ = count;
  groups_ = (count + kGroup - 1) / kGroup;
  words_ = (count + 63) / 64;
  mask_.copy(then, words_);
  full_id_ = mask_id_ = ++next_mask_id_;
  return true;
}

uint32_t Machine::begin_else(const Step& s, uint32_t pc) {
  Frame& frame = frames_[s.depth];
  if (!frame.split) return s.target;  // every lane took the other block
  mask_.copy(frame.other, words_);
  mask_id_ = ++next_mask_id_;
  return pc + 1;
}

uint32_t Machine::begin_loop(const Step& s, uint32_t pc) {
  Frame& frame = frames_[s.depth];
  frame.saved.copy(mask_, words_);
  frame.saved_id = mask_id_;
  frame.split = false;
  frame.uniform = true;
  if (s.op == Op::Loop) return pc + 1;

  count_rounds(s, frame);
  if (frame.rounds == 0) return s.target + 1;
  if (!frame.uniform) {
    frame.split = true;
    frame.other.clear(words_);
    frame.continued.clear(words_);
    Mask mask;
    mask.copy(mask_, words_);
    for (uint32_t l = 0; l < lanes_; l++)
      if (frame.lane_rounds[l] == 0) mask.words[l / 64] &= ~(uint64_t{1} << (l % 64));
    restore(frame, mask);
  }
  set_counter(s, frame);
  return pc + 1;
}

namespace {

// max(0, ceil((end - begin) / step)) without overflow.
uint64_t rounds_between(DType type, uint64_t begin, uint64_t end, uint64_t step) {
  const bool less =
      type == DType::U64 ? begin < end : static_cast<int64_t>(begin) < static_cast<int64_t>(end);
  if (!less) return 0;
  return (end - begin - 1) / step + 1;
}

uint64_t lane_integer(const Register& r, DType type, uint32_t lane) {
  if (r.form == Form::Affine)
    return static_cast<uint64_t>(r.base) + static_cast<uint64_t>(r.step) * lane;
  const std::byte* p = r.form == Form::Uniform ? r.cell : r.data + lane * size_of(type);
  if (type == DType::I32) {
    int32_t v;
    std::memcpy(&v, p, sizeof v);
    return static_cast<uint64_t>(int64_t{v});
  }
  if (type == DType::U32) {
    uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace

void Machine::count_rounds(const Step& s, Frame& frame) {
  const Register& begin = registers_[s.in[0]];
  const Register& end = registers_[s.in[1]];
  frame.round = 0;
  frame.begin = static_cast<int64_t>(lane_integer(begin, s.type, 0));
  frame.lane_begin.clear();
  if (begin.form == Form::Uniform && end.form == Form::Uniform) {
    frame.rounds = rounds_between(s.type, static_cast<uint64_t>(frame.begin),
                                  lane_integer(end, s.type, 0), s.imm);
    return;
  }
  frame.uniform = false;
  frame.rounds = 0;
  frame.lane_rounds.assign(lanes_, 0);
  if (begin.form != Form::Uniform) frame.lane_begin.assign(lanes_, 0);
  for (uint32_t l = 0; l < lanes_; l++) {
    if (!mask_.test(l)) continue;
    const uint64_t b = lane_integer(begin, s.type, l);
    if (!frame.lane_begin.empty()) frame.lane_begin[l] = static_cast<int64_t>(b);
    frame.lane_rounds[l] = rounds_between(s.type, b, lane_integer(end, s.type, l), s.imm);
    frame.rounds = std::max(frame.rounds, frame.lane_rounds[l]);
  }
}

void Machine::set_counter(const Step& s, Frame& frame) {
  Register& counter = registers_[s.out];
  const uint64_t gone = frame.round * s.imm;
  if (frame.lane_begin.empty())
    return set_cell(counter, s.type, static_cast<uint64_t>(frame.begin) + gone);
  for (uint32_t l = 0; l < lanes_; l++) {
    const uint64_t value = static_cast<uint64_t>(frame.lane_begin[l]) + gone;
    if (size_of(s.type) == 8) reinterpret_cast<uint64_t*>(counter.row)[l] = value;
    else reinterpret_cast<uint32_t*>(counter.row)[l] = static_cast<uint32_t>(value);
  }
  counter.set_row();
}

uint32_t Machine::end_block(const Step& s, uint32_t pc) {
  const Step& opener = code_.steps[s.partner];
  if (opener.op != Op::If) return end_loop(s, opener, pc);
  const Frame& frame = frames_[s.depth];
  if (frame.split) {
    Mask mask;
    mask.copy(frame.saved, words_);
    remove_gone(mask, s.loop);
    restore(frame, mask);
  }
  return active() ? pc + 1 : s.target;
}

uint32_t Machine::end_loop(const Step& s, const Step& opener, uint32_t pc) {
  Frame& frame = frames_[s.depth];
  rounds_++;
  if (rounds_ % kRoundsBetweenChecks == 0) check_stop();
  if (state_->launch.budget > 0 && rounds_ > state_->launch.budget) stop(Outcome::OverBudget);
  const bool counted = opener.op == Op::For;
  frame.round++;
  bool again = !counted || frame.round < frame.rounds;
  if (frame.split || any_returned_) {
    Mask mask;
    mask.copy(frame.saved, words_);
    if (any_returned_) mask.remove(returned_, words_);
    if (frame.split) {
      mask.remove(frame.other, words_);
      frame.continued.clear(words_);
      if (counted && !frame.uniform)
        for (uint32_t l = 0; l < lanes_; l++)
          if (frame.lane_rounds[l] <= frame.round) mask.words[l / 64] &= ~(uint64_t{1} << (l % 64));
    }
    again = again && mask.any(words_);
    if (again) restore(frame, mask);
  }
  if (again) {
    if (counted) set_counter(opener, frame);
    return s.partner + 1;
  }
  // The lanes that left the loop go on behind it.
  Mask mask;
  mask.copy(frame.saved, words_);
  remove_gone(mask, s.loop);
  restore(frame, mask);
  return active() ? pc + 1 : s.target;
}

uint32_t Machine::leave(const Step& s) {
  if (s.op == Op::Return) {
    returned_.add(mask_, words_);
    any_returned_ = true;
  } else {
    Frame& frame = frames_[s.loop];
    if (!frame.split) {
      frame.split = true;
      frame.other.clear(words_);
      frame.continued.clear(words_);
    }
    (s.op == Op::Break ? frame.other : frame.continued).add(mask_, words_);
  }
  mask_.clear(words_);
  mask_id_ = ++next_mask_id_;
  return s.target;
}

}  // namespace hologram::interp
