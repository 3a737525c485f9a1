// What the tests made from the guides in docs/ use; GUIDE is the one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

#include "hologram/hologram.hpp"

namespace guide {

inline std::string shown(const hologram::Tensor& tensor) {
  using namespace hologram;
  const std::vector<double> values = tensor.to(DType::F64).to_vector<double>();
  const size_t columns = tensor.rank() == 2 ? static_cast<size_t>(tensor.size(1)) : values.size();
  std::ostringstream text;
  for (size_t i = 0; i < values.size(); i++) {
    if (i > 0) text << ' ';
    if (tensor.rank() == 2 && i % columns == 0) text << '[';
    text << values[i];
    if (tensor.rank() == 2 && i % columns == columns - 1) text << ']';
  }
  return text.str();
}
inline std::string shown(hologram::DType type) { return std::string(name_of(type)); }
inline std::string shown(const hologram::Shape& shape) {
  std::string text;
  for (const int64_t length : shape) text += (text.empty() ? "" : ", ") + std::to_string(length);
  return "[" + text + "]";
}
inline std::string shown(const char* text) { return text; }
inline std::string shown(bool value) { return value ? "true" : "false"; }
template <hologram::Arithmetic T>
std::string shown(T value) {
  std::ostringstream text;
  text.precision(10);
  text << value;
  return text.str();
}

template <class T>
void check(int line, const T& value, const std::string& want) {
  EXPECT_EQ(shown(value), want) << GUIDE ":" << line;
}

inline void check_error(int line, const std::function<void()>& call, const std::string& want) {
  try {
    call();
    ADD_FAILURE() << GUIDE ":" << line << ": nothing was thrown";
  } catch (const hologram::Error& error) {
    EXPECT_EQ(std::string(error.what()), want) << GUIDE ":" << line;
    EXPECT_FALSE(error.remedy().empty()) << GUIDE ":" << line;
  }
}

}  // namespace guide
