package matrix

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// settings of the homeserver: everything is in its folder, and it talks to nobody.
const settings = `version: 2
global:
  server_name: home.test
  private_key: key.pem
  disable_federation: true
  jetstream: {in_memory: true, storage_path: .}
client_api: {registration_disabled: false, rate_limiting: {enabled: false}}
media_api: {base_path: media, max_file_size_bytes: 67108864, database: {connection_string: "file:media.db"}}
room_server: {database: {connection_string: "file:rooms.db"}}
sync_api: {database: {connection_string: "file:sync.db"}}
key_server: {database: {connection_string: "file:keys.db"}}
federation_api: {database: {connection_string: "file:federation.db"}}
relay_api: {database: {connection_string: "file:relay.db"}}
mscs: {database: {connection_string: "file:mscs.db"}}
user_api: {bcrypt_cost: 4, account_database: {connection_string: "file:users.db"}}
logging: [{type: std, level: warn}]
`

// homeserver is a running dendrite behind a proxy, as homeservers have one. The proxy
// also does what a broken one does, with files of certain names.
type homeserver struct {
	t      *testing.T
	dir    string
	url    string       // of the proxy
	inside atomic.Int64 // requests that came to a server nobody may be sent to
}

// start runs dendrite on a socket of its own folder, so that no port is taken.
func start(t *testing.T) *homeserver {
	t.Helper()
	program := os.Getenv("HEARTH_TEST_DENDRITE")
	if program == "" {
		t.Skip("SKIPPED: HEARTH_TEST_DENDRITE names no dendrite; build/test.sh all makes one")
	}
	dir, err := os.MkdirTemp("", "dendrite-") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	seed := make([]byte, 32)
	_, _ = rand.Read(seed) // it never fails
	key := pem.EncodeToMemory(&pem.Block{Type: "MATRIX PRIVATE KEY", Headers: map[string]string{"Key-ID": "ed25519:test"}, Bytes: seed})
	for name, text := range map[string][]byte{"key.pem": key, "dendrite.yaml": []byte(settings)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	cmd := exec.Command(program, "-config", "dendrite.yaml", "-unix-socket", "s", "-really-enable-open-registration")
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &out, 5*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of the homeserver:\n%s", &out)
		}
	})
	h := &homeserver{t: t, dir: dir}
	h.front()
	h.wait()
	return h
}

// front puts the proxy before it.
func (h *homeserver) front() {
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.inside.Add(1)
		_, _ = io.WriteString(w, "secret")
	}))
	h.t.Cleanup(inner.Close)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "home.test"}) },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(h.dir, "s"))
		}},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/redirects"):
			http.Redirect(w, r, inner.URL, http.StatusTemporaryRedirect)
		case strings.HasSuffix(r.URL.Path, "/hangs"):
			<-r.Context().Done()
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	h.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	h.url = s.URL
}

// wait waits until the homeserver answers.
func (h *homeserver) wait() {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		res, err := http.Get(h.url + "/_matrix/client/versions")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			h.t.Fatal("the homeserver does not answer")
		}
	}
}

// user is a user of the homeserver.
type user struct {
	*homeserver
	token string
}

// call asks the homeserver for something and reads the answer into out.
func (u user) call(method, path, kind string, body []byte, out any) {
	u.t.Helper()
	req, err := http.NewRequestWithContext(u.t.Context(), method, u.url+path, bytes.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	if u.token != "" {
		req.Header.Set("Authorization", "Bearer "+u.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode == http.StatusOK {
		err = json.Unmarshal(raw, out)
	}
	if err != nil || res.StatusCode != http.StatusOK {
		u.t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, raw, err)
	}
}

func (h *homeserver) register(name string) user {
	h.t.Helper()
	var made struct {
		Token string `json:"access_token"`
	}
	body := fmt.Sprintf(`{"username":%q,"password":"a long password","auth":{"type":"m.login.dummy"}}`, name)
	user{h, ""}.call("POST", "/_matrix/client/v3/register", "application/json", []byte(body), &made)
	return user{h, made.Token}
}

// upload keeps a file and gives its address.
func (u user) upload(kind string, content []byte) string {
	u.t.Helper()
	var made struct {
		URI string `json:"content_uri"`
	}
	u.call("POST", "/_matrix/media/v3/upload?filename=a", kind, content, &made)
	return made.URI
}

// room makes a room that nobody else sees.
func (u user) room() string {
	u.t.Helper()
	var made struct {
		ID string `json:"room_id"`
	}
	u.call("POST", "/_matrix/client/v3/createRoom", "application/json", []byte(`{"preset":"private_chat"}`), &made)
	return made.ID
}

// send sends an event to a room and waits until it can be read there.
func (u user) send(room, kind, content string) string {
	u.t.Helper()
	var made struct {
		ID string `json:"event_id"`
	}
	path := "/_matrix/client/v3/rooms/" + url.PathEscape(room)
	u.call("PUT", path+"/send/"+kind+"/"+rand.Text(), "application/json", []byte(content), &made)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		req, _ := http.NewRequestWithContext(u.t.Context(), "GET", u.url+path+"/event/"+url.PathEscape(made.ID), nil)
		req.Header.Set("Authorization", "Bearer "+u.token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			u.t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return made.ID
		}
	}
	u.t.Fatal("the event does not appear")
	return ""
}
