// The translation unit around the body: what the kernel is given, and how groups are shared out.
#include <fmt/format.h>

#include <algorithm>

#include "core/messages.hpp"
#include "dialects/body.hpp"
#include "dialects/groups.hpp"
#include "dialects/spelling.hpp"
#include "dialects/unrolling.hpp"
#include "dialects/wgsl.hpp"
#include "program/expansions/expand.hpp"
#include "program/passes/passes.hpp"

namespace hologram::dialects {
namespace {

using program::Access;
using program::Module;
using Kind = Argument::Kind;

// What the devices compute: the functions as arithmetic.
Module prepared(const Module& optimized) {
  Module module = program::expand_functions(optimized);
  program::simplify(module);
  return module;
}

class Unit {
 public:
  Unit(Module module, Language language, const Options& options)
      : module_(std::move(module)),
        language_(spelling(language)),
        options_(options),
        uses_(module_, options.stop),
        lanes_(lanes_of(module_, uses_.cooperative, most_lanes())),
        even_(even_lanes(module_, uses_.cooperative, lanes_)) {}

  Printed print() {
    const bool f64 = uses_f64();
    if (f64 && (language_.f64.empty() || !options_.f64))
      throw core::error(core::Text::DialectLacks, module_.name, "f64",
                        language_.f64.empty() ? language_.title : "this device");
    printed_.entry = "atlas_" + module_.name;
    // Lanes that talk to each other stay one block; others share out as many groups.
    printed_.lanes = module_.lanes() / (uses_.cooperative ? lanes_.count : 1);
    printed_.groups = uses_.cooperative ? 1 : lanes_.count;
    list_arguments();
    std::string groups = group_functions(module_, lanes_.count, language_);
    if (looks_together()) groups += stop_function(language_);
    const std::string functions = groups + lane_function();
    const std::string kernel = kernel_function();
    std::string code = helpers_for(functions + kernel, language_, options_);
    if (!code.empty()) code += "\n";
    code += functions + kernel;
    printed_.text =
        heading() + used_types(code) + std::string(f64 ? language_.f64 : "") + "\n" + code;
    return std::move(printed_);
  }

 private:
  std::string heading() const {
    return fmt::format(
        "// The Atlas program {} in {}: one-dimensional blocks of {} threads.\n// Compile with "
        "{}\n",
        module_.name, language_.title, printed_.lanes, fmt::join(language_.flags, " "));
  }

  // The prelude without the names of types that the code does not use.
  std::string used_types(const std::string& code) const {
    std::string text;
    for (std::string_view rest = language_.prelude; !rest.empty();) {
      const size_t end = rest.find('\n') + 1;
      const std::string_view line = rest.substr(0, end), name = line.substr(line.rfind(' ') + 1);
      const bool type = line.starts_with("typedef");
      if (!type || code.find(name.substr(0, name.size() - 2)) != std::string::npos) text += line;
      rest.remove_prefix(end);
    }
    return text;
  }

  bool uses_f64() const {
    for (const program::BufferParam& buffer : module_.buffers)
      if (buffer.type == DType::F64) return true;
    for (const program::ScalarParam& scalar : module_.scalars)
      if (scalar.type == DType::F64) return true;
    for (const DType type : module_.body.values)
      if (type == DType::F64) return true;
    return false;
  }

