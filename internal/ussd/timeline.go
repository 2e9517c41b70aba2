package ussd

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/url"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	// Numbers of a household that are looked at: far more than people live in one.
	selectNumbersOfHome   = `SELECT phone, did FROM ussd_accounts WHERE household_did = $1 AND ws = $2 LIMIT 20`
	selectNumbersOfPerson = `SELECT phone, did FROM ussd_accounts WHERE did = $1 AND ws = $2`

	selectCallsOf = `SELECT ended_at, id, ending FROM ussd_walks WHERE phone = $1 AND ended_at <= $2 ORDER BY ended_at DESC, id DESC LIMIT $3`
	// A number has one call at a time, so few end in the same millisecond: those of
	// the mark's moment are read with the earlier ones, and left out afterwards.
	sameMoment = 20
)

// Timeline lists past calls.
type Timeline struct{ DB *db.DB }

// OfHome returns calls from the numbers of the people of a household.
func (t Timeline) OfHome(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := t.DB.Query(ctx, selectNumbersOfHome, l.DID, web.CallerFrom(ctx).Workspace)
	return t.calls(ctx, rows, err, l)
}

// OfPerson returns calls from the number of a person.
func (t Timeline) OfPerson(ctx context.Context, l web.Look) ([]web.Happening, error) {
	rows, err := t.DB.Query(ctx, selectNumbersOfPerson, l.DID, web.CallerFrom(ctx).Workspace)
	return t.calls(ctx, rows, err, l)
}

// calls renders the calls of numbers, each for the first person who has it: people
// share telephones.
func (t Timeline) calls(ctx context.Context, rows db.Rows, err error, l web.Look) ([]web.Happening, error) {
	type number struct{ phone, did string }
	numbers, err := db.Collect(rows, err, "list numbers of a time line", func(n *number, row db.Row) error { return row.Scan(&n.phone, &n.did) })
	if err != nil {
		return nil, err
	}
	var all []web.Happening
	for i, n := range numbers {
		if n.phone == "" || slices.ContainsFunc(numbers[:i], func(o number) bool { return o.phone == n.phone }) {
			continue
		}
		rows, err := t.DB.Query(ctx, selectCallsOf, n.phone, l.Below.At, l.Limit+sameMoment)
		some, err := db.Collect(rows, err, "list calls of a time line", func(h *web.Happening, row db.Row) error {
			err := row.Scan(&h.Mark.At, &h.ID, &h.Status)
			h.Kind, h.Other, h.Link, h.Mark.Key = "call", n.did, "/v1/ussd/calls/"+url.PathEscape(h.ID), keyOf(h.ID)
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return web.Below(all, l), nil
}

// keyOf is the beginning of the id of a call as a number.
func keyOf(id string) int64 {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) < 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b) & math.MaxInt64)
}
