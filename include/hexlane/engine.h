// Running a package: an Engine is an opened model, a Session one conversation with it.
//
//   auto engine = TRY(Engine::Open("model.hxl", {}));
//   auto session = TRY(engine->NewSession());
//   GenerateOptions options;
//   options.on_token = [](const TokenEvent& token) { fmt::print("{}", token.text); return true; };
//   auto result = TRY(session->Generate("The capital of France is", options));
#ifndef HEXLANE_ENGINE_H_
#define HEXLANE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hexlane/power.h"
#include "hexlane/status.h"

namespace hexlane {

enum class LoadPhase { kFiles, kText, kParts, kReady };
std::string_view LoadPhaseName(LoadPhase phase);  // "checking files", "tokenizer", …

struct LoadProgress {
  LoadPhase phase = LoadPhase::kFiles;
  uint64_t done = 0, total = 0;  // bytes, of this phase
};

struct EngineOptions {
  // "auto": the NPU of this device when the package has a variant that loads here, else the CPU.
  // "cpu"; "htp": an NPU variant, the emulator's where there is no NPU; or a variant's name.
  std::string backend = "auto";
  std::string soc;             // consider only this SoC's variants; empty: any
  int threads = 0;             // 0: as many as this process may use
  bool check_files = true;     // compare every file's SHA-256 with the manifest
  std::string vendor_library;  // path of libQnnHtp.so; empty: search
  std::string skel_dir;        // folder of the DSP's libQnnHtpV*Skel.so; empty: vendor_library's
  // A folder that is kept between starts: which files were checked (once, until they change), and
  // a mark while an NPU variant loads: where a load crashed or stalled, the next "auto" leaves that
  // variant out and says so. Empty: neither.
  std::string cache_dir;
  // While opening, on the thread that opens; false cancels.
  std::function<bool(const LoadProgress&)> on_progress;
  int context = 0;  // positions a session holds; 0: as many as the variant has
  // Bytes that a variant may need (memory_need.h), weights that are only mapped included; a variant
  // that needs more is refused. 0: what the system has available, mapped weights left out.
  size_t memory_limit = 0;
  std::shared_ptr<PowerControl> power;  // heat limits; null: none
  // Nice value 0..19 of the worker threads (the thread that calls works, too, and keeps its own).
  // Android's user interface runs at -10 to 0: from 1 on, workers never keep it waiting.
#ifdef __ANDROID__
  int worker_nice = 4;
#else
  int worker_nice = 0;
#endif
  // Workers stay on the big cores; `threads` 0 then means as many as there are. No effect where the
  // system does not tell cores apart.
  bool big_cores = false;
};

// Seconds.
struct LoadTimes {
  double files = 0;  // manifest, sizes, hashes
  double tokenizer = 0;
  double executors = 0;  // context binaries, weights
  double total = 0;
};

struct EngineInfo {
  std::string source;        // the checkpoint
  std::string architecture;  // "llama"
  std::string scheme;        // of the weights: "w4a16"
  int kv_bits = 16;
  int layers = 0;
  int hidden = 0;
  int vocab = 0;
  int context = 0;      // positions that a session can hold
  int max_context = 0;  // positions that the checkpoint was trained for
  std::vector<int32_t> eos_ids;
  std::string variant;                // that was loaded
  std::string soc;                    // its SoC; "" for the CPU
  std::vector<std::string> backends;  // of its parts, in order: {"qnn"}, {"cpu"}, …
  std::vector<std::string> variants;  // all that the package has
  std::string fallback_reason;        // "auto" only: why no NPU is used; "" when one is
  int threads = 0;
  LoadTimes load;
};

struct TokenizeOptions {
  bool add_special_tokens = true;  // BOS and the like, where the tokenizer puts them
  bool parse_special = true;       // recognise special tokens in the text; false for untrusted text
};

struct PromptOptions {
  bool add_generation_prompt = true;    // end with the opening of the assistant's turn
  bool continue_final_message = false;  // leave the last message open, to go on with it
  std::string tools_json;               // array of tool descriptions; empty: none
  std::string variables_json;           // object of further template variables; empty: none
};

enum class TrimLevel {
  kPages,  // mapped weights: read again from storage, page by page
  kAll,    // and what is on the NPU: loaded again whole
};

class Session;

// Immutable once open; every const member function may be called from any thread. Sessions of one
// engine may live on different threads: their model runs take turns.
class Engine {
 public:
  // kNotFound, kCorrupt: no package, or a damaged one. kUsage: no variant of that name or for that
  // SoC; kUnsupported: none for "htp" or "cpu" (both list those there are). kEnvironment, kVendor:
  // the library or device, or memory: the message has all figures.
  static Result<std::shared_ptr<Engine>> Open(const std::filesystem::path& package,
                                              const EngineOptions& options = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const EngineInfo& info() const;

  // kNotFound where the package has no tokenizer.
  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      const TokenizeOptions& options = {}) const;
  // Always whole UTF-8.
  Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special = true) const;
  // The prompt text of a conversation, by the model's chat template. `messages_json`: an array of
  // {"role", "content"} objects. Encode the result with add_special_tokens = false: templates write
  // their own. kNotFound without a template, kInvalidInput when the template refuses.
  Result<std::string> RenderChat(std::string_view messages_json,
                                 const PromptOptions& options = {}) const;

