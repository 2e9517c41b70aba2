package app_test

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// planter sends what somebody writes, each time under an Idempotency-Key: what
// it is answered is stored too.
type planter struct {
	*programme
	t   *testing.T
	key string
}

// write sends a request, "POST /v1/…", that must succeed, and decodes the answer.
func (p *planter) write(line, body string, into any) {
	p.t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+p.key)
	r.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(path, "/v1/imports") {
		r.Header.Set("Content-Type", "text/csv")
	}
	if !strings.HasSuffix(path, "/verification") { // which names its revision
		r.Header.Set("If-Match", "*")
	}
	r.Header.Set("Idempotency-Key", db.NewID())
	w := httptest.NewRecorder()
	if p.Handler.ServeHTTP(w, r); w.Code >= 300 {
		p.t.Fatalf("%s %s = %d %s", line, body, w.Code, w.Body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		p.t.Fatalf("%s = %s: %v", line, w.Body, err)
	}
}

// judge says something about a twin or a response as it is now.
func (p *planter) judge(path, body string) {
	p.t.Helper()
	var now struct {
		Revision int64 `json:"revision"`
	}
	p.want(p.t, "GET", path, "", &now)
	p.write("POST "+path+"/verification", fmt.Sprintf(`{%s,"revision":%d}`, body, now.Revision), nil)
}

// writers are the owner and somebody else, who judges.
func (p *programme) writers(t *testing.T) (mine, judge *planter, principal string) {
	t.Helper()
	var me, other struct {
		Principal string `json:"principal"`
		Key       string `json:"key"`
	}
	p.want(t, "GET", "/v1/api-keys/current", "", &me)
	p.want(t, "POST", "/v1/api-keys", `{"name":"judge","role":"verifier","principal":"did:ixo:agent/judge"}`, &other)
	return &planter{programme: p, t: t, key: owner}, &planter{programme: p, t: t, key: other.Key}, me.Principal
}

// plantReasons writes about her wherever somebody can while they work with her
// records: words of the record, reasons, evidence and notes of verdicts.
func (p *programme) plantReasons(t *testing.T, c customer) {
	t.Helper()
	mine, judge, me := p.writers(t)
	const words = herWords + " " + herName
	why := "?reason=" + url.QueryEscape(words)
	for scheme, id := range map[string]string{"crm": c.did, "erp": c.household} {
		path := "/v1/entities/" + id
		mine.write("POST "+path+"/transfer", `{"controller":"`+me+`","reason":"`+words+`"}`, nil)
		mine.write("PATCH "+path+why, `{"metadata":{"told":"`+words+`"},"alsoKnownAs":["mailto:`+herEmail+`"],"services":[{"id":"#home","type":"`+herWords+`","endpoint":"https://example.org/`+herWords+`"}],`+
			`"linkedResources":[{"id":"#note","type":"Note","description":"`+words+`"}],"accordedRights":[{"id":"#right","type":"x","message":"`+words+`"}],"accounts":[{"name":"`+herWords+`","address":"`+herWords+`"}],"externalIds":{"`+scheme+`":"`+herEmail+`"}}`, nil)
		judge.judge(path, `"status":"pending","evidence":"`+words+` of `+herPlace+`","reason":"`+words+`"`)
		judge.judge(path, `"status":"verified","evidence":"`+words+`"`)
		mine.write("POST "+path+"/transitions", `{"to":"suspended","reason":"`+words+`"}`, nil)
		mine.write("POST "+path+"/transitions", `{"to":"active","reason":"`+words+`"}`, nil)
		mine.write("POST /v1/entities:batch", `{"operations":[{"op":"patch","did":"`+id+`","ifMatch":"*","patch":{"metadata":{"also":"`+words+`"}},"reason":"`+words+`"}]}`, nil)
		var edge struct {
			ID string `json:"id"`
		}
		mine.write("POST "+path+"/relationships", `{"role":"project","target":"did:ixo:project/one"}`, &edge)
		mine.write("DELETE "+path+"/relationships/"+edge.ID+why, ``, nil)
	}
	var job struct {
		ID string `json:"id"`
	}
	// The second row is refused: the report says why.
	mine.write("POST /v1/imports?type=Household&protocol=did:ixo:protocol/household&mode=upsert",
		"did,properties.district,properties.size\n"+c.household+","+herPlace+",4\n"+c.household+","+herPlace+","+herWords+"\n", &job)
	p.until(t, "the import is over", func() bool {
		return strings.Contains(p.send(t, owner, "GET", "/v1/jobs/"+job.ID, "").Body.String(), `"completedWithErrors"`)
	})
}

