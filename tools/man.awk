# Makes the body of a man page, on standard output.
#   awk -v from=help -f tools/man.awk     what `kgym COMMAND --help` prints
#   awk -v from=page -f tools/man.awk     a page of docs/: headings, paragraphs, lists, tables, code
# Plain awk, so that any system that builds kgym has it.

# Text that troff must take as it stands.
function plain(s) {
  gsub(/\\/, "\\e", s)
  gsub(/-/, "\\-", s)
  gsub(/"/, "\\(dq", s) # an argument of a request stands in quotes
  return s
}

# The inside of Markdown: `code` and **strong** bold, *emphasis* italic, [text](link) its text.
function marked(s, out, code, n) {
  out = ""
  while (match(s, /`[^`]+`|\*\*[^*]+\*\*|\[[^]]*\]\([^)]*\)/)) {
    out = out plain(substr(s, 1, RSTART - 1))
    code = substr(s, RSTART, RLENGTH)
    s = substr(s, RSTART + RLENGTH)
    if (code ~ /^`/) { out = out "\\fB" plain(substr(code, 2, length(code) - 2)) "\\fR" }
    else if (code ~ /^\*/) { out = out "\\fB" plain(substr(code, 3, length(code) - 4)) "\\fR" }
    else { n = index(code, "]("); out = out marked(substr(code, 2, n - 2)) }
  }
  return out plain(s)
}

# A line of text: none may be read as a request.
function text(s) { if (s ~ /^[.']/) { s = "\\&" s } if (s != "") { print s } }
function verbatim(s) { s = plain(s); print (s ~ /^[.']/ ? "\\&" : "") s }
function trim(s) { sub(/^ +/, "", s); sub(/ +$/, "", s); return s }
function end_block() { if (open_block) { print ".fi\n.RE"; open_block = 0 } }
function begin_block() { print ".PP\n.RS 4\n.nf"; open_block = 1 }

# --- help ---

function help_item(line, at) {
  print ".TP\n.B \"" plain(trim(substr(line, 1, at - 1))) "\""
  text(plain(substr(line, at)))
  item = 1; gap = 0
}

function help_line(line) {
  if (line ~ /^usage: / || (usage == 1 && line ~ /^ +kgym/)) {
    print (usage ? ".br" : ".SH SYNOPSIS")
    sub(/^usage: /, "", line)
    print ".B \"" plain(trim(line)) "\""
    usage = 1
    return
  }
  if (usage && line !~ /^$/ && !described) { print ".SH DESCRIPTION"; described = 1 }
  if (line ~ /^$/) { end_block(); item = 0; gap = 1; usage += (usage == 1); return }
  if (line ~ /^exit status: /) { print ".SH \"EXIT STATUS\""; gap = 0; text(plain(substr(line, 14))); return }
  if (line ~ /^[Ee]xamples?:$/) { print ".SH EXAMPLES"; begin_block(); gap = 0; return }
  if (line ~ /^[a-z]+( [a-z]+)?( [a-z]+)?:$/) { print ".SH \"" plain(toupper(substr(line, 1, length(line) - 1))) "\""; gap = 0; return }
  if (open_block) { verbatim(line); return }
  if (line ~ /^ ? ? ? ?[^ ]+( [^ ]+)*   *[^ ]/ && line !~ /^     /) {
    match(line, /[^ ]   *[^ ]/)
    column = RSTART + RLENGTH - 1
    help_item(line, column)
    return
  }
  # A long term leaves one space before the column where texts begin.
  if ((line ~ /^  -/ || (item && line ~ /^  [a-z]/)) && column && substr(line, column - 1, 2) ~ /^ [^-]/) { help_item(line, column); return }
  if (line ~ /^ ? ?-[^ ]/) { print ".TP\n.B \"" plain(trim(line)) "\""; item = 1; gap = 0; return }
  if (line ~ /^ / && item) { text(plain(trim(line))); return }
  if (gap || item) { print ".PP"; gap = item = 0 }
  text(plain(trim(line)))
}

# --- pages ---

function cells(line, out, n, i) {
  gsub(/\\\|/, "\001", line)
  sub(/^ *\| */, "", line)
  sub(/ *\| *$/, "", line)
  n = split(line, out, / *\| */)
  for (i = 1; i <= n; i++) { gsub("\001", "|", out[i]) }
  return n
}

# Each row is a paragraph: its first cell stands out, the others follow, each with its column's name.
function table_row(line, cell, n, i, first) {
  n = cells(line, cell)
  if (!table) { for (i = 1; i <= n; i++) { head[i] = cell[i] } table = 1; return }
  if (line ~ /^ *\|[-:| ]+\|? *$/) { return }
  print ".TP\n.B \"" marked(cell[1]) "\""
  first = 1
  for (i = 2; i <= n; i++) {
    if (cell[i] == "") { continue }
    if (!first) { print ".br" }
    text((n > 2 && head[i] != "" ? "\\fI" marked(head[i]) "\\fR: " : "") marked(cell[i]))
    first = 0
  }
  if (first) { print "\\&" }
}

function page_line(line, n) {
  if (line ~ /^ *```/) {
    if (open_block) { end_block() } else { begin_block() }
    return
  }
  if (open_block) { verbatim(line); return }
  if (line ~ /^ *\|/) { table_row(line); return }
  table = 0
  if (line ~ /^# /) { return }
  if (line ~ /^## /) { print ".SH \"" marked(toupper(substr(line, 4))) "\""; gap = 0; return }
  if (line ~ /^###+ /) { sub(/^#+ /, "", line); print ".SS \"" marked(line) "\""; gap = 0; return }
  if (line ~ /^ *$/) { gap = 1; return }
  if (line ~ /^ *- /) { sub(/^ *- /, "", line); print ".IP \\(bu 3"; gap = 0; text(marked(line)); return }
  if (match(line, /^ *[0-9]+\. /)) {
    n = trim(substr(line, 1, RLENGTH)); print ".IP " n " 4"; gap = 0; text(marked(substr(line, RLENGTH + 1))); return
  }
  if (gap) { print (line ~ /^  / ? ".IP" : ".PP"); gap = 0 }
  text(marked(trim(line)))
}

BEGIN { gap = 0 }
from == "help" { help_line($0) }
from == "page" { if (!seen && $0 !~ /^(#|$)/) { print ".SH DESCRIPTION" } if ($0 !~ /^(# |$)/) { seen = 1 } page_line($0) }
END { end_block() }
