// examples/atlas/pathtracer.atlas for one lane at a time.
#include <algorithm>
#include <array>
#include <cmath>

#include "examples_reference.hpp"

namespace hologram::reference {
namespace {

struct Vec {
  float x = 0, y = 0, z = 0;
};
Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
float dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
// s * a + b, rounded once.
Vec fma(float s, Vec a, Vec b) {
  return {std::fma(s, a.x, b.x), std::fma(s, a.y, b.y), std::fma(s, a.z, b.z)};
}
Vec scaled(float s, Vec a) { return {s * a.x, s * a.y, s * a.z}; }
Vec normalized(Vec a) {
  const float length = std::sqrt(dot(a, a));
  return {a.x / length, a.y / length, a.z / length};
}

constexpr int kBounces = 6;
constexpr float kNear = 0.001f, kFar = 1e9f, kGlass = 1.5f;
constexpr int kSky = 0, kFloor = 1, kGlassBall = 3, kGold = 4, kGreen = 6;

struct Ball {
  Vec centre;
  float radius;
  Vec colour;
};
// Objects 2 to 6.
constexpr std::array<Ball, 5> kBalls = {{{{-2.0f, 0.9f, -0.3f}, 0.9f, {0.75f, 0.2f, 0.15f}},
                                         {{0.0f, 0.8f, 0.6f}, 0.8f, {1, 1, 1}},
                                         {{1.9f, 1.0f, -0.6f}, 1.0f, {0.95f, 0.75f, 0.4f}},
                                         {{-0.95f, 0.3f, 1.75f}, 0.3f, {0.15f, 0.35f, 0.8f}},
                                         {{1.15f, 0.4f, 1.5f}, 0.4f, {0.45f, 0.8f, 0.5f}}}};

uint32_t hash(uint32_t x) {
  const uint32_t a = x * 747796405u + 2891336453u;
  const uint32_t b = ((a >> ((a >> 28) + 4)) ^ a) * 277803737u;
  return (b >> 22) ^ b;
}

class Random {
 public:
  explicit Random(uint32_t state) : state_(state) {}
  float next() {
    state_ = hash(state_);
    return static_cast<float>(state_ >> 8) * 0x1p-24f;
  }

 private:
  uint32_t state_;
};

Vec direction(float u, float v) {
  const float z = 1.0f - 2.0f * u, r = std::sqrt(std::max(1.0f - z * z, 0.0f));
  const float angle = 6.2831853f * v;
  return {r * std::cos(angle), z, r * std::sin(angle)};
}

struct Hit {
  float t;
  int object;
};

float meet(const Ball& ball, Vec origin, Vec d) {
  const Vec p = origin - ball.centre;
  const float b = dot(p, d);
  const float disc = b * b - (dot(p, p) - ball.radius * ball.radius);
  if (!(disc > 0)) return kFar;
  const float root = std::sqrt(disc);
  const float t = -b - root > kNear ? -b - root : root - b;
  return t > kNear ? t : kFar;
}

Hit nearest(Vec origin, Vec d) {
  Hit hit = {kFar, kSky};
  const float down = -origin.y / d.y;
  if (down > kNear && down < 60.0f) hit = {down, kFloor};
  for (size_t i = 0; i < kBalls.size(); i++) {
    const float t = meet(kBalls[i], origin, d);
    if (t < hit.t) hit = {t, static_cast<int>(i) + 2};
  }
  return hit;
}

Vec refracted(Vec d, Vec normal, float facing, Vec mirror, Random& random) {
  const bool inside = facing > 0;
  const float ratio = inside ? kGlass : 1.0f / kGlass;
  const float cosine = std::min(std::abs(facing), 1.0f);
  const float sine2 = ratio * ratio * (1.0f - cosine * cosine);
  const float away = 1.0f - cosine;
  const float mirrored = 0.04f + 0.96f * away * away * away * away * away;
  const bool by_chance = random.next() < mirrored;
  if (sine2 > 1 || by_chance) return normalized(mirror);
  const float turn = ratio * cosine - std::sqrt(std::max(1.0f - sine2, 0.0f));
  return normalized(fma(turn * (inside ? -1.0f : 1.0f), normal, scaled(ratio, d)));
}

void add(Vec& light, Vec by, Vec what) {
  light.x += by.x * what.x;
  light.y += by.y * what.y;
  light.z += by.z * what.z;
}

// Follows one path and adds what light it finds.
void trace(Vec origin, Vec d, Random& random, Vec& light) {
  Vec left = {1, 1, 1};
  for (int bounce = 0; bounce < kBounces; bounce++) {
    const auto [t, object] = nearest(origin, d);
    if (object == kSky) {
      const float height = 0.5f * d.y + 0.5f;
      return add(light, left, {1.1f - 0.9f * height, 1.1f - 0.65f * height, 1.1f - 0.2f * height});
    }
    origin = fma(t, d, origin);
    Vec normal = {0, 1, 0};
    if (object == kFloor) {
      const int odd =
          (static_cast<int>(std::floor(origin.x)) + static_cast<int>(std::floor(origin.z))) & 1;
      left = scaled(odd == 0 ? 0.7f : 0.12f, left);
    } else {
      const Ball& ball = kBalls[static_cast<size_t>(object) - 2];
      const Vec p = origin - ball.centre;
      normal = {p.x / ball.radius, p.y / ball.radius, p.z / ball.radius};
      left = {left.x * ball.colour.x, left.y * ball.colour.y, left.z * ball.colour.z};
    }
    const float u = random.next();
    const Vec s = direction(u, random.next());
    const float facing = dot(d, normal);
    const Vec mirror = d - scaled(2.0f * facing, normal);
    if (object == kGlassBall) {
      d = refracted(d, normal, facing, mirror, random);
    } else if (object == kGold || object == kGreen) {
      d = normalized(fma(object == kGreen ? 0.3f : 0.03f, s, mirror));
    } else {
      const Vec to_sun = normalized(fma(0.03f, s, {-0.48f, 0.64f, 0.6f}));
      const float sun = nearest(origin, to_sun).object == kSky
                            ? 1.6f * std::max(dot(to_sun, normal), 0.0f)
                            : 0.0f;
      add(light, left, {sun, sun * 0.93f, sun * 0.8f});
      d = normalized(fma(0.999f, s, normal));
    }
  }
}

float develop(float light) {
  const float x = 0.55f * std::max(light, 0.0f);
  const float film = x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f);
  return std::pow(std::min(film, 1.0f), 0.45454545f);
}

}  // namespace

std::vector<float> pathtracer(int h, int w, int samples, uint32_t seed) {
  std::vector<float> out;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      Vec light;
      for (int sample = 0; sample < samples; sample++) {
        Random random(hash(static_cast<uint32_t>(y * w + x) ^
                           hash(static_cast<uint32_t>(sample) ^ hash(seed))));
        const auto fw = static_cast<float>(w), fh = static_cast<float>(h);
        const float across = (static_cast<float>(x) + random.next() - 0.5f * fw) / fh;
        const float up = (0.5f * fh - static_cast<float>(y) - random.next()) / fh;
        trace({0.0f, 1.7f, 6.5f}, normalized({across, up - 0.14f, -1.25f}), random, light);
      }
      const auto n = static_cast<float>(samples);
      for (const float v : {light.x, light.y, light.z}) out.push_back(develop(v / n));
    }
  return out;
}

}  // namespace hologram::reference
