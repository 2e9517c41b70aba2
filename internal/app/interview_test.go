package app_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// stoveTemplate has something of everything that can be asked in words, and what
// cannot.
const stoveTemplate = `{"templateId":"stove-use","title":{"en":"Stove use","sw":"Matumizi ya jiko"},"languages":["en","sw"],"sections":[
	{"id":"kitchen","title":{"en":"Your home","sw":"Nyumba yako"},"questions":[
		{"id":"fuel","type":"single_choice","required":true,"other":true,"label":{"en":"Which fuel do you use most?","sw":"Unatumia nishati gani zaidi?"},
			"options":[{"value":"wood","label":{"en":"Wood","sw":"Kuni"}},{"value":"charcoal","label":{"en":"Charcoal","sw":"Mkaa"}},{"value":"gas","label":{"en":"Gas","sw":"Gesi"}}]},
		{"id":"bags","type":"integer","required":true,"relevant":"fuel == 'charcoal'","label":{"en":"How many bags a month?","sw":"Mifuko mingapi kwa mwezi?"},"validation":{"min":0,"max":20},
			"constraint":"bags != 13","constraintMessage":{"en":"Not 13, please.","sw":"Si 13, tafadhali."}},
		{"id":"rooms","type":"multiple_choice","label":{"en":"Where do you cook?","sw":"Unapika wapi?"},"options":[{"value":"in","label":{"en":"Indoors","sw":"Ndani"}},{"value":"out","label":{"en":"Outdoors","sw":"Nje"}},{"value":"both","label":{"en":"Elsewhere","sw":"Kwingine"}}]},
		{"id":"since","type":"date","label":{"en":"Since when do you have the stove?","sw":"Una jiko tangu lini?"}},
		{"id":"photo","type":"photo","label":"Photo"},{"id":"place","type":"geo","label":"Place"},
		{"id":"yearly","type":"calculate","calculate":"bags * 12"},
		{"id":"people","type":"repeat","label":{"en":"People who cook","sw":"Wanaopika"},"questions":[{"id":"age","type":"integer","label":{"en":"Age?","sw":"Umri?"},"dontKnow":true}]}]},
	{"id":"consent","questions":[{"id":"agree","type":"consent","required":true,"label":{"en":"May we ask you about your stove?","sw":"Tunaweza kukuuliza kuhusu jiko lako?"}}]}]}`

// stoveAnswers are the answers of those who answer the same through any door.
const stoveAnswers = `{"consent":{"agree":true},"kitchen":{"bags":4,"fuel":"charcoal","people":[{"age":31},{"age":{"noAnswer":"dont_know"}}],"rooms":["in","out"],"since":"2026-01-31","yearly":48}}`

// telephone is a telephone at the line.
type telephone struct {
	p       *programme
	phone   string
	session int
	text    []string
}

// dial begins a call, typing what follows.
func (h *telephone) dial(t *testing.T, keys ...string) string {
	t.Helper()
	h.session++
	h.text = nil
	out := h.p.dial(t, fmt.Sprint("call", h.phone, h.session), h.phone, "")
	return h.keys(t, out, keys...)
}

// keys types one thing after the other and gives the last screen.
func (h *telephone) keys(t *testing.T, out string, keys ...string) string {
	t.Helper()
	for _, key := range keys {
		h.text = append(h.text, key)
		out = h.p.dial(t, fmt.Sprint("call", h.phone, h.session), h.phone, strings.Join(h.text, "*"))
		n, wide := menu.Units(strings.TrimPrefix(strings.TrimPrefix(out, "CON "), "END "))
		if limit := map[bool]int{false: 182, true: 80}[wide]; n > limit {
			t.Errorf("%q has %d units", out, n)
		}
	}
	return out
}

// want types and looks for a text on the screen.
func (h *telephone) want(t *testing.T, keys, text string) string {
	t.Helper()
	out := h.keys(t, "", strings.Split(keys, " ; ")...)
	if !strings.Contains(out, text) {
		t.Fatalf("after %q: %q, want %q", keys, out, text)
	}
	return out
}

// join opens an account and logs in.
func (h *telephone) join(t *testing.T) (customerID string) {
	t.Helper()
	out := h.dial(t, "2", "2", "Amina", "00", "48213", "48213")
	customerID = regexp.MustCompile(`C[A-Z0-9]{8}`).FindString(out)
	if customerID == "" {
		t.Fatalf("no account: %q", out)
	}
	if out = h.keys(t, "", "1", "48213"); !strings.Contains(out, "Surveys") {
		t.Fatalf("no login: %q", out)
	}
	return customerID
}

