// Graphs of the emulated cuDNN: what is read of their descriptors, whether it goes together, and
// plain loops in double for each operation. What is stored, between operations too, is rounded to
// the type of its tensor.
#include "fake_cudnn_graphs.hpp"

#include <cmath>
#include <limits>
#include <set>

namespace hologram::fake::cudnn {
namespace {

using Values = std::vector<double>;  // dense, in the order of a tensor's lengths

constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t count_of(const Axes& n) { return static_cast<size_t>(n[0] * n[1] * n[2] * n[3]); }

// How far elements are from each other along each axis of dense values: not at all where there is
// one, which is repeated.
Axes steps_of(const Axes& n) {
  Axes steps = {n[1] * n[2] * n[3], n[2] * n[3], n[3], 1};
  for (size_t axis = 0; axis < 4; axis++)
    if (n[axis] == 1) steps[axis] = 0;
  return steps;
}
int64_t at(const Axes& place, const Axes& steps) {
  return place[0] * steps[0] + place[1] * steps[1] + place[2] * steps[2] + place[3] * steps[3];
}

template <class F>
void each(const Axes& n, F f) {
  Axes i{};
  for (i[0] = 0; i[0] < n[0]; i[0]++)
    for (i[1] = 0; i[1] < n[1]; i[1]++)
      for (i[2] = 0; i[2] < n[2]; i[2]++)
        for (i[3] = 0; i[3] < n[3]; i[3]++) f(i);
}

double rounded(DType type, double value) {
  if (type == DType::Bool) return value != 0 ? 1 : 0;
  std::array<std::byte, 8> bytes{};
  store(type, bytes.data(), value);
  return load(type, bytes.data());
}

bool is_unary(int mode) {
  return mode == kExp || mode == kLog || mode == kIdentity || mode == kTanh || mode == kIndex;
}
bool is_known(int mode) {
  constexpr int kModes[] = {kAdd,     kMul,          kMaximum, kDiv, kSub,   kTanhBackward,
                            kGreater, kGreaterEqual, kLess,    kAnd, kSelect};
  return is_unary(mode) ||
         std::find(std::begin(kModes), std::end(kModes), mode) != std::end(kModes);
}

// `of_rows`: what is taken off or divided by was made in the graph, of a row. Where a row has
// nothing but -inf, the engines' softmax is 0 and no NaN.
double apply(int mode, bool of_rows, double x, double b, double t) {
  switch (mode) {
    case kAdd: return x + b;
    case kMul: return x * b;
    case kMaximum: return std::max(x, b);
    case kDiv: return of_rows && x == 0 && b == 0 ? 0 : x / b;
    case kSub: return of_rows && x == -kInfinity && b == -kInfinity ? x : x - b;
    case kExp: return std::exp(x);
    case kLog: return std::log(x);
    case kTanh: return std::tanh(x);
    case kTanhBackward: return x * (1 - std::tanh(b) * std::tanh(b));
    case kGreater: return x > b ? 1 : 0;
    case kGreaterEqual: return x >= b ? 1 : 0;
    case kLess: return x < b ? 1 : 0;
    case kAnd: return x != 0 && b != 0 ? 1 : 0;
    case kSelect: return t != 0 ? x : b;
    default: return x;
  }
}

Values elementwise(const Program& p, const Operation& o, const std::vector<Values>& values) {
  Values y;
  const Axes& n = p.tensors[o.output].lengths;
  y.reserve(count_of(n));
  const bool of_rows = o.inputs.size() == 2 && p.tensors[o.inputs[1]].is_virtual;
  std::array<Axes, 3> steps{};
  for (size_t i = 0; i < o.inputs.size(); i++) steps[i] = steps_of(p.tensors[o.inputs[i]].lengths);
  each(n, [&](const Axes& place) {
    std::array<double, 3> in{};
    for (size_t i = 0; i < o.inputs.size(); i++)
      in[i] = values[o.inputs[i]][static_cast<size_t>(at(place, steps[i]))];
    y.push_back(o.mode == kIndex ? static_cast<double>(place[static_cast<size_t>(o.axis)])
                                 : apply(o.mode, of_rows, in[0], in[1], in[2]));
  });
  return y;
}

// Matrices of which there is one for several: batches repeat it, heads share it in groups of
// neighbours.
Values product(const Program& p, const Operation& o, const std::vector<Values>& values) {
  const Axes &a = p.tensors[o.inputs[0]].lengths, &b = p.tensors[o.inputs[1]].lengths,
             &c = p.tensors[o.output].lengths;
  const int64_t rows = c[2], columns = c[3], depth = a[3];
  Values y(count_of(c), 0);
  const auto matrix = [&](const Axes& n, int64_t batch, int64_t head) {
    return ((n[0] == 1 ? 0 : batch) * n[1] + head / (c[1] / n[1])) * n[2] * n[3];
  };
  double* row = y.data();
  for (int64_t batch = 0; batch < c[0]; batch++)
    for (int64_t head = 0; head < c[1]; head++) {
      const double* left = values[o.inputs[0]].data() + matrix(a, batch, head);
      const double* right = values[o.inputs[1]].data() + matrix(b, batch, head);
      for (int64_t i = 0; i < rows; i++, row += columns)
        for (int64_t k = 0; k < depth; k++)
          for (int64_t j = 0; j < columns; j++)
            row[j] += left[i * depth + k] * right[k * columns + j];
    }
  return y;
}

Values reduction(const Program& p, const Operation& o, const std::vector<Values>& values) {
  const Axes &x = p.tensors[o.inputs[0]].lengths, &n = p.tensors[o.output].lengths;
  Values y(count_of(n), 0);
  if (o.mode == kReduceMaximum) std::fill(y.begin(), y.end(), -kInfinity);
  size_t next = 0;
  const Axes steps = steps_of(n);
  each(x, [&](const Axes& place) {
    Axes to = place;
    to[1] /= x[1] / n[1];
    double& sum = y[static_cast<size_t>(at(to, steps))];
    const double value = values[o.inputs[0]][next++];
    if (o.mode == kReduceAdd) sum += value;
    else if (value > sum || std::isnan(value)) sum = value;
  });
  return y;
}

// By where the elements of one lie; empty where the other has some that lie nowhere.
Values reshaped(const Tensor& x, const Tensor& y, const Values& values) {
  const double nowhere = -1;
  Values lying(x.bytes() / element_size(x.type), nowhere);
  size_t next = 0;
  each(x.lengths, [&](const Axes& place) {
    lying[static_cast<size_t>(at(place, x.strides))] = static_cast<double>(next++);
  });
  Values result;
  each(y.lengths, [&](const Axes& place) {
    const auto where = static_cast<size_t>(at(place, y.strides));
    if (where < lying.size() && lying[where] >= 0)
      result.push_back(values[static_cast<size_t>(lying[where])]);
  });
  return result.size() == count_of(y.lengths) ? result : Values{};
}

void evaluate(const Program& p, const Program::Memory& memory,
              const std::map<int64_t, double>& constants) {
  std::vector<Values> values(p.tensors.size());
  for (size_t i = 0; i < p.tensors.size(); i++) {
    const Tensor& t = p.tensors[i];
    if (t.by_value) values[i] = {constants.at(t.number)};
    else if (p.maker(i) == nullptr)
      each(t.lengths, [&](const Axes& n) {
        values[i].push_back(load(t.type, memory.at(t.number) + t.at(n[0], n[1], n[2], n[3])));
      });
  }
  for (const Operation& o : p.operations) {
    const Tensor& t = p.tensors[o.output];
    Values& y = values[o.output];
    y = o.kind == kOperationPointwise   ? elementwise(p, o, values)
        : o.kind == kOperationMatmul    ? product(p, o, values)
        : o.kind == kOperationReduction ? reduction(p, o, values)
                                        : reshaped(p.tensors[o.inputs[0]], t, values[o.inputs[0]]);
    for (double& value : y) value = rounded(t.type, value);
    if (t.is_virtual) continue;
    const double* next = y.data();
    each(t.lengths, [&](const Axes& n) {
      store(t.type, memory.at(t.number) + t.at(n[0], n[1], n[2], n[3]), *next++);
    });
  }
}

// Whether the sizes of an operation's tensors go together.
bool fits(const Program& p, const Operation& o) {
  const Axes& y = p.tensors[o.output].lengths;
  const auto input = [&](size_t i) -> const Axes& { return p.tensors[o.inputs[i]].lengths; };
  switch (o.kind) {
    case kOperationMatmul: {
      const Axes &a = input(0), &b = input(1);
      return y[0] == std::max(a[0], b[0]) && (a[0] == 1 || a[0] == y[0]) &&
             (b[0] == 1 || b[0] == y[0]) && y[1] == std::max(a[1], b[1]) && y[1] % a[1] == 0 &&
             y[1] % b[1] == 0 && a[2] == y[2] && b[3] == y[3] && a[3] == b[2];
    }
    case kOperationReduction: {
      for (size_t axis : {0, 2, 3})
        if (y[axis] != 1 && y[axis] != input(0)[axis]) return false;
      return input(0)[1] % y[1] == 0;
    }
    case kOperationReshape: {
      const Tensor &x = p.tensors[o.inputs[0]], &to = p.tensors[o.output];
      return count_of(x.lengths) == count_of(y) &&
             !reshaped(x, to, Values(count_of(x.lengths), 0)).empty();
    }
    default: {
      Axes most = {1, 1, 1, 1};
      for (size_t i = 0; i < o.inputs.size(); i++)
        for (size_t axis = 0; axis < 4; axis++) {
          const int64_t n = input(i)[axis];
          if (n != 1 && n != y[axis]) return false;
          most[axis] = std::max(most[axis], n);
        }
      return most == y && (o.mode != kIndex || (o.axis >= 0 && o.axis < 4));
    }
  }
}

// Not so: numbers that there is one of for each row, and what a vector of lengths is.
bool has_features(const Tensor& t) {
  return t.lengths[3] != 1 || (t.type != DType::F32 && t.type != DType::I32);
}

// A part of memory, and what of it is spoken of.
struct Part {
  const std::byte* start;
  const Tensor* tensor;
  bool written;
};
bool overlap(const Part& a, const Part& b) {
  if (a.start + a.tensor->bytes() <= b.start || b.start + b.tensor->bytes() <= a.start)
    return false;
  const auto bytes = [](const Part& part, auto f) {
    each(part.tensor->lengths, [&](const Axes& n) {
      const std::byte* const p = part.start + part.tensor->at(n[0], n[1], n[2], n[3]);
      for (size_t i = 0; i < element_size(part.tensor->type); i++) f(p + i);
    });
  };
  std::vector<bool> taken(a.tensor->bytes());
  bool both = false;
  bytes(a, [&](const std::byte* p) { taken[static_cast<size_t>(p - a.start)] = true; });
  bytes(b, [&](const std::byte* p) {
    if (p >= a.start && p < a.start + taken.size())
      both = both || taken[static_cast<size_t>(p - a.start)];
  });
  return both;
}

}  // namespace

const Operation* Program::maker(size_t tensor) const {
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](const Operation& o) { return o.output == tensor; });
  return found == operations.end() ? nullptr : &*found;
}

