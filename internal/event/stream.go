package event

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	streamChunk = 200  // events read and sent at once
	farReaders  = 4    // streams that read old events at the same time
	retryMillis = 2000 // how long a client waits before it connects again
)

// errGone means that the client no longer reads.
var errGone = errors.New("client has left the stream")

// serveStream is GET /v1/events.
func (l *Log) serveStream(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	q, live, err := streamQuery(r)
	if err != nil {
		return err
	}
	leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	// Subscribe before the first look, or what happens in between is slept over.
	sub := l.Subscribe(q.Workspace)
	defer sub.Close()
	held, err := l.Range(ctx, q.Workspace)
	if err != nil {
		return err
	}
	// A revocation up to here is before the position at which the stream
	// begins: it will not meet the event about it.
	if err := l.cfg.StillAllowed(ctx, true); err != nil {
		return err
	}
	web.LeavePlace(ctx) // it waits more than it works; its own caps bound it
	s := &stream{log: l, w: w, rc: http.NewResponseController(w), query: q}
	if r.Method == http.MethodHead { // there is no body to stream
		s.head()
		return nil
	}
	if live {
		s.query.After = held.Newest
	}
	err = s.run(ctx, sub, held)
	if errors.Is(err, errGone) || ctx.Err() != nil {
		return nil
	}
	return err
}

// enter checks that the server takes another stream of this caller.
func (l *Log) enter(ctx context.Context) (func(), error) {
	select {
	case <-l.closing:
		return nil, fault.New(fault.Unavailable, "SHUTTING_DOWN", "The server is stopping. Connect again shortly.").After(5 * time.Second)
	default:
	}
	c := web.CallerFrom(ctx)
	name := "key " + c.Key
	if c.Key == "" {
		name = "did " + c.DID
	}
	return l.places.take(c.Workspace, name)
}

// streamInput is the request. The position of the header wins: browsers send
// it when they connect again to the same address.
type streamInput struct {
	After  web.Number `query:"after"`
	Types  string     `query:"types"`
	Filter given      `query:"filter"`
	LastID web.Number `header:"Last-Event-ID"`
}

// streamQuery reads the request. live is true when no position is given.
func streamQuery(r *http.Request) (q Query, live bool, err error) {
	if q.Workspace, err = WholeWorkspace(r.Context()); err != nil {
		return q, false, err
	}
	in, err := web.Bind[streamInput](r)
	if err != nil {
		return q, false, err
	}
	var c fault.Checks
	q.Limit, q.Reader = streamChunk, web.CallerFrom(r.Context())
	q.After = in.After.In(&c, "query/after", 0, math.MaxInt64, 0)
	if in.LastID.Given {
		q.After = in.LastID.In(&c, "header/Last-Event-ID", 0, math.MaxInt64, 0)
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return q, false, err
	}
	if q.Types, err = ParseFilter(in.Types); err != nil {
		return q, false, err
	}
	q.Where, err = ParseWhere(string(in.Filter), "query/filter")
	return q, !in.After.Given && !in.LastID.Given, err
}

// stream is one open connection.
type stream struct {
	log   *Log
	w     http.ResponseWriter
	rc    *http.ResponseController
	query Query // After advances with what was sent
	buf   []byte
}

// run sends what the log holds and then new events, until one side leaves. It
// never returns before a close event was sent or the client was gone.
func (s *stream) run(ctx context.Context, sub *Subscription, held Range) error {
	if err := s.open(held); err != nil {
		return err
	}
	beat := time.NewTicker(s.log.cfg.Heartbeat)
	defer beat.Stop()
	ask := time.NewTicker(s.log.cfg.Recheck)
	defer ask.Stop()
	for look := true; ; {
		if look {
			if err := s.catchUp(ctx); err != nil {
				return s.fail(ctx, err)
			}
		}
		look = true
		select {
		case <-sub.C:
		case <-beat.C:
			// The look at the log that follows finds what another process
			// has stored, should its wake-up have been lost.
			if err := s.beat(); err != nil {
				return s.fail(ctx, err)
			}
		case <-ask.C:
			if err := s.log.cfg.StillAllowed(ctx, false); err != nil {
				return s.fail(ctx, err)
			}
			look = false
		case <-s.log.closing:
			return s.end("shutdown")
		case <-ctx.Done():
			return nil
		}
	}
}

// open sends the headers, and a gap event when the position cannot be kept.
func (s *stream) open(held Range) error {
	_ = s.rc.SetReadDeadline(time.Time{}) // a deadline left from the request would end the stream
	s.head()
	misplaced := held.check(s.query.After) != nil
	s.buf = fmt.Appendf(s.buf, "retry: %d\n", retryMillis)
	if !misplaced {
		// A client that is cut off before the first event knows where to
		// continue.
		s.buf = fmt.Appendf(s.buf, "id: %d\n", s.query.After)
	}
	s.buf = append(s.buf, '\n')
	if misplaced {
		s.gap(held)
	}
	return s.flush()
}

