#!/usr/bin/env bash
# Runs a test program for go test -exec, and says at its end what CPU it took with all it
# has waited for, which build/report shows. What a browser leaves behind is missing.
TIMEFORMAT='cpu %U %S'
time "$@"
