package verdict_test

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
)

func credential(properties, verification string) *twin.Entity {
	return &twin.Entity{
		DID: "did:x:c", Type: "Certification", DomainType: "credential", CreatedBy: "did:x:maker", Status: twin.StatusActive,
		Properties: twin.Object{Value: jsontext.Value(properties)}, Verification: twin.Verification{Status: verification},
	}
}

func TestItem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, properties, verification, issuer, status string }{
		{"its maker", ``, "unverified", "did:x:maker", "active"},
		{"its issuer", `{"issuer":"did:x:org"}`, "verified", "did:x:org", "active"},
		{"an issuer that is no DID", `{"issuer":"Gold Standard"}`, "", "did:x:maker", "active"},
		{"an issuer that is no text", `{"issuer":{"id":"did:x:org"}}`, "", "did:x:maker", "active"},
		{"revoked", `{}`, "revoked", "did:x:maker", "revoked"},
		{"expired", `{}`, "expired", "did:x:maker", "expired"},
	} {
		want := twin.Credential{ID: "did:x:c", Type: "Certification", Issuer: tt.issuer, Status: tt.status}
		if diff := cmp.Diff(want, verdict.Item(credential(tt.properties, tt.verification))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	before := credential(`{"issuer":"did:x:org"}`, "")
	same, other, claim := *before, *before, *before
	same.Properties = twin.Object{Value: jsontext.Value(`{"issuer":"did:x:org","name":"x"}`)}
	other.Status = twin.StatusSuspended
	claim.DomainType, claim.Status = "claim", twin.StatusSuspended
	if verdict.Changed(before, &same) || !verdict.Changed(before, &other) || verdict.Changed(before, &claim) {
		t.Error("only a credential whose item differs has changed")
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	item := func(id, status string) twin.Credential { return twin.Credential{ID: id, Status: status} }
	full := make([]twin.Credential, twin.MaxCredentials)
	for i := range full {
		full[i] = item(fmt.Sprint(i), "active")
	}
	for _, tt := range []struct {
		name    string
		status  twin.Status
		list    []twin.Credential
		more    bool
		c       twin.Credential
		held    bool
		changed bool
		want    int // how many are shown
		wantAll bool
	}{
		{"added", "active", nil, false, item("a", "active"), true, true, 1, false},
		{"a draft", "active", nil, false, item("a", "draft"), true, false, 0, false},
		{"not held", "active", nil, false, item("a", "active"), false, false, 0, false},
		{"a twin that has gone", "deactivated", nil, false, item("a", "active"), true, false, 0, false},
		{"as it is", "active", full[:1], false, item("0", "active"), true, false, 1, false},
		{"renewed", "deactivated", full[:2], false, item("1", "revoked"), true, true, 2, false},
		{"taken away", "active", full[:2], false, item("1", "active"), false, true, 1, false},
		{"no room", "active", full, false, item("a", "active"), true, true, 100, true},
		{"no room as before", "active", full, true, item("a", "active"), true, false, 100, true},
		{"renewed when full", "active", full, true, item("7", "suspended"), true, true, 100, true},
	} {
		e := &twin.Entity{Status: tt.status, VerifiableCredential: tt.list, MoreCredentials: tt.more}
		if got := verdict.Show(e, tt.c, tt.held); got != tt.changed || len(e.VerifiableCredential) != tt.want || e.MoreCredentials != tt.wantAll {
			t.Errorf("%s: changed %v, %d shown, more %v; want %v, %d, %v", tt.name, got, len(e.VerifiableCredential), e.MoreCredentials, tt.changed, tt.want, tt.wantAll)
		}
		for _, c := range e.VerifiableCredential {
			if c.ID == tt.c.ID && tt.held && c != tt.c {
				t.Errorf("%s: shown as %+v, want %+v", tt.name, c, tt.c)
			}
		}
	}
	if full[7].Status != "active" || full[1].Status != "active" {
		t.Error("the list of the revision before has changed")
	}
}
