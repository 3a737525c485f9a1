#include "hologram/memory_estimate.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/messages.hpp"

namespace hologram {
namespace {

using core::Text;

// A number of elements or bytes; a result that does not fit is an error.
class Count {
 public:
  // From a positive number.
  explicit Count(int64_t value) : value_(static_cast<uint64_t>(value)) {}
  uint64_t value() const { return value_; }

  friend Count operator+(Count a, Count b) {
    if (__builtin_add_overflow(a.value_, b.value_, &a.value_))
      throw core::error(Text::ModelTooLarge);
    return a;
  }
  friend Count operator*(Count a, Count b) {
    if (__builtin_mul_overflow(a.value_, b.value_, &a.value_))
      throw core::error(Text::ModelTooLarge);
    return a;
  }

 private:
  uint64_t value_;
};

void refuse_unless(bool good, std::string_view name, int64_t value, const std::string& remedy) {
  if (!good) throw core::error(Text::BadModel, name, value, remedy);
}

}  // namespace

MemoryEstimate estimate_inference_memory(int64_t hidden, int64_t intermediate, int64_t layers,
                                         int64_t vocab, int64_t heads, int64_t kv_heads,
                                         int64_t max_seq, int64_t dtype_bytes) {
  const std::array<std::pair<std::string_view, int64_t>, 7> sizes = {
      {{"hidden", hidden},
       {"intermediate", intermediate},
       {"layers", layers},
       {"vocab", vocab},
       {"heads", heads},
       {"kv_heads", kv_heads},
       {"max_seq", max_seq}}};
  for (const auto& [name, value] : sizes) refuse_unless(value > 0, name, value, "a number above 0");
  refuse_unless(hidden % heads == 0, "heads", heads,
                "a number that divides hidden=" + std::to_string(hidden));
  refuse_unless(heads % kv_heads == 0, "kv_heads", kv_heads,
                "a number that divides heads=" + std::to_string(heads));
  refuse_unless(dtype_bytes == 1 || dtype_bytes == 2 || dtype_bytes == 4 || dtype_bytes == 8,
                "dtype_bytes", dtype_bytes, "1, 2, 4 or 8");

  const Count two(2), h(hidden), i(intermediate), l(layers), bytes(dtype_bytes);
  const Count kv(kv_heads * (hidden / heads));  // at most hidden
  const Count layer = two * h * h + two * h * kv + Count(3) * h * i + two * h;
  const Count weights = (l * layer + two * Count(vocab) * h + h) * bytes;
  const Count kv_cache = two * l * Count(max_seq) * kv * bytes;
  const Count activations = two * (h + two * i) * bytes;
  return {.weights = weights.value(),
          .kv_cache = kv_cache.value(),
          .activations = activations.value(),
          .total = (weights + kv_cache + activations).value()};
}

}  // namespace hologram
