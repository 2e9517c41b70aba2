package app_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// TestGroupDoesNotJudgeItself: what a group is named as the collector of is not
// for its members to verify, whatever the group gives them. What its organisation
// has collected is.
func TestGroupDoesNotJudgeItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ctx, err := h.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	made := func(path, body string) string {
		t.Helper()
		w := h.post(path, body)
		var out struct {
			DID string `json:"did"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code >= 300 {
			t.Fatalf("POST %s = %d %s, %v", path, w.Code, w.Body, err)
		}
		return out.DID
	}
	verifier := func(who string) string {
		t.Helper()
		k, err := h.Auth.Create(ctx, auth.Draft{Name: "v", Principal: who, Scopes: []string{"responses:read", "responses:verify"}})
		if err != nil {
			t.Fatal(err)
		}
		return k.Text
	}
	org := made("/v1/entities", `{"type":"Organisation","protocol":"did:ixo:protocol/organisation","properties":{"name":"N"}}`)
	group := made("/v1/entities/"+org+"/groups", `{"name":"collectors","scopes":["surveys:read"],"members":["did:ixo:person/inside"]}`)
	inside, outside := verifier("did:ixo:person/inside"), verifier("did:ixo:person/outside")
	for id, collector := range map[string]string{"by.group": group, "by.organisation": org} {
		mine := collector == group
		made("/v1/surveys/zq.responses/responses", `{"responseId":"`+id+`","householdId":"did:ixo:household/`+id+`","timestamp":"2024-02-20T10:00:00Z","collector":"`+collector+`",`+
			`"responses":`+interview+`}`)
		path := "/v1/responses/" + url.PathEscape(id) + "/verification"
		if w := h.as(inside, "POST", path, `{"status":"flagged","revision":1}`); strings.Contains(w.Body.String(), "VERIFIER_IS_COLLECTOR") != mine || !mine && w.Code >= 300 {
			t.Errorf("%s by a member = %d %s, refused is to be %v", id, w.Code, w.Body, mine)
		}
		if w := h.as(outside, "POST", path, `{"status":"verified","revision":1}`); w.Code >= 300 {
			t.Errorf("%s by somebody else = %d %s", id, w.Code, w.Body)
		}
	}
}
