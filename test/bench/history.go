package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/bench/chatter"
	"github.com/hearth-dmrv/hearth/test/server"
)

// chatted is a conversation in a folder.
type chatted struct {
	dir, session string
	turns        int
}

// fillSession adds turns of two messages each to a session.
const fillSession = `WITH RECURSIVE t(turn) AS (SELECT $1 UNION ALL SELECT turn + 1 FROM t WHERE turn < $2)
	INSERT INTO chat_messages(session, turn, n, body)
	SELECT s.nid, t.turn, n.n, '{"id":"01890000-0000-7000-8000-' || printf('%012d', t.turn * 2 + n.n) || '","type":"' || n.type ||
		'","content":"a message of the usual length, which is some eighty characters or so","isComplete":true,"isReasoning":false,"createdAt":"2027-01-15T08:00:00.000Z"}'
	FROM t, chat_sessions s, (SELECT 0 AS n, 'human' AS type UNION ALL SELECT 1, 'ai') AS n`

// history compares pages of a long conversation with those of a short one.
func (b *bench) history(ctx context.Context) error {
	small, large := b.sizes()
	few, err := b.seedChat(ctx, small/2)
	if err != nil {
		return err
	}
	many, err := b.seedChat(ctx, large/2)
	if err != nil {
		return err
	}
	fmt.Printf("%-26s %9s %9s %7s\n", "page of 20 turns", fmt.Sprint("µs at ", large), fmt.Sprint(small), "growth")
	for _, cell := range []struct {
		name  string
		share float64 // how far before the newest the page begins
	}{{"the newest", 0}, {"in the middle", 0.5}, {"the oldest", 1}} {
		p, err := b.pair(ctx, b.historySide(many, cell.share), b.historySide(few, cell.share))
		if err != nil {
			return fmt.Errorf("%s: %w", cell.name, err)
		}
		growth := p.ratio(sample.p50)
		fmt.Printf("%-26s %9.0f %9.0f %7.2f   bar %.1f %s\n", cell.name, medianOf(p.ours, sample.p50), medianOf(p.bound, sample.p50), growth, growthBar,
			b.verdict("history, "+cell.name, growth < growthBar))
	}
	return nil
}

// seedChat fills a folder with one conversation.
func (b *bench) seedChat(ctx context.Context, turns int) (c chatted, err error) {
	s, err := b.start("THROTTLE_LIMIT=0")
	if err != nil {
		return c, err
	}
	t, err := chatter.New(ctx, s, 1)
	if err := errors.Join(err, s.Stop(stopLimit)); err != nil {
		return c, err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(s.Dir, "hearth.db"), Sync: "normal", TxLimit: time.Hour}) // nobody waits for these rows
	if err != nil {
		return c, err
	}
	_, err = d.Exec(ctx, `UPDATE chat_sessions SET turns = $1 WHERE id = $2`, turns, t.Session)
	const step = 50_000
	for from := 1; err == nil && from <= turns; from += step {
		_, err = d.Exec(ctx, fillSession, from, min(from+step-1, turns))
	}
	return chatted{s.Dir, t.Session, turns}, errors.Join(err, d.Close())
}

// historySide reads one page of a conversation from a server.
func (b *bench) historySide(c chatted, share float64) opener {
	return func(ctx context.Context) (side, error) {
		s, err := server.Start(server.Options{Binary: b.binary, Dir: c.dir, Env: []string{"THROTTLE_LIMIT=0"}})
		if err != nil {
			return nil, err
		}
		t, err := chatter.Known(s, 1)
		if err != nil {
			return nil, errors.Join(err, s.Kill())
		}
		path := "/sessions/" + c.session + "/messages?limit=20"
		if share > 0 {
			path += "&before=" + strconv.Itoa(max(c.turns-int(share*float64(c.turns)), 20)+1)
		}
		req := request("GET", path, t.Key(), "")
		return hearthLoad(s, 1, func(int) []byte { return req })
	}
}