  void list_arguments() {
    auto& list = printed_.arguments;
    for (uint32_t b = 0; b < module_.buffers.size(); b++) {
      list.push_back({Kind::Buffer, b, module_.buffers[b].type});
      if (language_.offsets) list.push_back({Kind::Offset, b, DType::U64});
    }
    for (uint32_t b = 0; b < module_.buffers.size(); b++)
      if (uses_.lengths[b]) list.push_back({Kind::Length, b, module_.index});
    for (uint32_t s = 0; s < module_.scalars.size(); s++)
      if (uses_.scalars[s]) list.push_back({Kind::Scalar, s, module_.scalars[s].type});
    const auto& ids = uses_.group_ids;
    for (uint32_t axis = 0; axis < 3; axis++) {
      const bool splits = axis == 0 ? ids[0] || ids[1] || ids[2] : axis == 1 && (ids[1] || ids[2]);
      if (splits || uses_.group_counts[axis]) list.push_back({Kind::Groups, axis, DType::U64});
    }
    list.push_back({Kind::FirstGroup, 0, DType::U64});
    list.push_back({Kind::EndGroup, 0, DType::U64});
    if (language_.declare_local.empty()) {
      const std::vector<Array> arrays = workgroup_arrays();
      for (uint32_t k = 0; k < arrays.size(); k++)
        list.push_back({Kind::Local, k, DType::None, (arrays[k].bytes + 15) / 16 * 16});
    }
    if (starts_early()) list.push_back({Kind::Early, 0, DType::U32});
    if (!uses_.polls(Poll::Lane) && !uses_.polls(Poll::Group)) return;
    list.push_back({Kind::Stop, 0, DType::U32});
    if (options_.stop == Stop::Budget) list.push_back({Kind::Budget, 0, DType::U64});
  }

  std::string buffer_type(uint32_t slot) const {
    const program::BufferParam& buffer = module_.buffers[slot];
    std::string type(language_.global);
    if (buffer.access == Access::In) type += "const ";
    if (buffer.access == Access::Atomic) type += language_.atomic_types[buffer.type == DType::U32];
    else type += element_name(buffer.type);
    type += "*";
    // What other lanes write comes through a barrier, behind a compiler's back.
    if (buffer.access == Access::In || !uses_.cooperative) type += language_.restrict;
    return type;
  }

  std::string name_of_argument(const Argument& argument) const {
    switch (argument.kind) {
      case Kind::Buffer: return buffer_name(module_, argument.slot);
      case Kind::Offset: return offset_name(module_, argument.slot);
      case Kind::Length: return length_name(module_, argument.slot);
      case Kind::Scalar: return scalar_name(module_, argument.slot);
      case Kind::Groups: return fmt::format("groups_{}", kAxes[argument.slot]);
      case Kind::FirstGroup: return "first_group";
      case Kind::EndGroup: return "end_group";
      case Kind::Stop: return "stop";
      case Kind::Budget: return "budget";
      case Kind::Local: return workgroup_arrays()[argument.slot].name + "_memory";
      case Kind::Early: return "early";
      case Kind::Zero: break;
    }
    return {};
  }

  std::string stop_type() const {
    return fmt::format("{}{}u32*", language_.global,
                       options_.stop == Stop::Flag ? "const volatile " : "");
  }
  bool looks_together() const { return options_.stop == Stop::Flag && uses_.polls(Poll::Group); }

  // What the kernel calls it, and the function of a lane is given.
  std::string passed(const Argument& argument) const {
    std::string name = name_of_argument(argument);
    if (argument.kind == Kind::Buffer)
      return language_.offsets ? name + " + " + offset_name(module_, argument.slot) : name;
    if (language_.structure) name = "arguments." + name;
    return argument.type == DType::Bool ? name + " != 0" : name;
  }

  std::string shared_type(const program::SharedArray& array) const {
    return std::string(array.atomic ? language_.atomic_types[array.type == DType::U32]
                                    : name_of(array.type));
  }

  // What the lanes of a group share: arrays of the program, and those of its own needs.
  struct Array {
    std::string type, name;
    uint32_t count, bytes;
  };
  std::vector<Array> workgroup_arrays() const {
    std::vector<Array> all;
    for (uint32_t s = 0; s < module_.shared.size(); s++) {
      const program::SharedArray& array = module_.shared[s];
      const auto size = static_cast<uint32_t>(size_of(array.type));
      all.push_back({shared_type(array), shared_name(module_, s), array.count, array.count * size});
    }
    const uint32_t lanes = module_.lanes();
    if (uses_.scratch32) all.push_back({"u32", "group_values32", lanes, 4 * lanes});
    if (uses_.scratch64) all.push_back({"u64", "group_values64", lanes, 8 * lanes});
    if (looks_together()) all.push_back({"u32", "stop_seen", 1, 4});
    return all;
  }

