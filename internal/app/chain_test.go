package app_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// How TestChain walks, for longer walks and to walk one again:
//
//	go test ./internal/app -run TestChain$ -chain.walks 10000
//	go test ./internal/app -run TestChain$ -chain.seed 4711 -chain.walks 1
var (
	chainWalks = flag.Int("chain.walks", 250, "sequences of calls that TestChain walks; make test-all walks 5000")
	chainSeed  = flag.Uint64("chain.seed", 1, "seed of the first of them; each has the next")
	chainOn    = flag.String("chain.db", "sqlite", "sqlite or postgres; make test-all walks a tenth on PostgreSQL besides")
)

// chainsPerServer is how many sequences share a server, one after another, each with
// twins of its own.
const chainsPerServer = 500

// TestChain walks random sequences of calls about a few stoves, their homes and a project
// by every route that makes, changes, judges or joins them, and holds after every call,
// in the tables and by rules of its own, that no credential is without an approved claim,
// no approval without a rubric that gives it, no credential says anything else than its
// claim and the evaluation, and nothing is claimed twice.
func TestChain(t *testing.T) {
	t.Parallel()
	if dbtest.Everything() {
		*chainWalks = max(*chainWalks, 5000)
	}
	t.Run(*chainOn, func(t *testing.T) {
		t.Parallel()
		walkChains(t, *chainOn, *chainWalks, 2)
	})
	if dbtest.Everything() {
		t.Run("postgres besides", func(t *testing.T) {
			t.Parallel()
			walkChains(t, "postgres", *chainWalks/10, 1)
		})
	}
}

// walkChains walks sequences on servers of their own, several at once.
func walkChains(t *testing.T, on string, sequences, workers int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next, walked, tried, did := 0, 0, map[string]int{}, map[string]int{}
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1, next <= sequences && !t.Failed()
	}
	for range workers {
		all.Go(func() {
			var c *chain
			for n := 0; ; n++ {
				i, ok := take()
				if !ok {
					break
				}
				if n%chainsPerServer == 0 {
					if c != nil {
						c.b.Shut()
					}
					if c = newChain(t, on); c == nil {
						return
					}
				}
				c.walk(t, *chainSeed+uint64(i))
				mu.Lock()
				walked++
				addAll(tried, c.tried)
				addAll(did, c.did)
				mu.Unlock()
			}
			if c != nil {
				c.b.Shut()
			}
		})
	}
	all.Wait()
	t.Logf("%d sequences; done %v of %v", walked, did, tried)
	for name := range chainSteps { // or nothing would be shown
		if walked >= 200 && did[name] == 0 {
			t.Errorf("%s: none of %d was done", name, tried[name])
		}
	}
}

func addAll(to, from map[string]int) {
	for name, n := range from {
		to[name] += n
	}
}

// chainServer is a server with its jobs.
func chainServer(t testing.TB, on string) *app.Built {
	return authorityServer(t, func(c *config.Config) {
		if on == "postgres" {
			c.Data.DatabaseURL = config.Secret(dbtest.Migrated(t))
		}
	})
}

// walk founds a few twins and carries out a sequence of steps about them.
func (c *chain) walk(t *testing.T, seed uint64) {
	c.sequence = &sequence{t: t, rand: rand.New(rand.NewPCG(seed, 22)), tried: map[string]int{}, did: map[string]int{}, documents: map[string]string{}, judges: map[string]string{}, last: &ledgerNow{}} //nolint:gosec // the same again
	c.found(t)
	names := slices.Sorted(maps.Keys(chainSteps))
	var weighed []string
	for _, name := range names {
		for range chainSteps[name].often {
			weighed = append(weighed, name)
		}
	}
	for i := range 12 + c.rand.IntN(8) {
		name := weighed[c.rand.IntN(len(weighed))]
		if i < 2 { // or there is little to do it to
			name = c.pick("claim", "whole")
		}
		c.tried[name]++
		if chainSteps[name].do(c) {
			c.did[name]++
		}
		if wrong := c.check(t.Context()); wrong != "" {
			t.Errorf("seed %d: %s\n\tafter\n\t%s\n\t(walk it again: -run TestChain$ -chain.seed %d -chain.walks 1)", seed, wrong, strings.Join(c.sent, "\n\t"), seed)
			return
		}
	}
}

// check looks at all that the sequence has made, as it stands at one moment.
func (c *chain) check(ctx context.Context) string {
	now, err := c.look(ctx)
	if err != nil {
		return fmt.Sprintf("look: %v", err)
	}
	c.last = now
	for _, holds := range []func(*ledgerNow) string{c.answered, now.counts, now.claimsStand, now.approvalsAreGiven, c.credentialsSayTheSame, now.nothingTwice, c.collectionsCount} {
		if wrong := holds(now); wrong != "" {
			return wrong
		}
	}
	return ""
}
