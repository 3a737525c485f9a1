// Folders and files for the tests of files.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "files/formats.hpp"
#include "hologram/error.hpp"

namespace hologram::files {

class FilesTest : public testing::Test {
 protected:
  FilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "hologram-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string get(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string folder_;
};

// The message of the Error that `body` throws, remedy included; empty if it throws none.
template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
    return "";
  } catch (const Error& error) {
    return std::string(error.what()) + ". " + error.remedy();
  }
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// An array of bytes that differ from each other, and are valid for every type.
inline Array pattern(DType dtype, const Shape& shape) {
  Array array(dtype, shape);
  for (size_t i = 0; i < array.bytes(); i++)
    array.mutable_data()[i] =
        static_cast<std::byte>(dtype == DType::Bool ? (i * 7 / 3) & 1 : (i * 37 + 11) & 0x3f);
  return array;
}

inline bool same(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

inline Source source_of(const std::string& bytes) {
  return {"memory", std::as_bytes(std::span<const char>(bytes.data(), bytes.size())), {}, false};
}

}  // namespace hologram::files