  // Allocates everything a session ever needs: the KV cache and the buffers of the largest stage.
  Result<std::unique_ptr<Session>> NewSession() const;

  // Runs a token and a prompt's stage and forgets them: what the first real ones would wait for
  // (pages of weights, the device's first run) is done after it. Takes as long as they.
  Result<void> WarmUp() const;

  // Gives back memory that can be had again, when the system asks; waits for a step that runs.
  // Sessions stay as they are. The next step takes longer.
  void Trim(TrimLevel level) const;

  struct Impl;

 private:
  explicit Engine(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

enum class FinishReason {
  kStop,        // an end-of-sequence token
  kLength,      // max_tokens
  kStopString,  // one of `stop`
  kContext,     // no position left
  kCancelled,   // a callback said so, or Ctrl-C
  kTooHot,      // critical heat (power.h), also before the first token or within the prompt
};
std::string_view FinishReasonName(FinishReason reason);  // "stop", "length", "stop_string", …

// One step of generation, given to the callback.
struct TokenEvent {
  int32_t id = 0;         // -1 at the very end, for text that was held back until then
  int index = 0;          // 0 for the first generated token
  std::string_view text;  // whole UTF-8, may be empty; valid during the call only
};

struct GenerateOptions {
  int max_tokens = 0;            // 0: until the context is full
  float temperature = 0;         // 0: greedy
  int top_k = 0;                 // 0: off
  float top_p = 1;               // 1: off
  float min_p = 0;               // 0: off
  float repetition_penalty = 1;  // 1: off
  int repetition_window = 64;    // last tokens of the session that it counts; -1: all
  uint64_t seed = 0;
  std::vector<std::string> stop;  // generation ends before any of these texts
  bool ignore_eos = false;
  // After each token; false cancels.
  std::function<bool(const TokenEvent&)> on_token;
  // After each chunk of the prompt, with the tokens done and to do; false cancels.
  std::function<bool(int done, int total)> on_prefill;
  // Asked while a warm phone waits between tokens (power.h) and after each token; true cancels.
  std::function<bool()> cancelled;
};

// Seconds spent, by stage.
struct StageSeconds {
  double tokenize = 0;
  double copy = 0;  // to and from the backend's buffers, conversions included
  double execute = 0;
  double sample = 0;
  double detokenize = 0;
};

struct GenerateStats {
  int prompt_tokens = 0;
  int generated_tokens = 0;
  StageSeconds seconds;
  double load_ms = 0;         // of the engine
  double first_token_ms = 0;  // from the call of Generate to the first sampled token
  double prefill_s = 0;
  double decode_s = 0;       // after the first token
  double prefill_tok_s = 0;  // prompt tokens per second of prefill
  double decode_tok_s = 0;   // tokens after the first per second of decode; 0 without any
  size_t peak_rss_bytes = 0;
  std::string warning;  // not empty when copying takes more than 20 % of the time
};

struct GenerateResult {
  std::string text;             // special tokens and stop strings left out
  std::vector<int32_t> tokens;  // generated; without the end-of-sequence token
  FinishReason finish_reason = FinishReason::kStop;
  GenerateStats stats;
};

struct EvaluateOptions {
  // A named intermediate value of consecutive positions, [rows, dim], where the backend can show
  // it. A position may come again; the last counts.
  std::function<void(std::string_view name, int64_t first_position, std::span<const float>)>
      on_value;
};

// One conversation: a KV cache and the tokens in it. For one thread at a time. Keeps its engine
// alive.
class Session {
 public:
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int64_t position() const;                 // tokens in the cache
  int64_t capacity() const;                 // of the cache
  std::span<const int32_t> tokens() const;  // in the cache, [position]

  // Forgets all tokens from `position` on. kInvalidInput when that is past the end.
  Result<void> Rewind(int64_t position);
  void Reset();
  // Rewinds to the longest common beginning of the cache and `ids`, leaving at least one of `ids`
  // to run, and gives its length n: the next prompt is ids.subspan(n). For the turns of a chat.
  int64_t KeepCommonPrefix(std::span<const int32_t> ids);

  // Appends tokens; gives the logits [vocab] after the last one, valid until the next call.
  // kInvalidInput: no ids, not in the vocabulary, or too many (says by how many).
  Result<std::span<const float>> Feed(std::span<const int32_t> ids);

  // Appends the prompt and generates. kUsage names a sampling option that is out of range. The last
  // token of the result is not in the cache yet (nothing has been computed from it): a next prompt
  // starts with it, if it shall count. Errors as Feed; kCancelled when stopped during the prompt.
  Result<GenerateResult> Generate(std::span<const int32_t> prompt, const GenerateOptions& options);
  // The text with the tokenizer's special tokens (BOS) when the session is empty, without
  // otherwise.
  Result<GenerateResult> Generate(std::string_view prompt, const GenerateOptions& options);

  // Appends tokens and gives the logits [vocab] after every one of them, in order.
  Result<void> Evaluate(std::span<const int32_t> ids,
                        const std::function<void(int64_t position, std::span<const float>)>& logits,
                        const EvaluateOptions& options = {});

  struct Impl;

 private:
  friend class Engine;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hexlane

#endif  // HEXLANE_ENGINE_H_
