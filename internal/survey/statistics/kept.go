package statistics

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Figures are kept for the moment they were made at: the revision of the survey
// and the number of changes of its responses and its list, both counted in the
// transactions that make them.
const (
	selectMoment = `SELECT s.revision, CAST(sum(c.n) AS BIGINT), CAST(sum(c.gone) AS BIGINT) FROM surveys s JOIN survey_changes c ON c.survey = s.nid
		WHERE s.nid = $1 GROUP BY s.revision`
	selectKept = `SELECT f.body FROM survey_figures f JOIN surveys s ON s.nid = f.survey WHERE f.survey = $1 AND f.asked = $2 AND f.revision = s.revision
		AND f.changes = (SELECT sum(c.n) FROM survey_changes c WHERE c.survey = $1) ORDER BY f.nid DESC LIMIT 1`
	// Figures of a job can be read later, too, as long as no response behind
	// them was redacted or erased.
	selectMade = `SELECT f.body FROM survey_figures f WHERE f.survey = $1 AND f.job = $2 AND f.whole <= $3
		AND f.gone = (SELECT sum(c.gone) FROM survey_changes c WHERE c.survey = $1) ORDER BY f.nid DESC LIMIT 1`
	selectMadeOf = `SELECT f.body FROM survey_figures f WHERE f.survey = $1 AND f.asked = $2 AND f.job = $3
		AND f.gone = (SELECT sum(c.gone) FROM survey_changes c WHERE c.survey = $1) ORDER BY f.nid DESC LIMIT 1`
	insertKept = `INSERT INTO survey_figures (nid, survey, asked, revision, changes, gone, job, whole, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	dropOlder  = `DELETE FROM survey_figures WHERE survey = $1 AND nid <= (SELECT nid FROM survey_figures WHERE survey = $1 ORDER BY nid DESC LIMIT 1 OFFSET $2)`
)

// Limits of the stored figures.
const (
	maxKept = 100     // figures of a survey
	maxBody = 1 << 20 // bytes of one
)

// moment is what figures are made at.
type moment struct{ revision, changes, gone int64 }

func momentOf(ctx context.Context, q db.Querier, survey int64) (m moment, err error) {
	err = q.QueryRow(ctx, selectMoment, survey).Scan(&m.revision, &m.changes, &m.gone)
	return m, db.Wrap("read changes of survey", err)
}

// key names a query and what its caller may see.
func (a *ask) key() (string, error) {
	text, err := json.Marshal(a.in)
	if err != nil {
		return "", fmt.Errorf("encode query: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(text, " %t", a.whole))
	return hex.EncodeToString(sum[:]), nil
}

// kept returns stored figures that are still current; nil when there are none.
func (s *Service) kept(ctx context.Context, a *ask) (*Statistics, error) {
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	return body(s.db.QueryRow(ctx, selectKept, a.o.NID, key))
}

func body(row db.Row) (*Statistics, error) {
	var text string
	if err := row.Scan(&text); errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, db.Wrap("read figures", err)
	}
	out := new(Statistics)
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	return out, nil
}

// keep stores figures for the moment they were made at. A survey that was changed
// before that moment by another instance is read again by the next who asks.
func (s *Service) keep(ctx context.Context, a *ask, at moment, job string, out *Statistics) error {
	key, err := a.key()
	if err != nil {
		return err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode figures: %w", err)
	}
	if len(text) > maxBody || at.revision != a.o.Revision {
		if job != "" {
			return fault.New(fault.Unprocessable, "STATISTICS_TOO_LARGE", "There are too many figures, or the survey changed in the meantime. Ask again, for fewer values of by.")
		}
		return nil
	}
	whole := 0
	if a.whole {
		whole = 1
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		// A response that was taken out or erased since took only those with it that
		// were kept already.
		if now, err := momentOf(ctx, tx, a.o.NID); err != nil || now.gone != at.gone {
			return err
		}
		if _, err := tx.Exec(ctx, insertKept, s.db.NewNID(), a.o.NID, key, at.revision, at.changes, at.gone, job, whole, string(text)); err != nil {
			return db.Wrap("keep figures", err)
		}
		_, err := tx.Exec(ctx, dropOlder, a.o.NID, maxKept)
		return db.Wrap("drop figures", err)
	})
}
