package sampling

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/campaign"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The states of a draw.
const (
	committed   = "committed"
	contributed = "contributed"
	drawing     = "drawing"
	drawn       = "drawn"
)

const (
	minPart  = 32  // characters of a hidden part: nobody guesses it from its hash
	maxSeed  = 200 // characters
	drawRows = 200 // households stored in one transaction
	badDraw  = "SAMPLE_DRAW_INVALID"
	badText  = "The draw is not valid."
	wrongNow = "SAMPLE_DRAW_STATE_INVALID"
)

// parts are the parts of a seed, sealed until it is drawn.
type parts struct {
	First  string `json:"first,omitzero"`
	Second string `json:"second,omitzero"`
}

const purpose = "sampling"

func (s *core) seal(r *drawRow, p parts) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode parts: %w", err)
	}
	r.sealed = s.cfg.Key.Seal(purpose, r.DrawID, text)
	return nil
}

func (s *core) unseal(r *drawRow) (p parts, err error) {
	text, err := s.cfg.Key.Open(purpose, r.DrawID, r.sealed)
	if err != nil {
		return p, fmt.Errorf("open parts of %s: %w", r.DrawID, err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("read parts of %s: %w", r.DrawID, err)
	}
	return p, nil
}

func checkPart(c *fault.Checks, at, text string) {
	if utf8.RuneCountInString(text) > maxSeed || strings.ContainsFunc(text, unicode.IsControl) || !utf8.ValidString(text) {
		c.Add(at, "invalid", "The text must have 200 characters or fewer and no control characters.")
	}
}

// Commit binds the next draw of a design to a frame, a plan and a hidden part of
// the seed, by the clock of the server. Faults: DESIGN_NOT_FOUND,
// FRAME_NOT_FOUND, SAMPLE_DRAW_INVALID, FRAME_DRAWN when a reason is missing,
// and those of PlanOf and of the survey of the design.
func (s *drawer) Commit(ctx context.Context, id string, in api.SampleCommit) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	var c fault.Checks
	if in.Commitment != "" && !campaign.IsHash(in.Commitment) {
		c.Add("/commitment", "invalid", "The value must be a SHA-256 as 64 hex digits in lower case.")
	}
	s.checkSecond(ctx, &c, &in.Second)
	if err := c.Err(badDraw, badText); err != nil {
		return none, err
	}
	r, err := s.begin(ctx, id, in.FrameID, in.Reason)
	if err != nil {
		return none, err
	}
	d := r.draw
	d.State, d.Commitment, d.CommittedAt, d.CommittedBy, d.Second = committed, in.Commitment, s.now(), web.CallerFrom(ctx).DID, &in.Second
	var p parts
	if in.Commitment == "" {
		p.First = rand.Text() + rand.Text()
		d.Commitment = Commitment(p.First)
	}
	if err := s.seal(d, p); err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleDraw], error) {
		if err := s.insertDraw(ctx, tx, r, in.Reason); err != nil {
			return none, err
		}
		err := s.record(ctx, tx, "sampling.committed", r.design, map[string]any{
			"drawId": d.DrawID, "version": d.Version, "frameId": d.FrameID, "frameHash": d.FrameHash, "commitment": d.Commitment, "second": in.Second.Source,
		})
		return web.Reply[*api.SampleDraw]{Value: &d.SampleDraw, Status: http.StatusCreated, Location: r.design.Links.Draw}, err
	})
}

// checkSecond wants to know beforehand where the second part comes from: a
// manager who could choose among several would choose the sample.
func (s *drawer) checkSecond(ctx context.Context, c *fault.Checks, in *api.SampleSecond) {
	c.Require(in.Source != "", "/second/source")
	check.OneOf(c, "/second/source", in.Source, "party", "beacon")
	check.Short(c, "/second/beacon", in.Beacon, campaign.MaxName)
	switch in.Source {
	case "beacon":
		c.Require(in.Beacon != "", "/second/beacon")
		if !in.At.After(s.now()) {
			c.Add("/second/at", "out_of_range", "The value of the beacon must not be published yet: give a time after now.")
		}
		if in.Party != "" {
			c.Add("/second/party", "not_allowed", "A beacon is no party.")
		}
	case "party":
		if in.Party != "" {
			campaign.CheckDID(c, "/second/party", in.Party)
		}
		if in.Party != "" && in.Party == web.CallerFrom(ctx).DID {
			c.Add("/second/party", "not_allowed", "The second part must come from somebody else.")
		}
		if in.Beacon != "" || !in.At.IsZero() {
			c.Add("/second/beacon", "not_allowed", "Only a beacon has these.")
		}
	}
}

// begun is a draw in the making.
type begun struct {
	design *Design
	frame  *frameRow
	draw   *drawRow
}

