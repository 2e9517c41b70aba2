package bus

import (
	"context"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// sender carries the outbox of a bus to the other instances.
type sender struct {
	*Postgres
	conn  *pgx.Conn // nil: to be made when there is something to send
	marks uint64    // how many pieces were made
}

// send works until the bus is closed, and then sends the rest.
func (s *sender) send(ctx context.Context) {
	defer s.hangUp(ctx)
	for wait := firstBackoff; ; {
		select {
		case <-s.out.wake:
		case <-s.closing:
			s.try(ctx)
			return
		}
		if s.try(ctx) {
			wait = firstBackoff
			continue
		}
		select {
		case <-s.closing:
			return // it would fail again, and nothing should wait for that
		case <-time.After(wait):
		}
		wait = min(2*wait, lastBackoff)
	}
}

// try sends pending messages; false when it failed, and the others must be told
// that they missed some.
func (s *sender) try(ctx context.Context) bool {
	notes := s.out.take()
	if len(notes) == 0 {
		return true
	}
	err := s.notify(ctx, notes)
	if err == nil {
		return true
	}
	s.log.WarnContext(ctx, "bus cannot publish", "count", len(notes), "err", err)
	s.hangUp(ctx)
	s.out.fail()
	return false
}

// notify sends messages in one round trip.
func (s *sender) notify(ctx context.Context, notes []note) (err error) {
	ctx, cancel := context.WithTimeout(ctx, min(s.ping, publishTimeout))
	defer cancel()
	if s.conn == nil {
		if s.conn, err = s.dial(ctx); err != nil {
			return err
		}
	}
	var wire []string
	for _, n := range notes {
		_, text := s.wire(n.topic, n.payload)
		wire = append(wire, s.pieces(text)...)
	}
	if _, err := s.conn.Exec(ctx, `SELECT pg_notify($1, wire) FROM unnest($2::text[]) AS wire`, s.channel, wire); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

// PostgreSQL takes 8,000 bytes. What is longer goes in pieces, in one
// transaction, so that nothing comes between them.
const (
	maxPiece  = 7 << 10
	pieceMark = "\x01" // more follows
	lastMark  = "\x02" // the last piece
)

func (s *sender) pieces(text string) []string {
	if len(text) <= maxPiece {
		return []string{text}
	}
	var out []string
	for len(text) > maxPiece {
		end := maxPiece
		for !utf8.RuneStart(text[end]) {
			end--
		}
		out = append(out, pieceMark+s.mark()+text[:end])
		text = text[end:]
	}
	return append(out, lastMark+s.mark()+text)
}

// mark makes pieces differ: of equal ones in a transaction PostgreSQL sends one.
func (s *sender) mark() string {
	s.marks++
	return strconv.FormatUint(s.marks, 36) + "\n"
}

func (s *sender) hangUp(ctx context.Context) {
	if s.conn != nil {
		s.drop(ctx, s.conn)
		s.conn = nil
	}
}
