#include "libraries/cudnn/cudnn.hpp"

#include <fmt/format.h>

#include <utility>

#include "libraries/of_vendors.hpp"

namespace hologram::libraries::cudnn {
namespace {

// Whichever version of CUDA a build is for, its file has this name.
constexpr CudaRelease kReleases[] = {{12, "libcudnn.so.9"}};

}  // namespace

const Cudnn& Cudnn::instance(int driver_major) {
  static const auto* const library = new Cudnn(driver_major);
  return *library;
}

Cudnn::Cudnn(int driver_major) {
  info_.name = "cuDNN";
  const core::DynamicLibrary library = open_of_cuda(kVariable, kReleases, driver_major);
  if (!library.loaded()) {
    info_.reason =
        driver_major < kReleases[0].major && library.reason().empty()
            ? fmt::format("not looked for: the driver is for CUDA {}, and cuDNN {} needs {}",
                          driver_major, kVersion, kReleases[0].major)
            : fmt::format("not found ({}); {} may say where it is", library.reason(), kVariable);
    return;
  }
  info_.path = library.path();
  std::string missing;
#define HOLOGRAM_FIND(result, member, symbol, parameters) \
  library.get<result parameters>(#symbol, functions_.member, missing);
  HOLOGRAM_CUDNN(HOLOGRAM_FIND)
#undef HOLOGRAM_FIND
  const std::string what =
      missing.empty() ? problem_of(driver_major) : fmt::format("it lacks {}", missing);
  if (!what.empty()) info_.reason = fmt::format("not usable ({})", what);
}

std::string Cudnn::problem_of(int driver_major) {
  std::array<int, 3>& version = version_;
  if (functions_.property(kMajor, &version[0]) != kSuccess ||
      functions_.property(kMinor, &version[1]) != kSuccess ||
      functions_.property(kPatch, &version[2]) != kSuccess)
    return "it does not tell its version";
  info_.version = fmt::format("{}", fmt::join(version, "."));
  if (version[0] != kVersion)
    return fmt::format("it is version {}, and {} is known", info_.version, kVersion);
  const size_t cuda = functions_.cuda_version() / 1000;
  if (cuda > static_cast<size_t>(driver_major))
    return fmt::format("it is for CUDA {}, the driver for CUDA {}", cuda, driver_major);
  return {};
}

std::string Cudnn::text(Status status) const {
  const char* const name = functions_.status_name(status);
  return name == nullptr ? fmt::format("status {}", status)
                         : fmt::format("status {} ({})", status, name);
}

Object::Object(const Cudnn& library, int kind)
    : library_(library), status_(library->descriptor_create(kind, &descriptor_)) {
  if (status_ != kSuccess) descriptor_ = nullptr;
}

Object::~Object() {
  if (descriptor_ != nullptr) library_->descriptor_destroy(descriptor_);
}

Object::Object(Object&& other) noexcept
    : library_(other.library_),
      descriptor_(std::exchange(other.descriptor_, nullptr)),
      status_(other.status_) {}

void Object::set(int attribute, int type, size_t count, const void* values) {
  if (status_ == kSuccess)
    status_ = library_->set(descriptor_, attribute, type, static_cast<int64_t>(count), values);
}

void Object::set_one(int attribute, const Object& object) {
  if (status_ == kSuccess) status_ = object.status();
  set_one(attribute, kTypeDescriptor, object.descriptor());
}

Status Object::finish() {
  if (status_ == kSuccess) status_ = library_->descriptor_finalize(descriptor_);
  return status_;
}

Status Object::get(int attribute, int type, int64_t most, int64_t& count, void* values) const {
  count = 0;
  if (status_ != kSuccess) return status_;
  return library_->get(descriptor_, attribute, type, most, &count, values);
}

}  // namespace hologram::libraries::cudnn
