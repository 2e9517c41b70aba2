package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// memories are the types that remember something between calls: a lock and a
// map. Of each it is said why what it remembers cannot be wrong: "topic" and the
// name under which others tell of changes of the rows, or what else ends it.
var memories = map[string]string{
	"internal/auth.recent":             "topic keys; of blocked addresses: their time",
	"internal/auth.usage":              "work of this process",
	"internal/bus.Local":               "work of this process",
	"internal/bus.Changes":             "versions themselves",
	"internal/bus.outbox":              "work of this process",
	"internal/cache.Cache":             "the topic of each, see above",
	"internal/cli.bridge":              "work of this process",
	"internal/db.Tx":                   "work of this process",
	"internal/db.rowGates":             "work of this process",
	"internal/entity.shard":            "SQLite alone",
	"internal/entity/bulk.glances":     "work of this process",
	"internal/entity/credential.lists": "time: a list may be a little old",
	"internal/entity/device.gate":      "work of this process",
	"internal/entity/protocol.rubrics": "found by what it was made of alone",
	"internal/entity/resolve.webCache": "time; of other hosts",
	"internal/event.Subscription":      "work of this process",
	"internal/event.herald":            "work of this process",
	"internal/event.lead":              "time: a workspace that is read for half a minute more",
	"internal/event.hub":               "work of this process",
	"internal/event.places":            "work of this process",
	"internal/event/webhook.crew":      "work of this process",
	"internal/event/webhook.pings":     "work of this process",
	"internal/event/webhook.slots":     "work of this process",
	"internal/file.Flights":            "work of this process",
	"internal/job.Service":             "work of this process",
	"internal/ops.Metrics":             "work of this process",
	"internal/ops.counters":            "work of this process",
	"internal/oracle.background":       "work of this process",
	"internal/oracle.guard":            "time",
	"internal/oracle.places":           "work of this process",
	"internal/oracle/agent.memory":     "found by what it was made of alone; topic conversations",
	"internal/oracle/chat.Permits":     "work of this process",
	"internal/oracle/chat.recall":      "topic conversations",
	"internal/oracle/extend.Minter":    "time; by the delegation",
	"internal/oracle/extend.names":     "time; of other hosts",
	"internal/oracle/mcp.Service":      "by the revision of the row, which is read each time",
	"internal/oracle/run.Run":          "work of this process",
	"internal/oracle/run.roster":       "work of this process",
	"internal/oracle/run.wakers":       "work of this process",
	"internal/oracle/socket.addresses": "work of this process",
	"internal/oracle/socket.post":      "work of this process",
	"internal/oracle/socket.register":  "work of this process",
	"internal/oracle/task.turns":       "work of this process",
	"internal/oracle/tool.Checker":     "found by what it was made of alone",
	"internal/oracle/tool.Registry":    "the program",
	"internal/socketio.Namespace":      "work of this process",
	"internal/socketio.Server":         "work of this process",
	"internal/socketio.Socket":         "work of this process",
	"internal/socketio/engine.Server":  "work of this process",
	"internal/survey.paces":            "time: a pace may be a little old",
	"internal/survey/interview.trial":  "work of this process",
	"internal/survey/response.plans":   "by the form",
	"internal/survey/openrosa.pot":     "work of this process",
	"internal/survey/template.entry":   "topic templates",
	"internal/ucan.shard":              "time: a second where keys can change",
	"internal/ucan.Ring":               "time; keys of others",
	"internal/ussd.Inbox":              "work of this process",
	"internal/ussd.flightPart":         "work of this process",
	"internal/ussd.late":               "work of this process",
	"internal/ussd.tally":              "work of this process",
	"internal/ussd/menu.Registry":      "a file of this machine, which is looked at",
	"internal/vc/vcapi.lanes":          "work of this process",
	"internal/web.ConnListener":        "work of this process",
	"internal/web.Fleet":               "work of this process",
	"internal/web.limiterPart":         "time",
	"plugins/slack.Slack":              "time",
	"plugins/weather.Plugin":           "time; of other hosts",
}

// checkCaches wants a topic and a lease of every cache, and an entry in memories
// for every other type that remembers.
func checkCaches(all []*file) []finding {
	var found []finding
	seen := map[string]bool{}
	for _, f := range code(all) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CompositeLit:
				if f.isCacheConfig(x.Type) && (!hasMember(x, "Topic") || !hasMember(x, "Lease")) {
					found = append(found, f.finding(x, "a cache without the topic of its rows, or without a lease: another process changes them unheard"))
				}
			case *ast.TypeSpec:
				name := f.dir + "." + x.Name.Name
				if s, ok := x.Type.(*ast.StructType); ok && f.remembers(s) {
					if seen[name] = true; memories[name] == "" {
						found = append(found, f.finding(x, "%s remembers something and is not in the table of internal/archtest: what ends it when another process changes a row?", name))
					}
				}
			}
			return true
		})
	}
	for name := range memories {
		if !seen[name] && len(all) > 100 { // not in a sample
			found = append(found, finding{"internal/archtest/cache_test.go", name + " is in the table and does not remember"})
		}
	}
	return found
}

// isCacheConfig reports whether a literal is one of cache.Config.
func (f *file) isCacheConfig(typ ast.Expr) bool {
	if x, ok := typ.(*ast.IndexExpr); ok {
		typ = x.X
	}
	sel, ok := typ.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Config" && selector(sel) == "cache.Config"
}

func hasMember(x *ast.CompositeLit, name string) bool {
	for _, e := range x.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return true
			}
		}
	}
	return false
}

// remembers reports whether a struct has a lock and a map, or a map that brings
// its own.
func (f *file) remembers(s *ast.StructType) bool {
	lock, kept := false, false
	for _, field := range s.Fields.List {
		text := f.src[f.fset.Position(field.Type.Pos()).Offset:f.fset.Position(field.Type.End()).Offset]
		switch {
		case text == "sync.Mutex" || text == "sync.RWMutex":
			lock = true
		case text == "sync.Map" || strings.HasPrefix(text, "atomic.Pointer[map") || strings.HasPrefix(text, "atomic.Pointer[["):
			lock, kept = true, true
		case strings.HasPrefix(text, "map["):
			kept = true
		}
	}
	return lock && kept
}

func TestCaches(t *testing.T) {
	t.Parallel()
	report(t, checkCaches(allFiles(t)))
}

func TestCachesFindsBad(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, src, want string }{
		{"no topic", "import \"x/cache\"\n\nvar c = cache.New[string](cache.Config[int]{Limit: 1, Lease: l})", "without the topic"},
		{"no lease", "import \"x/cache\"\n\nvar c = cache.New[string](cache.Config[int]{Limit: 1, Topic: \"keys\"})", "without a lease"},
		{"both", "import \"x/cache\"\n\nvar c = cache.New[string](cache.Config[int]{Limit: 1, Topic: \"keys\", Lease: l})", ""},
		{"lock and map", "import \"sync\"\n\ntype known struct {\n\tmu sync.Mutex\n\tall map[string]int\n}", "remembers something"},
		{"map alone", "type known struct{ all map[string]int }", ""},
		{"its own lock", "import \"sync\"\n\ntype known struct{ all sync.Map }", "remembers something"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantFinding(t, checkCaches([]*file{sample(t, "internal/web/a.go", "package web\n\n"+tt.src+"\n")}), tt.want)
		})
	}
}
