// Operators with two operands.
#include <fmt/format.h>

#include <cmath>

#include "llm/jinja/library.hpp"

namespace hologram::llm::jinja {
namespace {

[[noreturn]] void refuse(std::string_view op, const Value& a, const Value& b) {
  for (const Value* v : {&a, &b})
    if (v->is(Kind::Undefined))
      throw Failure(fmt::format("'{}' is undefined", v->undefined_name()));
  throw Failure(fmt::format("'{}' does not take {} and {}", op, a.type_name(), b.type_name()));
}

template <class Compute>
Value checked(const Compute& compute) {
  int64_t n = 0;
  if (compute(&n)) throw Failure("a number is too large");
  return Value::integer(n);
}

// The quotient that is rounded down, as Python has it.
int64_t floor_divided(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - static_cast<int64_t>(a % b != 0 && (a < 0) != (b < 0));
}

Value whole_numbers(std::string_view op, int64_t a, int64_t b) {
  if (op == "+") return checked([=](int64_t* n) { return __builtin_add_overflow(a, b, n); });
  if (op == "-") return checked([=](int64_t* n) { return __builtin_sub_overflow(a, b, n); });
  if (op == "*") return checked([=](int64_t* n) { return __builtin_mul_overflow(a, b, n); });
  if (op == "**") {
    if (b < 0) return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
    if (b == 0 || a == 0 || a == 1) return Value::integer(b == 0 ? 1 : a);
    if (a == -1) return Value::integer(b % 2 == 0 ? 1 : -1);
    return checked([=](int64_t* power) {
      bool overflow = false;
      *power = 1;
      for (int64_t i = 0; i < b && !overflow; i++)
        overflow = __builtin_mul_overflow(*power, a, power);
      return overflow;
    });
  }
  if (b == 0) throw Failure("a division by 0");
  if (op == "/") return Value::real(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1) return op == "%" ? Value::integer(0) : whole_numbers("-", 0, a);
  const int64_t q = floor_divided(a, b);
  return Value::integer(op == "//" ? q : a - q * b);
}

Value reals(std::string_view op, double a, double b) {
  if (op == "+") return Value::real(a + b);
  if (op == "-") return Value::real(a - b);
  if (op == "*") return Value::real(a * b);
  if (op == "**") return Value::real(std::pow(a, b));
  if (b == 0) throw Failure("a division by 0");
  if (op == "/") return Value::real(a / b);
  if (op == "//") return Value::real(std::floor(a / b));
  const double rest = std::fmod(a, b);
  return Value::real(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

Value repeated(const Value& what, int64_t times) {
  times = std::max<int64_t>(times, 0);
  if (what.is(Kind::String)) {
    const std::string& text = what.as_text();
    require_size(static_cast<double>(text.size()) * static_cast<double>(times));
    std::string to;
    for (int64_t i = 0; i < times && !text.empty(); i++) to += text;
    return Value::text(std::move(to));
  }
  const List& list = what.as_list();
  require_size(static_cast<double>(list.items.size() * sizeof(Value)) * static_cast<double>(times));
  std::vector<Value> items;
  for (int64_t i = 0; i < times && !list.items.empty(); i++)
    items.insert(items.end(), list.items.begin(), list.items.end());
  return Value::list(std::move(items), list.tuple);
}

// "%s and %d" % (a, b).
Value formatted(const std::string& form, const Value& given) {
  const std::vector<Value> values = given.is(Kind::List) && given.as_list().tuple
                                        ? given.as_list().items
                                        : std::vector<Value>{given};
  std::string to;
  size_t used = 0;
  for (size_t i = 0; i < form.size(); i++) {
    if (form[i] != '%') {
      to += form[i];
      continue;
    }
    const size_t end = form.find_first_not_of("0123456789.-+ ", i + 1);
    if (end == std::string::npos) throw Failure("a format is not complete");
    std::string how = form.substr(i + 1, end - i - 1);
    i = end;
    if (form[end] == '%') {
      to += '%';
      continue;
    }
    if (used == values.size()) throw Failure("a format has too few values");
    const Value& v = values[used++];
    if (how.size() > 8 || std::strtod(how.c_str(), nullptr) > 1000)
      throw Failure("a format is too wide");
    // Python's - is < of fmt, and texts stand on the right.
    const bool left = how.starts_with('-');
    if (left) how.erase(0, 1);
    const std::string align = left ? "<" : how.empty() || how[0] == '0' ? "" : ">";
    if (form[end] == 's' || form[end] == 'r') {
      const std::string text = form[end] == 's' ? v.str() : v.repr();
      to += fmt::format(fmt::runtime(fmt::format("{{:{}{}}}", align, how)), text);
    } else if ((form[end] == 'd' || form[end] == 'i') && v.is_number()) {
      const int64_t n = v.is(Kind::Float) ? static_cast<int64_t>(v.as_real()) : v.as_int();
      to += fmt::format(fmt::runtime(fmt::format("{{:{}{}}}", align, how)), n);
    } else if (form[end] == 'f' && v.is_number()) {
      to += fmt::format(fmt::runtime(fmt::format("{{:{}{}f}}", align, how)), v.as_real());
    } else {
      throw Failure(fmt::format("the format %{} does not take {}", form[end], v.type_name()));
    }
  }
  if (used < values.size()) throw Failure("a format has too many values");
  return Value::text(std::move(to));
}

}  // namespace

Value binary(std::string_view op, const Value& a, const Value& b) {
  if (op == "~") {
    require_size(static_cast<double>(a.is(Kind::String) ? a.as_text().size() : 0) +
                 static_cast<double>(b.is(Kind::String) ? b.as_text().size() : 0));
    return Value::text(a.str() + b.str());
  }
  if (a.is_number() && b.is_number()) {
    const bool whole = !a.is(Kind::Float) && !b.is(Kind::Float);
    return whole ? whole_numbers(op, a.as_int(), b.as_int()) : reals(op, a.as_real(), b.as_real());
  }
  const auto counts = [](const Value& v) { return v.is(Kind::Int) || v.is(Kind::Bool); };
  const auto repeats = [](const Value& v) { return v.is(Kind::String) || v.is(Kind::List); };
  if (op == "+" && a.is(Kind::String) && b.is(Kind::String)) {
    require_size(static_cast<double>(a.as_text().size() + b.as_text().size()));
    return Value::text(a.as_text() + b.as_text());
  }
  if (op == "+" && a.is(Kind::List) && b.is(Kind::List) && a.as_list().tuple == b.as_list().tuple) {
    std::vector<Value> items = a.as_list().items;
    items.insert(items.end(), b.as_list().items.begin(), b.as_list().items.end());
    require_size(static_cast<double>(items.size() * sizeof(Value)));
    return Value::list(std::move(items), a.as_list().tuple);
  }
  if (op == "*" && repeats(a) && counts(b)) return repeated(a, b.as_int());
  if (op == "*" && counts(a) && repeats(b)) return repeated(b, a.as_int());
  if (op == "%" && a.is(Kind::String)) {
    try {
      return formatted(a.as_text(), b);
    } catch (const fmt::format_error&) {
      throw Failure("a format makes no sense");
    }
  }
  refuse(op, a, b);
}

}  // namespace hologram::llm::jinja