// head sends the headers.
func (s *stream) head() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	s.w.WriteHeader(http.StatusOK)
}

// gap tells the client what it will not get and moves to where it continues.
func (s *stream) gap(held Range) {
	after := s.query.After
	reason := "expired"
	s.query.After = held.Oldest - 1
	if after > held.Newest {
		reason = "ahead"
		s.query.After = held.Newest
	}
	s.buf = fmt.Appendf(s.buf, "id: %d\nevent: gap\ndata: {\"reason\":%q,\"after\":%d,\"oldest\":%d,\"newest\":%d}\n\n",
		s.query.After, reason, after, held.Oldest, held.Newest)
}

// catchUp sends everything the log holds behind the position.
func (s *stream) catchUp(ctx context.Context) error {
	for far := false; ; {
		select {
		case <-s.log.closing:
			return nil // run sends the end; the rest waits in the log
		default:
		}
		b, err := s.read(ctx, far)
		if fault.CodeOf(err) == "EVENTS_EXPIRED" {
			if err := s.skip(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := s.send(ctx, b); err != nil || !b.HasMore {
			return err
		}
		far = true
	}
}

// read reads a batch. Streams with a long way to go, perhaps past a million
// events that their filter leaves out, take turns: they must not keep the
// store from everybody else.
func (s *stream) read(ctx context.Context, far bool) (Batch, error) {
	if far {
		select {
		case s.log.far <- struct{}{}:
			defer func() { <-s.log.far }()
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
	return s.log.Read(ctx, s.query)
}

// skip tells a stream that fell behind the retention about the gap.
func (s *stream) skip(ctx context.Context) error {
	held, err := s.log.Range(ctx, s.query.Workspace)
	if err != nil {
		return err
	}
	// The gap may hide that the caller has lost a right.
	if err := s.log.cfg.StillAllowed(ctx, true); err != nil {
		return err
	}
	s.gap(held)
	return s.flush()
}

// send writes a batch. Each event has its own time to be written, so a reader
// that takes nothing is let go however long the batch is.
//
// The caller is looked at after the batch was read: a key that was revoked
// before one of its events gets none of them.
func (s *stream) send(ctx context.Context, b Batch) error {
	if len(b.Items) > 0 || b.rights {
		if err := s.log.cfg.StillAllowed(ctx, b.rights); err != nil {
			return err
		}
	}
	for i := range b.Items {
		it := &b.Items[i]
		data, err := web.Encode(it)
		if err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
		s.buf = fmt.Appendf(s.buf, "id: %d\nevent: %s\ndata: %s\n\n", it.Seq, it.Type, data)
		if err := s.write(); err != nil {
			return err
		}
	}
	s.query.After = b.Next
	if len(b.Items) == 0 {
		if !b.HasMore {
			return nil
		}
		// A long way without a match: a client that is cut off continues from
		// here.
		s.position()
	}
	return s.flush()
}

// beat keeps the connection alive. The id without data moves a client's position
// past events its filter left out.
func (s *stream) beat() error {
	s.buf = append(s.buf, ": heartbeat\n"...)
	s.position()
	return s.flush()
}

// position tells the client its position, without an event.
func (s *stream) position() { s.buf = fmt.Appendf(s.buf, "id: %d\n\n", s.query.After) }

// fail ends the stream after an error: for a refusal the client is told why it
// is no longer admitted, anything else is logged and a reason to reconnect.
func (s *stream) fail(ctx context.Context, err error) error {
	if errors.Is(err, errGone) || ctx.Err() != nil {
		return errGone
	}
	switch kind, code := fault.KindOf(err), fault.CodeOf(err); {
	case code == "KEY_EXPIRED" || code == "UCAN_EXPIRED":
		return s.end("expired")
	case kind == fault.Forbidden:
		return s.end("rights_changed")
	case kind == fault.Unauthenticated || kind == fault.NotFound:
		return s.end("revoked")
	}
	_ = s.end("error") // the error itself says more
	return err
}

// end sends the last event.
func (s *stream) end(reason string) error {
	s.buf = fmt.Appendf(s.buf, "event: close\ndata: {\"reason\":%q}\n\n", reason)
	return s.flush()
}

// write hands the buffer to the connection.
func (s *stream) write() error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.log.cfg.WriteTimeout)) // not every writer has deadlines
	_, err := s.w.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return errGone
	}
	return nil
}

// flush sends all that is buffered. Afterwards no deadline stands: under
// HTTP/2 one that passes ends an idle stream.
func (s *stream) flush() error {
	if err := s.write(); err != nil {
		return err
	}
	if err := s.rc.Flush(); err != nil {
		return errGone
	}
	_ = s.rc.SetWriteDeadline(time.Time{})
	return nil
}
