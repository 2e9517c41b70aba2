package main

import (
	"strings"
	"testing"
)

func show(t *testing.T, lines string) (*summary, string) {
	t.Helper()
	var out strings.Builder
	s := &summary{out: &out, texts: map[string]*strings.Builder{}, skips: map[string][]string{}}
	if err := s.read(strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	s.close()
	return s, out.String()
}

func TestReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     []string
		failed   int
	}{
		{
			"pass",
			`{"Action":"output","Package":"p","Test":"T","Output":"noise\n"}
{"Action":"pass","Package":"p","Test":"T"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"cpu 2.250 0.500\n"}
{"Action":"pass","Package":"p","Elapsed":1.5}
{"Action":"output","Package":"q","Output":"cpu 0.250 0.000\n"}
{"Action":"pass","Package":"q","Elapsed":0.2}`,
			[]string{"ok    p", "1.5s    2.8s of CPU\n", "1 passed, 0 failed, 0 skipped, in 2 test programs with 3 s of CPU\n"},
			0,
		},
		{
			"skip",
			`{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:3: no PostgreSQL here\n"}
{"Action":"output","Package":"p","Test":"T","Output":"--- SKIP: T (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"T"}`,
			[]string{"!!! SKIPPED 1: no PostgreSQL here\n    T\n", "0 passed, 0 failed, 1 skipped"},
			0,
		},
		{
			"fail",
			`{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"T"}
{"Action":"fail","Package":"p"}`,
			[]string{"got 1, want 2", "FAIL  p", "!!! FAILED p T"},
			2,
		},
		{
			"panic",
			`{"Action":"output","Package":"p","Test":"T","Output":"panic: oh\n"}
{"Action":"fail","Package":"p"}`,
			[]string{"UNFINISHED: p T", "panic: oh"},
			1,
		},
		{
			"build",
			`{"Action":"build-output","ImportPath":"p","Output":"a.go:1: undefined: x\n"}
{"Action":"build-fail","ImportPath":"p"}`,
			[]string{"undefined: x", "!!! FAILED p (build)"},
			1,
		},
		{"not json", "plain text\n", []string{"plain text\n"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, out := show(t, tt.in)
			for _, want := range tt.want {
				if !strings.Contains(out, want) {
					t.Errorf("output = %q, want %q in it", out, want)
				}
			}
			if len(s.failed) != tt.failed {
				t.Errorf("failed = %v, want %d", s.failed, tt.failed)
			}
		})
	}
	if _, out := show(t, `{"Action":"output","Package":"p","Test":"T","Output":"noise\n"}`+"\n"+`{"Action":"pass","Package":"p","Test":"T"}`); strings.Contains(out, "noise") {
		t.Errorf("output = %q, want nothing of a test that passed", out)
	}
}
