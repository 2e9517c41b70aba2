package response

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
)

// blankable is a response of the household.
type blankable struct {
	NID   int64
	Files int64 // attachments it has

	survey, round, slot int64
	body, answers       string
}

// blankHousehold removes from the responses of a household what is stored in the open and
// may be about a person: what the sender added, the device, the names of files, and every
// reason and note. It also removes the hashes of contents, because anybody could test
// contents until one matches, and the rows of answers. Sealed answers are erased with
// their key. It lists the responses; blanked counts those from which something was
// removed, and a second call finds none.
func blankHousehold(ctx context.Context, tx *db.Tx, ws, household string) (all []blankable, blanked int64, err error) {
	var last blankable
	for {
		page, err := listToBlank(ctx, tx, ws, household, last)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range page {
			changed, err := r.blank(ctx, tx)
			if err != nil {
				return nil, 0, err
			}
			if changed {
				blanked++
			}
			last = r
			all = append(all, blankable{NID: r.NID, Files: r.Files})
		}
		if len(page) == 0 {
			break
		}
	}
	if _, err := tx.Exec(ctx, blankSent, ws, household); err != nil {
		return nil, 0, fmt.Errorf("blank conflicts: %w", err)
	}
	return all, blanked, nil
}

// blank removes the personal parts of a response; false when there were none.
func (r *blankable) blank(ctx context.Context, tx *db.Tx) (bool, error) {
	body, changed, err := blankHead(r.body)
	if err != nil {
		return false, err
	}
	if changed {
		if _, err := tx.Exec(ctx, blankResponse, r.NID, body); err != nil {
			return false, fmt.Errorf("blank response: %w", err)
		}
	}
	past, err := r.blankPast(ctx, tx)
	if err != nil {
		return false, err
	}
	changed = changed || past
	for _, q := range []struct {
		what string
		exec func() (int64, error)
	}{
		{"reason and hashes", func() (int64, error) { return tx.Exec(ctx, blankReason, r.NID) }},
		{"rows of answers", func() (int64, error) { return r.untype(ctx, tx) }},
		{"history", func() (int64, error) { return tx.Exec(ctx, blankRevisions, r.NID) }},
		{"decisions", func() (int64, error) { return tx.Exec(ctx, blankDecisions, r.NID) }},
		{"settlements", func() (int64, error) { return flag.BlankSettlements(ctx, tx, r.NID) }},
		{"conflicts", func() (int64, error) { return tx.Exec(ctx, blankConflicts, r.NID) }},
	} {
		n, err := q.exec()
		if err != nil {
			return false, fmt.Errorf("blank %s: %w", q.what, err)
		}
		changed = changed || n > 0
	}
	return changed, nil
}

// untype removes the rows of the answers. It marks the response first, so that
// nobody makes them meanwhile.
func (r *blankable) untype(ctx context.Context, tx *db.Tx) (int64, error) {
	n, err := tx.Exec(ctx, dropTyped, r.NID)
	if err != nil || n == 0 {
		return 0, err
	}
	return n, answer.Drop(ctx, tx, r.survey, r.NID, []byte(r.answers))
}

// blankPast does the same with earlier revisions.
func (r *blankable) blankPast(ctx context.Context, tx *db.Tx) (changed bool, err error) {
	for after := int64(0); ; {
		page, err := revisions(ctx, tx, r.NID, after)
		if err != nil || len(page) == 0 {
			return changed, err
		}
		for _, p := range page {
			after = p.number
			body, more, err := blankHead(p.body)
			if err != nil {
				return false, err
			}
			if !more {
				continue
			}
			if _, err := tx.Exec(ctx, updateRevision, r.NID, p.number, body); err != nil {
				return false, fmt.Errorf("blank revision: %w", err)
			}
			changed = true
		}
	}
}

// blankHead blanks the stored part of a record and marks it as erased; false
// when it was marked before.
func blankHead(body string) (string, bool, error) {
	var m map[string]jsontext.Value
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return "", false, fmt.Errorf("read response: %w", err)
	}
	_, metadata := m["metadata"]
	_, device := m["deviceId"]
	if !metadata && !device && string(m["erased"]) == "true" {
		return body, false, nil
	}
	delete(m, "metadata")
	delete(m, "deviceId")
	m["erased"] = jsontext.Value("true")
	if list, ok := m["attachments"]; ok {
		var files []map[string]jsontext.Value
		if err := json.Unmarshal(list, &files); err != nil {
			return "", false, fmt.Errorf("read attachments: %w", err)
		}
		for _, f := range files {
			delete(f, "name")
		}
		text, err := json.Marshal(files, json.Deterministic(true))
		if err != nil {
			return "", false, fmt.Errorf("encode attachments: %w", err)
		}
		m["attachments"] = text
	}
	text, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return "", false, fmt.Errorf("encode response: %w", err)
	}
	return string(text), true, nil
}
