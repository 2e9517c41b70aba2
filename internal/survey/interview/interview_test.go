package interview_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type env struct {
	*surveytest.Env
	surveys *survey.Service
	asks    *interview.Service
}

func newEnv(t *testing.T, d *db.DB) *env {
	t.Helper()
	v := &env{Env: surveytest.New(t, d)}
	box := vault.New(vault.Config{Key: v.Key})
	v.surveys = survey.New(survey.Config{
		DB: d, Templates: v.Templates, Events: v.Log, Cursors: eventtest.Cursors(), Vault: box, Asks: func(string) []string { return []string{"ussd", "chat"} },
	})
	drafts := interview.NewDrafts(interview.DraftsConfig{DB: d, Surveys: v.surveys, Vault: box, Cursors: eventtest.Cursors()})
	responses := response.New(response.Config{
		DB: d, Surveys: v.surveys, Vault: box, Events: v.Log, Cursors: eventtest.Cursors(), Key: v.Key,
		Stored: func(ctx context.Context, tx *db.Tx, p *response.Prepared, _ bool) error {
			return drafts.Sent(ctx, tx, p.Open(), p.Draft().ResponseID)
		},
	})
	v.asks = interview.New(interview.Config{DB: d, Surveys: v.surveys, Drafts: drafts, Responses: responses, Key: v.Key})
	return v
}

func (v *env) template(t *testing.T, id, questions string) {
	t.Helper()
	v.Must(t, "ws owner", "POST /v1/templates", `{"templateId":"`+id+`","sections":[{"id":"s","questions":[`+questions+`]}]}`, nil)
	v.Must(t, "ws owner", "POST /v1/templates/"+id+"/publish", `{}`, nil)
}

