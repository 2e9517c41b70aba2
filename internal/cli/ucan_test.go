package cli_test

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/cli"
)

// runs runs a command that must end with code, and gives what it printed.
func runs(t *testing.T, code int, in string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	p := cli.Program{In: strings.NewReader(in), Out: &out, Err: &errs}
	if got := p.Run(t.Context(), args); got != code {
		t.Fatalf("hearth %s = %d, want %d: %s%s", strings.Join(args, " "), got, code, &out, &errs)
	}
	return out.String() + errs.String()
}

// TestTokens makes a key and tokens as a newcomer does, and reads them back.
func TestTokens(t *testing.T) {
	t.Parallel()
	const oracle = "did:ixo:entity:175d7824ba25002e4ec206365e206236"
	file := filepath.Join(t.TempDir(), "ucan.key")
	if got := runs(t, 1, "", "ucan", "invoke", "--key-file", file, "--audience", oracle); !strings.Contains(got, "hearth ucan key") {
		t.Errorf("without a key: %q, want how to make one", got)
	}
	made := runs(t, 0, "", "ucan", "key", "--key-file", file)
	if again := runs(t, 0, "", "ucan", "key", "--key-file", file); again != made || !strings.HasPrefix(made, "did   did:key:z6Mk") {
		t.Errorf("ucan key gives %q, then %q; want one did:key", made, again)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v %v, want one for its owner only", info, err)
	}
	if got := runs(t, 1, "", "ucan", "invoke", "--key-file", file, "--data-dir", t.TempDir()); !strings.Contains(got, "--audience") {
		t.Errorf("without an audience: %q, want the flag named", got)
	}
	for _, tt := range []struct{ args, want string }{
		{"invoke", "good      as an invocation"},
		{"delegate --can memory/read --with ixo:memory", "not good  as an invocation"},
	} {
		token := runs(t, 0, "", append(append([]string{"ucan"}, strings.Fields(tt.args)...), "--key-file", file, "--audience", oracle)...)
		got := runs(t, 0, token, "ucan", "inspect", "-")
		if !strings.Contains(got, tt.want) || !strings.Contains(got, "good      as a delegation") || !strings.Contains(got, "audience  "+oracle) {
			t.Errorf("inspect of %s:\n%s\nwant %q", tt.args, got, tt.want)
		}
	}
	// A key speaks for a person who has it; only the server knows whether she does.
	const amina = "did:ixo:entity:0123456789abcdef0123456789abcdef"
	token := runs(t, 0, "", "ucan", "invoke", "--key-file", file, "--audience", oracle, "--did", amina)
	if got := runs(t, 0, token, "ucan", "inspect", "-"); !strings.Contains(got, "issuer    "+amina) || !strings.Contains(got, "unknown   as an invocation: only the server knows the keys of "+amina) {
		t.Errorf("inspect of a token for %s:\n%s", amina, got)
	}
	for _, tt := range []struct{ args, want string }{
		{"invoke --did nobody", "--did is not a DID"},
		{"delegate --did did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", "the did:key of another key"},
		{"invoke --ttl 1h", "longer than 15m0s"},
		{"delegate --ttl 9000h", "longer than 8760h0m0s"},
	} {
		if got := runs(t, 2, "", append(append([]string{"ucan"}, strings.Fields(tt.args)...), "--key-file", file, "--audience", oracle)...); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
	if got := runs(t, 1, "", "ucan", "inspect", "nonsense"); !strings.Contains(got, "malformed") {
		t.Errorf("inspect of nonsense: %q", got)
	}
}

// TestChat talks to a server, hears of a failure and goes on.
func TestChat(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ucan.key")
	runs(t, 0, "", "ucan", "key", "--key-file", file)
	withServer(t, nil, func(g *greeting) {
		audience := ""
		for line := range strings.Lines(g.String()) {
			if words := strings.Fields(line); len(words) == 2 && words[0] == "oracle" {
				audience = words[1]
			}
		}
		at := []string{"chat", "--url", "http://" + g.addr("hearth"), "--key-file", file, "--audience", audience}
		got := runs(t, 0, "/fail timeout\n/echo warm hearth\n\n", at...)
		if !strings.Contains(got, "[failed]") || !strings.Contains(got, "warm hearth\n") || strings.Contains(got, "> ") || strings.Contains(got, "Ctrl") {
			t.Errorf("chat prints %q, want a failure and then an answer, and nothing for people", got)
		}
		session := newSession(t, "http://"+g.addr("hearth"), runs(t, 0, "", "ucan", "invoke", "--key-file", file, "--audience", audience))
		if got := runs(t, 0, "/echo again\n", append(at, "--session", session)...); !strings.Contains(got, "again") {
			t.Errorf("the same session again prints %q", got)
		}
		if got := runs(t, 1, "", append(at, "--session", "$nobody")...); !strings.Contains(got, `you have no session "$nobody" at http://`) || !strings.Contains(got, "single quotes") {
			t.Errorf("a session that is not there: %q", got)
		}
		if got := runs(t, 1, "", append(at, "--model", "nope")...); !strings.Contains(got, `the server does not offer the model "nope"; it has hearth`) {
			t.Errorf("a model that is not there: %q", got)
		}
	})
}

// newSession makes a session by hand.
func newSession(t *testing.T, base, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/sessions", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	req.Header.Set("X-Auth-Type", "ucan")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.UnmarshalRead(res.Body, &made); err != nil || made.SessionID == "" {
		t.Fatalf("new session = %d, %v", res.StatusCode, err)
	}
	return made.SessionID
}

// TestChatWithoutServer: the first thing a newcomer may have forgotten.
func TestChatWithoutServer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ucan.key")
	runs(t, 0, "", "ucan", "key", "--key-file", file)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + free.Addr().String()
	_ = free.Close()
	got := runs(t, 1, "", "chat", "--url", base, "--key-file", file, "--audience", "did:ixo:entity:175d7824ba25002e4ec206365e206236")
	if !strings.Contains(got, "is the server running at "+base+"?") {
		t.Errorf("without a server: %q", got)
	}
}
