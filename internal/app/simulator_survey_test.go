package app_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// TestSimulatorAsksASurvey answers a survey on a handset that does not exist, as a
// household would on the line. It is sent there and stored nowhere, and it shows only
// to those who may read surveys.
func TestSimulatorAsksASurvey(t *testing.T) {
	t.Parallel()
	p := newProgramme(t, nil)
	p.stoveSurvey(t, "tried", "")
	s := &simulated{p: p, key: owner}
	id := customerForm.FindString(s.walk(t, "Customer ID", "", "2", "2", "Asha", "00", "48213", "48213").Screen)
	s.walk(t, "Surveys", "1", "48213")
	s.walk(t, "Stove use", "4", "1")
	s.walk(t, "May we ask you about your stove?", "1")
	s.walk(t, "How many bags", "1", "2")
	s.walk(t, "Not 13, please.", "13")
	s.walk(t, "Where do you cook?", "4")
	s.walk(t, "That was all.", "12", "31012026", "2")
	if end := s.walk(t, "Your code: ", "1"); !end.End || end.Node != "survey.sent" {
		t.Errorf("sent: %+v", end)
	}
	for _, table := range []string{"responses", "response_drafts"} {
		var n int
		if err := p.DB.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows of a trial, %v", table, n, err)
		}
	}
	s.last.SessionID = ""
	s.walk(t, "Surveys", "", "2", "1", id, "48213")
	s.walk(t, "Your household has answered already.", "4", "1")

	ctx, err := p.Auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	k, err := p.Auth.Create(ctx, auth.Draft{Name: "tester", Scopes: []string{"ussd:simulate"}, Principal: "did:ixo:person/tester"})
	if err != nil {
		t.Fatal(err)
	}
	other := &simulated{p: p, key: k.Text}
	other.walk(t, "Surveys", "", "2", "2", "Baraka", "00", "48213", "48213", "1", "48213")
	other.walk(t, "There is no survey for you now.", "4", "1")
}
