package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// TestOfflineAnswers puts the sentences of the offline model's help to a server
// with a small programme on it, and wants figures.
func TestOfflineAnswers(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		p := &programme{app.Build(t, owner, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}
		session := p.settleCounty(t)
		for _, tt := range []struct {
			said string
			want []string
		}{
			{"how many stoves are active in Kitui?", []string{"3 (", "type Stove", `in the project "Kitui"`}},
			{"how many households are there in Machakos?", []string{"2 (", "type Household", `in the district "Machakos", because no project has that name`}},
			{"How many tractors are there?", []string{"0 (", "type tractors, which no twin has"}},
			{"count twins by type", []string{"| Household       | 25    |", "| Stove "}},
			{"count households by district", []string{"| Kwale    | 23    |", "| Machakos | 2     |"}},
			{"how much are the stoves used in Kitui?", []string{"Stoves: 1", "Used: 1", "Events: 1", "Cooking hours: 0.5", `in the project "Kitui"`}},
			{"how much are the stoves used?", []string{"Stoves: 1", `in the project "Kitui"`, ", the only one"}},
			{"Majiko yanatumika kiasi gani?", []string{"Majiko: 1", "Saa za kupika: 0.5", `katika mradi "Kitui"`, "ambao ni pekee, kwa takwimu", "si modeli ya lugha"}},
			{"Kuna kaya ngapi katika Machakos?", []string{"2 (pacha unazoweza kuona: katika wilaya ya \"Machakos\", kwa kuwa hakuna mradi wenye jina hilo; aina Household)."}},
			{"Orodhesha kaya", []string{"| Aina ", `Kuna zaidi: sema "zaidi".`}},
			{"usage of Nowhere", []string{"Name a project that is there"}},
			{"Majiko yanatumika kiasi gani huko Nowhere?", []string{`Haikufaulu: Taja mradi uliopo; "Orodhesha miradi" huionyesha.`}},
			{"Utafiti usiopo unasema nini kuhusu kuni?", []string{"Haikufaulu: Huna ruhusa ya kuona hili: hakuna kundi lako linalotoa analytics:read."}},
			{"msaada", []string{"Mimi ni modeli", "Zana: "}},
			{"find twins named jiko two", []string{"Jiko Two", `"jiko two" in the name`}},
			{"list households", []string{"did:ixo:entity:", `There are more: say "more".`}},
			{"more", []string{"did:ixo:entity:", "Household"}},
			{"list surveys", []string{"Kitchen survey", "baseline", "draft"}},
			{"progress of survey " + p.survey(t), []string{"Looked up with survey_progress"}},
			{"how far is the survey?", []string{"No survey is active; the newest ones", "Kitchen survey", "Completed", "Target"}},
			{"Utafiti umefika wapi?", []string{"Hakuna utafiti unaoendelea; hizi ni mpya zaidi.", "Zilizokamilika", "Lengo"}},
			{"list stoves in Nowhere", []string{`in the district "Nowhere"`}},
			{"what is love", []string{`I did not understand "what is love"`, "how many stoves are active in Kitui?"}},
		} {
			body, err := json.Marshal(map[string]string{"message": tt.said})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Message struct {
					Content string `json:"content"`
				} `json:"message"`
			}
			w := p.talk(t, "POST", "/messages/"+session, string(body))
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s, %v", tt.said, w.Code, w.Body, err)
			}
			for _, want := range tt.want {
				if !strings.Contains(got.Message.Content, want) {
					t.Errorf("%s: answered %s, want %q in it", tt.said, got.Message.Content, want)
				}
			}
		}
	})
}

// settleCounty makes a project with stoves, households, a survey, and somebody who
// may read them, and gives a session of hers.
func (p *programme) settleCounty(t *testing.T) (session string) {
	t.Helper()
	var project, org, group, made struct {
		DID     string `json:"did"`
		Session string `json:"sessionId"`
	}
	p.want(t, "POST", "/v1/entities", `{"type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"Kitui"}}`, &project)
	for _, name := range []string{"One", "Two", "Three", "Four"} {
		p.want(t, "POST", "/v1/entities", fmt.Sprintf(`{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","metadata":{"name":"Jiko %s"},`+
			`"relationships":[{"role":"project","target":%q}]}`, name, project.DID), &made)
	}
	p.want(t, "POST", "/v1/entities/"+made.DID+"/transitions", `{"to":"suspended","reason":"broken"}`, nil)
	p.want(t, "POST", "/v1/devices", `{"type":"StoveUseMonitor","stoveId":"`+made.DID+`"}`, &made)
	p.want(t, "POST", "/v1/devices/"+made.DID+"/readings", `{"readings":[{"timestamp":"`+time.Now().UTC().Add(-24*time.Hour).Truncate(24*time.Hour).Add(12*time.Hour).Format(time.RFC3339)+`","cookingEvent":true,"duration":1800}]}`, nil)
	for i := range 25 {
		district := "Kwale"
		if i < 2 {
			district = "Machakos"
		}
		p.want(t, "POST", "/v1/entities", `{"type":"Household","protocol":"did:ixo:protocol/household","properties":{"district":"`+district+`"}}`, nil)
	}
	p.want(t, "POST", "/v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"x"}}`, &org)
	p.want(t, "POST", "/v1/entities/"+org.DID+"/groups", `{"name":"x","scopes":["entities:read","surveys:read","devices:read"]}`, &group)
	p.want(t, "PUT", "/v1/entities/"+group.DID+"/members/"+keyDID(t, string(rune(talker))), ``, nil)
	if err := json.Unmarshal(p.talk(t, "POST", "/sessions", "").Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	return made.Session
}

// survey makes a draft of one, once.
func (p *programme) survey(t *testing.T) string {
	t.Helper()
	var made struct {
		ID string `json:"surveyId"`
	}
	p.want(t, "POST", "/v1/surveys", `{"type":"BaselineSurvey","name":"Kitchen survey","projectId":"did:ixo:entity:123","template":{"eligibilityCriteria":true},"sampling":{"method":"census"},"collectors":["did:ixo:agent/123"]}`, &made)
	return made.ID
}
