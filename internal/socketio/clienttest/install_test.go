package clienttest

import (
	"strings"
	"testing"
)

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, out, want string
	}{
		{"no network", "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n", "EAI_AGAIN"},
		{"a closed port", "npm error code ECONNREFUSED\n", "ECONNREFUSED"},
		{"not served", "npm error code E404\nnpm error 404 Not Found - GET https://registry.example/zod\n", "E404"},
		{"a lock file that does not fit", "npm error code EUSAGE\nnpm error `npm ci` can only install packages when in sync\n", ""},
		{"not the same package", "npm error code EINTEGRITY\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := unreachable(tt.out); got != tt.want {
				t.Errorf("unreachable() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	got := listen(t, strings.NewReader("# 3 ms\nok one\n# a\n# b\nok two: three\n1..2\nlast words\n"))
	if want := (account{count: 2, planCount: 2, planned: true, notes: "last words\n"}); got != want {
		t.Errorf("listen() = %+v, want %+v", got, want)
	}
	if cut := listen(t, strings.NewReader("ok one\nTypeError\n")); cut.planned || cut.notes != "TypeError\n" {
		t.Errorf("listen() of a script that broke = %+v, want no plan and its last words", cut)
	}
}

// The folder is named after what is installed, and found from any package.
func TestKey(t *testing.T) {
	t.Parallel()
	if got := key(t); len(got) != 16 {
		t.Errorf("key() = %q, want 16 characters", got)
	}
}
