// Small good files to start the fuzzers from: fuzz_seeds FOLDER.
#include <cstdio>
#include <filesystem>

#include "hologram/files.hpp"

using namespace hologram;

namespace {

Array ramp(DType dtype, const Shape& shape) {
  Array array(dtype, shape);
  for (size_t i = 0; i < array.bytes(); i++)
    array.mutable_data()[i] = static_cast<std::byte>(i * 5 & 0x3f);
  return array;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  for (const char* name : {"npy", "npz", "safetensors", "png", "jpeg"})
    std::filesystem::create_directories(folder + "/" + name);
  const Array small = ramp(DType::F32, {2, 3}), halves = ramp(DType::F16, {4});
  for (const DType dtype : {DType::Bool, DType::I16, DType::F64})
    files::write(folder + "/npy/" + std::string(name_of(dtype)) + ".npy", ramp(dtype, {3, 1, 2}));
  for (const std::string name : {"npz", "safetensors"}) {
    const std::string file = folder + "/" + name + "/two." + name;
    files::write_all({{file + ":a", small}, {file + ":b", halves}});
    files::write(folder + "/" + name + "/one." + name, halves);
  }
  for (const int64_t channels : {1, 2, 3, 4})
    for (const DType dtype : {DType::U8, DType::U16}) {
      const std::string name = std::to_string(channels) + std::string(name_of(dtype));
      files::write(folder + "/png/" + name + ".png", ramp(dtype, {5, 4, channels}));
      if (channels % 2 == 1 && dtype == DType::U8)
        for (const int quality : {50, 95})
          files::write(folder + "/jpeg/" + name + std::to_string(quality) + ".jpg",
                       ramp(dtype, {17, 12, channels}), {.quality = quality});
    }
  return 0;
}
