#include "graphs/generator.hpp"

#include <algorithm>

#include "graphs/field.hpp"

namespace hologram::graphs {
namespace {

constexpr size_t kTargets = 8;  // cells that a description is made for

// Empty, of one element, odd, and so long that rows are shared by groups or cut into pieces.
const std::vector<Shape>& shapes_of(Size size) {
  static const std::vector<Shape> lists[kSizes] = {
      {{0}, {0, 3}, {3, 0}, {2, 0, 3}, {0, 1}, {1, 0}, {5, 0, 1}},
      {{}, {1}, {1, 1}, {1, 1, 1}},
      {{7},
       {5, 3},
       {65},
       {3, 67},
       {2, 3, 5},
       {1, 9},
       {9, 1},
       {13, 1, 3},
       {64},
       {33, 2},
       {130},
       {3, 2}},
      {{601, 3},
       {3, 530},
       {1030},
       {2, 513},
       {5, 1, 300},
       {70, 17},
       {3, 5, 67},
       {1300},
       {3, 530},
       {601, 2}}};
  return lists[static_cast<size_t>(size)];
}
// The same with rows that can be read one after the other.
const std::vector<Shape>& row_shapes_of(Size size) {
  static const std::vector<Shape> lists[kSizes] = {
      {{3, 0}, {5, 0, 2}, {70, 0}},
      {{1, 1}, {1, 1, 1}},
      {{13, 3}, {7, 5}, {9, 2, 3}, {67, 3}, {30, 2}, {2, 65}, {100, 1}},
      {{601, 3}, {70, 17}, {1030, 1}, {130, 5, 2}, {3, 530}}};
  return lists[static_cast<size_t>(size)];
}
// Now and then: rows in pieces, and running sums of sums of sums.
const Shape kLong[] = {{16400}, {2, 16411}, {16400, 2}, {16400}, {16400}, {16400}, {131200}};

size_t of_a_round(Size size) { return (cells(size).size() + kTargets - 1) / kTargets; }

}  // namespace

uint32_t descriptions_of_a_round() {
  return static_cast<uint32_t>(2 * kSizes * of_a_round(Size::Odd));
}

Generator::Generator(uint32_t seed)
    : random_(seed * 2654435761u + 1),
      turn_(seed / (2 * kSizes)),
      size_(static_cast<Size>(seed % kSizes)),
      rows_(seed / kSizes % 2 == 1) {
  shape_ = main_shape();
}
Generator::Generator(uint32_t seed, Size size, bool rows)
    : random_(seed), turn_(0), size_(size), rows_(rows) {
  shape_ = main_shape();
}

Shape Generator::main_shape() {
  if (rows_) return shape_.empty() ? any_of(row_shapes_of(size_)) : shape_;
  if (size_ == Size::Large && chance(3)) return any_of(kLong);
  return any_of(shapes_of(size_));
}

bool Generator::is_main(const Shape& shape) const {
  if (size_of(shape) != size_) return false;
  return !rows_ || (shape.size() > 1 && shape[0] == shape_[0]);
}

// Each round of numbers goes through all cells of the size, in another order.
Description Generator::make() {
  std::vector<Cell> order = cells(size_);
  const size_t a_round = of_a_round(size_), turn = turn_;
  std::mt19937 shuffle(
      static_cast<uint32_t>(turn / a_round * 8 + static_cast<size_t>(size_) * 2 + (rows_ ? 1 : 0)));
  std::shuffle(order.begin(), order.end(), shuffle);
  for (size_t k = 0; k < kTargets; k++)
    if (const size_t at = turn % a_round * kTargets + k; at < order.size())
      for (int tries = 0; tries < 8 && !attempt(order[at]); tries++) {
      }
  return finished();
}

std::optional<Description> Generator::make_only(const Cell& cell, bool rows, uint32_t seed) {
  Generator one(seed, cell.size, rows);
  if (!one.attempt(cell)) return {};
  return one.finished();
}

// A reduction of rows that are as many as something else has elements: one kernel may make both, in
// another order of axes, and where there is nothing to be reduced.
void Generator::beside() {
  constexpr size_t kMost = 4096;
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < made_.steps.size(); i++)
    if (const size_t count = elements_in(shape_of(i));
        !is_input(made_.steps[i]) && count > 1 && count <= kMost && shape_of(i).size() < kMaxRank)
      list.push_back(i);
  if (list.empty()) return;
  Shape shape = shape_of(any_of(list));
  if (chance(40)) std::reverse(shape.begin(), shape.end());
  else if (chance(30)) shape = {static_cast<int64_t>(elements_in(shape))};
  constexpr std::string_view kReductions[] = {"sum", "prod", "any", "all"};
  constexpr int64_t kRows[] = {0, 0, 1, 3};
  constexpr DType kTypes[] = {DType::F32, DType::I64, DType::U64};
  Step step;
  step.operation = &operation(any_of(kReductions));
  step.dtype = any_of(kTypes);
  step.shape = shape;
  step.integers = {-1};
  shape.push_back(any_of(kRows));
  step.arguments = {Argument::of(input(step.dtype, shape))};
  if (step.operation->name == "any" || step.operation->name == "all") step.dtype = DType::Bool;
  add(std::move(step));
}

