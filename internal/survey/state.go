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
// vault.HoldDoors: a transaction that stores a response holds it, and pausing
// or closing a campaign waits for these. So no response is stored after that
// was answered.
func StateDoor(nid int64) int64 {
	return nid<<1 ^ 0x5375727665795374 // apart from the locks of households
}

// Again reads a campaign once more before a caller is refused because of it:
// where other instances change campaigns too, the cached one may be outdated.
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

// CheckState refuses a change that was prepared while a campaign had another
// status. Faults: SURVEY_NOT_FOUND, SURVEY_NOT_ACTIVE, STORE_BUSY.
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

// NotActive is the fault of a response to a campaign that accepts none.
func NotActive(id string, status Status) error {
	return fault.New(fault.Conflict, "SURVEY_NOT_ACTIVE", fmt.Sprintf("The survey %s accepts no responses now: it is %s, and must be active.", id, status)).
		With(fault.Field{Pointer: "/surveyId", Code: "not_active", Detail: fmt.Sprintf("The survey is %s.", status)})
}
