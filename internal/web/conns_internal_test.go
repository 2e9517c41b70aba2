package web

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// deadlines counts the read deadlines a connection is given.
type deadlines struct {
	net.Conn
	set int
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set++
	return d.Conn.SetReadDeadline(t)
}

func newCounted(t *testing.T) (c *countedConn, under *deadlines, other net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	under = &deadlines{Conn: near}
	return &countedConn{Conn: under, leave: func() {}}, under, far
}

// A deadline nobody reads under costs nothing.
func TestDeadlineWaitsForARead(t *testing.T) {
	t.Parallel()
	c, under, other := newCounted(t)
	for range 5 {
		if err := errors.Join(c.SetReadDeadline(time.Now().Add(time.Hour)), c.SetReadDeadline(time.Time{})); err != nil {
			t.Fatal(err)
		}
	}
	go other.Write([]byte("x"))
	if _, err := c.Read(make([]byte, 1)); err != nil || under.set != 0 {
		t.Errorf("Read: %v, after %d deadlines; want none", err, under.set)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		go other.Write([]byte("x"))
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Errorf("Read: %v", err)
		}
	}
	if under.set != 1 {
		t.Errorf("%d deadlines for two reads under one, want 1", under.set)
	}
}

func TestPassedDeadlineEndsTheNextRead(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*countedConn) error{
		"SetReadDeadline": func(c *countedConn) error { return c.SetReadDeadline(time.Unix(1, 0)) },
		"SetDeadline":     func(c *countedConn) error { return c.SetDeadline(time.Unix(1, 0)) },
	} {
		c, _, _ := newCounted(t)
		if err := set(c); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read after %s in the past: %v, want the deadline", name, err)
		}
	}
}

// As net/http ends its read in the background.
func TestDeadlineEndsAReadThatWaits(t *testing.T) {
	t.Parallel()
	c, _, other := newCounted(t)
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		done <- err
	}()
	if err := c.SetReadDeadline(time.Unix(1, 0)); err != nil { // before it or during it
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read that waited: %v, want the deadline", err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	go other.Write([]byte("x"))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("Read without a deadline: %v", err)
	}
}
