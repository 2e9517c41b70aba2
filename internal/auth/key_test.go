package auth_test

import (
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// pointers lists what a fault names, as "pointer code".
func pointers(err error) []string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, d := range f.Fields {
			out = append(out, d.Pointer+" "+d.Code)
		}
	}
	return out
}

func TestDraftValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 201)
	for _, tt := range []struct {
		name string
		in   auth.Draft
		want string // pointers and codes
	}{
		{"least", auth.Draft{Name: "x", Scopes: []string{"entities:read"}}, ""},
		{"role", auth.Draft{Name: "x", Role: "device"}, ""},
		{"longest name", auth.Draft{Name: long[:400], Role: "device"}, ""},
		{"everything", auth.Draft{
			Name: "x", Role: "owner", Scopes: []string{"*"}, Principal: "did:ixo:entity:1", Projects: []string{"did:ixo:household/123"},
			Networks: []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"}, ExpiresAt: epoch.Add(time.Millisecond),
		}, ""},
		{"nothing", auth.Draft{}, "/name required, /scopes required"},
		{"blank name", auth.Draft{Name: " \t", Role: "device"}, "/name required"},
		{"long name", auth.Draft{Name: long, Role: "device"}, "/name too_long"},
		{"two lines", auth.Draft{Name: "a\nb", Role: "device"}, "/name control_character"},
		{"unknown role", auth.Draft{Name: "x", Role: "king"}, "/role unknown"},
		{"now is past", auth.Draft{Name: "x", Role: "device", ExpiresAt: epoch}, "/expiresAt in_the_past"},
		{"too many", auth.Draft{Name: "x", Scopes: slices.Repeat([]string{"x"}, 101)}, "/scopes too_many"},
		{"all at once", auth.Draft{
			Scopes: []string{"keys:read", "keys:fly", ""}, Principal: "ann", Projects: []string{"did:ixo:entity:1", "p"},
			Networks: []string{"10.0.0.1/8", "::ffff:10.0.0.0/104", "example.org", "10.0.0.0/33"}, ExpiresAt: epoch.Add(-time.Hour),
		}, "/name required, /scopes/1 invalid, /scopes/2 invalid, /principal not_a_did, /projects/1 invalid, " +
			"/networks/0 invalid, /networks/1 invalid, /networks/2 invalid, /networks/3 invalid, /expiresAt in_the_past"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.in.Validate(epoch)
			if got := strings.Join(pointers(err), ", "); got != tt.want {
				t.Errorf("Validate() names %s, want %s", got, tt.want)
			}
			if tt.want != "" && (fault.CodeOf(err) != "KEY_DRAFT_INVALID" || fault.KindOf(err) != fault.Invalid) {
				t.Errorf("Validate() = %v, want KEY_DRAFT_INVALID", err)
			}
		})
	}
}

// Clients made from the document know every role.
func TestDocumentHasEveryRole(t *testing.T) {
	t.Parallel()
	err := auth.Draft{Name: "x", Role: "king"}.Validate(epoch)
	role, _ := reflect.TypeFor[api.KeyDraft]().FieldByName("Role")
	if all := strings.ReplaceAll(role.Tag.Get("enum"), ",", ", "); !strings.Contains(fault.As(err).Fields[0].Detail, "The roles are "+all+".") {
		t.Errorf("the document has the roles %s, Validate() = %v", all, fault.As(err).Fields)
	}
}

// A name that is not known comes with those that are.
func TestDraftNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	err := auth.Draft{Name: "x", Role: "king", Scopes: []string{"keys:fly", "stoves:read"}}.Validate(epoch)
	want := []string{
		"There is no such role. The roles are owner, manager, collector, supervisor, verifier, evaluator, auditor, device, supplier, member.",
		"There is no such scope. There are keys:read, keys:write and keys:*.",
		"There is no such scope. A scope is *, or an area and a word, such as entities:read or entities:*. The areas are analytics, audit, claims, ",
	}
	for i, f := range fault.As(err).Fields {
		if !strings.HasPrefix(f.Detail, want[i]) {
			t.Errorf("%s: %q, want %q", f.Pointer, f.Detail, want[i])
		}
	}
}

func TestWorkspaceDraftValidate(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"kitui": "", "a1": "", "a-b": "", strings.Repeat("a", 63): "",
		"": "/id required", "a": "/id invalid", "-a": "/id invalid", "a-": "/id invalid", "Kitui": "/id invalid", "a_b": "/id invalid",
		"a/b": "/id invalid", "kïtui": "/id invalid", strings.Repeat("a", 64): "/id invalid",
	} {
		err := auth.WorkspaceDraft{ID: id, Name: "x"}.Validate()
		if got := strings.Join(pointers(err), ", "); got != want {
			t.Errorf("Validate(%q) names %s, want %s", id, got, want)
		}
	}
	wantCode(t, auth.WorkspaceDraft{ID: "kitui"}.Validate(), "WORKSPACE_DRAFT_INVALID")
}

func TestKeyText(t *testing.T) {
	t.Parallel()
	h := newHouse(t, dbtest.SQLite(t))
	form := regexp.MustCompile(`^hearth_[a-z2-7]{10}_[A-Za-z0-9_-]{43}$`)
	seen := map[string]bool{}
	for range 50 {
		k := h.make(t, "x", "default", auth.Draft{Name: "x", Role: "device"})
		if !form.MatchString(k.Text) || !strings.HasPrefix(k.Text, k.Prefix+"_") || len(k.Prefix) != 17 || seen[k.Text] {
			t.Fatalf("text %q with prefix %q: want a new one in form", k.Text, k.Prefix)
		}
		seen[k.Text] = true
		var logged strings.Builder
		slog.New(slog.NewTextHandler(&logged, nil)).Info("made", "key", k, "pointer", &k)
		for _, shown := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %s", k, &k, k), logged.String()} {
			if strings.Contains(shown, k.Text) || !strings.Contains(shown, k.ID) {
				t.Fatalf("printed as %q, want the id and not the text", shown)
			}
		}
	}
	owner, err := h.svc.Get(h.as(t, "default"), "key_00000001")
	if err != nil || !strings.HasPrefix(owner.Prefix, "given_") || strings.Contains(ownerText, owner.Prefix[6:9]) {
		t.Errorf("prefix of a chosen key = %q, %v, want one that tells nothing of it", owner.Prefix, err)
	}
}
