package account

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// KindRotate is the kind of the job that seals PINs with a new key.
const KindRotate = "ussd.pin-rotate"

const (
	rotateChunk  = 50 // accounts in one transaction
	rotateTries  = 10 // attempts of the job
	rotatePasses = 5  // over PINs that other instances seal with the old key meanwhile
	proofRows    = 3  // of one key that are tried: one may be damaged
)

// Prove checks that the PINs in the store open with the keys of this server,
// and asks for the rotation of those under the old one. Its error is for who
// starts the server, and says which setting to mend. A store without PINs takes
// every key, unless another server already works on it.
func (p *pins) Prove(ctx context.Context) error {
	keys, err := keysInUse(ctx, p.db)
	if err != nil {
		return err
	}
	stale, mine := false, len(keys) == 0
	for _, id := range keys {
		if err := p.prove(ctx, id); err != nil {
			return err
		}
		stale, mine = stale || id != p.keys.current.id, mine || id == p.keys.current.id
	}
	// What is proven by PINs comes first: a wrong key must not be kept as the right one.
	if err := p.agree(ctx, mine, len(keys) > 0); err != nil || !stale {
		return err
	}
	ctx = web.WithCaller(ctx, web.Caller{Workspace: workspace})
	for _, status := range []job.Status{job.Queued, job.Running} {
		under, _, err := p.jobs.List(ctx, job.Filter{Kind: KindRotate, Status: status}, 0, 1)
		if err != nil || len(under) > 0 {
			return err // it resumes where it was
		}
	}
	return p.db.InTx(ctx, func(tx *db.Tx) error {
		_, err := p.jobs.Enqueue(ctx, tx, job.Draft{Kind: KindRotate, MaxAttempts: rotateTries})
		return err
	})
}

// keyProof shows which key seals PINs, before there are any.
type keyProof struct {
	ID     string `json:"key"`
	Sealed []byte `json:"sealed"`
}

const sharedKey = "pin key"

// agree has all servers on a store seal PINs with one key: that of the first, until
// one comes that knows it as the old one, or that PINs prove right (mine, when there
// are any: used).
func (p *pins) agree(ctx context.Context, mine, used bool) error {
	draft, err := json.Marshal(keyProof{p.keys.current.id, p.keys.current.seal(sharedKey, sharedKey)})
	if err != nil {
		return err
	}
	self, alone := p.db.Self().ID, true
	others, err := p.db.Live(ctx)
	if err != nil {
		return err
	}
	for _, i := range others {
		alone = alone && i.ID == self
	}
	_, err = auth.Share(ctx, p.db, p.server, auth.Common{Name: sharedKey, Draft: draft, Agree: func(kept []byte) ([]byte, error) {
		var proof keyProof
		if err := json.Unmarshal(kept, &proof); err != nil {
			return nil, fmt.Errorf("read the proof of the PIN key: %w", err)
		}
		key, known := p.keys.find(proof.ID)
		if known {
			_, err := key.open(sharedKey, proof.Sealed)
			known = err == nil
		}
		switch {
		case known && key.id == p.keys.current.id:
			return kept, nil
		case known, mine && (used || alone):
			return draft, nil
		}
		return nil, p.wrongKey(proof.ID)
	}})
	return err
}

// prove opens some PINs that a key has sealed.
func (p *pins) prove(ctx context.Context, id string) error {
	key, ok := p.keys.find(id)
	if !ok {
		return p.wrongKey(id)
	}
	some, err := sealedBy(ctx, p.db, id, "", proofRows)
	if err != nil {
		return err
	}
	for _, r := range some {
		if _, err := key.open(r.id, r.pin); err == nil {
			return nil
		}
	}
	return p.wrongKey(id)
}

// wrongKey says what to do about PINs that were sealed by a key this server was
// not given.
func (p *pins) wrongKey(id string) error {
	name := "PIN_ENCRYPTION_KEY"
	if p.derived {
		name = "the PIN key made from the server's own key"
	}
	return fmt.Errorf("%s is not the key of the PINs in this store: they are sealed by key %s, this is key %s. Set PIN_ENCRYPTION_KEY to the right key, or, "+
		"to change keys, keep the new one and set PIN_ENCRYPTION_KEY_OLD to the one before",
		name, id, p.keys.current.id)
}

// rotation is how far the job has come.
type rotation struct {
	Key   string `json:"key"`   // being moved away from
	After string `json:"after"` // account
	Moved int64  `json:"moved"`
	Bad   int64  `json:"bad"` // that do not open
}

// rotate seals what older keys have sealed with the current one. Every chunk
// is a transaction that also stores how far the job has come.
func (p *pins) rotate(ctx context.Context, r *job.Run) error {
	var st rotation
	if _, err := r.State(&st); err != nil {
		return err
	}
	for _, old := range p.keys.old {
		if old.id == p.keys.current.id {
			continue
		}
		if st.Key != old.id {
			st.Key, st.After = old.id, ""
		}
		for range rotatePasses {
			moved, err := p.rotateKey(ctx, r, old, &st)
			if err != nil {
				return err
			}
			if moved == 0 {
				break
			}
			st.After = ""
		}
	}
	r.SetResult(map[string]any{"moved": st.Moved, "unreadable": st.Bad, "key": p.keys.current.id})
	return nil
}

// rotateKey goes once over the PINs of a key and returns how many it re-sealed.
func (p *pins) rotateKey(ctx context.Context, r *job.Run, old Key, st *rotation) (int64, error) {
	left, err := countBy(ctx, p.db, old.id)
	if err != nil {
		return 0, err
	}
	var moved int64
	total := st.Moved + left
	for {
		chunk, err := sealedBy(ctx, p.db, old.id, st.After, rotateChunk)
		if err != nil || len(chunk) == 0 {
			return moved, err
		}
		n, err := p.moveChunk(ctx, r, old, chunk, st)
		if err != nil {
			return moved, err
		}
		moved += n
		r.Progress(st.Moved, total, "")
	}
}

// moveChunk re-seals some PINs, outside the transaction that stores them. A PIN
// that was changed meanwhile is left for the next pass.
func (p *pins) moveChunk(ctx context.Context, r *job.Run, old Key, chunk []pinRow, st *rotation) (int64, error) {
	fresh := make([][]byte, len(chunk))
	next := *st
	next.After = chunk[len(chunk)-1].id
	for i, c := range chunk {
		pin, err := old.open(c.id, c.pin)
		if err != nil {
			p.log.ErrorContext(ctx, "a PIN does not open and stays as it is", "reason", err.Error())
			next.Bad++
			continue
		}
		fresh[i] = p.keys.current.seal(c.id, string(pin))
	}
	var moved int64
	err := p.db.InTx(ctx, func(tx *db.Tx) error {
		moved = 0
		for i, c := range chunk {
			if fresh[i] == nil {
				continue
			}
			n, err := movePIN(ctx, tx, c, fresh[i], p.keys.current.id)
			if err != nil {
				return err
			}
			moved += n
		}
		state := next
		state.Moved += moved
		return r.Save(ctx, tx, state)
	})
	if err != nil {
		return 0, err
	}
	*st = next
	st.Moved += moved
	return moved, nil
}

// Rotated reports whether no PIN is left under an older key, so that
// PIN_ENCRYPTION_KEY_OLD can be taken away.
func (p *pins) Rotated(ctx context.Context) (bool, error) {
	for _, old := range p.keys.old {
		left, err := sealedBy(ctx, p.db, old.id, "", 1)
		if err != nil || len(left) > 0 && old.id != p.keys.current.id {
			return false, err
		}
	}
	return true, nil
}
