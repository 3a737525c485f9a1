// Backends from outside the tree (hologram/backend.hpp): names, types, and what is refused.
#include "hologram/backend.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/null/null.hpp"
#include "hologram/error.hpp"
#include "hologram/executor.hpp"
#include "hologram/ops.hpp"

namespace hologram {
namespace {

// Once a process.
BackendType outside() {
  static const BackendType type = register_backend("outside", backends::null::make);
  return type;
}

ErrorKind refused(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_FALSE(error.remedy().empty()) << error.what();
    return error.kind();
  }
  ADD_FAILURE() << "not refused";
  return ErrorKind::Internal;
}

// One that says that it is the null backend, whatever it is told.
std::unique_ptr<hal::Backend> another(BackendType) {
  return backends::null::make(BackendType::Null);
}

// Devices of one that is right, and they are not.
class Mistaken : public hal::Backend {
 public:
  explicit Mistaken(BackendType type) : type_(type) {}
  BackendType type() const override { return type_; }
  hal::Expected<std::vector<DeviceInfo>> discover() override { return std::vector<DeviceInfo>(1); }
  hal::Expected<std::shared_ptr<hal::Device>> open(int, const BackendConfig& config) override {
    return backends::null::make(BackendType::Null)->open(0, config);
  }

 private:
  const BackendType type_;
};

TEST(OutsideBackend, HasItsNameEverywhere) {
  const BackendType type = outside();
  EXPECT_EQ(name_of(type), "outside");
  EXPECT_EQ(display_name(type), "outside");
  EXPECT_EQ(parse_backend("Outside"), type);
  const auto reports = discover_backends();
  EXPECT_TRUE(std::any_of(reports.begin(), reports.end(), [&](const BackendReport& r) {
    return r.type == type && r.devices.size() == 1;
  }));
  EXPECT_EQ(Executor(type).device().backend, type);
  EXPECT_EQ(Executor::builder().backend("outside").build().device().backend, type);
  EXPECT_EQ(Executor::builder().prefer({type, BackendType::Cpu}).build().device().backend, type);
  EXPECT_NE(refused([] { Executor::builder().backend("outsider"); }), ErrorKind::Internal);
}

TEST(OutsideBackend, IsChosenOnlyWhereItIsNamed) {
  const BackendType type = outside();
  const auto automatic = [] { return backend_priority(); };
  auto order = automatic();
  EXPECT_EQ(std::count(order.begin(), order.end(), type), 0);
  set_backend_priority({type});
  order = automatic();
  EXPECT_EQ(order.front(), type);
  EXPECT_EQ(best_available_backend(), type);
  set_backend_priority({});
  EXPECT_NE(best_available_backend(), type);
}

TEST(OutsideBackend, MovesBytesAndTakesPrograms) {
  const Executor executor(outside());
  const std::vector<float> values = {1, 2, 3};
  const Tensor there = Tensor::from(Array::from(values, {3}), executor);
  EXPECT_EQ(there.to_vector<float>(), values);
  EXPECT_EQ((there * 2).eval().shape(), Shape({3}));
  EXPECT_EQ(executor.counters().launches, 1u);
}

TEST(OutsideBackend, IsRefusedWhereSomethingIsWrong) {
  outside();
  for (const char* name :
       {"outside", "cpu", "CUDA", "hip", "gpu", "auto", "", "a b", "Mine", "a,b"})
    EXPECT_EQ(refused([&] { register_backend(name, backends::null::make); }),
              ErrorKind::InvalidArgument)
        << name;
  EXPECT_EQ(refused([] { register_backend("newer", backends::null::make, kBackendInterface + 1); }),
            ErrorKind::InvalidConfig);
  EXPECT_EQ(refused([] { register_backend("nothing", [](BackendType) { return nullptr; }); }),
            ErrorKind::InvalidArgument);
  EXPECT_EQ(refused([] { register_backend("another", another); }), ErrorKind::InvalidArgument);
  for (const char* name : {"newer", "nothing", "another"})
    EXPECT_FALSE(parse_backend(name)) << name;
  // A maker may ask what there is, and not register another.
  const auto inner = [](BackendType type) {
    EXPECT_FALSE(parse_backend("outer"));
    register_backend("inner", backends::null::make);
    return backends::null::make(type);
  };
  EXPECT_EQ(refused([&] { register_backend("outer", inner); }), ErrorKind::InvalidArgument);
  EXPECT_FALSE(parse_backend("outer"));
  const BackendType mistaken = register_backend(
      "mistaken", [](BackendType type) { return std::make_unique<Mistaken>(type); });
  EXPECT_EQ(refused([&] { Executor{mistaken}; }), ErrorKind::BackendUnavailable);
}

}  // namespace
}  // namespace hologram
