package entity

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

const (
	deleteEntity     = `DELETE FROM entities WHERE nid = $1`
	deleteHistory    = `DELETE FROM entity_history WHERE nid = $1`
	deleteEdgesOut   = `DELETE FROM relationships WHERE src = $1 AND removed_at IS NULL`
	deleteEdgesIn    = `DELETE FROM relationships WHERE dst = $1 AND removed_at IS NULL`
	deletePastOut    = `DELETE FROM relationships WHERE src = $1 AND removed_at IS NOT NULL`
	deletePastIn     = `DELETE FROM relationships WHERE dst = $1 AND removed_at IS NOT NULL`
	selectByExternal = `SELECT e.did FROM entity_externals x JOIN entities e ON e.nid = x.nid
		WHERE x.ws = $1 AND x.value = $2 AND x.scheme = $3 AND e.created_at >= $4`
)

// FindNamed finds the twin that has an external id and was made at or after a
// moment, in ms; "" when there is none.
func FindNamed(ctx context.Context, q db.Querier, ws string, x ExternalID, since int64) (string, error) {
	rows, err := q.Query(ctx, selectByExternal, ws, x.Value, x.Scheme, since)
	found, err := db.Collect(rows, err, "find twin by external id", db.Column[string])
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

// OtherEnds lists the current relationships between a twin and twins held here
// that are not in inside.
func OtherEnds(ctx context.Context, q db.Querier, nid int64, inside map[int64]bool) ([]relationship.Row, error) {
	var out []relationship.Row
	for _, side := range []relationship.Side{relationship.Out, relationship.In} {
		for after := int64(0); ; {
			list, err := side.List(ctx, q, nid, after, edgesRead)
			if err != nil {
				return nil, err
			}
			for _, l := range list {
				far := l.Dst
				if far == nid {
					far = l.Src
				}
				if far > 0 && !inside[far] {
					out = append(out, l)
				}
				after = l.NID
			}
			if len(list) < edgesRead {
				break
			}
		}
	}
	return out, nil
}

// edgesRead is how many relationships are read at once.
const edgesRead = 100

// Remove takes a twin out of the store as if it had never been made: its record,
// its history, its names, its index entries and its relationships. There is no
// event. A person's record is never removed like this: an erasure leaves a
// certificate. First end the relationships that OtherEnds lists. Devices, groups
// and surveys have rows of their own about a twin, which their packages remove.
func (s *Service) Remove(ctx context.Context, tx *db.Tx, r *Row) error {
	e, err := r.Entity()
	if err != nil {
		return err
	}
	p, err := s.protocols.FindAnyIn(ctx, tx, r.Workspace, r.Protocol, r.ProtocolVersion)
	if err != nil {
		return err
	}
	values, err := valuesOf(e.Properties)
	if err != nil {
		return err
	}
	if err := dropProps(ctx, tx, r.NID, entriesOf(r.Workspace, p, e, values)); err != nil {
		return err
	}
	if err := dropNames(ctx, tx, r.Workspace, r.NID, namesOf(e.ExternalIDs)); err != nil {
		return err
	}
	if err := removeRows(ctx, tx, r.NID); err != nil {
		return db.Wrap("remove entity", err)
	}
	tx.AfterCommit(func() { s.reviser.records.drop(recordName{r.Workspace, r.DID}) })
	s.noteGroup(tx, r.DomainType)
	return nil
}

// removeRows removes what the store holds under the number of a twin.
func removeRows(ctx context.Context, tx *db.Tx, nid int64) error {
	_, err := tx.Exec(ctx, deleteEdgesOut, nid)
	if err == nil {
		_, err = tx.Exec(ctx, deleteEdgesIn, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, deletePastOut, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, deletePastIn, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, deleteHistory, nid)
	}
	if err == nil {
		_, err = tx.Exec(ctx, deleteEntity, nid)
	}
	return err
}
