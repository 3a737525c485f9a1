// Names, parameters, workgroup arrays and sizes.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/messages.hpp"
#include "program/verify.hpp"

namespace hologram::program {
namespace {

using core::Text;

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

bool is_type(DType type) { return static_cast<size_t>(type) < kDTypeCount && type != DType::None; }
bool is_value_type(DType type) { return is_type(type) && is_compute_type(type); }

bool fits(DType type, uint64_t bits) {
  return type == DType::Bool ? bits <= 1 : size_of(type) == 8 || bits <= UINT32_MAX;
}

class Declarations {
 public:
  Declarations(const Module& module, Mention mention)
      : m_(module), subject_(subject(module, mention, 0)) {}

  void run() {
    check_name(m_.name);
    for (const uint32_t lanes : m_.workgroup)
      if (lanes == 0 || lanes > kMaxLanes) fail_workgroup();
    if (m_.lanes() > kMaxLanes) fail_workgroup();
    if (m_.index != DType::I32 && m_.index != DType::I64) fail(Text::VerifyIndexType);
    for (const ScalarParam& scalar : m_.scalars) check(scalar);
    for (const BufferParam& buffer : m_.buffers) check(buffer);
    for (const ScalarParam& scalar : m_.scalars)
      if (scalar.dimension && !used_dimensions_.count(scalar.name))
        fail(Text::VerifyDimensionUnused, scalar.name);
    check_shared();
    for (const Variable& variable : m_.variables) {
      check_name(variable.name);
      if (!is_value_type(variable.type)) fail(Text::VerifyValueType, variable.name);
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(Text text, const Args&... args) const {
    throw Fault{core::error(text, subject_, args...)};
  }
  [[noreturn]] void fail_workgroup() const {
    fail(Text::VerifyWorkgroup, m_.workgroup[0], m_.workgroup[1], m_.workgroup[2], kMaxLanes);
  }

  void check_name(const std::string& name) const {
    if (!is_identifier(name)) fail(Text::VerifyName, name);
  }
  void check_new_name(const std::string& name) {
    check_name(name);
    if (!names_.insert(name).second) fail(Text::VerifyNameTwice, name);
  }

  void check(const ScalarParam& scalar) {
    check_new_name(scalar.name);
    if (!is_value_type(scalar.type)) fail(Text::VerifyValueType, scalar.name);
    if (scalar.otherwise && !fits(scalar.type, *scalar.otherwise))
      fail(Text::VerifyDefault, scalar.name, name_of(scalar.type));
    if (!scalar.dimension) return;
    if (scalar.type != m_.index) fail(Text::VerifyDimensionType, scalar.name, name_of(m_.index));
    dimensions_.insert(scalar.name);
  }

  void check(const BufferParam& buffer) {
    check_new_name(buffer.name);
    if (!is_type(buffer.type)) fail(Text::VerifyBufferType, buffer.name);
    if (buffer.access > Access::Atomic) fail(Text::VerifyAccess, buffer.name);
    if (buffer.access == Access::Atomic && buffer.type != DType::I32 && buffer.type != DType::U32)
      fail(Text::VerifyAtomicType, buffer.name, name_of(buffer.type));
    if (buffer.dims.size() > kMaxRank) fail(Text::VerifyRank, buffer.name, kMaxRank);
    const int64_t most = m_.index == DType::I32 ? INT32_MAX : INT64_MAX;
    for (const Dim& dim : buffer.dims) {
      if (dim.name.empty()) {
        if (dim.length < 0 || dim.length > most)
          fail(Text::VerifyDimension, buffer.name, dim.length);
      } else {
        if (!dimensions_.count(dim.name)) fail(Text::VerifyDimensionName, buffer.name, dim.name);
        used_dimensions_.insert(dim.name);
      }
    }
  }

  void check_shared() {
    uint64_t bytes = 0;
    for (const SharedArray& array : m_.shared) {
      check_new_name(array.name);
      if (!is_value_type(array.type) || array.type == DType::Bool)
        fail(Text::VerifySharedType, array.name);
      if (array.atomic && array.type != DType::I32 && array.type != DType::U32)
        fail(Text::VerifyAtomicType, array.name, name_of(array.type));
      if (array.count == 0) fail(Text::VerifySharedEmpty, array.name);
      bytes += uint64_t{array.count} * size_of(array.type);
      if (bytes > kMaxSharedBytes) fail(Text::VerifySharedSize, array.name, kMaxSharedBytes);
    }
  }

  const Module& m_;
  const std::string subject_;
  std::unordered_set<std::string_view> names_, dimensions_, used_dimensions_;
};

}  // namespace

void verify_declarations(const Module& module, Mention mention) {
  Declarations(module, mention).run();
}

}  // namespace hologram::program
