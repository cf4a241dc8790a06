#include "runtime/jinja/print.h"

#include <algorithm>
#include <cmath>

#include "runtime/jinja/objects.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

// Python's choice of quotes and escapes for repr(str).
std::string QuotedText(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t i = 0; i < text.size();) {
    const Char c = CharAt(text, i);
    i += c.size;
    if (c.code == static_cast<unsigned char>(quote) || c.code == '\\') {
      out += '\\';
      out += static_cast<char>(c.code);
    } else if (c.code == '\n' || c.code == '\r' || c.code == '\t') {
      out += c.code == '\n' ? "\\n" : c.code == '\r' ? "\\r" : "\\t";
    } else if (IsPrintable(c.code)) {
      AppendChar(c.code, out);
    } else if (c.code < 0x100) {
      out += fmt::format("\\x{:02x}", uint32_t{c.code});
    } else {
      out += c.code < 0x10000 ? fmt::format("\\u{:04x}", uint32_t{c.code})
                              : fmt::format("\\U{:08x}", uint32_t{c.code});
    }
  }
  return out + quote;
}

class Printer {
 public:
  explicit Printer(Env& env) : env_(env) {}

  Result<void> Append(const Value& value) {
    switch (value.kind()) {
      case Kind::kText: return Add(QuotedText(value.text()));
      case Kind::kUndefined: return Add("Undefined");
      case Kind::kNone: return Add("None");
      case Kind::kBool: return Add(value.boolean() ? "True" : "False");
      case Kind::kInt: return Add(fmt::format("{}", value.integer()));
      case Kind::kFloat: return Add(FloatRepr(value.real()));
      case Kind::kList: return AppendItems("[", value.sequence()->items, "]");
      case Kind::kTuple:
        return AppendItems("(", value.sequence()->items,
                           value.sequence()->items.size() == 1 ? ",)" : ")");
      case Kind::kDict: return AppendDict(value.dict());
      case Kind::kObject: return AppendObject(value);
    }
    return {};
  }

  std::string Take() { return std::move(out_); }

 private:
  Result<void> Add(std::string_view text) {
    TRY(env_.Step(1 + text.size() / 64));
    if (out_.size() + text.size() > env_.options().max_output_bytes)
      return InvalidInput("a printed value grows too long")
          .Want("at most {} bytes", env_.options().max_output_bytes);
    out_ += text;
    return {};
  }

  Result<void> AppendItems(std::string_view open, const std::vector<Value>& items,
                           std::string_view close) {
    TRY(Add(open));
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) TRY(Add(", "));
      TRY(Append(items[i]));
    }
    return Add(close);
  }

  Result<void> AppendObject(const Value& value) {
    const DictView* view = value.As<DictView>();
    if (view == nullptr) return Add(value.object().Repr());
    TRY(Add(value.TypeName()));
    return AppendItems("([", view->sequence().items, "])");
  }

  Result<void> AppendDict(const Dict& dict) {
    TRY(Add("{"));
    for (size_t i = 0; i < dict.entries.size(); ++i) {
      if (i > 0) TRY(Add(", "));
      TRY(Append(dict.entries[i].first));
      TRY(Add(": "));
      TRY(Append(dict.entries[i].second));
    }
    return Add("}");
  }

  Env& env_;
  std::string out_;
};

}  // namespace

std::string FloatRepr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Result<std::string> Repr(Env& env, const Value& value) {
  Printer printer(env);
  TRY(printer.Append(value));
  return printer.Take();
}

Result<std::string> Str(Env& env, const Value& value) {
  if (value.IsText()) return value.text();
  if (value.IsUndefined()) return std::string();
  return Repr(env, value);
}

}  // namespace hexlane::jinja