  static std::string joined(const std::vector<std::string>& items, std::string_view between) {
    std::string text;
    for (const std::string& item : items) {
      if (!text.empty()) text += between;
      text += item;
    }
    return text;
  }

  std::string lane_function() {
    std::vector<std::string> parameters, names;
    const auto add = [&](std::string type, const std::string& name, std::string value) {
      names.push_back(name);
      parameters.push_back(fmt::format("{} {}", type, name));
      values_.push_back(std::move(value));
    };
    for (const Argument& argument : printed_.arguments) {
      const std::string name = name_of_argument(argument);
      switch (argument.kind) {
        case Kind::Buffer: add(buffer_type(argument.slot), name, passed(argument)); break;
        case Kind::Length:
        case Kind::Scalar:
          add(std::string(hologram::name_of(argument.type)), name, passed(argument));
          break;
        case Kind::Groups:
          if (uses_.group_counts[argument.slot]) add("u64", name, passed(argument));
          break;
        case Kind::Stop: add(stop_type(), name, name); break;
        case Kind::Budget: add("u64", name, passed(argument)); break;
        default: break;
      }
    }
    for (const Array& array : workgroup_arrays())
      add(fmt::format("{}{}*", language_.local, array.type), array.name, array.name);
    const std::string index(hologram::name_of(module_.index));
    for (uint32_t axis = 0; axis < 3; axis++)
      if (uses_.group_ids[axis])
        add(index, fmt::format("group_{}", kAxes[axis]), fmt::format("group_{}", kAxes[axis]));
    add("u32", "lane", "lane");
    const auto function = [&](std::string_view name, const Lanes& lanes, const std::string& one) {
      return fmt::format("{} void {}(\n    {}) {{\n{}}}\n\n", language_.function, name,
                         joined(parameters, ",\n    "),
                         print_body(module_, uses_, lanes, one, language_, options_));
    };
    names.back() = "lane + k";
    const std::string one = fmt::format("run_lane({})", joined(names, ", "));
    std::string text;
    if (!uses_.cooperative || lanes_.count == 1)
      text = function("run_lane", lanes_of(module_, uses_.cooperative, 1), "");
    Lanes others = lanes_;
    others.words = !even_ || !uses_.cooperative;  // those that have nothing to gain stay short
    if (lanes_.count > 1) text += function("run_lanes", others, one);
    if (even_) text += function("run_even_lanes", even_->lanes, one);
    return text;
  }

  // Whether what the kernel is given is what run_even_lanes takes for granted.
  std::string is_even() const {
    std::vector<std::string> tests;
    for (const Argument& argument : printed_.arguments) {
      const auto among = [&](const std::vector<uint32_t>& slots) {
        return std::find(slots.begin(), slots.end(), argument.slot) != slots.end();
      };
      if (argument.kind == Kind::Scalar && among(even_->scalars))
        tests.push_back(fmt::format("({} & {}) == 0", passed(argument), lanes_.count - 1));
      if (argument.kind == Kind::Buffer && among(even_->buffers))
        tests.push_back(fmt::format("((u64)({}) & {}u) == 0", passed(argument),
                                    lanes_.count * size_of(argument.type) - 1));
    }
    return joined(tests, " && ");
  }

  // The parameters of the kernel; where a language wants them in a structure, that one too.
  std::string parameters(std::string& structure) const {
    std::vector<std::string> items;
    for (const Argument& argument : printed_.arguments) {
      const std::string name = name_of_argument(argument);
      if (argument.kind == Kind::Buffer || argument.kind == Kind::Stop) {
        const bool stop = argument.kind == Kind::Stop;
        items.push_back((stop ? stop_type() : buffer_type(argument.slot)) + " " + name);
        if (language_.structure) items.back() += fmt::format(" [[buffer({})]]", items.size() - 1);
        continue;
      }
      if (argument.kind == Kind::Local) {
        items.push_back(fmt::format("{}{}* {}", language_.local, language_.words[2], name));
        continue;
      }
      const std::string declared = fmt::format("{} {}", element_name(argument.type), name);
      if (language_.structure) structure += "  " + declared + ";\n";
      else items.push_back(declared);
    }
    if (language_.structure) {
      structure = "struct Arguments {\n" + structure + "};\n";
      items.push_back(fmt::format("constant Arguments& arguments [[buffer({})]]", items.size()));
    }
    if (!language_.ids.empty()) items.emplace_back(language_.ids);
    return joined(items, ",\n    ");
  }

