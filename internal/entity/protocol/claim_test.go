package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
)

type rule = protocol.ClaimRule

func TestFindClaimRule(t *testing.T) {
	t.Parallel()
	const types = `{"a":{},"b":{"verification":{"oracles":["did:x:o"],"reasonCodes":["r"]}},"c":{"verification":{"quorum":3}},
		"d":{"verification":{"mode":"auto","oracles":[],"quorum":"two","reasonCodes":{"r":1}}},"e":7,"f":{"verification":"x"}}`
	for name, want := range map[string]rule{
		"a": {}, "b": {Oracles: []string{"did:x:o"}, Quorum: 1, Reasons: []string{"r"}}, "c": {Quorum: 3}, "d": {}, "e": {}, "f": {},
	} {
		got, known, names := protocol.FindClaimRule(jsontext.Value(types), name)
		if diff := cmp.Diff(want, got); diff != "" || !known || len(names) != 6 {
			t.Errorf("%s: known %v among %v (-want +got):\n%s", name, known, names, diff)
		}
	}
	if got, known, names := protocol.FindClaimRule(jsontext.Value(types), "z"); known || len(names) != 6 || !cmp.Equal(got, rule{}) {
		t.Errorf("z = %+v, known %v among %v; want it unknown", got, known, names)
	}
	for _, none := range []string{"", "null", "{}", "[]", "{"} {
		if _, known, names := protocol.FindClaimRule(jsontext.Value(none), "a"); known || len(names) > 0 {
			t.Errorf("%q: known %v among %v, want none", none, known, names)
		}
	}
}

func TestClaimRulesTogether(t *testing.T) {
	t.Parallel()
	a, b, c := rule{Oracles: []string{"x", "y"}, Quorum: 1}, rule{Oracles: []string{"y", "z"}, Quorum: 2, Reasons: []string{"r"}}, rule{Oracles: []string{"x"}}
	for name, pair := range map[string][2]rule{
		"both":          {a.And(b), {Oracles: []string{"y"}, Quorum: 2, Reasons: []string{"r"}}},
		"with none":     {rule{}.And(a).And(rule{}), a},
		"nobody is all": {a.And(b).And(c).And(rule{}), {Oracles: []string{}, Quorum: 2, Reasons: []string{"r"}}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
