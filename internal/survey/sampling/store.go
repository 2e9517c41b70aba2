package sampling

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	insertDesign = `INSERT INTO sampling_designs (nid, ws, design_id, project, version, deleted_at, body) VALUES ($1, $2, $3, $4, 1, 0, $5)
		ON CONFLICT (ws, design_id) DO NOTHING`
	insertVersion = `INSERT INTO sampling_versions (design, version, body) VALUES ($1, $2, $3) ON CONFLICT (design, version) DO UPDATE SET body = excluded.body`
	updateDesign  = `UPDATE sampling_designs SET version = $3, body = $4 WHERE nid = $1 AND version = $2`
	deleteDesign  = `UPDATE sampling_designs SET deleted_at = $2, body = $3 WHERE nid = $1 AND deleted_at = 0`
	selectDesign  = `SELECT nid, ws, project, version, deleted_at, body FROM sampling_designs WHERE ws = $1 AND design_id = $2`
	lockDesign    = `UPDATE sampling_designs SET version = version WHERE nid = $1`
	listDesigns   = `SELECT nid, ws, project, version, deleted_at, body FROM sampling_designs WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listDesignsOf = `SELECT nid, ws, project, version, deleted_at, body FROM sampling_designs WHERE ws = $1 AND project = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	selectVersion = `SELECT body FROM sampling_versions WHERE design = $1 AND version = $2`
	listVersions  = `SELECT body FROM sampling_versions WHERE design = $1 AND version < $2 ORDER BY version DESC LIMIT $3`

	insertFrame   = `INSERT INTO sampling_frames (nid, design, state, hash, body) VALUES ($1, $2, $3, $4, $5)`
	updateFrame   = `UPDATE sampling_frames SET state = $2, hash = $3, body = $4 WHERE nid = $1`
	selectFrame   = `SELECT nid, design, body FROM sampling_frames WHERE design = $1 AND nid = $2`
	newestFrame   = `SELECT nid, design, body FROM sampling_frames WHERE design = $1 ORDER BY nid DESC LIMIT 1`
	listHashes    = `SELECT hash FROM sampling_frames WHERE design = $1 ORDER BY nid DESC LIMIT 100`
	insertPiece   = `INSERT INTO sampling_pieces (frame, piece, units, homes) VALUES ($1, $2, $3, $4) ON CONFLICT (frame, piece) DO UPDATE SET units = excluded.units, homes = excluded.homes`
	removePieces  = `DELETE FROM sampling_pieces WHERE frame = $1`
	selectPieces  = `SELECT units FROM sampling_pieces WHERE frame = $1 ORDER BY piece`
	selectHomes   = `SELECT piece, homes FROM sampling_pieces WHERE frame = $1 AND piece = $2`
	countProject  = `INSERT INTO sampling_projects (ws, project, draws) VALUES ($1, $2, 1) ON CONFLICT (ws, project) DO UPDATE SET draws = sampling_projects.draws + 1 RETURNING draws`
	insertDraw    = `INSERT INTO sampling_draws (nid, ws, project, design, frame, frame_hash, survey, state, sealed, body, of_frame, of_project) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	updateDraw    = `UPDATE sampling_draws SET state = $3, sealed = $4, body = $5 WHERE nid = $1 AND state = $2`
	drawColumns   = `SELECT d.nid, d.project, d.design, d.frame, d.state, d.sealed, d.body, d.of_frame, d.of_project, g.deleted_at FROM sampling_draws d JOIN sampling_designs g ON g.nid = d.design`
	selectDraw    = drawColumns + ` WHERE d.nid = $1 AND d.ws = $2`
	newestDraw    = drawColumns + ` WHERE d.design = $1 ORDER BY d.nid DESC LIMIT 1`
	listDraws     = drawColumns + ` WHERE d.ws = $1 AND d.project = $2 AND d.nid < $3 ORDER BY d.nid DESC LIMIT $4`
	listOfFrame   = drawColumns + ` WHERE d.ws = $1 AND d.project = $2 AND d.frame_hash = $3 AND d.nid < $4 ORDER BY d.nid DESC LIMIT $5`
	lastOfFrame   = `SELECT of_frame FROM sampling_draws WHERE ws = $1 AND project = $2 AND frame_hash = $3 ORDER BY nid DESC LIMIT 1`
	drawsOfSurvey = `SELECT count(*) FROM (SELECT 1 FROM sampling_draws WHERE ws = $1 AND survey = $2 AND survey <> '' LIMIT 1) AS n`
	drawsOfDesign = `SELECT count(*) FROM (SELECT 1 FROM sampling_draws WHERE design = $1 LIMIT 1) AS n`
	insertDrawn   = `INSERT INTO sampling_drawn (draw, place, cell, unit, household, stratum, cluster, hash, state, replaces, reason, actor, at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', '', '', 0) ON CONFLICT (draw, place) DO NOTHING`
	listDrawn   = `SELECT place, cell, unit, household, stratum, cluster, hash, state, replaces, replaced_by, reason, actor, at FROM sampling_drawn WHERE draw = $1 AND place > $2 ORDER BY place LIMIT $3`
	listState   = `SELECT place, cell, unit, household, stratum, cluster, hash, state, replaces, replaced_by, reason, actor, at FROM sampling_drawn WHERE draw = $1 AND state = $2 AND place > $3 ORDER BY place LIMIT $4`
	drawnUnit   = `SELECT place, cell, unit, household, stratum, cluster, hash, state, replaces, replaced_by, reason, actor, at FROM sampling_drawn WHERE draw = $1 AND unit = $2`
	drawnHome   = `SELECT place, cell, unit, household, stratum, cluster, hash, state, replaces, replaced_by, reason, actor, at FROM sampling_drawn WHERE draw = $1 AND household = $2`
	nextReserve = `SELECT place, cell, unit, household, stratum, cluster, hash, state, replaces, replaced_by, reason, actor, at FROM sampling_drawn WHERE draw = $1 AND cell = $2 AND state = 'reserve' ORDER BY place LIMIT 1`
	selectNames = `SELECT design_id FROM sampling_designs WHERE ws = $1 AND project = $2`

	removeDrawn    = `DELETE FROM sampling_drawn WHERE draw IN (SELECT nid FROM sampling_draws WHERE ws = $1 AND project = $2)`
	removeDraws    = `DELETE FROM sampling_draws WHERE ws = $1 AND project = $2`
	removeUnits    = `DELETE FROM sampling_pieces WHERE frame IN (SELECT f.nid FROM sampling_frames f JOIN sampling_designs d ON d.nid = f.design WHERE d.ws = $1 AND d.project = $2)`
	removeFrames   = `DELETE FROM sampling_frames WHERE design IN (SELECT nid FROM sampling_designs WHERE ws = $1 AND project = $2)`
	removeVersions = `DELETE FROM sampling_versions WHERE design IN (SELECT nid FROM sampling_designs WHERE ws = $1 AND project = $2)`
	removeDesigns  = `DELETE FROM sampling_designs WHERE ws = $1 AND project = $2`
	removeProject  = `DELETE FROM sampling_projects WHERE ws = $1 AND project = $2`

	updateDrawn = `UPDATE sampling_drawn SET state = $4, replaces = $5, replaced_by = $6, reason = $7, actor = $8, at = $9 WHERE draw = $1 AND place = $2 AND state = $3`
)

