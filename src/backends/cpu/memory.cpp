#include "backends/cpu/memory.hpp"

#include <cstdint>
#include <new>

#include "core/pages.hpp"

namespace hologram::backends::cpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint64_t kHugeFrom = uint64_t{4} << 20;

// Not from the heap, which would keep it for itself.
class Mapping final : public hal::Buffer {
 public:
  explicit Mapping(uint64_t bytes) : bytes_(bytes), mapped_((bytes + kPage - 1) / kPage * kPage) {
    // Huge pages are aligned to their size; what stands out on both sides is never touched.
    const uint64_t slack = bytes >= kHugeFrom ? kHugePage : 0;
    if (mapped_ < bytes || mapped_ + slack < mapped_ || mapped_ > SIZE_MAX - slack)
      throw std::bad_alloc();
    if (mapped_ == 0) mapped_ = kPage;
    mapped_ += slack;
    base_ = core::allocate_pages(static_cast<size_t>(mapped_));
    if (base_ == nullptr) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(base_);
    if (slack == 0) return;
    data_ += (kHugePage - reinterpret_cast<uintptr_t>(data_) % kHugePage) % kHugePage;
    core::prefer_huge_pages(data_, static_cast<size_t>(bytes));
  }
  ~Mapping() override { core::release_pages(base_, static_cast<size_t>(mapped_)); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  uint64_t size() const override { return bytes_; }
  std::byte* host() override { return data_; }

 private:
  uint64_t bytes_, mapped_;
  void* base_;
  std::byte* data_;
};

}  // namespace

std::unique_ptr<hal::Buffer> allocate_memory(uint64_t bytes) {
  return std::make_unique<Mapping>(bytes);
}

}  // namespace hologram::backends::cpu
