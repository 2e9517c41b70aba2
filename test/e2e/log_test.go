package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestLogsAndSecrets sends secrets through every door there is and then looks
// for them in the logs and in the files.
func TestLogsAndSecrets(t *testing.T) {
	t.Parallel()
	const ownerKey = "canary-owner-key-0123456789-0123456789"
	const secret = "whsec_Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LTAxMjM0NTY3ODk="
	dir := t.TempDir()
	p := launch(t, "PORT=0", "HOST=127.0.0.1", "HEARTH_DATA_DIR="+dir, "HEARTH_OWNER_KEY="+ownerKey, "LOG_LEVEL=trace", allow)
	ctx, c := t.Context(), with(t, p.address("hearth"), ownerKey)
	made, err := c.Keys.Create(ctx, draft("canary"), client.IdempotencyKey("canary-idempotency-key"))
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.Keys.Rotate(ctx, made.ID, client.Rotation{}, client.IdempotencyKey("canary-idempotency-key-2"))
	if err != nil {
		t.Fatal(err)
	}
	url, got := receiver(t, 0)
	hook, err := c.Webhooks.Create(ctx, client.WebhookDraft{URL: url + "?token=canary-token", Events: []string{"*"}, Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Webhooks.Ping(ctx, hook.ID); err != nil {
		t.Fatal(err)
	}
	receive(t, got, "the ping")
	wrong := "canary-wrong-key-0123456789-0123456789"
	if _, err := with(t, p.address("hearth"), wrong).Keys.Current(ctx); client.CodeOf(err) != "KEY_INVALID" {
		t.Errorf("a wrong key: %v", err)
	}
	raw := &server.Client{URL: p.address("hearth"), Key: ownerKey}
	for _, path := range []string{"/v1/api-keys?token=canary-query", "/v1/canary-path/none", "/canary-path"} {
		if _, err := raw.Do(ctx, "POST", path, map[string]string{"name": "canary-body"}); err != nil {
			t.Fatal(err)
		}
	}
	hostile(t, strings.TrimPrefix(p.address("hearth"), "http://"))
	secrets := []string{ownerKey, made.Text, next.Text, "canary-idempotency-key", secret, strings.TrimPrefix(secret, "whsec_"), wrong, "canary-query", "canary-body"}
	// While it runs, so that the write-ahead log is there too.
	checkFiles(t, dir, secrets)
	if code := p.stop(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	checkFiles(t, dir, secrets)
	checkLog(t, p.log.String(), secrets)
	if text := p.out.String(); strings.Contains(text, ownerKey) {
		t.Errorf("an owner key that was given is shown:\n%s", text)
	}
}

// hostile sends headers that try to begin a line of their own in the log.
func hostile(t *testing.T, addr string) {
	t.Helper()
	forged := `{"level":"INFO","msg":"forged"}`
	for _, head := range []string{
		"X-Request-Id: a\r\n\t" + forged, "X-Request-Id: a\n" + forged, "X-Request-Id: a\r" + forged, "X-Request-Id: a\x00b", "User-Agent: a\v\f" + forged,
		"X-Forwarded-For: 1.2.3.4\r\n " + forged, "Authorization: Bearer \x1b[31m" + forged, "X-Request-Id: %0d%0a" + forged, "traceparent: 00-\u2028" + forged,
	} {
		send(t, addr, "GET /v1/api-keys HTTP/1.1\r\nHost: x\r\n"+head+"\r\nConnection: close\r\n\r\n")
	}
	send(t, addr, "GET /v1/%0d%0a"+strings.ReplaceAll(forged, `"`, "%22")+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	send(t, addr, "G\"T\n"+forged+" / HTTP/1.1\r\n\r\n")
}

// send writes to a connection and reads what comes back, whatever it is.
func send(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(conn, text)
	answer, _ := io.ReadAll(conn) // a reset is an answer too
	if strings.HasPrefix(string(answer), "HTTP/1.1 5") {
		t.Errorf("%q was answered with %q", text, answer)
	}
	return string(answer)
}

// checkFiles looks for secrets in every file of the data folder.
func checkFiles(t *testing.T, dir string, secrets []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, s := range secrets {
			if strings.Contains(string(data), s) {
				t.Errorf("%s holds %q", filepath.Base(path), s)
			}
		}
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

// checkLog wants one JSON object a line, with what every line has.
func checkLog(t *testing.T, text string, secrets []string) {
	t.Helper()
	lines := 0
	for line := range strings.Lines(text) {
		lines++
		var entry struct {
			Time  time.Time `json:"time"`
			Level string    `json:"level"`
			Msg   string    `json:"msg"`
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time.IsZero() || entry.Level == "" || entry.Msg == "" {
			t.Errorf("log line %q: %v, want JSON with time, level and msg", line, err)
		}
		if entry.Msg == "forged" {
			t.Errorf("a client has written a log line: %s", line)
		}
	}
	if lines < 10 {
		t.Errorf("%d lines in the log, want one for each request", lines)
	}
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("the log holds %q", s)
		}
	}
}