// designRow is a stored design: the newest version.
type designRow struct {
	nid, deleted int64
	ws, project  string
	version      int
	Design
}

func (r *designRow) scan(row db.Row) error {
	var body string
	if err := row.Scan(&r.nid, &r.ws, &r.project, &r.version, &r.deleted, &body); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), &r.Design); err != nil {
		return fmt.Errorf("read sample design: %w", err)
	}
	return nil
}

func notFound() error {
	return fault.New(fault.NotFound, "DESIGN_NOT_FOUND", "No sample design has this id.")
}

// find reads a design the caller sees. The fault is DESIGN_NOT_FOUND.
func find(ctx context.Context, q db.Querier, id string) (*designRow, error) {
	c := web.CallerFrom(ctx)
	r := new(designRow)
	err := r.scan(q.QueryRow(ctx, selectDesign, c.Workspace, id))
	if errors.Is(err, sql.ErrNoRows) || err == nil && (!c.Sees(r.project) || r.deleted > 0) {
		return nil, notFound()
	}
	return r, db.Wrap("find sample design", err)
}

// frameRow is a stored frame.
type frameRow struct {
	nid, design int64
	api.SampleFrame
}

func (r *frameRow) scan(row db.Row) error {
	var body string
	if err := row.Scan(&r.nid, &r.design, &body); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), &r.SampleFrame); err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	return nil
}

