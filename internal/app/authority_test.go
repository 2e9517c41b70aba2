package app_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// How the walks go, for longer ones than those of every day, and to walk one
// again:
//
//	go test ./internal/app -run TestAuthority$ -authority.walks 10000
//	go test ./internal/app -run TestAuthority$ -authority.seed 4711 -authority.walks 1
var (
	walks     = flag.Int("authority.walks", 100, "sequences of calls that TestAuthority walks; make test-all walks 1000")
	firstSeed = flag.Uint64("authority.seed", 1, "seed of the first of them; each has the next")
	goOn      = flag.Bool("authority.all", false, "go on after a sequence that broke a rule")
	onServer  = flag.String("authority.db", "sqlite", "sqlite or postgres")
	workers   = flag.Int("authority.workers", 4, "sequences that are walked at once")
)

// walksPerServer is how many sequences share a server, one after another. Each
// has a workspace of its own, and in the operators' workspace an organisation
// and keys of its own.
const walksPerServer = 50

// authorityServer is a server whose jobs run.
func authorityServer(t testing.TB, change func(*config.Config)) *app.Built {
	t.Helper()
	b := app.Build(t, owner, func(c *config.Config) {
		c.Data.Dir, c.Server.PublicURL = t.TempDir(), publicURL
		c.Data.SQLiteSynchronous = "normal" // nothing here is cut off
		if change != nil {
			change(c)
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.RunJobs(ctx) })
	shut := b.Shut
	b.Shut = sync.OnceFunc(func() {
		stop()
		running.Wait()
		shut()
	})
	t.Cleanup(b.Shut)
	return b
}

// TestAuthority walks random sequences of calls by keys and UCANs of every role
// over two workspaces and holds, by calling a route for each scope, that nobody
// can do more than callers who could do it gave them, and that rights end when
// they end. A sequence that breaks a rule is made as short as it can be and
// printed with its seed.
func TestAuthority(t *testing.T) {
	t.Parallel()
	if dbtest.Everything() {
		*walks = max(*walks, 1000)
	}
	change := func(*config.Config) {}
	if *onServer == "postgres" {
		change = func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dbtest.Migrated(t)) }
	}
	var next atomic.Uint64
	var all sync.WaitGroup
	var mu sync.Mutex
	tried, did, sequences := map[string]int{}, map[string]int{}, 0
	for range min(*workers, *walks) {
		all.Go(func() {
			var b *app.Built
			for n := 0; *goOn || !t.Failed(); n++ {
				i := next.Add(1) - 1
				if i >= uint64(*walks) {
					break
				}
				if n%walksPerServer == 0 {
					if b != nil {
						b.Shut()
					}
					b = authorityServer(t, change)
				}
				w := walk(t, b, *firstSeed+i)
				if w.wrong != "" {
					report(t, b, w, *firstSeed+i)
				}
				mu.Lock()
				sequences++
				for i, s := range w.steps {
					if tried[s.Do]++; w.did[i] {
						did[s.Do]++
					}
				}
				mu.Unlock()
			}
			if b != nil {
				b.Shut()
			}
		})
	}
	all.Wait()
	t.Logf("%d sequences; done %v of %v", sequences, did, tried)
	for name := range doers { // or nothing would be shown
		if sequences >= 100 && did[name] == 0 {
			t.Errorf("%s: none of %d was done", name, tried[name])
		}
	}
}

// walk draws a sequence and carries it out, step by step.
func walk(t testing.TB, b *app.Built, seed uint64) *world {
	w := newWorld(t, b, fmt.Sprintf("%d-%d", seed, salts.Add(1)))
	defer w.leave()
	d := &drawer{w: w, rand: rand.New(rand.NewPCG(seed, 16))}
	for _, s := range founding() {
		w.take(s)
	}
	d.plan()
	for range minSteps + d.rand.IntN(minSteps/2) {
		if w.wrong != "" {
			return w
		}
		w.take(d.next())
	}
	w.check(d.sample(), d.sample())
	return w
}

// minSteps is how many calls a sequence has, at least, after its founding.
const minSteps = 20

// salts keep what is walked twice on one server apart.
var salts atomic.Int64

// take carries a step out and keeps it.
func (w *world) take(s step) bool {
	w.steps, w.did = append(w.steps, s), append(w.did, false)
	w.did[len(w.did)-1] = w.do(s)
	return w.did[len(w.did)-1]
}

// again carries steps out in a world of its own and checks everything.
func again(t testing.TB, b *app.Built, steps []step) *world {
	w := newWorld(t, b, fmt.Sprintf("again-%d", salts.Add(1)))
	defer w.leave()
	for _, s := range steps {
		if w.take(s); w.wrong != "" {
			return w
		}
	}
	w.check(scopesOf("*"), scopesOf("*"))
	return w
}

