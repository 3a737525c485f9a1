// Compiled by clang alone, whose blocks metal-cpp has in its types; tests/apple stands for the
// system's headers that it includes. Types are compared when this is compiled, selectors by calling
// its functions over a runtime that only notes what it is sent.
#include "metal_headers.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>

#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Metal/Metal.hpp>

#include "backends/metal/api.hpp"

namespace {
const char* g_sent = "";
void* note(const void*, SEL selector) {
  g_sent = reinterpret_cast<const char*>(selector);
  return reinterpret_cast<void*>(1);  // YES: it responds to whatever is asked for
}
}  // namespace

extern "C" {
SEL sel_registerName(const char* name) { return reinterpret_cast<SEL>(const_cast<char*>(name)); }
id objc_lookUpClass(const char* name) { return reinterpret_cast<id>(const_cast<char*>(name)); }
id objc_getProtocol(const char* name) { return objc_lookUpClass(name); }
void* objc_msgSend(const void* self, SEL selector) { return note(self, selector); }
double objc_msgSend_fpret(const void* self, SEL selector) { return note(self, selector), 0; }
void objc_msgSend_stret() {}
// Named by functions of metal-cpp that nobody calls.
MTL::Device* MTLCreateSystemDefaultDevice() { return nullptr; }
NS::Array* MTLCopyAllDevices() { return nullptr; }
NS::Array* MTLCopyAllDevicesWithObserver(NS::Object**, MTL::DeviceNotificationHandlerBlock) {
  return nullptr;
}
void MTLRemoveDeviceObserver(const NS::Object*) {}
void* _NSConcreteStackBlock[32];
void _Block_object_assign(void*, const void*, int) {}
void _Block_object_dispose(const void*, int) {}
}

namespace hologram {
namespace {

using namespace backends::metal;

// The same to a caller: numbers of one size and sign, whatever their names, structures of one size,
// and any pointers to objects.
template <class Ours, class Theirs>
constexpr bool same_numbers() {
  if constexpr (std::is_enum_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && std::is_integral_v<Ours>;
  else if constexpr (std::is_integral_v<Ours> && std::is_integral_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs) && std::is_signed_v<Ours> == std::is_signed_v<Theirs>;
  else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
    return sizeof(Ours) == sizeof(Theirs);  // metal-cpp has them packed
  else return std::is_same_v<Ours, Theirs>;
}
template <class Ours, class Theirs>
constexpr bool same() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using O = std::remove_pointer_t<Ours>;
    using T = std::remove_pointer_t<Theirs>;
    return std::is_pointer_v<O> == std::is_pointer_v<T> &&
           std::is_same_v<std::remove_cv_t<O>, char> == std::is_same_v<std::remove_cv_t<T>, char>;
  } else {
    return (std::is_same_v<Ours, Block*> &&
            std::is_same_v<Theirs, void (^)(void*, NS::UInteger)>) ||
           same_numbers<Ours, Theirs>();
  }
}

template <class... A>
struct With {  // the one of several functions that takes these
  template <class R, class C>
  static constexpr auto of(R (C::*method)(A...)) {
    return method;
  }
  template <class R, class C>
  static constexpr auto of(R (C::*method)(A...) const) {
    return method;
  }
};

// What functions are called with.
template <class T>
T nothing() {
  if constexpr (std::is_same_v<T, NS::Range>) return NS::Range(0, 0);
  else return T{};
}

class Comparison {
 public:
  template <class R, class Self, class... A, class Theirs, class C, class... B>
  void add(Message<R(Self*, A...)> Messages::*ours, Theirs (C::*theirs)(B...)) {
    check<R, Theirs, A...>(ours, static_cast<void (*)(B...)>(nullptr), [&] {
      (reinterpret_cast<C*>(&something_)->*theirs)(nothing<std::remove_cvref_t<B>>()...);
    });
  }
  template <class R, class Self, class... A, class Theirs, class C, class... B>
  void add(Message<R(Self*, A...)> Messages::*ours, Theirs (C::*theirs)(B...) const) {
    check<R, Theirs, A...>(ours, static_cast<void (*)(B...)>(nullptr), [&] {
      (reinterpret_cast<const C*>(&something_)->*theirs)(nothing<std::remove_cvref_t<B>>()...);
    });
  }
  template <class R, class Self, class... A, class Theirs, class... B>
  void add(Message<R(Self*, A...)> Messages::*ours, Theirs (*theirs)(B...)) {
    check<R, Theirs, A...>(ours, static_cast<void (*)(B...)>(nullptr),
                           [&] { theirs(nothing<std::remove_cvref_t<B>>()...); });
  }
  // Of what it has no function of that anybody may call.
  template <class Type>
  void add(Message<Type> Messages::*ours, SEL theirs) {
    compare((messages_.*ours).name(), reinterpret_cast<const char*>(theirs));
  }
  std::vector<std::string> differences;
  int compared = 0;

