// "…" % args and "…".format(args).
#include "runtime/jinja/builtins.h"
#include "runtime/jinja/format_number.h"
#include "runtime/jinja/literals.h"
#include "runtime/jinja/operators.h"
#include "runtime/jinja/print.h"
#include "runtime/jinja/text.h"

namespace hexlane::jinja {
namespace {

using Kind = Value::Kind;

class PercentFormatter {
 public:
  PercentFormatter(Env& env, std::string_view format, const Value& args)
      : env_(env), format_(format), args_(args) {}

  Result<Value> Run() {
    while (pos_ < format_.size()) {
      const size_t percent = std::min(format_.find('%', pos_), format_.size());
      out_ += format_.substr(pos_, percent - pos_);
      pos_ = percent + 1;
      if (percent < format_.size()) TRY(Convert());
      if (out_.size() > env_.options().max_output_bytes) break;  // MakeText refuses it
    }
    if (args_.Is(Kind::kTuple) && next_ < args_.sequence()->items.size())
      return InvalidInput("not all arguments converted during string formatting");
    if (next_ == 0 && !args_.Is(Kind::kTuple) && !args_.Is(Kind::kDict) && !named_)
      return InvalidInput("not all arguments converted during string formatting");
    return env_.MakeText(std::move(out_));
  }

 private:
  char Peek() const { return pos_ < format_.size() ? format_[pos_] : '\0'; }

  Result<Value> NextArgument() {
    if (!args_.Is(Kind::kTuple)) {
      if (next_++ == 0) return args_;
    } else if (next_ < args_.sequence()->items.size()) {
      return args_.sequence()->items[next_++];
    }
    return InvalidInput("not enough arguments for format string");
  }

  Result<Value> NamedArgument() {
    const size_t end = format_.find(')', pos_);
    if (end == std::string_view::npos) return InvalidInput("incomplete format key");
    if (!args_.Is(Kind::kDict)) return InvalidInput("format requires a mapping");
    const std::string_view key = format_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    named_ = true;
    const Value* value = args_.dict().Find(key);
    if (value == nullptr) return InvalidInput("KeyError: '{}'", key);
    return *value;
  }

  void ReadFlags(Conversion& conversion) {
    for (;; ++pos_) {
      switch (Peek()) {
        case '-': conversion.align = '<'; break;
        case '+': conversion.sign = '+'; break;
        case ' ':
          if (conversion.sign == '-') conversion.sign = ' ';
          break;
        case '#': conversion.alternate = true; break;
        case '0': conversion.fill = U'0'; break;
        default: return;
      }
    }
  }

  Result<int> ReadWidth(int limit) {
    if (Peek() != '*') return ReadCount(format_, pos_, limit);
    ++pos_;
    const Int width = TRY(IntArg(TRY(NextArgument()), 0));
    if (width < 0 || width > limit) return InvalidInput("a format width is out of range");
    return static_cast<int>(width);
  }

  Result<void> Convert() {
    TRY(env_.Step());
    if (Peek() == '%') {
      out_ += format_[pos_++];
      return {};
    }
    std::optional<Value> value;
    if (Peek() == '(') value = TRY(NamedArgument());
    Conversion conversion;
    ReadFlags(conversion);
    conversion.width = std::max(0, TRY(ReadWidth(kMaxFormatWidth)));
    if (Peek() == '.') {
      ++pos_;
      conversion.precision = std::max(0, TRY(ReadWidth(kMaxFormatPrecision)));
    }
    if (pos_ >= format_.size()) return InvalidInput("incomplete format");
    conversion.type = format_[pos_++];
    if (!value) value = TRY(NextArgument());
    out_ += TRY(Formatted(*value, conversion));
    return {};
  }

  Result<std::string> Formatted(const Value& value, Conversion& conversion) {
    const bool is_text = std::string_view("sra").find(conversion.type) != std::string_view::npos;
    if (conversion.fill == U'0') {
      if (is_text || conversion.type == 'c' || conversion.align == '<') conversion.fill = U' ';
      if (conversion.fill == U'0') conversion.align = '=';
    }
    if (is_text || conversion.type == 'c')
      if (conversion.align == '\0') conversion.align = '>';
    if (conversion.type == 'i' || conversion.type == 'u') conversion.type = 'd';
    if (std::string_view("srdxXoceEfFgGa").find(conversion.type) == std::string_view::npos)
      return InvalidInput("unsupported format character '{}'", conversion.type);
    if (conversion.type != 'r' && conversion.type != 'a')
      return FormatValue(env_, value, conversion);
    conversion.type = 's';
    return FormatValue(env_, Value(TRY(Repr(env_, value))), conversion);
  }

  Env& env_;
  const std::string_view format_;
  const Value& args_;
  std::string out_;
  size_t pos_ = 0;
  size_t next_ = 0;     // the next argument by position
  bool named_ = false;  // some argument was taken by name
};

class BraceFormatter {
 public:
  BraceFormatter(Env& env, std::string_view format, const Args& args)
      : env_(env), format_(format), args_(args) {}

  Result<Value> Run() {
    while (pos_ < format_.size()) {
      const char c = format_[pos_];
      if ((c == '{' || c == '}') && pos_ + 1 < format_.size() && format_[pos_ + 1] == c) {
        out_ += c;
        pos_ += 2;
      } else if (c == '{') {
        TRY(Field());
      } else if (c == '}') {
        return InvalidInput("Single '}}' encountered in format string");
      } else {
        out_ += c;
        ++pos_;
      }
      if (out_.size() > env_.options().max_output_bytes) break;  // MakeText refuses it
    }
    return env_.MakeText(std::move(out_));
  }