// stoveSurvey starts a survey that is asked through every door.
func (p *programme) stoveSurvey(t *testing.T, id, more string) {
	t.Helper()
	if w := p.send(t, owner, "GET", "/v1/templates/stove-use", ""); w.Code == 404 {
		p.want(t, "POST", "/v1/templates", stoveTemplate, nil)
		p.want(t, "POST", "/v1/templates/stove-use/publish", `{}`, nil)
	}
	p.want(t, "POST", "/v1/surveys", `{"surveyId":"`+id+`","type":"MonitoringSurvey","projectId":"did:ixo:project/1","templateId":"stove-use",
		"modes":["browser","collect","ussd","chat"],"sampling":{"method":"census"}`+more+`}`, nil)
	p.want(t, "POST", "/v1/surveys/"+id+"/activate", `{"reason":"test"}`, nil)
}

// said is what is stored of the only response of a survey.
func (p *programme) said(t *testing.T, survey string) (answers, mode, status, collector string) {
	t.Helper()
	var list struct {
		Items []struct {
			Mode      string         `json:"mode"`
			Status    string         `json:"status"`
			Collector string         `json:"collector"`
			Responses jsontext.Value `json:"responses"`
		} `json:"items"`
	}
	p.want(t, "GET", "/v1/surveys/"+survey+"/responses?fields=responseId,mode,status,collector,responses", "", &list)
	if len(list.Items) != 1 {
		t.Fatalf("%d responses in %s", len(list.Items), survey)
	}
	one := list.Items[0]
	return string(one.Responses), one.Mode, one.Status, one.Collector
}

// login dials, and logs in to the account of the number.
func (h *telephone) login(t *testing.T) {
	t.Helper()
	h.dial(t, "2", "1", customerOf(t, h.p, h.phone), "48213")
}

// TestSurveyOverUSSD: an interview on a telephone, with slips, a dropped call and a
// way back, gives the response that everybody else gives.
func TestSurveyOverUSSD(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	h := &telephone{p: p, phone: "+254700000001"}
	h.join(t)
	h.want(t, "4 ; 1", "There is no survey for you now.")
	p.stoveSurvey(t, "use", "")
	h.want(t, "4 ; 1", "Stove use")
	h.want(t, "1", "CON May we ask you about your stove?\n1. Yes\n2. No\n0. Back\n*. Exit")
	h.want(t, "7", "Choose a number shown.")
	h.want(t, "1", "CON Your home\nWhich fuel do you use most?\n1. Wood\n2. Charcoal\n3. Gas\n4. Other\n")
	h.want(t, "4", "Say it in your own words")
	h.want(t, "Cow dung", "Where do you cook?")
	h.want(t, "0", "Which fuel")
	h.want(t, "2", "CON How many bags a month?\nFrom 0 to 20.\n#. Back\n*. Exit")
	h.want(t, "many", "Type a number. From 0 to 20.")
	h.want(t, "21", "CON From 0 to 20.")
	h.want(t, "13", "CON Not 13, please.")
	h.want(t, "0", "Where do you cook?\nSeveral numbers, such as 1 3\n1. Indoors")
	h.want(t, "0", "How many bags")
	h.want(t, "4", "Where do you cook?")
	// The call drops, and the next one goes on where this one was.
	h.login(t)
	if out := h.keys(t, "", "9", "2", "4", "1", "1"); !strings.Contains(out, "Unapika wapi?") {
		t.Fatalf("not resumed: %q", out)
	}
	h.want(t, "12", "Una jiko tangu lini?")
	h.want(t, "99", "Siku, mwezi, mwaka")
	h.want(t, "31012026", "Wanaopika: Ongeza mwingine?\n1. Ndiyo\n2. Hapana")
	h.want(t, "1", "Wanaopika 1\nUmri?")
	h.want(t, "31", "Ongeza mwingine?")
	h.want(t, "1", "Wanaopika 2\nUmri?\n00. Ruka\n000. Sijui\n#. Rudi")
	h.want(t, "#", "Umri?") // the one before
	h.want(t, "31", "Wanaopika 2")
	h.want(t, "000", "Ongeza mwingine?")
	h.want(t, "2", "Hayo ndiyo yote.")
	h.want(t, "1", "END Asante. Tumepokea majibu yako.")
	answers, mode, status, collector := p.said(t, "use")
	if answers != stoveAnswers || mode != "ussd" || status != "complete" || collector == "" {
		t.Errorf("stored %s %s by %s: %s", mode, status, collector, answers)
	}
	h.login(t)
	h.want(t, "4 ; 1", "Kaya yako imeshajibu.")
}

