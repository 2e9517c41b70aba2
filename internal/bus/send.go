package bus

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// sender carries the outbox of a bus to the other instances.
type sender struct {
	*Postgres
	conn *pgx.Conn // nil: to be made when there is something to send
}

// send works until the bus is closed, and then sends what is left.
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
			return // it would fail again, and nobody shall wait for that
		case <-time.After(wait):
		}
		wait = min(2*wait, lastBackoff)
	}
}

// try sends what waits; false when it could not, and the others are to be told
// that they missed it.
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
	wire := make([]string, len(notes))
	for i, n := range notes {
		_, wire[i] = s.Wire(n.topic, n.payload)
	}
	if _, err := s.conn.Exec(ctx, `SELECT pg_notify($1, wire) FROM unnest($2::text[]) AS wire`, s.channel, wire); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}

func (s *sender) hangUp(ctx context.Context) {
	if s.conn != nil {
		s.drop(ctx, s.conn)
		s.conn = nil
	}
}