// What nobody uses is a root, and some of the rest.
Description Generator::finished() {
  if (!rows_ && chance(25)) beside();
  std::vector<bool> used(made_.steps.size(), false);
  for (const Step& step : made_.steps)
    for (const Argument& a : step.arguments)
      if (!a.is_number()) used[a.step] = true;
  for (uint32_t i = 0; i < used.size(); i++)
    if (!is_input(made_.steps[i]) && (!used[i] || chance(25))) made_.roots.push_back(i);
  return made_;
}

bool Generator::attempt(const Cell& cell) {
  Step step;
  step.operation = cell.operation;
  step.dtype = cell.to;
  if (cell.operation->row != nullptr) return elementwise(std::move(step), cell.dtype);
  for (const Way& way : ways()) {
    if (way.name != cell.operation->name) continue;
    if (!(this->*way.attempt)(std::move(step), cell.dtype)) return false;
    const auto last = static_cast<uint32_t>(made_.steps.size() - 1);
    if (!is_main(shape_of(last)) && chance(60)) follow(last);
    return true;
  }
  return false;
}

// With other operands in the same kernel.
void Generator::follow(uint32_t step) {
  const DType dtype = made_.steps[step].dtype;
  constexpr std::string_view kNumbers[] = {"add", "sub", "mul", "maximum", "eq", "clamp"},
                             kTruths[] = {"logical_or", "bitwise_and", "eq", "logical_xor"};
  Step next;
  next.operation = &operation(dtype == DType::Bool ? any_of(kTruths) : any_of(kNumbers));
  const graph::ElementwiseOp& row = *next.operation->row;
  next.arguments = {Argument::of(step)};
  next.shape = shape_of(step);
  for (size_t k = 1; k < row.arity; k++)
    next.arguments.push_back(Argument::of(fitting(dtype, next.shape)));
  if (chance(50)) std::swap(next.arguments.front(), next.arguments.back());
  next.dtype = row.rule == graph::Rule::Test ? DType::Bool : dtype;
  add(std::move(next));
}

uint32_t Generator::add(Step step) {
  made_.steps.push_back(std::move(step));
  return static_cast<uint32_t>(made_.steps.size() - 1);
}

uint32_t Generator::input(DType dtype, const Shape& shape) {
  return input(dtype, shape,
               chance(45) ? Profile::Anything : static_cast<Profile>(below(kProfiles)));
}

uint32_t Generator::input(DType dtype, const Shape& shape, Profile profile) {
  Step step;
  step.operation = &operation("input");
  step.dtype = dtype;
  step.shape = shape;
  step.profile = profile;
  step.seed = static_cast<uint32_t>(random_());
  return add(std::move(step));
}

uint32_t Generator::cast(uint32_t from, DType dtype) {
  if (made_.steps[from].dtype == dtype) return from;
  Step step;
  step.operation = &operation("cast");
  step.arguments = {Argument::of(from)};
  step.dtype = dtype;
  step.shape = shape_of(from);
  return add(std::move(step));
}

// Something that is there, rather a late one: of this dtype, if any; of the size of this
// description, or repeated to a shape.
std::optional<uint32_t> Generator::found(DType dtype, const Shape* shape) {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < made_.steps.size(); i++) {
    const Step& step = made_.steps[i];
    const bool suits = shape == nullptr ? is_main(step.shape) : repeats_to(step.shape, *shape);
    if (suits && (dtype == DType::None || step.dtype == dtype)) list.push_back(i);
  }
  if (list.empty()) return {};
  return list[std::max(below(list.size()), below(list.size()))];
}

uint32_t Generator::operand(DType dtype) {
  std::optional<uint32_t> from;
  if (chance(60)) from = found(dtype, nullptr);
  if (!from && chance(60)) from = found(DType::None, nullptr);
  uint32_t x = from ? cast(*from, dtype) : input(dtype, chance(80) ? shape_ : main_shape());
  if (chance(20)) {
    const uint32_t v = view(x);
    if (is_main(shape_of(v))) x = v;
  }
  return x;
}

uint32_t Generator::fitting(DType dtype, const Shape& shape) {
  std::optional<uint32_t> from;
  if (chance(60)) from = found(dtype, &shape);
  if (!from && chance(50)) from = found(DType::None, &shape);
  if (from) return cast(*from, dtype);
  Shape own = shape;
  if (chance(30))
    for (int64_t& n : own)
      if (chance(40)) n = 1;
  // Beside rows nothing else may look like rows.
  while (!rows_ && !own.empty() && chance(10)) own.erase(own.begin());
  return input(dtype, own);
}

