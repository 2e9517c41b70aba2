package menu_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// known is what the program offers to the shipped packs.
func known() menu.Known {
	guarded := []string{"ok", "weak", "mismatch", "wrong", "locked", "blocked", menu.Held}
	asks := []string{"choose", "type", "review", "closed", menu.Already, menu.Failed, "missing"}
	return menu.Known{
		Actions: map[string][]string{
			"createAccount":     {"ok", "weak", "mismatch", "full", menu.Held},
			"weakPin":           {"ok", "weak"},
			"login":             {"ok", "temporary", "wrong", "locked", "blocked", menu.Held},
			"changePin":         guarded,
			"resetStart":        {"ok", "off"},
			"resetFinish":       guarded,
			"setLanguage":       {"ok"},
			"householdStatus":   {"none", "pending", "ready", "failed"},
			"registerHousehold": {"ok", "missing"},
			"sms":               {"queued", "off"},
			"findCustomer":      {"ok", "missing"},
			"logout":            {"ok"},
			"surveys":           {"ok", menu.Empty, menu.Already, menu.Failed, "missing"},
			"surveyBegin":       asks,
			"surveyAnswer":      asks,
			"surveyBack":        asks,
			"surveySend":        append([]string{"sent"}, asks...),
		},
		Texts:   []string{"sms"},
		Answers: []string{"surveys"},
		Secrets: []string{"pin", "pinLogin", "code6"},
		Checks:  []string{"name", "email", "customerId", "pin", "pinLogin", "code6", "digits", "integer", "phone", "text"},
		Vars: []string{
			"customerId", "customerName", "district", "household", "identity", "lockedFor", "pinTicket", "size", "triesLeft", "weakReason",
			"surveyQuestion", "surveyChoices", "surveyProblem", "surveyAt", "surveyCode",
		},
	}
}

func open(t testing.TB, name string) *menu.Pack {
	t.Helper()
	p, err := menu.Open(name, known())
	if err != nil {
		t.Fatalf("Open(%q):\n%v", name, err)
	}
	return p
}

// small is a good pack; tests change a line of it.
const small = `pack: small
title: {en: Demo, sw: Onyesho}
languages: [en, sw]
start: home
limits: {gsm7: 182, ucs2: 80}
navigation:
  back: {en: Back, sw: Rudi}
  exit: {en: Exit, sw: Toka}
  more: {en: More, sw: Zaidi}
  goodbye: {en: "Bye from {app}.", sw: "Kwaheri ya {app}."}
  invalid: {en: No such key., sw: Hakuna.}
nodes:
  home:
    text: {en: "Welcome to {app}", sw: "Karibu {app}"}
    options:
      - {key: "1", text: {en: Ask, sw: Uliza}, to: ask}
      - {key: "3", if: authenticated, text: {en: Own, sw: Yangu}, to: home}
      - {key: "9", text: Kiswahili, set: {language: sw}, to: home}
  ask:
    state: home
    text: {en: Your name?, sw: Jina lako?}
    input:
      name: name
      check: name
      error: {en: Letters only., sw: Herufi tu.}
      skip: {key: "00", text: {en: Skip, sw: Ruka}}
    to: ask.pin
    back: home
    draft: true
  ask.pin:
    text: PIN?
    input: {name: pin, check: pin, secret: true, error: Five digits.}
    to: save
    back: ask
  save:
    do: store
    with: {kind: a, count: 3}
    results:
      ok: {to: thanks, say: "Stored, {name}."}
      no: home
    clear: [pin]
  thanks: {text: "Thanks, {name}. {{done}", end: true}
`

func smallKnown() menu.Known {
	return menu.Known{
		Actions: map[string][]string{"store": {"ok", "no"}, "tell": {"ok", "no"}}, Texts: []string{"tell"},
		Takes:  map[string][]string{"store": {"kind", "count"}, "tell": {}},
		Checks: []string{"name", "pin", "integer"}, Secrets: []string{"pin"}, Vars: []string{"count"},
	}
}

// parse reads small with old replaced by new; pairs follow one another.
func parse(t testing.TB, changes ...string) *menu.Pack {
	t.Helper()
	p, err := menu.Parse("small.yaml", []byte(changed(t, changes...)), smallKnown())
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return p
}

func changed(t testing.TB, changes ...string) string {
	t.Helper()
	text := small
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("the small pack does not have %q", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}
