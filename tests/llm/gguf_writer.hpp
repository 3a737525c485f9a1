// GGUF files made by tests.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace hologram::tests {

class GgufWriter {
 public:
  GgufWriter& text(std::string_view name, std::string_view value) {
    return entry(name, 8).string(value);
  }
  GgufWriter& number(std::string_view name, uint32_t value) { return entry(name, 4).raw(value); }
  GgufWriter& real(std::string_view name, float value) { return entry(name, 6).raw(value); }
  GgufWriter& boolean(std::string_view name, bool value) {
    return entry(name, 7).raw(static_cast<uint8_t>(value));
  }
  GgufWriter& texts(std::string_view name, const std::vector<std::string>& values) {
    entry(name, 9).raw(uint32_t{8}).raw(uint64_t{values.size()});
    for (const std::string& value : values) string(value);
    return *this;
  }
  template <class T>
  GgufWriter& numbers(std::string_view name, uint32_t type, const std::vector<T>& values) {
    entry(name, 9).raw(type).raw(uint64_t{values.size()});
    for (const T value : values) raw(value);
    return *this;
  }
  // `shape`: the innermost axis first.
  GgufWriter& tensor(std::string_view name, uint32_t type, const std::vector<uint64_t>& shape,
                     const std::string& data) {
    append(infos_, uint64_t{name.size()});
    infos_ += name;
    append(infos_, static_cast<uint32_t>(shape.size()));
    for (const uint64_t length : shape) append(infos_, length);
    append(infos_, type);
    append(infos_, uint64_t{data_.size()});
    data_ += data;
    data_.resize((data_.size() + 31) / 32 * 32);
    tensors_++;
    return *this;
  }

  std::string bytes() const {
    std::string all = "GGUF";
    append(all, uint32_t{3});
    append(all, tensors_);
    append(all, entries_);
    all += metadata_ + infos_;
    all.resize((all.size() + 31) / 32 * 32);
    return all + data_;
  }
  void save(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }

 private:
  template <class T>
  static void append(std::string& to, T value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  GgufWriter& raw(T value) {
    append(metadata_, value);
    return *this;
  }
  GgufWriter& string(std::string_view value) {
    raw(uint64_t{value.size()});
    metadata_ += value;
    return *this;
  }
  GgufWriter& entry(std::string_view name, uint32_t type) {
    entries_++;
    return string(name).raw(type);
  }

  std::string metadata_, infos_, data_;
  uint64_t entries_ = 0, tensors_ = 0;
};

}  // namespace hologram::tests
