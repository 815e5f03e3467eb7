"""open
x