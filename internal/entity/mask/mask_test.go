package mask_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/mask"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// marks are protocols by what they mark as personal; "lost" cannot be read.
type marks map[string][]string

var errLost = errors.New("lost")

func (m marks) Personal(_ context.Context, _ db.Querier, _, id string) ([]string, error) {
	names, ok := m[id]
	switch {
	case id == "lost":
		return nil, errLost
	case !ok:
		return nil, fault.New(fault.NotFound, "PROTOCOL_NOT_FOUND", "No.")
	}
	return names, nil
}

func (m marks) Declaring(_ context.Context, _, property string) (found []protocol.Declared, open bool, err error) {
	for id := range m {
		if id != "plain" || property == "name" || property == "serial" {
			found = append(found, protocol.Declared{Protocol: id})
		}
	}
	return found, true, nil
}

var protocols = marks{"home": {"name", "phone"}, "plain": nil}

func as(t *testing.T, did string, scopes ...string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), web.Caller{Workspace: "w", DID: did, Scopes: scopes})
}

const record = `{"did":"did:x:1","controllers":["did:x:ann","did:x:org"],"protocol":"home","properties":{"a":{"name":[1,"}"]},"name":"Wanjiru","phone":"+254","z/\"q":1.50},` +
	`"services":[{"name":"s"}],"metadata":{"name":"W","phone2":"x"},"revision":7}`

const masked = `{"did":"did:x:1","controllers":["did:x:ann","did:x:org"],"protocol":"home","properties":{"a":{"name":[1,"}"]},"z/\"q":1.50},` +
	`"services":[{"name":"s"}],"metadata":{"phone2":"x"},"revision":7,"withheld":["name","phone","metadata.name"]}`

func TestRecord(t *testing.T) {
	t.Parallel()
	asked := 0
	m := mask.New(protocols, func(_ context.Context, _ db.Querier, c web.Caller) ([]string, error) {
		member := c.DID
		asked++
		if member == "did:x:lost" {
			return nil, errLost
		}
		return map[string][]string{"did:x:member": {"did:x:group", "did:x:org"}}[member], nil
	})
	for name, tt := range map[string]struct {
		ctx      context.Context
		protocol string
		want     string
		err      error
	}{
		"a stranger":              {as(t, "did:x:bob", "entities:read", "entities:write"), "home", masked, nil},
		"nobody":                  {as(t, ""), "home", masked, nil},
		"the scope":               {as(t, "did:x:bob", "entities:pii"), "home", record, nil},
		"all of the resource":     {as(t, "did:x:bob", "entities:*"), "lost", record, nil}, // not even asked
		"an owner":                {as(t, "did:x:bob", "*"), "home", record, nil},
		"pii of others":           {as(t, "did:x:bob", "responses:pii"), "home", masked, nil},
		"a controller":            {as(t, "did:x:ann"), "home", record, nil},
		"a member of one":         {as(t, "did:x:member"), "home", record, nil},
		"nothing personal":        {as(t, "did:x:bob"), "plain", record, nil},
		"a protocol that is lost": {as(t, "did:x:bob"), "lost", "", errLost},
		"groups that are lost":    {as(t, "did:x:lost"), "home", "", errLost},
	} {
		got, err := m.Record(tt.ctx, nil, tt.protocol, []byte(record))
		if !errors.Is(err, tt.err) || err == nil && string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, tt.want, tt.err)
		}
		var e twin.Entity
		if err := json.Unmarshal([]byte(record), &e); err != nil {
			t.Fatal(err)
		}
		e.Protocol = tt.protocol
		err = m.See(tt.ctx).Entity(tt.ctx, nil, &e)
		if !errors.Is(err, tt.err) || err == nil && (len(e.Withheld) > 0) != (tt.want == masked) || strings.Contains(string(e.Properties.Value), "Wanjiru") == (tt.want == masked) {
			t.Errorf("%s: %s withheld %v, %v", name, e.Properties.Value, e.Withheld, err)
		}
	}
	if asked != 8 { // by a stranger, and by each that is not settled by then; never for whoever controls it by itself
		t.Errorf("groups were asked for %d times, want 8", asked)
	}
}

