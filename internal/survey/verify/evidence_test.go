package verify_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/verify"
)

// evidenceTemplate has files and places of every mark.
const evidenceTemplate = `{"templateId":"proof","title":"Proof","validations":{"completionThreshold":0.05},"sections":[
	{"id":"consent","questions":[{"id":"agree","type":"consent"}]},
	{"id":"home","questions":[
		{"id":"name","type":"text","pii":"direct"},{"id":"phone","type":"text","pii":"direct"},{"id":"born","type":"date","pii":"indirect"},
		{"id":"stove","type":"photo","pii":"indirect"},{"id":"open","type":"photo"},{"id":"face","type":"photo","pii":"direct"},
		{"id":"voice","type":"audio","pii":"indirect"},{"id":"sign","type":"signature","pii":"indirect"},
		{"id":"kitchen","type":"geo","pii":"direct"},{"id":"village","type":"geo","pii":"indirect"},{"id":"well","type":"geo"},
		{"id":"pots","type":"repeat","questions":[{"id":"photo","type":"photo","pii":"indirect"}]}]}]}`

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// prove makes a survey whose household is listed, with one response of ann.
func (v *env) prove(t testing.TB) {
	t.Helper()
	v.Must(t, "ws owner", "POST /v1/templates", evidenceTemplate, nil)
	v.Must(t, "ws owner", "POST /v1/templates/proof/publish", `{}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys", fmt.Sprintf(`{"surveyId":"p","type":"MonitoringSurvey","projectId":%q,"templateId":"proof","sampling":{"method":"census"},
		"collectors":["did:key:ann"]}`, surveytest.Project), nil)
	v.Must(t, "ws owner", "POST /v1/surveys/p/households", `{"items":[{"householdId":"did:ixo:household/1","location":{"lat":-1.29,"lon":36.82}}]}`, nil)
	v.Must(t, "ws owner", "POST /v1/surveys/p/activate", `{"reason":"test"}`, nil)
	home := `"name":"Amina","phone":"+254700","born":"1990-01-01","kitchen":{"lat":-1.2912345,"lon":36.8212345},"village":{"lat":-1.2954321,"lon":36.8254321},"well":{"lat":-1.5,"lon":36.5}`
	for _, name := range []string{"stove", "open", "face", "voice", "sign"} {
		home += fmt.Sprintf(`,%q:"sha256:%s"`, name, hashOf(name))
	}
	v.Must(t, "ws ann", "POST /v1/surveys/p/responses", `{"responseId":"r1","householdId":"did:ixo:household/1","timestamp":"2026-03-02T09:00:00Z",
		"location":{"lat":-1.2987654,"lon":36.8287654},"attachments":[{"sha256":"`+hashOf("form")+`"},{"sha256":"`+hashOf("face")+`"}],"responses":{"consent":{"agree":true},"home":{`+home+`,"pots":[{"photo":"sha256:`+hashOf("pot")+`"}]}}}`, nil)
	for _, name := range []string{"stove", "open", "face", "sign", "pot"} {
		if w := v.Send(t, "ws ann", "PUT /v1/attachments/"+hashOf(name), name, "Content-Type", "text/plain"); w.Code != 201 {
			t.Fatalf("put %s = %d %s", name, w.Code, w.Body)
		}
	}
}

// TestEvidence: a verifier sees pictures and how far places are apart, and
// nobody's name or house.
func TestEvidence(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.prove(t)
		w := v.Send(t, "ws vera", "GET /v1/responses/r1/evidence", "")
		for _, secret := range []string{"Amina", "254700", "1990-01", "did:ixo:household", "1.2912", "36.8212", "1.2954", "1.2987", hashOf("face"), hashOf("sign")} {
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("the evidence has %s: %s", secret, w.Body)
			}
		}
		var e verify.Evidence
		v.Must(t, "ws vera", "GET /v1/responses/r1/evidence", "", &e)
		var files []string
		for _, f := range e.Files {
			files = append(files, fmt.Sprintf("%s %s %v", f.Question, f.Type, f.Received))
		}
		if want := []string{
			"/responses/home/stove photo true", "/responses/home/open photo true", "/responses/home/voice audio false", "/responses/home/pots/0/photo photo true",
			" file false", // it came with the response and is no answer
		}; !slices.Equal(files, want) {
			t.Errorf("files = %v, want %v", files, want)
		}
		if want := []verify.Place{{At: "/location", Lat: -1.3, Lon: 36.83}, {At: "/responses/home/village", Lat: -1.3, Lon: 36.83}, {At: "/responses/home/well", Lat: -1.5, Lon: 36.5}}; !slices.Equal(e.Places, want) {
			t.Errorf("places = %+v, want %+v", e.Places, want)
		}
		if want := []string{"/responses/home/face", "/responses/home/sign", "/responses/home/kitchen"}; !slices.Equal(e.Closed, want) {
			t.Errorf("closed = %v, want %v", e.Closed, want)
		}
		far := map[string]float64{}
		for _, x := range e.Distances {
			far[x.From+" "+x.To] = x.Metres
		}
		if len(far) != 3 || far["/location household"] != 1378 || far["/responses/home/village household"] != 854 {
			t.Errorf("distances = %v, want none to what is direct", far)
		}
		var mover verify.Evidence // whoever can move a place would find the others with it
		v.Must(t, "ws ben", "GET /v1/responses/r1/evidence", "", &mover)
		if len(mover.Distances) != 0 || len(mover.Places) != len(e.Places) {
			t.Errorf("who may change responses sees distances %v", mover.Distances)
		}
		for _, tt := range []struct {
			who, path string
			code      int
		}{
			{"vera", hashOf("stove"), 200},
			{"vera", hashOf("open"), 200},
			{"vera", hashOf("pot"), 200},
			{"vera", hashOf("voice"), 404}, // it has not arrived
			{"vera", hashOf("face"), 404},
			{"vera", hashOf("sign"), 404},
			{"vera", hashOf("nothing"), 404},
			{"vera", "x", 404},
			{"reader", hashOf("stove"), 403},
			{"stranger", hashOf("stove"), 404},
		} {
			if w := v.Send(t, "ws "+tt.who, "GET /v1/responses/r1/evidence/"+tt.path, ""); w.Code != tt.code {
				t.Errorf("%s reads %.10s: %d %s, want %d", tt.who, tt.path, w.Code, w.Body, tt.code)
			}
		}
		if w := v.Send(t, "ws vera", "GET "+e.Files[0].Link, ""); w.Body.String() != "stove" || w.Header().Get("Content-Type") != "text/plain" {
			t.Errorf("the stove is %q %v", w.Body, w.Header())
		}
		v.evidenceGoes(t)
	})
}

// TestFlagsHoldNoDistance: nobody who can move a place reads in a flag how far
// it is from another, which the evidence does not say either.
func TestFlagsHoldNoDistance(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.prove(t)
		for who, exact := range map[string]bool{"vera": true, "owner": true, "ben": false, "ann": false} {
			for _, path := range []string{"/v1/responses/r1/evidence", "/v1/responses/r1", "/v1/surveys/p/responses", "/v1/responses/r1?fields=flags"} {
				text := v.Send(t, "ws "+who, "GET "+path, "").Body.String()
				if !strings.Contains(text, `"gps_distance"`) || strings.Contains(text, "1378") != exact || strings.Contains(text, "more than 500 m") == exact {
					t.Errorf("%s reads %s: %s, want metres %v", who, path, text, exact)
				}
			}
		}
		const again = `{"responseId":"r2","householdId":"did:ixo:household/1","round":1,"timestamp":"2026-03-03T09:00:00Z","supersedes":"r1",
			"location":{"lat":-1.2987654,"lon":36.8287654},"responses":{"consent":{"agree":true}}}`
		w := v.Send(t, "ws ann", "POST /v1/surveys/p/responses", again)
		if text := w.Body.String(); w.Code != 201 || !strings.Contains(text, `"gps_distance"`) || strings.Contains(text, "1378") {
			t.Errorf("who sends a response reads %d %s, want no metres", w.Code, text)
		}
	})
}

// evidenceGoes: nothing is left of what is erased or taken out, and other
// workspaces see nothing.
func (v *env) evidenceGoes(t *testing.T) {
	t.Helper()
	if w := v.Send(t, "other vera", "GET /v1/responses/r1/evidence", ""); w.Code != 404 {
		t.Errorf("in another workspace it is %d %s", w.Code, w.Body)
	}
	surveytest.Erase(t, v.DB, "ws", "did:ixo:household/1", v.Responses.Erase)
	var e verify.Evidence
	v.Must(t, "ws vera", "GET /v1/responses/r1/evidence", "", &e)
	if !e.Erased || len(e.Places) != 1 || len(e.Distances) != 0 || len(e.Closed) != 0 ||
		slices.ContainsFunc(e.Files, func(f verify.EvidenceFile) bool { return f.Received }) {
		t.Errorf("after the erasure there is %+v", e)
	}
	w := v.Send(t, "ws owner", "DELETE /v1/responses/r1?reason=test", "", "If-Match", "*")
	if w.Code != 200 {
		t.Fatalf("redact = %d %s", w.Code, w.Body)
	}
	v.Must(t, "ws vera", "GET /v1/responses/r1/evidence", "", &e)
	if len(e.Files) != 0 || len(e.Places) != 0 {
		t.Errorf("after the redaction there is %+v", e)
	}
}

// TestDecideByRecord: who has a file without names decides about its rows.
func TestDecideByRecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.fill(t, "ws", 1, 3)
		s := v.state(t, "r0")
		var got verify.State
		v.Must(t, "ws vera", "POST /v1/responses/"+s.RecordID+"/verification", `{"status":"verified","revision":1}`, &got)
		if got.ResponseID != "r0" || got.RecordID != s.RecordID || got.Verification.Status != "verified" {
			t.Errorf("decision = %+v", got)
		}
		var out verify.Outcome
		v.Must(t, "ws vera", "POST /v1/surveys/s/verification:bulk", `{"status":"verified","responses":[{"responseId":"`+v.state(t, "r1").RecordID+
			`","revision":1},{"responseId":"r1","revision":1},{"responseId":"r2","revision":1},{"responseId":"rec~1","revision":1}]}`, &out)
		if out.Changed != 2 || out.Refused != 1 || len(out.Items) != 3 {
			t.Errorf("bulk = %+v", out)
		}
		v.Must(t, "ws reader", "GET /v1/responses/"+s.RecordID+"/verification/history", "", nil)
	})
}