func noFrame() error {
	return fault.New(fault.NotFound, "FRAME_NOT_FOUND", "The design has no such frame. Make one with POST …/frame.")
}

// findFrame reads a frame of a design; the newest when id is "". The fault is
// FRAME_NOT_FOUND.
func findFrame(ctx context.Context, q db.Querier, design int64, id string) (*frameRow, error) {
	r := new(frameRow)
	var err error
	if id == "" {
		err = r.scan(q.QueryRow(ctx, newestFrame, design))
	} else {
		nid, ok := numberOf("frm_", id)
		if !ok {
			return nil, noFrame()
		}
		err = r.scan(q.QueryRow(ctx, selectFrame, design, nid))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noFrame()
	}
	return r, db.Wrap("find frame", err)
}

// drawRow is a stored draw.
type drawRow struct {
	nid, design, frame int64
	project            string
	sealed             []byte
	sample             string // sum of the sample just drawn
	api.SampleDraw
}

func (r *drawRow) scan(row db.Row) error {
	var body, state string
	var ofFrame, ofProject, deleted int64
	if err := row.Scan(&r.nid, &r.project, &r.design, &r.frame, &state, &r.sealed, &body, &ofFrame, &ofProject, &deleted); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(body), &r.SampleDraw); err != nil {
		return fmt.Errorf("read draw: %w", err)
	}
	r.State, r.Earlier, r.EarlierOfFrame, r.EarlierOfProject, r.DesignGone = state, nil, ofFrame, ofProject, deleted > 0
	return nil
}

func noDraw() error {
	return fault.New(fault.NotFound, "SAMPLE_DRAW_NOT_FOUND", "The design has no draw. Commit to one with POST …/commit, or draw with a sole seed.")
}

// Which identifies a draw: by its own id, or as the newest of a design.
type Which struct{ Draw, Design string }

// findDraw reads a draw the caller sees; one that is named by its own id also when
// its design was deleted. The faults are DESIGN_NOT_FOUND and
// SAMPLE_DRAW_NOT_FOUND.
func findDraw(ctx context.Context, q db.Querier, w Which) (*drawRow, error) {
	r, c := new(drawRow), web.CallerFrom(ctx)
	var err error
	if w.Draw == "" {
		of, err := find(ctx, q, w.Design)
		if err != nil {
			return nil, err
		}
		return newestOf(ctx, q, of.nid)
	}
	nid, ok := numberOf("drw_", w.Draw)
	if ok {
		err = r.scan(q.QueryRow(ctx, selectDraw, nid, c.Workspace))
	}
	if !ok || errors.Is(err, sql.ErrNoRows) || err == nil && !c.Sees(r.project) {
		return nil, fault.New(fault.NotFound, "SAMPLE_DRAW_NOT_FOUND", "No draw has this id.")
	}
	return r, db.Wrap("find draw", err)
}

