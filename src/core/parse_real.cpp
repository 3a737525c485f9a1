#include "core/parse_real.hpp"

#include <charconv>
#include <locale>
#include <sstream>
#include <string>

namespace hologram::core {

bool parse_real(std::string_view text, double& value) {
#if defined(__cpp_lib_to_chars)
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
#else
  // Older standard libraries convert whole numbers only.
  if (text.find_first_of("+ \t\n") == 0) return false;
  std::istringstream in{std::string(text)};
  in.imbue(std::locale::classic());
  return static_cast<bool>(in >> value) && in.peek() == std::istringstream::traits_type::eof();
#endif
}

}  // namespace hologram::core
