package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// errMoved says that the rows of a run are the truth now.
var errMoved = errors.New("the run is no longer in this process")

// Join passes every frame of a run of the user after a number to out, in order
// and once, large ones in parts: the stored ones, those in memory, then new
// ones. If it must wait for the first, it first calls out with an empty one. It
// returns nil after the last frame, or the error of out or of ctx. A number
// above all frames of an ended run gets its last one. The fault for a run that
// does not exist or belongs to somebody else is RUN_NOT_FOUND; then out was not
// called.
func (m *Manager) Join(ctx context.Context, user, id string, after int64, out func(Frame) error) error {
	r := m.known(id)
	if r == nil || r.user != user {
		return m.followRows(ctx, user, id, after, out)
	}
	p, stop := newPump(m.cfg, after, out)
	defer stop()
	err := p.follow(ctx, r)
	if errors.Is(err, errMoved) {
		return m.followRows(ctx, user, id, p.at, out)
	}
	return err
}

// pump carries frames to one reader.
type pump struct {
	cfg  *Config
	at   int64 // the last frame given out
	out  func(Frame) error
	wake chan struct{} // cap 1: there may be a frame
	beat chan struct{} // cap 1: it is time for a comment
	room []Frame
	said bool // out was called
}

// newPump makes a pump that begins after a number.
func newPump(cfg *Config, after int64, out func(Frame) error) (p *pump, stop func()) {
	p = &pump{cfg: cfg, at: max(after, 0), out: out, wake: make(chan struct{}, 1), beat: make(chan struct{}, 1)}
	var mu sync.Mutex
	var cancel func() bool
	var again func()
	again = func() {
		nudge(p.beat)
		mu.Lock()
		defer mu.Unlock()
		if cancel != nil {
			cancel = cfg.AfterFunc(cfg.Heartbeat, again)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	cancel = cfg.AfterFunc(cfg.Heartbeat, again)
	return p, func() {
		mu.Lock()
		defer mu.Unlock()
		cancel()
		cancel = nil
	}
}

// follow gives out the frames of a run in this process.
func (p *pump) follow(ctx context.Context, r *Run) error {
	r.mu.Lock()
	r.readers[p.wake] = struct{}{}
	p.at = min(p.at, r.last) // future frames cannot have been seen
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.readers, p.wake)
	}()
	for {
		frames, state := r.after(p.at, p.room[:0])
		p.room = frames
		if state == behind {
			before := p.at
			if err := p.cfg.stored().each(ctx, r.nid, p.at, p.give); err != nil {
				return err
			} else if p.at == before {
				return errMoved // the rows went with the session
			}
			continue
		}
		for i, f := range frames {
			f.More = i < len(frames)-1 || state == over || state == rest
			if err := p.give(f); err != nil {
				return err
			}
		}
		clear(frames) // who waits keeps nothing
		switch {
		case len(frames) > 0:
		case state == over:
			return nil
		case state == moved:
			return errMoved
		default:
			if err := p.idle(ctx); err != nil {
				return err
			}
		}
	}
}

func (p *pump) give(f Frame) error {
	p.said = true
	if err := p.out(f); err != nil {
		return err
	}
	if !f.Part {
		p.at = f.ID
	}
	return nil
}

// idle waits for a frame, and keeps the connection alive.
func (p *pump) idle(ctx context.Context) error {
	if !p.said {
		p.said = true
		if err := p.out(Frame{}); err != nil {
			return err
		}
	}
	select {
	case <-p.wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.beat:
		return p.out(Frame{Data: []byte(heartbeat)})
	}
}

// state says how a reader continues.
type state int

const (
	waiting state = iota // more frames will come
	rest                 // more frames are here already
	behind               // the next frame is in a row
	over                 // that was the last
	moved                // the rows are the truth
)

// after appends the frames after a number that may be sent, not more than a
// reader may hold.
func (r *Run) after(at int64, out []Frame) ([]Frame, state) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at < r.stored && (len(r.segs) == 0 || at+1 < r.segs[0].seq) {
		return out, behind
	}
	from := len(r.segs)
	for from > 0 && r.segs[from-1].upto() > at {
		from--
	}
	size := 0
	for _, s := range r.segs[from:] {
		for id := max(at+1, s.seq); id <= min(s.upto(), r.visible); id++ {
			f := s.frame(id)
			if size += len(f.Data); size > aheadBytes && len(out) > 0 {
				return out, rest
			}
			out = append(out, f)
		}
	}
	switch {
	case r.dropped:
		return out, moved
	case r.ended:
		return out, over
	}
	return out, waiting
}

// followRows gives out the frames of a run that has ended or is in another
// process.
func (m *Manager) followRows(ctx context.Context, user, id string, after int64, out func(Frame) error) error {
	p, stop := newPump(m.cfg, after, out)
	defer stop()
	defer m.wakers.listen(id, p.wake)()
	for {
		// The row first: what it says about the end is then true of the frames.
		r, err := findRun(ctx, m.cfg.DB, user, id)
		if err != nil {
			return err
		}
		if r.ended && p.at > r.lastSeq {
			p.at = r.lastSeq - 1
		}
		if err := m.cfg.stored().each(ctx, r.nid, p.at, p.give); err != nil {
			return err
		}
		if r.ended {
			return nil
		}
		if err := p.nap(ctx); err != nil {
			return err
		}
	}
}

// nap waits as idle does, but not longer than until rows are looked at again.
func (p *pump) nap(ctx context.Context) error {
	stop := p.cfg.AfterFunc(p.cfg.Poll, func() { nudge(p.wake) })
	defer stop()
	return p.idle(ctx)
}

// Outcome is how a run ended.
type Outcome struct {
	Status Status
	Answer jsontext.Value // the last message of the oracle, as chat.Message; nil without one
	Error  jsontext.Value // payload of the error frame; nil without one
}

// Wait waits for the end of a run of the user. The fault for one that does not
// exist or belongs to somebody else is RUN_NOT_FOUND.
func (m *Manager) Wait(ctx context.Context, user, id string) (Outcome, error) {
	var o Outcome
	err := m.Join(ctx, user, id, 0, Whole(func(f Frame) error {
		switch event, payload := f.Split(); event {
		case frameError:
			o.Error = payload
		case frameDone:
			var d done
			if err := json.Unmarshal(payload, &d); err != nil {
				return fmt.Errorf("read the end of a run: %w", err)
			}
			o.Status = d.Status
		}
		return nil
	}))
	if err != nil {
		return Outcome{}, err
	}
	info, err := m.Find(ctx, user, id)
	if err != nil {
		return Outcome{}, err
	}
	o.Answer, err = m.cfg.Chat.Answer(ctx, user, info.Session, info.Turn)
	return o, err
}
