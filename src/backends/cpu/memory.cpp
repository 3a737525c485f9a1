#include "backends/cpu/memory.hpp"

#include <sys/mman.h>

#include <new>

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
    if (mapped_ < bytes || mapped_ + slack < mapped_) throw std::bad_alloc();
    if (mapped_ == 0) mapped_ = kPage;
    mapped_ += slack;
    base_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(base_);
    if (slack == 0) return;
    data_ += (kHugePage - reinterpret_cast<uintptr_t>(data_) % kHugePage) % kHugePage;
#ifdef MADV_HUGEPAGE
    madvise(data_, bytes, MADV_HUGEPAGE);
#endif
  }
  ~Mapping() override { munmap(base_, mapped_); }
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
