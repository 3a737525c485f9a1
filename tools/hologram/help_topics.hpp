// What `hologram help` teaches.
#pragma once

#include <string>
#include <vector>

namespace hologram::tool {

// What the command is, in one screen.
std::string overview();

std::vector<std::string> topic_names();

// The text of a topic; empty if there is none of that name.
std::string topic_text(const std::string& name);

}  // namespace hologram::tool