// report prints a sequence that broke a rule, without the steps it can do
// without.
func report(t *testing.T, b *app.Built, w *world, seed uint64) {
	t.Helper()
	steps, wrong := w.steps, w.wrong
	for shorter := true; shorter; {
		shorter = false
		for i := len(steps) - 1; i >= 0; i-- {
			fewer := slices.Delete(slices.Clone(steps), i, i+1)
			if tried := again(t, b, fewer); tried.wrong != "" {
				steps, wrong, shorter = fewer, tried.wrong, true
			}
		}
	}
	var text strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&text, "\n\t%s", s)
	}
	t.Errorf("seed %d: %s\n\tafter%s\n\t(walk it again: -run TestAuthority$ -authority.seed %d -authority.walks 1)", seed, wrong, text.String(), seed)
}

// check probes what everybody can do, at the end of a sequence: all of these
// scopes of keys, and some of UCANs.
func (w *world) check(scopes, some rights) {
	all := probes()
	for _, name := range slices.Sorted(maps.Keys(w.keys)) {
		k := w.keys[name]
		if name == "root" {
			continue
		}
		w.compare(name, caller{key: k}, all, scopes)
		if out := w.send(caller{key: k}, request{method: "GET", path: "/v1/api-keys/current", outside: true}); k.inside && done(out) {
			w.fail("%s works from outside its network", name)
		}
		if org := w.twins["firm.org"]; k.narrow && org != nil && done(w.send(caller{key: k}, request{method: "GET", path: at(org.did)})) {
			w.fail("%s sees what is not in its project", name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.names)) {
		if strings.HasPrefix(id, "did:key:") {
			w.compare(w.names[id]+"/"+w.names[id], caller{as: id, hand: w.names[id]}, all, some)
			continue
		}
		for _, hand := range hands {
			if w.listed(id, hand) || hand == "eve" { // and one who has nothing to do with it
				w.compare(w.names[id]+"/"+hand, caller{as: id, hand: hand}, all, some)
			}
		}
	}
	w.checkOwners()
	w.checkDocuments()
	w.checkStreams()
}

// listed reports whether a record under a DID, whosever it is, has a key of a
// hand, or had one that a group admits.
func (w *world) listed(id, hand string) bool {
	for _, t := range w.twins {
		if t.did == id && (t.keys[hand] != nil || t.had[hand]) {
			return true
		}
	}
	return false
}

// compare holds what a caller can do against what it was given.
func (w *world) compare(name string, c caller, all map[string]probe, scopes rights) {
	if w.wrong != "" {
		return
	}
	has := w.has(c)
	extra := w.exercised(c, all, scopes.less(has))
	for until := time.Now().Add(lastsFor); extra != (rights{}) && c.key == nil && time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		extra = w.exercised(c, all, extra) // a token that was good a moment ago
	}
	if extra != (rights{}) {
		w.fail("%s can do %s and was given %s", name, extra, has)
	}
}

// lastsFor is how long a UCAN may count whose key was taken from its DID, and
// then some.
const lastsFor = 4 * time.Second

// checkOwners holds that somebody can always run each workspace.
func (w *world) checkOwners() {
	if k := w.keys["tenant"]; k != nil && w.wrong == "" && !w.owned(k.ws) {
		w.fail("nobody owns %s any more", "the second workspace")
	}
}

// checkDocuments holds that what is public of a DID comes from the twin it was
// minted for, and that the server's own addresses are its own.
func (w *world) checkDocuments() {
	anybody := caller{key: &modelKey{}}
	for _, name := range slices.Sorted(maps.Keys(w.twins)) {
		t := w.twins[name]
		if !t.copied || strings.HasPrefix(t.did, "did:key:") {
			continue
		}
		home := w.home(t.did)
		doc := w.send(anybody, request{method: "GET", path: "/1.0/identifiers/" + t.did})
		if strings.Contains(doc.Body.String(), "//"+t.name+".example.org") || doc.Code == http.StatusOK && home == nil && w.record(operators, t.did) == nil {
			w.fail("the public document of %s is that of the copy %s", w.names[t.did], t.name)
		}
		shown := read[struct {
			DIDDocument struct {
				AlsoKnownAs []string         `json:"alsoKnownAs"`
				Methods     []map[string]any `json:"verificationMethod"`
			} `json:"didDocument"`
		}](doc).DIDDocument
		for hand := range t.keys {
			if (home == nil || home.keys[hand] == nil) && strings.Contains(text(shown), strings.TrimPrefix(w.hands[hand], "did:key:")) {
				w.fail("the public document of %s has the key of %s from the copy %s", w.names[t.did], hand, t.name)
			}
		}
	}
	doc := w.send(anybody, request{method: "GET", path: "/.well-known/did.json"}).Body.String()
	if !strings.Contains(doc, publicURL) || strings.Contains(doc, "elsewhere.example.org") {
		w.fail("the document of the server sends clients elsewhere: %s", doc)
	}
}

// TestAuthorityCases walks short sequences that broke a rule once.
func TestAuthorityCases(t *testing.T) {
	t.Parallel()
	b := authorityServer(t, nil)
	for _, c := range authorityCases() {
		t.Run(c.name, func(t *testing.T) {
			w := again(t, b, append(founding(), c.steps...))
			if w.wrong != "" {
				t.Error(w.wrong)
			}
			for i, s := range w.steps {
				if owns := s.Who == "root" || s.Who == "boss" || s.Who == "tenant"; owns && !w.did[i] && s.How != "refused" {
					t.Errorf("%s was refused", s)
				}
			}
		})
	}
}