// plantClaims claims something of her household and of a stove in it, and has people write
// about her where they dispute the claims, decide about that, and about the claims. It
// gives the paths of the claims.
func (p *programme) plantClaims(t *testing.T, c customer) (paths []string) {
	t.Helper()
	mine, _, _ := p.writers(t)
	const words = herWords + " " + herName
	var keys [2]struct {
		Principal string `json:"principal"`
		Key       string `json:"key"`
	}
	for i, name := range []string{"evaluator", "elder"} {
		p.want(t, "POST", "/v1/api-keys", `{"name":"`+name+`","role":"owner"}`, &keys[i])
	}
	evaluator, elder := &planter{programme: p, t: t, key: keys[0].Key}, &planter{programme: p, t: t, key: keys[1].Key}
	var oracle, stove, claimed, dispute struct {
		DID string `json:"did"`
		ID  string `json:"id"`
	}
	evaluator.write("POST /v1/entities", `{"type":"oracle","protocol":"did:ixo:protocol/oracle"}`, &oracle)
	mine.write("POST /v1/entities", `{"type":"stove","protocol":"did:ixo:protocol/clean-cooking","relationships":[{"role":"household","target":"`+c.household+`"}]}`, &stove)
	for kind, subject := range map[string]string{"household-use": c.household, "stove-use": stove.DID} {
		mine.write("POST /v1/claims", `{"kind":"`+kind+`","subject":"`+subject+`","oracle":"`+oracle.DID+`","periodStart":"2026-02-01","periodEnd":"2026-02-28","amount":{"value":4,"unit":"days"}}`, &claimed)
		path := "/v1/claims/" + claimed.ID
		evaluator.write("POST "+path+"/disputes", `{"reason":"`+words+`"}`, &dispute)
		elder.write("POST "+path+"/disputes/"+dispute.ID+"/decision", `{"outcome":"dismissed","reason":"`+words+`"}`, nil)
		evaluator.write("POST "+path+"/evaluations", `{"decision":"rejected","reason":"`+words+`"}`, nil)
		paths = append(paths, path)
	}
	return paths
}

// plantVerdicts has her response corrected, judged, and sent again with other
// content, which waits or is decided about.
func (p *programme) plantVerdicts(t *testing.T, c customer) {
	t.Helper()
	mine, judge, _ := p.writers(t)
	const survey, answer, words = "/v1/surveys/canary.survey", "/v1/responses/canary.answer", herWords + " " + herName
	mine.write("PATCH "+answer+"?reason="+url.QueryEscape(words), `{"metadata":{"later":"`+words+`"}}`, nil)
	judge.judge(answer, `"status":"in_review","reason":"`+words+`","notes":"`+words+` at `+herPhone+`"`)
	judge.judge(answer, `"status":"needs_correction","reason":"`+words+`"`)
	var now struct {
		Revision int64 `json:"revision"`
	}
	p.want(t, "GET", answer, "", &now)
	judge.write("POST "+survey+"/verification:bulk", fmt.Sprintf(`{"status":"flagged","reason":"%s","notes":"%s","responses":[{"responseId":"canary.answer","revision":%d}]}`, words, words, now.Revision), nil)
	// send is a content of hers from a tablet; it gives the conflict.
	send := func(id, household, more string) string {
		t.Helper()
		var got struct {
			Results []struct {
				Conflict string `json:"conflictId"`
			} `json:"results"`
		}
		mine.write("POST /v1/responses:batch", `{"items":[{"responseId":"`+id+`","surveyId":"canary.survey","householdId":"`+household+`","timestamp":"2024-02-20T10:00:00Z","collector":"did:ixo:agent/1",`+
			`"deviceId":"`+herWords+`","metadata":{"note":"`+words+` `+more+`"},"responses":{"consent":{"agree":true},"home":{"size":4,"name":"`+herName+`","words":"`+words+` `+more+`"}}}]}`, &got)
		if len(got.Results) != 1 || got.Results[0].Conflict == "" {
			t.Fatalf("a batch with %s = %+v, want a conflict", id, got)
		}
		return survey + "/conflicts/" + got.Results[0].Conflict
	}
	send("canary.answer", c.household, "waits")
	send("canary.twice", c.household, "the second of the household")
	send("canary.answer", "did:ixo:household/other", "under another household")
	mine.write("POST "+send("canary.answer", c.household, "is refused")+"/resolve", `{"keep":"stored","reason":"`+words+`"}`, nil)
	mine.write("POST "+send("canary.answer", c.household, "is taken")+"/resolve", `{"keep":"sent","reason":"`+words+`"}`, nil)
	p.want(t, "POST", survey+"/pause", `{}`, nil)
	send("canary.late", c.household, "is held")
	p.want(t, "POST", survey+"/resume", `{}`, nil)
}

// plantElsewhere writes about her into the records of others. It gives the paths
// where that is read, and how often it stands there.
func (p *programme) plantElsewhere(t *testing.T) map[string]int {
	t.Helper()
	mine, judge, _ := p.writers(t)
	var made struct {
		DID string `json:"did"`
	}
	mine.write("POST /v1/entities", `{"type":"x","protocol":"did:ixo:protocol/organisation","properties":{"name":"`+elsewhere+`"}}`, &made)
	path := "/v1/entities/" + made.DID
	mine.write("PATCH "+path+"?reason="+elsewhere, `{"properties":{"description":"`+elsewhere+`"}}`, nil)
	judge.judge(path, `"status":"verified","evidence":"`+elsewhere+`","reason":"`+elsewhere+`"`)
	const answer = "/v1/responses/canary.other"
	mine.write("POST /v1/surveys/canary.survey/responses", `{"responseId":"canary.other","householdId":"did:ixo:household/other","timestamp":"2024-02-20T10:00:00Z","collector":"did:ixo:agent/1",`+
		`"metadata":{"note":"`+elsewhere+`"},"responses":{"consent":{"agree":true},"home":{"size":4,"words":"`+elsewhere+`"}}}`, nil)
	judge.judge(answer, `"status":"rejected","reason":"`+elsewhere+`","notes":"`+elsewhere+`"`)
	out := map[string]int{path: 0, path + "/history": 0, answer: 0, answer + "/verification": 0}
	for path := range out {
		out[path] = strings.Count(p.send(t, owner, "GET", path, "").Body.String(), elsewhere)
		if out[path] == 0 {
			t.Errorf("GET %s does not have %q", path, elsewhere)
		}
	}
	return out
}
