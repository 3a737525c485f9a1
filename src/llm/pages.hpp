// Who has which pages of the cache, and what stands in those that nobody has any more: a prompt
// that begins like an earlier one takes them over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hologram::llm {

class Pages {
 public:
  explicit Pages(int64_t count);

  // The pages of a sequence, in the order of its positions.
  struct Held {
    std::vector<int32_t> pages;
    int64_t known = 0;     // tokens that stand in them
    bool is_long = false;  // by the angles of long texts
  };
  // What is there of these tokens: full pages are shared, one that fits in part is taken over if
  // nobody has it. The last token is left, so that there is something to compute.
  Held find(std::span<const int32_t> tokens, bool is_long = false);
  // Takes a page for the positions behind the last; there is one as long as nobody holds more than
  // was reserved. False if there is none.
  bool add(Held& held);
  // A token now stands behind the known ones, of which the last page has room.
  void note(Held& held, int32_t token);
  // They stay for who comes next; or not, if what stands in them is not to be relied on.
  void release(Held& held, bool keep = true);

  // Promises so many pages to somebody; false if others have been promised too much.
  bool reserve(int64_t pages);
  void unreserve(int64_t pages) { reserved_ -= pages; }
  int64_t count() const { return static_cast<int64_t>(pages_.size()); }
  int64_t held() const;  // by sequences

 private:
  struct Page {
    std::vector<int32_t> tokens;
    int32_t before = -1;    // the page in front of it
    int32_t users = 0;      // sequences that hold it
    int32_t followers = 0;  // pages behind it
    uint64_t used = 0;
    bool listed = false;  // whether it may be found
    bool is_long = false;
  };
  Page& page(int32_t i) { return pages_[static_cast<size_t>(i)]; }
  void forget(int32_t i);         // what stands in it
  void forget_behind(int32_t i);  // and in those behind it
  int32_t best(int32_t before, std::span<const int32_t> tokens, bool is_long, size_t& same) const;

  std::vector<Page> pages_;
  int64_t reserved_ = 0;
  uint64_t clock_ = 0;
};

}  // namespace hologram::llm
