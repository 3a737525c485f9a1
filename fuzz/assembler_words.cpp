// Prints the words of Atlas as a dictionary for the fuzzer.
#include <cstdio>
#include <string>

#include "hologram/dtype.hpp"
#include "hologram/op.hpp"

int main() {
  using namespace hologram;
  for (const char* word : {"program p(",
                           "fn f(",
                           "const ",
                           "return ",
                           "require ",
                           "shared ",
                           "var ",
                           "for i in ",
                           "unroll for k in ",
                           "while ",
                           "loop {",
                           "if ",
                           "} else ",
                           "break",
                           "continue",
                           "host ",
                           "lanes(",
                           "workgroup(",
                           "index(i64)",
                           " step ",
                           "..",
                           "->",
                           "&&",
                           "||",
                           "<<",
                           ">>=",
                           "in ",
                           "out ",
                           "inout ",
                           "atomic ",
                           "true",
                           "inf",
                           "nan",
                           "global_id.x",
                           "lane_id.y",
                           "bits_u32(",
                           "clamp(",
                           "atomic_add(",
                           "group_reduce_max(",
                           "group_scan_xor(",
                           "0x7fffffff",
                           "1e-3",
                           "3u32",
                           "0.1f64",
                           "x[",
                           "{\\x0a",
                           "\\x0a}"})
    std::printf("\"%s\"\n", word);
  for (const program::OpInfo& row : program::all_ops())
    if (program::is_pure(row.op)) std::printf("\"%s(\"\n", std::string(row.name).c_str());
  for (size_t i = 1; i < kDTypeCount; i++)
    std::printf("\"%s\"\n", std::string(name_of(static_cast<DType>(i))).c_str());
}
