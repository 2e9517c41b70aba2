package survey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// StateDoor is the lock of the state of a campaign on PostgreSQL, for
// vault.HoldDoors: whoever stores a response holds it, and a campaign that is
// paused or closed waits for them. So none is stored once that was answered.
func StateDoor(nid int64) int64 {
	return nid<<1 ^ 0x5375727665795374 // apart from the locks of households
}

// Again is a campaign for which somebody is about to be refused, read once more
// where other instances change campaigns too: what is kept may be old.
func (op *opened) Again(ctx context.Context, o *Open) (*Open, error) {
	if !op.shared {
		return o, nil
	}
	_, revision, err := op.state(ctx, op.db, o)
	if err != nil || revision == o.Revision {
		return o, err
	}
	op.cache.Doubt(o.Workspace, o.SurveyID)
	return op.load(ctx, o.Workspace, o.SurveyID)
}

func (op *opened) state(ctx context.Context, q db.Querier, o *Open) (status Status, revision int64, err error) {
	err = q.QueryRow(ctx, selectState, o.NID).Scan(&status, &revision)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, notFound()
	} else if err != nil {
		return "", 0, fmt.Errorf("read state of survey: %w", err)
	}
	return status, revision, nil
}

// CheckState refuses what was prepared for a campaign in a status that it no
// longer has. Faults: SURVEY_NOT_FOUND, SURVEY_NOT_ACTIVE, STORE_BUSY.
func (op *opened) CheckState(ctx context.Context, tx *db.Tx, o *Open) error {
	status, _, err := op.state(ctx, tx, o)
	switch {
	case err != nil || status == o.Status:
		return err
	case status != StatusActive:
		return NotActive(o.SurveyID, status)
	}
	return fault.New(fault.Unavailable, "STORE_BUSY", "The survey has just changed. Try again.")
}

// NotActive refuses a response to a campaign that takes none.
func NotActive(id string, status Status) error {
	return fault.New(fault.Conflict, "SURVEY_NOT_ACTIVE", fmt.Sprintf("The survey %s accepts no responses now: it is %s, and must be active.", id, status)).
		With(fault.Field{Pointer: "/surveyId", Code: "not_active", Detail: fmt.Sprintf("The survey is %s.", status)})
}
