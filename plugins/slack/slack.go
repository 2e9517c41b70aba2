// Package slack is a plugin that lets people talk to the oracle in direct messages
// of Slack.
//
// Slack users have no rights until they have linked themselves: POST /slack/links
// gives a logged-in user a code that works once and for ten minutes, and "link
// CODE" in Slack ties the two accounts together. From then on their messages are
// answered with the rights they have at that moment. Answers go to direct messages
// only: in a channel, others would read what only one person may see.
//
// It promises that an event is accepted only with Slack's signature over its body,
// not older than five minutes; that it is acknowledged before it is worked on; and
// that an event Slack delivers again is answered once. It is off until the operator
// enables it.
package slack

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	window   = 5 * time.Minute  // how old an event may be, and how long it is remembered
	codeLife = 10 * time.Minute // of a code that links
	atOnce   = 32               // events that are worked on
	answerIn = 15 * time.Minute // how long one is worked on, longer than any answer takes
	maxTries = 10               // codes that a Slack user may try in an hour
	maxSeen  = 10_000           // events and people that are remembered

	codePrefix = "code "
)

// Slack is the plugin.
type Slack struct {
	host   plugin.Host
	secret []byte
	token  string
	base   string
	now    func() time.Time
	slots  chan struct{}
	work   sync.WaitGroup
	stop   chan struct{} // closed when the server stops
	close  func()

	mu    sync.Mutex
	seen  map[string]time.Time   // events, and when
	tries map[string][]time.Time // codes tried, by name
}

// New makes the plugin.
func New() *Slack {
	s := &Slack{now: time.Now, slots: make(chan struct{}, atOnce), stop: make(chan struct{}), seen: map[string]time.Time{}, tries: map[string][]time.Time{}}
	s.close = sync.OnceFunc(func() { close(s.stop) })
	return s
}

var (
	_ plugin.Plugin   = (*Slack)(nil)
	_ plugin.Settings = (*Slack)(nil)
	_ plugin.Routes   = (*Slack)(nil)
	_ plugin.Starts   = (*Slack)(nil)
	_ plugin.Closes   = (*Slack)(nil)
)

// Manifest describes the plugin.
func (*Slack) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "slack", Version: "1.0.0", Title: "Slack", Summary: "Answers direct messages in Slack.", Tags: []string{"communication", "slack"}, Visibility: plugin.Silent, OptIn: true,
	}
}

// Settings are the operator's settings.
func (*Slack) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "signingSecret", Secret: true, Required: true, Doc: "Signing secret of the Slack app."},
		{Name: "botToken", Secret: true, Required: true, Doc: "Token of the app's bot (xoxb-…), with the scopes chat:write and im:history."},
		{Name: "apiUrl", Kind: plugin.URL, Default: "https://slack.com/api", Doc: "Where Slack's API is."},
	}
}

// Start reads the settings.
func (s *Slack) Start(_ context.Context, host plugin.Host) error {
	s.host = host
	s.secret, s.token = []byte(host.Settings.Text("signingSecret")), host.Settings.Text("botToken")
	s.base = strings.TrimSuffix(host.Settings.Text("apiUrl"), "/")
	return nil
}

// Close waits for answers that are being made.
func (s *Slack) Close(ctx context.Context) error {
	s.close()
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func notLinked() error {
	return &plugin.Error{Status: http.StatusNotFound, Message: "Link not found"}
}

// Routes are the route for Slack and those for users.
func (s *Slack) Routes() []plugin.Route {
	return []plugin.Route{
		{
			Method: http.MethodPost, Path: "/slack/events", Public: true, Summary: "Receive an event from Slack", Body: map[string]any{"type": "url_verification", "challenge": "x"}, Answer: map[string]any{},
			Description: "The request URL of a Slack app with Events API. Requests are signed by Slack (`X-Slack-Signature`, `v0`); all others are 401.",
			Serve:       s.serveEvent,
		},
		{
			Method: http.MethodPost, Path: "/slack/links", Personal: true, Summary: "Get a code that links you to Slack", Answer: api.SlackCode{},
			Description: "Write `link CODE` to the app in Slack within ten minutes. From then on it answers you there, with your rights. The code counts once.",
			Serve:       s.serveCode,
		},
		{
			Method: http.MethodGet, Path: "/slack/links", Personal: true, Summary: "List your identities in Slack", Answer: api.SlackLinks{},
			Serve: s.serveLinks,
		},
		{
			Method: http.MethodDelete, Path: "/slack/links/{linkId}", Personal: true, Summary: "Unlink yourself from Slack", Answer: api.SlackLinks{},
			Serve: s.serveUnlink,
		},
	}
}

// newCode makes a code that people can type.
func newCode() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])[:12]
}

// codeName is what a code is linked under: the code itself is not stored.
func codeName(code string) string {
	sum := sha256.Sum256([]byte(strings.ToUpper(code)))
	return codePrefix + hex.EncodeToString(sum[:])
}

func (s *Slack) serveCode(r *plugin.Request) (any, error) {
	code := newCode()
	if err := s.host.Links.Link(r.Context(), codeName(code), codeLife); err != nil {
		return nil, err
	}
	return api.SlackCode{Code: code, ExpiresAt: s.now().Add(codeLife).UTC().Truncate(time.Second)}, nil
}

func (s *Slack) serveLinks(r *plugin.Request) (any, error) {
	return s.links(r.Context())
}

func (s *Slack) links(ctx context.Context) (api.SlackLinks, error) {
	names, err := s.host.Links.Names(ctx)
	out := api.SlackLinks{Links: []api.SlackLink{}}
	for _, name := range names {
		if team, user, ok := strings.Cut(name, "."); ok && !strings.HasPrefix(name, codePrefix) {
			out.Links = append(out.Links, api.SlackLink{ID: name, Team: team, User: user})
		}
	}
	return out, err
}

func (s *Slack) serveUnlink(r *plugin.Request) (any, error) {
	id := r.PathValue("linkId")
	if strings.HasPrefix(id, codePrefix) {
		return nil, notLinked()
	}
	if err := s.host.Links.Unlink(r.Context(), id); errors.Is(err, plugin.ErrNotLinked) {
		return nil, notLinked()
	} else if err != nil {
		return nil, err
	}
	return s.links(r.Context())
}

// signed reports whether Slack has sent a request, not longer ago than the window.
func (s *Slack) signed(h http.Header, body []byte) bool {
	stamp := h.Get("X-Slack-Request-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return false
	}
	if age := s.now().Sub(time.Unix(at, 0)); age > window || age < -window {
		return false
	}
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	got, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Slack-Signature"), "v0="))
	return err == nil && strings.HasPrefix(h.Get("X-Slack-Signature"), "v0=") && hmac.Equal(got, mac.Sum(nil))
}