std::vector<const Operation*> Program::readers(size_t tensor) const {
  std::vector<const Operation*> all;
  for (const Operation& o : operations)
    if (std::find(o.inputs.begin(), o.inputs.end(), tensor) != o.inputs.end()) all.push_back(&o);
  return all;
}

size_t Program::features(size_t tensor) const {
  for (const Operation* o : readers(tensor))
    if (o->kind == kOperationMatmul && o->inputs[1] == tensor && !tensors[o->inputs[0]].is_virtual)
      return 2;
  return 3;
}

// One operation with its tensors, which several may speak of.
std::string Program::read(const Thing& operation, std::map<const Thing*, size_t>& known) {
  Operation o{operation.kind, -1, -1, -1, {}, 0};
  std::vector<int> inputs;
  int output = 0, about = 0, kind = 0;
  switch (operation.kind) {
    case kOperationPointwise: about = kPointwiseDescriptor, kind = kPointwise; break;
    case kOperationMatmul: about = kMatmulDescriptor, kind = kMatmul; break;
    case kOperationReduction: about = kReductionDescriptor, kind = kReduction; break;
    case kOperationReshape: break;
    default: return "a graph has an operation that none of several can be";
  }
  if (about != 0) {
    const Thing* const which = child(operation, about);
    if (which == nullptr || which->kind != kind) return "an operation has no descriptor";
    lives.push_back(which->life);
    o.compute = which->read<int>(kind == kPointwise ? kPointwiseComputeType
                                 : kind == kMatmul  ? kMatmulComputeType
                                                    : kReductionComputeType)[0];
    if (kind == kPointwise) o.mode = which->read<int>(kPointwiseMode)[0];
    if (kind == kReduction) o.mode = which->read<int>(kReductionOperator)[0];
    if (which->has(kPointwiseAxis)) o.axis = which->read<int64_t>(kPointwiseAxis)[0];
    if ((o.axis >= 0) != (kind == kPointwise && o.mode == kIndex))
      return "an axis is not where it belongs";
  }
  switch (operation.kind) {
    case kOperationMatmul: inputs = {kMatmulA, kMatmulB}, output = kMatmulC; break;
    case kOperationReduction:
      if (o.mode != kReduceAdd && o.mode != kReduceMaximum) return "a reduction is not emulated";
      inputs = {kReductionX}, output = kReductionY;
      break;
    case kOperationReshape: inputs = {kReshapeX}, output = kReshapeY; break;
    default:
      if (!is_known(o.mode)) return "an elementwise operation is not emulated";
      inputs = {kPointwiseX}, output = kPointwiseY;
      if (!is_unary(o.mode)) inputs.push_back(kPointwiseB);
      if (o.mode == kSelect) inputs.push_back(kPointwiseT);
      if (o.mode == kTanhBackward) inputs = {kPointwiseDy, kPointwiseX}, output = kPointwiseDx;
  }
  if (operation.attributes.size() != inputs.size() + 1 + (about != 0 ? 1 : 0))
    return "an operation has too few tensors or too many";
  const auto tensor = [&](int attribute) -> size_t {
    const Thing* const it = child(operation, attribute);
    if (it == nullptr || it->kind != kTensor) return SIZE_MAX;
    const auto [found, is_new] = known.emplace(it, tensors.size());
    if (is_new) {
      tensors.emplace_back(*it);
      lives.push_back(it->life);
    }
    return found->second;
  };
  for (const int attribute : inputs) o.inputs.push_back(tensor(attribute));
  o.output = tensor(output);
  if (o.output == SIZE_MAX || std::count(o.inputs.begin(), o.inputs.end(), SIZE_MAX) > 0)
    return "an operation speaks of a tensor that is none";
  operations.push_back(std::move(o));
  return {};
}

