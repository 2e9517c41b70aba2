package bus

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// Kinds of topics of the bus, each followed by the topic of the rows: a version
// was raised; a process has dropped what was before a version.
const (
	topicRaised    = "cache."
	topicConfirmed = "confirmed."
)

// CountedFor is how long changes wait for a process that has fallen silent. It
// is longer than a lease, so that a late heartbeat drops nothing.
const CountedFor = 2 * cache.LeaseTime

const (
	readVersionsEvery   = time.Second
	readVersionsTimeout = 2 * time.Second
	// confirmEvery is how often a change that waits looks for confirmations in the
	// rows, for those the bus has lost.
	confirmEvery = 100 * time.Millisecond
)

// Memory is a cache of the rows of a topic.
type Memory interface {
	Flush()           // forgets all
	Forget(ws string) // forgets the data of a workspace
}

// WholeMemory is a Cache that always forgets everything.
type WholeMemory func()

// Flush forgets all.
func (f WholeMemory) Flush() { f() }

// Forget forgets all.
func (f WholeMemory) Forget(string) { f() }

// ChangesConfig configures Changes. DB and Bus are needed.
type ChangesConfig struct {
	DB  *db.DB
	Bus Bus
	Log *slog.Logger // discards by default
	// Self names this process among the live ones, "" while it does not serve.
	Self func() string
	// Live names the processes heard during the last CountedFor; by default
	// there is only this one.
	Live func(ctx context.Context) ([]string, error)
	// Silent is for how long others may not have heard from this one: after
	// CountedFor they no longer wait for it. 0 by default.
	Silent func() time.Duration
}

// Changes tells other processes about changes here, and hears of theirs. It is
// safe for concurrent use.
type Changes struct {
	cfg   ChangesConfig
	lease *cache.Lease
	wake  chan struct{} // cap 1: read the versions now

	mu        sync.Mutex
	caches    map[string][]Memory
	heard     map[string]int64            // the newest version of each topic; what was before it is dropped
	stored    map[string]int64            // what our rows say
	confirmed map[string]map[string]int64 // what other processes said: process → topic → version
	news      chan struct{}               // closed when confirmed grows
}

// version is one raised topic.
type version struct {
	topic string
	n     int64
	ws    string // "": more than one workspace
}

// NewChanges makes a Changes that lives as long as ctx. On PostgreSQL call it before
// the first transaction.
func NewChanges(ctx context.Context, cfg ChangesConfig) *Changes {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Live == nil {
		cfg.Live = func(context.Context) ([]string, error) { return nil, nil }
	}
	if cfg.Self == nil {
		cfg.Self = func() string { return "" }
	}
	if cfg.Silent == nil {
		cfg.Silent = func() time.Duration { return 0 }
	}
	s := &Changes{
		cfg: cfg, wake: make(chan struct{}, 1), caches: map[string][]Memory{}, heard: map[string]int64{}, stored: map[string]int64{},
		confirmed: map[string]map[string]int64{}, news: make(chan struct{}),
	}
	if cfg.DB.Dialect() != db.Postgres {
		return s
	}
	s.lease = &cache.Lease{}
	cfg.DB.OnChange(s.raise)
	cfg.Bus.Subscribe(topicRaised+"*", func(m Message) { s.onRaised(ctx, m) })
	cfg.Bus.Subscribe(topicConfirmed+"*", s.onConfirmed)
	return s
}

// Lease says whether caches may be used; nil on SQLite. It holds while Run hears
// of changes.
func (s *Changes) Lease() *cache.Lease { return s.lease }

// Follow makes a cache forget what others change under a topic.
func (s *Changes) Follow(topic string, c Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caches[topic] = append(s.caches[topic], c)
}

// Run reads the versions until ctx ends. On SQLite it does nothing.
func (s *Changes) Run(ctx context.Context) error {
	if s.lease == nil {
		return nil
	}
	tick := time.NewTicker(readVersionsEvery)
	defer tick.Stop()
	for {
		if err := s.read(ctx); err != nil && ctx.Err() == nil {
			s.cfg.Log.WarnContext(ctx, "versions not read", "err", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-s.wake:
		}
	}
}

// read processes the versions in the rows, and renews the lease.
func (s *Changes) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readVersionsTimeout)
	defer cancel()
	began := time.Now()
	all, err := readVersions(ctx, s.cfg.DB)
	if err != nil {
		return err
	}
	for _, v := range all {
		s.hear(v)
	}
	if !s.lease.Held() {
		s.flush()
	}
	// Once the others do not count on us, nothing holds, whatever we read.
	if last := time.Now().Add(CountedFor - cache.LeaseTime - s.cfg.Silent()); last.Before(began) {
		began = last
	}
	s.lease.Renew(began)
	if s.cfg.Self() == "" {
		return nil
	}
	return s.confirmRows(ctx)
}

// flush drops all that is kept.
func (s *Changes) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.caches {
		for _, c := range list {
			c.Flush()
		}
	}
}

// hear drops what was cached before a version. If versions were skipped, the
// workspaces of the changes in between are unknown.
func (s *Changes) hear(v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.heard[v.topic]
	if v.n <= last {
		return
	}
	for _, c := range s.caches[v.topic] {
		if v.ws != "" && v.n == last+1 {
			c.Forget(v.ws)
		} else {
			c.Flush()
		}
	}
	s.heard[v.topic] = v.n
}

// confirmRows stores what was heard, for changes that wait while the bus is
// silent.
func (s *Changes) confirmRows(ctx context.Context) error {
	fresh := map[string]int64{}
	s.mu.Lock()
	for topic, n := range s.heard {
		if s.stored[topic] < n {
			fresh[topic] = n
		}
	}
	s.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	if err := storeConfirmed(ctx, s.cfg.DB, s.cfg.Self(), fresh); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, n := range fresh {
		s.stored[topic] = max(s.stored[topic], n)
	}
	return nil
}

// onRaised processes a change of another process and confirms it.
func (s *Changes) onRaised(ctx context.Context, m Message) {
	if m.Missed {
		select {
		case s.wake <- struct{}{}:
		default:
		}
		return
	}
	v, err := parseVersion(m.Payload)
	if err != nil {
		s.cfg.Log.Warn("note not understood", "topic", topicRaised, "err", err.Error())
		return
	}
	s.hear(v)
	if self := s.cfg.Self(); self != "" {
		s.publish(ctx, topicConfirmed+v.topic, self+" "+v.String())
	}
}

func (s *Changes) publish(ctx context.Context, topic, payload string) {
	if err := s.cfg.Bus.Publish(ctx, topic, payload); err != nil {
		s.cfg.Log.Warn("bus", "topic", topic, "err", err.Error())
	}
}

// onConfirmed notes what another process says that it has dropped.
func (s *Changes) onConfirmed(m Message) {
	process, rest, ok := strings.Cut(m.Payload, " ")
	v, err := parseVersion(rest)
	if m.Missed || !ok || err != nil {
		return // the rows say it too
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.confirmed[process] == nil {
		s.confirmed[process] = map[string]int64{}
	}
	if s.confirmed[process][v.topic] < v.n {
		s.confirmed[process][v.topic] = v.n
	}
	close(s.news)
	s.news = make(chan struct{})
}

func (v version) String() string { return v.topic + " " + strconv.FormatInt(v.n, 10) + " " + v.ws }

func parseVersion(text string) (version, error) {
	topic, rest, _ := strings.Cut(text, " ")
	number, ws, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || topic == "" {
		return version{}, errors.New("not a topic and its version")
	}
	return version{topic, n, ws}, nil
}
