// Common subexpressions: what was computed before, in this block or one around it, is used again.
// Loads from memory that the program writes are shared as long as nothing is written in between.
#include <numeric>
#include <unordered_map>

#include "program/passes/passes.hpp"

namespace hologram::program {
namespace {

struct Key {
  Op op;
  DType type, from;
  uint8_t aux;
  uint32_t slot;
  std::array<uint32_t, 3> args;
  uint64_t imm;
  uint64_t version;  // of the memory that is read
  friend bool operator==(const Key&, const Key&) = default;
};

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t h = static_cast<uint64_t>(key.op) | static_cast<uint64_t>(key.type) << 8 |
                 static_cast<uint64_t>(key.from) << 16 | static_cast<uint64_t>(key.aux) << 24 |
                 static_cast<uint64_t>(key.slot) << 32;
    const auto mix = [&h](uint64_t word) {
      h = (h ^ word) * 0x9e3779b97f4a7c15u;
      h ^= h >> 29;
    };
    mix(key.imm);
    mix(key.args[0] | static_cast<uint64_t>(key.args[1]) << 32);
    mix(key.args[2] | key.version << 32);
    return h;
  }
};

class Sharing {
 public:
  explicit Sharing(Module& module)
      : m_(module), versions_(module.buffers.size(), 1), shared_versions_(module.shared.size(), 1) {
    replacement_.resize(m_.body.values.size());
    std::iota(replacement_.begin(), replacement_.end(), 0u);
  }

  void run() {
    for (Inst inst : m_.body.insts) {
      for (size_t k = 0, n = arity(inst); k < n; k++) inst.args[k] = replacement_[inst.args[k]];
      if (is_source(inst.op)) {
        if (!reuse(inst, sources_)) top_.push_back(inst);
        continue;
      }
      if (is_pure(inst.op) || inst.op == Op::Load || inst.op == Op::SharedLoad) {
        if (!reuse(inst, values_)) out_.push_back(inst);
        continue;
      }
      note_effect(inst);
      out_.push_back(inst);
    }
    top_.insert(top_.end(), out_.begin(), out_.end());
    m_.body.insts = std::move(top_);
  }

 private:
  using Table = std::unordered_map<Key, uint32_t, KeyHash>;

  static bool is_source(Op op) { return op <= Op::GroupCount; }

  // a > b is b < a; the instruction itself stays as it was written.
  static Key key_of(const Inst& inst, uint64_t version) {
    Key key = {inst.op, inst.type, inst.from, inst.aux, inst.slot, inst.args, inst.imm, version};
    if (inst.op == Op::Gt || inst.op == Op::Ge) {
      key.op = inst.op == Op::Gt ? Op::Lt : Op::Le;
      std::swap(key.args[0], key.args[1]);
    }
    return key;
  }

  uint64_t version_of(const Inst& inst) const {
    if (inst.op == Op::SharedLoad) return shared_versions_[inst.slot];
    if (inst.op != Op::Load || m_.buffers[inst.slot].access == Access::In) return 0;
    return versions_[inst.slot];
  }

  // Uses what was computed before; or else notes the instruction as computed here.
  bool reuse(const Inst& inst, Table& table) {
    const Key key = key_of(inst, version_of(inst));
    const auto [entry, is_new] = table.emplace(key, inst.id);
    if (!is_new) {
      replacement_[inst.id] = entry->second;
      return true;
    }
    if (&table == &values_) scoped_.push_back(key);
    return false;
  }

  void note_effect(const Inst& inst) {
    switch (inst.op) {
      case Op::Store:
      case Op::Atomic: versions_[inst.slot] = ++newest_; break;
      case Op::SharedStore:
      case Op::SharedAtomic: shared_versions_[inst.slot] = ++newest_; break;
      case Op::Barrier:
      case Op::GroupReduce:
      case Op::GroupScan:
      case Op::GroupUniform: forget_memory(); break;
      case Op::For:
      case Op::Loop:
        forget_memory();  // by the round before
        [[fallthrough]];
      case Op::If: blocks_.push_back(scoped_.size()); break;
      case Op::Else: leave_scope(); break;
      case Op::End:
        leave_scope();
        blocks_.pop_back();
        break;
      default: break;
    }
  }

  void forget_memory() {
    newest_++;
    versions_.assign(versions_.size(), newest_);
    shared_versions_.assign(shared_versions_.size(), newest_);
  }

  void leave_scope() {
    for (; scoped_.size() > blocks_.back(); scoped_.pop_back()) values_.erase(scoped_.back());
  }

  Module& m_;
  std::vector<Inst> top_, out_;
  std::vector<uint32_t> replacement_;
  Table sources_, values_;
  std::vector<Key> scoped_;     // of values_, in the order of their scopes
  std::vector<size_t> blocks_;  // how many were in scope before each open block
  std::vector<uint64_t> versions_, shared_versions_;
  uint64_t newest_ = 1;
};

}  // namespace

void share(Module& module) { Sharing(module).run(); }

}  // namespace hologram::program
