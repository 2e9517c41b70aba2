package app_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
)

const slackSecret = "8f742231b10e8888abcd99yyyzzz85a5"

// workspaceChat is a Slack with an app in it.
type workspaceChat struct {
	*notesServer
	t  *testing.T
	mu sync.Mutex
	// what the app said, by channel
	said map[string][]string
	n    int
}

func newSlack(t *testing.T, dsn string) *workspaceChat {
	t.Helper()
	s := &workspaceChat{t: t, said: map[string][]string{}}
	api := httptest.NewServer(s)
	t.Cleanup(api.Close)
	set, err := config.Load(config.Input{Env: []string{
		"HEARTH_PLUGIN_SLACK_ENABLED=true", "HEARTH_PLUGIN_SLACK_SIGNING_SECRET=" + slackSecret, "HEARTH_PLUGIN_SLACK_BOT_TOKEN=xoxb-1", "HEARTH_PLUGIN_SLACK_API_URL=" + api.URL + "/api",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.notesServer = &notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) {
		dir, key := c.Data.Dir, c.Auth.OwnerKey
		*c = *set
		c.Data.Dir, c.Auth.OwnerKey, c.Data.DatabaseURL = dir, key, config.Secret(dsn)
		c.Server.Port, c.Server.Host = 0, "127.0.0.1"
		c.Limits.RateLimit, c.Limits.AddressRateLimit = 0, 0
	})}
	return s
}

