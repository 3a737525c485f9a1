// The documents say what the library does: generated parts are fresh, programs in them are right.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "hologram/error.hpp"
#include "hologram/program.hpp"
#include "program/library.hpp"
#include "program/reference.hpp"
#include "runtime/settings.hpp"

namespace hologram::program {
namespace {

const std::filesystem::path kRoot = HOLOGRAM_SOURCE_DIR;

std::string contents(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Docs, InstructionsAreFresh) {
  const std::string text = contents(kRoot / "docs/atlas.md");
  EXPECT_EQ(with_instruction_reference(text), text) << "run `ninja generate_docs`";
}

TEST(Docs, SettingsAreFresh) {
  const std::string text = contents(kRoot / "docs/configuration.md");
  EXPECT_EQ(runtime::with_settings_reference(text), text) << "run `ninja generate_docs`";
}

TEST(Docs, TheProgramLibraryIsFresh) {
  const std::string text = contents(kRoot / "docs/program-library.md");
  EXPECT_EQ(library_reference(text), text) << "run `ninja generate_docs`";
}

TEST(Docs, ProgramsAreRight) {
  std::vector<std::filesystem::path> files = {kRoot / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") files.push_back(entry.path());
  size_t programs = 0;
  for (const auto& file : files) {
    const std::string text = contents(file);
    constexpr std::string_view kOpen = "```atlas\n";
    for (size_t at = 0; (at = text.find(kOpen, at)) != std::string::npos; programs++) {
      at += kOpen.size();
      const std::string program = text.substr(at, text.find("```", at) - at);
      try {
        const Program parsed = Program::parse(program, file.filename().string());
        EXPECT_EQ(Program::parse(parsed.text()).text(), parsed.text());
      } catch (const Error& error) {
        ADD_FAILURE() << error.what() << '\n' << error.remedy() << '\n' << program;
      }
    }
  }
  EXPECT_GE(programs, 7u);
}

}  // namespace
}  // namespace hologram::program
