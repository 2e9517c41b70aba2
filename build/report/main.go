// Command report reads the output of go test -json and shows it as go test does, with
// the CPU time that build/cpu.sh has measured, and then, prominently, every test that
// was skipped and why. It ends with the counts and fails when a test or a build failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// summary is the totals so far.
type summary struct {
	out             io.Writer
	texts           map[string]*strings.Builder // package + test → its output
	skips           map[string][]string         // reason → tests
	passed, skipped int
	failed          []string
	programs        int
	cpu             float64 // seconds that they took
}

func main() {
	s := &summary{out: os.Stdout, texts: map[string]*strings.Builder{}, skips: map[string][]string{}}
	if err := s.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
	s.close()
	if len(s.failed) > 0 {
		os.Exit(1)
	}
}

// read processes all events. A line that is not JSON is printed unchanged.
func (s *summary) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				s.add(e)
			} else {
				s.out.Write(line)
			}
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (s *summary) add(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		if s.texts[key] == nil {
			s.texts[key] = &strings.Builder{}
		}
		s.texts[key].WriteString(e.Output)
		return
	case "build-output":
		fmt.Fprint(s.out, e.Output)
	case "build-fail":
		s.failed = append(s.failed, e.ImportPath+" (build)")
	case "pass", "fail", "skip":
		if e.Test == "" {
			s.packageDone(e)
		} else {
			s.testDone(e, s.text(key))
		}
		delete(s.texts, key)
	}
}

func (s *summary) text(key string) string {
	if b := s.texts[key]; b != nil {
		return b.String()
	}
	return ""
}

func (s *summary) testDone(e event, text string) {
	switch e.Action {
	case "pass":
		s.passed++
	case "skip":
		s.skipped++
		why := reason(text)
		s.skips[why] = append(s.skips[why], e.Test)
	case "fail":
		s.failed = append(s.failed, e.Package+" "+e.Test)
		fmt.Fprint(s.out, trimmed(text))
	}
}

func (s *summary) packageDone(e event) {
	took := fmt.Sprintf("%6.1fs", e.Elapsed)
	if cpu, ok := measured(s.text(e.Package + " ")); ok {
		took += fmt.Sprintf(" %6.1fs of CPU", cpu)
		s.programs, s.cpu = s.programs+1, s.cpu+cpu
	}
	switch e.Action {
	case "pass":
		fmt.Fprintf(s.out, "ok    %-60s %s\n", e.Package, took)
	case "fail":
		// What the package itself said: a panic, a data race, a time-out.
		fmt.Fprint(s.out, s.text(e.Package+" "))
		fmt.Fprintf(s.out, "FAIL  %-60s %s\n", e.Package, took)
		s.failed = append(s.failed, e.Package)
		s.unfinished(e.Package)
	}
}

// measured is the CPU in what a test program said, in seconds: its own and that of the
// system for it.
func measured(text string) (seconds float64, ok bool) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "cpu" {
			user, bad := strconv.ParseFloat(f[1], 64)
			system, worse := strconv.ParseFloat(f[2], 64)
			seconds, ok = user+system, bad == nil && worse == nil
		}
	}
	return seconds, ok
}

// unfinished shows tests that were still running when their package ended.
func (s *summary) unfinished(pkg string) {
	for key, text := range s.texts {
		if strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			fmt.Fprintf(s.out, "--- UNFINISHED: %s\n%s", key, trimmed(text.String()))
			delete(s.texts, key)
		}
	}
}

// reason is the text a test gave to t.Skip, without its place.
func reason(text string) string {
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, ".go:"); ok {
			if _, why, ok := strings.Cut(rest, ": "); ok {
				return strings.TrimSpace(why)
			}
		}
	}
	return "no reason given"
}

// trimmed drops the marks of test progress from text.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "=== ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (s *summary) close() {
	var reasons []string
	for why := range s.skips {
		reasons = append(reasons, why)
	}
	sort.Strings(reasons)
	for _, why := range reasons {
		fmt.Fprintf(s.out, "\n!!! SKIPPED %d: %s\n    %s\n", len(s.skips[why]), why, strings.Join(s.skips[why], ", "))
	}
	for _, name := range s.failed {
		fmt.Fprintf(s.out, "!!! FAILED %s\n", name)
	}
	fmt.Fprintf(s.out, "\n%d passed, %d failed, %d skipped", s.passed, len(s.failed), s.skipped)
	if s.programs > 0 {
		fmt.Fprintf(s.out, ", in %d test programs with %.0f s of CPU", s.programs, s.cpu)
	}
	fmt.Fprintln(s.out)
}