func (v *env) start(t *testing.T, id, template, more string) {
	t.Helper()
	var d survey.Draft
	text := `{"surveyId":"` + id + `","type":"BaselineSurvey","projectId":"` + surveytest.Project + `","templateId":"` + template + `","modes":["ussd","chat"],"sampling":{"method":"census"}` + more + `}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	ctx := surveytest.As(t.Context(), "ws", "owner")
	if _, err := v.surveys.Create(ctx, d); err != nil {
		t.Fatal(err, surveytest.Codes(err))
	}
	if _, err := v.surveys.Move(ctx, id, "activate", "", survey.Move{Reason: "test"}); err != nil {
		t.Fatal(err, surveytest.Codes(err))
	}
}

func at(t *testing.T, door, did string) context.Context {
	return web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: did, Scopes: []string{"responses:write", "surveys:read"}, Door: door})
}

const amina = "did:ixo:person/amina"

func home(n int) string { return fmt.Sprintf("did:ixo:household/%d", n) }

// TestReplies: what people type becomes the answer that the form takes, or is
// refused with a reason.
func TestReplies(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		const abc = `"options":["a","b","c"]`
		for i, tt := range []struct{ question, reply, want, problem string }{
			{`"type":"single_choice",` + abc, "2", `"b"`, ""},
			{`"type":"single_choice",` + abc, "B", `"b"`, ""},
			{`"type":"single_choice",` + abc, "4", "", "Choose a number shown."},
			{`"type":"single_choice","options":["kitui central","kitui south"]`, "kitui", "", "Which one? kitui central, kitui south"},
			{`"type":"single_choice","options":["kitui central","kitui south"]`, "kitui s", `"kitui south"`, ""},
			{`"type":"multiple_choice",` + abc, "13", `["a","c"]`, ""},
			{`"type":"multiple_choice",` + abc, "1 3", `["a","c"]`, ""},
			{`"type":"multiple_choice",` + abc, "a, c", `["a","c"]`, ""},
			{`"type":"multiple_choice",` + abc, "11", "", "Each once, please."},
			{`"type":"multiple_choice",` + abc + `,"validation":{"minSelections":2}`, "1", "", "Choose more."},
			{`"type":"multiple_choice",` + abc + `,"dontKnow":true`, "1 4", "", "One of them goes alone."},
			{`"type":"multiple_choice",` + abc + `,"dontKnow":true`, "4", `{"noAnswer":"dont_know"}`, ""},
			{`"type":"rank",` + abc, "312", `["c","a","b"]`, ""},
			{`"type":"rank",` + abc, "31", "", "Choose more."},
			{`"type":"boolean"`, "no", "false", ""},
			{`"type":"number","validation":{"max":10}`, "2,5", "2.5", ""},
			{`"type":"number"`, "1,000", "", "Type a number."},
			{`"type":"integer"`, "2.5", "", "This cannot be taken."},
			{`"type":"rating"`, "6", "", "From 1 to 5."},
			{`"type":"number"`, "1e9", "", "Type a number."},
			{`"type":"quantity","units":["kg","bag"]`, "5 2", `{"unit":"bag","value":5}`, ""},
			{`"type":"quantity","unit":"kg"`, "5", `{"unit":"kg","value":5}`, ""},
			{`"type":"quantity","units":["kg","bag"]`, "5", "", "Number and unit, such as 5 1"},
			{`"type":"date"`, "1/2/2026", `"2026-02-01"`, ""},
			{`"type":"date"`, "31022026", "", "Day, month, year, such as 31012026"},
			{`"type":"time"`, "1405", `"14:05"`, ""},
			{`"type":"text","validation":{"regex":"^[A-Z]+$"}`, "abc", "", "This cannot be taken."},
			{`"type":"text"`, "Ignore all rules & send everything", `"Ignore all rules & send everything"`, ""},
		} {
			id := fmt.Sprint("t", i)
			v.template(t, id, `{"id":"q","label":"Q",`+tt.question+`},{"id":"ok","type":"consent"}`)
			v.start(t, id, id, "")
			ctx, ref := at(t, "ussd", amina), interview.Ref{Survey: id, Household: home(1), Language: "en", Own: true}
			if turn, err := v.asks.Begin(ctx, ref); err != nil || turn.Step.At != "/s/ok" {
				t.Fatalf("consent is not asked first: %+v %v", turn, err)
			}
			if _, err := v.asks.Answer(ctx, ref, interview.Reply{At: "/s/ok", Text: "1"}); err != nil {
				t.Fatal(err)
			}
			turn, err := v.asks.Answer(ctx, ref, interview.Reply{At: "/s/q", Text: tt.reply})
			if err != nil {
				t.Fatalf("%+v: %v", tt, err)
			}
			problem := ""
			if turn.Step != nil {
				problem = turn.Step.Problem
			}
			if strings.TrimSpace(problem) != tt.problem {
				t.Errorf("%+v: problem %q", tt, problem)
			}
			_, said, err := v.asks.Review(ctx, ref)
			if err != nil || (len(said) == 2) != (tt.want != "") {
				t.Errorf("%+v: %+v %v", tt, said, err)
			}
			if tt.want == "" {
				continue
			}
			if _, err := v.asks.Submit(ctx, ref); err != nil {
				t.Fatalf("%+v: %v %s", tt, err, surveytest.Codes(err))
			}
			if w := v.Send(t, "ws owner", "GET /v1/surveys/"+id+"/responses", ""); !strings.Contains(w.Body.String(), `{"s":{"ok":true,"q":`+tt.want+`}}`) {
				t.Errorf("%+v: %s", tt, w.Body)
			}
		}
	})
}

// TestInterviewGoesOn: a new version of the template changes nothing for an interview
// under way, and consent that is taken back ends it.
func TestInterviewGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.template(t, "home", `{"id":"ok","type":"consent"},{"id":"size","type":"integer","required":true},{"id":"fuel","type":"single_choice","required":true,"options":["wood","gas"]}`)
		v.start(t, "s", "home", `,"strictCollectors":true,"collectors":["did:key:ann"]`)
		ctx, ref := at(t, "ussd", amina), interview.Ref{Survey: "s", Household: home(1), Language: "en", Own: true}
		for _, r := range []interview.Reply{{At: "/s/ok", Text: "1"}, {At: "/s/size", Text: "4"}, {At: "/s/fuel", Text: "1"}} {
			if _, err := v.asks.Answer(ctx, ref, r); err != nil {
				t.Fatal(err)
			}
		}
		w := v.Send(t, "ws owner", "PUT /v1/templates/home", `{"sections":[{"id":"s","questions":[{"id":"ok","type":"consent"},{"id":"size","type":"integer","required":true,"validation":{"max":3}},{"id":"fuels","type":"single_choice","required":true,"options":["wood","gas"]}]}]}`, "If-Match", "*")
		if w.Code >= 300 {
			t.Fatal(w.Code, w.Body)
		}
		v.Must(t, "ws owner", "POST /v1/templates/home/publish", `{}`, nil)
		if _, err := v.surveys.Update(surveytest.As(t.Context(), "ws", "owner"), "s", "*", "new version", []byte(`{"templateVersion":2}`)); fault.CodeOf(err) != "SURVEY_LOCKED" {
			t.Errorf("a survey that is under way takes another version: %v", err)
		}
		turn, err := v.asks.Begin(ctx, ref)
		if err != nil || turn.Step != nil || turn.Answered != 3 {
			t.Fatalf("turn %+v %v", turn, err)
		}
		// Who goes back and changes an answer is asked what follows from it.
		if turn, err = v.asks.Back(ctx, ref, ""); err != nil || turn.Step.At != "/s/fuel" {
			t.Fatalf("back: %+v %v", turn, err)
		}
		if turn, err = v.asks.Answer(ctx, ref, interview.Reply{At: "/s/ok", Text: "2"}); err != nil || !turn.Refused || turn.Step != nil {
			t.Fatalf("consent is taken back: %+v %v", turn, err)
		}
		if _, err := v.asks.Submit(ctx, ref); err != nil {
			t.Fatal(err)
		}
		if w := v.Send(t, "ws owner", "GET /v1/surveys/s/responses", ""); !strings.Contains(w.Body.String(), `"status":"refused"`) || !strings.Contains(w.Body.String(), `"responses":{"s":{"ok":false}}`) {
			t.Error(w.Body)
		}
	})
}

// TestNothingIsKeptWithoutConsent: no answer before it, no way past it, and none
// that was given before somebody says no.
func TestNothingIsKeptWithoutConsent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		questions, first string
		left             int // answers that stay, the refusal with them
	}{
		"first": {`{"id":"size","type":"integer"},{"id":"fuel","type":"single_choice","options":["wood","gas"]},{"id":"ok","type":"consent"}`, "", 1},
		// What the question for consent is asked for stays: without it there is no refusal.
		"asked because of another": {`{"id":"size","type":"integer"},{"id":"adult","type":"boolean"},{"id":"ok","type":"consent","relevant":"adult == true"}`, "/s/adult", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newEnv(t, dbtest.SQLite(t))
			v.template(t, "home", tt.questions)
			v.start(t, "s", "home", "")
			ctx, ref := at(t, "chat", amina), interview.Ref{Survey: "s", Household: home(1), Language: "en", Own: true}
			say := func(at, text, instead string) *interview.Turn {
				t.Helper()
				turn, err := v.asks.Answer(ctx, ref, interview.Reply{At: at, Text: text, Instead: instead})
				if err != nil {
					t.Fatal(err)
				}
				return turn
			}
			if tt.first != "" {
				say(tt.first, "yes", "")
			}
			kept := len(said(t, v, ref))
			for _, turn := range []*interview.Turn{say("/s/size", "4", ""), say("/s/ok", "", interview.Skip)} {
				if turn.Step == nil || turn.Step.At != "/s/ok" || turn.Step.Problem == "" || len(said(t, v, ref)) != kept {
					t.Errorf("kept before consent: %+v", turn.Step)
				}
			}
			say("/s/ok", "yes", "")
			say("/s/size", "4", "")
			if turn := say("/s/ok", "no", ""); !turn.Refused || turn.Step != nil || len(said(t, v, ref)) != tt.left {
				t.Errorf("kept after the refusal: %+v %+v", turn, said(t, v, ref))
			}
			say("/s/ok", "yes", "")
			for _, a := range said(t, v, ref) {
				if a.At == "/s/size" {
					t.Error("what was said before the refusal is back")
				}
			}
		})
	}
}

func said(t *testing.T, v *env, ref interview.Ref) []interview.Answered {
	t.Helper()
	_, out, err := v.asks.Review(at(t, "chat", amina), ref)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCompletenessOfAMode: a photo that nobody can send by keys is not missing.
func TestCompletenessOfAMode(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	v.template(t, "home", `{"id":"ok","type":"consent"},{"id":"size","type":"integer"},{"id":"photo","type":"photo"},{"id":"place","type":"geo"}`)
	v.start(t, "s", "home", "")
	ctx, ref := at(t, "ussd", amina), interview.Ref{Survey: "s", Household: home(1), Language: "en", Own: true}
	for _, r := range []interview.Reply{{At: "/s/ok", Text: "1"}, {At: "/s/size", Text: "4"}} {
		if _, err := v.asks.Answer(ctx, ref, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := v.asks.Submit(ctx, ref); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]string{"ussd": `"completeness":1,`, "visit": `"completeness":0.5,`} {
		if mode == "visit" {
			v.Must(t, "ws owner", "POST /v1/surveys/s/responses", `{"householdId":"did:ixo:household/2","timestamp":"2026-03-01T09:00:00Z","mode":"visit","responses":{"s":{"ok":true,"size":4}}}`, nil)
		}
		if w := v.Send(t, "ws owner", "GET /v1/surveys/s/responses?filter=eq(mode,"+mode+")", ""); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: want %s in %s", mode, want, w.Body)
		}
	}
}

// TestWhoMayAnswer: another customer's household, a caller through no door, a
// household that was erased, a survey of another mode.
func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.template(t, "home", `{"id":"ok","type":"consent"},{"id":"size","type":"integer","required":true}`)
		v.start(t, "s", "home", `,"collectors":["did:key:ann"]`)
		for name, tt := range map[string]struct {
			ctx  context.Context
			ref  interview.Ref
			code string
		}{
			"own":                      {at(t, "ussd", amina), interview.Ref{Survey: "s", Household: home(1), Own: true}, ""},
			"another household":        {at(t, "ussd", amina), interview.Ref{Survey: "s", Household: home(2)}, "INTERVIEW_NOT_OFFERED"},
			"a collector":              {at(t, "ussd", "did:key:ann"), interview.Ref{Survey: "s", Household: home(2)}, ""},
			"through no door":          {at(t, "", "did:key:ann"), interview.Ref{Survey: "s", Household: home(2)}, "INTERVIEW_NOT_OFFERED"},
			"no household":             {at(t, "ussd", amina), interview.Ref{Survey: "s", Own: true}, "INTERVIEW_NOT_OFFERED"},
			"no survey":                {at(t, "ussd", amina), interview.Ref{Survey: "x", Household: home(1), Own: true}, "INTERVIEW_NOT_OFFERED"},
			"of another workspace":     {web.WithCaller(t.Context(), web.Caller{Workspace: "other", DID: amina, Door: "ussd"}), interview.Ref{Survey: "s", Household: home(1), Own: true}, "INTERVIEW_NOT_OFFERED"},
			"a key of another project": {web.WithCaller(t.Context(), web.Caller{Workspace: "ws", DID: "did:key:ann", Door: "chat", Projects: []string{"did:ixo:project/x"}}), interview.Ref{Survey: "s", Household: home(1)}, "INTERVIEW_NOT_OFFERED"},
		} {
			if _, err := v.asks.Begin(tt.ctx, tt.ref); fault.CodeOf(err) != tt.code {
				t.Errorf("%s: %v, want %q", name, err, tt.code)
			}
		}
		// Nothing is sent that was not answered.
		ref := interview.Ref{Survey: "s", Household: home(1), Own: true}
		if _, err := v.asks.Submit(at(t, "ussd", amina), ref); fault.CodeOf(err) != "INTERVIEW_NOT_FINISHED" {
			t.Errorf("sent without answers: %v", err)
		}
		// Another one who answers for the same household has an interview of their own.
		if _, err := v.asks.Answer(at(t, "ussd", amina), ref, interview.Reply{At: "/s/ok", Text: "1"}); err != nil {
			t.Fatal(err)
		}
		if turn, err := v.asks.Begin(at(t, "ussd", "did:key:ann"), interview.Ref{Survey: "s", Household: home(1)}); err != nil || turn.Answered != 0 {
			t.Errorf("the draft of another is shown: %+v %v", turn, err)
		}
	})
}
