// Handles of a vendor's library, of which each stream has one of its own.
#pragma once

#include <map>
#include <mutex>
#include <vector>

namespace hologram::libraries {

// Thread-safe. Handles live as long as the process: a stream that goes leaves its own to the next.
template <class Handle, class Stream>
class StreamHandles {
 public:
  // That of the stream; null: the one for plans. `make(handle)` makes one, `adopt(handle)` gets one
  // ready that another stream has left; both give a status, and 0 is success.
  template <class Make, class Adopt>
  int of(Stream stream, Handle& handle, const Make& make, const Adopt& adopt) {
    const std::lock_guard lock(mutex_);
    if (const auto found = handles_.find(stream); found != handles_.end()) {
      handle = found->second;
      return 0;
    }
    Handle one = nullptr;
    if (spare_.empty()) {
      if (const int status = make(one); status != 0) return status;
    } else {
      one = spare_.back();
      if (const int status = adopt(one); status != 0) return status;
      spare_.pop_back();
    }
    handle = handles_[stream] = one;
    return 0;
  }

  // Nothing is on the stream any more.
  void forget(Stream stream) {
    const std::lock_guard lock(mutex_);
    const auto found = handles_.find(stream);
    if (stream == nullptr || found == handles_.end()) return;
    spare_.push_back(found->second);
    handles_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<Stream, Handle> handles_;
  std::vector<Handle> spare_;
};

}  // namespace hologram::libraries
