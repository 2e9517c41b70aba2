package entity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ErrTaken is what StoreAllTx returns when a DID or an external id is taken. It
// does not say which: store the twins one by one to find out.
var ErrTaken = errors.New("a DID or an external id is taken")

// StoreAllTx stores prepared twins in their order, as StoreTx does one, several
// per statement. It returns their rows. After ErrTaken, or a fault of StoreTx,
// roll tx back: some twins are stored and others are not.
func (cr *creator) StoreAllTx(ctx context.Context, tx *db.Tx, list []*Prepared) ([]*Row, error) {
	out := make([]*Row, 0, len(list))
	caller := web.CallerFrom(ctx)
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(p *Prepared) bool { return !p.plain() || !inside(caller, p.row.Project) })
		if n < 0 {
			n = len(list)
		}
		n, err := cr.untilAwaited(ctx, tx, list[:n])
		if err != nil {
			return nil, err
		}
		if n == 0 { // it has relationships or groups, or is refused
			r, err := cr.StoreTx(ctx, tx, list[0])
			if err != nil {
				return nil, err
			}
			out, list = append(out, r), list[1:]
			continue
		}
		if err := cr.storePlain(ctx, tx, list[:n]); err != nil {
			return nil, err
		}
		for _, p := range list[:n] {
			r := p.row
			out = append(out, &r)
		}
		list = list[n:]
	}
	return out, nil
}

// untilAwaited counts the twins before the first one that relationships wait
// for.
func (cr *creator) untilAwaited(ctx context.Context, tx *db.Tx, list []*Prepared) (int, error) {
	var ids []string
	for _, p := range list {
		if p.chosen {
			ids = append(ids, p.row.DID)
		}
	}
	if len(ids) == 0 {
		return len(list), nil
	}
	cr.lookAgain(ctx, tx, ids...)
	waited, err := relationship.Awaited(ctx, tx, list[0].row.Workspace, ids...)
	if err != nil {
		return 0, err
	}
	if i := slices.IndexFunc(list, func(p *Prepared) bool { return slices.Contains(waited, p.row.DID) }); i >= 0 {
		return i, nil
	}
	return len(list), nil
}

// Size is the size of the record in bytes, without the relationships the draft
// asks for.
func (p *Prepared) Size() int { return len(p.row.Body) }

// plain reports whether a twin consists only of its row, its index and its
// event.
func (p *Prepared) plain() bool {
	return len(p.relations) == 0 && len(p.groups) == 0 && len(p.links) == 0
}

// Ready makes the statements of a twin before its transaction, if they are
// known by then, to keep the writer free.
func (cr *creator) Ready(ctx context.Context, p *Prepared) (err error) {
	if p.plain() {
		p.ready, err = cr.readyFor(ctx, p, &p.row)
	}
	return err
}

// storePlain stores twins without relationships: the rows of all, then the
// index of all, then the events in the order of the list.
func (cr *creator) storePlain(ctx context.Context, tx *db.Tx, list []*Prepared) error {
	rows, events := make([][]any, len(list)), make([]*event.Prepared, len(list))
	var props []propOf
	var names []nameOf
	for i, p := range list {
		r, err := p.ready, error(nil)
		if r == nil {
			if r, err = cr.readyFor(ctx, p, &p.row); err != nil {
				return err
			}
		}
		rows[i], events[i] = r.columns, r.event
		for _, x := range distinct(p.props) {
			props = append(props, propOf{prop: x, NID: p.row.NID})
		}
		for _, x := range p.externals {
			names = append(names, nameOf{ExternalID: x, NID: p.row.NID})
		}
		cr.noteGroup(tx, p.row.DomainType)
	}
	if err := insertAll(ctx, tx, rows); err != nil {
		return err
	}
	for _, p := range list {
		if err := cr.noteCame(ctx, tx, p, &p.row); err != nil {
			return err
		}
	}
	if err := addAllProps(ctx, tx, props); err != nil {
		return err
	}
	if ok, err := addAllNames(ctx, tx, list[0].row.Workspace, names); err != nil || !ok {
		return cmp.Or(err, ErrTaken)
	}
	return cr.events.AppendAll(ctx, tx, events)
}

