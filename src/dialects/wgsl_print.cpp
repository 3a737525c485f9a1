// The module of WGSL around the body: its bindings, the block of parameters, and how groups are
// shared out.
#include <fmt/format.h>

#include "core/messages.hpp"
#include "dialects/spelling.hpp"
#include "dialects/wgsl.hpp"

namespace hologram::dialects::wgsl {
namespace {

using program::Access;
using program::Module;
using Kind = Argument::Kind;

// Numbers of groups are u32, and those of workgroups of a dispatch are added to them.
constexpr uint64_t kMostGroups = 0xfff00000;

class Unit {
 public:
  Unit(const Module& module, const Options& options)
      : module_(module),
        options_(options),
        uses_(module, options.stop),
        quads_(module),
        // A budget is that of each lane.
        own_(uses_.cooperative || polls() ? std::nullopt
                                          : own_lanes(module, options.lanes_a_thread)) {}

  Printed print() {
    refuse_f64();
    printed_.entry = "atlas_" + module_.name;
    printed_.lanes = module_.lanes();
    printed_.most_groups = kMostGroups;
    if (own_) {
      // The threads of a block share out as many groups as a thread has lanes.
      printed_.groups = printed_.lanes_a_thread = own_->lanes.count;
      printed_.multiples = own_->scalars;
    }
    std::string functions = group_functions(module_, options_.webgpu.subgroup);
    functions += lane_function() + "\n" + kernel_function();
    for (auto b = static_cast<uint32_t>(module_.buffers.size()); b-- > 0;) {
      if (own_ && own_->words[b])
        functions.insert(0, own_access_functions(module_, b, own_->lanes.count));
      else if (in_words(module_.buffers[b].type)) functions.insert(0, access_functions(module_, b));
    }
    std::string helpers = helpers_for(functions, options_.webgpu);
    if (!helpers.empty()) helpers += "\n";
    list_arguments(helpers.find("parameters.zero") != std::string::npos);
    check_limits();
    printed_.text = fmt::format(
        "// The Atlas program {} in WGSL: one-dimensional workgroups of {} invocations.\n\n{}{}\n",
        module_.name, printed_.lanes, features(helpers + functions), declarations());
    printed_.text += helpers + functions;
    return std::move(printed_);
  }

 private:
  // Those that the text needs.
  static std::string features(std::string_view text) {
    std::string all;
    if (text.find("<f16>") != std::string_view::npos) all += "enable f16;\n";
    if (text.find("subgroupShuffleDown(") != std::string_view::npos) all += "enable subgroups;\n";
    if (text.find("dot4I8Packed(") != std::string_view::npos)
      all += "requires packed_4x8_integer_dot_product;\n";
    return all;
  }

  void refuse_f64() const {
    bool found = false;
    for (const program::BufferParam& buffer : module_.buffers)
      found = found || buffer.type == DType::F64;
    for (const program::ScalarParam& scalar : module_.scalars)
      found = found || scalar.type == DType::F64;
    for (const DType type : module_.body.values) found = found || type == DType::F64;
    if (found) throw core::error(core::Text::DialectLacks, module_.name, "f64", "WGSL");
  }

  bool polls() const { return uses_.polls(Poll::Lane) || uses_.polls(Poll::Group); }

