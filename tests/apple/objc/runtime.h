// What metal-cpp takes of the Objective-C runtime: enough to compile it elsewhere.
#pragma once
#include <cstdint>
struct objc_selector;
struct objc_object {};
typedef objc_selector* SEL;
typedef objc_object* id;
typedef bool BOOL;
extern "C" {
SEL sel_registerName(const char*);
id objc_lookUpClass(const char*);
id objc_getProtocol(const char*);
}
