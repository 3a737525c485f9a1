// Our declarations of Metal against Apple's own headers for C++, metal-cpp.
#pragma once

#include <string>
#include <vector>

namespace hologram {

// Messages whose selector is another one there; `compared`: how many there are of both.
std::vector<std::string> metal_differences(int& compared);

}  // namespace hologram
