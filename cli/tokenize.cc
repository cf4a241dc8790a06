// Text to ids and back; with --jsonl one request and one answer a line.
#include <iostream>
#include <iterator>
#include <limits>
#include <utility>

#include "verb.h"

namespace hexlane::cli {
namespace {

struct TokenizeSetup {
  std::string model;
  std::string text;
  bool has_text = false;
  std::string decode;  // ids, "1,2,3"
  bool is_chat = false;
  std::string chat;  // messages, JSON; empty: as the text
  bool print_prompt = false;
  bool no_special = false;  // do not add BOS and the like
  bool plain = false;       // special tokens in the text are text
  bool jsonl = false;
};

// A JSON object that does not nest deeper than what prints it can follow.
Result<Json> ParseLine(const std::string& line) {
  constexpr int kMaxDepth = 64;
  bool deep = false;
  const auto watch = [&deep](int depth, Json::parse_event_t, Json&) {
    deep |= depth > kMaxDepth;
    return !deep;
  };
  Json json = Json::parse(line, watch, false);
  if (deep) return Corrupt("JSON nests deeper than {}", kMaxDepth);
  if (json.is_discarded() || !json.is_object())
    return Corrupt("not a JSON object").Got("{}", line.substr(0, 80));
  return json;
}

Result<std::vector<int32_t>> IdsOf(const Json& list) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    const bool fits = id.is_number_integer() && id.get<int64_t>() >= 0 &&
                      id.get<int64_t>() <= std::numeric_limits<int32_t>::max();
    if (!fits) return InvalidInput("ids must be integers from 0").Got("{}", Dump(id));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// {"text"} → {"ids","ids_with_special"}; {"ids"} → {"text"}; {"messages","kwargs"} →
// {"prompt","ids"}.
Result<Json> Answer(const TextTokenizer& tokenizer, const Json& request) {
  if (request.contains("text") && request["text"].is_string()) {
    const std::string text = request["text"];
    return Json{{"ids", tokenizer.Encode(text, false, true)},
                {"ids_with_special", tokenizer.Encode(text, true, true)}};
  }
  if (request.contains("ids") && request["ids"].is_array()) {
    const std::vector<int32_t> ids = TRY(IdsOf(request["ids"]));
    const bool skip = request.contains("skip_special") && request["skip_special"] == true;
    return Json{{"text", TRY(tokenizer.Decode(ids, skip))}};
  }
  if (request.contains("messages")) {
    const Json kwargs = request.value("kwargs", Json::object());
    const std::string prompt = TRY(tokenizer.RenderChat(Dump(request["messages"]), Dump(kwargs)));
    return Json{{"prompt", prompt}, {"ids", tokenizer.Encode(prompt, false, true)}};
  }
  return Corrupt("a request without 'text', 'ids' or 'messages'")
      .Got("{}", Dump(request).substr(0, 80));
}

// Every request gets a line: an answer, or {"error"}.
Result<bool> Lines(const TextTokenizer& tokenizer) {
  bool good = true;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    const Result<Json> request = ParseLine(line);
    const Result<Json> answer = request ? Answer(tokenizer, *request) : request;
    good &= answer.has_value();
    PrintJson(answer ? *answer : Json{{"error", answer.error().ToString()}});
    TRY(FinishOutput());
  }
  TRY(CheckInterrupt());
  return good;
}

std::string ReadInput() { return std::string(std::istreambuf_iterator<char>(std::cin), {}); }

Result<Json> Decoded(const TextTokenizer& tokenizer, const TokenizeSetup& setup) {
  const bool is_array = setup.decode.starts_with("[");
  const Json list = Json::parse(is_array ? setup.decode : "[" + setup.decode + "]", nullptr, false);
  if (list.is_discarded()) return Usage("--decode takes ids").Got("{}", setup.decode).Want("1,2,3");
  const std::vector<int32_t> ids = TRY(IdsOf(list));
  return Json{{"ids", ids}, {"text", TRY(tokenizer.Decode(ids, false))}};
}

Result<Json> Once(const TextTokenizer& tokenizer, const TokenizeSetup& setup) {
  if (!setup.decode.empty()) return Decoded(tokenizer, setup);
  std::string text = setup.has_text ? setup.text : setup.chat.empty() ? ReadInput() : setup.chat;
  TRY(CheckInterrupt());
  if (setup.is_chat) text = TRY(tokenizer.RenderChat(text, R"({"add_generation_prompt": true})"));
  const bool special = !setup.is_chat && !setup.no_special;
  Json json = {{"ids", tokenizer.Encode(text, special, !setup.plain)}, {"text", text}};
  if (setup.is_chat) json["prompt"] = text;
  return json;
}

// --chat MODEL: what follows the flag is not its messages.
void SettleModel(TokenizeSetup& setup) {
  if (setup.model.empty()) setup.model = std::exchange(setup.chat, "");
}

Result<bool> Tokenize(TokenizeSetup& setup, const Common& common) {
  SettleModel(setup);
  if (setup.model.empty()) return Usage("MODEL is required");
  const auto tokenizer = TRY(TextTokenizer::Open(setup.model));
  if (setup.jsonl) return Lines(*tokenizer);
  const Json json = TRY(Once(*tokenizer, setup));
  if (setup.print_prompt && !common.json) {
    Show("{}", json["text"].get<std::string>());
    return true;
  }
  if (!setup.decode.empty() && !common.json)
    Show("{}\n", json["text"].get<std::string>());
  else
    PrintJson(json);
  return true;
}

}  // namespace

std::shared_ptr<Verb> AddTokenize(CLI::App& app) {
  auto verb = AddVerb(app, "tokenize", "text to token ids and back");
  auto setup = std::make_shared<TokenizeSetup>();
  verb->app->add_option("MODEL", setup->model, "package, checkpoint or tokenizer.json; required");
  auto* text = verb->app->add_option("-p,--prompt", setup->text, "text (default: standard input)");
  verb->app->add_option("--decode", setup->decode, "ids to turn into text, e.g. 1,2,3");
  auto* chat =
      verb->app
          ->add_option("--chat", setup->chat,
                       "messages as JSON: [{\"role\":…,\"content\":…}] (default: as the text)")
          ->expected(0, 1);
  verb->app->add_flag("--print-prompt", setup->print_prompt,
                      "print the rendered text instead of JSON");
  verb->app->add_flag("--no-special", setup->no_special, "do not add BOS and the like");
  verb->app->add_flag("--plain", setup->plain, "special tokens in the text are plain text");
  verb->app->add_flag(
      "--jsonl", setup->jsonl,
      "requests on standard input, one a line: {\"text\"}, {\"ids\"} or {\"messages\",\"kwargs\"}");
  verb->action = [setup, text, chat, common = verb->common]() -> Result<bool> {
    setup->has_text = text->count() > 0;
    setup->is_chat = chat->count() > 0;
    return Tokenize(*setup, *common);
  };
  return verb;
}

}  // namespace hexlane::cli
