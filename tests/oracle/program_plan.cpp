#include "oracle/program_plan.hpp"

#include <algorithm>

#include "oracle/random_values.hpp"

namespace hologram::oracle {
namespace {

using program::Access;
using program::Builder;
using program::Combine;
using program::Dim;

constexpr DType kStorage[] = {DType::F32, DType::I32,  DType::U8,  DType::U32, DType::F64,
                              DType::I64, DType::I8,   DType::I16, DType::U16, DType::U64,
                              DType::F16, DType::BF16, DType::Bool};
constexpr DType kCompute[] = {DType::I32, DType::F32, DType::U32, DType::I64,
                              DType::F64, DType::U64, DType::Bool};

using Size = std::array<uint32_t, 3>;
// Fewer lanes than a vector, more than a block, whole and broken multiples of both.
constexpr Size kWorkgroups[] = {{16, 1, 1}, {64, 1, 1}, {1, 1, 1},  {7, 1, 1},  {33, 1, 1},
                                {8, 4, 1},  {3, 5, 2},  {4, 2, 8},  {32, 1, 1}, {130, 1, 1},
                                {1, 9, 1},  {16, 8, 1}, {2, 1, 16}, {5, 3, 1},  {20, 2, 1}};
constexpr Size kLargeWorkgroups[] = {
    {256, 1, 1}, {16, 16, 1}, {600, 1, 1}, {1024, 1, 1}, {32, 17, 1}};
constexpr std::array<uint64_t, 3> kGrids[] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1},
                                              {1, 3, 1}, {2, 1, 2}, {5, 1, 1}, {1, 2, 3}};

class Planner {
 public:
  explicit Planner(Choices& choices) : choose_(choices) {}

  ProgramPlan plan() {
    const bool large = choose_.percent(6);
    plan_.workgroup = large ? choose_.of(kLargeWorkgroups) : choose_.of(kWorkgroups);
    plan_.grid = large ? kGrids[choose_.below(2)] : choose_.of(kGrids);
    if (plan_.lanes() < 40 && choose_.percent(8)) plan_.grid[0] = 30;
    if (plan_.workgroup[1] * plan_.workgroup[2] == 1 && choose_.percent(4))
      plan_.grid[0] = 2000 / plan_.workgroup[0] + choose_.below(60);  // more than a block in a row
    plan_.cooperative = choose_.percent(60);
    plan_.plain = choose_.percent(40);
    // Whole vectors: only where a workgroup has such do its lanes work together in compiled code.
    if (plan_.plain && plan_.cooperative && choose_.percent(60))
      plan_.workgroup = {16u << choose_.below(3), 1, 1};
    plan_.narrow = plan_.plain && choose_.percent(60);
    plan_.index = choose_.percent(25) && !plan_.narrow ? DType::I64 : DType::I32;
    const Size w = plan_.workgroup;
    plan_.builder = std::make_unique<Builder>(
        "random", std::initializer_list<uint32_t>{w[0], w[1], w[2]}, plan_.index);
    const uint32_t inputs = 1 + choose_.below(3), outputs = 1 + choose_.below(3);
    for (uint32_t i = 0; i < inputs; i++) add_buffer(Access::In);
    for (uint32_t i = 0; i < outputs; i++)
      add_buffer(choose_.percent(50) ? Access::InOut : Access::Out);
    if (choose_.percent(40) && !plan_.plain) add_buffer(Access::Atomic);
    if (choose_.percent(70)) add_digest();
    for (uint32_t i = choose_.below(4); i > 0; i--) add_scalar();
    if (plan_.cooperative && !plan_.plain)
      for (uint32_t i = choose_.below(3); i > 0; i--) add_shared();
    add_host_clauses();
    return std::move(plan_);
  }

 private:
  int64_t some_length() {
    const int64_t all = plan_.all_lanes();
    switch (choose_.below(6)) {
      case 0: return all;
      case 1: return all + choose_.below(40);
      case 2: return std::max<int64_t>(1, all - choose_.below(20));
      case 3: return 1 + choose_.below(30);
      case 4: return choose_.percent(20) ? 0 : all;
      default: return 2 * all;
    }
  }

