package judge_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity/judge"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func object(text string) twin.Object { return twin.Object{Value: jsontext.Value(text)} }

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    judge.Verdict
		want string
	}{
		{judge.Verdict{Status: "verified", Evidence: "a\nb", Reason: "seen", Oracle: "did:x:o"}, ""},
		{judge.Verdict{}, "/status"},
		{judge.Verdict{Status: "great", Evidence: strings.Repeat("x", 2001), Reason: "a\nb", Oracle: "o"}, "/status /evidence /reason /oracle"},
	} {
		var got []string
		if f := fault.As(tt.v.Validate()); f != nil {
			for _, field := range f.Fields {
				got = append(got, field.Pointer)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: wrong are %v, want %s", tt.v, got, tt.want)
		}
	}
}

func TestIndependent(t *testing.T) {
	t.Parallel()
	claim := &twin.Entity{CreatedBy: "did:x:maker", StatedBy: "did:x:editor", Owner: "did:x:owner"}
	for who, refused := range map[string]bool{"did:x:maker": true, "did:x:editor": true, "did:x:owner": true, "": true, "did:x:judge": false} {
		err := judge.Independent(claim, who)
		if f := fault.As(err); (f != nil) != refused || f != nil && (f.Code != "VERIFIER_IS_CLAIMANT" || f.Kind != fault.Forbidden) {
			t.Errorf("%q: %v, want refused %v", who, err, refused)
		}
	}
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"kind":"a"}`: "a /properties/kind", `{"kind":""}`: "T /type", `{"kind":7}`: "T /type", `{}`: "T /type", ``: "T /type",
	} {
		name, pointer := judge.TypeOf(&twin.Entity{Type: "T", Properties: object(text)})
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
		{"the same", twin.Verification{Status: "verified"}, func(*twin.Entity) {}, false},
		{"other properties", twin.Verification{Status: "verified"}, func(e *twin.Entity) { e.Properties = object(`{"a":1}`) }, true},
		{"another type", twin.Verification{Status: "verified"}, func(e *twin.Entity) { e.Type = "x" }, true},
		{"a voice", twin.Verification{Status: "pending", Approvals: votes, Missing: 1}, func(e *twin.Entity) { e.Type = "x" }, true},
		{"no verdict", twin.Verification{Status: "pending"}, func(e *twin.Entity) { e.Type = "x" }, false},
		{"rejected", twin.Verification{Status: "rejected"}, func(e *twin.Entity) { e.Type = "x" }, false},
		{"with a new verdict", twin.Verification{Status: "verified"}, func(e *twin.Entity) { e.Type, e.Verification.Evidence = "x", "y" }, false},
	} {
		before := &twin.Entity{Type: "T", Properties: object(`{}`), Verification: tt.before}
		e := *before
		tt.change(&e)
		if got := judge.Outlived(before, &e); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
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
		if got := judge.Repeats(v); got != want {
			t.Errorf("%q = %v, want %v", text, got, want)
		}
	}
}
