// A long launch tells how far it has come, and ends when it is cancelled; on any device.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "hologram/error.hpp"
#include "hologram/executor.hpp"

namespace hologram {

inline void expect_progress_and_cancelling(const Executor& executor) {
  const Program program = Program::parse(R"(
program slow(out y: f32[n]) workgroup(64) lanes(n) {
  i = global_id.x
  var s = 0.0
  for k in 0..1000 { s += sin(f32(k + i)) }
  y[i] = s
}
)");
  Progress progress;
  RunOptions options;
  options.progress = &progress;
  options.shapes = {{"y", {20000}}};
  executor.run(program, {}, options);
  EXPECT_EQ(progress.done, progress.total);
  EXPECT_EQ(progress.total, 313u * 64);
  Progress again;
  options.progress = &again;
  options.shapes = {{"y", {20'000'000}}};
  std::thread cancels([&] {
    while (again.done == 0) std::this_thread::yield();
    again.cancel = true;
  });
  std::string text;
  try {
    executor.run(program, {}, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Cancelled) << error.what();
    text = error.what();
  }
  cancels.join();
  EXPECT_NE(text.find("'slow'"), std::string::npos);
}

}  // namespace hologram
