// Every dtype with the ends of its range, through every format of file and back.
#include "files_helpers.hpp"
#include "hologram/files.hpp"
#include "promises.hpp"

namespace hologram::files {
namespace {

TEST_F(FilesTest, EveryValueComesBackFromEveryFormat) {
  for (const DType dtype : graphs::all_dtypes())
    for (const std::string format : {"npy", "npz", "safetensors"})
      for (const Shape& shape :
           {Shape{}, Shape{0}, Shape{1}, Shape{65}, Shape{3, 0, 2}, Shape{601, 3}}) {
        if (dtype == DType::BF16 && format != "safetensors") continue;  // they have none
        graphs::Step step;
        step.dtype = dtype;
        step.shape = shape;
        step.profile = graphs::Profile::Anything;
        step.seed = 5;
        const Array array = graphs::values_of(step);
        const std::string name = path("a." + format);
        write(name, array);
        const Array back = read(name);
        ASSERT_EQ(back.dtype(), dtype) << format;
        ASSERT_EQ(back.shape(), shape) << name_of(dtype) << " " << format;
        // To the bit, NaN included.
        EXPECT_TRUE(array.bytes() == 0 ||
                    std::memcmp(array.data(), back.data(), array.bytes()) == 0)
            << hologram::name_of(dtype) << to_string(shape) << " " << format;
      }
}

}  // namespace
}  // namespace hologram::files