// begin makes the record of a draw of a frozen frame.
func (s *drawer) begin(ctx context.Context, id, frame, reason string) (*begun, error) {
	if err := campaign.CheckReason("/reason", reason, false); err != nil {
		return nil, err
	}
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	f, err := findFrame(ctx, s.db, r.nid, frame)
	if err != nil {
		return nil, err
	}
	if f.State != "frozen" {
		return nil, fault.New(fault.Conflict, wrongNow, "The frame is "+f.State+"; only one that is frozen can be drawn.")
	}
	plan, _, err := PlanOf(&r.Design, &f.SampleFrame)
	if err != nil {
		return nil, err
	}
	if r.SurveyID != "" {
		if err := s.checkSurvey(ctx, s.db, &r.Design); err != nil {
			return nil, err
		}
	}
	d := &drawRow{nid: s.db.NewNID(), design: r.nid, frame: f.nid, project: r.project}
	d.SampleDraw = api.SampleDraw{
		DrawID: name("drw_", d.nid), DesignID: r.DesignID, Version: r.version, ProjectID: r.project, SurveyID: r.SurveyID, FrameID: f.FrameID, FrameHash: f.Hash,
		Population: f.Population, Units: f.Units, Plan: *plan, Reason: reason, Earlier: []api.SampleDrawRef{},
	}
	return &begun{&r.Design, f, d}, nil
}

// insertDraw stores a new draw. Draws of one project wait for each other, so that
// each knows those before it. The fault is FRAME_DRAWN.
func (s *drawer) insertDraw(ctx context.Context, tx *db.Tx, b *begun, reason string) error {
	d, ws := b.draw, web.CallerFrom(ctx).Workspace
	if _, err := tx.Exec(ctx, countProject, ws, d.project); err != nil {
		return fmt.Errorf("count draws: %w", err)
	}
	var ofFrame, ofSurvey int
	err := errors.Join(tx.QueryRow(ctx, drawsOfFrame, ws, d.FrameHash).Scan(&ofFrame), tx.QueryRow(ctx, drawsOfSurvey, ws, d.SurveyID).Scan(&ofSurvey))
	if err != nil {
		return fmt.Errorf("look for earlier draws: %w", err)
	}
	if ofFrame+ofSurvey > 0 && reason == "" {
		return fault.New(fault.Conflict, "FRAME_DRAWN", "This frame, or the survey of the design, was drawn or committed before. Another draw needs a reason, which everybody sees.").
			With(fault.Field{Pointer: "/reason", Code: "required", Detail: "Say why it is drawn again."})
	}
	body, err := json.Marshal(d.SampleDraw)
	if err != nil {
		return fmt.Errorf("encode draw: %w", err)
	}
	_, err = tx.Exec(ctx, insertDraw, d.nid, ws, d.project, d.design, d.frame, d.FrameHash, d.SurveyID, d.State, d.sealed, string(body))
	return db.Wrap("insert draw", err)
}

// Contribute adds the second part of the seed. Faults: DESIGN_NOT_FOUND,
// SAMPLE_DRAW_NOT_FOUND, SAMPLE_DRAW_STATE_INVALID, SAMPLE_DRAW_INVALID,
// SECOND_PARTY_INVALID when the caller is not the one who may, BEACON_NOT_YET.
func (s *drawer) Contribute(ctx context.Context, id string, in api.SampleContribution) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	var c fault.Checks
	c.Require(in.Part != "", "/part")
	checkPart(&c, "/part", in.Part)
	if err := c.Err(badDraw, badText); err != nil {
		return none, err
	}
	r, d, err := s.newest(ctx, id)
	if err != nil {
		return none, err
	}
	if d.State != committed {
		return none, wrongState(d, committed)
	}
	if err := s.mayContribute(ctx, d); err != nil {
		return none, err
	}
	p, err := s.unseal(d)
	if err != nil {
		return none, err
	}
	p.Second = in.Part
	d.State, d.SecondBy, d.SecondAt = contributed, web.CallerFrom(ctx).DID, s.now()
	if err := s.seal(d, p); err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleDraw], error) {
		if ok, err := storeDraw(ctx, tx, d, committed); err != nil {
			return none, err
		} else if !ok {
			return none, wrongState(d, committed)
		}
		err := s.record(ctx, tx, "sampling.contributed", &r.Design, map[string]any{"drawId": d.DrawID})
		return web.Reply[*api.SampleDraw]{Value: &d.SampleDraw}, err
	})
}

func wrongState(d *drawRow, want string) error {
	return fault.New(fault.Conflict, wrongNow, "The newest draw of the design is "+d.State+", and must be "+want+".")
}

