package quality

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits of a draw.
const (
	maxDraw   = 5_000
	maxSeed   = 200 // characters
	drawChunk = 100 // rows in one transaction
)

const drawMethod = "Per collector, the responses with the lowest SHA-256 of the seed, the byte 0x1F, the salt, the byte 0x1F and the responseId, among the complete ones that are not rejected, superseded or invalidated."

func checkDraw(d *DrawDraft) error {
	var c fault.Checks
	if d.Seed == "" {
		c.Add("/seed", "required", "Send a seed, any text: the same seed repeats the same draw.")
	}
	if utf8.RuneCountInString(d.Seed) > maxSeed || strings.ContainsFunc(d.Seed, unicode.IsControl) {
		c.Add("/seed", "invalid", "The text must have 200 characters or fewer and no control characters.")
	}
	if (d.Share != 0) == (d.Size != 0) {
		c.Add("/share", "one_of", "Send either share or size.")
	}
	if d.Share < 0 || d.Share > 1 {
		c.Add("/share", "out_of_range", "The value must be more than 0 and at most 1.")
	}
	if d.Size < 0 || d.Size > maxDraw {
		c.Add("/size", "out_of_range", fmt.Sprintf("The value must be 1 to %d.", maxDraw))
	}
	if d.PerCollector < 0 || d.PerCollector > maxDraw {
		c.Add("/perCollector", "out_of_range", fmt.Sprintf("The value must be 0 to %d.", maxDraw))
	}
	return c.Err(backCheckInvalid, "The draw is not valid.")
}

// Draw draws responses to ask again. Repeating the same draw returns the
// existing one, with status 200. Faults: SURVEY_NOT_FOUND, ROUND_NOT_FOUND,
// BACK_CHECK_INVALID, BACK_CHECK_QUESTIONS_MISSING, NOTHING_TO_DRAW,
// DRAW_EXISTS.
func (s *Service) Draw(ctx context.Context, surveyID string, d DrawDraft) (web.Reply[*Draw], error) {
	var none web.Reply[*Draw]
	if err := checkDraw(&d); err != nil {
		return none, err
	}
	p, err := s.scope(ctx, surveyID, d.Round)
	if err != nil {
		return none, err
	}
	if len(askedAgain(p.o.Form)) == 0 {
		return none, fault.New(fault.Unprocessable, "BACK_CHECK_QUESTIONS_MISSING", "No question of the survey has a backCheckClass, so there is nothing to ask again. Give questions one in a new version of the template.")
	}
	d.Round = p.round
	row, err := s.beginDraw(ctx, p, d)
	if err != nil {
		return none, err
	}
	if row.ready {
		return web.Reply[*Draw]{Value: veilDraw(row.draw, sightOf(ctx, s, p.o)), Status: http.StatusOK}, nil
	}
	p.until = row.cutoff
	strata, err := s.rank(ctx, p, row.draw)
	if err != nil {
		return none, s.undraw(ctx, row, err)
	}
	if err := s.storeDraw(ctx, p, row, strata); err != nil {
		return none, err
	}
	return web.Reply[*Draw]{Value: veilDraw(row.draw, sightOf(ctx, s, p.o)), Status: http.StatusCreated}, nil
}

// undraw removes a draw that is refused, so that its seed can be used again.
func (s *Service) undraw(ctx context.Context, row *drawRow, why error) error {
	if fault.CodeOf(why) == "" {
		return why // a repeat continues
	}
	if _, err := s.db.Exec(ctx, deleteDraw, row.nid); err != nil {
		return fmt.Errorf("delete draw: %w", err)
	}
	return why
}

// veilDraw names collectors as the caller may know them.
func veilDraw(d *Draw, x privacy.Sight) *Draw {
	out := *d
	out.Collectors = slices.Clone(d.Collectors)
	for i := range out.Collectors {
		out.Collectors[i].Collector = x.Person(out.Collectors[i].Collector)
	}
	return &out
}

// drawRow is a stored draw.
type drawRow struct {
	nid    int64
	cutoff int64
	ready  bool
	draw   *Draw
}

// beginDraw stores that there is a draw, or finds the one there is: it may not
// have been finished.
func (s *Service) beginDraw(ctx context.Context, p scope, d DrawDraft) (*drawRow, error) {
	nid := s.db.NewNID()
	draft, err := json.Marshal(Draw{DrawDraft: d, Salt: rand.Text()})
	if err != nil {
		return nil, fmt.Errorf("encode draw: %w", err)
	}
	var row *drawRow
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, insertDraw, nid, p.o.NID, p.round, d.Seed, web.CallerFrom(ctx).DID, s.now().UnixMilli(), p.until, string(draft))
		if err != nil {
			return fmt.Errorf("insert draw: %w", err)
		}
		row, err = findDraw(ctx, tx, p, d.Seed)
		return err
	})
	if err != nil {
		return nil, err
	}
	if row.draw.DrawDraft != d {
		return nil, fault.New(fault.Conflict, "DRAW_EXISTS", "Another draw of this round has this seed. Choose another seed.").
			With(fault.Field{Pointer: "/seed", Code: "exists", Detail: "Repeat that draw exactly, or choose another seed."})
	}
	row.draw.DrawID, row.draw.SurveyID = "drw_"+strconv.FormatInt(row.nid, 10), p.o.SurveyID
	row.draw.Method, row.draw.Links = drawMethod, api.DrawLinks{BackChecks: linksOf(p.o).BackChecks}
	return row, nil
}

