package verdict_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func object(text string) twin.Object { return twin.Object{Value: jsontext.Value(text)} }

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    api.Verdict
		want string
	}{
		{api.Verdict{Status: "verified", Evidence: "a\nb", Reason: "seen", Oracle: "did:x:o"}, ""},
		{api.Verdict{}, "/status"},
		{api.Verdict{Status: "great", Evidence: strings.Repeat("x", 2001), Reason: "a\nb", Oracle: "o"}, "/status /evidence /reason /oracle"},
	} {
		var got []string
		if f := fault.As(verdict.Validate(tt.v)); f != nil {
			for _, field := range f.Fields {
				got = append(got, field.Pointer)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: wrong are %v, want %s", tt.v, got, tt.want)
		}
	}
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"kind":"a"}`: "a /properties/kind", `{"kind":""}`: "T /type", `{"kind":7}`: "T /type", `{}`: "T /type", ``: "T /type",
	} {
		name, pointer := verdict.TypeOf(&twin.Entity{Type: "T", Properties: object(text)})
		if got := name + " " + pointer; got != want {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

func TestOutlived(t *testing.T) {
	t.Parallel()
	votes := []twin.Approval{{Oracle: "did:x:o", Verifier: "did:x:v"}}
	for _, tt := range []struct {
		name   string
		before twin.Verification
		change func(*twin.Entity)
		want   bool
	}{
		{"a verdict", twin.Verification{Status: "verified"}, func(e *twin.Entity) { e.Type = "x" }, true},
		{"a voice", twin.Verification{Status: "pending", Approvals: votes, Missing: 1}, func(e *twin.Entity) { e.Type = "x" }, true},
		{"no verdict", twin.Verification{Status: "pending"}, func(e *twin.Entity) { e.Type = "x" }, false},
		{"rejected", twin.Verification{Status: "rejected"}, func(e *twin.Entity) { e.Type = "x" }, false},
		{"with a new verdict", twin.Verification{Status: "verified"}, func(e *twin.Entity) { e.Type, e.Verification.Evidence = "x", "y" }, false},
	} {
		before := &twin.Entity{Type: "T", Properties: object(`{}`), Verification: tt.before}
		e := *before
		tt.change(&e)
		if got := verdict.Outlived(before, &e); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Every member of a record is content, or is not, on purpose.
func TestRestated(t *testing.T) {
	t.Parallel()
	aside := []string{
		"DID", "Class", "DomainType", "Protocol", "Project", "RelayerNode", "Links", "Withheld", // fixed, or made from others
		"Controller", "Controllers", "Owner", "Status", "StatusCode", // whose it is, and its life
		"Relationships", "MoreRelationships", "MissingRelationships", // Says tells of them
		"Verification", "VerifiableCredential", "MoreCredentials", "LinkedClaims", // what others say
		"Revision", "Created", "Updated", "CreatedBy", "UpdatedBy", "StatedBy",
	}
	record := reflect.TypeFor[twin.Entity]()
	for i := range record.NumField() {
		name := record.Field(i).Name
		before, e := &twin.Entity{DomainType: "claim"}, &twin.Entity{DomainType: "claim"}
		switch f := reflect.ValueOf(e).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"a": "b"}))
		default:
			switch v := f.Addr().Interface().(type) {
			case *twin.Object:
				*v = object(`{"a":1}`)
			case *time.Time:
				*v = time.UnixMilli(1)
			case *twin.Verification:
				v.Status = "x"
			case *twin.Links:
				v.Self = "x"
			default:
				t.Fatalf("%s is a %T", name, v)
			}
		}
		if before.DomainType = e.DomainType; verdict.Restated(before, e) == slices.Contains(aside, name) {
			t.Errorf("with another %s a claim says something else: %v", name, verdict.Restated(before, e))
		}
	}
	moved := &twin.Entity{DomainType: "device", ProtocolVersion: "1.1.0"}
	if verdict.Restated(&twin.Entity{DomainType: "device", ProtocolVersion: "1.0.0"}, moved) {
		t.Error("a device says something else under another version of its protocol")
	}
}

func TestSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"claim producedBy": true, "claim about": true, "claim verifiedBy": false, "claim becomes": false,
		"credential becameFrom": true, "organisation implements": false, "device household": false, "oracle verifies": false,
	} {
		domain, role, _ := strings.Cut(text, " ")
		if got := verdict.Says(domain, role); got != want {
			t.Errorf("%s = %v, want %v", text, got, want)
		}
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"a1 b2": false, "a1 a2": true, "a1 b1": true, "": false, "a1": false, "ab ba": false} {
		var v twin.Verification
		for _, w := range strings.Fields(text) {
			v.Approvals = append(v.Approvals, twin.Approval{Oracle: w[:1], Verifier: w[1:]})
		}
		if got := verdict.Repeats(v); got != want {
			t.Errorf("%q = %v, want %v", text, got, want)
		}
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	about := func(n int64) *int64 { return &n }
	was := twin.Verification{Status: "verified", Verifier: "did:x:v", Evidence: "seen", Revision: 3}
	half := twin.Verification{
		Status: "pending", Verifier: "did:x:v", Revision: 3, Missing: 1,
		Approvals: []twin.Approval{{Oracle: "did:x:o", Verifier: "did:x:v", Revision: 3}},
	}
	for _, tt := range []struct {
		name   string
		v      api.Verdict
		was    twin.Verification
		reason string
		want   bool
	}{
		{"the same", api.Verdict{Status: "verified", Evidence: "seen", Reason: "r", Revision: about(3)}, was, "r", true},
		{"another status", api.Verdict{Status: "rejected", Evidence: "seen", Reason: "r", Revision: about(3)}, was, "r", false},
		{"other evidence", api.Verdict{Status: "verified", Evidence: "heard", Reason: "r", Revision: about(3)}, was, "r", false},
		{"another reason", api.Verdict{Status: "verified", Evidence: "seen", Reason: "s", Revision: about(3)}, was, "r", false},
		{"another revision", api.Verdict{Status: "verified", Evidence: "seen", Reason: "r", Revision: about(4)}, was, "r", false},
		{"for an oracle", api.Verdict{Status: "verified", Evidence: "seen", Reason: "r", Oracle: "did:x:o", Revision: about(3)}, was, "r", false},
		{"half of a quorum", api.Verdict{Status: "verified", Revision: about(3)}, half, "", true},
		{"for the same oracle", api.Verdict{Status: "verified", Oracle: "did:x:o", Revision: about(3)}, half, "", true},
		{"for another oracle", api.Verdict{Status: "verified", Oracle: "did:x:p", Revision: about(3)}, half, "", false},
		{"pending after half of a quorum", api.Verdict{Status: "pending", Revision: about(3)}, half, "", false},
	} {
		if got := verdict.Repeated(tt.v, tt.was, tt.reason); got != tt.want {
			t.Errorf("%s = %v, want %v", tt.name, got, tt.want)
		}
	}
}
