#!/usr/bin/env bash
# Installs a build, or removes what was installed. `make install` and `make uninstall` call it.
#   PREFIX=/usr/local DESTDIR= tools/install.sh install build/release
#   PREFIX=/usr/local DESTDIR= tools/install.sh uninstall
# PREFIX is where kgym will be used, DESTDIR a folder that stands for / meanwhile (for packages).
# The list lib/kgym/installed names each file, and each folder that was not there before, so that
# nothing of them stays. It is written first: an installation that was interrupted can be removed too.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local} stage=${DESTDIR:-}
case $prefix$stage in # the list of installed files has one name a line
  *[[:cntrl:]]*) echo "install: PREFIX and DESTDIR must not hold a line break or another control character" >&2; exit 2 ;;
esac
prefix=${prefix%"${prefix##*[!/]}"} stage=${stage%/}
case $prefix in
  '') echo "install: PREFIX must be a folder below /, not / itself" >&2; exit 2 ;;
  /*) ;;
  *) echo "install: PREFIX must be an absolute path, not '$prefix'" >&2; exit 2 ;;
esac
list=$prefix/lib/kgym/installed
files=() sources=() modes=()

put() { modes+=("$1") sources+=("$2") files+=("$prefix/$3"); } # MODE SOURCE TARGET
put_tree() { # FOLDER TARGET [PATTERN]
  local f
  while IFS= read -r f; do put 644 "$1/$f" "$2/$f"; done \
    < <(cd "$1" && find . -type f -name "${3:-*}" -not -path '*/__pycache__/*' | sed 's|^\./||' | sort)
}

# What is installed, and where: docs/install.md.
contents() {
  local f section page
  version=$(sed -n 's/^.define KG_VERSION "\(.*\)"/\1/p' src/base/version.h)
  put 755 "$b/kgym" bin/kgym
  put 755 "$b/kgym-runner" lib/kgym/kgym-runner
  for f in libkgym_probe.so null.so kgops/libkgops.so kgops/kgops.h kgops-counted/libkgops.so \
    kgops-stub/libkgops.so; do put 644 "$b/$f" "lib/kgym/$f"; done
  put_tree harness share/kgym/harness '*.py'
  for f in problems/*/; do
    case $f in problems/candidates/ | problems/torch_candidates/) ;; *) put_tree "${f%/}" "share/kgym/${f%/}" ;; esac
  done
  put 644 src/gym/kgym.h include/kgym.h
  put 644 "$b/libkgym.a" lib/libkgym.a
  put 644 "$b/libkgym.so.$version" "lib/libkgym.so.$version"
  put link "libkgym.so.$version" "lib/libkgym.so.${version%%.*}"
  put link "libkgym.so.${version%%.*}" lib/libkgym.so
  put text "$(pc)" lib/pkgconfig/kgym.pc
  put 644 "$b/printed/kgym.bash" share/bash-completion/completions/kgym
  put 644 "$b/printed/_kgym" share/zsh/site-functions/_kgym
  for page in "$b"/printed/*.[1-8]; do put 644 "$page" "share/man/man${page##*.}/${page##*/}"; done
  put 644 LICENSE share/doc/kgym/LICENSE
  put_tree examples share/doc/kgym/examples
  put_tree docs share/doc/kgym '*.md'
}

pc() {
  cat <<EOF
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib
program=\${prefix}/bin/kgym

Name: kgym
Description: Judges kernels that language models write
Version: $version
Requires.private: jansson
Cflags: -I\${includedir}
Libs: -L\${libdir} -lkgym
Libs.private: -lm -lpthread
EOF
}

# Folders of the new files that are not there yet, outermost first, or that an earlier list has.
folders() {
  local f d
  for f in "${files[@]}" "$list"; do
    d=${f%/*}
    while [ -n "$d" ]; do printf '%s\n' "$d"; d=${d%/*}; done
  done | sort -u | while IFS= read -r d; do
    { [ -d "$stage$d" ] && ! grep -qsxF "d $d" "$stage$list"; } || printf '%s\n' "$d"
  done
}

# The linker's cache knows the usual places only, and is none of a staged folder's business.
tell_linker() {
  case $stage$prefix in /usr | /usr/local) [ "$(id -u)" != 0 ] || ldconfig 2>/dev/null || true ;; esac
}

install_all() {
  local i old=() made target
  b=$1
  contents
  for i in "${!files[@]}"; do
    case ${modes[i]} in
      link | text) ;;
      *) [ -r "${sources[i]}" ] || { echo "install: ${sources[i]} is missing: run \`make\` first" >&2; exit 2; } ;;
    esac
  done
  mapfile -t old < <(sed -n 's/^f //p' "$stage$list" 2>/dev/null)
  made=$(folders)
  mkdir -p "$stage${list%/*}"
  {
    sed 's/^/d /' <<<"$made"
    printf 'f %s\n' "${files[@]}" "${old[@]}" "$list" | sort -u
  } >"$stage$list.new"
  mv "$stage$list.new" "$stage$list"
  for i in "${!files[@]}"; do
    target=$stage${files[i]}
    mkdir -p "${target%/*}"
    case ${modes[i]} in
      link) ln -sfn "${sources[i]}" "$target" ;;
      text) rm -f "$target" && printf '%s\n' "${sources[i]}" >"$target" ;;
      *) install -m "${modes[i]}" "${sources[i]}" "$target" ;;
    esac
  done
  for target in "${old[@]}"; do # of an earlier version
    printf '%s\n' "${files[@]}" "$list" | grep -qxF "$target" || rm -f "$stage$target"
  done
  { sed 's/^/d /' <<<"$made"; printf 'f %s\n' "${files[@]}" "$list"; } >"$stage$list"
  tell_linker
  echo "installed kgym $version below $stage$prefix"
}

uninstall_all() {
  local d kept=/ old=() made=()
  [ -f "$stage$list" ] || { echo "uninstall: nothing is installed below $stage$prefix (no $stage$list)" >&2; exit 2; }
  mapfile -t old < <(sed -n 's/^f //p' "$stage$list")
  mapfile -t made < <(sed -n 's/^d //p' "$stage$list" | sort -r)
  find "$stage$prefix/share/kgym" -type d -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
  for d in "${old[@]}"; do rm -f "$stage$d"; done
  for d in "${made[@]}"; do
    [ -d "$stage$d" ] || continue
    rmdir "$stage$d" 2>/dev/null && continue
    [[ $kept == "$d"/* ]] || echo "uninstall: $stage$d holds other files: it stays"
    kept=$d
  done
  tell_linker
  echo "removed kgym from $stage$prefix"
}

case ${1:-} in
  install) install_all "${2:?a build folder}" ;;
  uninstall) uninstall_all ;;
  *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
