#!/usr/bin/env bash
# Proves that the README's commands work on a machine that has nothing: makes a bare Debian 12 root with
# git and make only, clones the tree as committed into it, and runs `make demo`, `make demo-gym` and `make test` there.
#
#   tools/bare.sh [--keep] [--root FOLDER] [--mirror URL] [COMMAND ...]
#
#   --keep           leave the root, for a look into it; the next run with the same --root goes on with it
#   --root FOLDER    make it there (default: a new folder below /var/tmp; about 1.5 GB)
#   --mirror URL     packages come from there (default: where this host's apt gets Debian 12)
#   COMMAND          run these instead of "make demo", "make demo-gym" and "make test", one argument each
#
# Exit status: 0 when all commands gave 0, 1 when one did not, 2 when the root could not be made.
# Needs root, a Debian-like host with apt, and debootstrap, which is installed when it is missing. PyTorch
# is not there, so this is the case without. The commands run in mount and IPC namespaces of their own, with the root
# as its only file system, so that no mount is left whatever happens. /proc, /sys and /dev are the host's;
# /tmp and /dev/shm are fresh. The network and apt's settings are the host's as well.
set -euo pipefail

die() {
  echo "bare: $*" >&2
  exit 2
}

release=bookworm
tree=$(cd "$(dirname "$0")/.." && pwd)
keep=no root= mirror=
while [ $# -gt 0 ]; do
  case $1 in
  --keep) keep=yes ;;
  --root) root=${2:?--root needs a folder}; shift ;;
  --mirror) mirror=${2:?--mirror needs a URL}; shift ;;
  --help | -h)
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
    exit 0
    ;;
  -*) die "no option $1 (--help lists them)" ;;
  *) break ;;
  esac
  shift
done
[ $# -gt 0 ] || set -- 'make demo' 'make demo-gym' 'make test'
mark=kgym-bare # a root of this script's
if [ -n "$root" ] && [ -n "$(ls -A "$root" 2>/dev/null)" ] && [ ! -e "$root/etc/$mark" ]; then
  die "$root: not empty, and not made by this script"
fi
[ "$(id -u)" = 0 ] || die "only root can make a root file system"

# Lines "URL SUITE COMPONENT": where this host gets the release from.
sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v r="$release" '$2 == r || index($2, r "-") == 1' | sort -u
}
found=
[ -n "$mirror" ] || found=$(sources)
[ -n "$mirror" ] || mirror=$(awk -v r="$release" '$2 == r && $3 == "main" {print $1; exit}' <<<"$found")
[ -n "$mirror" ] || die "this host's apt does not know Debian 12 ($release): name a mirror with --mirror"
if ! command -v debootstrap >/dev/null; then
  echo "bare: installing debootstrap"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap >/dev/null ||
    die "cannot install debootstrap"
fi

[ -n "$root" ] || root=$(mktemp -d /var/tmp/kgym-bare-XXXXXX)
mkdir -p "$root"
chmod 755 "$root" # it becomes /, which other users must be able to enter
root=$(cd "$root" && pwd)
log=$(mktemp)

# Ends what still works in the namespace, which is all that holds its mounts.
finish() {
  local p space
  space=$(cat "$log.space" 2>/dev/null || true)
  if [ -n "$space" ]; then
    for p in /proc/[0-9]*; do
      if [ "$(readlink "$p/ns/mnt" 2>/dev/null)" = "$space" ]; then kill -KILL "${p#/proc/}" 2>/dev/null || true; fi
    done
  fi
  rm -f "$log" "$log.space"
  if [ $keep = yes ]; then
    echo "bare: $root is kept"
  else
    rm -rf --one-file-system "$root"
  fi
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

if [ ! -e "$root/etc/$mark" ]; then
  echo "bare: making a Debian 12 root with git and make only"
  include=git,make
  case $mirror in https:*) include+=,ca-certificates ;; esac
  debootstrap --variant=minbase --include=$include $release "$root" "$mirror" >"$log" 2>&1 || {
    tail -20 "$log" >&2
    die "debootstrap has failed"
  }
  : >"$root/etc/$mark"
fi

# The host's settings, so that apt reaches what the host's does.
if [ -n "$found" ]; then sed 's/^/deb /' <<<"$found" >"$root/etc/apt/sources.list"; fi
apt-config dump | grep -E '^Acquire::(https?|Check|Retries|ForceIPv|Allow)[A-Za-z0-9:-]* ' \
  >"$root/etc/apt/apt.conf.d/90host" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
if [ -d /etc/ssl/certs ] && [ -d "$root/etc/ssl/certs" ]; then cp -rL /etc/ssl/certs/. "$root/etc/ssl/certs/"; fi

rm -rf "$root/srv/kgym"
git clone -q --no-hardlinks "file://$tree" "$root/srv/kgym" || die "cannot clone $tree"
echo "bare: cloned $(git -C "$tree" log -1 --format='%h %s')"
if [ -n "$(git -C "$tree" status --porcelain --untracked-files=no)" ]; then
  echo "bare: changes that are not committed are not in it"
fi

# Runs the command "$1" with the root as /; sets rc.
inside='
  set -e
  echo "$(readlink /proc/self/ns/mnt)" >"$2"
  mount --bind "$1" "$1"
  cd "$1"
  for d in dev sys; do mount --rbind /$d $d; done
  mount -t proc proc proc
  mount -t tmpfs -o mode=1777 tmpfs tmp
  mount -t tmpfs -o mode=1777 tmpfs dev/shm
  mkdir -p .host
  pivot_root . .host
  cd /
  umount -l .host
  rmdir .host
  cd /srv/kgym
  exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    ${no_proxy:+no_proxy="$no_proxy"} sh -c "$3"'
run() {
  rc=0
  unshare --mount --ipc --propagation private bash -c "$inside" inside "$root" "$log.space" "$1" </dev/null || rc=$?
}

failed=0
for command in "$@"; do
  echo "bare: $command"
  start=$SECONDS
  run "$command"
  echo "bare: $command: exit status $rc after $((SECONDS - start)) s"
  [ $rc -eq 0 ] || failed=1
done
exit $failed
