package protocol

import "github.com/hearth-dmrv/hearth/internal/cache"

const (
	maxCached  = 64 << 20 // bytes of records and schemas in the cache, about
	cachedBase = 4 << 10  // what else a protocol weighs
	maxAnswers = 4096     // cached answers for filters
)

// cacheKey names a version of a protocol; an empty version is the one used
// when none is named.
type cacheKey struct{ ws, did, version string }

// question is the key of a cached answer: a property, a class, or a protocol.
type question struct{ kind, name string }

type answer struct {
	declared []Declared
	open     bool
	dids     []string
	names    []string // of properties
}

func newProtocols(l *cache.Lease) *cache.Cache[cacheKey, *Protocol] {
	return cache.New[cacheKey](cache.Config[*Protocol]{
		Topic: Topic, Lease: l, Limit: maxCached, Weigh: func(p *Protocol) int { return len(p.body) + 4*len(p.set.Text()) + cachedBase },
	})
}

func newAnswers(l *cache.Lease) *cache.Cache[question, *answer] {
	return cache.New[question](cache.Config[*answer]{Topic: Topic, Lease: l, Limit: maxAnswers, Weigh: func(*answer) int { return 1 }})
}
