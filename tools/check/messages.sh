#!/usr/bin/env bash
# Messages are for people: no decision reads one. Fails on a call that compares or searches, in src/, with an
# argument that holds a member or a variable named `message` (of an error, a record, a reply), and on a comparison
# of one of its bytes but the first, which tells whether there is a message. What another program has said may be read
# where it comes in, under another name. messages.txt names the files that may: FILE: reason.
source "$(dirname "$0")/lib.sh"
allowed=$(sed -n 's/^\(src[^:]*\): .*/\1/p' tools/check/messages.txt 2>/dev/null)
out=$(files | grep '^src/.*\.[ch]$' | grep -vxF "$allowed" | xargs -r perl -0777 -ne '
  my $text = $_;
  my $call = qr/\b(?:str(?:n?case)?(?:n?cmp|str|chr|rchr|chrnul|spn|cspn|pbrk)|strncmp|strcoll|strsep|strtok(?:_r)?|mem(?:cmp|mem|chr|rchr)|sscanf|strto[a-z]+|ato[a-z]+|regexec|fnmatch)\s*(\((?:[^()"]++|"(?:[^"\\]|\\.)*"|(?1))*\))/;
  my $message = qr/\bmessage\b(?!\s*\()/;
  while ($text =~ /$call/g) {
    my ($at, $args) = ($-[0], $1);
    $args =~ s,"(?:[^"\\]|\\.)*",,g;
    next unless $args =~ $message;
    my $line = 1 + (substr($text, 0, $at) =~ tr/\n//);
    print "$ARGV:$line: compares or searches a message\n";
  }
  while ($text =~ /${message}\s*\[\s*(?!0\s*\])[^\]]*\]\s*[=!<>]=/g) {
    my $line = 1 + (substr($text, 0, $-[0]) =~ tr/\n//);
    print "$ARGV:$line: compares a byte of a message\n";
  }')
[ -z "$out" ] || printf '%s\n' "$out"
verdict messages "$([ -z "$out" ] && echo 0 || wc -l <<<"$out")" "decisions that read a message"
