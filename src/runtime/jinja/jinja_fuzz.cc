// Parses and renders the input as a template, with limits low enough for many runs a second.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "runtime/jinja/template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto context = nlohmann::ordered_json::parse(R"({
    "messages": [{"role": "system", "content": " sys "}, {"role": "user", "content": "h\u00e9 \ud83d\ude00"},
                 {"role": "assistant", "content": [{"type": "text", "text": "a\nb"}]}],
    "tools": [{"function": {"name": "f", "parameters": {"x": [1, -2.5, true, null]}}}],
    "s": "Hello World", "n": 3, "bos_token": "<s>", "add_generation_prompt": true})");
  hexlane::jinja::RenderOptions options;
  options.now.emplace();
  options.max_output_bytes = 1 << 16;
  options.max_allocated_bytes = 1 << 22;
  options.max_steps = 20'000;
  const auto parsed = hexlane::jinja::Template::Parse({reinterpret_cast<const char*>(data), size});
  if (parsed) static_cast<void>(parsed->Render(context, options));
  return 0;
}
