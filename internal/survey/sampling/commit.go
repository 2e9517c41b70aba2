package sampling

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
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
	if in.Commitment != "" && !survey.IsHash(in.Commitment) {
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
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleDraw], error) {
		if err := s.number(ctx, tx, d); err != nil {
			return none, err
		}
		if err := s.insertDraw(ctx, tx, r, p); err != nil {
			return none, err
		}
		reply, err := s.replyDraw(ctx, tx, d, http.StatusCreated)
		reply.Location = drawPath(d.DrawID)
		return reply, err
	})
}

// begun is a draw in the making.
type begun struct {
	design *Design
	frame  *frameRow
	draw   *drawRow
}

// begin makes the record of a draw of a frozen frame.
func (s *drawer) begin(ctx context.Context, id, frame, reason string) (*begun, error) {
	if err := survey.CheckReason("/reason", reason, false); err != nil {
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
	d := &drawRow{design: r.nid, frame: f.nid, project: r.project}
	d.SampleDraw = api.SampleDraw{
		DesignID: r.DesignID, Version: r.version, ProjectID: r.project, SurveyID: r.SurveyID, FrameID: f.FrameID, FrameHash: f.Hash,
		Population: f.Population, Units: f.Units, Plan: *plan, Reason: reason,
	}
	return &begun{&r.Design, f, d}, nil
}

// number gives a draw its place among those of its project, which wait for each
// other, so that each knows those before it.
func (s *drawer) number(ctx context.Context, tx *db.Tx, d *drawRow) error {
	ws := web.CallerFrom(ctx).Workspace
	if err := tx.QueryRow(ctx, countProject, ws, d.project).Scan(&d.EarlierOfProject); err != nil {
		return fmt.Errorf("count draws: %w", err)
	}
	d.EarlierOfProject--
	d.nid = s.db.NewNID()
	d.DrawID = name("drw_", d.nid)
	err := tx.QueryRow(ctx, lastOfFrame, ws, d.project, d.FrameHash).Scan(&d.EarlierOfFrame)
	if d.EarlierOfFrame++; errors.Is(err, sql.ErrNoRows) {
		d.EarlierOfFrame, err = 0, nil
	}
	return db.Wrap("look for draws of the frame", err)
}

// insertDraw stores a new draw that has its number, with the entry of a
// commitment. The fault is FRAME_DRAWN.
func (s *drawer) insertDraw(ctx context.Context, tx *db.Tx, b *begun, p parts) error {
	d, ws := b.draw, web.CallerFrom(ctx).Workspace
	var ofSurvey, ofDesign int
	err := errors.Join(tx.QueryRow(ctx, drawsOfSurvey, ws, d.SurveyID).Scan(&ofSurvey), tx.QueryRow(ctx, drawsOfDesign, d.design).Scan(&ofDesign))
	if err != nil {
		return fmt.Errorf("look for earlier draws: %w", err)
	}
	if (d.EarlierOfFrame > 0 || ofSurvey > 0 || ofDesign > 0) && d.Reason == "" {
		return fault.New(fault.Conflict, "FRAME_DRAWN", "This frame, the design or its survey was already drawn or committed. Another draw needs a reason, which everybody sees.").
			With(fault.Field{Pointer: "/reason", Code: "required", Detail: "Give the reason for drawing again."})
	}
	if err := s.seal(d, p); err != nil {
		return err
	}
	if d.State == committed {
		d.Entries = nil
		e, err := s.entry(ctx, committedEvent, b.design, d)
		if err != nil {
			return err
		}
		if err := s.cfg.Events.Append(ctx, tx, e); err != nil {
			return err
		}
	}
	body, err := json.Marshal(d.SampleDraw)
	if err != nil {
		return fmt.Errorf("encode draw: %w", err)
	}
	_, err = tx.Exec(ctx, insertDraw, d.nid, ws, d.project, d.design, d.frame, d.FrameHash, d.SurveyID, d.State, d.sealed, string(body), d.EarlierOfFrame, d.EarlierOfProject)
	return db.Wrap("insert draw", err)
}

// Contribute adds the second part of the seed. Faults: DESIGN_NOT_FOUND,
// SAMPLE_DRAW_NOT_FOUND, SAMPLE_DRAW_STATE_INVALID, SAMPLE_DRAW_INVALID,
// SECOND_PARTY_INVALID when the caller is not the one who may, BEACON_NOT_YET,
// SAMPLE_DRAW_INVALID when it is not written as the value of the beacon is.
func (s *drawer) Contribute(ctx context.Context, id string, in api.SampleContribution) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	var c fault.Checks
	c.Require(in.Part != "", "/part")
	checkPart(&c, "/part", in.Part)
	if err := c.Err(badDraw, badText); err != nil {
		return none, err
	}
	v, d, err := s.which(ctx, Which{Design: id})
	if err != nil {
		return none, err
	}
	if d.State != committed {
		return none, wrongState(d, committed)
	}
	if err := s.mayContribute(ctx, d); err != nil {
		return none, err
	}
	if err := checkValue(d.Second, in.Part); err != nil {
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
		err := s.record(ctx, tx, "sampling.contributed", v, map[string]any{"drawId": d.DrawID})
		if err != nil {
			return none, err
		}
		return s.replyDraw(ctx, tx, d, 0)
	})
}

func wrongState(d *drawRow, want string) error {
	return fault.New(fault.Conflict, wrongNow, "The draw "+d.DrawID+" is "+d.State+", and must be "+want+".")
}

// mayContribute accepts the second part only from the party or the beacon that
// the commitment names, and never a party's part from a caller who knows the
// first.
func (s *drawer) mayContribute(ctx context.Context, d *drawRow) error {
	c, wants := web.CallerFrom(ctx), d.Second
	refuse := func(why string) error { return fault.New(fault.Forbidden, "SECOND_PARTY_INVALID", why) }
	if wants.Source == "beacon" {
		if s.now().Before(wants.At) {
			return fault.New(fault.Conflict, "BEACON_NOT_YET", "The value is published at "+wants.At.UTC().Format(time.RFC3339)+". Send it then.")
		}
		if !c.May("sampling:write") && !c.May("sampling:witness") {
			return refuse("Sending the value of the beacon needs the scope sampling:write or sampling:witness.")
		}
		return nil
	}
	own, err := s.cfg.ActsFor.Made(ctx, d.CommittedBy)
	switch {
	case err != nil:
		return err
	case own:
		return refuse("You committed the first part. Somebody else must send the second.")
	case wants.Party != "" && c.DID != wants.Party:
		return refuse("The commitment names somebody else, who must send the second part.")
	case !c.May("sampling:witness"):
		return refuse("Sending the second part needs the scope sampling:witness.")
	}
	return nil
}