// mayContribute wants the second part from the party or the beacon that the
// commitment names, and never a party's from whoever knows the first.
func (s *drawer) mayContribute(ctx context.Context, d *drawRow) error {
	c, wants := web.CallerFrom(ctx), d.Second
	refuse := func(why string) error { return fault.New(fault.Forbidden, "SECOND_PARTY_INVALID", why) }
	if wants.Source == "beacon" {
		if s.now().Before(wants.At) {
			return fault.New(fault.Conflict, "BEACON_NOT_YET", "The value is published at "+wants.At.UTC().Format(time.RFC3339)+". Send it then.")
		}
		if !c.May("sampling:write") && !c.May("sampling:witness") {
			return refuse("To send the value of the beacon needs the scope sampling:write or sampling:witness.")
		}
		return nil
	}
	own, err := s.isCaller(ctx, d.CommittedBy)
	switch {
	case err != nil:
		return err
	case own:
		return refuse("You have committed the first part. Somebody else gives the second.")
	case wants.Party != "" && c.DID != wants.Party:
		return refuse("The commitment names somebody else who gives the second part.")
	case !c.May("sampling:witness"):
		return refuse("To give the second part needs the scope sampling:witness.")
	}
	return nil
}

// newest is a design and its newest draw.
func (s *core) newest(ctx context.Context, id string) (*designRow, *drawRow, error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, nil, err
	}
	d, err := findDraw(ctx, s.db, r.nid)
	return r, d, err
}

// Draw makes the draw that was committed to, or one with a sole seed. A large
// frame is drawn in a job; a draw that was cut off goes on when it is asked for
// again. Faults: those of begin, SAMPLE_DRAW_NOT_FOUND, SAMPLE_DRAW_INVALID,
// SAMPLE_DRAW_STATE_INVALID, COMMITMENT_MISMATCH, FRAME_DRAWN.
func (s *drawer) Draw(ctx context.Context, id string, in api.SampleDrawDraft) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	var c fault.Checks
	checkPart(&c, "/seed", in.Seed)
	checkPart(&c, "/part", in.Part)
	if in.Seed != "" && in.Part != "" {
		c.Add("/seed", "one_of", "A draw has the part of a commitment, or a sole seed.")
	}
	if err := c.Err(badDraw, badText); err != nil {
		return none, err
	}
	r, d, err := s.start(ctx, id, in)
	if err != nil {
		return none, err
	}
	if d.State == drawn {
		return s.replyDraw(ctx, d, http.StatusOK)
	}
	if d.Population > inRequest {
		return s.enqueueDraw(ctx, r, d)
	}
	if err := s.perform(ctx, r, d, nil); err != nil {
		return none, err
	}
	return s.replyDraw(ctx, d, http.StatusCreated)
}

// start brings a draw into the state drawing, or finds the one that is there.
func (s *drawer) start(ctx context.Context, id string, in api.SampleDrawDraft) (*designRow, *drawRow, error) {
	if in.Seed != "" {
		return s.startSole(ctx, id, in)
	}
	r, d, err := s.newest(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if d.State == drawing || d.State == drawn {
		return r, d, nil
	}
	if d.State != contributed {
		return nil, nil, wrongState(d, contributed)
	}
	p, err := s.unseal(d)
	if err != nil {
		return nil, nil, err
	}
	if p.First == "" {
		if utf8.RuneCountInString(in.Part) < minPart || Commitment(in.Part) != d.Commitment {
			return nil, nil, fault.New(fault.Unprocessable, "COMMITMENT_MISMATCH", "This is not the part that was committed to.").
				With(fault.Field{Pointer: "/part", Code: "mismatch", Detail: "Its SHA-256 must be the commitment, and it has 32 characters or more."})
		}
		p.First = in.Part
	}
	d.State, d.FirstPart, d.SecondPart, d.Seed, d.DrawnBy = drawing, p.First, p.Second, Join(p.First, p.Second), web.CallerFrom(ctx).DID
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		ok, err := storeDraw(ctx, tx, d, contributed)
		if err == nil && !ok {
			err = wrongState(d, contributed)
		}
		return err
	})
	return r, d, err
}

// startSole begins a draw whose seed one party has named. The same request again
// finds it.
func (s *drawer) startSole(ctx context.Context, id string, in api.SampleDrawDraft) (*designRow, *drawRow, error) {
	r, old, err := s.newest(ctx, id)
	if err == nil && old.SoleSeed && old.Seed == in.Seed && old.Reason == in.Reason {
		if f, err := findFrame(ctx, s.db, r.nid, in.FrameID); err != nil || f.nid == old.frame {
			return r, old, err
		}
	} else if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, nil, err
	}
	b, err := s.begin(ctx, id, in.FrameID, in.Reason)
	if err != nil {
		return nil, nil, err
	}
	d := b.draw
	d.State, d.Seed, d.SoleSeed, d.DrawnBy = drawing, in.Seed, true, web.CallerFrom(ctx).DID
	if err := s.seal(d, parts{}); err != nil {
		return nil, nil, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error { return s.insertDraw(ctx, tx, b, in.Reason) })
	return r, d, err
}

