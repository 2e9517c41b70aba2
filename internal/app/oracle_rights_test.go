package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
)

// TestToolsAskAgain: every tool call of an answer asks anew what its user may
// do. A right that ends while the model works ends for the next call; the answer
// itself comes to its end.
func TestToolsAskAgain(t *testing.T) {
	t.Parallel()
	user := keyDID(t, string(rune(talker)))
	for _, tt := range []struct {
		name       string
		line, body string // what ends the right; GROUP is the DID of the group
	}{
		{"the membership ends", "DELETE /v1/entities/GROUP/members/" + user, ``},
		{"the group gives less", "PATCH /v1/entities/GROUP", `{"properties":{"scopes":["surveys:read"]}}`},
		{"the group ends", "DELETE /v1/entities/GROUP", ``},
		{"nothing ends", "GET /v1/entities/GROUP", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			onAny(t, func(t *testing.T, dsn string) {
				t.Helper()
				var p *programme
				var group string
				end := func(*modeltest.Player) bool { // while the server waits for the model
					method, path, _ := strings.Cut(strings.ReplaceAll(tt.line, "GROUP", group), " ")
					if w := p.send(t, owner, method, path, tt.body); w.Code >= 300 {
						t.Errorf("%s %s = %d %s", method, path, w.Code, w.Body)
					}
					return true
				}
				read := modeltest.Script{modeltest.Calls(0, modeltest.Call{ID: "c", Name: "search_twins", Args: `{"type":"Secret"}`}), modeltest.Finish("tool_calls")}
				model := modeltest.Start(read, append(modeltest.Script{end}, read...), modeltest.Say("That is all."))
				t.Cleanup(model.Close)
				p = &programme{app.Build(t, owner, func(c *config.Config) { c.Data.DatabaseURL, c.Model.BaseURL = config.Secret(dsn), model.URL })}
				var org, made, session struct {
					DID     string `json:"did"`
					Session string `json:"sessionId"`
				}
				p.want(t, "POST", "/v1/entities", `{"type":"Secret","protocol":"did:ixo:protocol/household","properties":{"district":"Canaryplace"}}`, nil)
				p.want(t, "POST", "/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`, &org)
				p.want(t, "POST", "/v1/entities/"+org.DID+"/groups", `{"name":"x","scopes":["entities:read","entities:pii"]}`, &made)
				group = made.DID
				p.want(t, "PUT", "/v1/entities/"+group+"/members/"+user, ``, nil)
				if err := json.Unmarshal(p.talk(t, "POST", "/sessions", "").Body.Bytes(), &session); err != nil {
					t.Fatal(err)
				}
				w := p.talk(t, "POST", "/messages/"+session.Session, `{"message":"Look twice."}`)
				if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "That is all.") {
					t.Errorf("the answer = %d %s, want it whole", w.Code, w.Body)
				}
				asked := model.Requests()
				if len(asked) < 3 {
					t.Fatalf("the model was asked %d times, want 3", len(asked))
				}
				var told []string // what the tools gave, as the model sees it at last
				for _, m := range asked[2].Messages {
					if m.Role == "tool" {
						told = append(told, string(m.Content))
					}
				}
				if len(told) != 2 || !strings.Contains(told[0], "Canaryplace") {
					t.Fatalf("the tools gave %q, want what the group lets her see first", told)
				}
				refused := strings.Contains(told[1], "none of your groups gives entities:read") && !strings.Contains(told[1], "Canaryplace")
				if want := !strings.HasPrefix(tt.line, "GET"); refused != want {
					t.Errorf("after %s the tool gave %s, want it refused: %v", tt.line, told[1], want)
				}
			})
		})
	}
}

// TestClaimIsExplained has somebody ask why a claim came out as it did: whoever may read
// claims is told what the record says, by its DID and by its CID, and nobody else.
func TestClaimIsExplained(t *testing.T) {
	t.Parallel()
	s := newShow(t, 10, nil)
	s.runs(t, func() {
		s.load(t)
		p := &programme{s.Built}
		var org, group, session struct {
			DID     string `json:"did"`
			Session string `json:"sessionId"`
		}
		p.want(t, "POST", "/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`, &org)
		p.want(t, "POST", "/v1/entities/"+org.DID+"/groups", `{"name":"x","scopes":["entities:read","surveys:read"]}`, &group)
		p.want(t, "PUT", "/v1/entities/"+group.DID+"/members/"+keyDID(t, string(rune(talker))), ``, nil)
		if err := json.Unmarshal(p.talk(t, "POST", "/sessions", "").Body.Bytes(), &session); err != nil {
			t.Fatal(err)
		}
		explain := func(claim string) string {
			t.Helper()
			var got struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			}
			w := p.talk(t, "POST", "/messages/"+session.Session, `{"message":"/tool explain_claim {\"claim\":\"`+claim+`\"}"}`)
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			return got.Message.Content
		}
		asked, evaluated := 0, 0
		for _, may := range []bool{false, true} {
			if may {
				p.want(t, "PATCH", "/v1/entities/"+group.DID, `{"properties":{"scopes":["claims:read"]}}`, nil)
			}
			for c, err := range s.api.Claims.List(t.Context(), client.ClaimQuery{}) {
				if err != nil {
					t.Fatal(err)
				}
				why, err := s.api.Claims.Explain(t.Context(), c.ID)
				if err != nil {
					t.Fatal(err)
				}
				want := []string{"none of your groups gives claims:read"}
				if may {
					want = []string{c.ID, why.Status, why.Words}
				}
				if e := why.Evaluation; may && e != nil {
					want = append(want, e.ID, e.Evaluator, e.Outcome, e.ReasonCode, e.Rule, e.Version)
					evaluated++
				}
				asked++
				for _, got := range []string{explain(c.ID), explain(c.CID)} {
					if slices.ContainsFunc(want, func(part string) bool { return !strings.Contains(got, part) }) || !may && strings.Contains(got, why.Words) {
						t.Errorf("%s is explained by %s, want %q in it and no more than may be read", c.ID, got, want)
					}
				}
			}
		}
		if asked == 0 || evaluated == 0 {
			t.Errorf("%d questions, %d evaluations, want some", asked, evaluated)
		}
		if got := explain("did:ixo:entity:none"); !strings.Contains(got, "No claim has this DID or CID.") {
			t.Errorf("a claim that is not there is explained by %s", got)
		}
	})
}
