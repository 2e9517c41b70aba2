package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
)

// ErrErased stops a run that refers to a person who was erased meanwhile.
var ErrErased = errors.New("somebody the run knows of was erased")

const (
	listToBlankText  = `SELECT nid, status, last_seq, ended_at FROM oracle_runs WHERE session = $1 AND turn >= $2 AND erased = 0 ORDER BY nid`
	markErasedText   = `UPDATE oracle_runs SET erased = 1, end_seq = last_seq WHERE nid = $1`
	removeFramesText = `DELETE FROM oracle_frames WHERE run = $1`
)

// Part is what runs store about conversations, for a store of conversations
// without a Manager: it must be removed with them.
func Part() chat.Part { return chat.Part{Shrink: shrink, Blank: blank} }

// Note notes the DIDs in a tool's input and output, before any of it is stored.
// It ends the run with ErrErased when one of them was erased since the run
// began.
func (r *Run) Note(ctx context.Context, texts ...string) error {
	dids := chat.Known(r.user, texts...)
	if len(dids) == 0 {
		return nil
	}
	var erased bool
	err := r.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		if erased, err = chat.Note(ctx, tx, r.begun, r.since, dids); err != nil || !erased {
			return err
		}
		_, err = r.cfg.Chat.Blank(ctx, tx, r.begun)
		return err
	})
	if err == nil && erased {
		r.stop(ErrErased)
		return ErrErased
	}
	return err
}

// blank removes the frames of the runs of a session from a turn on. What
// remains of an ended run says how it ended; one in progress stores nothing
// more but its end.
func blank(ctx context.Context, tx *db.Tx, from chat.Begun) error {
	all, err := listToBlank(ctx, tx, from)
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, err := tx.Exec(ctx, markErasedText, r.nid); err != nil {
			return fmt.Errorf("mark run: %w", err)
		}
		if _, err := tx.Exec(ctx, removeFramesText, r.nid); err != nil {
			return fmt.Errorf("remove frames: %w", err)
		}
		if !r.ended {
			continue
		}
		if err := insertLast(ctx, tx, r.nid, lastRow(r.lastSeq, r.status)); err != nil {
			return err
		}
	}
	return nil
}

// lastRow is the end of a run without anything it said.
func lastRow(seq int64, s Status) row {
	payload, err := encode(frameDone, doneOf(s, ""))
	if err != nil {
		payload = []byte("{}") // cannot be: it holds words of ours
	}
	data := append(append(appendHead(nil, seq, frameDone), payload...), frameEnding...)
	return row{seq: seq, upto: seq, data: string(data)}
}

// bare is an ending without anything the run said.
func (e ending) bare() (ending, error) {
	said, err := chat.BlankAll(e.said)
	e.said, e.rows, e.endSeq = said, []row{lastRow(e.lastSeq, e.status)}, e.lastSeq
	return e, err
}

func listToBlank(ctx context.Context, tx *db.Tx, from chat.Begun) ([]runRow, error) {
	rows, err := tx.Query(ctx, listToBlankText, from.Session, from.Turn)
	return db.Collect(rows, err, "list runs", func(r *runRow, row db.Row) error {
		var ended *int64
		err := row.Scan(&r.nid, &r.status, &r.lastSeq, &ended)
		r.ended = ended != nil
		return err
	})
}
