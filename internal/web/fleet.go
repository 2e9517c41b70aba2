package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// fleetFlush is how long spent tokens are collected before the others are told. If
	// somebody waits they are sent at once.
	fleetFlush = 50 * time.Millisecond
	// fleetSilence is how long a server may take to confirm a message.
	fleetSilence = time.Second
	// fleetPatience limits how long a caller waits until spent tokens are confirmed. It
	// is longer than a starting server takes, or noticing a silence.
	fleetPatience = 2 * time.Second
	// fleetLook is how often servers that do not confirm are looked for.
	fleetLook = 250 * time.Millisecond
	// fleetSurplus is how long a server that no longer counts as live may take to say that
	// it is. It is longer than the time between two beats.
	fleetSurplus = 2 * time.Second
	// fleetLeft is how long a server that has said goodbye may still be counted by others.
	fleetLeft = 5 * time.Second
)

// FleetConfig configures a Fleet. All fields are required.
type FleetConfig struct {
	Key     []byte               // the same on all servers, and secret: names go out as hashes
	Publish func(message string) // sends to all servers; it does not wait
	Servers func() int           // how many there are, this one among them
}

// Fleet makes limiters of several servers count together. Each server tells the others
// how many tokens were spent there, some at a time, and each of them confirms it. With n
// servers, the unconfirmed tokens are at most the n-th part of what is left, or of an
// eighth of the limit if that is more: a caller who would spend more waits until they are
// confirmed. So a name has the whole limit at one server, and at most a quarter more at
// all of them, even where some have just started: those are not told about names that
// have spent next to nothing.
//
// While some server does not confirm, each gives its share of what is left and no more.
// It assumes that the others have spent what it has spent itself, and tells them so once
// they hear each other again: they keep the larger count, so nothing is given twice.
type Fleet struct {
	cfg  FleetConfig
	self string // names this server in messages

	mu       sync.Mutex
	limiters map[string]*Limiter
	peers    map[string]*peer
	left     []time.Time // when servers said goodbye, lately
	out      tokens      // to send
	sent     []sending   // not confirmed by all, oldest first
	last     uint64      // number of the last message
	hurried  uint64      // and of the last one that asks to be confirmed at once
	greeting uint64      // and of the last one that has all that is spent
	greeted  time.Time   // when this server last sent all because some were missing
	stopped  bool        // nothing more is sent
	waited   bool        // a caller waits for a confirmation
	ask      bool        // the others are to send all that is spent
	tell     bool        // they want it from this one
	lost     bool        // because they have lost something
	missing  time.Time   // since when some servers have not been heard from; zero: none
	surplus  time.Time   // since when more are known than live; zero: no more are
	news     chan struct{}

	began  time.Time     // when it began to run
	fresh  atomic.Bool   // it has just started, and the others have not told what is spent
	known  atomic.Int32  // how many peers there are
	silent atomic.Bool   // not all confirm
	kick   chan struct{} // cap 1: there is something to send
	urgent chan struct{} // cap 1: and a caller waits for it
}

// tokens are numbers of tokens by limiter and name.
type tokens map[string]map[uint64]int

func (t tokens) add(limiter string, hash uint64, n int) {
	if t[limiter] == nil {
		t[limiter] = map[uint64]int{}
	}
	t[limiter][hash] += n
}

// sending is a message on its way.
type sending struct {
	n    uint64
	at   time.Time
	what tokens
}

// peer is another server.
type peer struct {
	heard     time.Time
	last      uint64 // number of its last message
	torn      bool   // some before it were lost: it is not confirmed
	confirms  bool   // last is to be confirmed
	greeting  uint64 // number of its last one with all that is spent while it gave its share
	confirmed uint64 // the last message of ours it has confirmed
}

// share is what others may not know about a name.
type share struct{ mine, flight int } // tokens not sent yet, tokens not confirmed yet

// NewFleet makes a Fleet. It receives nothing until it runs.
func NewFleet(c FleetConfig) *Fleet {
	f := &Fleet{
		cfg: c, self: rand.Text(), limiters: map[string]*Limiter{}, peers: map[string]*peer{}, out: tokens{}, news: make(chan struct{}),
		kick: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
	}
	f.silent.Store(true)
	return f
}

