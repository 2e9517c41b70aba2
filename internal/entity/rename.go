package entity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// HouseholdProtocol is the protocol of households, HouseholdType their one type:
// households count together whoever makes them, by whichever word.
const (
	HouseholdProtocol = "did:ixo:protocol/household"
	HouseholdType     = "Household"
)

// householdWords are other words for the type, which older records have.
func householdWords() []string {
	return []string{"CleanCookingHousehold", "household", "households", "Households", "HOUSEHOLD"}
}

// oneType replaces any other word for a household in a draft by the one type.
func oneType(d *Draft) {
	if d.Protocol == HouseholdProtocol && slices.ContainsFunc(householdWords(), func(w string) bool { return strings.EqualFold(w, d.Type) }) {
		d.Type = HouseholdType
	}
}

// KindRename is the job that gives the one type to households stored under
// another word.
const KindRename = "entity.households"

const (
	selectFirstWorkspace = `SELECT ws FROM entities WHERE ws > $1 ORDER BY ws LIMIT 1`
	selectOtherWord      = `SELECT nid, did FROM entities WHERE type_key = $1 AND nid > $2 AND ws = $3 AND type = $4 AND protocol = $5 ORDER BY nid LIMIT $6`
)

// renameChunk is how many twins one transaction renames.
const renameChunk = 20

// runRename runs KindRename.
func (s *Service) runRename(ctx context.Context, r *job.Run) error {
	n, err := s.RenameHouseholds(ctx)
	r.Progress(n, 0, "")
	return err
}

// RenameHouseholds gives the households of all workspaces their one type and
// returns how many had another word. It can be repeated: it skips those that have
// the type.
func (s *Service) RenameHouseholds(ctx context.Context) (done int64, err error) {
	for ws := ""; ; {
		err := s.db.QueryRow(ctx, selectFirstWorkspace, ws).Scan(&ws)
		if errors.Is(err, sql.ErrNoRows) {
			return done, nil
		} else if err != nil {
			return done, fmt.Errorf("find workspace: %w", err)
		}
		for _, word := range householdWords() {
			n, err := s.renameAll(web.WithCaller(ctx, web.Caller{Workspace: ws}), ws, word)
			if done += n; err != nil {
				return done, err
			}
		}
	}
}

// renameAll renames the households stored under one word.
func (s *Service) renameAll(ctx context.Context, ws, word string) (done int64, err error) {
	type named struct {
		nid int64
		did string
	}
	for after := int64(0); ; {
		rows, err := s.db.Query(ctx, selectOtherWord, Key(ws, "type", word), after, ws, word, HouseholdProtocol, renameChunk)
		list, err := db.Collect(rows, err, "list households", func(n *named, row db.Row) error { return row.Scan(&n.nid, &n.did) })
		if err != nil || len(list) == 0 {
			return done, err
		}
		after = list[len(list)-1].nid
		err = s.db.InTx(ctx, func(tx *db.Tx) error {
			for _, n := range list {
				if err := s.rename(ctx, tx, ws, n.did, word); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, fmt.Errorf("rename households: %w", err)
		}
		done += int64(len(list))
	}
}

// rename gives one twin the type. The previous revision stays in the history, and
// a verdict about it remains: the meaning is the same.
func (s *Service) rename(ctx context.Context, tx *db.Tx, ws, did, word string) error {
	row, err := findForUpdate(ctx, tx, ws, did)
	if err != nil || row == nil || row.Type != word {
		return err
	}
	act := Action{Name: "rename", Reason: "Households have one type.", Unchecked: true, renames: true}
	_, err = s.Mutate(ctx, tx, row, act, func(e *Entity) error {
		e.Type = HouseholdType
		return nil
	})
	return err
}
