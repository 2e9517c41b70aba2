package survey_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestSight(t *testing.T) {
	t.Parallel()
	names := func(id string) string { return "hh_<" + id + ">" }
	for _, tt := range []struct {
		scopes, others []string
		all            bool
	}{
		{[]string{"responses:read"}, nil, false},
		{[]string{"responses:read"}, []string{"responses:write"}, false},
		{[]string{"responses:write"}, []string{"responses:write"}, true},
		{[]string{"responses:pii"}, nil, true},
		{[]string{"responses:*"}, nil, true},
		{[]string{"*"}, nil, true},
		{nil, nil, false},
	} {
		s := privacy.See("did:key:me", web.Caller{Scopes: tt.scopes}.May, names, tt.others...)
		if s.All() != tt.all {
			t.Errorf("%v sees all = %v, want %v", tt.scopes, s.All(), tt.all)
		}
		for _, got := range []string{s.Household("did:key:x"), s.Person("did:key:x"), s.Device("did:key:x")} {
			if (got == "did:key:x") != tt.all {
				t.Errorf("%v sees %q", tt.scopes, got)
			}
		}
		if got := s.Person("did:key:me"); got != "did:key:me" {
			t.Errorf("%v sees itself as %q", tt.scopes, got)
		}
	}
}
