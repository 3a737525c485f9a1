// What has been tried: operation x dtype x size x way of running.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "graphs/description.hpp"

namespace hologram::graphs {

// Of the first operand, or of what is made from nothing.
enum class Size : uint8_t { Empty, One, Odd, Large };
inline constexpr size_t kSizes = 4;
inline constexpr std::string_view kSizeNames[] = {"empty", "1", "odd", "large"};
inline constexpr size_t kLarge = 512;  // more elements than this

Size size_of(const Shape& shape);

// Casts are counted by both dtypes.
struct Cell {
  const Operation* operation;
  DType to = DType::None;  // of a cast
  DType dtype;
  Size size;
  std::string name() const;
};

// All cells of one size that can be: an operation does not take every dtype.
const std::vector<Cell>& cells(Size size);
bool takes(const Operation& operation, DType dtype);
std::span<const DType> all_dtypes();

// A cell that a way of running has not seen.
struct Hole {
  Cell cell;
  std::string way;
  std::string name() const { return cell.name() + "/" + way; }
  std::string_view reason() const;  // why it cannot be; empty if it can
};

class Coverage {
 public:
  void count(const Description& description, std::string_view way);
  uint64_t of(const Cell& cell, std::string_view way) const;
  std::vector<Hole> holes() const;
  // One line for each operation: the smallest count over dtypes, by size and way.
  std::string table() const;
  std::vector<std::string> ways() const;

 private:
  using Counts = std::map<std::string, uint64_t, std::less<>>;  // by cell
  std::map<std::string, Counts, std::less<>> ways_;
};

}  // namespace hologram::graphs
