package intake_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// seen is a conflict as it is read.
type seen struct {
	Differences []struct {
		Pointer      string `json:"pointer"`
		Stored, Sent any
		Masked       bool `json:"masked"`
	} `json:"differences"`
	Withheld  []string `json:"withheld"`
	Sent      any      `json:"sent"`
	Mergeable bool     `json:"mergeable"`
	Erased    bool     `json:"erased"`
	Revision  int64    `json:"storedRevision"`
	By        string   `json:"resolvedBy"`
	Kept      string   `json:"resolution"`
	Reason    string   `json:"reason"`
	text      string
	compared  string // the differences, as they came
}

func (v *env) conflict(t testing.TB, role, id string) seen {
	t.Helper()
	var out seen
	out.text = v.must(t, role, "GET /v1/surveys/s/conflicts/"+id, "")
	var raw struct {
		Differences any `json:"differences"`
	}
	if err := json.Unmarshal([]byte(out.text), &out, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out.text), &raw); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(raw.Differences, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	out.compared = string(text)
	return out
}

func (s *seen) pointers() string {
	var out []string
	for _, d := range s.Differences {
		out = append(out, d.Pointer)
	}
	return strings.Join(out, " ")
}

// TestRecordStays: a conflict can be read later as it arose, whatever became of
// the response since.
func TestRecordStays(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		id := v.take(t, "ann",
			item("r", "1", `"size":1,"phone":"tel.0700","near":"did:ixo:household/77"`),
			item("r", "1", `"size":2,"phone":"tel.0711","near":"did:ixo:household/78","cost":3`)).Results[1].ConflictID
		all, some := v.conflict(t, "mia", id), v.conflict(t, "reader", id)
		if got := all.pointers(); got != "/responses/home/cost /responses/home/near /responses/home/phone /responses/home/size /responses/home/yearly" || all.Revision != 1 {
			t.Errorf("differences = %s to revision %d", got, all.Revision)
		}
		if got := some.pointers(); got != "/responses/home/cost /responses/home/near /responses/home/size /responses/home/yearly" {
			t.Errorf("a reader is told of %s", got)
		}
		if got := strings.Join(some.Withheld, " "); got != "/collector /deviceId /householdId /location /metadata /responses/home/phone" || all.Withheld != nil {
			t.Errorf("withheld = %s, of whoever may read all %v", got, all.Withheld)
		}
		// Somebody corrects the response, somebody else decides: it stays what it was.
		w := v.send(t, "mia", "PATCH /v1/responses/r", `{"responses":{"home":{"size":2}}}`, "If-Match", `"1"`, "Content-Type", "application/merge-patch+json")
		if w.Code != 200 {
			t.Fatalf("correct = %d %s", w.Code, w.Body)
		}
		same := func(when string) {
			t.Helper()
			now, part := v.conflict(t, "mia", id), v.conflict(t, "reader", id)
			if now.compared != all.compared || part.compared != some.compared || now.Revision != 1 {
				t.Errorf("%s: differences = %s, to a reader %s", when, now.compared, part.compared)
			}
			if text, _ := json.Marshal(now.Sent); !strings.Contains(string(text), "tel.0711") {
				t.Errorf("%s: sent = %s", when, text)
			}
			for _, secret := range []string{"tel.0700", "tel.0711", "did:ixo:household", "did:key:ann"} {
				if strings.Contains(part.text, secret) {
					t.Errorf("%s: a reader reads %s in %s", when, secret, part.text)
				}
			}
		}
		same("corrected")
		v.must(t, "mia", "POST /v1/surveys/s/conflicts/"+id+"/resolve", `{"keep":"merged","take":{"/responses/home/phone":"stored","/responses/home/near":"sent"}}`)
		same("resolved")
		surveytest.Erase(t, d, "ws", "did:ixo:household/1", v.surveys.Erase, v.responses.Erase)
		for _, role := range []string{"mia", "reader", "ann"} {
			if gone := v.conflict(t, role, id); !gone.Erased || len(gone.Differences) != 0 || gone.Sent != nil || strings.Contains(gone.text, "07") && strings.Contains(gone.text, "phone") {
				t.Errorf("erased, %s reads %s", role, gone.text)
			}
		}
	})
}

// TestErasedBesideAConflict: when the household of the stored response is erased
// nothing is told of a content that names another one, either.
func TestErasedBesideAConflict(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		id := v.take(t, "ann", item("r", "1", `"size":1,"phone":"tel.0700"`), item("r", "2", `"size":2,"phone":"tel.0711"`)).Results[1].ConflictID
		if got := v.conflict(t, "mia", id); !strings.Contains(got.text, "tel.0711") || got.pointers() != "/householdId /responses/home/phone /responses/home/size" {
			t.Errorf("conflict = %s", got.text)
		}
		surveytest.Erase(t, d, "ws", "did:ixo:household/1", v.surveys.Erase, v.responses.Erase)
		if got := v.conflict(t, "mia", id); !got.Erased || strings.Contains(got.text, "tel.0711") || len(got.Differences) != 0 {
			t.Errorf("conflict = %s", got.text)
		}
	})
}

