// Making and judging packages: convert a checkpoint, export for other runtimes, verify every stage
// against the float model, measure perplexity, dump values, look into files and the environment.
// Running a package is engine.h.
#ifndef HEXLANE_COMPILER_H_
#define HEXLANE_COMPILER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hexlane/finetune.h"
#include "hexlane/memory_need.h"
#include "hexlane/status.h"

namespace hexlane {

// Fraction done in [0, 1] and what is being done now. Called from the calling thread.
using ProgressCallback = std::function<void(double fraction, std::string_view what)>;

// ---- convert
// ------------------------------------------------------------------------------------------------------

struct ConvertOptions {
  std::filesystem::path model;   // a Hugging Face folder or a .gguf file
  std::filesystem::path output;  // the package folder; replaced when it is an older package
  // f16, w8a16, w4a16, w4-exact; empty: what the overrides name, or what suits the checkpoint
  std::string scheme;
  int kv_bits = 16;  // of cached keys and values: 8 or 16
  // How the layers' weights are rounded: rtn, or steps joined by '+': rotate, smooth, awq, search,
  // gptq, bias (docs/quant.md).
  std::string algorithm = "rtn";
  // Rules that give single matrices and values another form (docs/quant.md, Overrides), or
  // encodings in AIMET's JSON; empty: none.
  std::filesystem::path overrides;
  std::optional<FinetuneOptions> finetune;  // train what the algorithm gave: docs/quant.md
  std::vector<std::string> socs;  // HTP targets, e.g. SM8650; none: a package for the CPU only
  // Positions of the cache, one graph for each; none: 512, or the model's own maximum if less.
  std::vector<int> contexts;
  int prefill_rows = 128;  // tokens of a prompt that are processed at once
  // A text, a folder of texts, JSON lines of chats or token ids, a .npy array of ids, or an
  // input_list.txt (docs/quant.md); empty: the built-in text.
  std::filesystem::path calibration;
  int calibration_tokens = 1024;
  std::string observer = "minmax";  // ranges of activations: minmax, percentile[:P], mse or entropy
  // Bytes that the conversion may take, all its processes together (pages of mapped files, which
  // the system can take back, do not count); shards are planned for it. 0: about 1 GiB,
  // or what two layers need.
  size_t memory = 0;
  bool emulator = false;  // also binaries that the x86_64 emulator can load
  bool force = false;     // convert even when the package is up to date
  // One step alone, ConvertJob::only: what it makes is kept beside the output, for the conversion
  // with the same other options to find. Empty: all of it.
  std::string only;
  int threads = 0;             // 0: as many as this process may use
  std::string vendor_library;  // libQnnHtp.so; empty: search
  ProgressCallback progress;
};

struct PackageFile {
  std::string path;  // within the package
  size_t bytes = 0;
};

// What became of integers that a checkpoint is stored in.
struct KeptWeights {
  int matrices = 0;  // of the model
  int kept = 0;      // of these, in the checkpoint's own integers
  int exact = 0;     // of these, without any loss
  // The matrix of a unit that lost most, for each unit that lost anything.
  struct Loss {
    std::string unit;
    std::string weight;
    double snr_db = 0;  // 10 log10(Σ w² / Σ error²) over the checkpoint's own values
  };
  std::vector<Loss> losses;
};

// What training did to the layers: mean errors of their outputs on windows that it did not train
// on, relative to the float model's, squared.
struct FinetuneSummary {
  int layers = 0;
  int improved = 0;  // the others stayed as the algorithm left them
  double error_before = 0;
  double error_after = 0;
};

struct ConvertReport {
  bool up_to_date =
      false;  // nothing was done: the package was made from the same inputs and options
  std::string scheme;
  int64_t parameters = 0;      // weights of the model, tied ones once
  double bits_per_weight = 0;  // of the scheme, scales included, over all parameters
  std::map<std::string, double>
      htp_bits_per_weight;          // by SoC: of the context binary, over the parameters in it
  std::optional<KeptWeights> kept;  // of schemes that keep stored integers
  std::optional<FinetuneSummary> finetune;  // where layers were trained
  double seconds = 0;
  size_t peak_rss_bytes = 0;  // largest sum of this process and its children
  std::vector<PackageFile> files;
  std::vector<std::string> warnings;  // stuck values, layers left on the CPU, …
};

Result<ConvertReport> Convert(const ConvertOptions& options);

// A step that can be done by itself, by any machine that sees the same files, once those that it
// depends on are finished. Jobs that do not depend on each other may run at the same time.
struct ConvertJob {
  std::string id;  // quantise, htp/SM8650.1-3, package
  std::string
      only;  // of ConvertOptions; empty: the last job, which makes the package of the others
  std::vector<std::filesystem::path> inputs;   // absolute, as outputs
  std::vector<std::filesystem::path> outputs;  // there when it is finished, among others
  size_t memory_bytes = 0;                     // an estimate, all its processes together
  double seconds = 0;                          // an estimate
  std::vector<std::string> dependencies;       // ids
};

// The jobs that together make what Convert makes of the same options; nothing is written. Takes
// seconds: weights are looked at, not quantised.
Result<std::vector<ConvertJob>> PlanConversion(const ConvertOptions& options);

// ---- split
// --------------------------------------------------------------------------------------------------------

struct SplitOptions {
  std::filesystem::path package;
  std::filesystem::path output;   // a folder; replaced when it is an earlier split
  std::vector<std::string> socs;  // of the package's NPU variants; none: all of them
  ProgressCallback progress;
};

// The package for one SoC: the variants of its NPU and of the CPU.
struct Delivery {
  std::string soc;
  std::string folder;  // below the output
  size_t bytes = 0;    // of all files in it
  std::string manifest_sha256;
  int htp_arch = 0;                // 75: V75
  std::vector<MemoryNeed> memory;  // of its variants and contexts
};

struct SplitReport {
  std::vector<Delivery> deliveries;
  std::string json;  // of <output>/delivery.json: docs/package.md
};

// One package for each SoC, for delivery, and delivery.json about all. Files are hard links to the
// package's where the file system can. kInvalidInput where the package has no NPU variant; kUsage
// lists its SoCs.
Result<SplitReport> SplitPackage(const SplitOptions& options);

// ---- export
// -------------------------------------------------------------------------------------------------------

// A package as a folder for somebody else's runtime. Zero or empty: what the package itself has.
struct ExportOptions {
  std::filesystem::path package;
  std::filesystem::path output;  // a folder; replaced when it is an earlier export
  std::string soc;               // one of the package's; empty: its first
  int context = 0;               // positions of the cache
  int prefill_rows = 0;          // tokens of a prompt that are processed at once
  bool emulator = false;         // binaries that the x86_64 emulator can load, not a phone's
  size_t memory = 0;             // as in ConvertOptions, where the export compiles
  std::string vendor_library;    // libQnnHtp.so; empty: search
  ProgressCallback progress;
};

struct ExportReport {
  std::string soc;
  std::vector<int> rows;  // of the graphs: 1 and the prefill's
  int context = 0;
  double seconds = 0;
  std::vector<PackageFile> files;
};

// For Qualcomm's libGenie.so: context binaries, genie_config.json, tokenizer.json and
// htp_backend_ext_config.json (docs/export.md). kInvalidInput where the package is not of a scheme,
// a cache or shapes that Genie runs.
Result<ExportReport> ExportGenie(const ExportOptions& options);

// For ONNX Runtime with Qualcomm's execution provider: the package's context binaries, an EPContext
// model for every stage, and ort.json, the index (docs/export.md). `context` and `prefill_rows`
// choose among the package's stages. kInvalidInput where it has none for the SoC; kUnsupported
// where layers run on the CPU.
Result<ExportReport> ExportOrt(const ExportOptions& options);

// The package's encodings, weights' and values', as one JSON file in AIMET's version 1.0.0 for
// other QNN tools (docs/export.md). `output` is the file; it is replaced.
Result<void> ExportEncodings(const std::filesystem::path& package,
                             const std::filesystem::path& output);

// ---- sensitivity
// -------------------------------------------------------------------------------------------

struct SensitivityOptions {
  std::filesystem::path model;   // a checkpoint
  std::string scheme = "w4a16";  // what matrices are rounded to, by its form for layers' matrices
  // As convert will be given it, without rotate, smooth and awq.
  std::string algorithm = "rtn";
  // NPUs that must take the forms that are chosen; none: it is enough that some known one does.
  std::vector<std::string> socs;
  bool by_layer = false;       // all matrices of a unit at once
  std::filesystem::path text;  // empty: the built-in calibration text
  int tokens = 512;            // of it
  int measured = 32;  // matrices whose own divergence is measured, those estimated to be worst
  // At most one budget; with one, forms are chosen within it.
  double max_bits = 0;           // per weight, all matrices counted; 0: none
  double max_increase = 0;       // of log-perplexity over float, nats; 0: none
  std::filesystem::path output;  // the overrides file with that choice; empty: none
  int threads = 0;
  ProgressCallback progress;
};

// What rounding one matrix, or one layer's, does with all else in float.
struct MatrixDamage {
  std::string name;    // layers.3.down_proj; by layer: layers.3
  std::string scheme;  // of the weights
  int64_t parameters = 0;
  double kl = 0;          // mean divergence from the float model at the logits, nats
  double snr_db = 0;      // of the float logits; 999: exact
  bool measured = false;  // otherwise the layer's, shared by the error at the layer's output
};

// The quantised model, activations included, on the same tokens.
struct MixedQuality {
  double bits_per_weight = 0;
  int overrides = 0;  // matrices in another form than the scheme's
  double kl = 0;
  double log_perplexity_increase = 0;  // over float, nats
};

struct SensitivityReport {
  std::string scheme;
  int tokens = 0;
  int64_t parameters = 0;             // of all matrices, tied ones once
  std::vector<MatrixDamage> ranking;  // the worst first
  // With a budget:
  std::optional<MixedQuality> uniform;  // the scheme alone
  std::optional<MixedQuality> mixed;    // as chosen
  double seconds = 0;
  size_t peak_rss_bytes = 0;
};

// kUsage: two budgets, an output without one, a scheme that rounds nothing, an algorithm that
// changes more than rounding. kInvalidInput: a budget that no choice meets.
Result<SensitivityReport> AnalyseSensitivity(const SensitivityOptions& options);

// ---- verify, eval, dump
// -------------------------------------------------------------------------------------------

// How a model can be run for comparison.
//   float  the checkpoint in float32            quant  the quantised graph in exact arithmetic,
//   every value rounded htp    the QNN graph on the HTP emulator    cpu    the package on the CPU
enum class Stage { kFloat, kQuant, kHtp, kCpu };
std::string_view StageName(Stage stage);
Result<Stage> StageFromName(std::string_view name);

// What a comparison runs on: a package, or a checkpoint for the float stage alone.
struct ModelSource {
  std::filesystem::path path;        // package folder, Hugging Face folder or .gguf file
  std::filesystem::path checkpoint;  // of the float stage; empty: the one the package was made from
  std::string soc;                   // of the htp stage; empty: the package's first
  std::string vendor_library;
  int threads = 0;
  ProgressCallback progress;
};

struct VerifyOptions {
  ModelSource source;
  std::string text;     // empty: a built-in passage
  int max_tokens = 64;  // of the text; at most the package's prefill rows
  int layers = 0;       // only the embedding and so many decoder layers; 0: all, and the head
  double min_faithful = 0.999;  // cosine of htp and cpu to quant, every layer
  double max_loss = 0.99;       // cosine of quant to float, at least this
  int greedy_tokens = 0;  // also compare so many generated tokens (cpu, and htp where the package
                          // has emulator binaries)
  std::string greedy_prompt;  // a user's message; empty: a built-in question
};

struct StageComparison {
  std::string name;     // quant, htp, htp-binary (written, read back), cpu
  std::string against;  // float, quant, htp
  double cosine =
      0;  // of the logits of all positions (of the last layer's output when layers are limited)
  double max_rel_error = 0;  // largest difference over the range of the reference
  double snr_db = 0;
  std::optional<double> top1;  // share of positions with the same best token; none without logits
};

struct LayerComparison {
  int index = 0;     // unit: 0 embedding, 1… layers, last head
  std::string name;  // of the value: layers.3.out, logits
  std::string stage;
  std::string against;
  double cosine = 0;
  double snr_db = 0;
};

struct GreedyComparison {
  std::string stage;
  std::vector<int32_t> tokens;
  bool agrees =
      false;  // each token is the reference's best, or within 0.1 of it at the first difference
  int first_difference = -1;  // -1: none
  double margin = 0;  // at the first difference: the reference's best logit minus the chosen one's
};

struct VerifyReport {
  int tokens = 0;
  std::vector<StageComparison> stages;
  std::vector<LayerComparison> layers;
  std::vector<GreedyComparison> greedy;
  bool faithful = false;
  bool loss_ok = false;
  std::optional<LayerComparison> first_failure;       // of faithful
  std::optional<LayerComparison> first_loss_failure;  // of loss_ok
  // Values that are constant, saturate, are not finite, have a scale that does not fit, or leave
  // what calibration saw; no verdict.
  std::vector<std::string> warnings;
  bool pass() const { return faithful && loss_ok; }
};

Result<VerifyReport> VerifyModel(const VerifyOptions& options);

struct EvalOptions {
  ModelSource source;
  Stage stage = Stage::kCpu;
  std::filesystem::path text;
  int window =
      512;  // tokens; the second half of each is scored, as llama.cpp's perplexity tool does
  int max_windows = 0;  // 0: all
  // Also compare with this stage, float or quant, which is computed beside, window by window.
  std::optional<Stage> against;
  // Where the float stage's log-probabilities are kept (2 bytes × vocabulary for each scored
  // token): read where the file exists, otherwise written first. Implies `against` float.
  std::filesystem::path reference;
};

// The model's distributions of the next token with the reference's, over the scored tokens; nats.
struct TextComparison {
  std::string stage;      // the reference
  double perplexity = 0;  // the reference's
  double log_perplexity_increase = 0;
  double log_perplexity_increase_stderr = 0;      // standard error; NaN for a single token
  double log_perplexity_mean_abs_difference = 0;  // of single tokens
  double kl_mean = 0;  // Kullback-Leibler divergence of the model from the reference
  double kl_p99 = 0;   // 99th percentile
  double kl_max = 0;
  double top1 = 0;  // share of tokens for which both have the same likeliest one
};

struct EvalReport {
  double perplexity = 0;
  int64_t tokens = 0;  // scored
  int windows = 0;
  double seconds = 0;
  std::string stage;
  std::optional<TextComparison> against;
  std::vector<std::string> warnings;  // as in VerifyReport, of the quant stage
};

// kUsage: a stage that needs a package, or `against` what is neither float nor quant.
// kInvalidInput: a text shorter than a window, a window longer than the context, a reference file
// of another checkpoint or text. kCorrupt: a damaged one.
Result<EvalReport> Evaluate(const EvalOptions& options);

struct MultipleChoiceOptions {
  ModelSource source;
  Stage stage = Stage::kCpu;
  std::filesystem::path questions;  // JSONL: docs/evaluation.md
  int max_questions = 0;            // 0: all
};

// Share of questions whose best choice is the answer.
struct Accuracy {
  double value = 0;
  double standard_error = 0;  // NaN for a single question
};

struct MultipleChoiceReport {
  int questions = 0;
  Accuracy acc;        // best: the largest log-likelihood
  Accuracy acc_norm;   // the largest log-likelihood over the choice's characters
  Accuracy acc_bytes;  // over its bytes
  // Of each question's choices given its context, nats.
  std::vector<std::vector<double>> log_likelihoods;
  double seconds = 0;
  std::string stage;
};

// As EleutherAI's lm-evaluation-harness counts. kCorrupt and kInvalidInput name file, line and
// field; kInvalidInput also where a choice alone does not fit the context.
Result<MultipleChoiceReport> EvaluateMultipleChoice(const MultipleChoiceOptions& options);

struct DumpOptions {
  ModelSource source;
  Stage stage = Stage::kQuant;
  std::vector<int32_t> ids;  // or text:
  std::string text;
  std::filesystem::path output;  // folder; made
};

// Writes ids.npy (int32) and, float32, <unit output>.npy [rows, hidden] and logits.npy [rows,
// vocab]. Returns the files.
Result<std::vector<std::string>> Dump(const DumpOptions& options);

// ---- look into things
// ---------------------------------------------------------------------------------------------

// JSON about a package, a QNN context binary, a GGUF or safetensors file, or a Hugging Face folder.
Result<std::string> Inspect(const std::filesystem::path& path, const std::string& vendor_library);

struct Finding {
  std::string name;  // "libQnnHtp.so"
  bool ok = false;
  std::string found;   // path, version, size
  std::string remedy;  // where !ok
};

// What this machine has of what Hexlane uses.
std::vector<Finding> Diagnose(const std::string& vendor_library);

// A tokenizer by itself, from a package, a checkpoint or a tokenizer.json. Immutable, thread-safe.
class TextTokenizer {
 public:
  static Result<std::shared_ptr<const TextTokenizer>> Open(const std::filesystem::path& path);
  virtual ~TextTokenizer() = default;

  virtual std::vector<int32_t> Encode(std::string_view text, bool add_special,
                                      bool parse_special) const = 0;
  virtual Result<std::string> Decode(std::span<const int32_t> ids, bool skip_special) const = 0;
  // As apply_chat_template of transformers; `arguments_json` is an object of its keyword arguments
  // and further template variables, e.g. {"add_generation_prompt": true}; empty: none.
  virtual Result<std::string> RenderChat(std::string_view messages_json,
                                         std::string_view arguments_json) const = 0;
};

}  // namespace hexlane

#endif  // HEXLANE_COMPILER_H_
