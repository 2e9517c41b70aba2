package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// fleetFlush is how long what was spent waits for more of it before the others are
	// told. Who must be told before anybody goes on is not kept waiting.
	fleetFlush = 50 * time.Millisecond
	// fleetSilence is how long a message may be on its way until nothing is heard.
	fleetSilence = time.Second
	// fleetMessage is how many names one message has at most, so that it is well below the
	// limit of a bus.
	fleetMessage = 1000
)

// FleetConfig configures a Fleet. All are needed.
type FleetConfig struct {
	Key     []byte               // the same on all servers, and secret: names go out as hashes
	Publish func(message string) // sends to all servers, to this one too; it does not wait
	Servers func() int           // how many there are, this one among them
}

// Fleet has limiters of several servers count together. Each server tells the others what
// was spent at it, some tokens at a time. Tokens that the others may not know of are a
// quarter of the limit at most, over all servers: whoever would spend more waits until the
// message that names those before has come back, for then the others have it as well. So a name has
// the whole limit at one server, and at most a quarter more at all of them.
//
// When messages do not come back, each server gives its share of the limit and no more.
type Fleet struct {
	cfg  FleetConfig
	self string // tells our messages from those of others

	mu       sync.Mutex
	limiters map[string]*Limiter
	out      map[string]map[uint64]int // limiter → name → tokens to tell
	sent     []sending                 // on their way, oldest first
	last     uint64                    // number of the last one sent
	news     chan struct{}             // closed when one has come back

	kick   chan struct{} // cap 1: there is something to tell
	urgent chan struct{} // cap 1: and somebody waits
	silent atomic.Bool
}

// sending is a message on its way.
type sending struct {
	n    uint64
	at   time.Time
	what map[string]map[uint64]int
}

// share is what a server has to tell about a name.
type share struct{ mine, flight int } // tokens not sent yet, tokens on their way

