#include "expression/names.hpp"

#include <limits>
#include <numbers>

namespace hologram::expression {
namespace {

struct Constant {
  std::string_view name;
  Value value;
};

const std::vector<Constant>& constants() {
  static const std::vector<Constant> all = {
      {"true", true},
      {"false", false},
      {"none", Value()},
      {"True", true},
      {"False", false},
      {"None", Value()},
      {"pi", std::numbers::pi},
      {"inf", std::numeric_limits<double>::infinity()},
      {"nan", std::numeric_limits<double>::quiet_NaN()},
  };
  return all;
}

}  // namespace

std::string_view reserved(std::string_view name) {
  if (name != "none" && parse_dtype(name)) return "a dtype";
  for (const Constant& c : constants())
    if (c.name == name) return "a constant";
  return {};
}

Value constant(std::string_view name) {
  for (const Constant& c : constants())
    if (c.name == name) return c.value;
  return parse_dtype(name).value_or(DType::None);
}

}  // namespace hologram::expression
