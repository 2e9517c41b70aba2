package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// block is a fenced block of a page; rest is what stands after the language.
var (
	block  = regexp.MustCompile("(?ms)^```sh([^\n]*)\n(.*?)^```$")
	remark = regexp.MustCompile(`(?m)(^|\s)#\s`)
)

// watched runs curl and writes down its status. A stream that is cut after the
// time the page gives it has done what it should.
const watched = `curl() {
  command curl -w '%{stderr}\nstatus %{http_code}\n' "$@" 2>>"$STATUS" || { code=$?; [ $code = 28 ] || return $code; }
}
say() { echo "block $1" >>"$STATUS"; }
`

// TestTours runs the pages of docs/tour as people do, by turns in the shells that
// are there: no call is refused but in blocks that say so. In make test-all each is
// run in both and twice, and a second run works like the first.
func TestTours(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Dir: t.TempDir()})
	pages, err := filepath.Glob("../../docs/tour/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("tours: %v, %v", pages, err)
	}
	var shells []string
	for _, name := range []string{"bash", "zsh"} {
		if path, err := exec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	for turn, path := range shells {
		for i, page := range pages {
			if i%len(shells) != turn && !dbtest.Everything() {
				continue // in the other shell
			}
			t.Run(filepath.Base(path)+" "+filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				walkTour(t, s, page, []string{path, home})
				if dbtest.Everything() {
					walkTour(t, s, page, []string{path, home})
				}
			})
		}
	}
}

// walkTour runs the blocks of a page in one shell, given with a home of its own.
func walkTour(t *testing.T, s *server.Server, page string, at []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	script, refused := tourScript(t, string(text), s)
	status := filepath.Join(t.TempDir(), "status")
	cmd := exec.CommandContext(t.Context(), at[0], "-e", "-c", script)
	cmd.Dir = filepath.Dir(s.Dir)
	cmd.Env = append(os.Environ(), "STATUS="+status, "HOME="+at[1], "XDG_CONFIG_HOME=", "HEARTH_DATA_DIR="+s.Dir,
		"PATH="+filepath.Dir(server.Binary(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", page, err, out.String())
	}
	marks, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	checkMarks(t, page, string(marks), refused)
}

// tourScript is the blocks of a page with this server and its key in them, and
// which of them show a refusal.
func tourScript(t *testing.T, text string, s *server.Server) (string, map[int]bool) {
	t.Helper()
	b, refused := strings.Builder{}, map[int]bool{}
	b.WriteString(watched)
	for i, m := range block.FindAllStringSubmatch(text, -1) {
		if remark.MatchString(m[2]) {
			t.Errorf("a block has a comment, which zsh takes for a command:\n%s", m[2])
		}
		refused[i] = strings.TrimSpace(m[1]) == "refused"
		b.WriteString("say " + strconv.Itoa(i) + "\n" + m[2])
	}
	return strings.NewReplacer("http://localhost:3000", s.URL, "KEY=hearth_…", "KEY="+s.Key).Replace(b.String()), refused
}

// checkMarks holds the status of each call to what its block says.
func checkMarks(t *testing.T, page, marks string, refused map[int]bool) {
	t.Helper()
	at, calls := 0, 0
	for line := range strings.Lines(marks) {
		kind, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.Atoi(value)
		switch {
		case kind == "block":
			at = n
		case kind == "status":
			calls++
			if bad := n == 0 || n >= 400; bad != refused[at] {
				t.Errorf("%s: a call of block %d has status %d", page, at, n)
			}
		}
	}
	if calls == 0 {
		t.Errorf("%s calls nothing", page)
	}
}
