#include <algorithm>

#include "hologram/files.hpp"
#include "hologram/nn/modules.hpp"
#include "nn/common.hpp"
#include "nn/state_file.hpp"

namespace hologram::nn {

namespace {

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); i++)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

// "module.safetensors:key"; safetensors is the format that PyTorch's users share.
void need_safetensors(const std::string& path) {
  constexpr std::string_view kEnd = ".safetensors";
  if (path.size() < kEnd.size() || path.substr(path.size() - kEnd.size()) != kEnd)
    throw core::error(Text::NnStateFile, path);
}

}  // namespace

void Module::register_parameters(std::initializer_list<std::pair<const char*, Tensor*>> tensors) {
  parameters_.insert(parameters_.end(), tensors.begin(), tensors.end());
}
void Module::register_buffers(std::initializer_list<std::pair<const char*, Tensor*>> tensors) {
  buffers_.insert(buffers_.end(), tensors.begin(), tensors.end());
}
void Module::register_modules(std::initializer_list<std::pair<const char*, Module*>> modules) {
  for (const auto& [name, module] : modules) register_module(name, module);
}
void Module::register_module(std::string name, Module* module) {
  module->train(training_);
  modules_.emplace_back(std::move(name), module);
}

void Module::collect(const std::string& prefix, List Module::*list, Names& into) {
  for (const auto& [name, tensor] : this->*list)
    if (tensor->defined()) into.emplace_back(prefix + name, tensor);
  for (const auto& [name, module] : modules_) module->collect(prefix + name + ".", list, into);
}

void save_state(const std::string& path, const std::map<std::string, Tensor>& state) {
  need_safetensors(path);
  std::map<std::string, Array> arrays;
  const std::string file = path + ":";
  for (const auto& [name, tensor] : state) arrays.emplace(file + name, tensor.array());
  files::write_all(arrays);
}

std::map<std::string, Tensor> load_state(const std::string& path) {
  need_safetensors(path);
  std::map<std::string, Tensor> state;
  for (const files::Member& member : files::inspect(path).members)
    state.emplace(member.name, Tensor::from(files::read(path, {.member = member.name})));
  return state;
}

Module::Names Module::named_parameters() {
  Names all;
  collect("", &Module::parameters_, all);
  return all;
}
Module::Names Module::named_buffers() {
  Names all;
  collect("", &Module::buffers_, all);
  return all;
}
std::vector<Tensor*> Module::parameters() {
  std::vector<Tensor*> all;
  for (const auto& [name, tensor] : named_parameters()) all.push_back(tensor);
  return all;
}

std::map<std::string, Tensor> Module::state_dict() {
  std::map<std::string, Tensor> state;
  for (const Names& names : {named_parameters(), named_buffers()})
    for (const auto& [name, tensor] : names) state.emplace(name, *tensor);
  return state;
}

void Module::load_state_dict(const std::map<std::string, Tensor>& state, bool strict) {
  Names all = named_parameters();
  for (auto& one : named_buffers()) all.push_back(std::move(one));
  std::vector<std::string> missing, unknown;
  std::vector<Tensor> values;
  for (const auto& [name, tensor] : all) {
    const auto found = state.find(name);
    if (found == state.end()) {
      missing.push_back(name);
      continue;
    }
    need_shape("load_state_dict", name.c_str(), found->second, tensor->shape());
    values.push_back(found->second.to(tensor->executor()).to(tensor->dtype()));
  }
  if (!missing.empty()) throw core::error(Text::NnStateNames, "it has no", joined(missing));
  for (const auto& [name, tensor] : state) {
    const auto is_known = [&, &key = name](const auto& one) { return one.first == key; };
    if (std::none_of(all.begin(), all.end(), is_known)) unknown.push_back(name);
  }
  if (strict && !unknown.empty())
    throw core::error(Text::NnStateNames, "the module has no", joined(unknown));
  for (size_t i = 0; i < all.size(); i++) *all[i].second = values[i];
}

void Module::save(const std::string& path) { save_state(path, state_dict()); }

void Module::load(const std::string& path, bool strict) {
  load_state_dict(load_state(path), strict);
}

void Module::train(bool on) {
  training_ = on;
  for (const auto& [name, module] : modules_) module->train(on);
}

}  // namespace hologram::nn
