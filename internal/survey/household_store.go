package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Many households go through one statement as a JSON array: $2. One that is
// erased between the read and the write stays erased.
const (
	selectHousehold = `SELECT household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, cluster, source, replaces, replacement, rev, updated_at
		FROM survey_households WHERE survey = $1 AND household = $2`
	selectManySQLite = `SELECT h.household, h.stratum, h.grp, h.area, h.collector, h.outcome, h.outcome_round, h.outcome_at, h.lat, h.lon, h.attributes, h.cluster, h.source, h.replaces, h.replacement, h.rev, h.updated_at
		FROM json_each($2) AS e CROSS JOIN survey_households h ON h.survey = $1 AND h.household = e.value`
	selectManyPostgres = `SELECT h.household, h.stratum, h.grp, h.area, h.collector, h.outcome, h.outcome_round, h.outcome_at, h.lat, h.lon, h.attributes, h.cluster, h.source, h.replaces, h.replacement, h.rev, h.updated_at
		FROM survey_households h WHERE h.survey = $1 AND h.household = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb)))`
	upsertManySQLite = `INSERT INTO survey_households (survey, household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, cluster, source, replaces, since, rev, updated_at)
		SELECT $1, e.value->>'h', e.value->>'s', e.value->>'g', e.value->>'a', e.value->>'c', 0, 0, 0, e.value->>'y', e.value->>'x', e.value->>'o', e.value->>'k', e.value->>'f', e.value->>'r', $4, 1, $3
		FROM json_each($2) AS e WHERE true
		ON CONFLICT (survey, household) DO UPDATE SET stratum = excluded.stratum, grp = excluded.grp, area = excluded.area, collector = excluded.collector,
			lat = excluded.lat, lon = excluded.lon, attributes = excluded.attributes, cluster = excluded.cluster, source = excluded.source, replaces = excluded.replaces, rev = survey_households.rev + 1, updated_at = excluded.updated_at WHERE survey_households.attributes <> '` + erasedMark + `'`
	upsertManyPostgres = `INSERT INTO survey_households (survey, household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, cluster, source, replaces, since, rev, updated_at)
		SELECT $1, e->>'h', e->>'s', (e->>'g')::bigint, e->>'a', e->>'c', 0, 0, 0, (e->>'y')::double precision, (e->>'x')::double precision, e->>'o', e->>'k', (e->>'f')::bigint, e->>'r', $4, 1, $3
		FROM jsonb_array_elements($2::jsonb) AS e
		ON CONFLICT (survey, household) DO UPDATE SET stratum = excluded.stratum, grp = excluded.grp, area = excluded.area, collector = excluded.collector,
			lat = excluded.lat, lon = excluded.lon, attributes = excluded.attributes, cluster = excluded.cluster, source = excluded.source, replaces = excluded.replaces, rev = survey_households.rev + 1, updated_at = excluded.updated_at WHERE survey_households.attributes <> '` + erasedMark + `'`
	setOutcome = `UPDATE survey_households SET outcome = $4, outcome_round = $5, outcome_at = $6, rev = rev + 1, updated_at = $6
		WHERE survey = $1 AND household = $2 AND rev = $3`
	keepOutcome = `INSERT INTO survey_outcomes (survey, round, household, outcome, at)
		SELECT survey, outcome_round, household, outcome, outcome_at FROM survey_households WHERE survey = $1 AND household = $2 AND rev = $3
		ON CONFLICT (survey, round, household) DO NOTHING`
	markReplaced    = `UPDATE survey_households SET replacement = $3, rev = rev + 1, updated_at = $4 WHERE survey = $1 AND household = $2 AND attributes <> '` + erasedMark + `'`
	removeHousehold = `DELETE FROM survey_households WHERE survey = $1 AND household = $2 AND rev = $3`
	removeSome      = `DELETE FROM survey_households WHERE survey = $1 AND household IN
		(SELECT household FROM survey_households WHERE survey = $1 ORDER BY household LIMIT $2)`
	removeOutcomes = `DELETE FROM survey_outcomes WHERE survey = $1 AND household IN
		(SELECT household FROM survey_households WHERE survey = $1 ORDER BY household LIMIT $2)`
	selectAny        = `SELECT count(*) FROM (SELECT 1 FROM survey_households WHERE survey = $1 LIMIT 1) AS n`
	selectAnyNamed   = `SELECT count(*) FROM (SELECT 1 FROM survey_households WHERE survey = $1 AND collector <> '' LIMIT 1) AS n`
	selectHouseholds = `SELECT household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, cluster, source, replaces, replacement, rev, updated_at
		FROM survey_households WHERE survey = $1 AND household > $2 ORDER BY household LIMIT $3`
	selectNamed = `SELECT household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, lat, lon, attributes, cluster, source, replaces, replacement, rev, updated_at
		FROM survey_households WHERE survey = $1 AND collector = $2 AND collector <> '' AND household > $3 ORDER BY household LIMIT $4`
)

// removeChunk is how many households one transaction removes.
const removeChunk = 500

