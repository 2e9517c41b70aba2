package flag_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestSeen: who can move a place is not told how far it is from another.
func TestSeen(t *testing.T) {
	t.Parallel()
	far := flag.Flag{Rule: flag.Distance, Value: 1378, Limit: 500, Detail: "The interview was 1378 m from the household, at most 500 m are expected."}
	near := flag.Flag{Rule: "duplicate_household", Question: "/location", Value: 3.4, Limit: 7.5, Detail: "The interview was 3.4 m from that of response 9 m from here of another household."}
	short := flag.Flag{Rule: flag.DurationShort, Value: 41, Limit: 180, Detail: "x"}
	seen := []flag.Flag{
		{Rule: flag.Distance, Limit: 500, Detail: "The interview was more than 500 m from the household."},
		{Rule: "duplicate_household", Question: "/location", Limit: 7.5, Detail: "The interview was at most 7.5 m from that of response 9 m from here of another household."},
		short,
	}
	for _, tt := range []struct {
		scopes []string
		exact  bool
	}{
		{nil, true}, // a job
		{[]string{"responses:read", "responses:verify"}, true},
		{[]string{"responses:write", "responses:read"}, false},
		{[]string{"surveys:write", "responses:read"}, false},
		{[]string{"surveys:*"}, false},
		{[]string{"responses:write", "surveys:write", "responses:pii"}, true},
		{[]string{"*"}, true},
	} {
		ctx := web.WithCaller(t.Context(), web.Caller{Scopes: tt.scopes})
		all := []flag.Flag{far, near, short}
		want := seen
		if tt.exact {
			want = all
		}
		got := flag.AllSeen(ctx, all)
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%v sees %+v, want %+v", tt.scopes, got[i], want[i])
			}
		}
		if all[0] != far || flag.Exact(ctx) != tt.exact {
			t.Errorf("%v: exact %v, want %v; what is stored is %+v", tt.scopes, flag.Exact(ctx), tt.exact, all[0])
		}
	}
}