// ServeHTTP is Slack's API.
func (s *workspaceChat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Channel string `json:"channel"`
		Text    string `json:"text"`
		Thread  string `json:"thread_ts"`
	}
	body, _ := io.ReadAll(r.Body)
	if r.URL.Path != "/api/chat.postMessage" || r.Header.Get("Authorization") != "Bearer xoxb-1" || json.Unmarshal(body, &in) != nil {
		fmt.Fprint(w, `{"ok":false,"error":"invalid_auth"}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said[in.Channel] = append(s.said[in.Channel], in.Text)
	fmt.Fprint(w, `{"ok":true}`)
}

// send delivers a body as Slack does, signed some time ago.
func (s *workspaceChat) send(body, secret string, ago time.Duration, head ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequest("POST", "/slack/events", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	stamp := strconv.FormatInt(time.Now().Add(-ago).Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":" + body))
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

// event is a direct message.
func (s *workspaceChat) event(user, text string) string {
	s.n++
	body, err := json.Marshal(map[string]any{
		"type": "event_callback", "team_id": "T1", "event_id": "Ev" + strconv.Itoa(s.n),
		"event": map[string]any{"type": "message", "channel_type": "im", "channel": "D" + user, "user": user, "text": text, "ts": "1.1"},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// hears waits for the nth thing that the app says to somebody.
func (s *workspaceChat) hears(user string, n int) string {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		said := s.said["D"+user]
		s.mu.Unlock()
		if len(said) >= n {
			return said[n-1]
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("after a minute the app has said %q, want %d things", said, n)
		}
	}
}

// tell has somebody write to the app and gives its answer, the nth.
func (s *workspaceChat) tell(user, text string, n int) string {
	s.t.Helper()
	if w := s.send(s.event(user, text), slackSecret, 0); w.Code != 200 {
		s.t.Fatalf("an event = %d %s", w.Code, w.Body)
	}
	return s.hears(user, n)
}

func (s *workspaceChat) code(user byte) string {
	s.t.Helper()
	w := s.do(s.t, "POST", "/slack/links", "", user)
	var c api.SlackCode
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil || w.Code != 200 || c.Code == "" {
		s.t.Fatalf("POST /slack/links = %d %s", w.Code, w.Body)
	}
	return c.Code
}

// Somebody in Slack has no rights until they have linked themselves, and then those
// of that user, until they unlink or are erased.
func TestSlack(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := newSlack(t, dsn)
		const asks = "/tool get_user_preferences {}"
		if got := s.tell("U1", asks, 1); !strings.Contains(got, "link CODE") {
			t.Errorf("a stranger is told %q", got)
		}
		if got := s.tell("U1", "link AAAABBBBCCCC", 2); !strings.Contains(got, "does not count") {
			t.Errorf("a wrong code = %q", got)
		}
		code := s.code('a')
		if got := s.tell("U1", "Link "+strings.ToLower(code), 3); !strings.Contains(got, "You are linked.") {
			t.Errorf("the code = %q", got)
		}
		if got := s.tell("U2", "link "+code, 1); !strings.Contains(got, "does not count") {
			t.Errorf("the code again = %q", got)
		}
		if got := s.tell("U1", asks, 4); !strings.Contains(got, "said nothing about it") {
			t.Errorf("somebody linked is told %q", got)
		}
		if got := s.tell("U1", `/tool set_user_preferences {"userName":"Mallory &lt;x&gt;"}`, 5); !strings.Contains(got, "nobody can be asked here") {
			t.Errorf("a tool that changes something = %q", got)
		}
		if w := s.do(t, "GET", "/slack/links", "", 'a'); w.Body.String() != `{"links":[{"id":"T1.U1","team":"T1","user":"U1"}]}` {
			t.Errorf("links = %d %s", w.Code, w.Body)
		}
		if w := s.do(t, "DELETE", "/slack/links/T1.U1", "", 'b'); w.Code != 404 {
			t.Errorf("somebody else unlinks = %d %s", w.Code, w.Body)
		}
		if got := s.tell("U1", "unlink", 6); !strings.Contains(got, "no longer linked") {
			t.Errorf("unlink = %q", got)
		}
		if got := s.tell("U1", asks, 7); !strings.Contains(got, "link CODE") {
			t.Errorf("after that = %q", got)
		}
		s.erased(t)
	})
}

// erased: a link goes with its user.
func (s *workspaceChat) erased(t *testing.T) {
	t.Helper()
	if got := s.tell("U3", "link "+s.code('c'), 1); !strings.Contains(got, "You are linked.") {
		t.Errorf("the code = %q", got)
	}
	var did string
	if err := s.DB.QueryRow(t.Context(), `SELECT did FROM plugin_links WHERE name = 'T1.U3'`).Scan(&did); err != nil {
		t.Fatal(err)
	}
	err := s.DB.InTx(t.Context(), func(tx *db.Tx) error {
		return app.EraseConversations(t.Context(), tx, s.Built, auth.OperatorWorkspace, did)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.tell("U3", "help", 2); !strings.Contains(got, "link CODE") {
		t.Errorf("after the erasure = %q", got)
	}
}

// What Slack has not signed is refused, and what it sends again is answered once.
func TestSlackSignatures(t *testing.T) {
	t.Parallel()
	s := newSlack(t, "")
	const challenge = `{"type":"url_verification","challenge":"3eZbrw1aB"}`
	for _, tt := range []struct {
		name   string
		got    *httptest.ResponseRecorder
		status int
		want   string
	}{
		{"challenge", s.send(challenge, slackSecret, 0), 200, `{"challenge":"3eZbrw1aB"}`},
		{"another secret", s.send(challenge, "other", 0), 401, "not signed by Slack"},
		{"too old", s.send(challenge, slackSecret, 6*time.Minute), 401, "too old"},
		{"from the future", s.send(challenge, slackSecret, -6*time.Minute), 401, "too old"},
		{"another version", s.send(challenge, slackSecret, 0, "X-Slack-Signature", "v1=00"), 401, "not signed"},
		{"no signature", s.do(t, "POST", "/slack/events", challenge, 0), 401, "not signed"},
		{"no event", s.send(`[]`, slackSecret, 0), 400, "no event"},
		{"a bot", s.send(`{"type":"event_callback","event":{"type":"message","channel_type":"im","bot_id":"B1","user":"U1","text":"x"}}`, slackSecret, 0), 200, "ok"},
		{"ids that are none", s.send(`{"type":"event_callback","team_id":"T1","event_id":"../x","event":{"type":"message","channel_type":"im","channel":"D1","user":"U1","text":"x"}}`, slackSecret, 0), 400, "ids"},
		{"a code for nobody", s.do(t, "POST", "/slack/links", "", 0), 401, "Missing UCAN"},
	} {
		if tt.got.Code != tt.status || !strings.Contains(tt.got.Body.String(), tt.want) {
			t.Errorf("%s = %d %s, want %d %s", tt.name, tt.got.Code, tt.got.Body, tt.status, tt.want)
		}
	}
	body := s.event("U7", "help")
	for range 3 {
		if w := s.send(body, slackSecret, 0, "X-Slack-Retry-Num", "1"); w.Code != 200 {
			t.Errorf("a retry = %d %s", w.Code, w.Body)
		}
	}
	s.hears("U7", 1)
	s.tell("U7", "help", 2)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.said["DU7"]); n != 2 {
		t.Errorf("three deliveries of one event and another one have %d answers, want 2", n)
	}
}

// Slack is off until the operator enables it, and not without its secrets.
func TestSlackOff(t *testing.T) {
	t.Parallel()
	s := &notesServer{app.Build(t, owner, nil)}
	if w := s.do(t, "POST", "/slack/links", "", 'a'); w.Code != 404 {
		t.Errorf("POST /slack/links = %d %s, want 404", w.Code, w.Body)
	}
	set, err := config.Load(config.Input{Env: []string{"HEARTH_PLUGIN_SLACK_ENABLED=true"}})
	if err != nil {
		t.Fatal(err)
	}
	err = app.StartError(t, func(c *config.Config) {
		set.Data, set.Auth, set.Server = c.Data, c.Auth, c.Server
		*c = *set
	})
	if err == nil || !strings.Contains(err.Error(), "signingSecret: is required") || !strings.Contains(err.Error(), "botToken: is required") {
		t.Errorf("start = %v, want the two secrets named", err)
	}
}
