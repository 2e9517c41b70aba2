package web

import (
	"hash/maphash"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// LimiterConfig configures a Limiter.
type LimiterConfig struct {
	PerMinute int // how many a name may do in the long run; at least 1
	Burst     int // how many at once; PerMinute by default
	// Step adds tokens in batches, this often, counted from the first use of a
	// full bucket. 0 adds them as time passes. With Step = time.Minute and no
	// Burst of its own, exactly PerMinute pass in the minute after the first.
	Step     time.Duration
	MaxNames int              // names remembered at most; 65,536 by default
	Now      func() time.Time // time.Now by default
	// Fleet makes limiters of one Name count together at all servers; nil: each server
	// counts alone.
	Fleet *Fleet
	Name  string // one word
}

// Limiter is a token bucket per name: an address, a key, a DID, a phone number.
// It is safe for concurrent use and its memory is bounded whatever names are
// tried: it keeps a hash of each, and forgets the least used first.
type Limiter struct {
	period  time.Duration // time one token takes to come back
	full    time.Duration // debt of an empty bucket
	step    time.Duration
	burst   int
	perPart int
	now     func() time.Time
	start   time.Time
	seed    maphash.Seed
	fleet   *Fleet // nil: no other server counts
	name    string
	parts   [limiterParts]limiterPart
}

// limiterParts is how many locks share the names.
const limiterParts = 32

type limiterPart struct {
	mu      sync.Mutex
	buckets map[uint64]bucket
	shares  map[uint64]share // what others do not know yet; nil without a Fleet
}

// bucket holds what was spent, as the time it takes to come back, so that all
// sums are whole nanoseconds. at is the time since the limiter's start up to
// which that time was counted.
type bucket struct{ debt, at time.Duration }

// NewLimiter makes a limiter.
func NewLimiter(c LimiterConfig) *Limiter {
	rate := max(c.PerMinute, 1)
	if c.Burst <= 0 {
		c.Burst = rate
	}
	if c.MaxNames <= 0 {
		c.MaxNames = 1 << 16
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	period := time.Minute / time.Duration(rate)
	l := &Limiter{
		period: period, full: period * time.Duration(c.Burst), step: c.Step, burst: c.Burst,
		perPart: max(c.MaxNames/limiterParts, 1), now: c.Now, start: c.Now(), seed: maphash.MakeSeed(), fleet: c.Fleet, name: c.Name,
	}
	for i := range l.parts {
		l.parts[i].buckets = map[uint64]bucket{}
	}
	if l.fleet != nil {
		l.fleet.add(l.name, l)
	}
	return l
}

// Verdict is a Limiter's answer to one try.
type Verdict struct {
	OK         bool
	Limit      int           // tries a full bucket holds
	Remaining  int           // tries left right now
	Reset      time.Duration // until the bucket is full again
	RetryAfter time.Duration // until the next try can pass; 0 when OK
}

// Allow takes one token from the bucket of name, if there is one.
func (l *Limiter) Allow(name string) Verdict {
	if l.fleet == nil {
		v, _ := l.take(maphash.String(l.seed, name))
		return v
	}
	hash := l.fleet.hash(name)
	for {
		v, wait := l.take(hash)
		if wait == nil {
			return v
		}
		select {
		case <-wait:
		case <-time.After(fleetPatience):
			l.fleet.silence()
		}
	}
}

// take takes one token, or returns a channel to wait on until it is known whether there
// is one.
func (l *Limiter) take(hash uint64) (v Verdict, wait chan struct{}) {
	part := &l.parts[hash%limiterParts]
	now := l.now().Sub(l.start)
	part.mu.Lock()
	defer part.mu.Unlock()
	b, cost := l.bucket(part, hash, now), l.period
	if l.fleet != nil {
		cost *= time.Duration(l.fleet.cost())
	}
	v = Verdict{Limit: l.burst}
	if b.debt+cost <= l.full {
		if l.fleet != nil {
			if wait = l.fleet.spend(l, part, hash, int((l.full-b.debt)/l.period)); wait != nil {
				return v, wait
			}
		}
		b.debt += cost
		v.OK = true
	} else {
		v.RetryAfter = l.wait(b, now, b.debt+cost-l.full)
	}
	part.buckets[hash] = b
	v.Remaining = max(int((l.full-b.debt)/l.period), 0)
	v.Reset = l.wait(b, now, b.debt)
	return v, nil
}

// bucket returns the present bucket of a name. There is room to store it.
func (l *Limiter) bucket(part *limiterPart, hash uint64, now time.Duration) bucket {
	b, known := part.buckets[hash]
	if !known && len(part.buckets) >= l.perPart {
		l.evict(part, now)
	}
	l.refill(&b, now)
	return b
}

// charge takes tokens that were spent at another server: since its last message, or in
// all.
func (l *Limiter) charge(hash uint64, tokens int, inAll bool) {
	part := &l.parts[hash%limiterParts]
	now := l.now().Sub(l.start)
	part.mu.Lock()
	defer part.mu.Unlock()
	b, debt := l.bucket(part, hash, now), time.Duration(min(tokens, 2*l.burst))*l.period
	if inAll {
		b.debt = max(b.debt, debt)
	} else {
		b.debt += debt
	}
	part.buckets[hash] = b
}

// assume charges the tokens that other servers have not confirmed once more for each of
// them, because they may have spent as many. all includes tokens they have not been told
// about.
func (l *Limiter) assume(others int, all bool) {
	now := l.now().Sub(l.start)
	for i := range l.parts {
		part := &l.parts[i]
		part.mu.Lock()
		for hash, s := range part.shares {
			unknown := s.flight
			if s.flight = 0; all {
				unknown, s.mine = unknown+s.mine, 0
			}
			b := l.bucket(part, hash, now)
			b.debt = min(b.debt+time.Duration(others*unknown)*l.period, max(b.debt, l.full))
			part.buckets[hash], part.shares[hash] = b, s
			if s.mine == 0 {
				delete(part.shares, hash)
			}
		}
		part.mu.Unlock()
	}
}

// spent returns what names have spent, without tokens not sent yet, for those that have
// spent enough to matter.
func (l *Limiter) spent() map[uint64]int {
	now, out := l.now().Sub(l.start), map[uint64]int{}
	for i := range l.parts {
		part := &l.parts[i]
		part.mu.Lock()
		for hash, b := range part.buckets {
			l.refill(&b, now)
			if b.debt >= l.full/fleetTold && b.debt > 0 {
				out[hash] = int((b.debt+l.period-1)/l.period) - part.shares[hash].mine
			}
		}
		part.mu.Unlock()
	}
	return out
}

// refill pays b's debt with the time that passed.
func (l *Limiter) refill(b *bucket, now time.Duration) {
	passed := max(now-b.at, 0) // a clock set back gives nothing and takes nothing
	if l.step > 0 {
		passed -= passed % l.step
	}
	b.debt = max(b.debt-passed, 0)
	b.at += passed
	if b.debt == 0 {
		b.at = now
	}
}

// wait is how long it takes until need of b's debt is paid.
func (l *Limiter) wait(b bucket, now, need time.Duration) time.Duration {
	if l.step > 0 {
		need = (need + l.step - 1) / l.step * l.step
	}
	return max(need-(now-b.at), 0)
}

// evict makes room for one name. It looks at a few buckets, chosen by the map's
// random order, and drops the full ones, else the least used: a flood of new
// names pushes out its own, not a bucket that has just been emptied.
func (l *Limiter) evict(part *limiterPart, now time.Duration) {
	const sample = 8
	var least uint64
	leastDebt, seen, dropped := time.Duration(math.MaxInt64), 0, false
	for hash, b := range part.buckets {
		l.refill(&b, now)
		if b.debt == 0 {
			part.forget(hash)
			dropped = true
		} else if b.debt < leastDebt {
			least, leastDebt = hash, b.debt
		}
		if seen++; seen == sample {
			break
		}
	}
	if !dropped {
		part.forget(least)
	}
}

func (p *limiterPart) forget(hash uint64) {
	delete(p.buckets, hash)
	delete(p.shares, hash)
}

// Len is the number of remembered names.
func (l *Limiter) Len() int {
	n := 0
	for i := range l.parts {
		l.parts[i].mu.Lock()
		n += len(l.parts[i].buckets)
		l.parts[i].mu.Unlock()
	}
	return n
}

// SetHeaders tells the caller about the limit: X-RateLimit-Limit, -Remaining,
// -Reset and, on a refusal, Retry-After. Times are whole seconds, rounded up.
func (v Verdict) SetHeaders(h http.Header) {
	text := [...]string{strconv.Itoa(v.Limit), strconv.Itoa(v.Remaining), strconv.Itoa(wholeSeconds(v.Reset))}
	h["X-Ratelimit-Limit"], h["X-Ratelimit-Remaining"], h["X-Ratelimit-Reset"] = text[0:1:1], text[1:2:2], text[2:3:3]
	if !v.OK {
		h.Set("Retry-After", strconv.Itoa(max(wholeSeconds(v.RetryAfter), 1)))
	}
}

// Tell is SetHeaders for callers near the limit: half of it is spent, or more.
// Others do not need the numbers.
func (v Verdict) Tell(h http.Header) {
	if !v.OK || 2*v.Remaining <= v.Limit {
		v.SetHeaders(h)
	}
}

func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Err is nil when the try passed, else the TooMany fault RATE_LIMITED.
func (v Verdict) Err() error {
	if v.OK {
		return nil
	}
	return fault.New(fault.TooMany, "RATE_LIMITED", "Too many requests. Try again later.").After(max(v.RetryAfter, time.Second))
}

// Guard limits what reaches next by the name of the request; "" is not limited.
// refuse answers the rest.
func (l *Limiter) Guard(name func(*http.Request) string, refuse ErrorWriter, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := name(r)
		if n == "" {
			next.ServeHTTP(w, r)
			return
		}
		v := l.Allow(n)
		v.Tell(w.Header())
		if err := v.Err(); err != nil {
			refuse(w, r, fault.As(err))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// AddrName is the name by which an address is limited. An IPv6 customer owns at
// least a /64, so all of it counts as one.
func AddrName(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return p.String()
}