// NewFleet makes a Fleet. Nothing is heard until it runs.
func NewFleet(c FleetConfig) *Fleet {
	f := &Fleet{
		cfg: c, self: rand.Text(), limiters: map[string]*Limiter{}, out: map[string]map[uint64]int{}, news: make(chan struct{}),
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

// hash is the same at all servers.
func (f *Fleet) hash(name string) uint64 {
	sum := sha256.Sum256(append(slices.Clip(f.cfg.Key), name...))
	return binary.LittleEndian.Uint64(sum[:])
}

// others is how many servers there are beside this one.
func (f *Fleet) others() int { return max(f.cfg.Servers()-1, 0) }

// unknown is how many tokens of a name others may not know of.
func (f *Fleet) unknown(burst, others int) int { return max(burst/(4*others), 1) }

// cost is how many tokens one try takes: where nobody is heard, one of each server.
func (f *Fleet) cost() int {
	if f.silent.Load() {
		return f.others() + 1
	}
	return 1
}

// spend counts a token, unless too many are unknown to others: then it gives what to wait
// for. The caller has the lock of the part.
func (f *Fleet) spend(l *Limiter, part *limiterPart, hash uint64) (wait chan struct{}) {
	others := f.others()
	if others == 0 {
		return nil
	}
	s, most := part.shares[hash], f.unknown(l.burst, others)
	if s.mine+s.flight >= most && !f.silent.Load() { // where nothing is heard nobody waits; others may hear us all the same
		f.tell(l, part, hash, s)
		poke(f.urgent)
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.news
	}
	s.mine++
	part.shares[hash] = s
	if s.mine >= max(most/2, 1) {
		f.tell(l, part, hash, s)
		poke(f.kick)
	}
	return nil
}

// tell has a name in the next message.
func (f *Fleet) tell(l *Limiter, part *limiterPart, hash uint64, s share) {
	if s.mine == 0 {
		return
	}
	f.mu.Lock()
	if f.out[l.name] == nil {
		f.out[l.name] = map[uint64]int{}
	}
	f.out[l.name][hash] += s.mine
	f.mu.Unlock()
	s.flight, s.mine = s.flight+s.mine, 0
	part.shares[hash] = s
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run sends what is to be told until ctx ends. That of nil does nothing.
func (f *Fleet) Run(ctx context.Context) error {
	if f == nil {
		return nil
	}
	look := time.NewTicker(fleetSilence)
	defer look.Stop()
	defer func() { // nobody waits for what is sent no more
		f.silent.Store(true)
		f.lost()
	}()
	f.listen()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			f.listen()
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

// listen gives up what does not come back, and asks whether messages do again.
func (f *Fleet) listen() {
	f.mu.Lock()
	late := len(f.sent) > 0 && time.Since(f.sent[0].at) > fleetSilence
	f.mu.Unlock()
	if late {
		f.silent.Store(true)
		f.lost()
	}
	if f.silent.Load() {
		f.send(map[string]map[uint64]int{})
	}
}

// lost takes what is on its way for told.
func (f *Fleet) lost() {
	f.mu.Lock()
	sent := f.sent
	f.sent = nil
	f.mu.Unlock()
	for _, m := range sent {
		f.landed(m.what)
	}
	f.wake()
}

// wake lets all who wait look again.
func (f *Fleet) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.news)
	f.news = make(chan struct{})
}

func (f *Fleet) flush() {
	f.mu.Lock()
	out := f.out
	f.out = map[string]map[uint64]int{}
	f.mu.Unlock()
	piece, n := map[string]map[uint64]int{}, 0
	for limiter, names := range out {
		for hash, tokens := range names {
			if piece[limiter] == nil {
				piece[limiter] = map[uint64]int{}
			}
			piece[limiter][hash] = tokens
			if n++; n == fleetMessage {
				f.send(piece)
				piece, n = map[string]map[uint64]int{}, 0
			}
		}
	}
	if n > 0 {
		f.send(piece)
	}
}

// send publishes a message: who, its number, and then each limiter with names and tokens.
func (f *Fleet) send(what map[string]map[uint64]int) {
	f.mu.Lock()
	f.last++
	m := sending{f.last, time.Now(), what}
	f.sent = append(f.sent, m)
	f.mu.Unlock()
	var b strings.Builder
	b.WriteString(f.self + " " + strconv.FormatUint(m.n, 36))
	for limiter, names := range what {
		b.WriteString(" " + limiter)
		for hash, tokens := range names {
			b.WriteString(" " + strconv.FormatUint(hash, 36) + ":" + strconv.Itoa(tokens))
		}
	}
	f.cfg.Publish(b.String())
}

// Hear takes a message, of another server or of this one.
func (f *Fleet) Hear(message string) {
	words := strings.Fields(message)
	if len(words) < 2 {
		return
	}
	if words[0] == f.self {
		if n, err := strconv.ParseUint(words[1], 36, 64); err == nil {
			f.back(n)
		}
		return
	}
	var l *Limiter
	for _, word := range words[2:] {
		name, count, counts := strings.Cut(word, ":")
		if !counts {
			f.mu.Lock()
			l = f.limiters[word]
			f.mu.Unlock()
			continue
		}
		hash, err := strconv.ParseUint(name, 36, 64)
		tokens, err2 := strconv.Atoi(count)
		if l != nil && err == nil && err2 == nil && tokens > 0 {
			l.charge(hash, tokens)
		}
	}
}

// Missed is to be called when messages were lost: ours may be among them.
func (f *Fleet) Missed() { f.lost() }

// back notes that a message of ours has reached all, and those before it.
func (f *Fleet) back(n uint64) {
	f.silent.Store(false)
	f.mu.Lock()
	i := 0
	for i < len(f.sent) && f.sent[i].n <= n {
		i++
	}
	done := f.sent[:i:i]
	f.sent = slices.Clone(f.sent[i:])
	f.mu.Unlock()
	for _, m := range done {
		f.landed(m.what)
	}
	f.wake()
}

// landed takes tokens off those that others do not know of.
func (f *Fleet) landed(what map[string]map[uint64]int) {
	for limiter, names := range what {
		f.mu.Lock()
		l := f.limiters[limiter]
		f.mu.Unlock()
		for hash, tokens := range names {
			part := &l.parts[hash%limiterParts]
			part.mu.Lock()
			if s, ok := part.shares[hash]; ok {
				if s.flight = max(s.flight-tokens, 0); s == (share{}) {
					delete(part.shares, hash)
				} else {
					part.shares[hash] = s
				}
			}
			part.mu.Unlock()
		}
	}
}

// Hears reports whether messages come back.
func (f *Fleet) Hears() bool { return !f.silent.Load() }
