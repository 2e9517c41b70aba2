package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// silence is how long a stream may say nothing before it counts as cut; the
// server sends a sign of life every 15 seconds.
const silence = 45 * time.Second

// StreamQuery says what to follow.
type StreamQuery struct {
	After  int64    // begin behind this number; 0 replays all that is kept
	Live   bool     // begin now, whatever After says
	Types  []string // such as key.created or key.*; all by default
	Filter string   // such as eq(data.surveyId,srv_1); none by default
}

// Gap means that events are missing: the server no longer keeps them, or the
// position belongs to another store. Stream yields it as an error that does not
// end the stream: a caller who can live with the loss continues.
type Gap struct {
	Reason string `json:"reason"` // expired or ahead
	After  int64  `json:"after"`  // the position that was asked for
	Oldest int64  `json:"oldest"` // that the server has
	Newest int64  `json:"newest"`
}

// Error says what is missing.
func (g *Gap) Error() string {
	return fmt.Sprintf("events after %d are not to be had (%s): the server has %d to %d", g.After, g.Reason, g.Oldest, g.Newest)
}

// Stream follows the events of the workspace as they happen, each once and in
// order. When the connection breaks, it reconnects and resumes, for as long as
// ctx lasts; only the first connection has a limited number of attempts. The
// last thing it yields is an error: that of ctx, or a refusal.
func (e Events) Stream(ctx context.Context, q StreamQuery, opts ...Option) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := &stream{c: e.c, opts: opts, after: q.After, known: !q.Live, types: strings.Join(q.Types, ","), filter: q.Filter}
		for failures := 0; ; {
			s.alive = false
			err := s.follow(ctx, yield)
			if errors.Is(err, errLeft) {
				return
			}
			if s.alive {
				failures = 0
			}
			failures++
			wait, again := s.again(failures, err)
			if ctx.Err() == nil && again {
				err = pause(ctx, wait)
			}
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			if err != nil && (ctx.Err() != nil || !again) {
				yield(Event{}, fmt.Errorf("follow events: %w", err))
				return
			}
		}
	}
}

// errLeft says that the one who iterates has left the loop.
var errLeft = errors.New("reader has left")

// stream is where one iteration stands.
type stream struct {
	c      *Client
	opts   []Option
	types  string
	filter string
	after  int64
	known  bool          // whether after is a position; a live stream has none at first
	alive  bool          // the connection has said something
	once   bool          // it did so at least once
	retry  time.Duration // what the server asks to wait between connections
}

// again reports whether to connect once more after a connection ended with err.
func (s *stream) again(failures int, err error) (time.Duration, bool) {
	if !passing(err) || !s.once && failures >= s.c.cfg.Retry.Attempts {
		return 0, false
	}
	if e := new(Error); errors.As(err, &e) && e.RetryAfter > 0 {
		return e.RetryAfter, true
	}
	r := s.c.cfg.Retry
	r.Min = min(max(r.Min, s.retry), r.Max)
	return r.wait(failures), true
}

// follow opens one connection and reads it to its end. It never returns nil.
func (s *stream) follow(ctx context.Context, yield func(Event, error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	res, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	d := newDecoder(&watched{res.Body, quiet})
	for {
		f, err := d.next()
		if err != nil {
			return lost{err}
		}
		s.alive, s.once = true, true
		if err := s.take(f, yield); err != nil {
			return err
		}
	}
}

// watched puts off a timer whenever something is read.
type watched struct {
	r     io.Reader
	timer *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.timer.Reset(silence)
	return n, err
}

// open asks for the stream from the position on.
func (s *stream) open(ctx context.Context) (*http.Response, error) {
	k := get("/v1/events", url.Values{})
	k.apply(s.opts)
	set(k.query, "types", s.types)
	set(k.query, "filter", s.filter)
	k.head.Set("Accept", "text/event-stream")
	if s.known {
		k.head.Set("Last-Event-ID", strconv.FormatInt(s.after, 10))
	}
	req, err := s.c.request(ctx, &k, nil)
	if err != nil {
		return nil, err
	}
	res, err := s.c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, lost{err}
	}
	k.meta.fill(1, res)
	if res.StatusCode == http.StatusOK {
		if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); media == "text/event-stream" {
			return res, nil
		}
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxFrame))
	if err != nil {
		return nil, lost{err}
	}
	return nil, errorOf(res, raw)
}

// take handles one frame. An error ends the connection.
func (s *stream) take(f frame, yield func(Event, error) bool) error {
	if f.retry > 0 {
		s.retry = f.retry
	}
	switch {
	case f.event == "close":
		return closed(f.data)
	case f.event == "gap":
		g := new(Gap)
		if err := json.Unmarshal([]byte(f.data), g); err != nil {
			return fmt.Errorf("read gap: %w", err)
		}
		s.move(f)
		if !yield(Event{}, g) {
			return errLeft
		}
	case f.data == "":
		s.move(f)
	default:
		return s.event(f, yield)
	}
	return nil
}

// event hands an event on, unless it was already.
func (s *stream) event(f frame, yield func(Event, error) bool) error {
	var ev Event
	if err := json.Unmarshal([]byte(f.data), &ev); err != nil {
		return fmt.Errorf("read event %s: %w", f.id, err)
	}
	if s.known && ev.Seq <= s.after {
		return nil
	}
	if !yield(ev, nil) {
		return errLeft
	}
	s.after, s.known = ev.Seq, true
	return nil
}

// move sets the position to the one a frame names.
func (s *stream) move(f frame) {
	if n, err := strconv.ParseInt(f.id, 10, 64); f.hasID && err == nil && n >= 0 {
		s.after, s.known = n, true
	}
}

// closed is the error of a stream that the server has ended. All but the expiry
// of the caller's credential may be tried again: changed rights may still be
// enough.
func closed(data string) error {
	var c struct {
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return fmt.Errorf("read close: %w", err)
	}
	switch c.Reason {
	case "revoked":
		return &Error{Status: http.StatusUnauthorized, Code: "KEY_INVALID", Message: "The key may not follow events any more."}
	case "expired":
		return &Error{Status: http.StatusUnauthorized, Code: "KEY_EXPIRED", Message: "The key has expired."}
	}
	return lost{fmt.Errorf("the server closed the stream: %s", c.Reason)}
}
