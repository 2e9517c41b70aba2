package graph

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// chunk is how many twins one statement asks for. Unused parameters are a
// number that no twin has (0 is the target of external edges).
const (
	chunk  = 100
	nobody = -1
)

const (
	hundred = `$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
		$21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40,
		$41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, $53, $54, $55, $56, $57, $58, $59, $60,
		$61, $62, $63, $64, $65, $66, $67, $68, $69, $70, $71, $72, $73, $74, $75, $76, $77, $78, $79, $80,
		$81, $82, $83, $84, $85, $86, $87, $88, $89, $90, $91, $92, $93, $94, $95, $96, $97, $98, $99, $100`

	// An unset time is returned as never, and the words of a twin as one text:
	// fewer and simpler values per row, at half the cost. None of the first six
	// words can contain a space, and the length separates the type from the
	// name, which may contain anything. For a twin at the other end that is not
	// held here only the DID is returned.
	twinWords = `concat_ws(' ', did, class, domain_type, status, protocol, project, length(type), type || name)`
	stepTimes = `r.role, coalesce(r.since, -62135596800000), coalesce(r.until, -62135596800000)`
	farOut    = `r.nid, r.dst, ` + stepTimes + `, concat_ws(' ', coalesce(e.did, r.dst_did), e.class, e.domain_type, e.status, e.protocol, e.project, length(e.type), e.type || e.name)`
	farIn     = `r.nid, r.src, ` + stepTimes + `, concat_ws(' ', coalesce(e.did, r.src_did), e.class, e.domain_type, e.status, e.protocol, e.project, length(e.type), e.type || e.name)`
	joinOut   = ` FROM relationships r LEFT JOIN entities e ON e.nid = r.dst AND e.ws = r.ws WHERE r.removed_at IS NULL AND r.ws = `
	joinIn    = ` FROM relationships r LEFT JOIN entities e ON e.nid = r.src AND e.ws = r.ws WHERE r.removed_at IS NULL AND r.ws = `

	stepsOut     = `SELECT ` + farOut + joinOut + `$1 AND r.src = $2 AND r.nid > $3 ORDER BY r.nid LIMIT $4`
	stepsIn      = `SELECT ` + farIn + joinIn + `$1 AND r.dst = $2 AND r.nid > $3 ORDER BY r.nid LIMIT $4`
	stepsOutMany = `SELECT r.src, ` + farOut + joinOut + `$101 AND r.src IN (` + hundred + `) LIMIT $102`
	stepsInMany  = `SELECT r.dst, ` + farIn + joinIn + `$101 AND r.dst IN (` + hundred + `) LIMIT $102`

	twinByDID = `SELECT nid, ` + twinWords + ` FROM entities WHERE did = $1 AND ws = $2`
)

func notFound() error {
	return fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No entity has this DID.")
}

// parseTwin reads the words of a twin.
func parseTwin(nid int64, words string) (vertex, error) {
	t := vertex{nid: nid}
	var status, length string
	for _, p := range [...]*string{&t.DID, &t.Class, &t.DomainType, &status, &t.protocol, &t.project, &length} {
		*p, words, _ = strings.Cut(words, " ")
	}
	n, err := strconv.Atoi(length)
	if err != nil {
		return vertex{}, fmt.Errorf("read twin %d: %w", nid, err)
	}
	t.Status = entity.Status(status)
	t.Type, t.Name = cutRunes(words, n)
	return t, nil
}

// cutRunes cuts s after n characters, which is how length counts.
func cutRunes(s string, n int) (head, tail string) {
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return s[:at], s[at:]
}

// find reads a twin the caller may see. The fault is ENTITY_NOT_FOUND.
func (r *reader) find(ctx context.Context, id string) (*vertex, error) {
	var nid int64
	var words string
	err := r.q.QueryRow(ctx, twinByDID, id, r.caller.Workspace).Scan(&nid, &words)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound()
	} else if err != nil {
		return nil, fmt.Errorf("find entity: %w", err)
	}
	t, err := r.vertex(ctx, nid, words)
	if err != nil {
		return nil, err
	}
	if !r.caller.Sees(t.project) {
		return nil, notFound()
	}
	return &t, nil
}

// page is a piece of a list of edges.
type page struct {
	ws    string
	way   Direction
	after int64 // number of the edge before
	limit int
}

// stepsOf reads edges of one twin, oldest first.
func stepsOf(ctx context.Context, q db.Querier, p page, nid int64) ([]step, error) {
	var rows db.Rows
	var err error
	if p.way == In {
		rows, err = q.Query(ctx, stepsIn, p.ws, nid, p.after, p.limit)
	} else {
		rows, err = q.Query(ctx, stepsOut, p.ws, nid, p.after, p.limit)
	}
	return scanSteps(rows, err, step{way: p.way, near: nid}, make([]step, 0, p.limit))
}

// stepsOfMany reads edges of up to chunk twins, in no order. When there are
// limit of them there may be more.
func stepsOfMany(ctx context.Context, q db.Querier, p page, nids []int64) ([]step, error) {
	var rows db.Rows
	var err error
	if args := places(nids, p.ws, p.limit); p.way == In {
		rows, err = q.Query(ctx, stepsInMany, args...)
	} else {
		rows, err = q.Query(ctx, stepsOutMany, args...)
	}
	return scanSteps(rows, err, step{way: p.way}, nil)
}

// places fills the hundred places of a statement, and those after them.
func places(nids []int64, more ...any) []any {
	args := make([]any, chunk, chunk+len(more))
	for i := range args {
		args[i] = int64(nobody)
		if i < len(nids) {
			args[i] = nids[i]
		}
	}
	return append(args, more...)
}

// scanSteps reads all rows into steps and closes them. Statements for one twin
// do not return its number: it is in the pattern.
func scanSteps(rows db.Rows, err error, pattern step, steps []step) ([]step, error) {
	s := pattern
	dest := []any{&s.near, &s.nid, &s.far, &s.role, &s.since, &s.until, &s.words}
	if pattern.near != 0 {
		dest = dest[1:]
	}
	err = db.Each(rows, err, "read edges", func(row db.Row) error {
		err := row.Scan(dest...)
		steps = append(steps, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return steps, nil
}