// manyEntities is how many rows one statement stores. The rest are stored one
// by one.
const manyEntities = 10

// index.go explains the two forms.
const (
	entityRows = `INTO entities (nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded,
		type_key, protocol_key, project_key, status_key, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body, chosen)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26),
		($27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52),
		($53, $54, $55, $56, $57, $58, $59, $60, $61, $62, $63, $64, $65, $66, $67, $68, $69, $70, $71, $72, $73, $74, $75, $76, $77, $78),
		($79, $80, $81, $82, $83, $84, $85, $86, $87, $88, $89, $90, $91, $92, $93, $94, $95, $96, $97, $98, $99, $100, $101, $102, $103, $104),
		($105, $106, $107, $108, $109, $110, $111, $112, $113, $114, $115, $116, $117, $118, $119, $120, $121, $122, $123, $124, $125, $126, $127, $128, $129, $130),
		($131, $132, $133, $134, $135, $136, $137, $138, $139, $140, $141, $142, $143, $144, $145, $146, $147, $148, $149, $150, $151, $152, $153, $154, $155, $156),
		($157, $158, $159, $160, $161, $162, $163, $164, $165, $166, $167, $168, $169, $170, $171, $172, $173, $174, $175, $176, $177, $178, $179, $180, $181, $182),
		($183, $184, $185, $186, $187, $188, $189, $190, $191, $192, $193, $194, $195, $196, $197, $198, $199, $200, $201, $202, $203, $204, $205, $206, $207, $208),
		($209, $210, $211, $212, $213, $214, $215, $216, $217, $218, $219, $220, $221, $222, $223, $224, $225, $226, $227, $228, $229, $230, $231, $232, $233, $234),
		($235, $236, $237, $238, $239, $240, $241, $242, $243, $244, $245, $246, $247, $248, $249, $250, $251, $252, $253, $254, $255, $256, $257, $258, $259, $260)`
	insertEntities       = `INSERT ` + entityRows + ` ON CONFLICT (did, ws) DO NOTHING`
	insertEntitiesSQLite = `INSERT OR IGNORE ` + entityRows
)

// insertAll stores new rows. The error is ErrTaken when a DID is taken.
func insertAll(ctx context.Context, tx *db.Tx, rows [][]any) error {
	for part := range slices.Chunk(rows, manyEntities) {
		if len(part) < manyEntities {
			for _, columns := range part {
				if err := insert(ctx, tx, true, columns); err != nil {
					return err
				}
			}
			continue
		}
		var n int64
		var err error
		if args := slices.Concat(part...); tx.Dialect() == db.SQLite {
			n, err = tx.Exec(ctx, insertEntitiesSQLite, args...)
		} else {
			n, err = tx.Exec(ctx, insertEntities, args...)
		}
		if err != nil {
			return fmt.Errorf("insert entities: %w", err)
		}
		if n < manyEntities {
			return ErrTaken
		}
	}
	return nil
}

// columns returns the values of a row's columns.
func (r *Row) columns(chosen bool) []any {
	return []any{
		r.NID, r.Workspace, r.DID, r.Type, r.Class, r.DomainType, r.Protocol, r.ProtocolVersion, r.Project, r.Name, string(r.Status), r.Revision, db.Bit(r.crowded),
		Key(r.Workspace, "type", r.Type), Key(r.Workspace, "protocol", r.Protocol), r.projectKey(), r.statusKey(),
		r.CreatedAt, r.UpdatedAt, r.Action, r.Actor, r.RequestID, r.Reason, r.Hash, twin.Stored(r.Body), db.Bit(chosen),
	}
}