func findDraw(ctx context.Context, q db.Querier, p scope, seed string) (*drawRow, error) {
	row := &drawRow{draw: &Draw{}}
	var actor, data string
	var at, ready int64
	err := q.QueryRow(ctx, selectDraw, p.o.NID, p.round, seed).Scan(&row.nid, &actor, &at, &row.cutoff, &ready, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("the draw is gone")
	} else if err != nil {
		return nil, fmt.Errorf("find draw: %w", err)
	}
	if err := json.Unmarshal([]byte(data), row.draw); err != nil {
		return nil, fmt.Errorf("read draw: %w", err)
	}
	row.ready, row.draw.By, row.draw.At = ready != 0, actor, timeOf(at)
	return row, nil
}

// eachDrawable reads the responses that can be drawn.
func (s *Service) eachDrawable(ctx context.Context, p scope, verified bool, f func(r listed)) error {
	for after := int64(0); ; {
		page, err := list(ctx, s.db, p.o.NID, after)
		if err != nil {
			return err
		}
		for _, r := range page {
			if after = r.nid; r.nid > p.until {
				return nil
			}
			switch {
			case r.round != p.round || r.status != response.Complete || verified && r.vstatus != response.Verified,
				slices.Contains([]string{response.Rejected, response.Superseded, response.Invalidated}, r.vstatus):
			default:
				f(r)
			}
		}
		if len(page) < listPage {
			return nil
		}
	}
}

// rank chooses the responses: once to count them by collector, once to find
// the lowest of each.
func (s *Service) rank(ctx context.Context, p scope, d *Draw) (map[string]*order.Lowest[Ranked], error) {
	counts := map[string]int{}
	if err := s.eachDrawable(ctx, p, d.VerifiedOnly, func(r listed) { counts[r.collector]++ }); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(counts))
	parts := make([]int, len(names))
	for i, name := range names {
		parts[i] = counts[name]
	}
	d.Population, d.Drawn, d.Collectors = 0, 0, []DrawStratum{}
	strata := map[string]*order.Lowest[Ranked]{}
	for i, n := range Allocate(parts, d.Share, d.Size, d.PerCollector) {
		strata[names[i]] = &order.Lowest[Ranked]{N: n}
		d.Population, d.Drawn = d.Population+parts[i], d.Drawn+n
		d.Collectors = append(d.Collectors, DrawStratum{Collector: names[i], Population: parts[i], Drawn: n})
	}
	if d.Drawn == 0 {
		return nil, fault.New(fault.Unprocessable, "NOTHING_TO_DRAW", "No response can be drawn: the round has none that is complete and stands. The seed is still free.")
	}
	if d.Drawn > maxDraw {
		return nil, fault.New(fault.Invalid, backCheckInvalid, "The draw is not valid.").
			With(fault.Field{Pointer: "/share", Code: "too_many", Detail: fmt.Sprintf("This would draw %d of %d responses; a draw has at most %d.", d.Drawn, d.Population, maxDraw)})
	}
	return strata, s.eachDrawable(ctx, p, d.VerifiedOnly, func(r listed) {
		if l := strata[r.collector]; l != nil {
			l.Add(Ranked{Rank: Rank(d.Seed+"\x1f"+d.Salt, r.id), ID: r.id, Key: r.nid})
		}
	})
}

// drawnData is what the event says.
type drawnData struct {
	Draw       string `json:"drawId"`
	Round      int    `json:"round"`
	Population int    `json:"population"`
	Drawn      int    `json:"drawn"`
}

// storeDraw stores the drawn responses, the lowest ranks first, and then that
// they are all. A repeat after a failure continues.
func (s *Service) storeDraw(ctx context.Context, p scope, row *drawRow, strata map[string]*order.Lowest[Ranked]) error {
	type drawn struct {
		Ranked
		nid       int64
		collector string
	}
	var all []drawn
	for name, l := range strata {
		for _, r := range l.Kept() {
			all = append(all, drawn{Ranked: r, collector: name})
		}
	}
	order.Sort(all, func(a, b drawn) int { return a.Compare(b.Ranked) })
	for i := range all {
		all[i].nid = s.db.NewNID()
	}
	now := s.now().UnixMilli()
	for part := range slices.Chunk(all, drawChunk) {
		err := s.db.InTx(ctx, func(tx *db.Tx) error {
			for _, r := range part {
				if _, err := tx.Exec(ctx, insertBackCheck, r.nid, p.o.NID, p.round, row.nid, r.Key, r.ID, r.collector, now); err != nil {
					return fmt.Errorf("insert back-check: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error { return s.finishDraw(ctx, tx, p, row) })
}

// finishDraw counts the drawn responses, once.
func (s *Service) finishDraw(ctx context.Context, tx *db.Tx, p scope, row *drawRow) error {
	data, err := json.Marshal(row.draw)
	if err != nil {
		return fmt.Errorf("encode draw: %w", err)
	}
	n, err := tx.Exec(ctx, readyDraw, row.nid, string(data))
	if err != nil {
		return fmt.Errorf("finish draw: %w", err)
	}
	if n == 0 {
		return nil // the same request has done it meanwhile
	}
	err = s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: p.o.Workspace, Type: "survey.back_checks_drawn", Subject: p.o.SurveyID,
		Data: drawnData{row.draw.DrawID, p.round, row.draw.Population, row.draw.Drawn},
	})
	if err != nil {
		return err
	}
	for _, c := range row.draw.Collectors {
		if c.Drawn == 0 {
			continue
		}
		if err := countBackChecks(ctx, tx, p.o.NID, p.round, backCheckCount{collector: c.Collector, drawn: int64(c.Drawn)}); err != nil {
			return err
		}
	}
	return nil
}