std::string Program::misuse() const {
  std::set<int64_t> numbers;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    if (!numbers.insert(t.number).second) return "two tensors have the same number";
    if (std::min({t.lengths[0], t.lengths[1], t.lengths[2], t.lengths[3], t.strides[0],
                  t.strides[1], t.strides[2], t.strides[3], t.alignment}) < 1)
      return "a length, a stride or an alignment is below 1";
    const auto makers = std::count_if(operations.begin(), operations.end(),
                                      [&](const Operation& o) { return o.output == i; });
    if (makers > 1) return "a tensor is made twice";
    if (t.is_virtual && makers == 0) return "a virtual tensor is made by nobody";
    if (t.by_value && (makers > 0 || t.is_virtual || count_of(t.lengths) != 1 ||
                       (t.type != DType::F32 && t.type != DType::I32)))
      return "what is passed by value is not one number that is given";
  }
  for (const Operation& o : operations)
    if (!fits(*this, o)) return "sizes do not go together";
  return {};
}

std::string Program::misaligned() const {
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    if (t.is_virtual || t.by_value || !has_features(t)) continue;
    for (size_t axis = 0; axis < 4; axis++) {
      if (axis == features(i) && t.strides[axis] != 1)
        return "the elements of a row are not neighbours";
      if (axis != features(i) &&
          t.strides[axis] * static_cast<int64_t>(element_size(t.type)) % 16 != 0)
        return "a stride is not a multiple of 16 bytes";
    }
  }
  return {};
}

