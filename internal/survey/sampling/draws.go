package sampling

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
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
	minPart  = 32  // characters of a hidden part, so that nobody guesses it from its hash
	maxSeed  = 200 // characters
	drawRows = 200 // households stored in one transaction
	badDraw  = "SAMPLE_DRAW_INVALID"
	badText  = "The draw is not valid."
	wrongNow = "SAMPLE_DRAW_STATE_INVALID"
)

// Draw makes the committed draw, or one with a sole seed. A job draws from a
// large frame; an interrupted draw continues when it is asked for again.
// Faults: those of begin, SAMPLE_DRAW_NOT_FOUND, SAMPLE_DRAW_INVALID,
// SAMPLE_DRAW_STATE_INVALID, COMMITMENT_MISMATCH, FRAME_DRAWN.
func (s *drawer) Draw(ctx context.Context, id string, in api.SampleDrawDraft) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	var c fault.Checks
	checkPart(&c, "/seed", in.Seed)
	checkPart(&c, "/part", in.Part)
	if in.Seed != "" && in.Part != "" {
		c.Add("/seed", "one_of", "A draw needs either the first part of a commitment or a sole seed.")
	}
	if err := c.Err(badDraw, badText); err != nil {
		return none, err
	}
	d, err := s.start(ctx, id, in)
	if err != nil {
		return none, err
	}
	if d.State == drawn {
		return s.replyDraw(ctx, s.db, d, http.StatusOK)
	}
	if d.Population > inRequest {
		return s.enqueueDraw(ctx, d)
	}
	first, err := s.perform(ctx, d, nil)
	if err != nil {
		return none, err
	}
	if !first { // the same request has done it meanwhile
		if d, err = findDraw(ctx, s.db, Which{Draw: d.DrawID}); err != nil {
			return none, err
		}
		return s.replyDraw(ctx, s.db, d, http.StatusOK)
	}
	return s.replyDraw(ctx, s.db, d, http.StatusCreated)
}

// start moves a draw to the state drawing, or finds the existing one.
func (s *drawer) start(ctx context.Context, id string, in api.SampleDrawDraft) (*drawRow, error) {
	if in.Seed != "" {
		return s.startSole(ctx, id, in)
	}
	d, err := findDraw(ctx, s.db, Which{Design: id})
	if err != nil {
		return nil, err
	}
	if d.State == drawing || d.State == drawn {
		return d, nil
	}
	if d.State != contributed {
		return nil, wrongState(d, contributed)
	}
	p, err := s.unseal(d)
	if err != nil {
		return nil, err
	}
	if p.First == "" {
		if utf8.RuneCountInString(in.Part) < minPart || Commitment(in.Part) != d.Commitment {
			return nil, fault.New(fault.Unprocessable, "COMMITMENT_MISMATCH", "This first part does not match the commitment.").
				With(fault.Field{Pointer: "/part", Code: "mismatch", Detail: "Its SHA-256 must equal the commitment, and it must have at least 32 characters."})
		}
		p.First = in.Part
	}
	d.State, d.FirstPart, d.SecondPart, d.Seed, d.DrawnBy = drawing, p.First, p.Second, Join(p.First, p.Second), web.CallerFrom(ctx).DID
	ok := false
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		ok, err = storeDraw(ctx, tx, d, contributed)
		return err
	})
	if err == nil && !ok { // the same request has begun it meanwhile
		return findDraw(ctx, s.db, Which{Draw: d.DrawID})
	}
	return d, err
}

// startSole begins a draw whose seed one party has named. The same request again
// finds it, also when both come at once.
func (s *drawer) startSole(ctx context.Context, id string, in api.SampleDrawDraft) (*drawRow, error) {
	if old, err := s.sameSole(ctx, s.db, id, in); old != nil || err != nil {
		return old, err
	}
	b, err := s.begin(ctx, id, in.FrameID, in.Reason)
	if err != nil {
		if old, _ := s.sameSole(ctx, s.db, id, in); old != nil {
			return old, nil // what made it impossible is its own effect
		}
		return nil, err
	}
	d := b.draw
	d.State, d.Seed, d.SoleSeed, d.DrawnBy = drawing, in.Seed, true, web.CallerFrom(ctx).DID
	var old *drawRow
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := s.number(ctx, tx, d); err != nil {
			return err
		}
		if old, err = s.sameSole(ctx, tx, id, in); old != nil || err != nil {
			return err
		}
		return s.insertDraw(ctx, tx, b, parts{})
	})
	if old != nil {
		d = old
	}
	return d, err
}

// sameSole is the newest draw of a design where the same request has made it; nil
// when it has not.
func (s *drawer) sameSole(ctx context.Context, q db.Querier, id string, in api.SampleDrawDraft) (*drawRow, error) {
	r, err := find(ctx, q, id)
	if err != nil {
		return nil, err
	}
	old, err := newestOf(ctx, q, r.nid)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	} else if err != nil || !old.SoleSeed || old.Seed != in.Seed || old.Reason != in.Reason {
		return nil, err
	}
	f, err := findFrame(ctx, q, r.nid, in.FrameID)
	if err != nil || f.nid != old.frame {
		return nil, err
	}
	return old, nil
}

// drawJob is what a job is asked for.
type drawJob struct {
	Draw string `json:"drawId"`
}

func (s *drawer) enqueueDraw(ctx context.Context, d *drawRow) (web.Reply[*api.SampleDraw], error) {
	var none web.Reply[*api.SampleDraw]
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.SampleDraw], error) {
		j, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: DrawKind, Payload: drawJob{d.DrawID}, Key: d.DrawID, About: drawPath(d.DrawID)})
		if err != nil {
			return none, err
		}
		reply, err := s.replyDraw(ctx, tx, d, http.StatusAccepted)
		reply.Location = job.Path(j)
		return reply, err
	})
}

func (s *drawer) runDraw(ctx context.Context, j *job.Run) error {
	var in drawJob
	if err := j.Decode(&in); err != nil {
		return err
	}
	d, err := findDraw(ctx, s.db, Which{Draw: in.Draw})
	if err != nil {
		return permanent(err)
	}
	if d.State == drawing {
		_, err = s.perform(ctx, d, j)
	}
	if err == nil {
		j.SetResult(map[string]any{"drawId": d.DrawID, "drawn": d.Drawn, "reserve": d.Reserve})
	}
	return permanent(err)
}
