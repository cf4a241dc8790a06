#include <cmath>
#include <numeric>

#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/sorting.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

void AppendUnicodeEscape(uint32_t code, std::string& out) {
  if (code >= 0x10000) {
    AppendUnicodeEscape(0xD800 + ((code - 0x10000) >> 10), out);
    code = 0xDC00 + ((code - 0x10000) & 0x3FF);
  }
  out += fmt::format("\\u{:04x}", code);
}

std::string_view ShortEscape(char32_t code) {
  switch (code) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\f': return "\\f";
    case '\b': return "\\b";
    default: return {};
  }
}

std::string JsonText(std::string_view text, bool ensure_ascii) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const Char c = CharAt(text, i);
    i += c.size;
    if (const std::string_view escape = ShortEscape(c.code); !escape.empty()) {
      out += escape;
    } else if (c.code < 0x20 || (ensure_ascii && c.code >= 0x7F)) {
      AppendUnicodeEscape(c.code, out);
    } else {
      AppendChar(c.code, out);
    }
  }
  return out + '"';
}

std::string JsonFloat(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return FloatRepr(value);
}

// json.dumps
class JsonWriter {
 public:
  JsonWriter(Env& env, const JsonStyle& style) : env_(env), style_(style) {}

  Result<void> Append(const Value& value, int level) {
    switch (value.kind()) {
      case Kind::kText: return Add(JsonText(value.text(), style_.ensure_ascii));
      case Kind::kNone: return Add("null");
      case Kind::kBool: return Add(value.boolean() ? "true" : "false");
      case Kind::kInt: return Add(fmt::format("{}", value.integer()));
      case Kind::kFloat: return Add(JsonFloat(value.real()));
      case Kind::kList:
      case Kind::kTuple: return AppendItems(value.sequence()->items, level);
      case Kind::kDict: return AppendDict(value.dict(), level);
      case Kind::kUndefined:
      case Kind::kObject: break;
    }
    return InvalidInput("Object of type {} is not JSON serializable", value.TypeName());
  }

  std::string Take() { return std::move(out_); }

 private:
  Result<void> Add(std::string_view text) {
    TRY(env_.Step(1 + text.size() / 64));
    if (out_.size() + text.size() > env_.options().max_output_bytes)
      return InvalidInput("the JSON of a value grows too long")
          .Want("at most {} bytes", env_.options().max_output_bytes);
    out_ += text;
    return {};
  }

  Result<void> NewLine(int level) {
    if (!style_.indent) return {};
    TRY(Add("\n"));
    for (int i = 0; i < level; ++i) TRY(Add(*style_.indent));
    return {};
  }

  Result<void> AppendItems(const std::vector<Value>& items, int level) {
    if (items.empty()) return Add("[]");
    TRY(Add("["));
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) TRY(Add(style_.item_separator));
      TRY(NewLine(level + 1));
      TRY(Append(items[i], level + 1));
    }
    TRY(NewLine(level));
    return Add("]");
  }

  Result<void> AppendKey(const Value& key) {
    switch (key.kind()) {
      case Kind::kText: return Append(key, 0);
      case Kind::kNone: return Add("\"null\"");
      case Kind::kBool: return Add(key.boolean() ? "\"true\"" : "\"false\"");
      case Kind::kInt: return Add(fmt::format("\"{}\"", key.integer()));
      case Kind::kFloat: return Add(fmt::format("\"{}\"", JsonFloat(key.real())));
      default:
        return InvalidInput("keys must be str, int, float, bool or None, not {}", key.TypeName());
    }
  }

  // The indices of the entries in the order to write them.
  Result<std::vector<size_t>> Order(const Dict& dict) {
    std::vector<Value> keys;
    for (const auto& entry : dict.entries) keys.push_back(entry.first);
    if (style_.sort_keys) return OrderOf(env_, keys, false);
    std::vector<size_t> order(keys.size());
    std::iota(order.begin(), order.end(), size_t{0});
    return order;
  }

  Result<void> AppendDict(const Dict& dict, int level) {
    if (dict.entries.empty()) return Add("{}");
    TRY(Add("{"));
    bool first = true;
    for (const size_t i : TRY(Order(dict))) {
      const auto& [key, value] = dict.entries[i];
      if (!first) TRY(Add(style_.item_separator));
      first = false;
      TRY(NewLine(level + 1));
      TRY(AppendKey(key));
      TRY(Add(style_.key_separator));
      TRY(Append(value, level + 1));
    }
    TRY(NewLine(level));
    return Add("}");
  }

  Env& env_;
  const JsonStyle& style_;
  std::string out_;
};

}  // namespace

Result<std::string> ToJson(Env& env, const Value& value, const JsonStyle& style) {
  JsonWriter writer(env, style);
  TRY(writer.Append(value, 0));
  return writer.Take();
}

}  // namespace hexlane::jinja