// add has a limiter count together with those of its name at other servers.
func (f *Fleet) add(name string, l *Limiter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limiters[name] = l
	for i := range l.parts {
		l.parts[i].shares = map[uint64]share{}
	}
}

// all are the limiters.
func (f *Fleet) all() []*Limiter {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]*Limiter, 0, len(f.limiters))
	for _, l := range f.limiters {
		out = append(out, l)
	}
	return out
}

// hash is the same at all servers.
func (f *Fleet) hash(name string) uint64 {
	sum := sha256.Sum256(append(slices.Clip(f.cfg.Key), name...))
	return binary.LittleEndian.Uint64(sum[:])
}

// others is the number of other servers. A new one is heard from before it is counted.
func (f *Fleet) others() int { return max(f.cfg.Servers()-1, int(f.known.Load()), 0) }

// Hears reports whether all servers confirm this one's messages.
func (f *Fleet) Hears() bool { return !f.silent.Load() && (f.known.Load() > 0 || f.others() == 0) }

// cost is how many tokens one try takes: where not all confirm, one of each server.
func (f *Fleet) cost() int {
	if f.Hears() {
		return 1
	}
	return f.others() + 1
}

// spend counts a token, unless others do not know of too many: then it gives what to wait
// for. left is how many there are, as far as this server knows. The caller has the lock of the part.
func (f *Fleet) spend(l *Limiter, part *limiterPart, hash uint64, left int) (wait chan struct{}) {
	servers := f.others() + 1
	if servers == 1 {
		return nil
	}
	if f.fresh.Load() {
		return f.wait()
	}
	if !f.Hears() {
		return nil
	}
	s := part.shares[hash]
	s.mine = min(s.mine, l.burst-left) // tokens that have come back meanwhile need not be told
	most := max(min(left+s.mine+s.flight, l.burst)/servers, l.burst/(8*servers), 1)
	if s.mine+s.flight >= most {
		f.pass(l, part, hash, s)
		defer poke(f.urgent)
		return f.wait()
	}
	s.mine++
	part.shares[hash] = s
	if s.mine >= max(most/2, 1) {
		f.pass(l, part, hash, s)
		poke(f.kick)
	}
	return nil
}

// wait is closed when something was confirmed.
func (f *Fleet) wait() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waited = true
	return f.news
}

// pass has a name in the next message.
func (f *Fleet) pass(l *Limiter, part *limiterPart, hash uint64, s share) {
	if s.mine > 0 {
		f.mu.Lock()
		f.out.add(l.name, hash, s.mine)
		f.mu.Unlock()
	}
	s.flight, s.mine = s.flight+s.mine, 0
	part.shares[hash] = s
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run sends messages until ctx ends. On nil it does nothing.
func (f *Fleet) Run(ctx context.Context) error {
	if f == nil {
		return nil
	}
	look := time.NewTicker(fleetLook)
	defer look.Stop()
	defer f.leave()
	f.began = time.Now()
	f.fresh.Store(true)
	f.look()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			f.look()
			continue
		case <-f.urgent:
		case <-f.kick:
			select {
			case <-f.urgent:
			case <-time.After(fleetFlush):
			case <-ctx.Done():
				return nil
			}
		}
		f.flush()
	}
}

// leave says goodbye; from then on nobody waits for its messages.
func (f *Fleet) leave() {
	f.mu.Lock()
	f.stopped = true
	f.mu.Unlock()
	f.fresh.Store(false)
	f.silence()
	if f.known.Load() > 0 {
		f.cfg.Publish(f.self + " 0 " + flagBye)
	}
}

