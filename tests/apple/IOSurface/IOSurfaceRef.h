#pragma once
struct __IOSurface;
typedef __IOSurface* IOSurfaceRef;