 private:
  Result<void> Field() {
    TRY(env_.Step());
    const size_t end = format_.find('}', pos_);
    if (end == std::string_view::npos) return InvalidInput("expected '}}' before end of string");
    std::string_view field = format_.substr(pos_ + 1, end - pos_ - 1);
    pos_ = end + 1;
    if (field.find('{') != std::string_view::npos)
      return InvalidInput("a format specification inside a format specification is not supported");
    const size_t colon = std::min(field.find(':'), field.size());
    const std::string_view spec = field.substr(std::min(colon + 1, field.size()));
    field = field.substr(0, colon);
    const size_t bang = std::min(field.find('!'), field.size());
    const std::string_view conversion = field.substr(std::min(bang + 1, field.size()));
    Value value = TRY(Lookup(field.substr(0, bang)));
    if (conversion == "r") value = Value(TRY(Repr(env_, value)));
    if (conversion == "s") value = Value(TRY(Str(env_, value)));
    out_ += TRY(Formatted(value, spec));
    return {};
  }

  // name.attribute[key]…
  Result<Value> Lookup(std::string_view field) {
    const size_t end = std::min(field.find_first_of(".["), field.size());
    Value value = TRY(Argument(field.substr(0, end)));
    field.remove_prefix(end);
    while (!field.empty()) {
      const bool is_item = field[0] == '[';
      const size_t stop = is_item ? field.find(']') : field.find_first_of(".[", 1);
      if (is_item && stop == std::string_view::npos)
        return InvalidInput("Missing ']' in format string");
      const std::string_view name = field.substr(1, std::min(stop, field.size()) - 1);
      const std::optional<Int> index = is_item ? ParseInt(name) : std::nullopt;
      const Value key = index ? Value(*index) : Value(std::string(name));
      value = TRY(is_item ? GetItem(env_, value, key) : GetAttribute(env_, value, name));
      field.remove_prefix(std::min(is_item ? stop + 1 : stop, field.size()));
    }
    return value;
  }

  Result<Value> Argument(std::string_view name) {
    if (!name.empty() && !ParseInt(name)) {
      const Value* value = args_.Named(name);
      if (value == nullptr) return InvalidInput("KeyError: '{}'", name);
      return *value;
    }
    const Int index = name.empty() ? static_cast<Int>(next_++) : *ParseInt(name);
    if (index < 0 || index >= static_cast<Int>(args_.positional.size()))
      return InvalidInput("Replacement index {} out of range for positional args tuple", index);
    return args_.positional[static_cast<size_t>(index)];
  }

  static bool IsAlign(std::string_view text) {
    return text.size() == 1 && std::string_view("<>^=").find(text[0]) != std::string_view::npos;
  }

  // [[fill]align][sign][#][0][width][grouping][.precision][type]
  static Result<Conversion> ReadSpec(std::string_view spec, bool is_number) {
    Conversion conversion;
    size_t pos = 0;
    const auto skip = [&](std::string_view any) {
      const bool found = pos < spec.size() && any.find(spec[pos]) != std::string_view::npos;
      return found ? spec[pos++] : '\0';
    };
    const size_t fill = spec.empty() ? 0 : CharAt(spec, 0).size;
    if (fill < spec.size() && IsAlign(spec.substr(fill, 1))) {
      conversion.fill = CharAt(spec, 0).code;
      pos = fill;
    }
    conversion.align = skip("<>^=");
    if (const char sign = skip("+- ")) conversion.sign = sign;
    conversion.alternate = skip("#") != '\0';
    if (skip("0") != '\0' && conversion.align == '\0') {
      conversion.fill = U'0';
      conversion.align = is_number ? '=' : '<';
    }
    conversion.width = std::max(0, TRY(ReadCount(spec, pos, kMaxFormatWidth)));
    conversion.grouping = skip(",_");
    if (skip(".") != '\0')
      conversion.precision = std::max(0, TRY(ReadCount(spec, pos, kMaxFormatPrecision)));
    conversion.type = skip("sdxXobceEfFgGn%");
    if (pos != spec.size()) return InvalidInput("Invalid format specifier '{}'", spec);
    return conversion;
  }

  Result<std::string> Formatted(const Value& value, std::string_view spec) {
    if (spec.empty()) return Str(env_, value);
    Conversion conversion = TRY(ReadSpec(spec, value.IsNumber()));
    const bool plain = conversion.type == '\0';
    const bool number_type = !plain && conversion.type != 's';
    if (number_type && value.IsText())
      return InvalidInput("Unknown format code '{}' for object of type 'str'", conversion.type);
    if (conversion.type == 'n') {  // as in the "C" locale: no grouping of its own
      if (conversion.grouping != '\0')
        return InvalidInput("Cannot specify '{}' with 'n'.", conversion.grouping);
      conversion.type = value.IsInteger() ? 'd' : 'g';
    }
    if (!plain) return FormatValue(env_, value, conversion);
    conversion.type = value.IsInteger() ? 'd' : 's';
    if (value.Is(Kind::kFloat) && conversion.precision >= 0) conversion.type = 'g';
    if (value.Is(Kind::kFloat) && conversion.align == '\0') conversion.align = '>';
    return FormatValue(env_, value, conversion);
  }

  Env& env_;
  const std::string_view format_;
  const Args& args_;
  std::string out_;
  size_t pos_ = 0;
  size_t next_ = 0;  // the next argument of {}
};

}  // namespace

Result<Value> PercentFormat(Env& env, std::string_view format, const Value& args) {
  return PercentFormatter(env, format, args).Run();
}

Result<Value> BraceFormat(Env& env, std::string_view format, const Args& args) {
  return BraceFormatter(env, format, args).Run();
}

}  // namespace hexlane::jinja
