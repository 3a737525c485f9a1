// Random numbers, of executors' sequences and of generators.
#include "hologram/random.hpp"

#include <array>

#include "core/messages.hpp"
#include "graph/elementwise.hpp"
#include "tensor/draws.hpp"
#include "tensor/whole_numbers.hpp"

namespace hologram {
namespace {

using core::Text;
using graph::Attribute;
using graph::Context;
using tensor::need_number;
using tensor::text_of;
using tensor::Whole;
using tensor::whole_in;

namespace source = graph::source;

using ContextPointer = decltype(Context::of(default_executor()));

// An operation that draws: by words that are known, and by those of a capture.
struct Row {
  const graph::ElementwiseOp &known, &captured;
};
constexpr Row kUniform = {source::kUniform, source::kUniformOf},
              kNormal = {source::kNormal, source::kNormalOf},
              kIntegers = {source::kIntegers, source::kIntegersOf};

// Key and number of an operation, or within a capture its number there and the tensor of both.
struct Words {
  std::vector<Attribute> attributes;
  const Tensor* captured = nullptr;
};

Words words_of(const RandomState& at) {
  Words words;
  for (const uint64_t word : {at.key, at.key >> 32, at.counter, at.counter >> 32})
    words.attributes.push_back({DType::U32, word & 0xffffffffu});
  return words;
}

Words next_of(Context& context) {
  if (tensor::CapturedDraws* const draws = tensor::CapturedDraws::of(context)) {
    Words words = words_of({draws->next(), 0});
    words.captured = &draws->words();
    return words;
  }
  const auto [key, counter] = context.next_random();
  return words_of({key, counter});
}

Tensor drawn(const Row& row, DType dtype, const Shape& shape, const Words& words,
             std::initializer_list<Attribute> more, Context& context) {
  auto node = std::make_unique<graph::Node>(graph::Kind::Elementwise, context, dtype, shape);
  node->op = words.captured == nullptr ? &row.known : &row.captured;
  for (const Attribute& each : words.attributes) node->attributes.push_back(each);
  for (const Attribute& each : more) node->attributes.push_back(each);
  for (int k = 0; words.captured != nullptr && k < 4; k++)
    node->inputs.push_back(tensor::input_of(words.captured->select(0, k).broadcast_to(shape)));
  return tensor::finish(std::move(node));
}

// `draw` is called when nothing can be wrong any more: what is refused draws nothing.
template <class Draw>
Tensor floats(const Row& row, const Shape& shape, DType dtype, const ContextPointer& context,
              const Draw& draw) {
  if (!is_float(dtype))
    throw core::error(Text::OperandDType, row.known.name, name_of(dtype), "floats");
  return drawn(row, dtype, shape, draw(), {}, *context);
}

template <class Draw>
Tensor integers(const Operand& low, const Operand& high, const Shape& shape, DType dtype,
                const ContextPointer& context, const Draw& draw) {
  for (const Operand* o : {&low, &high}) need_number("randint", *o);
  if (!is_integer(dtype))
    throw core::error(Text::OperandDType, "randint", name_of(dtype), "integers");
  const Whole first = whole_in(dtype, low), end = whole_in(dtype, high);
  if (first >= end) throw core::error(Text::EmptyRange, text_of(first), text_of(end));
  // All of 64 bits are one number more than 64 bits count.
  for (const Whole number : {first, end - 1, end - first > UINT64_MAX ? end : first})
    if (!tensor::fits(dtype, number))
      throw core::error(Text::NumberRange, text_of(number), name_of(dtype));
  return drawn(kIntegers, dtype, shape, draw(),
               {{DType::I64, static_cast<uint64_t>(first)},
                {DType::U64, static_cast<uint64_t>(end - first)}},
               *context);
}

// A block of Philox4x32-10, as the kernels of sources.cpp compute it: its first two words.
uint64_t philox(const RandomState& at, uint64_t block) {
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(at.counter),
                               static_cast<uint32_t>(at.counter >> 32),
                               static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32)};
  auto key0 = static_cast<uint32_t>(at.key), key1 = static_cast<uint32_t>(at.key >> 32);
  for (int round = 0; round < 10; round++) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(b),
         static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(a)};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return uint64_t{c[1]} << 32 | c[0];
}

}  // namespace

RandomState random_state(const Executor& executor) {
  const auto [key, counter] = Context::of(executor)->random_state();
  return {key, counter};
}
void set_random_state(const RandomState& state, const Executor& executor) {
  Context::of(executor)->set_random_state(state.key, state.counter);
}

RandomState Generator::next() {
  const RandomState at = state_;
  state_.counter++;
  return at;
}

Tensor Generator::rand(Shape shape, DType dtype, const Executor& executor) {
  return floats(kUniform, shape, dtype, Context::of(executor), [&] { return words_of(next()); });
}
Tensor Generator::randn(Shape shape, DType dtype, const Executor& executor) {
  return floats(kNormal, shape, dtype, Context::of(executor), [&] { return words_of(next()); });
}
Tensor Generator::randint(const Operand& low, const Operand& high, Shape shape, DType dtype,
                          const Executor& executor) {
  return integers(low, high, shape, dtype, Context::of(executor), [&] { return words_of(next()); });
}

std::vector<Generator> Generator::split(size_t count) {
  // Blocks from the last one downwards: no tensor has so many elements that it comes there.
  const RandomState at = next();
  std::vector<Generator> generators;
  generators.reserve(count);
  for (uint64_t i = 0; i < count; i++) generators.emplace_back(philox(at, ~i));
  return generators;
}

namespace ops {

void seed(uint64_t key, const Executor& executor) { set_random_state({key, 0}, executor); }

Tensor rand(Shape shape, DType dtype, const Executor& executor) {
  const auto context = Context::of(executor);
  return floats(kUniform, shape, dtype, context, [&] { return next_of(*context); });
}
Tensor randn(Shape shape, DType dtype, const Executor& executor) {
  const auto context = Context::of(executor);
  return floats(kNormal, shape, dtype, context, [&] { return next_of(*context); });
}
Tensor randint(const Operand& low, const Operand& high, Shape shape, DType dtype,
               const Executor& executor) {
  const auto context = Context::of(executor);
  return integers(low, high, shape, dtype, context, [&] { return next_of(*context); });
}

}  // namespace ops
}  // namespace hologram
