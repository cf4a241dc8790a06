#include "runtime/tokenizer/regex_syntax.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/tokenizer/regex.h"
#include "runtime/tokenizer/utf8.h"

namespace hexlane::tokenizer {
namespace {

// Contents of character classes.
constexpr std::string_view kSpace =
    R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{N}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
constexpr std::string_view kHex = "0-9A-Fa-f";
constexpr int kMaxClassDepth = 8;

class Translator {
 public:
  Translator(std::string_view in, std::string_view where) : in_(in), where_(where) {}

  Result<std::string> Run() {
    groups_.push_back({});
    while (!AtEnd()) TRY(Item());
    if (groups_.size() != 1) return Bad("unclosed group");
    out_.append(groups_.back().implied, ')');
    return std::move(out_);
  }

 private:
  struct Group {
    size_t begin = 0;    // in out_
    size_t implied = 0;  // groups opened by (?i), to close with this one
  };

  bool AtEnd() const { return pos_ >= in_.size(); }
  bool Eat(std::string_view text) {
    if (!in_.substr(pos_).starts_with(text)) return false;
    pos_ += text.size();
    return true;
  }
  Failure Bad(std::string_view what) const {
    return Corrupt("bad regular expression: {}", what)
        .At("{}", where_)
        .Got("{}", in_.substr(0, 200));
  }
  Failure NoTranslation(std::string_view what) const {
    return Unsupported("regular expression uses {}", what)
        .At("{}", where_)
        .Got("{}", in_.substr(0, 200));
  }

  Result<void> Item() {
    switch (in_[pos_]) {
      case '\\': return Escape();
      case '[': return BeginAtom(), CharacterClass();
      case '(': return OpenGroup();
      case ')': return CloseGroup();
      case '{': return Interval();
      case '*':
      case '+':
      case '?': return Quantifier();
      default: return Literal();
    }
  }

  void BeginAtom() { atom_ = out_.size(); }
  Result<void> CharacterClass() {
    out_ += TRY(Class(0));
    return {};
  }

  Result<void> Literal() {
    BeginAtom();
    const size_t size = DecodeUtf8(in_, pos_).size;
    out_ += in_.substr(pos_, size);
    pos_ += size;
    return {};
  }

  Result<void> Quantifier() {
    out_ += in_[pos_++];
    if (!AtEnd() && (in_[pos_] == '?' || in_[pos_] == '+'))
      out_ += in_[pos_++];  // lazy, possessive: the same
    return {};
  }

  // {n} {n,} {n,m} {,m}; anything else is a literal brace.
  Result<void> Interval() {
    const size_t close = in_.find('}', pos_);
    std::string_view body = close == in_.npos ? "" : in_.substr(pos_ + 1, close - pos_ - 1);
    const bool numeric = body.find_first_not_of("0123456789,") == body.npos;
    if (!numeric || body.empty() || body == "," || std::count(body.begin(), body.end(), ',') > 1) {
      ++pos_;
      BeginAtom();
      out_ += "\\{";
      return {};
    }
    pos_ = close + 1;
    out_ += fmt::format("{{{}{}}}", body[0] == ',' ? "0" : "", body);
    const bool fixed = body.find(',') == body.npos;
    const char next = AtEnd() ? '\0' : in_[pos_];
    if (next == '?' && !fixed) {
      out_ += in_[pos_++];
    } else if (next == '?' || next == '+' || next == '*') {
      out_.insert(atom_, "(?:");  // the next quantifier repeats the whole interval
      out_ += ')';
    }
    return {};
  }

  Result<void> OpenGroup() {
    groups_.push_back({.begin = out_.size()});
    ++pos_;
    if (Eat("*")) return NoTranslation("(*...)");
    if (!Eat("?")) return out_ += '(', Result<void>{};
    for (const std::string_view head : {":", "=", "!", ">", "<=", "<!"}) {
      if (Eat(head)) return out_ += fmt::format("(?{}", head), Result<void>{};
    }
    if (Eat("<")) return NamedGroup();
    return Options();
  }

  Result<void> NamedGroup() {
    const size_t close = in_.find('>', pos_);
    if (close == in_.npos) return Bad("unclosed group name");
    out_ += fmt::format("(?<{}>", in_.substr(pos_, close - pos_));
    pos_ = close + 1;
    return {};
  }

  // (?im-im) and (?im-im: after "(?".
  Result<void> Options() {
    std::string flags;
    for (; !AtEnd() && in_[pos_] != ':' && in_[pos_] != ')'; ++pos_) {
      const char flag = in_[pos_];
      if (flag != 'i' && flag != 'm' && flag != '-')
        return NoTranslation(fmt::format("(?{}", flag));
      flags += flag == 'm' ? 's' : flag;
    }
    if (AtEnd()) return Bad("unclosed group");
    out_ += fmt::format("(?{}:", flags);
    if (in_[pos_++] == ')') {
      groups_.pop_back();
      ++groups_.back().implied;
    }
    return {};
  }

  Result<void> CloseGroup() {
    if (groups_.size() == 1) return Bad("unmatched )");
    ++pos_;
    out_.append(groups_.back().implied + 1, ')');
    atom_ = groups_.back().begin;
    groups_.pop_back();
    return {};
  }