// So that each comes after those that make what it reads.
std::string Program::sort() {
  std::vector<Operation> sorted;
  std::vector<bool> made(tensors.size());
  for (size_t i = 0; i < tensors.size(); i++) made[i] = maker(i) == nullptr;
  while (!operations.empty()) {
    const auto next = std::find_if(operations.begin(), operations.end(), [&](const Operation& o) {
      return std::all_of(o.inputs.begin(), o.inputs.end(), [&](size_t i) { return made[i]; });
    });
    if (next == operations.end()) return "operations wait for each other";
    made[next->output] = true;
    sorted.push_back(std::move(*next));
    operations.erase(next);
  }
  operations = std::move(sorted);
  return {};
}

std::string Program::make(const std::vector<const Thing*>& descriptors) {
  std::map<const Thing*, size_t> known;
  for (const Thing* one : descriptors) {
    lives.push_back(one->life);
    if (std::string wrong = read(*one, known); !wrong.empty()) return wrong;
  }
  if (std::string wrong = misuse(); !wrong.empty()) return wrong;
  return sort();
}

std::string Program::refuses(const Memory& memory) const {
  for (const auto& life : lives)
    if (life.expired()) return "a descriptor of a graph is gone";
  size_t found = 0;
  for (const Tensor& t : tensors) {
    const auto given = memory.find(t.number);
    if (t.is_virtual && given == memory.end()) continue;
    if (t.is_virtual) return "a virtual tensor has memory";
    if (given == memory.end()) return "a tensor has no memory";
    found++;
    const std::byte* const start = given->second;
    if (start == nullptr) return "the memory of a tensor is null";
    if (t.by_value) {
      if (driver().holds != nullptr && driver().holds(start, t.bytes()))
        return "what is passed by value is in device memory";
      continue;
    }
    const auto alignment = static_cast<size_t>(t.alignment);
    if (reinterpret_cast<uintptr_t>(start) %
            (has_features(t) ? std::max<size_t>(alignment, 16) : alignment) !=
        0)
      return "a tensor is not aligned as was promised, or not to 16 bytes";
  }
  return found == memory.size() ? "" : "there is memory for a tensor that the graph has not";
}