// drawJob is what a job is asked for.
type drawJob struct {
	Design string `json:"designId"`
}

func (s *drawer) enqueueDraw(ctx context.Context, r *designRow, d *drawRow) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleDraw], error) {
		j, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: DrawKind, Payload: drawJob{r.DesignID}, Key: d.DrawID, About: r.Links.Draw})
		if err != nil {
			return none, err
		}
		return web.Reply[*api.SampleDraw]{Value: hideSeed(ctx, &d.SampleDraw), Status: http.StatusAccepted, Location: job.Path(j)}, nil
	})
}

func (s *drawer) runDraw(ctx context.Context, j *job.Run) error {
	var in drawJob
	if err := j.Decode(&in); err != nil {
		return err
	}
	r, d, err := s.newest(ctx, in.Design)
	if err != nil {
		return permanent(err)
	}
	if d.State == drawing {
		err = s.perform(ctx, r, d, j)
	}
	if err == nil {
		j.SetResult(map[string]any{"drawId": d.DrawID, "drawn": d.Drawn, "reserve": d.Reserve})
	}
	return permanent(err)
}

// hideSeed is a draw as the caller may know it.
func hideSeed(ctx context.Context, d *api.SampleDraw) *api.SampleDraw {
	out := *d
	if d.State != drawn || mayProve(ctx, byPseudonym) != nil {
		out.FirstPart, out.SecondPart = "", ""
		if !(d.SoleSeed && mayProve(ctx, byPseudonym) == nil) {
			out.Seed = ""
		}
	}
	return &out
}

// replyDraw is a draw with those before it.
func (s *drawer) replyDraw(ctx context.Context, d *drawRow, status int) (web.Reply[*api.SampleDraw], error) {
	out := hideSeed(ctx, &d.SampleDraw)
	earlier, err := s.earlier(ctx, d)
	out.Earlier = earlier
	return web.Reply[*api.SampleDraw]{Value: out, Status: status}, err
}

const maxEarlier = 100

// earlier are the draws of the project before one.
func (s *core) earlier(ctx context.Context, d *drawRow) ([]api.SampleDrawRef, error) {
	list, err := s.draws(ctx, d.project, d.nid, maxEarlier)
	out := []api.SampleDrawRef{}
	for _, o := range list {
		at := o.CommittedAt
		if at.IsZero() {
			at = o.DrawnAt
		}
		out = append(out, api.SampleDrawRef{
			DrawID: o.DrawID, DesignID: o.DesignID, FrameHash: o.FrameHash, SameFrame: o.FrameHash == d.FrameHash, State: o.State, SoleSeed: o.SoleSeed, At: at, Reason: o.Reason,
		})
	}
	return out, err
}

func (s *core) draws(ctx context.Context, project string, before int64, limit int) ([]*drawRow, error) {
	rows, err := s.db.Query(ctx, listDraws, web.CallerFrom(ctx).Workspace, project, before, limit)
	return db.Collect(rows, err, "list draws", func(r **drawRow, row db.Row) error {
		*r = new(drawRow)
		return (*r).scan(row)
	})
}

// GetDraw reads the newest draw of a design. Faults: DESIGN_NOT_FOUND,
// SAMPLE_DRAW_NOT_FOUND.
func (s *drawer) GetDraw(ctx context.Context, id string) (web.Reply[*api.SampleDraw], error) {
	_, d, err := s.newest(ctx, id)
	if err != nil {
		return web.Reply[*api.SampleDraw]{}, err
	}
	return s.replyDraw(ctx, d, 0)
}

// Draws reads a page of all draws of a project before a number, newest first,
// also of deleted designs and those that were never made; next is 0 at the end.
func (s *drawer) Draws(ctx context.Context, project string, before int64, limit int) (items []*api.SampleDraw, next int64, err error) {
	if before == 0 {
		before = math.MaxInt64
	}
	if project == "" {
		return nil, 0, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").With(fault.Field{Pointer: "query/projectId", Code: "required", Detail: "Name the project whose draws you want."})
	}
	if !sees(web.CallerFrom(ctx), project) {
		return nil, 0, nil
	}
	list, err := s.draws(ctx, project, before, limit+1)
	if err != nil {
		return nil, 0, err
	}
	for i, d := range list {
		if i == limit {
			return items, list[i-1].nid, nil
		}
		one := hideSeed(ctx, &d.SampleDraw)
		one.Earlier = []api.SampleDrawRef{}
		items = append(items, one)
	}
	return items, 0, nil
}
