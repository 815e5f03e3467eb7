#!/usr/bin/env bash
# A caller's process stays as it is: no public call reaches a function that pins, waits for children that
# are not its own, changes signals or limits, or forks without exec. The linker throws away what the calls
# of kgym.h do not reach, so the undefined names of both libraries are all that is left to look at. The
# libraries export exactly the calls that kgym.h declares.
source "$(dirname "$0")/lib.sh"
log=$(make --no-print-directory -s library 2>&1) || { tail -20 <<<"$log"; verdict reach 1 "build failed"; }
bad=0
complain() { echo "$1: $2"; bad=$((bad + 1)); }

# posix_spawn, and waitid and kill of the child that it made, are what a pool needs (src/gym/pool/spawn.c).
forbidden='(pthread_)?(sched_)?setaffinity(_np)?|sched_set.*|pthread_setsched.*|pthread_setname_np'
forbidden+='|prctl|arch_prctl|personality|syscall|unshare|setns|clone|clone3|ptrace'
forbidden+='|signal|sysv_signal|bsd_signal|sigaction|sigprocmask|pthread_sigmask|sigblock|sigsetmask|sighold'
forbidden+='|sigrelse|sigignore|sigset|sigpause|sigsuspend|sigaltstack|siginterrupt|signalfd|sigwait.*'
forbidden+='|alarm|setitimer|timer_create|raise|killpg|wait|waitpid|wait3|wait4'
forbidden+='|fork|_Fork|vfork|daemon|forkpty|system|popen|exec.*|fexecve|setrlimit.*|prlimit.*|nice|setpriority'
forbidden+='|chdir|fchdir|chroot|umask|setsid|setpgid|setuid|setgid|sete.id|setre.id|setres.id|setgroups'
forbidden+='|setenv|putenv|unsetenv|clearenv|setlocale|exit|_exit|quick_exit|atexit|pthread_atfork'

undefined() { nm "${@:2}" "$1" 2>/dev/null | awk 'NF > 1 && $(NF - 1) == "U" {sub(/@.*/, "", $NF); print $NF}'; }
exported() { nm "${@:2}" "$1" 2>/dev/null | awk '$2 ~ /^[A-Z]$/ && $2 !~ /[UA]/ {sub(/@.*/, "", $3); print $3}'; }
declared=$(sed -n 's/^KGYM_API .*\b\(kgym_[a-z0-9_]*\)(.*/\1/p' src/gym/kgym.h | sort)

look() { # NAME FLAGS...
  local lib=$1 name
  [ -n "$(undefined "$@")" ] || complain "$lib" "no undefined names, which cannot be"
  while IFS= read -r name; do complain "$lib" "a public call reaches $name"; done \
    < <(undefined "$@" | sed 's/^__\(.*\)_chk$/\1/' | grep -xE "$forbidden" | sort -u)
  while IFS= read -r name; do complain "$lib" "exports $name, which kgym.h does not declare"; done \
    < <(comm -23 <(exported "$@" | sort) <(echo "$declared"))
  while IFS= read -r name; do complain "$lib" "lacks $name, which kgym.h declares"; done \
    < <(comm -13 <(exported "$@" | sort) <(echo "$declared"))
}
shared=(build/release/libkgym.so.*)
look "${shared[0]}" -D
look build/release/libkgym.a
verdict reach "$bad" "faults in what the public calls reach"