// look gives up servers that are gone, finds those that do not confirm, and greets all while
// some do not.
func (f *Fleet) look() {
	f.mu.Lock()
	now, others := time.Now(), f.cfg.Servers()-1
	f.forget(now, others)
	f.left = slices.DeleteFunc(f.left, func(at time.Time) bool { return now.Sub(at) > fleetLeft })
	since(&f.missing, now, len(f.peers)+len(f.left) < others)
	gone := !f.missing.IsZero() && now.Sub(f.missing) > fleetSilence
	late := len(f.sent) > 0 && now.Sub(f.sent[0].at) > fleetSilence
	alone := others <= 0 && len(f.peers) == 0
	f.mu.Unlock()
	switch {
	case alone:
		if f.silent.Load() || f.fresh.Load() {
			f.count()
		}
		f.settle()
		return
	case late || gone && !f.silent.Load():
		f.silence()
	}
	f.mu.Lock()
	if (f.silent.Load() || !f.missing.IsZero()) && now.Sub(f.greeted) >= fleetSilence {
		f.tell, f.greeted = true, now
		f.ask = f.ask || f.torn()
	}
	pending := f.tell || f.ask
	f.mu.Unlock()
	if pending {
		f.flush()
	}
	f.settle()
	if now.Sub(f.began) > fleetSilence && f.fresh.Swap(false) {
		f.wake()
	}
}

// torn reports whether something of another server is not known. The caller has the lock.
func (f *Fleet) torn() bool {
	for _, p := range f.peers {
		if p.torn {
			return true
		}
	}
	return len(f.peers)+len(f.left) < f.cfg.Servers()-1
}

// since notes when something began to hold.
func since(at *time.Time, now time.Time, holds bool) {
	if !holds {
		*at = time.Time{}
	} else if at.IsZero() {
		*at = now
	}
}

// forget drops peers that are neither counted nor heard from. Live ones answer when
// asked.
func (f *Fleet) forget(now time.Time, others int) {
	began := f.surplus
	since(&f.surplus, now, len(f.peers) > others)
	switch {
	case f.surplus.IsZero():
	case began.IsZero():
		f.ask = true
	case now.Sub(began) > fleetSurplus:
		for name, p := range f.peers {
			if p.heard.Before(began) {
				delete(f.peers, name)
			}
		}
		f.known.Store(int32(len(f.peers)))
		f.surplus = time.Time{}
	}
}

// silence has this server give its share. What others may not know of, they may have spent too.
func (f *Fleet) silence() {
	f.silent.Store(true)
	others := f.others()
	for _, l := range f.all() {
		l.assume(others, true)
	}
	f.mu.Lock()
	f.sent, f.out = nil, tokens{}
	f.mu.Unlock()
	f.wake()
}

// count makes this server count with the others, or alone if there are none.
func (f *Fleet) count() {
	f.silent.Store(false)
	f.fresh.Store(false)
	f.wake()
}

// wake makes all waiting callers look again.
func (f *Fleet) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.news)
	f.news = make(chan struct{})
	f.waited = false
}

// settle takes what all have confirmed off what they may not know of. Once all have confirmed a
// greeting, and sent theirs, they count together.
func (f *Fleet) settle() {
	f.mu.Lock()
	least := f.last
	for _, p := range f.peers {
		least = min(least, p.confirmed)
	}
	i := 0
	for i < len(f.sent) && f.sent[i].n <= least {
		i++
	}
	done := f.sent[:i:i]
	f.sent = slices.Clone(f.sent[i:])
	together := !f.torn() && f.greeting > 0 && least >= f.greeting && f.silent.Load() && !f.stopped
	f.mu.Unlock()
	for _, m := range done {
		f.landed(m.what)
	}
	switch {
	case together: // what was spent since that greeting is sent before anything is confirmed
		f.mu.Lock()
		f.tell = true
		f.mu.Unlock()
		f.count()
		poke(f.urgent)
	case len(done) > 0:
		f.wake()
	}
}

// landed takes tokens off those that others do not know of.
func (f *Fleet) landed(what tokens) {
	for limiter, names := range what {
		f.mu.Lock()
		l := f.limiters[limiter]
		f.mu.Unlock()
		for hash, n := range names {
			part := &l.parts[hash%limiterParts]
			part.mu.Lock()
			if s, ok := part.shares[hash]; ok {
				if s.flight = max(s.flight-n, 0); s == (share{}) {
					delete(part.shares, hash)
				} else {
					part.shares[hash] = s
				}
			}
			part.mu.Unlock()
		}
	}
}
