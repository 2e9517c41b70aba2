package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/bench/chatter"
	"github.com/hearth-dmrv/hearth/test/server"
)

// firstBar is how much later than after a bare durable commit the first token
// of an answer may come, in µs.
const firstBar = 1000.0

// firstTokens compares the time to the first token of a model that needs none
// with a bare durable commit.
func (b *bench) firstTokens(ctx context.Context) error {
	p, err := b.pair(ctx, b.firstSide, b.commitSide)
	if err != nil {
		return err
	}
	var apart []float64
	for i := range p.ours {
		apart = append(apart, p.ours[i].p50()-p.bound[i].p50())
	}
	fmt.Printf("%-26s %9s %9s %9s %9s %9s\n", "", "p50 µs", "commit", "apart", "p99 µs", "commit")
	fmt.Printf("%-26s %9.0f %9.0f %9.0f %9.0f %9.0f   bar %.0f apart %s\n", "the first token", medianOf(p.ours, sample.p50), medianOf(p.bound, sample.p50), median(apart),
		medianOf(p.ours, sample.p99), medianOf(p.bound, sample.p99), firstBar, b.verdict("first token", median(apart) <= firstBar))
	return nil
}

// asker asks on one connection, one message after the other.
type asker struct {
	s *server.Server
	t *chatter.Talker
	c net.Conn
	r *bufio.Reader
}

func (b *bench) firstSide(ctx context.Context) (side, error) {
	s, err := b.start("THROTTLE_LIMIT=0")
	if err != nil {
		return nil, err
	}
	t, err := chatter.New(ctx, s, 1)
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return &asker{s, t, c, bufio.NewReader(c)}, nil
}

func (a *asker) close() error { return errors.Join(a.c.Close(), a.s.Kill()) }

// run asks in a new session, so that earlier messages do not count.
func (a *asker) run(ctx context.Context, d time.Duration) (sample, error) {
	if err := a.t.Open(ctx); err != nil {
		return sample{}, err
	}
	req := request("POST", "/messages/"+a.t.Session, a.t.Key(), `{"message":"/echo hello there","stream":true}`)
	var s sample
	start := time.Now()
	for end := start.Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		took, err := a.ask(req)
		if err != nil {
			return s, err
		}
		s.each = append(s.each, took)
		s.ops++
	}
	s.took = time.Since(start)
	return s, ctx.Err()
}

// ask sends a message, reads the stream to its end and returns how long the first
// token took.
func (a *asker) ask(req []byte) (first time.Duration, err error) {
	start := time.Now()
	if _, err := a.c.Write(req); err != nil {
		return 0, err
	}
	for {
		line, err := a.r.ReadSlice('\n')
		switch {
		case err != nil:
			return 0, fmt.Errorf("read a stream: %w", err)
		case first == 0 && bytes.HasPrefix(line, []byte("event: message")):
			first = time.Since(start)
		case string(line) == "0\r\n": // the last chunk
			if first == 0 {
				return 0, errors.New("a stream without a token")
			}
			_, err := io.ReadFull(a.r, make([]byte, 2))
			return first, err
		}
	}
}

// commits stores one row after the other, each before it is answered.
type commits struct {
	g   *group
	dir string
}

func (b *bench) commitSide(ctx context.Context) (side, error) {
	dir, err := os.MkdirTemp(b.dir, "rows-")
	if err != nil {
		return nil, err
	}
	g, err := openGroup(ctx, filepath.Join(dir, "rows.db"))
	if err != nil {
		return nil, err
	}
	return &commits{g, dir}, nil
}

func (c *commits) close() error { return errors.Join(c.g.close(), os.RemoveAll(c.dir)) }

func (c *commits) run(ctx context.Context, d time.Duration) (sample, error) {
	put, body := c.g.writer(), rowBody()
	var s sample
	start := time.Now()
	for end := start.Add(d); time.Now().Before(end) && ctx.Err() == nil; {
		begun := time.Now()
		if err := put(db.NewID(), body); err != nil {
			return s, err
		}
		s.each = append(s.each, time.Since(begun))
		s.ops++
	}
	s.took = time.Since(start)
	return s, ctx.Err()
}
