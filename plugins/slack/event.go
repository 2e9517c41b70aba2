package slack

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/plugin"
)

// event is what Slack sends.
type event struct {
	Type      string `json:"type"`
	Challenge string `json:"challenge"`
	Team      string `json:"team_id"`
	ID        string `json:"event_id"`
	Event     struct {
		Type     string `json:"type"`
		Subtype  string `json:"subtype"`
		Channel  string `json:"channel"`
		Kind     string `json:"channel_type"`
		User     string `json:"user"`
		Bot      string `json:"bot_id"`
		Text     string `json:"text"`
		Thread   string `json:"thread_ts"`
		Occurred string `json:"ts"`
	} `json:"event"`
}

// ids are what Slack calls teams, people, channels and events.
var ids = regexp.MustCompile(`^[A-Za-z0-9]{1,40}$`)

var mention = regexp.MustCompile(`<@[A-Z0-9]+(\|[^>]*)?>`)

// serveEvent acknowledges an event, and works on it afterwards.
func (s *Slack) serveEvent(r *plugin.Request) (any, error) {
	if !s.signed(r.Header, r.Content) {
		return nil, &plugin.Error{Status: http.StatusUnauthorized, Message: "The request is not signed by Slack, or is too old"}
	}
	var e event
	if err := stdjson.Unmarshal(r.Content, &e); err != nil {
		return nil, plugin.Invalid("The body is no event")
	}
	taken := map[string]bool{"ok": true}
	switch {
	case e.Type == "url_verification":
		return map[string]string{"challenge": e.Challenge}, nil
	case e.Type != "event_callback" || !e.said():
		return taken, nil
	case !ids.MatchString(e.ID) || !ids.MatchString(e.Team) || !ids.MatchString(e.Event.User) || !ids.MatchString(e.Event.Channel):
		return nil, plugin.Invalid("The event has ids that are none of Slack's")
	case !s.first(e.ID):
		return taken, nil
	}
	select {
	case s.slots <- struct{}{}:
	default:
		s.forget(e.ID) // Slack delivers it again
		return nil, &plugin.Error{Status: http.StatusServiceUnavailable, Message: "Too many messages are being answered"}
	}
	ctx := context.WithoutCancel(r.Context()) // Slack waits for none of it
	s.work.Go(func() {
		defer func() { <-s.slots }()
		s.within(ctx, func(ctx context.Context) { s.answer(ctx, e) })
	})
	return taken, nil
}

// within does something for as long as an answer may take and the server runs.
func (s *Slack) within(ctx context.Context, do func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, answerIn)
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	do(ctx)
}

// said reports whether the event is something that a person wrote to the app.
func (e *event) said() bool {
	m := e.Event
	direct := m.Type == "message" && m.Kind == "im"
	return (direct || m.Type == "app_mention") && m.Subtype == "" && m.Bot == "" && m.User != "" && strings.TrimSpace(m.Text) != ""
}

// text is the message without the name of the app.
func (e *event) text() string {
	text := mention.ReplaceAllString(e.Event.Text, "")
	return strings.TrimSpace(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text))
}

// first reports whether an event comes for the first time.
func (s *Slack) first(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if at, ok := s.seen[id]; ok && now.Sub(at) < time.Hour { // Slack tries again for less
		return false
	}
	for old, at := range s.seen {
		if now.Sub(at) >= time.Hour || len(s.seen) >= maxSeen {
			delete(s.seen, old)
		}
	}
	s.seen[id] = now
	return true
}

func (s *Slack) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, id)
}

// mayTry reports whether a Slack user may try another code.
func (s *Slack) mayTry(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var recent []time.Time
	for _, at := range s.tries[name] {
		if now.Sub(at) < time.Hour {
			recent = append(recent, at)
		}
	}
	if len(s.tries) >= maxSeen {
		clear(s.tries)
	}
	s.tries[name] = append(recent, now)
	return len(recent) < maxTries
}

