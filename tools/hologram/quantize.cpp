// hologram quantize
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "command.hpp"
#include "hologram/error.hpp"
#include "hologram/quantize.hpp"
#include "interrupt.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const llm::Quantized& made) {
  Json tensors = Json::array();
  for (const llm::QuantizedTensor& t : made.tensors)
    tensors.push_back({{"name", t.name},
                       {"from", t.from},
                       {"to", t.to},
                       {"fell_back", t.fell_back},
                       {"bytes_before", t.bytes_before},
                       {"bytes_after", t.bytes_after},
                       {"error", t.error}});
  return {{"bytes_before", made.bytes_before},
          {"bytes_after", made.bytes_after},
          {"error", made.error},
          {"tensors", std::move(tensors)}};
}

double megabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

int quantize(const QuantizeArguments& options) {
  llm::QuantizeOptions how;
  how.to = options.to;
  for (const std::string& text : options.tensors)
    how.tensors.push_back(split_assignment(text, "Write --tensor PART=TYPE."));
  Progress progress;
  const Interrupt interrupt(progress);
  how.on_tensor = [&](const llm::QuantizedTensor& t, size_t number, size_t all) {
    if (!options.json)
      fmt::print("[{}/{}] {}: {} to {}{}{}\n", number + 1, all, t.name, t.from, t.to,
                 t.error > 0 ? fmt::format(", error {:.4f}", t.error) : "",
                 t.fell_back ? ", as its rows are no multiple of larger blocks" : "");
    return Interrupt::signal() == 0;
  };
  llm::Quantized made;
  try {
    made = llm::quantize(options.in, options.out, how);
  } catch (const Error&) {
    Interrupt::check();
    throw;
  }
  if (options.json) fmt::print("{}\n", as_json(made).dump(2));
  else
    fmt::print("{:.1f} MB became {:.1f} MB; the error is {:.4f} of the numbers' size\n",
               megabytes(made.bytes_before), megabytes(made.bytes_after), made.error);
  return 0;
}

}  // namespace hologram::tool
