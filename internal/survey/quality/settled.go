package quality

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const flagInvalid = "FLAG_INVALID"

// maxNote is how many characters a note has.
const maxNote = 1_000

// FlagOutcome is the type of package api.
type FlagOutcome = api.FlagOutcome

const settling = "Records that somebody looked into a flag: it is explained (there is a reason, nothing is wrong) or confirmed (something is wrong), with a note that says what was found; open reverses this. " +
	"revision is the one of the settlement you have read, 0 for a flag without one, so that two people do not overwrite each other. " +
	"A settled flag stays in the list. It stays settled when the next run finds the same, and is open again when it finds something else. The verification of the response does not change. " +
	"A person who collected or sent the response, or who belongs to the group that did, cannot settle its flags."

func checkOutcome(d *FlagOutcome) error {
	var c fault.Checks
	d.Note = strings.TrimSpace(d.Note)
	c.Require(d.ResponseID != "", "/responseId")
	if !slices.Contains(Names(), d.Rule) {
		c.Add("/rule", "unknown", "The value must be one of "+strings.Join(Names(), ", ")+".")
	}
	check.OneOf(&c, "/outcome", d.Outcome, flag.Explained, flag.Confirmed, flag.Reopened)
	if d.Outcome != flag.Reopened {
		c.Require(d.Note != "", "/note")
	}
	check.Text(&c, "/note", d.Note, maxNote)
	return c.Err(flagInvalid, "The settlement of the flag is not valid.")
}

// settler settles flags of a Service.
type settler struct{ *Service }

func (s settler) serve(ctx context.Context, in *struct {
	ofSurvey
	Body FlagOutcome
},
) (web.Reply[*FlagRecord], error) {
	return s.settle(ctx, in.Survey, in.Body)
}

// settle stores what was found out about a flag, and returns the flag. Faults:
// SURVEY_NOT_FOUND, FLAG_INVALID, FLAG_NOT_FOUND, VERIFIER_IS_COLLECTOR,
// STALE_REVISION.
func (s settler) settle(ctx context.Context, surveyID string, d FlagOutcome) (web.Reply[*FlagRecord], error) {
	var none web.Reply[*FlagRecord]
	if err := checkOutcome(&d); err != nil {
		return none, err
	}
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return none, err
	}
	r, of, err := s.cfg.Responses.Find(ctx, s.db, d.ResponseID)
	if fault.KindOf(err) == fault.NotFound || err == nil && of.NID != o.NID {
		return none, noFlag()
	} else if err != nil {
		return none, err
	}
	if err := s.maySettle(ctx, r); err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*FlagRecord], error) {
		one, err := s.settleTx(ctx, tx, o, r, d)
		return web.Reply[*FlagRecord]{Value: one}, err
	})
}

func noFlag() error {
	return fault.New(fault.NotFound, "FLAG_NOT_FOUND", "No check has flagged this in a response of the survey.")
}

// maySettle refuses the collector and the sender of the response.
func (s settler) maySettle(ctx context.Context, r *response.Row) error {
	own, err := s.cfg.ActsFor.Made(ctx, r.Collector, r.Sender)
	if err != nil {
		return err
	}
	if own {
		return fault.New(fault.Forbidden, "VERIFIER_IS_COLLECTOR", "A person who collected or sent a response, or who belongs to the group that did, cannot settle its flags.")
	}
	return nil
}

// settledData is what the event says.
type settledData struct {
	Survey   string `json:"surveyId"`
	Rule     string `json:"rule"`
	Question string `json:"question,omitzero"`
	Outcome  string `json:"outcome"`
}

func (s settler) settleTx(ctx context.Context, tx *db.Tx, o *survey.Open, r *response.Row, d FlagOutcome) (*FlagRecord, error) {
	f, err := flag.Find(ctx, tx, r.NID, flag.Name{Rule: d.Rule, Question: d.Question})
	switch {
	case err != nil:
		return nil, err
	case f == nil:
		return nil, noFlag()
	case f.Revision != d.Revision:
		return nil, fault.New(fault.Stale, "STALE_REVISION", "Somebody else settled this flag in the meantime. Read it again.").
			With(fault.Field{Pointer: "/revision", Code: "stale", Detail: "This is not the revision of its settlement."})
	}
	now := s.now()
	// A number that was not there before, also after one that was taken back.
	next := flag.Settlement{Outcome: d.Outcome, Note: d.Note, By: web.CallerFrom(ctx).DID, At: now, Revision: max(f.Revision+1, now.UnixMilli())}
	if err := f.Settle(ctx, tx, next); err != nil {
		return nil, err
	}
	err = s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: o.Workspace, Type: "response.flag_settled", Subject: r.ResponseID, Data: settledData{o.SurveyID, d.Rule, d.Question, d.Outcome},
	})
	if err != nil {
		return nil, err
	}
	rows, err := flagRows(tx.Query(ctx, selectOneFlag, r.NID, d.Rule, d.Question))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	rows[0].collector = sightOf(ctx, s.Service, o).Person(rows[0].collector)
	one, err := rows[0].record(ctx)
	return &one, err
}