// customerOf is the Customer ID of a number.
func customerOf(t *testing.T, p *programme, phone string) (id string) {
	t.Helper()
	if err := p.DB.QueryRow(t.Context(), `SELECT customer_id FROM ussd_accounts WHERE phone = $1`, phone).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestSurveyRefusedOverUSSD: refusing consent ends the interview, and a survey that is
// paused, or for other people, is not offered.
func TestSurveyRefusedOverUSSD(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	p.stoveSurvey(t, "use", "")
	h := &telephone{p: p, phone: "+254700000001"}
	h.join(t)
	h.want(t, "4 ; 1 ; 1 ; 2", "That was all.")
	p.want(t, "POST", "/v1/surveys/use/pause", `{}`, nil)
	h.want(t, "1", "This survey has been closed.")
	h.want(t, "4 ; 1", "There is no survey for you now.")
	p.want(t, "POST", "/v1/surveys/use/resume", `{}`, nil)
	h.want(t, "4 ; 1 ; 1", "That was all.")
	h.want(t, "1", "END Thank you.")
	if answers, mode, status, _ := p.said(t, "use"); answers != `{"consent":{"agree":false}}` || mode != "ussd" || status != "refused" {
		t.Errorf("stored %s %s: %s", mode, status, answers)
	}
	// A survey with a list is for those on it: there is none but the one that was refused.
	p.want(t, "POST", "/v1/surveys", `{"surveyId":"listed","type":"MonitoringSurvey","projectId":"did:ixo:project/1","templateId":"stove-use","modes":["ussd"],"sampling":{"method":"simple_random","size":1,"confidence":0.9}}`, nil)
	p.want(t, "POST", "/v1/surveys/listed/households", `{"items":[{"householdId":"did:ixo:household/other"}]}`, nil)
	p.want(t, "POST", "/v1/surveys/listed/activate", `{"reason":"test"}`, nil)
	h.login(t)
	h.want(t, "4 ; 1", "Your household has answered already.")
}

// TestAgentAsksOverUSSD: a collector answers for the household of a customer, and
// nobody else does; a household answers once, whoever asked it.
func TestAgentAsksOverUSSD(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	h, agent := &telephone{p: p, phone: "+254700000001"}, &telephone{p: p, phone: "+254700000002"}
	id := h.join(t)
	agent.join(t)
	var did string
	if err := p.DB.QueryRow(t.Context(), `SELECT did FROM ussd_accounts WHERE phone = $1`, agent.phone).Scan(&did); err != nil {
		t.Fatal(err)
	}
	p.stoveSurvey(t, "use", `,"collectors":["`+did+`"],"strictCollectors":true`)
	// A customer who is no agent gets nowhere with the id of another.
	h.want(t, "4 ; 2 ; "+customerOf(t, p, agent.phone), "You are no agent of a survey.")
	agent.want(t, "4 ; 2 ; C00000000 ; 1", "This survey is not open for this household.")
	agent.want(t, "4 ; 2 ; "+id+" ; 1", "May we ask you")
	agent.want(t, "1 ; 1", "Where do you cook?")
	agent.want(t, "00 ; 00 ; 2", "That was all.")
	agent.want(t, "1", "END Thank you.")
	if answers, mode, _, collector := p.said(t, "use"); answers != `{"consent":{"agree":true},"kitchen":{"fuel":"wood","people":[]}}` || mode != "ussd" || collector != did {
		t.Errorf("stored %s by %s: %s", mode, collector, answers)
	}
	h.want(t, "4 ; 1", "Your household has answered already.")
	agent.login(t)
	agent.want(t, "4 ; 2 ; "+id+" ; 1", "This household has answered already.")
}

// TestInterviewFlood: a caller whose steps are delivered many times at once answers
// once, and whatever is typed makes one draft that does not grow.
func TestInterviewFlood(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	p.stoveSurvey(t, "use", "")
	h := &telephone{p: p, phone: "+254700000001"}
	h.join(t)
	h.want(t, "4 ; 1 ; 1 ; 1 ; 1", "Where do you cook?")
	var wg sync.WaitGroup
	deliver := func(times int, key string) {
		h.text = append(h.text, key)
		text := strings.Join(h.text, "*")
		for range times {
			wg.Go(func() { p.dial(t, fmt.Sprint("call", h.phone, h.session), h.phone, text) })
		}
		wg.Wait()
	}
	size := func() (drafts, bytes int) {
		t.Helper()
		if err := p.DB.QueryRow(t.Context(), `SELECT count(*), coalesce(sum(length(sealed)), 0) FROM response_drafts`).Scan(&drafts, &bytes); err != nil {
			t.Fatal(err)
		}
		return drafts, bytes
	}
	_, before := size()
	for i := range 8 {
		h.keys(t, "", fmt.Sprint("nonsense ", i))
	}
	if drafts, now := size(); drafts != 1 || now > before+64 {
		t.Errorf("%d drafts of %d bytes, %d before", drafts, now, before)
	}
	h.want(t, "12", "Since when")
	h.want(t, "00 ; 2", "That was all.")
	deliver(40, "1")
	if answers, _, status, _ := p.said(t, "use"); status != "complete" || answers != `{"consent":{"agree":true},"kitchen":{"fuel":"wood","people":[],"rooms":["in","out"]}}` {
		t.Errorf("stored %s %s", status, answers)
	}
	if drafts, _ := size(); drafts != 0 {
		t.Errorf("%d drafts are left", drafts)
	}
}
