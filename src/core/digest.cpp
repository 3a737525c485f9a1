#include "core/digest.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace hologram::core {
namespace {

constexpr size_t kPiece = size_t{1} << 16;  // bytes that are digested by themselves
constexpr size_t kLanes = 4;
constexpr size_t kStep = kLanes * 16;
// Odd, with as many ones as zeros: digits of the square roots of 2, 3, 5, 7 and 11.
constexpr std::array<uint64_t, kLanes + 1> kSalts = {0x6a09e667f3bcc909, 0xbb67ae8584caa73b,
                                                     0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                                     0x510e527fade682d1};

// Both halves of a product depend on all bits of both factors.
uint64_t mixed(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Each lane takes two words of each step, of which the first meets what came before.
Digest128 of_piece(const std::byte* at, size_t size) {
  std::array<uint64_t, kLanes> lanes = {kSalts[0], kSalts[1], kSalts[2], kSalts[3]};
  const auto step = [&](const std::byte* from) {
    for (size_t k = 0; k < kLanes; k++) {
      uint64_t words[2];
      std::memcpy(words, from + 16 * k, sizeof words);
      // What is multiplied is added as well: a factor of 0 loses nothing.
      lanes[k] = mixed(words[0] ^ kSalts[k + 1], words[1] ^ lanes[k]) + words[0] +
                 (words[1] << 32 | words[1] >> 32);
    }
  };
  size_t i = 0;
  for (; i + kStep <= size; i += kStep) step(at + i);
  if (i < size) {
    std::array<std::byte, kStep> rest{};
    std::memcpy(rest.data(), at + i, size - i);
    step(rest.data());
  }
  return {mixed(lanes[0] ^ kSalts[1], lanes[1] ^ kSalts[2]) +
              mixed(lanes[2] ^ size, lanes[3] ^ kSalts[3]),
          mixed(lanes[0] ^ kSalts[3], lanes[2] ^ kSalts[0]) +
              mixed(lanes[1] ^ kSalts[4], lanes[3] ^ size)};
}

}  // namespace

Digest128 digest(std::span<const std::byte> bytes, Threads& threads) {
  const size_t pieces = (bytes.size() + kPiece - 1) / kPiece;
  std::vector<Digest128> all(pieces);
  threads.run(pieces, 2, [&](uint64_t begin, uint64_t end) {
    for (size_t i = begin; i < end; i++)
      all[i] = of_piece(bytes.data() + i * kPiece, std::min(kPiece, bytes.size() - i * kPiece));
  });
  if (pieces == 1) return all.front();
  return of_piece(reinterpret_cast<const std::byte*>(all.data()), all.size() * sizeof(Digest128));
}

}  // namespace hologram::core