  std::string kernel_function() const {
    std::string structure;
    const std::string list = parameters(structure);
    const std::string head = substitute(
        language_.kernel, {{'n', std::to_string(printed_.lanes)}, {'b', least_blocks()}});
    std::string text = fmt::format("{}{} {}(\n    {}) {{\n", structure, head, printed_.entry, list);
    for (const auto& [type, name, count, bytes] : workgroup_arrays())
      text +=
          language_.declare_local.empty()
              ? fmt::format("  {0}{1}* {2} = ({0}{1}*){2}_memory;\n", language_.local, type, name)
              : fmt::format("  {} {} {}[{}];\n", language_.declare_local, type, name, count);
    text += wait_for_the_one_before();
    const std::string prefix = language_.structure ? "arguments." : "";
    text += group_loop(prefix);
    text += group_ids(prefix);
    const std::string values = joined(values_, ", ");
    if (even_)
      text += fmt::format("    if ({}) run_even_lanes({});\n    else\n  ", is_even(), values);
    text += fmt::format("    {}({});\n", lanes_.count == 1 ? "run_lane" : "run_lanes", values);
    // Nobody writes to workgroup memory while others still read what the last group left there.
    if (uses_.cooperative) text += fmt::format("    {};\n", language_.barrier);
    text += "  }\n";
    // Who waits for this kernel waits for those in front of it as well.
    if (starts_early()) text += language_.settle;
    return text + "}\n";
  }

  bool starts_early() const { return !language_.settle.empty() && uses_.writes_late; }

  std::string wait_for_the_one_before() const {
    std::string pointers;
    for (const Argument& argument : printed_.arguments)
      if (argument.kind == Kind::Buffer)
        pointers += substitute(language_.after, {{'x', name_of_argument(argument)}});
    return substitute(language_.wait,
                      {{'p', pointers}, {'e', starts_early() ? "if (early == 0u) " : ""}});
  }

  // How many blocks a multiprocessor shall have room for, as an argument. On an H200 a product with
  // a vector and a transposed copy gained from more threads, long rows and sums of columns did not.
  std::string least_blocks() const {
    constexpr uint32_t kMost = 1024, kSmall = 256, kLeast = 64, kReading = 512;
    const uint32_t threads = printed_.lanes;
    if (options_.min_threads_per_sm == 0 || threads < kLeast || threads >= kMost) return {};
    if (!uses_.cooperative && !unrolls()) return {};
    const bool small = uses_.cooperative && threads <= kSmall;
    const uint32_t wanted = reads_much() ? kReading : small ? options_.min_threads_per_sm : kMost;
    return fmt::format(", {}",
                       std::max(std::min(options_.min_threads_per_sm, wanted) / threads, 1u));
  }

  // Whether a lane has so many elements to read that registers for them are worth more than other
  // lanes beside it.
  bool reads_much() const {
    constexpr auto kMuch = 96;
    return std::count_if(module_.body.insts.begin(), module_.body.insts.end(),
                         [](const auto& inst) { return inst.op == program::Op::Load; }) > kMuch;
  }

  bool unrolls() const {
    if (!options_.unroll) return false;
    const std::vector<bool> unrolled = find_unrolled(module_);
    return std::find(unrolled.begin(), unrolled.end(), true) != unrolled.end();
  }

