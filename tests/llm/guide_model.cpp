// What the tests of docs/llm.md read as "model.gguf", made before them.
#include <gtest/gtest.h>

#include <cstdio>

#include "llm/made_models.hpp"

namespace {

class GuideModel : public testing::Environment {
 public:
  void SetUp() override {
    hologram::tests::ModelMaker(hologram::tests::kModels[0]).save("model.gguf");
  }
  void TearDown() override { std::remove("model.gguf"); }
};
[[maybe_unused]] auto* const kGuideModel = testing::AddGlobalTestEnvironment(new GuideModel);

}  // namespace