  // A dimension's name is new, or one that stands for this length already.
  Dim dimension(int64_t length) {
    if (length > 0 && choose_.percent(25)) return {{}, length};
    for (const ScalarPlan& s : plan_.scalars)
      if (s.name[0] == 'd' && s.bits == static_cast<uint64_t>(length)) return {s.name, 0};
    const std::string name = "d" + std::to_string(plan_.scalars.size());
    plan_.scalars.push_back({name, plan_.index, static_cast<uint64_t>(length)});
    return {name, 0};
  }

  void add_buffer(Access access) {
    BufferPlan b;
    b.access = access;
    b.type = access == Access::Atomic ? (choose_.percent(50) ? DType::U32 : DType::I32)
                                      : choose_.of(kStorage);
    if (plan_.narrow && size_of(b.type) == 8) b.type = DType::F16;
    if (access == Access::Atomic) {
      constexpr Combine kAny[] = {Combine::Add, Combine::Min, Combine::Max,
                                  Combine::And, Combine::Or,  Combine::Xor};
      b.free_for_all = choose_.percent(65);
      b.combine = choose_.of(kAny);
    }
    b.per_lane = 1 + choose_.below(2);
    b.offset = choose_.percent(25) ? static_cast<int64_t>(choose_.below(9)) - 4 : 0;
    b.reversed = choose_.percent(20);
    b.shape = {some_length()};
    if (choose_.percent(25)) b.shape = {1 + choose_.below(12), 1 + choose_.below(30)};
    if (choose_.percent(7)) b.shape = {3, 1 + choose_.below(5), 4};
    if (b.shape.size() > 1 || choose_.percent(60))
      for (const int64_t d : b.shape) b.dims.push_back(dimension(d));
    const std::string name = "b" + std::to_string(plan_.buffers.size());
    b.buffer = plan_.builder->buffer(name, b.type, access, b.dims);
    plan_.buffers.push_back(b);
  }

  void add_digest() {
    BufferPlan b;
    b.access = Access::Out;
    b.type = plan_.narrow ? DType::U32 : DType::U64;
    b.shape = {plan_.all_lanes()};
    b.buffer = plan_.builder->buffer("digest", b.type, b.access);
    plan_.digest = b.buffer;
    plan_.buffers.push_back(b);
  }

  void add_scalar() {
    ScalarPlan s{"s" + std::to_string(plan_.scalars.size()), choose_.of(kCompute), 0};
    if (plan_.narrow && size_of(s.type) == 8) s.type = DType::F32;
    s.bits = random_value(s.type, choose_);
    plan_.builder->scalar(s.name, s.type);
    plan_.scalars.push_back(s);
  }

  void add_shared() {
    SharedPlan s;
    s.type = choose_.of({DType::F32, DType::I32, DType::U32, DType::I64, DType::F64, DType::U64});
    s.atomic = size_of(s.type) == 4 && !is_float(s.type) && choose_.percent(50);
    s.per_lane = 1 + choose_.below(2);
    s.count = plan_.lanes() * s.per_lane;
    s.array = plan_.builder->shared("t" + std::to_string(plan_.shared.size()), s.type,
                                    static_cast<uint32_t>(s.count), s.atomic);
    plan_.shared.push_back(s);
  }

  // Conditions that hold, for the bounds prover to use, and a number of lanes.
  void add_host_clauses() {
    Builder& b = *plan_.builder;
    b.begin_host();
    if (choose_.percent(50) && plan_.buffers.size() > 1) {
      const auto count = static_cast<uint32_t>(plan_.buffers.size());
      const BufferPlan* x = &plan_.buffers[choose_.below(count)];
      const BufferPlan* y = &plan_.buffers[choose_.below(count)];
      if (x->length() > y->length()) std::swap(x, y);
      b.require(b.length(x->buffer) <= b.length(y->buffer), "lengths");
    }
    for (const ScalarPlan& s : plan_.scalars) {
      if (s.name[0] != 'd' || !choose_.percent(30)) continue;
      const auto value = static_cast<int64_t>(s.bits);
      const int64_t least = value - choose_.below(3);
      if (choose_.percent(50)) b.require(b.dimension(s.name) >= least, "at least");
      else b.require(b.dimension(s.name) < value + 1 + choose_.below(3), "at most");
    }
    if (choose_.percent(30)) b.lanes(0, b.length(plan_.buffers[0].buffer));
    b.end_host();
  }

  Choices& choose_;
  ProgramPlan plan_;
};

}  // namespace

ProgramPlan make_plan(Choices& choices) { return Planner(choices).plan(); }

}  // namespace hologram::oracle
