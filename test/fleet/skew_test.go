package fleet

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// whole skips a test that takes minutes, unless make fleet runs it.
func whole(t *testing.T) {
	t.Helper()
	if !isWhole() {
		t.Skip("it takes minutes: make fleet runs it")
	}
}

// isWhole reports whether this is make fleet.
func isWhole() bool { return os.Getenv("HEARTH_FLEET_ROUNDS") != "" }

// skewVariable moves the clock of a program that skewed has built, by seconds.
const skewVariable = "FLEET_TEST_SKEW"

// skewed builds a program whose wall clock a variable moves. Its monotonic clock, as that
// of a machine with a wrong clock, is right.
func skewed(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(dir, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const now = "	sec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), now) != 1 {
		t.Fatal("time.Now of this Go is not as expected")
	}
	moved := `package time

import "syscall"

var skewOfTests = func() (s int64) {
	text, _ := syscall.Getenv("` + skewVariable + `")
	sign := int64(1)
	for _, c := range []byte(text) {
		switch {
		case c == '-':
			sign = -1
		case c >= '0' && c <= '9':
			s = 10*s + int64(c-'0')
		}
	}
	return s * sign
}()
`
	path, err := server.BuildWith(t.TempDir(), map[string]string{
		filepath.Join(dir, "time.go"): strings.Replace(string(text), now, now+"	sec += skewOfTests\n", 1),
		filepath.Join(dir, "skew.go"): moved,
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSkew: with clocks that are wrong by a minute either way no run is interrupted, and no
// key of a handset is swallowed, whichever nodes take part.
func TestSkew(t *testing.T) {
	t.Parallel()
	whole(t)
	slow := modeltest.Script{modeltest.Text("Begin ")}
	for range 200 { // longer than it takes until a run that nobody has counts as lost
		slow = append(slow, modeltest.Pause(200*time.Millisecond), modeltest.Text("word "))
	}
	model := modeltest.Start(append(slow, modeltest.Finish("stop")))
	t.Cleanup(model.Close)
	program, url, dir := skewed(t), dbtest.URL(t), t.TempDir()
	skews := []int{0, -60, 60}
	var all []*server.Server
	for i, skew := range skews {
		s, err := server.Start(server.Options{
			Binary: program, Dir: filepath.Join(dir, fmt.Sprint(i)), DatabaseURL: url, Ready: patience,
			Env: append(sharedKeys(), fmt.Sprintf("%s=%d", skewVariable, skew), "LLM_BASE_URL="+model.URL, "USSD_RATE_LIMIT=0"),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Log(s.Output())
			}
		})
		all = append(all, s)
	}
	until(t, "the nodes say how wrong they are", func() bool { return areSkewed(t, all, skews) })
	var talks sync.WaitGroup
	for _, s := range all {
		talks.Go(func() {
			if end := talk(t, s); !strings.Contains(end, `"status":"finished"`) {
				t.Errorf("a run ends with %s", end)
			}
		})
	}
	want := dial(t, all[:1], 0)
	for caller := 1; caller <= 30; caller++ {
		if got := dial(t, all, caller); !slices.Equal(got, want) {
			t.Errorf("a call over three nodes is %q, over one %q", got, want)
		}
	}
	talks.Wait()
}

// areSkewed reports whether each node knows of its clock.
func areSkewed(t *testing.T, all []*server.Server, skews []int) bool {
	t.Helper()
	for i, s := range all {
		for n, err := range owner(t, s).Operations.Nodes(t.Context(), client.PageQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if off := n.SkewMS - int64(skews[i])*1000; n.Self && (off < -2000 || off > 2000) {
				return false
			}
		}
	}
	return true
}

// talk asks the oracle something at a node and gives the last frame of its answer.
func talk(t *testing.T, s *server.Server) (last string) {
	token := tokenFor(t, s.Oracle())
	ask := func(path, body string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return ""
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Auth-Type", "ucan")
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode/100 != 2 {
			t.Errorf("POST %s = %d %s, %v", path, res.StatusCode, text, err)
		}
		return string(text)
	}
	_, rest, _ := strings.Cut(ask("/sessions", ""), `"sessionId":"`)
	session, _, _ := strings.Cut(rest, `"`)
	frames := strings.Split(strings.TrimSpace(ask("/messages/"+session, `{"message":"Tell me.","stream":true}`)), "\n")
	return frames[len(frames)-1]
}

// dial makes a call with the same key several times in a row, each step at another node, and
// gives the screens.
func dial(t *testing.T, at []*server.Server, caller int) (screens []string) {
	t.Helper()
	text := ""
	for i := range 6 {
		got, err := at[(caller+i)%len(at)].Client(1).Do(t.Context(), "POST", "/api/ussd", object{
			"sessionId": fmt.Sprint("call-", caller), "serviceCode": "*2233#", "phoneNumber": fmt.Sprintf("+2547000%05d", caller), "text": text,
		})
		if err != nil || got.Status != http.StatusOK {
			t.Fatalf("step %d = %+v, %v", i, got, err)
		}
		screens = append(screens, string(got.Body))
		text = strings.TrimPrefix(text+"*1", "*")
	}
	return screens
}
