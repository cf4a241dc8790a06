#include "runtime/jinja/template.h"

#include <nlohmann/json.hpp>

#include "runtime/jinja/ast.h"
#include "runtime/jinja/lexer.h"
#include "runtime/jinja/objects.h"
#include "runtime/jinja/parser.h"

namespace hexlane::jinja {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxTemplateBytes = 4u << 20;
constexpr int kMaxJsonDepth = 150;

Result<Value> FromJson(Env& env, const Json& json, int depth);

Result<Value> ArrayFromJson(Env& env, const Json& json, int depth) {
  std::vector<Value> items;
  for (const Json& item : json) items.push_back(TRY(FromJson(env, item, depth + 1)));
  return env.MakeList(std::move(items));
}

Result<Value> ObjectFromJson(Env& env, const Json& json, int depth) {
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, item] : json.items())
    entries.emplace_back(TRY(env.MakeText(key)), TRY(FromJson(env, item, depth + 1)));
  return env.MakeDict(std::move(entries));
}

Result<Value> FromJson(Env& env, const Json& json, int depth) {
  if (depth > kMaxJsonDepth)
    return InvalidInput("a value for the chat template nests too deep")
        .Want("at most {} levels", kMaxJsonDepth);
  switch (json.type()) {
    case Json::value_t::null: return Value(None{});
    case Json::value_t::boolean: return Value(json.get<bool>());
    case Json::value_t::number_integer: return Value(Int{json.get<int64_t>()});
    case Json::value_t::number_unsigned: return Value(static_cast<Int>(json.get<uint64_t>()));
    case Json::value_t::number_float: return Value(json.get<double>());
    case Json::value_t::string: return env.MakeText(json.get_ref<const std::string&>());
    case Json::value_t::array: return ArrayFromJson(env, json, depth);
    case Json::value_t::object: return ObjectFromJson(env, json, depth);
    default: return InvalidInput("a value for the chat template is not JSON");
  }
}

Result<std::shared_ptr<Scope>> GlobalScope(Env& env) {
  auto scope = std::make_shared<Scope>();
  for (const Builtin& row : Globals())
    scope->Set(row.name, TRY(env.MakeObject(std::make_shared<BoundBuiltin>(row, std::nullopt))));
  return scope;
}

Result<std::shared_ptr<Scope>> ContextScope(Env& env, const Json& context) {
  auto scope = std::make_shared<Scope>(Scope{TRY(GlobalScope(env)), {}});
  for (const auto& [key, value] : context.get_ref<const Json::object_t&>())
    scope->variables.emplace_back(key, TRY(FromJson(env, value, 0)));
  return scope;
}

}  // namespace

Result<Template> Template::Parse(std::string_view source) {
  if (source.size() > kMaxTemplateBytes)
    return Corrupt("a chat template is too long")
        .Want("at most {} bytes", kMaxTemplateBytes)
        .Got("{}", source.size());
  Parser parser(TRY(Tokenize(source)));
  return Template(TRY(parser.Run()));
}

Result<std::string> Template::Render(const nlohmann::ordered_json& context,
                                     const RenderOptions& options) const {
  if (!context.is_object()) return InvalidInput("the context of a chat template is not an object");
  std::string out;
  Env env(options);
  Frame frame{env, TRY(ContextScope(env, context)), &out};
  InnerScope scope(frame);
  TRY(Execute(program_->body, frame));
  return out;
}

}  // namespace hexlane::jinja