// TestMergeTellsNothing: who may not read an answer decides about it whether or
// not both are the same, and the second to send a content learns of no first.
func TestMergeTellsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t)
		v.take(t, "ann", item("r", "1", `"size":1,"phone":"tel.0700"`), item("r", "1", `"size":1,"phone":"tel.0722","cost":1`))
		out := v.take(t, "lead", item("r", "1", `"size":1,"phone":"tel.0700","cost":2`), item("r", "1", `"size":1,"phone":"tel.0711","cost":2`), item("r", "1", `"size":1,"phone":"tel.0722","cost":1`))
		if v.count(t, "response_conflicts") != 4 {
			t.Errorf("%d contents are kept, want one of ann and three of lead", v.count(t, "response_conflicts"))
		}
		var answers []string
		for _, one := range out.Results {
			path := "/v1/surveys/s/conflicts/" + one.ConflictID
			if got := v.conflict(t, "lead", one.ConflictID); got.Mergeable {
				t.Errorf("mergeable = %s", got.text)
			}
			w := v.send(t, "lead", "POST "+path+"/resolve", `{"keep":"merged"}`)
			var problem struct {
				Errors any `json:"errors"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || w.Code != 400 || !strings.Contains(w.Body.String(), "/responses/home/phone, alike or not") {
				t.Errorf("merged = %d %s, %v", w.Code, w.Body, err)
			}
			text, _ := json.Marshal(problem.Errors, json.Deterministic(true))
			answers = append(answers, string(text))
		}
		if answers[0] != answers[1] || answers[1] != answers[2] {
			t.Errorf("lead learns the number: %v", answers)
		}
		v.must(t, "lead", "POST /v1/surveys/s/conflicts/"+out.Results[0].ConflictID+"/resolve", `{"keep":"merged","take":{"/responses/home/phone":"stored"}}`)
		if got := string(v.record(t, "r").Responses.Value); !strings.Contains(got, `"cost":2,"phone":"tel.0700"`) {
			t.Errorf("merged = %s", got)
		}
	})
}

// TestTakeNamesQuestions: what a resolution takes is a question that somebody
// can answer.
func TestTakeNamesQuestions(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t)
	id := v.take(t, "ann", item("r", "1", `"size":1,"cost":1`), item("r", "1", `"size":2,"cost":1`)).Results[1].ConflictID
	resolve := func(take string) (int, string) {
		w := v.send(t, "mia", "POST /v1/surveys/s/conflicts/"+id+"/resolve", `{"keep":"merged","take":{"/responses/home/size":"sent",`+take+`}}`)
		return w.Code, w.Body.String()
	}
	for take, want := range map[string]string{
		`"/responses/zz":"sent"`:          `/take/~1responses~1zz`,
		`"/responses/home/zz":"stored"`:   `/take/~1responses~1home~1zz`,
		`"/responses/home/yearly":"sent"`: `/take/~1responses~1home~1yearly`,
		`"/responses/home/size/0":"sent"`: `/take/~1responses~1home~1size~10`,
		`"/householdId":"sent"`:           `/take/~1householdId`,
	} {
		if status, text := resolve(take); status != 400 || !strings.Contains(text, `"pointer":"`+want+`"`) {
			t.Errorf("take %s = %d %s, want 400 %s", take, status, text, want)
		}
	}
	if status, text := resolve(`"/responses/home/phone":"stored"`); status != 200 {
		t.Errorf("take what neither answers = %d %s, want 200", status, text)
	}
}

// TestMergeableNow: whether a merge needs a decision is told of the response as
// it is, for that is what would be merged.
func TestMergeableNow(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.start(t)
	id := v.take(t, "ann", item("r", "1", `"size":1`), item("r", "1", `"size":2,"cost":3`)).Results[1].ConflictID
	before := v.conflict(t, "mia", id)
	w := v.send(t, "mia", "PATCH /v1/responses/r", `{"responses":{"home":{"size":2}}}`, "If-Match", `"1"`, "Content-Type", "application/merge-patch+json")
	after := v.conflict(t, "mia", id)
	if w.Code != 200 || before.Mergeable || !after.Mergeable || after.compared != before.compared {
		t.Errorf("correct = %d, before %s\nafter %s", w.Code, before.text, after.text)
	}
	v.must(t, "mia", "POST /v1/surveys/s/conflicts/"+id+"/resolve", `{"keep":"merged"}`)
}