// TestSightRemembers: a page of twins asks for the groups of its reader once.
func TestSightRemembers(t *testing.T) {
	t.Parallel()
	asked := 0
	m := mask.New(protocols, func(context.Context, db.Querier, web.Caller) ([]string, error) {
		asked++
		return nil, nil
	})
	ctx := as(t, "did:x:bob")
	s := m.See(ctx)
	for range 3 {
		if got, err := s.Record(ctx, nil, "home", []byte(record)); err != nil || string(got) != masked {
			t.Fatalf("%s, %v", got, err)
		}
	}
	if asked != 1 || s.All() {
		t.Errorf("asked %d times, all %v", asked, s.All())
	}
	if name, err := s.Name(ctx, nil, "home", "Wanjiru"); name != "" || err != nil {
		t.Errorf("Name(home) = %q, %v", name, err)
	}
	if name, err := s.Name(ctx, nil, "plain", "Stove"); name != "Stove" || err != nil {
		t.Errorf("Name(plain) = %q, %v", name, err)
	}
}

func TestMayAsk(t *testing.T) {
	t.Parallel()
	m := mask.New(protocols, nil)
	home, plain := []string{"home"}, []string{"plain"}
	for _, tt := range []struct {
		path      string
		protocols []string
		scope     string
		refused   bool
	}{
		{"properties.name", nil, "", true},
		{"properties.name", nil, mask.Scope, false},
		{"properties.name", home, "", true},
		{"properties.name.first", home, "", true},
		{"properties.name", plain, "", false},
		{"properties.name", []string{}, "", false},
		{"properties.name", []string{"plain", "home"}, "", true},
		{"properties.name", []string{"nobody has it"}, "", false},
		{"properties.serial", nil, "", false},
		{"metadata.name", nil, "", true},
		{"metadata.note", nil, "", false},
		{"properties", nil, "", true},
		{"properties", plain, "", false},
		{"properties", home, "", true},
		{"metadata", home, "", true},
		{"type", nil, "", false},
		{"externalIds.name", home, "", false},
	} {
		ctx := as(t, "did:x:bob", tt.scope)
		err := m.See(ctx).MayAsk(ctx, nil, "query/filter", tt.protocols, strings.Split(tt.path, "."))
		if (err != nil) != tt.refused || err != nil && (fault.CodeOf(err) != "SCOPE_MISSING" || fault.As(err).Fields[0].Pointer != "query/filter") {
			t.Errorf("%s of %v with %q: %v, want refused %v", tt.path, tt.protocols, tt.scope, err, tt.refused)
		}
	}
	ctx := as(t, "did:x:bob")
	if err := m.See(ctx).MayAsk(ctx, nil, "", []string{"lost"}, []string{"properties", "name"}); !errors.Is(err, errLost) {
		t.Errorf("a protocol that is lost: %v", err)
	}
}

// TestNothingToHide: most records leave as they are stored, without a copy and
// without a look into them.
func TestNothingToHide(t *testing.T) {
	m := mask.New(protocols, nil)
	body := []byte("not even JSON")
	for name, tt := range map[string]struct {
		ctx      context.Context
		protocol string
	}{"the scope": {as(t, "did:x:bob", "entities:read", mask.Scope), "home"}, "an owner": {as(t, "did:x:bob", "*"), "home"}, "nothing personal": {as(t, "did:x:bob", "entities:read"), "plain"}} {
		allocs := testing.AllocsPerRun(100, func() {
			if got, err := m.Record(tt.ctx, nil, tt.protocol, body); err != nil || &got[0] != &body[0] {
				t.Fatalf("%s: %s, %v", name, got, err)
			}
		})
		if allocs > 0 {
			t.Errorf("%s: %v allocations, want none", name, allocs)
		}
	}
}
