// Our declarations of Metal against Apple's, where scripts/offline-compilers has fetched those.
#include <gtest/gtest.h>

#include "backends/metal/api.hpp"
#ifdef HOLOGRAM_HAS_METAL_HEADERS
#include "metal_headers.hpp"
#endif

namespace hologram {
namespace {

TEST(MetalHeaders, SayTheSame) {
#ifdef HOLOGRAM_HAS_METAL_HEADERS
#define COUNT(...) +1
  constexpr int kMessages = 0 HOLOGRAM_METAL_MESSAGES(COUNT);
#undef COUNT
  int compared = 0;
  EXPECT_EQ(metal_differences(compared), std::vector<std::string>());
  EXPECT_EQ(compared, kMessages) << "every message is compared";
#else
  GTEST_SKIP() << "metal-cpp is not there (scripts/offline-compilers --metal), or no clang";
#endif
}

}  // namespace
}  // namespace hologram
