// Running a program by strips of its grid, so that outputs leave before the last is computed.
#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"
#include "program/strip.hpp"
#include "runtime/binding.hpp"
#include "runtime/executor_state.hpp"

namespace hologram {
namespace {

using core::Text;
using program::Access;
using program::Program;

constexpr uint64_t kStripBytes = uint64_t{32} << 20;  // larger ones save no time

// How the grid is cut: strips of `step` workgroups along `axis`, which has `lanes` lanes in all.
struct Plan {
  int axis = 0;
  uint64_t groups = 0, lanes = 0, step = 0;
};

class StripRunner {
 public:
  StripRunner(Executor::State& state, const Program& program, const RunOptions& options,
              runtime::BoundProgram bound)
      : state_(state), program_(program), options_(options), bound_(std::move(bound)) {}

  void run(const OutputSink& sink) {
    plan();
    Executor::State::announce(program_, bound_.grid, options_);
    const Program cut = Program::from(program::strip(program_.source(), plan_.axis));
    for (uint64_t group = 0; group < plan_.groups; group += plan_.step)
      run_strip(cut, group, std::min(plan_.step, plan_.groups - group), sink);
    if (options_.report != nullptr) options_.report->grid = bound_.grid;  // not that of a strip
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw core::error(Text::StripOutside, program_.name(), state_.config.cache_size_mb, why,
                      (total_ >> 20) + 1);
  }

  void plan() {
    const auto params = program_.buffers();
    uint64_t inputs = sizeof(uint32_t);  // of a strip that tells whether it missed its rows
    for (size_t i = 0; i < params.size(); i++) {
      const uint64_t bytes = bound_.lengths[i] * size_of(params[i].type);
      total_ += bytes;
      if (params[i].access == Access::In) inputs += bytes;
    }
    plan_.axis = bound_.grid[2] > 1 ? 2 : bound_.grid[1] > 1 ? 1 : 0;
    const auto axis = static_cast<size_t>(plan_.axis);
    plan_.groups = bound_.grid[axis];
    const uint64_t group_lanes = program_.workgroup()[axis];
    plan_.lanes = bound_.lanes[axis] > 0 ? bound_.lanes[axis] : plan_.groups * group_lanes;
    uint64_t a_group = 1;  // bytes of output that one workgroup along the axis stands for
    for (size_t i = 0; i < params.size(); i++) {
      if (params[i].access == Access::In) continue;
      if (params[i].access != Access::Out)
        refuse(fmt::format("'{}' is both read and written", params[i].name));
      const Shape& shape = bound_.shapes[i];
      if (shape.empty() || plan_.lanes == 0 || static_cast<uint64_t>(shape[0]) % plan_.lanes != 0)
        refuse(fmt::format("the {} rows of '{}' cannot be shared out among {} lanes",
                           shape.empty() ? 1 : shape[0], params[i].name, plan_.lanes));
      a_group += bound_.lengths[i] / plan_.lanes * group_lanes * size_of(params[i].type);
    }
    const uint64_t limit = state_.memory_limit();
    if (inputs >= limit || limit - inputs < a_group)
      refuse(
          fmt::format("its inputs and one strip need {} MiB", (inputs + a_group) / (1 << 20) + 1));
    plan_.step = std::max<uint64_t>(1, std::min(limit - inputs, kStripBytes) / a_group);
  }

  void run_strip(const Program& cut, uint64_t group, uint64_t count, const OutputSink& sink) {
    const auto axis = static_cast<size_t>(plan_.axis);
    const uint64_t group_lanes = program_.workgroup()[axis];
    const uint64_t from = std::min(plan_.lanes, group * group_lanes);
    const uint64_t to = std::min(plan_.lanes, (group + count) * group_lanes);
    const auto params = program_.buffers();

    std::vector<Array> arrays = bound_.arrays;
    std::vector<uint64_t> scalars = bound_.scalars, bases;
    scalars.push_back(group);
    scalars.push_back(plan_.groups);
    for (size_t i = 0; i < params.size(); i++) {
      scalars.push_back(bound_.lengths[i]);
      if (params[i].access == Access::In) continue;
      Shape shape = bound_.shapes[i];
      const auto rows = static_cast<uint64_t>(shape[0]) / plan_.lanes;
      bases.push_back(
          rows == 0 ? 0 : bound_.lengths[i] / static_cast<uint64_t>(shape[0]) * rows * from);
      shape[0] = static_cast<int64_t>(rows * (to - from));
      arrays[i] = Array(params[i].type, shape);
    }
    scalars.insert(scalars.end(), bases.begin(), bases.end());
    Array missed(DType::U32, {1});
    arrays.push_back(missed);

    Grid grid = bound_.grid;
    grid[axis] = count;
    state_.launch(cut, arrays, scalars, grid, options_);
    if (missed.as<uint32_t>()[0] != 0) refuse("a part of its grid writes outside of its own rows");
    for (size_t i = 0; i < params.size(); i++)
      if (params[i].access == Access::Out) {
        const auto rows = static_cast<uint64_t>(bound_.shapes[i][0]) / plan_.lanes;
        sink(params[i].name, static_cast<int64_t>(rows * from), arrays[i]);
      }
  }

  Executor::State& state_;
  const Program& program_;
  const RunOptions& options_;
  runtime::BoundProgram bound_;
  Plan plan_;
  uint64_t total_ = 0;
};

}  // namespace

void Executor::run_tiled(const Program& program, const std::vector<Argument>& arguments,
                         const OutputSink& sink, const RunOptions& options) const {
  runtime::BoundProgram bound = runtime::bind(program, arguments, options);
  for (size_t i = 0; i < bound.arrays.size(); i++)
    if (!bound.missing[i] && program.buffers()[i].access != Access::In)
      throw core::error(Text::StripOutput, program.name(), program.buffers()[i].name);
  StripRunner(*state_, program, options, std::move(bound)).run(sink);
}

}  // namespace hologram