  void list_arguments(bool zero) {
    if (polls() && options_.stop == Stop::Flag)
      throw core::error(core::Text::DialectLacks, module_.name,
                        "a flag that the host raises meanwhile", "WGSL");
    auto& list = printed_.arguments;
    for (uint32_t b = 0; b < module_.buffers.size(); b++)
      list.push_back({Kind::Buffer, b, module_.buffers[b].type});
    if (polls()) list.push_back({Kind::Stop, 0, DType::U32});
    for (Argument& binding : list) {
      binding.place = static_cast<uint32_t>(&binding - list.data());
      if (binding.kind != Kind::Buffer) continue;
      const program::BufferParam& buffer = module_.buffers[binding.slot];
      binding.read_only = buffer.access == Access::In;
      if (own_ && own_->words[binding.slot])
        binding.unit = own_->lanes.count * static_cast<uint32_t>(size_of(buffer.type));
    }
    printed_.block_binding = static_cast<uint32_t>(list.size());
    for (uint32_t b = 0; b < module_.buffers.size(); b++)
      if (uses_.lengths[b]) add_parameter({Kind::Length, b, DType::U32});
    for (uint32_t s = 0; s < module_.scalars.size(); s++) {
      const DType type = module_.scalars[s].type;
      if (uses_.scalars[s])
        add_parameter({Kind::Scalar, s, type == DType::Bool ? DType::U32 : type});
    }
    const auto& ids = uses_.group_ids;
    for (uint32_t axis = 0; axis < 3; axis++) {
      const bool splits = axis == 0 ? ids[0] || ids[1] || ids[2] : axis == 1 && (ids[1] || ids[2]);
      if (splits || uses_.group_counts[axis]) add_parameter({Kind::Groups, axis, DType::U32});
    }
    add_parameter({Kind::FirstGroup, 0, DType::U32});
    add_parameter({Kind::EndGroup, 0, DType::U32});
    if (polls()) add_parameter({Kind::Budget, 0, DType::U32});
    if (zero) add_parameter({Kind::Zero, 0, DType::U32});
    constexpr uint32_t kStep = 16;
    printed_.block_bytes = (printed_.block_bytes + kStep - 1) / kStep * kStep;
  }

  void add_parameter(Argument argument) {
    const auto size = static_cast<uint32_t>(size_of(argument.type));
    argument.place = (printed_.block_bytes + size - 1) / size * size;
    printed_.block_bytes = argument.place + size;
    printed_.arguments.push_back(argument);
  }