func (h *Household) scan(row db.Row) error {
	var group, source int
	var outcomeAt, updated int64
	var lat, lon *float64
	var attributes, replacement string
	err := row.Scan(&h.HouseholdID, &h.Stratum, &group, &h.Area, &h.Collector, &h.outcome, &h.round, &outcomeAt, &lat, &lon, &attributes, &h.Cluster, &source, &h.Replaces, &replacement, &h.Revision, &updated)
	if err != nil {
		return err
	}
	h.Group, h.Source = groupName(group), sourceName(source)
	h.Updated, h.Erased = time.UnixMilli(updated).UTC(), attributes == erasedMark
	if lat != nil && lon != nil {
		h.Location = &Location{Lat: *lat, Lon: *lon}
	}
	if attributes != "" && !h.Erased {
		h.Attributes = form.Object{Value: jsontext.Value(attributes)}
	}
	if outcomeAt > 0 {
		h.OutcomeAt = time.UnixMilli(outcomeAt).UTC()
	}
	if replacement == "" {
		return nil
	}
	h.Replacement = new(Replacement)
	return json.Unmarshal([]byte(replacement), h.Replacement)
}

// findHousehold reads a household of a list; nil when it is not there.
func findHousehold(ctx context.Context, q db.Querier, survey int64, id string) (*Household, error) {
	h := new(Household)
	err := h.scan(q.QueryRow(ctx, selectHousehold, survey, id))
	return db.Found(h, err, "find household")
}

// findListed is findHousehold with the fault HOUSEHOLD_NOT_LISTED.
func findListed(ctx context.Context, q db.Querier, survey int64, id string) (*Household, error) {
	h, err := findHousehold(ctx, q, survey, id)
	if err == nil && h == nil {
		return nil, notListed()
	}
	return h, err
}

func notListed() error {
	return fault.New(fault.NotFound, "HOUSEHOLD_NOT_LISTED", "The household is not on the list of the survey.")
}

func scanHouseholds(rows db.Rows, err error) ([]*Household, error) {
	return db.Collect(rows, err, "list households", func(h **Household, row db.Row) error {
		*h = new(Household)
		return (*h).scan(row)
	})
}

// findMany reads those of ids, a JSON array, that are on the list.
func (l *lists) findMany(ctx context.Context, tx *db.Tx, survey int64, ids string) (map[string]*Household, error) {
	var all []*Household
	var err error
	if l.db.Dialect() == db.Postgres {
		all, err = scanHouseholds(tx.Query(ctx, selectManyPostgres, survey, ids))
	} else {
		all, err = scanHouseholds(tx.Query(ctx, selectManySQLite, survey, ids))
	}
	out := make(map[string]*Household, len(all))
	for _, h := range all {
		out[h.HouseholdID] = h
	}
	return out, err
}

// storedHome is a household as upsertMany takes it.
type storedHome struct {
	H string   `json:"h"`
	S string   `json:"s"`
	G int      `json:"g"`
	A string   `json:"a"`
	C string   `json:"c"`
	Y *float64 `json:"y"`
	X *float64 `json:"x"`
	O string   `json:"o"`
	K string   `json:"k"`
	F int      `json:"f"`
	R string   `json:"r"`
}

// upsert stores new and changed households, sorted by their DID. Those that are
// new belong to the list from round on, and to none before.
func (l *lists) upsert(ctx context.Context, tx *db.Tx, survey int64, round int, list []Household) error {
	if len(list) == 0 {
		return nil
	}
	rows := make([]storedHome, len(list))
	for i, h := range list {
		rows[i] = storedHome{H: h.HouseholdID, S: h.Stratum, G: groupCode(h.Group), A: h.Area, C: h.Collector, O: string(h.Attributes.Value), K: h.Cluster, F: sourceCode(h.Source), R: h.Replaces}
		if h.Erased {
			rows[i].O = erasedMark
		}
		if l := h.Location; l != nil {
			rows[i].Y, rows[i].X = &l.Lat, &l.Lon
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode households: %w", err)
	}
	if now := l.now().UnixMilli(); l.db.Dialect() == db.Postgres {
		_, err = tx.Exec(ctx, upsertManyPostgres, survey, string(text), now, round)
	} else {
		_, err = tx.Exec(ctx, upsertManySQLite, survey, string(text), now, round)
	}
	return db.Wrap("store households", err)
}

func removeHouseholds(ctx context.Context, tx *db.Tx, survey int64) (int64, error) {
	if _, err := tx.Exec(ctx, removeOutcomes, survey, removeChunk); err != nil {
		return 0, fmt.Errorf("remove outcomes: %w", err)
	}
	n, err := tx.Exec(ctx, removeSome, survey, removeChunk)
	return n, db.Wrap("remove households", err)
}

// anyNamed reports whether a household of the list names its collector.
func anyNamed(ctx context.Context, q db.Querier, survey int64) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectAnyNamed, survey).Scan(&n); err != nil {
		return false, fmt.Errorf("look for collectors of households: %w", err)
	}
	return n > 0, nil
}

func anyHousehold(ctx context.Context, q db.Querier, survey int64) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, selectAny, survey).Scan(&n); err != nil {
		return false, fmt.Errorf("look for households: %w", err)
	}
	return n > 0, nil
}