  Result<void> Escape() {
    if (pos_ + 1 >= in_.size()) return Bad("ends with a backslash");
    BeginAtom();
    const char c = in_[pos_ + 1];
    static const auto word = fmt::format("[{}]", kWord);
    const auto emit = [&](std::string_view text) { pos_ += 2, out_ += text; };
    switch (c) {
      case 's': emit(fmt::format("[{}]", kSpace)); return {};
      case 'S': emit(fmt::format("[^{}]", kSpace)); return {};
      case 'w': emit(word); return {};
      case 'W': emit(fmt::format("[^{}]", kWord)); return {};
      case 'h': emit(fmt::format("[{}]", kHex)); return {};
      case 'H': emit(fmt::format("[^{}]", kHex)); return {};
      case 'b': emit(fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)); return {};
      case 'B': emit(fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word)); return {};
      default: break;
    }
    if (std::string_view("AzZGRXKk123456789").find(c) != std::string_view::npos)
      return emit(in_.substr(pos_, 2)), Result<void>{};
    out_ += TRY(CommonEscape());
    return {};
  }

  // Escapes that mean the same inside and outside a class. Consumes them.
  Result<std::string> CommonEscape() {
    const char c = in_[pos_ + 1];
    if (c == 'p' || c == 'P') return Property();
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == 'u') return CodeUnit();
    if (letter && std::string_view("nrtfaexdD0").find(c) == std::string_view::npos && c != 'v')
      return NoTranslation(fmt::format("\\{}", c));
    const size_t size = 1 + DecodeUtf8(in_, pos_ + 1).size;
    const std::string_view escape = in_.substr(pos_, size);
    pos_ += size;
    return std::string(c == 'v' ? "\\x0B" : escape);
  }

  Result<std::string> CodeUnit() {  // \uHHHH
    const std::string_view digits = in_.substr(pos_ + 2, 4);
    if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos)
      return Bad("\\u without four digits");
    pos_ += 6;
    return fmt::format("\\x{{{}}}", digits);
  }

  Result<std::string> Property() {
    const size_t close = in_.find('}', pos_);
    if (in_.substr(pos_ + 2, 1) != "{" || close == in_.npos) return Bad("\\p without {name}");
    std::string_view name = in_.substr(pos_ + 3, close - pos_ - 3);
    const std::string_view head = in_.substr(pos_, 2);
    pos_ = close + 1;
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kLong = {
        {{"Letter", "L"},
         {"Mark", "M"},
         {"Number", "N"},
         {"Punctuation", "P"},
         {"Symbol", "S"},
         {"Separator", "Z"},
         {"Other", "C"}}};
    for (const auto& [from, to] : kLong) {
      if (name == from) name = to;
    }
    const bool script = name.size() > 2 && IsScriptName(name);
    return fmt::format("{}{{{}{}{}}}", head, negated ? "^" : "", script ? "sc:" : "", name);
  }

  // A class from its '[' on, as one PCRE2 atom.
  Result<std::string> Class(int depth) {
    if (depth > kMaxClassDepth) return NoTranslation("deeply nested classes");
    ++pos_;
    const bool negated = Eat("^");
    std::vector<std::string> parts;  // of the intersection, each an atom
    std::string items;
    if (Eat("]")) items = "\\]";
    for (;;) {
      if (AtEnd()) return Bad("unclosed class");
      if (Eat("]")) break;
      if (Eat("&&")) {
        if (!items.empty()) parts.push_back(fmt::format("[{}]", std::exchange(items, "")));
      } else if (in_[pos_] == '[') {
        TRY(NestedClass(items, parts, depth));
      } else {
        items += TRY(ClassItem());
      }
    }
    if (parts.empty()) return fmt::format("[{}{}]", negated ? "^" : "", items);
    if (!items.empty()) parts.push_back(fmt::format("[{}]", items));
    return Intersection(parts, negated);
  }

  Result<void> NestedClass(const std::string& items, std::vector<std::string>& parts, int depth) {
    if (in_.substr(pos_).starts_with("[:")) return NoTranslation("[:name:]");
    const bool after = pos_ >= 2 && in_.substr(pos_ - 2, 2) == "&&";
    if (!items.empty() || (!after && in_[pos_ - 1] != '['))
      return NoTranslation("a union of classes");
    parts.push_back(TRY(Class(depth + 1)));
    const std::string_view rest = in_.substr(pos_);
    if (!rest.starts_with("]") && !rest.starts_with("&&"))
      return NoTranslation("a union of classes");
    return {};
  }

  static std::string Intersection(const std::vector<std::string>& parts, bool negated) {
    std::string all = "(?:";
    for (size_t i = 0; i + 1 < parts.size(); ++i) all += fmt::format("(?={})", parts[i]);
    all += parts.back() + ")";
    return negated ? fmt::format("(?:(?!{})[\\x{{0}}-\\x{{10FFFF}}])", all) : all;
  }

  Result<std::string> ClassItem() {
    if (in_[pos_] != '\\') {
      const size_t size = DecodeUtf8(in_, pos_).size;
      pos_ += size;
      return std::string(in_.substr(pos_ - size, size));
    }
    if (pos_ + 1 >= in_.size()) return Bad("ends with a backslash");
    const auto take = [&](std::string_view text) { return pos_ += 2, std::string(text); };
    switch (in_[pos_ + 1]) {
      case 's': return take(kSpace);
      case 'S': return take(kNotSpace);
      case 'w': return take(kWord);
      case 'h': return take(kHex);
      case 'b': return take("\\x08");
      default: return CommonEscape();
    }
  }

  std::string_view in_;
  std::string_view where_;
  size_t pos_ = 0;
  std::string out_;
  size_t atom_ = 0;  // where in out_ the last atom begins
  std::vector<Group> groups_;
};

}  // namespace

Result<std::string> TranslateRegex(std::string_view pattern, std::string_view where) {
  return Translator(pattern, where).Run();
}

}  // namespace hexlane::tokenizer