// Texts for people.
const (
	textDirect    = "Please write to me in a direct message: an answer here would be read by others too."
	textUnlinked  = "I do not know who you are yet. Log in to the oracle, get a code there (POST /slack/links) and write: link CODE"
	textLinked    = "You are linked. What you write here is answered with your rights. Write unlink to end that."
	textBadCode   = "This code does not count. Get a new one: a code counts once and for ten minutes."
	textTries     = "That was often. Please try again in an hour."
	textUnlinking = "You are no longer linked."
	textFailed    = "That did not work. Please try again later."

	brief = "The user reads your answer in a direct message of Slack, where nothing can be confirmed. Answer in short paragraphs of plain text."
)

// answer handles a message.
func (s *Slack) answer(ctx context.Context, e event) {
	defer func() {
		if v := recover(); v != nil {
			s.host.Log.ErrorContext(ctx, "an event of Slack panicked", "panic", fmt.Sprint(v))
		}
	}()
	reply := textDirect
	if e.Event.Type == "message" {
		reply = s.reply(ctx, e)
	}
	if reply == "" {
		return
	}
	if err := s.post(ctx, e, reply); err != nil {
		s.host.Log.WarnContext(ctx, "Slack did not take an answer", "err", err.Error())
	}
}

// reply is the reply to a direct message; "" means none.
func (s *Slack) reply(ctx context.Context, e event) string {
	name := e.Team + "." + e.Event.User
	word, rest, _ := strings.Cut(e.text(), " ")
	if strings.EqualFold(word, "link") {
		return s.link(ctx, name, strings.TrimSpace(rest))
	}
	as, err := s.host.Links.As(ctx, name)
	switch {
	case errors.Is(err, plugin.ErrNotLinked):
		return textUnlinked
	case err != nil:
		return s.failed(ctx, err)
	}
	if strings.EqualFold(e.text(), "unlink") {
		if err := s.host.Links.Unlink(as, name); err != nil && !errors.Is(err, plugin.ErrNotLinked) {
			return s.failed(ctx, err)
		}
		return textUnlinking
	}
	a, err := s.host.Ask(as, plugin.Message{
		Thread: "slack " + name + " " + e.Event.Channel + " " + e.Event.Thread, Key: e.ID, Title: "Slack", Text: e.text(), Brief: brief,
	})
	var refused *plugin.Error
	switch {
	case errors.As(err, &refused):
		return refused.Message
	case err != nil:
		return s.failed(ctx, err)
	case a.Again:
		return "" // another server is at it
	}
	return a.Text
}

// link ties a Slack user to the user who got the code.
func (s *Slack) link(ctx context.Context, name, code string) string {
	if !s.mayTry(name) {
		return textTries
	}
	as, err := s.host.Links.As(ctx, codeName(code))
	switch {
	case errors.Is(err, plugin.ErrNotLinked):
		return textBadCode
	case err != nil:
		return s.failed(ctx, err)
	}
	if err = s.host.Links.Unlink(as, codeName(code)); errors.Is(err, plugin.ErrNotLinked) {
		return textBadCode // another request was faster
	}
	if err == nil {
		err = s.host.Links.Link(as, name, 0)
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	return textLinked
}

func (s *Slack) failed(ctx context.Context, err error) string {
	s.host.Log.WarnContext(ctx, "a message of Slack was not answered", "err", err.Error())
	return textFailed
}

// maxText is how many characters Slack shows of a message.
const maxText = 4000

// post sends an answer to where the message came from.
func (s *Slack) post(ctx context.Context, e event, text string) error {
	if r := []rune(text); len(r) > maxText {
		text = string(r[:maxText-3]) + "..."
	}
	out := map[string]any{"channel": e.Event.Channel, "text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)}
	if e.Event.Thread != "" {
		out["thread_ts"] = e.Event.Thread
	}
	body, err := stdjson.Marshal(out)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/chat.postMessage", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.host.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var said struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err == nil {
		err = stdjson.Unmarshal(data, &said)
	}
	switch {
	case err != nil:
		return fmt.Errorf("status %d: %w", res.StatusCode, err)
	case !said.OK:
		return fmt.Errorf("status %d: %.100q", res.StatusCode, said.Error)
	}
	return nil
}