// newestOf reads the newest draw of a design. The fault is SAMPLE_DRAW_NOT_FOUND.
func newestOf(ctx context.Context, q db.Querier, design int64) (*drawRow, error) {
	r := new(drawRow)
	err := r.scan(q.QueryRow(ctx, newestDraw, design))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noDraw()
	}
	return r, db.Wrap("find draw", err)
}

// versionBy reads the version of its design that a draw was committed with: what
// became of the design since changes nothing about the draw.
func versionBy(ctx context.Context, q db.Querier, d *drawRow) (*Design, error) {
	rows, err := q.Query(ctx, selectVersion, d.design, d.Version)
	list, err := designs(rows, err)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("draw %s: its version %d of the design is gone", d.DrawID, d.Version)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// storeDraw stores a draw that was in a state; false when it no longer is.
func storeDraw(ctx context.Context, tx *db.Tx, r *drawRow, was string) (bool, error) {
	body, err := json.Marshal(r.SampleDraw)
	if err != nil {
		return false, fmt.Errorf("encode draw: %w", err)
	}
	n, err := tx.Exec(ctx, updateDraw, r.nid, was, r.State, r.sealed, string(body))
	return n > 0, db.Wrap("store draw", err)
}

// drawnRow is a household of a draw.
type drawnRow struct {
	cell, household string
	at              int64
	api.SampleUnit
}

func (r *drawnRow) scan(row db.Row) error {
	err := row.Scan(&r.Place, &r.cell, &r.Unit, &r.household, &r.Stratum, &r.Cluster, &r.Rank, &r.State, &r.Replaces, &r.ReplacedBy, &r.Reason, &r.By, &r.at)
	r.At = timeOf(r.at)
	return err
}

func scanDrawn(rows db.Rows, err error) ([]*drawnRow, error) {
	return db.Collect(rows, err, "list drawn households", func(r **drawnRow, row db.Row) error {
		*r = new(drawnRow)
		return (*r).scan(row)
	})
}

// pieces gives the published lines of a frame, piece by piece.
func pieces(ctx context.Context, q db.Querier, frame int64, visit func(lines string) error) error {
	rows, err := q.Query(ctx, selectPieces, frame)
	if err != nil {
		return fmt.Errorf("read frame: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var units string
		if err := rows.Scan(&units); err != nil {
			return fmt.Errorf("read frame: %w", err)
		}
		if err := visit(units); err != nil {
			return err
		}
	}
	return db.Wrap("read frame", rows.Err())
}

// unitsOf is a stored frame as a draw reads it.
func unitsOf(ctx context.Context, q db.Querier, frame int64) Frame {
	return func(visit func(Unit) error) error {
		return pieces(ctx, q, frame, func(lines string) error { return readLines(lines, visit) })
	}
}

// Remove removes all designs of a project, with their frames and draws, as if
// they had never existed. Use it only for what was never meant to prove
// anything.
func Remove(ctx context.Context, tx *db.Tx, ws, project string) error {
	var failed [7]error
	_, failed[0] = tx.Exec(ctx, removeDrawn, ws, project)
	_, failed[1] = tx.Exec(ctx, removeDraws, ws, project)
	_, failed[2] = tx.Exec(ctx, removeUnits, ws, project)
	_, failed[3] = tx.Exec(ctx, removeFrames, ws, project)
	_, failed[4] = tx.Exec(ctx, removeVersions, ws, project)
	_, failed[5] = tx.Exec(ctx, removeDesigns, ws, project)
	_, failed[6] = tx.Exec(ctx, removeProject, ws, project)
	return db.Wrap("remove sample designs", errors.Join(failed[:]...))
}

// Names returns the ids of all designs of a project, by which events name them.
func Names(ctx context.Context, q db.Querier, ws, project string) ([]string, error) {
	rows, err := q.Query(ctx, selectNames, ws, project)
	return db.Collect(rows, err, "list sample designs", func(id *string, row db.Row) error { return row.Scan(id) })
}
