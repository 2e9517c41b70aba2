package ucan

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// Defaults of RingConfig.
const (
	DefaultFresh   = 10 * time.Minute
	DefaultUnknown = 30 * time.Second
	DefaultStale   = time.Hour
	DefaultWait    = 3 * time.Second
	DefaultRing    = 10_000
	// ringPause keeps a source that is down from being asked for every token.
	ringPause = 2 * time.Second
)

// RingConfig configures a Ring. Zero values are the defaults.
type RingConfig struct {
	Source  Resolver         // required
	Fresh   time.Duration    // how long keys count
	Unknown time.Duration    // how long a DID stays unknown
	Stale   time.Duration    // how old keys may be when Source fails
	Timeout time.Duration    // how long Source may take
	Entries int              // how many DIDs are remembered
	Now     func() time.Time // the clock
}

// Ring is a Resolver with a cache, between the check of tokens and the code that
// looks DIDs up: a flood of tokens of one DID asks once, an unknown DID is not
// asked for again at once, and known callers stay known for a while when the
// network is down. It looks nothing up itself. It is safe for concurrent use.
type Ring struct {
	config RingConfig

	mu         sync.Mutex
	young, old map[did.DID]*ringEntry // two generations; see get
}

var _ Resolver = (*Ring)(nil)

// ringEntry is what is known about a DID. Its members are guarded by Ring.mu.
type ringEntry struct {
	keys    []ed25519.PublicKey
	err     error         // the last answer was a failure; keys may still be there
	learned time.Time     // when keys came
	until   time.Time     // when to ask again
	asking  chan struct{} // closed when the request in progress has an answer; nil when there is none
}

// NewRing makes a Ring.
func NewRing(c RingConfig) *Ring {
	or := func(d *time.Duration, standard time.Duration) {
		if *d <= 0 {
			*d = standard
		}
	}
	or(&c.Fresh, DefaultFresh)
	or(&c.Unknown, DefaultUnknown)
	or(&c.Stale, DefaultStale)
	or(&c.Timeout, DefaultWait)
	if c.Entries <= 0 {
		c.Entries = DefaultRing
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Ring{config: c, young: map[did.DID]*ringEntry{}}
}

// Resolve returns the keys of id, from the cache when they are fresh.
// Concurrent calls for the same DID wait for one answer.
func (r *Ring) Resolve(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	for {
		r.mu.Lock()
		e := r.get(id)
		if e.asking == nil && r.config.Now().Before(e.until) {
			keys, err := r.answer(e)
			r.mu.Unlock()
			return keys, err
		}
		wait := e.asking
		if wait == nil {
			e.asking = make(chan struct{})
		}
		r.mu.Unlock()
		if wait == nil {
			return r.ask(ctx, id, e)
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask asks the source and informs the other callers. It continues when its own
// caller leaves, because others may be waiting.
func (r *Ring) ask(ctx context.Context, id did.DID, e *ringEntry) (_ []ed25519.PublicKey, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.Timeout)
	defer cancel()
	var keys []ed25519.PublicKey
	err = errors.New("the source of keys gave up") // remains if it panics
	defer func() {
		r.mu.Lock()
		r.learn(e, keys, err)
		r.mu.Unlock()
	}()
	keys, err = r.config.Source.Resolve(ctx, id)
	if err == nil && len(keys) == 0 {
		err = ErrUnknownDID
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learn(e, keys, err)
	return r.answer(e)
}

// learn notes an answer, once for each question.
func (r *Ring) learn(e *ringEntry, keys []ed25519.PublicKey, err error) {
	if e.asking == nil {
		return
	}
	close(e.asking)
	e.asking = nil
	now := r.config.Now()
	switch {
	case err == nil:
		e.keys, e.err, e.learned, e.until = keys, nil, now, now.Add(r.config.Fresh)
	case errors.Is(err, ErrUnknownDID):
		e.keys, e.err, e.until = nil, err, now.Add(r.config.Unknown)
	default:
		e.err, e.until = err, now.Add(ringPause)
	}
}

// answer is what a caller gets from e: keys, old ones when new ones cannot be
// had, or the failure.
func (r *Ring) answer(e *ringEntry) ([]ed25519.PublicKey, error) {
	if e.err == nil || len(e.keys) > 0 && r.config.Now().Sub(e.learned) < r.config.Stale {
		return e.keys, nil
	}
	return nil, e.err
}

// get finds or makes the entry of id. When the young ones are many, they grow
// old and the old ones are forgotten; who is asked for becomes young again.
func (r *Ring) get(id did.DID) *ringEntry {
	if e, ok := r.young[id]; ok {
		return e
	}
	e, ok := r.old[id]
	if !ok {
		e = &ringEntry{}
	}
	if len(r.young) >= max(1, r.config.Entries/2) {
		r.old, r.young = r.young, map[did.DID]*ringEntry{}
	}
	delete(r.old, id)
	r.young[id] = e
	return e
}