uint32_t Generator::of_axes(DType dtype) {
  const uint32_t x = operand(dtype);
  if (!shape_of(x).empty()) return x;
  Step step;
  step.operation = &operation("reshape");
  step.arguments = {Argument::of(x)};
  step.dtype = dtype;
  step.shape = {1};
  return add(std::move(step));
}

uint32_t Generator::row_operand(DType dtype, bool axes) {
  if (chance(50)) return axes ? of_axes(dtype) : operand(dtype);
  constexpr Profile kHard[] = {Profile::Anything, Profile::Positive, Profile::Scaled,
                               Profile::Twos,     Profile::Equal,    Profile::Offset};
  Shape shape = main_shape();
  if (axes && shape.empty()) shape = {1};
  if (size_ == Size::Large && !rows_ && chance(10)) shape = any_of(kLong);
  return input(dtype, shape, any_of(kHard));
}

uint32_t Generator::view(uint32_t of) {
  constexpr std::string_view kViews[] = {"slice", "permute", "reshape", "slice"};
  Step step;
  step.operation = &operation(any_of(kViews));
  step.arguments = {Argument::of(of)};
  step.dtype = made_.steps[of].dtype;
  const Shape shape = shape_of(of);
  if (shape.empty()) return of;
  step.shape = shape;
  if (step.operation->name == "slice") {
    for (int64_t& n : step.shape) {
      const bool whole = rows_ && step.slices.empty();
      step.slices.push_back(whole ? Slice() : random_slice(n, n));
    }
  } else if (rows_) {
    return of;
  } else if (step.operation->name == "permute") {
    for (size_t k = 0; k < shape.size(); k++) step.integers.push_back(static_cast<int64_t>(k));
    std::shuffle(step.integers.begin(), step.integers.end(), random_);
    for (size_t k = 0; k < shape.size(); k++)
      step.shape[k] = shape[static_cast<size_t>(step.integers[k])];
  } else if (chance(50)) {
    step.shape = {static_cast<int64_t>(elements_in(shape))};
  } else {
    step.shape.insert(step.shape.begin() + static_cast<int64_t>(below(shape.size() + 1)), 1);
  }
  return add(std::move(step));
}

// In Python's way; `length` becomes what is left of n.
Slice Generator::random_slice(int64_t n, int64_t& length) {
  Slice s;
  if (chance(50)) {
    length = n;
    if (chance(30)) s.step = -1;
    return s;
  }
  const auto place = [&] {
    return static_cast<int64_t>(below(static_cast<size_t>(2 * n + 3))) - n - 1;
  };
  if (chance(50) && n > 0) s.begin = place() / 3;
  if (chance(30) && n > 0) s.end = n - std::abs(place()) / 4;
  constexpr int64_t kSteps[] = {1, 1, 2, -1, -2, 3, 7, INT64_MAX, INT64_MIN + 1, 1000};
  s.step = any_of(kSteps);
  // By going through them.
  const bool back = s.step < 0;
  const auto wrapped = [&](int64_t x) { return x < 0 ? x + n : x; };
  const int64_t low = back ? -1 : 0, high = back ? n - 1 : n;
  const int64_t first = s.begin ? std::clamp(wrapped(*s.begin), low, high) : back ? n - 1 : 0;
  const int64_t end = s.end ? std::clamp(wrapped(*s.end), low, high) : back ? -1 : n;
  length = 0;
  for (__int128 at = first; back ? at > end : at < end; at += s.step) length++;
  return s;
}

Number Generator::number_for(DType dtype) {
  const auto value = static_cast<int64_t>(below(7));
  if (dtype == DType::Bool) return chance(50);
  if (is_float(dtype)) {
    constexpr double kReals[] = {0.5, -1.5, 0.1, 2, 1e4, -0.0, 3, 0x1p-20, -7.25};
    if (chance(60)) return any_of(kReals);
    return value - 3;
  }
  if (!is_signed_integer(dtype)) {
    const uint64_t top = size_of(dtype) == 8 ? UINT64_MAX : (uint64_t{1} << 8 * size_of(dtype)) - 1;
    if (chance(25)) return top - below(2);
    return value;
  }
  const auto top = static_cast<int64_t>((uint64_t{1} << (8 * size_of(dtype) - 1)) - 1);
  if (chance(25)) return chance(50) ? top : -top - 1;
  return value - 3;
}

DType Generator::below_dtype(DType dtype) {
  std::vector<DType> list;
  for (const DType t : all_dtypes())
    if (promoted(t, dtype) == dtype) list.push_back(t);
  return any_of(list);
}

size_t Generator::any_axis(const Shape& shape) {
  return rows_ && shape.size() > 1 ? 1 + below(shape.size() - 1) : below(shape.size());
}

int64_t Generator::random_axis(const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const auto k = static_cast<int64_t>(any_axis(shape));
  return chance(25) ? k - rank : k;
}

}  // namespace hologram::graphs