  void check_limits() const {
    const auto check = [&](uint64_t needed, uint64_t given, std::string_view what) {
      if (needed > given)
        throw core::error(core::Text::DialectLimit, module_.name, needed, what, given);
    };
    uint64_t bytes = 0;
    for (const program::SharedArray& array : module_.shared)
      bytes += rounded(uint64_t{array.count} * size_of(array.type));
    if (uses_.scratch32) bytes += rounded(uint64_t{4} * module_.lanes());
    if (uses_.scratch64) bytes += rounded(uint64_t{8} * module_.lanes());
    check(printed_.lanes, options_.webgpu.lanes, "lanes a workgroup");
    check(bytes, options_.webgpu.shared_bytes, "bytes of workgroup memory");
    check(printed_.block_binding, options_.webgpu.storage_buffers, "storage buffers");
  }
  // As WebGPU counts workgroup variables.
  static uint64_t rounded(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

  std::string name_of_parameter(const Argument& argument) const {
    switch (argument.kind) {
      case Kind::Length: return word(length_name(module_, argument.slot));
      case Kind::Scalar: return word(scalar_name(module_, argument.slot));
      case Kind::Groups: return fmt::format("groups_{}", kAxes[argument.slot]);
      case Kind::FirstGroup: return "first_group";
      case Kind::EndGroup: return "end_group";
      case Kind::Budget: return "budget";
      case Kind::Zero: return "zero";
      default: return {};
    }
  }

  std::string declarations() const {
    std::string members, bindings;
    for (const Argument& argument : printed_.arguments) {
      const std::string binding = fmt::format("@group(0) @binding({}) var<", argument.place);
      if (argument.kind == Kind::Buffer) {
        const program::BufferParam& buffer = module_.buffers[argument.slot];
        bindings += fmt::format(
            "{}storage, {}> {}: array<{}>;\n", binding, argument.read_only ? "read" : "read_write",
            word(buffer_name(module_, argument.slot)),
            own_ && own_->words[argument.slot] ? own_word_name(buffer.type, own_->lanes.count)
                                               : element_name(buffer));
      } else if (argument.kind == Kind::Stop) {
        bindings += binding + "storage, read_write> stop: atomic<u32>;\n";
      } else {
        members +=
            fmt::format("  {}: {},\n", name_of_parameter(argument), type_name(argument.type));
      }
    }
    std::string text = fmt::format(
        "struct Parameters {{\n{}}}\n{}@group(0) @binding({}) var<uniform> parameters: "
        "Parameters;\n",
        members, bindings, printed_.block_binding);
    const auto local = [&](const std::string& name, std::string_view type, uint32_t count) {
      text += fmt::format("var<workgroup> {}: array<{}, {}>;\n", name, type, count);
    };
    for (uint32_t s = 0; s < module_.shared.size(); s++) {
      const program::SharedArray& array = module_.shared[s];
      const std::string type(type_name(array.type));
      if (quads_.arrays[s]) {
        local(word(shared_name(module_, s)), fmt::format("vec4<{}>", type), array.count / 4);
        continue;
      }
      local(word(shared_name(module_, s)), array.atomic ? "atomic<" + type + ">" : type,
            array.count);
    }
    if (uses_.scratch32) local("group_values32", "u32", module_.lanes());
    if (uses_.scratch64) local("group_values64", "vec2u", module_.lanes());
    return text;
  }

  std::string lane_function() const {
    std::string parameters;
    for (uint32_t axis = 0; axis < 3; axis++)
      if (uses_.group_ids[axis]) parameters += fmt::format("group_{}: u32, ", kAxes[axis]);
    const OwnLanes* const own = own_ ? &*own_ : nullptr;
    std::string text = fmt::format("fn run_lane({}lane: u32) {{\n{}}}\n", parameters,
                                   print_body(module_, uses_, quads_, options_, own, false));
    if (own == nullptr) return text;
    const std::string lanes = print_body(module_, uses_, quads_, options_, own, true);
    if (lanes.find("run_lane(") == std::string::npos) text.clear();
    return text + fmt::format("\nfn run_lanes({}lane: u32) {{\n{}}}\n", parameters, lanes);
  }

  // The groups of the block, and the lane (or the first one) of the thread in each.
  std::string group_loop() const {
    constexpr std::string_view kLoop =
        "  for (var {0} = parameters.first_group + block.x{1}; {0} < parameters.end_group; {0} += "
        "blocks.x{1}) {{\n";
    if (!own_) return fmt::format(kLoop, "group", "");
    const uint32_t count = own_->lanes.count, threads = module_.lanes() / count;
    return fmt::format("  let lane = thread % {}u * {}u;\n", threads, count) +
           fmt::format(kLoop, "first", fmt::format(" * {}u", count)) +
           fmt::format("    let group = first + thread / {}u;\n", threads) +
           "    if (group >= parameters.end_group) { break; }\n";
  }

  std::string kernel_function() const {
    std::string ids;
    const auto& used = uses_.group_ids;
    if (used[1] || used[2]) {
      ids += "    let row = group / parameters.groups_x;\n";
      if (used[0]) ids += "    let group_x = group - row * parameters.groups_x;\n";
      ids += "    let group_z = row / parameters.groups_y;\n";
      if (used[1]) ids += "    let group_y = row - group_z * parameters.groups_y;\n";
    } else if (used[0]) {
      ids += "    let group_x = group % parameters.groups_x;\n";
    }
    std::string unused;  // a pipeline's own layout would leave these out
    std::vector<bool> used_buffers(module_.buffers.size());
    for (const program::Inst& inst : module_.body.insts)
      if (inst.op == program::Op::Load || inst.op == program::Op::Store ||
          inst.op == program::Op::Atomic)
        used_buffers[inst.slot] = true;
    for (uint32_t b = 0; b < module_.buffers.size(); b++)
      if (!used_buffers[b]) unused += fmt::format("  _ = &{};\n", word(buffer_name(module_, b)));
    return fmt::format(
        "@compute @workgroup_size({0})\n"
        "fn {1}(@builtin(local_invocation_index) {7}: u32, @builtin(workgroup_id) block: vec3u,\n"
        "    @builtin(num_workgroups) blocks: vec3u) {{\n{5}"
        "{6}{2}    {8}({3}lane);\n{4}  }}\n}}\n",
        printed_.lanes, printed_.entry, ids, group_arguments(uses_),
        // Nobody writes to workgroup memory while others still read what the last group left there.
        uses_.cooperative ? "    workgroupBarrier();\n" : "", unused, group_loop(),
        own_ ? "thread" : "lane", own_ ? "run_lanes" : "run_lane");
  }

  const Module& module_;
  const Options& options_;
  const Uses uses_;
  const Quads quads_;
  const std::optional<OwnLanes> own_;  // where a thread has several lanes
  Printed printed_;
};

}  // namespace

std::string group_arguments(const Uses& uses) {
  std::string text;
  for (uint32_t axis = 0; axis < 3; axis++)
    if (uses.group_ids[axis]) text += fmt::format("group_{}, ", kAxes[axis]);
  return text;
}

Printed print(const Module& module, const Options& options) {
  return Unit(module, options).print();
}

}  // namespace hologram::dialects::wgsl