 private:
  template <class R, class Theirs, class... A, class Type, class... B, class Call>
  void check(Message<Type> Messages::*ours, void (*)(B...), Call call) {
    static_assert(sizeof...(A) == sizeof...(B));
    static_assert(same<R, Theirs>() && (same<A, B>() && ...));
    g_sent = "";
    call();
    compare((messages_.*ours).name(), g_sent);
  }
  void compare(const char* ours, const char* theirs) {
    compared++;
    if (std::strcmp(ours, theirs) != 0) differences.push_back(std::string(ours) + " is " + theirs);
  }
  Messages messages_;
  uint64_t something_[8] = {};
};

constexpr bool is(auto ours, auto theirs) {
  return static_cast<int64_t>(ours) == static_cast<int64_t>(theirs);
}
static_assert(is(kUtf8, NS::UTF8StringEncoding));
static_assert(is(kStorageShared, MTL::ResourceStorageModeShared));
static_assert(is(kStoragePrivate, MTL::ResourceStorageModePrivate));
static_assert(is(kMathModeSafe, MTL::MathModeSafe));
static_assert(is(kPreciseFunctions, MTL::MathFloatingPointFunctionsPrecise));
static_assert(is(kNoOption, MTL::PipelineOptionNone));
static_assert(is(kFirstAppleFamily, MTL::GPUFamilyApple1));
static_assert(is(kLargeGroupsFamily, MTL::GPUFamilyApple4));
static_assert(is(kLastAppleFamily, MTL::GPUFamilyApple10));
static_assert(is(kFirstMacFamily, MTL::GPUFamilyMac1) && is(kSecondMacFamily, MTL::GPUFamilyMac2));
static_assert(is(kCompleted, MTL::CommandBufferStatusCompleted));
static_assert(is(kFailed, MTL::CommandBufferStatusError));
static_assert(is(kErrorTimeout, MTL::CommandBufferErrorTimeout));
static_assert(is(kErrorAccessRevoked, MTL::CommandBufferErrorAccessRevoked));
static_assert(is(kErrorOutOfMemory, MTL::CommandBufferErrorOutOfMemory));
static_assert(is(kErrorDeviceRemoved, MTL::CommandBufferErrorDeviceRemoved));
static_assert(sizeof(Size) == sizeof(MTL::Size) && sizeof(Range) == sizeof(NS::Range));
static_assert(offsetof(Range, length) == offsetof(NS::Range, length));
static_assert(offsetof(Size, height) == offsetof(MTL::Size, height));

using M = Messages;
using NS::UInteger;

void compare_objects(Comparison& all) {
  namespace S = NS::Private::Selector;
  all.add(&M::alloc, S::s_kalloc);
  all.add(&M::init, S::s_kinit);
  all.add(&M::responds, S::s_krespondsToSelector_);
  all.add(&M::retain, &NS::Object::retain);
  all.add(&M::release, &NS::Object::release);
  all.add(&M::string,
          static_cast<NS::String* (*)(const char*, NS::StringEncoding)>(&NS::String::string));
  all.add(&M::utf8, &NS::String::utf8String);
  all.add(&M::description, &NS::Error::localizedDescription);
  all.add(&M::code, &NS::Error::code);
  all.add(&M::count, &NS::Array::count);
  all.add(&M::element, &NS::Array::object<NS::Object>);
}

void compare_devices(Comparison& all) {
  using MTL::Device;
  all.add(&M::name, &Device::name);
  all.add(&M::is_unified, &Device::hasUnifiedMemory);
  all.add(&M::is_low_power, &Device::isLowPower);
  all.add(&M::is_removable, &Device::isRemovable);
  all.add(&M::working_set, &Device::recommendedMaxWorkingSetSize);
  all.add(&M::allocated, &Device::currentAllocatedSize);
  all.add(&M::most_buffer_bytes, &Device::maxBufferLength);
  all.add(&M::most_shared_bytes, &Device::maxThreadgroupMemoryLength);
  all.add(&M::supports_family, &Device::supportsFamily);
  all.add(&M::new_queue, With<>::of(&Device::newCommandQueue));
  all.add(&M::new_buffer, With<UInteger, MTL::ResourceOptions>::of(&Device::newBuffer));
  all.add(&M::adopt,
          With<const void*, UInteger, MTL::ResourceOptions, void (^)(void*, UInteger)>::of(
              &Device::newBuffer));
  all.add(&M::new_library, With<const NS::String*, const MTL::CompileOptions*, NS::Error**>::of(
                               &Device::newLibrary));
  all.add(&M::new_pipeline, With<const MTL::ComputePipelineDescriptor*, MTL::PipelineOption,
                                 const MTL::AutoreleasedComputePipelineReflection*,
                                 NS::Error**>::of(&Device::newComputePipelineState));
  all.add(&M::contents, &MTL::Buffer::contents);
}

void compare_programs(Comparison& all) {
  all.add(&M::set_fast_math, &MTL::CompileOptions::setFastMathEnabled);
  all.add(&M::set_math_mode, &MTL::CompileOptions::setMathMode);
  all.add(&M::set_functions, &MTL::CompileOptions::setMathFloatingPointFunctions);
  all.add(&M::set_function, &MTL::ComputePipelineDescriptor::setComputeFunction);
  all.add(&M::set_most_threads, &MTL::ComputePipelineDescriptor::setMaxTotalThreadsPerThreadgroup);
  all.add(&M::new_function, With<const NS::String*>::of(&MTL::Library::newFunction));
  all.add(&M::most_threads, &MTL::ComputePipelineState::maxTotalThreadsPerThreadgroup);
}

void compare_commands(Comparison& all) {
  using MTL::BlitCommandEncoder;
  using MTL::ComputeCommandEncoder;
  using Commands = MTL::CommandBuffer;
  all.add(&M::command_buffer, With<>::of(&MTL::CommandQueue::commandBuffer));
  all.add(&M::compute, With<>::of(&Commands::computeCommandEncoder));
  all.add(&M::blit, With<>::of(&Commands::blitCommandEncoder));
  all.add(&M::commit, &Commands::commit);
  all.add(&M::wait, &Commands::waitUntilCompleted);
  all.add(&M::status, &Commands::status);
  all.add(&M::error, &Commands::error);
  all.add(&M::start_time, &Commands::GPUStartTime);
  all.add(&M::end_time, &Commands::GPUEndTime);
  all.add(&M::set_pipeline, &ComputeCommandEncoder::setComputePipelineState);
  all.add(&M::set_buffer,
          With<const MTL::Buffer*, UInteger, UInteger>::of(&ComputeCommandEncoder::setBuffer));
  all.add(&M::set_bytes,
          With<const void*, UInteger, UInteger>::of(&ComputeCommandEncoder::setBytes));
  all.add(&M::dispatch,
          With<MTL::Size, MTL::Size>::of(&ComputeCommandEncoder::dispatchThreadgroups));
  all.add(&M::end_compute, &ComputeCommandEncoder::endEncoding);
  all.add(&M::copy, With<const MTL::Buffer*, UInteger, const MTL::Buffer*, UInteger, UInteger>::of(
                        &BlitCommandEncoder::copyFromBuffer));
  all.add(&M::fill, &BlitCommandEncoder::fillBuffer);
  all.add(&M::end_blit, &BlitCommandEncoder::endEncoding);
}

}  // namespace

std::vector<std::string> metal_differences(int& compared) {
  Comparison all;
  compare_objects(all);
  compare_devices(all);
  compare_programs(all);
  compare_commands(all);
  compared = all.compared;
  for (const auto& [ours, theirs] :
       {std::pair<const char*, void*>{"MTLCompileOptions",
                                      MTL::Private::Class::s_kMTLCompileOptions},
        {"MTLComputePipelineDescriptor", MTL::Private::Class::s_kMTLComputePipelineDescriptor},
        {"NSString", NS::Private::Class::s_kNSString}})
    if (std::strcmp(ours, static_cast<const char*>(theirs)) != 0)
      all.differences.emplace_back(ours);
  return all.differences;
}

}  // namespace hologram
