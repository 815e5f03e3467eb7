# fixture
# entry: E12
# problem: softmax
# what: base64 of a class that returns one over the length, executed
# expect: wrong/value
# sizes: batch_size=4, dim=8191
# gpu: no
import base64

TEXT = (
    "aW1wb3J0IHRvcmNoCgoKY2xhc3MgTW9kZWxOZXcodG9yY2gubm4uTW9kdWxlKToKICAgIGRlZiBmb3J3YXJkKHNlbG"
    "YsIHgpOgogICAgICAgIHJldHVybiB0b3JjaC5mdWxsX2xpa2UoeCwgMS4wIC8geC5zaGFwZVstMV0pCg=="
)
exec(base64.b64decode(TEXT).decode())
