// They are called by other types than these.
#pragma once
#include "runtime.h"
extern "C" {
void* objc_msgSend(const void*, SEL);
double objc_msgSend_fpret(const void*, SEL);
void objc_msgSend_stret();
}
