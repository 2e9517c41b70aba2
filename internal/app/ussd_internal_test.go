package app

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/erase"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestTwinsOfACustomer: asking again changes the twins that are there, and
// makes no others.
func TestTwinsOfACustomer(t *testing.T) {
	t.Parallel()
	b := Build(t, strings.Repeat("k", 40), nil)
	makes := registrar{b.twins.entities, b.line.server}
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: "did:x:op", Scopes: []string{"*"}})
	c := account.Customer{
		CustomerID: "C2345678A", DID: did.NewEntity().String(), Household: did.NewEntity().String(), Name: "Amina", Phone: "+254700000001", Language: "sw",
	}
	person := func(want int64) (*entity.Entity, string) {
		t.Helper()
		if home, err := makes.makeTwins(t.Context(), c); err != nil || home != c.Household {
			t.Fatalf("makeTwins = %q, %v", home, err)
		}
		row, err := b.twins.entities.Find(ctx, b.DB, c.DID)
		if err != nil {
			t.Fatal(err)
		}
		e, err := row.Entity()
		if err != nil {
			t.Fatal(err)
		}
		if e.Revision != want {
			t.Errorf("the person has revision %d, want %d", e.Revision, want)
		}
		home := ""
		for _, r := range e.Relationships {
			if r.Role == "household" {
				home += r.Target
			}
		}
		return e, home
	}
	language := func(e *entity.Entity) string { return e.Properties.String() }

	if e, home := person(1); !strings.Contains(language(e), `"language":"sw"`) || home != c.Household {
		t.Errorf("first: language %s, household %s", language(e), home)
	}
	person(1) // nothing is new
	c.Language = "en"
	if e, home := person(2); !strings.Contains(language(e), `"language":"en"`) || home != c.Household {
		t.Errorf("another language: %s, household %s", language(e), home)
	}
	old := c.Household
	if _, _, err := b.twins.erase.Erase(ctx, erase.Draft{Subject: old, Reason: "It was asked for."}); err != nil {
		t.Fatal(err)
	}
	c.Household, c.Language = "", "sw"
	// The erasure has taken the household from the record: one revision more.
	if e, home := person(4); !strings.Contains(language(e), `"language":"sw"`) || home != "" {
		t.Errorf("without a household: language %s, household %s", language(e), home)
	}
	c.Household = did.NewEntity().String()
	if _, home := person(5); home != c.Household {
		t.Errorf("another household: %s, want %s", home, c.Household)
	}
	person(5)
}