std::string Program::misplaced(const Memory& memory, const Room& room) const {
  std::vector<Part> parts;
  for (size_t i = 0; i < tensors.size(); i++) {
    const Tensor& t = tensors[i];
    if (t.is_virtual || t.by_value) continue;
    const std::byte* const start = memory.at(t.number);
    if (driver().holds != nullptr && !driver().holds(start, t.bytes()))
      return "a tensor is not, or not all, in device memory";
    parts.push_back({start, &t, maker(i) != nullptr});
    if (room.bytes > 0 && start < room.start + room.bytes && room.start < start + t.bytes())
      return "a tensor lies in the workspace";
  }
  for (size_t i = 0; i < parts.size(); i++)
    for (size_t j = 0; j < i; j++)
      if ((parts[i].written || parts[j].written) && overlap(parts[i], parts[j]))
        return "two tensors share memory that is written to";
  return {};
}

std::function<void()> work_of(std::shared_ptr<const Program> program, const Program::Memory& memory,
                              const Program::Room& room) {
  std::map<int64_t, double> constants;
  for (const Tensor& t : program->tensors)
    if (t.by_value) constants[t.number] = load(t.type, memory.at(t.number));
  return [=] {
    if (const std::string wrong = program->misplaced(memory, room); !wrong.empty()) {
      world().refuse(wrong, 0);
      return;
    }
    evaluate(*program, memory, constants);
  };
}

}  // namespace hologram::fake::cudnn