  // The groups of the block, and the lane (or the first one) of the thread in each.
  std::string group_loop(const std::string& prefix) const {
    std::string loop =
        "  for (u64 {0} = {1}first_group + {2}; {0} < {1}end_group; {0} += {3}) {{\n";
    const auto printed = [&](std::string_view name, const std::string& block,
                             const std::string& blocks) {
      return fmt::format(fmt::runtime(loop), name, prefix, block, blocks);
    };
    const uint32_t count = lanes_.count;
    if (count == 1 || uses_.cooperative)
      return fmt::format("  const u32 lane = (u32){}{};\n", language_.thread,
                         count == 1 ? "" : fmt::format(" * {}u", count)) +
             printed("group", std::string(language_.block), std::string(language_.blocks));
    const auto times = [&](std::string_view number) {
      return fmt::format("(u64){} * {}u", number, count);
    };
    const uint32_t threads = module_.lanes() / count;  // of one group
    return fmt::format("  const u32 lane = (u32){} % {}u * {}u;\n", language_.thread, threads,
                       count) +
           printed("first", times(language_.block), times(language_.blocks)) +
           fmt::format("    const u64 group = first + (u32){} / {}u;\n", language_.thread,
                       threads) +
           fmt::format("    if (group >= {}end_group) break;\n", prefix);
  }

  uint32_t most_lanes() const {
    // A budget is that of each lane.
    const bool counted =
        options_.stop == Stop::Budget && (uses_.polls(Poll::Lane) || uses_.polls(Poll::Group));
    if (language_.words[0].empty() || counted) return 1;
    return uses_.cooperative ? options_.lanes_a_group_thread : options_.lanes_a_thread;
  }

  // The number of the group, taken apart along the axes that the program looks at.
  std::string group_ids(const std::string& prefix) const {
    const auto& ids = uses_.group_ids;
    const std::string index(hologram::name_of(module_.index));
    std::string text;
    if (ids[1] || ids[2]) {
      text += fmt::format("    const u64 row = quotient_u64(group, {}groups_x);\n", prefix);
      if (ids[0])
        text += fmt::format("    const {0} group_x = ({0})(group - row * {1}groups_x);\n", index,
                            prefix);
      text += fmt::format("    const u64 plane = quotient_u64(row, {}groups_y);\n", prefix);
      if (ids[1])
        text += fmt::format("    const {0} group_y = ({0})(row - plane * {1}groups_y);\n", index,
                            prefix);
      if (ids[2]) text += fmt::format("    const {0} group_z = ({0})plane;\n", index);
    } else if (ids[0]) {
      text += fmt::format(
          "    const {0} group_x = ({0})(group < {1}groups_x ? group : group % {1}groups_x);\n",
          index, prefix);
    }
    return text;
  }

  const Module module_;
  const Spelling& language_;
  const Options& options_;
  const Uses uses_;
  const Lanes lanes_;
  const std::optional<EvenLanes> even_;
  Printed printed_;
  std::vector<std::string> values_;  // what the kernel passes to the function of a lane
};

}  // namespace

// Seen on an H200: with two of 1,024 lanes a thread moves 8 bytes at once and a multiprocessor has
// room for two groups. Four were slower, and so were two of smaller groups of f32. Smaller groups
// of bf16 were faster with four than with two, and no faster with eight. Of bf16 beside f32, as in
// products with a vector, two took 0.77 of the time of one, four 0.8 to 0.9.
uint32_t lanes_a_group_thread(const program::Program& program) {
  constexpr uint32_t kLargeGroup = 512;
  size_t widest = 1, narrowest = 8;
  for (const program::BufferParam& buffer : program.buffers()) {
    widest = std::max(widest, size_of(buffer.type));
    narrowest = std::min(narrowest, size_of(buffer.type));
  }
  const bool large = program.needs().lanes >= kLargeGroup;
  if (widest >= 4) return large || narrowest < 4 ? 2 : 1;
  return widest == 2 && large ? 2 : 4;
}

Printed print(const program::Program& program, Language language, const Options& options) {
  if (language == Language::Wgsl) return wgsl::print(prepared(program.optimized()), options);
  return Unit(prepared(program.optimized()), language, options).print();
}

}  // namespace hologram::dialects
