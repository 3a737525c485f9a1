#include "eval_report.hpp"

#include <fmt/format.h>

#include "hologram/tensor.hpp"

namespace hologram::tool {
namespace {

using Json = nlohmann::ordered_json;

// The elements as numbers of JSON, which tell all 64-bit integers apart.
std::vector<Json> elements(const Array& rows) {
  static const auto* const cpu = new Executor(BackendType::Cpu);
  const auto read = [&]<class T>(DType type, T) {
    const std::vector<T> values = Tensor::from(rows, *cpu).to(type).flatten().to_vector<T>();
    return std::vector<Json>(values.begin(), values.end());
  };
  if (rows.dtype() == DType::U64) return read(DType::U64, uint64_t{});
  return is_integer(rows.dtype()) ? read(DType::I64, int64_t{}) : read(DType::F64, double{});
}

std::string number(DType type, const Json& value) {
  if (type == DType::Bool) return value != 0 ? "true" : "false";
  if (is_integer(type)) return value.dump();
  if (type == DType::F64) return fmt::format("{}", value.get<double>());
  // As many digits as the type tells apart.
  return fmt::format("{}", static_cast<float>(value.get<double>()));
}

// Nested brackets, a line for each innermost row.
std::string nested(const OutputInfo& info, const std::vector<Json>& values, size_t axis,
                   size_t& at) {
  if (axis == info.shape.size()) return number(info.dtype, values.at(at++));
  const bool innermost = axis + 1 == info.shape.size();
  const std::string between = innermost ? ", " : ",\n" + std::string(axis + 1, ' ');
  std::string text = "[";
  for (int64_t i = 0; i < info.shape[axis]; i++)
    text += (i == 0 ? "" : between) + nested(info, values, axis + 1, at);
  return text + "]";
}

}  // namespace

void Result::add(const Array& rows) {
  summary_.add(rows);
  if (!short_enough()) return;
  const std::vector<Json> more = elements(rows);
  values_.insert(values_.end(), more.begin(), more.end());
}

std::string Result::text() const {
  const std::string type = fmt::format("{}{}", name_of(info_.dtype), to_string(info_.shape));
  if (!short_enough()) return type + ", " + summary_.text();
  size_t at = 0;
  const std::string values = nested(info_, values_, 0, at);
  return fmt::format("{}{}{}", type, info_.shape.size() > 1 ? "\n" : " ", values);
}

void Result::describe(Json& json) const {
  summary_.describe(json);
  if (short_enough()) json["values"] = values_;
}

void print_results(const std::map<std::string, Result>& results,
                   const std::map<std::string, std::string>& files) {
  for (const auto& [name, result] : results)
    if (!files.contains(name))
      fmt::print("{}{}\n", name.empty() ? name : name + ": ", result.text());
}

Json results_as_json(const std::map<std::string, Result>& results,
                     const std::map<std::string, std::string>& files, const EvalReport& report,
                     const Executor& executor) {
  Json object = {{"backend", name_of(executor.device().backend)},
                 {"device", executor.device().name},
                 {"launches", report.launches},
                 {"seconds", report.seconds}};
  if (report.pieces > 0) {
    object["pieces"] = report.pieces;
    object["passes"] = report.passes;
  }
  object["outputs"] = Json::array();
  for (const auto& [name, result] : results) {
    Json o = {
        {"name", name}, {"dtype", name_of(result.info().dtype)}, {"shape", result.info().shape}};
    if (const auto file = files.find(name); file != files.end()) o["file"] = file->second;
    else result.describe(o);
    object["outputs"].push_back(std::move(o));
  }
  return object;
}

}  // namespace hologram::tool
