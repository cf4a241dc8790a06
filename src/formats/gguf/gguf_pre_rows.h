// A row for each known tokenizer.ggml.pre: what the model's own tokenizer.json has where GGUF has
// only this name.
#ifndef HEXLANE_FORMATS_GGUF_GGUF_PRE_ROWS_H_
#define HEXLANE_FORMATS_GGUF_GGUF_PRE_ROWS_H_

#include <array>
#include <string_view>

namespace hexlane {

struct GgufPreRow {
  std::string_view name;
  std::string_view pre_tokenizer;  // JSON
  std::string_view normalizer = "null";
  bool ignore_merges = false;
  bool add_bos = false;  // when the file does not say
};

namespace gguf_pre {

inline constexpr std::string_view kGpt2 = R"json(
{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}
)json";

inline constexpr std::string_view kSmolLm = R"json(
{"type":"Sequence","pretokenizers":[
 {"type":"Digits","individual_digits":true},
 {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}]}
)json";

inline constexpr std::string_view kLlama3 = R"json(
{"type":"Sequence","pretokenizers":[
 {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
 {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]}
)json";

inline constexpr std::string_view kQwen2 = R"json(
{"type":"Sequence","pretokenizers":[
 {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
 {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]}
)json";

// What llama.cpp does for "default": no tokenizer.json has it.
inline constexpr std::string_view kDefault = R"json(
{"type":"Sequence","pretokenizers":[
 {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[\\p{P}\\$\\+<=>\\^~\\|]+"}},
 {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":
"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"}},
 {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"\\p{N}+"}},
 {"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":"[0-9][0-9][0-9]"}},
 {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]}
)json";

inline constexpr std::string_view kNfc = R"json({"type":"NFC"})json";

}  // namespace gguf_pre

inline constexpr std::array kGgufPreRows = {
    GgufPreRow{"smollm", gguf_pre::kSmolLm},
    GgufPreRow{"llama-bpe", gguf_pre::kLlama3, "null", true, true},
    GgufPreRow{"llama3", gguf_pre::kLlama3, "null", true, true},
    GgufPreRow{"llama-v3", gguf_pre::kLlama3, "null", true, true},
    GgufPreRow{"qwen2", gguf_pre::kQwen2, gguf_pre::kNfc},
    GgufPreRow{"gpt-2", gguf_pre::kGpt2},
    GgufPreRow{"default", gguf_pre::kDefault},
    GgufPreRow{"", gguf_pre::kDefault},
};

}  // namespace hexlane

#endif  // HEXLANE_FORMATS_GGUF_GGUF_PRE_ROWS_H_
